// State of the page. Panels read these signals; only `socket.ts` and user actions write them.
import { computed, effect, signal } from "@preact/signals";
import type { Actor, Compared, Crowd, CrowdActor, CrowdGoal, CrowdStatus, Curves, Document, DrivableSet, DriveKey, Figure, Mark, QualityRow, Vec3 } from "./types";
import type { DroppedFile } from "./commands";
import type { CopiedPose } from "./view/pose";
import { Track } from "./wire";

export type Selection =
  | { kind: "none" }
  | { kind: "point"; name: string; joint: number; offset: Vec3 }
  | { kind: "mark"; id: number }
  | { kind: "object"; index: number }
  | { kind: "path"; index: number };

export type Tab = "edit" | "stack" | "character" | "scene" | "compare" | "quality" | "drive" | "crowd" | "history";
export type Mode = "translate" | "rotate";

export const figure = signal<Figure | null>(null);
export const doc = signal<Document | null>(null);
export const tracks: { current: Track | null; original: Track | null; layers: Map<number, Track> } = { current: null, original: null, layers: new Map() };
/** The characters of the scene; one of them is edited. */
export const cast = signal<Actor[]>([]);
/** Characters that are not shown, by their ids. */
export const hidden = signal<ReadonlySet<string>>(new Set());
/** Counts changes of `tracks`, to trigger drawing. */
export const poses = signal(0);

export const frame = signal(0);
export const playing = signal(false);
/** The current frame for numbers and texts: while playing it changes a few times a second, which is enough to read. */
export const readFrame = signal(0);
let readAt = 0;
effect(() => {
  const [now, at] = [frame.value, performance.now()];
  if (playing.value && at - readAt < 250) return;
  readAt = at;
  readFrame.value = now;
});
export const looping = signal(true);
export const speed = signal(1);

export const selection = signal<Selection>({ kind: "none" });
export const mode = signal<Mode>("translate");
export const spacing = signal(8);
/** Whether the gizmo moves in steps of 5 cm and 5°, and steps snap to the ground and to each other. */
export const snapping = signal(false);
/** What a dragged step has snapped to. */
export const snapNote = signal("");
/** Whether the gizmo moves along the axes of the joint instead of the world's. */
export const localAxes = signal(false);
export const dragging = signal<{ frame: number; spacing: number } | null>(null);
export const tab = signal<Tab>("edit");

export const show = {
  skin: signal(true),
  bones: signal(false),
  ghost: signal(false),
  trails: signal(true),
  prints: signal(true),
  path: signal(false),
  follow: signal(true),
  curves: signal(false),
  onion: signal(false),
};
export type Shown = keyof typeof show;

export const connected = signal(false);
/** Whether something else answers at the server's address: the editor was started again under another one. */
export const stranger = signal(false);
export const progress = signal<{ label: string; share: number } | null>(null);
export const dragInfo = signal<{ missed: number | null; milliseconds: number; conflict?: string } | null>(null);
export const quality = signal<{ rows: QualityRow[]; position: number } | null>(null);
export const comparison = signal<{ a: Compared; b: Compared } | null>(null);
export const compareView = signal<"a" | "b" | "both" | "beside">("both");
export const curves = signal<Curves | null>(null);
export const plot = signal<"error" | "height" | "speed" | "joint" | "importance">("height");
/** Control points (x, z) of the character's path. */
export const path = signal<[number, number][]>([]);
export const driving = signal<"off" | "starting" | "drive" | "live" | "crowd">("off");
/** The keys of drive mode, as the server has given them to the motions of the set. */
export const driveKeys = signal<readonly DriveKey[]>([
  { key: "w", label: "W", what: "walk" },
  { key: "shift", label: "Shift", what: "run" },
  { key: "s", label: "S", what: "sneak" },
  { key: "1", label: "1", what: "limp" },
  { key: "a", label: "A", what: "turn left" },
  { key: "d", label: "D", what: "turn right" },
  { key: "k", label: "K", what: "kick" },
  { key: "j", label: "J", what: "punch" },
  { key: "l", label: "L", what: "jump" },
]);
/** Which motions are driven, and what was found in one's own clips. */
export const driveSource = signal<"samples" | "own">("samples");
export const ownSet = signal<DrivableSet | null>(null);
export const liveStatus = signal<{ datagrams: number; rate: number; note: string; matters: Record<string, number> } | null>(null);
/** Who is in the crowd, and how it runs; null while there is none. */
export const crowd = signal<Crowd | null>(null);
export const crowdStatus = signal<CrowdStatus | null>(null);
/** What is selected of the crowd: the number of an actor, the name of a goal. */
export const crowdActor = signal<number | null>(null);
export const crowdGoal = signal<string | null>(null);
export const chosenActor = computed<CrowdActor | null>(() => crowd.value?.actors.find((actor) => actor.number === crowdActor.value) ?? null);
export const chosenGoal = computed<CrowdGoal | null>(() => crowdStatus.value?.goals.find((goal) => goal.name === crowdGoal.value) ?? null);
/** Priority of goals that are added by dragging. */
export const crowdPriority = signal(10);
export const help = signal(false);
export const toasts = signal<{ id: number; text: string; kind: "note" | "error" }[]>([]);
/** Files that were dropped together, with what the server found in them; null until it has looked. */
export const dropped = signal<{ names: string[]; found: DroppedFile[] | null } | null>(null);
/** The character whose roles are being mapped by hand. */
export const mapping = signal<{ file: DroppedFile; use: "retarget" | "open" } | null>(null);
/** Requests for edits that the server has not answered yet. */
export const pending = signal(0);
/** Whether a video of the viewport is being recorded. */
export const recording = signal(false);
/** Clips of one's own that can be blended with and driven. */
export interface OwnClip {
  file: string;
  name: string;
  take: number;
}
export const ownClips = signal<OwnClip[]>([]);
export const notesShown = signal(false);
export const theme = signal<"dark" | "light">("dark");
/** The key of the timeline that is selected: a drag by the number of its operator. */
export const keyChosen = signal<number | null>(null);
/** The pose that was copied. */
export const copiedPose = signal<CopiedPose | null>(null);
export const exportFormat = signal("glb");

