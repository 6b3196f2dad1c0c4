// Commands of buttons and keys.
import * as socket from "./socket";
import * as store from "./store";
import type { SceneObject } from "./types";
import { NEW_OBJECTS } from "./view/world";
import { view } from "./view/viewport";

export function undo(): void {
  const doc = store.doc.peek();
  if (doc && doc.position > 0) socket.ask({ do: "go", position: doc.position - 1 });
}

export function redo(): void {
  const doc = store.doc.peek();
  if (doc && doc.position < doc.history.length) socket.ask({ do: "go", position: doc.position + 1 });
}

export function playOrPause(): void {
  if (!store.playing.peek() && store.frame.peek() >= store.frames.peek() - 1) store.frame.value = 0;
  store.playing.value = !store.playing.peek();
}

export function step(by: number): void {
  store.playing.value = false;
  store.goTo(store.frame.peek() + by);
}

/** Pins the selected point at its position, for a third of a second around the current frame. */
export function pinHere(): void {
  const chosen = store.selection.peek();
  if (chosen.kind !== "point") {
    store.toast("Select a joint or a hand first, then pin it.");
    return;
  }
  const contact = store.figure.peek()?.character.points.some((point) => point.name === chosen.name);
  const half = Math.max(Math.round(store.fps.peek() / 6), 2);
  const at = store.frame.peek();
  socket.edit({
    kind: "pin",
    point: contact ? chosen.name : { joint: chosen.name },
    start: Math.max(at - half, 0),
    end: Math.min(at + half + 1, store.frames.peek()),
    frame: at,
  });
}

export function deleteSelected(): void {
  const chosen = store.selection.peek();
  if (chosen.kind === "mark") socket.edit({ kind: "remove", id: chosen.id });
  else if (chosen.kind === "object") {
    const objects = (store.doc.peek()?.objects ?? []).filter((_, n) => n !== chosen.index);
    store.selection.value = { kind: "none" };
    socket.edit({ kind: "objects", objects });
  }
}

export function solveBy(name: string): void {
  socket.edit({ kind: "method", name });
}

/** Adds an object in front of the character. */
export function addObject(kind: SceneObject["kind"]): void {
  const track = store.tracks.current;
  if (!track) return;
  const ahead = Math.min(store.frame.peek() + Math.round(0.9 * store.fps.peek()), track.frames - 1);
  const now = Math.min(store.frame.peek(), track.frames - 1);
  const [a, b] = [track.point(now, 0, [0, 0, 0]), track.point(ahead, 0, [0, 0, 0])];
  const turn = Math.hypot(b[0] - a[0], b[2] - a[2]) > 0.1 ? Math.atan2(b[0] - a[0], b[2] - a[2]) : 0;
  const beside = kind === "doorway" ? 0 : 0.9;
  const level = store.figure.peek()?.level ?? 0;
  const thing: SceneObject = {
    kind,
    place: [b[0] + beside * Math.cos(turn), level, b[2] - beside * Math.sin(turn)],
    turn,
    size: NEW_OBJECTS[kind],
  };
  const objects = [...(store.doc.peek()?.objects ?? []), thing];
  socket.edit({ kind: "objects", objects });
  store.selection.value = { kind: "object", index: objects.length - 1 };
}

function sessionAddress(rest: string): string {
  return new URL(`session/${store.figure.peek()?.session ?? ""}/${rest}`, location.href).href;
}

/** Downloads the clip; a project counts as saved. */
export async function download(format: string): Promise<void> {
  const answer = await fetch(sessionAddress(`export?format=${format}`));
  if (!answer.ok) {
    store.toast((await answer.text()).trim(), "error");
    return;
  }
  const name = /filename="([^"]+)"/.exec(answer.headers.get("content-disposition") ?? "")?.[1] ?? `clip.${format}`;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await answer.blob());
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  const doc = store.doc.peek();
  if (format === "footplant" && doc) store.doc.value = { ...doc, unsaved: false };
  store.toast(`${name} was downloaded.`);
}

/** Uploads a file; returns facts about it, or null when it could not be read. */
export async function upload(file: File): Promise<{ file: string; frames: number; human: boolean; name: string } | null> {
  store.progress.value = { label: `sending ${file.name}`, share: 0.5 };
  try {
    const answer = await fetch(sessionAddress(`upload?name=${encodeURIComponent(file.name)}`), { method: "POST", body: file });
    const said = (await answer.json()) as { file: string; frames: number; human: boolean; name: string; error?: string };
    if (answer.ok) return said;
    store.toast(said.error ?? "The file could not be read.", "error");
  } catch (error) {
    store.toast(`The file could not be uploaded: ${String(error)}`, "error");
  } finally {
    store.progress.value = null;
  }
  return null;
}

export async function openFile(file: File): Promise<void> {
  const sent = await upload(file);
  if (sent) socket.ask({ do: "open", file: sent.file });
}

export async function retargetTo(file: File, keepFootsteps: boolean): Promise<void> {
  const sent = await upload(file);
  if (sent) socket.edit({ kind: "retarget", character: sent.file, keep_footsteps: keepFootsteps });
}

export function compare(a: string, b: string): void {
  store.compareView.value = "both";
  socket.ask({ do: "compare", a, b });
}

export function endCompare(): void {
  if (!store.comparison.peek()) return;
  store.comparison.value = null;
  store.tracks.other = null;
  store.poses.value += 1;
  socket.release();
}

export function escape(): void {
  if (view.gizmo?.cancel()) return;
  if (store.progress.peek()) socket.ask({ do: "cancel" });
  else if (store.help.peek()) store.help.value = false;
  else if (store.dropped.peek()) store.dropped.value = null;
  else if (store.comparison.peek()) endCompare();
  else store.selection.value = { kind: "none" };
}
