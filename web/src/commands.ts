// Commands of buttons and keys.
import { declareClips, pauseCrowd, removeChosen } from "./crowd";
import { makeSet } from "./drive";
import * as socket from "./socket";
import * as store from "./store";
import type { Edit, SceneObject } from "./types";
import { limbOf, poseAt } from "./view/pose";
import { continued, isPiece, type PieceKind } from "./view/pieces";
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
  if (store.crowd.peek()) {
    pauseCrowd();
    return;
  }
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
  if (store.crowd.peek()) {
    removeChosen();
    return;
  }
  const chosen = store.selection.peek();
  const key = store.keyChosen.peek();
  if (key !== null) {
    store.keyChosen.value = null;
    socket.edit({ kind: "stack", do: "delete", id: key });
  } else if (chosen.kind === "mark") {
    const step = store.selectedMark.peek()?.kind === "step";
    socket.edit(step ? { kind: "step", id: chosen.id, do: "delete" } : { kind: "remove", id: chosen.id });
  }
  else if (chosen.kind === "object") {
    const objects = (store.doc.peek()?.objects ?? []).filter((_, n) => n !== chosen.index);
    store.selection.value = { kind: "none" };
    socket.edit({ kind: "objects", objects });
  }
}

/** Splits the selected footstep at the current frame. */
export function splitHere(): void {
  const mark = store.selectedMark.peek();
  if (mark?.kind === "step") socket.edit({ kind: "step", id: mark.id, do: "split", frame: store.frame.peek() });
}

/** Joins the selected footstep with the next one of its foot. */
export function joinNext(): void {
  const mark = store.selectedMark.peek();
  if (mark?.kind === "step") socket.edit({ kind: "step", id: mark.id, do: "join" });
}

let copied: Record<string, unknown> | null = null;

/** Copies the pose of the current frame. */
export function copyPose(): void {
  const [track, figure] = [store.tracks.current, store.figure.peek()];
  if (!track || !figure) return;
  const at = Math.min(store.frame.peek(), track.frames - 1);
  store.copiedPose.value = poseAt(track, at, figure.character.joints, figure.character.parents);
  copied = null;
  store.toast(`The pose of frame ${at} was copied: Ctrl V pastes it at the current frame.`);
}

/** Pastes the copied pose at the current frame: all of it, or a joint and what is below it. */
export function pastePose(joint: number | null = null): void {
  const [pose, figure] = [store.copiedPose.peek(), store.figure.peek()];
  if (!pose || !figure) return;
  const { joints, parents } = figure.character;
  const limb = joint === null ? null : limbOf(joint, parents);
  const wanted = joints.filter((name, n) => name in pose.joints && (!limb || limb.has(n)));
  if (!wanted.length) {
    store.toast("The copied pose is of another skeleton.", "error");
    return;
  }
  const seconds = store.reach.peek() / store.fps.peek();
  socket.edit({
    kind: "pose",
    frame: store.frame.peek(),
    joints: Object.fromEntries(wanted.map((name) => [name, pose.joints[name]])),
    before: seconds,
    after: seconds,
    ...(limb ? {} : { height: pose.height }),
  });
}

/** Ctrl C: the selected key, else the pose. */
export function copy(): void {
  if (store.keyChosen.peek() === null) copyPose();
  else copyKey();
}

/** Ctrl V: what was copied last. */
export function paste(): void {
  if (copied) pasteKey();
  else pastePose();
}

/** Copies the selected key, to be pasted at another frame. */
export function copyKey(): void {
  const entry = store.doc.peek()?.stack.find((operator) => operator.id === store.keyChosen.peek());
  if (!entry) return;
  copied = { kind: entry.kind, ...entry.values };
  store.toast("The key was copied: Ctrl V puts it at the current frame.");
}

export function pasteKey(): void {
  if (copied) socket.edit({ ...copied, kind: String(copied.kind), frame: store.frame.peek() });
}

/** Changes values of an operator of the stack; everything after it is solved again. */
export function setOperator(id: number, values: Record<string, unknown>): void {
  socket.edit({ kind: "stack", do: "set", id, values });
}