export const frames = computed(() => figure.value?.frames ?? 1);
export const fps = computed(() => figure.value?.fps ?? 30);

/** Frames on either side of an edit that are affected: half of seven knots, spacing in frames of 1/30 s. */
export const reach = computed(() => 0.5 * (figure.value?.knots ?? 7) * Math.max((spacing.value * fps.value) / 30, 1));

/** What the timeline shows as bars: footsteps as one each, and pins; red where something cannot hold. */
export const bars = computed<Mark[]>(() => barsOf(doc.value));

export function barsOf(now: Document | null): Mark[] {
  if (!now) return [];
  const wrongSteps = new Set(now.conflicts.flatMap((conflict) => conflict.steps));
  const wrongMarks = new Set(now.conflicts.flatMap((conflict) => conflict.marks));
  const inSteps = new Set(now.steps.flatMap((step) => step.marks));
  const joint = (id: number): number => now.marks.find((mark) => mark.id === id)?.joint ?? 0;
  const steps = now.steps.map((step): Mark => ({
    id: step.id,
    kind: "step",
    title: step.title,
    point: null,
    joint: joint(step.marks[0] ?? -1),
    track: step.track,
    start: step.start,
    end: step.end,
    ramp: step.ramp,
    place: step.place,
    free: step.free,
    wrong: wrongSteps.has(step.id),
    phases: step.phases,
    heading: step.heading,
  }));
  const others = now.marks.filter((mark) => !inSteps.has(mark.id)).map((mark) => ({ ...mark, wrong: wrongMarks.has(mark.id) }));
  return [...steps, ...others];
}

export const selectedMark = computed<Mark | null>(() => {
  const chosen = selection.value;
  return chosen.kind === "mark" ? (bars.value.find((mark) => mark.id === chosen.id) ?? null) : null;
});

let nextToast = 1;
/** Shows a message for a while; errors stay until they are closed. */
export function toast(text: string, kind: "note" | "error" = "note"): void {
  const id = nextToast++;
  toasts.value = [...toasts.value.slice(-3), { id, text, kind }];
  if (kind === "note") setTimeout(() => closeToast(id), 5000);
}

export function closeToast(id: number): void {
  toasts.value = toasts.value.filter((entry) => entry.id !== id);
}

export function goTo(wanted: number): void {
  frame.value = Math.max(0, Math.min(frames.value - 1, Math.round(wanted)));
}

/** Display name: left_palm → left palm. */
export function spoken(name: string): string {
  return name.replaceAll("_", " ");
}

/** Colour of footplants that drift. */
export const WRONG = "#ff3b30";

export const TRACK_COLOURS: Record<string, string> = {
  left_foot: "#4fa3ff",
  left_hand: "#7cc0ff",
  right_foot: "#ff7a66",
  right_hand: "#ffa594",
  body: "#93d38a",
};
