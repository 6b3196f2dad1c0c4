// Drive and live mode: keys or a stream move the character; the server sends its poses.
import { signal } from "@preact/signals";
import * as socket from "./socket";
import * as store from "./store";
import { view } from "./view/viewport";

const { driving } = store;
export const held = signal<ReadonlySet<string>>(new Set());

export function startDriving(mode: "drive" | "live", options: Record<string, unknown> = {}): void {
  store.playing.value = false;
  driving.value = "starting";
  store.liveStatus.value = null;
  held.value = new Set();
  socket.ask({ do: "drive", mode, ...options });
  if (mode === "drive") watchPads();
}

/** Asks for a motion set of clips of one's own: what is found in them comes back. */
export function makeSet(current: boolean, clips: readonly store.OwnClip[]): void {
  store.ownSet.value = null;
  store.driveSource.value = "own";
  store.pending.value += 1;
  socket.ask({ do: "set", clips: [...(current ? ["current"] : []), ...clips.map(({ file, take }) => ({ file, take }))] });
}

export function stopDriving(): void {
  if (driving.peek() === "off") return;
  driving.value = "off";
  socket.ask({ do: "drive", mode: "off" });
  view.theatre?.stopLive();
}

/** Stops driving and opens what was played as a clip. */
export function keepAsClip(): void {
  if (driving.peek() === "off") return;
  if (store.doc.peek()?.unsaved && !confirm("There are unsaved edits. Open the recording instead?")) return;
  driving.value = "off";
  socket.askForSession({ do: "drive", mode: "keep" });
  view.theatre?.stopLive();
}

/** Handles a key in drive mode; returns true when it is used there. */
export function driveKey(event: KeyboardEvent, down: boolean): boolean {
  if (driving.peek() !== "drive") return false;
  const key = event.key.toLowerCase();
  if (!store.driveKeys.peek().some((entry) => entry.key === key)) return false;
  press(key, down);
  return true;
}

export function press(key: string, down: boolean): void {
  if (held.peek().has(key) === down) return;
  const next = new Set(held.peek());
  if (down) next.add(key);
  else next.delete(key);
  held.value = next;
  socket.ask({ do: "steer", keys: [...next] });
}

/** Keys that a gamepad holds: the left stick goes and turns, pushed all the way or with the right trigger it runs. */
export function padKeys(axes: readonly number[], buttons: readonly boolean[], keys: readonly string[]): string[] {
  const [x, y] = [axes[0] ?? 0, axes[1] ?? 0];
  const found: string[] = [];
  if (y < -0.35) found.push("w");
  if (y < -0.95 || (y < -0.35 && buttons[7])) found.push("shift");
  if (x < -0.4) found.push("a");
  if (x > 0.4) found.push("d");
  if (buttons[6]) found.push("s");
  // its face and shoulder buttons are the actions
  const actions = keys.filter((key) => /^[a-z]$/.test(key) && !"wasd".includes(key));
  actions.slice(0, 6).forEach((key, n) => buttons[n] && found.push(key));
  return found;
}

let padHeld: string[] = [];

function watchPads(): void {
  if (driving.peek() === "off") return;
  const pad = navigator.getGamepads().find((each) => each?.connected);
  if (pad) {
    const now = padKeys(pad.axes, pad.buttons.map((button) => button.pressed), store.driveKeys.peek().map((entry) => entry.key));
    for (const key of padHeld) if (!now.includes(key)) press(key, false);
    for (const key of now) if (!padHeld.includes(key)) press(key, true);
    padHeld = now;
  }
  setTimeout(watchPads, 30);
}