export function changeStack(id: number, what: "on" | "off" | "delete" | "duplicate" | "move", more: Record<string, unknown> = {}): void {
  socket.edit({ kind: "stack", do: what, id, ...more });
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
  // across the way, in steps of 5°
  const turn = Math.hypot(b[0] - a[0], b[2] - a[2]) > 0.1 ? (Math.round((Math.atan2(b[0] - a[0], b[2] - a[2]) * 36) / Math.PI) * Math.PI) / 36 : 0;
  const beside = kind === "doorway" || isPiece({ kind }) ? 0 : 0.9;
  const level = store.figure.peek()?.level ?? 0;
  const thing: SceneObject = {
    kind,
    place: [b[0] + beside * Math.cos(turn), level, b[2] - beside * Math.sin(turn)],
    turn,
    size: NEW_OBJECTS[kind],
    ...(kind === "stairs" ? { count: 4 } : {}),
  };
  placeObject(thing);
}

/** Adds a piece of the ground: at the end of the selected one, else ahead of the character. */
export function addPiece(kind: PieceKind): void {
  const chosen = store.selection.peek();
  const last = chosen.kind === "object" ? store.doc.peek()?.objects[chosen.index] : undefined;
  if (last && isPiece(last)) placeObject(continued(last, kind));
  else addObject(kind);
}

