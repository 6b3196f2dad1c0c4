// Crowd mode: a live crowd beside the clip, changed by the messages of `footplant crowd --control`.
import { signal } from "@preact/signals";
import * as socket from "./socket";
import * as store from "./store";
import type { CrowdAnswer } from "./types";

export type Argument = string | number;
interface Message {
  say: string;
  with: Argument[];
}

/** Messages that are answered one after another may be this many; of those that a drag sends the latest waits. */
const MOST_ASKED = 32;
/** Metres between the places of actors that are added. */
const ROOM = 0.9;
let next = 1;
const asked = new Map<number, { key: string; done: (wrong: string) => void }>();
/** The latest message of each drag that waits until the one before is answered. */
const waiting = new Map<string, Message>();
/** Clips of one's own that the crowd has been told of. */
const declared = signal<ReadonlySet<string>>(new Set());

export function startCrowd(scene: string, apart: boolean): void {
  store.playing.value = false;
  store.driving.value = "starting";
  asked.clear();
  waiting.clear();
  const clips = store.ownClips.peek();
  declared.value = new Set(clips.map(({ file }) => file));
  socket.ask({ do: "crowd", mode: "start", scene, apart, clips: clips.map(({ file, take }) => ({ file, take })) });
}

export function stopCrowd(): void {
  if (store.driving.peek() !== "crowd") return;
  socket.ask({ do: "crowd", mode: "off" });
  socket.endDriving();
}

/** Opens what was played as a scene; the crowd ends where that can be done. */
export function keepCrowd(): void {
  if (store.driving.peek() !== "crowd") return;
  if (store.doc.peek()?.unsaved && !confirm("There are unsaved edits. Open the recording instead?")) return;
  store.pending.value += 1;
  socket.askForSession({ do: "crowd", mode: "keep" });
}

export function pauseCrowd(): void {
  const status = store.crowdStatus.peek();
  if (store.driving.peek() === "crowd" && status) socket.ask({ do: "steer", pause: status.playing });
}

/** Tells a crowd that plays of clips that were dropped since. */
export function declareClips(): void {
  const fresh = store.ownClips.peek().filter(({ file }) => !declared.peek().has(file));
  if (store.driving.peek() !== "crowd" || !fresh.length) return;
  declared.value = new Set([...declared.peek(), ...fresh.map(({ file }) => file)]);
  socket.ask({ do: "crowd", mode: "declare", clips: fresh.map(({ file, take }) => ({ file, take })) });
}

/** Tells the crowd of a dropped file: a body, and a motion if it has one. */
export function declareFile({ file }: { file: string }, take: number): void {
  store.dropped.value = null;
  store.tab.value = "crowd";
  socket.ask({ do: "crowd", mode: "declare", clips: [{ file, take }] });
}

/** Sends a message to the crowd; whether it was sent. `done` is called with why it was refused, or "". */
export function say(address: string, values: Argument[], done: (wrong: string) => void = () => {}, key = ""): boolean {
  if (store.driving.peek() !== "crowd") return false;
  if (asked.size >= MOST_ASKED) {
    store.toast("The crowd is busy: wait until it has answered.", "error");
    return false;
  }
  asked.set(next, { key, done });
  socket.ask({ do: "steer", number: next, say: address, with: values });
  next += 1;
  return true;
}

/** Sends a message of a drag: while one of the same key is not answered, only the latest waits. */
export function sayLatest(key: string, address: string, values: Argument[]): void {
  if ([...asked.values()].some((entry) => entry.key === key)) waiting.set(key, { say: address, with: values });
  else say(address, values, () => {}, key);
}

socket.sinks.answer = (said: CrowdAnswer): void => {
  const entry = asked.get(said.number);
  asked.delete(said.number);
  if (!entry) return;
  entry.done(said.wrong);
  const latest = waiting.get(entry.key);
  waiting.delete(entry.key);
  if (latest && !said.wrong) say(latest.say, latest.with, () => {}, entry.key);
};

/** A text of TOML. */
export const quoted = (text: string): string => JSON.stringify(text);
const row = (values: readonly number[]): string => `[${values.map((value) => value.toFixed(4)).join(", ")}]`;

/** The TOML text of a table: of a goal, of an actor. */
export function table(fields: Record<string, string | number | boolean | readonly number[] | undefined>): string {
  return Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${key} = ${typeof value === "string" ? quoted(value) : Array.isArray(value) ? row(value) : String(value)}`)
    .join("\n");
}

/** A name that no actor, or no goal, has yet. */
export function freeName(base: string, known: readonly string[]): string {
  for (let n = 1; ; n++) {
    const name = n === 1 ? base : `${base} ${n}`;
    if (!known.includes(name)) return name;
  }
}

/** A place among some others where nobody stands: the middle, or as near to it as there is room. */
export function freePlace(taken: readonly (readonly [number, number])[]): [number, number] {
  const middle = (k: 0 | 1): number => taken.map((place) => place[k]).sort((a, b) => a - b)[Math.floor(taken.length / 2)] ?? 0;
  const [x, z] = [middle(0), middle(1)];
  for (let ring = 0; ; ring++) {
    for (let n = 0; n < Math.max(6 * ring, 1); n++) {
      const angle = (2 * Math.PI * n) / Math.max(6 * ring, 1);
      const at: [number, number] = [x + ROOM * ring * Math.cos(angle), z + ROOM * ring * Math.sin(angle)];
      if (taken.every((place) => Math.hypot(place[0] - at[0], place[1] - at[1]) > 0.9 * ROOM)) return at;
    }
  }
}

export function addActor(body: string, motion: string): void {
  const crowd = store.crowd.peek();
  if (!crowd) return;
  const base = body.replace(/^sample:/, "").slice(0, 40);
  const name = freeName(base, crowd.actors.map((actor) => actor.name));
  say("/crowd/actor", [table({ name, character: body, motion, place: freePlace((store.crowdStatus.peek()?.actors ?? []).map((actor) => actor.place)) })]);
}

export function removeActor(number: number): void {
  const actor = store.crowd.peek()?.actors.find((entry) => entry.number === number);
  if (!actor) return;
  say("/crowd/actor/remove", [actor.name], (wrong) => {
    if (!wrong && store.crowdActor.peek() === number) store.crowdActor.value = null;
  });
}

export function removeGoal(name: string): void {
  say("/crowd/goal/remove", [name], (wrong) => {
    if (!wrong && store.crowdGoal.peek() === name) store.crowdGoal.value = null;
  });
}

/** Delete in crowd mode: the selected goal, else the selected actor. */
export function removeChosen(): void {
  const goal = store.crowdGoal.peek();
  const actor = store.crowdActor.peek();
  if (goal !== null) removeGoal(goal);
  else if (actor !== null) removeActor(actor);
}
