// Drive and live mode: keys or a stream move the character; the server sends its poses.
import { signal } from "@preact/signals";
import * as socket from "./socket";
import * as store from "./store";
import { view } from "./view/viewport";

const { driving } = store;
export const held = signal<ReadonlySet<string>>(new Set());

export interface DriveKey {
  key: string;
  label: string;
  what: string;
}
export const DRIVE_KEYS: readonly DriveKey[] = [
  { key: "w", label: "W", what: "walk" },
  { key: "shift", label: "Shift", what: "run" },
  { key: "s", label: "S", what: "sneak" },
  { key: "a", label: "A", what: "turn left" },
  { key: "d", label: "D", what: "turn right" },
  { key: "k", label: "K", what: "kick" },
  { key: "j", label: "J", what: "punch" },
];

export function startDriving(mode: "drive" | "live", options: Record<string, unknown> = {}): void {
  store.playing.value = false;
  driving.value = "starting";
  store.liveStatus.value = null;
  held.value = new Set();
  socket.ask({ do: "drive", mode, ...options });
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
  socket.ask({ do: "drive", mode: "keep" });
  view.theatre?.stopLive();
}

/** Handles a key in drive mode; returns true when it is used there. */
export function driveKey(event: KeyboardEvent, down: boolean): boolean {
  if (driving.peek() !== "drive") return false;
  const key = event.key.toLowerCase();
  if (!DRIVE_KEYS.some((entry) => entry.key === key)) return false;
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