function placeObject(thing: SceneObject): void {
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

/** What the server found in a dropped file. */
export interface DroppedFile {
  file: string;
  error?: string;
  frames: number;
  human: boolean;
  takes: { name: string; frames: number }[];
  skinned: boolean;
  name: string;
  markers: boolean;
  robot: boolean;
  joints: string[];
  roles: Record<string, string>;
  why: string;
  notes: string[];
}

let drops = 0;

/** Uploads files that belong together, and asks what is in them. */
export async function uploadAll(files: readonly File[]): Promise<DroppedFile[] | null> {
  drops += 1;
  const drop = `drop${Date.now().toString(36)}${drops}`;
  try {
    for (const [n, file] of files.entries()) {
      store.progress.value = { label: `sending ${file.name}`, share: n / files.length };
      const answer = await fetch(sessionAddress(`upload?drop=${drop}&name=${encodeURIComponent(file.name)}`), { method: "POST", body: file });
      if (!answer.ok) {
        store.toast(((await answer.json()) as { error?: string }).error ?? "The file could not be read.", "error");
        return null;
      }
    }
    store.progress.value = { label: files.length > 1 ? `reading ${files.length} files` : `reading ${files[0]?.name ?? ""}`, share: 0.9 };
    const answer = await fetch(sessionAddress(`inspect?drop=${drop}`));
    return ((await answer.json()) as { files: DroppedFile[] }).files;
  } catch (error) {
    store.toast(`The file could not be uploaded: ${String(error)}`, "error");
    return null;
  } finally {
    store.progress.value = null;
  }
}

/** Takes files that were dropped or chosen: shows what can be done with them. */
export async function receive(files: readonly File[]): Promise<void> {
  if (!files.length) return;
  store.dropped.value = { names: files.map((file) => file.name), found: null };
  const found = await uploadAll(files);
  if (!found) {
    store.dropped.value = null;
    return;
  }
  const wrong = found.filter((file) => file.error);
  for (const file of wrong) store.toast(file.error ?? "", "error");
  const good = found.filter((file) => !file.error);
  store.dropped.value = good.length ? { names: files.map((file) => file.name), found: good } : null;
}

export function openDropped(file: DroppedFile, take = 0, roles: Record<string, string> | null = null): void {
  if (store.doc.peek()?.unsaved && !confirm("There are unsaved edits. Open another clip?")) return;
  store.dropped.value = null;
  store.pending.value += 1;
  socket.askForSession({ do: "open", file: file.file, take, ...(roles ? { roles } : {}) });
}

/** Adds a dropped clip to the scene, on a character of its own. */
export function addDropped(file: DroppedFile, take = 0): void {
  store.dropped.value = null;
  store.pending.value += 1;
  socket.askForSession({ do: "actor", what: "add", file: file.file, take });
  store.tab.value = "character";
}

/** Whether a dropped file holds a clip that can be blended and driven. */
export function isOwnClip(file: DroppedFile): boolean {
  return file.human && file.frames > 1 && !file.markers && !file.robot;
}

/** Offers dropped clips beside the samples, to be blended and driven. */
export function offerClips(files: readonly DroppedFile[], take = 0): void {
  store.dropped.value = null;
  const known = store.ownClips.peek().filter((entry) => !files.some(({ file }) => file === entry.file));
  store.ownClips.value = [...known, ...files.map(({ file, name }) => ({ file, name: file.split("/")[1] ?? name, take }))];
  store.ownSet.value = null;
  declareClips();
  store.tab.value = store.crowd.peek() ? "crowd" : "drive";
}

/** Offers dropped clips, and makes a motion set of them. */
export function driveDropped(files: readonly DroppedFile[]): void {
  offerClips(files);
  makeSet(false, store.ownClips.peek().filter(({ file }) => files.some((each) => each.file === file)));
}

export function sendEdit(change: Edit): void {
  socket.edit(change);
}

export function retargetDropped(file: DroppedFile, keepFootsteps: boolean, roles: Record<string, string> | null = null): void {
  store.dropped.value = null;
  socket.edit({ kind: "retarget", character: file.file, keep_footsteps: keepFootsteps, ...(roles ? { roles } : {}) });
}

export async function retargetTo(files: readonly File[], keepFootsteps: boolean): Promise<void> {
  const found = (await uploadAll(files))?.filter((file) => !file.error)[0];
  if (!found) return;
  if (found.human) retargetDropped(found, keepFootsteps);
  else store.mapping.value = { file: found, use: "retarget" };
}

export function compare(a: string, b: string): void {
  if (store.compareView.peek() === "a" || store.compareView.peek() === "b") store.compareView.value = "both";
  socket.ask({ do: "compare", a, b });
}

export function endCompare(): void {
  if (!store.comparison.peek()) return;
  store.comparison.value = null;
  store.poses.value += 1;
}

/** Stops what goes on: a drag, a solve, a dialog, playing; else clears the selection. */
export function escape(): void {
  if (view.gizmo?.cancel() || view.crowd?.cancel()) return;
  if (store.progress.peek() || store.pending.peek() > 0) socket.ask({ do: "cancel" });
  else if (store.help.peek()) store.help.value = false;
  else if (store.notesShown.peek()) store.notesShown.value = false;
  else if (store.mapping.peek()) store.mapping.value = null;
  else if (store.dropped.peek()) store.dropped.value = null;
  else if (store.playing.peek()) store.playing.value = false;
  else if (store.comparison.peek()) endCompare();
  else if (store.crowdGoal.peek() !== null) store.crowdGoal.value = null;
  else if (store.crowdActor.peek() !== null) store.crowdActor.value = null;
  else {
    store.keyChosen.value = null;
    store.selection.value = { kind: "none" };
  }
}

/** Saves what a canvas shows: a picture, or a video of the clip from start to end. */
export async function savePicture(): Promise<void> {
  const made = await view.theatre?.stage.picture();
  if (made) saveAs(made, `${store.figure.peek()?.clip ?? "clip"}-${store.frame.peek()}.png`);
}

export async function saveVideo(): Promise<void> {
  const theatre = view.theatre;
  if (!theatre || store.recording.peek()) return;
  if (typeof MediaRecorder === "undefined") {
    store.toast("This browser cannot record video.", "error");
    return;
  }
  const rate = Math.min(store.fps.peek(), 30);
  const stream = theatre.stage.canvas.captureStream(rate);
  const kind = ["video/webm;codecs=vp9", "video/webm;codecs=vp8", "video/webm"].find((type) => MediaRecorder.isTypeSupported(type));
  const recorder = new MediaRecorder(stream, { ...(kind ? { mimeType: kind } : {}), videoBitsPerSecond: 8_000_000 });
  const parts: Blob[] = [];
  recorder.ondataavailable = (event) => parts.push(event.data);
  const ended = new Promise<void>((done) => (recorder.onstop = () => done()));
  store.recording.value = true;
  store.looping.value = false;
  store.frame.value = 0;
  recorder.start(250);
  store.playing.value = true;
  await new Promise<void>((done) => {
    const watch = setInterval(() => {
      if (store.playing.peek() && store.recording.peek()) return;
      clearInterval(watch);
      done();
    }, 50);
  });
  setTimeout(() => recorder.stop(), 150);
  await ended;
  for (const track of stream.getTracks()) track.stop();
  store.recording.value = false;
  saveAs(new Blob(parts, { type: "video/webm" }), `${store.figure.peek()?.clip ?? "clip"}.webm`);
}

function saveAs(data: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(data);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  store.toast(`${name} was downloaded.`);
}
