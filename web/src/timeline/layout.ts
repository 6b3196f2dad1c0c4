// Timeline layout and hit testing: pure functions, tested without a page.
import type { HandEdit, Mark, Track } from "../types";

export const TRACKS: readonly Track[] = ["left_foot", "right_foot", "left_hand", "right_hand", "body"];
export const LABELS: Record<Track, string> = {
  left_foot: "Left foot",
  right_foot: "Right foot",
  left_hand: "Left hand",
  right_hand: "Right hand",
  body: "Body",
};
export const RULER = 22;
export const LANE = 15;
const PAD = 3;
const EDGE = 6;
/** Pixels below a key at which the ends of its influence are. */
export const REACH = 7;
const LEAST_LANES = 1;

export interface View {
  /** Pixels. */
  width: number;
  height: number;
  /** Pixels on the left for the names of the tracks. */
  gutter: number;
  /** The frame at the left edge; may be fractional. */
  first: number;
  /** Pixels per frame. */
  scale: number;
  frames: number;
  fps: number;
}

export interface Bar {
  id: number;
  kind: Mark["kind"];
  track: Track;
  title: string;
  free: boolean;
  wrong: boolean;
  /** Of a footstep: when its parts are down, in pixels. */
  phases: { part: string; x0: number; x1: number }[];
  x0: number;
  x1: number;
  y: number;
  height: number;
  /** Pixels over which it eases in before `x0` and out after `x1`. */
  rampIn: number;
  rampOut: number;
}

export interface Row {
  track: Track;
  y: number;
  height: number;
}

export interface Tick {
  x: number;
  frame: number;
  major: boolean;
}

/** A drag, a rotation or a pose by hand: where it is, and how far it reaches, in pixels. */
export interface Key {
  x: number;
  y: number;
  frame: number;
  operator: number;
  pose: boolean;
  /** Where its influence begins, is full, is no longer full, and ends. */
  reach: [number, number, number, number];
}

export interface Layout {
  view: View;
  rows: Row[];
  bars: Bar[];
  keys: Key[];
  ticks: Tick[];
  /** Pixel range affected by an edit at the current frame. */
  influence: [number, number] | null;
  /** Bottom of the rows. */
  bottom: number;
}

export type Hit =
  | { kind: "bar" | "start" | "end" | "ramp-in" | "ramp-out"; id: number; frame: number }
  | { kind: "key"; frame: number; operator: number }
  | { kind: "before" | "after"; frame: number; operator: number }
  | { kind: "ruler"; frame: number }
  | { kind: "row"; track: Track; frame: number }
  | { kind: "none"; frame: number };

export function xOf(view: View, frame: number): number {
  return view.gutter + (frame - view.first) * view.scale;
}

export function frameAt(view: View, x: number): number {
  return view.first + (x - view.gutter) / view.scale;
}

/** Fits the whole clip into the width. */
export function fitted(view: Omit<View, "first" | "scale">): View {
  const room = Math.max(view.width - view.gutter - 12, 10);
  return { ...view, first: 0, scale: room / Math.max(view.frames, 1) };
}

/** Zooms by a factor about a pixel, within limits. */
export function zoomed(view: View, factor: number, x: number): View {
  const least = fitted(view).scale;
  const scale = Math.min(Math.max(view.scale * factor, least), 40);
  const at = frameAt(view, x);
  return panned({ ...view, scale, first: at - (x - view.gutter) / scale }, 0);
}

/** Scrolls by frames, within the clip. */
export function panned(view: View, by: number): View {
  const shown = (view.width - view.gutter - 12) / view.scale;
  return { ...view, first: Math.min(Math.max(view.first + by, 0), Math.max(view.frames - shown, 0)) };
}

/** Assigns each mark the first free lane, heels above balls. */
export function lanes(marks: readonly Mark[]): Map<number, number> {
  const order = [...marks].sort((a, b) => a.title.localeCompare(b.title) || a.start - b.start);
  const names: string[] = [];
  const found = new Map<number, number>();
  const taken: [number, number][][] = [];
  for (const mark of order) {
    const name = typeof mark.point === "string" ? mark.point : `${mark.joint}`;
    if (!names.includes(name)) names.push(name);
    // footsteps of one foot share a lane; those that overlap go below
    let lane = mark.kind === "plant" ? names.indexOf(name) : 0;
    while ((taken[lane] ?? []).some(([start, end]) => mark.start < end && start < mark.end)) lane += 1;
    (taken[lane] ??= []).push([mark.start, mark.end]);
    found.set(mark.id, lane);
  }
  return found;
}

export function layoutTimeline(
  view: View,
  marks: readonly Mark[],
  drags: readonly HandEdit[],
  tracksOf: readonly Track[],
  influence: { frame: number; reach: number } | null,
  tracks: readonly Track[] = TRACKS,
): Layout {
  const rows: Row[] = [];
  const bars: Bar[] = [];
  let y = RULER;
  for (const track of tracks) {
    const own = marks.filter((mark) => mark.track === track);
    const lane = lanes(own);
    const count = Math.max(LEAST_LANES, ...[...lane.values()].map((n) => n + 1));
    const height = count * LANE + 2 * PAD;
    rows.push({ track, y, height });
    for (const mark of own) {
      bars.push({
        id: mark.id,
        kind: mark.kind,
        track,
        title: mark.title,
        free: mark.free,
        wrong: mark.wrong ?? false,
        phases: (mark.phases ?? []).map((phase) => ({ part: phase.part, x0: xOf(view, phase.start), x1: xOf(view, phase.end) })),
        x0: xOf(view, mark.start),
        x1: xOf(view, mark.end),
        y: y + PAD + (lane.get(mark.id) ?? 0) * LANE,
        height: LANE - 2,
        rampIn: mark.ramp[0] * view.fps * view.scale,
        rampOut: mark.ramp[1] * view.fps * view.scale,
      });
    }
    y += height;
  }
  const keys = drags.map((edit) => {
    const row = rows.find((entry) => entry.track === (tracksOf[edit.joint] ?? "body")) ?? rows[0];
    const at = (seconds: number): number => xOf(view, edit.frame + seconds * view.fps);
    const reach: Key["reach"] = [at(-edit.before), at(0), at(edit.hold), at(edit.hold + edit.after)];
    return { x: xOf(view, edit.frame), y: (row?.y ?? RULER) + (row?.height ?? LANE) / 2, frame: edit.frame, operator: edit.operator, pose: edit.pose, reach };
  });
  return {
    view,
    rows,
    bars,
    keys,
    ticks: ticks(view),
    influence: influence && [xOf(view, influence.frame - influence.reach), xOf(view, influence.frame + influence.reach)],
    bottom: y,
  };
}

/** Ticks at round numbers of frames, those with numbers at least 56 pixels apart. */
export function ticks(view: View): Tick[] {
  const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000];
  const major = steps.find((step) => step * view.scale >= 56) ?? 20000;
  const minor = steps.find((step) => step * view.scale >= 7) ?? major;
  const found: Tick[] = [];
  const last = Math.min(view.frames - 1, frameAt(view, view.width));
  for (let at = Math.max(Math.ceil(view.first / minor) * minor, 0); at <= last; at += minor) {
    found.push({ x: xOf(view, at), frame: at, major: at % major === 0 });
  }
  return found;
}

/** Hit test: ends of bars before their middles, ramps outside of them, later bars before earlier ones. */
export function hitTest(layout: Layout, x: number, y: number, chosen: number | null = null): Hit {
  const { view } = layout;
  const at = Math.round(frameAt(view, x));
  const clamped = Math.min(Math.max(at, 0), view.frames - 1);
  if (x < view.gutter) {
    const row = layout.rows.find((entry) => y >= entry.y && y < entry.y + entry.height);
    return row ? { kind: "row", track: row.track, frame: clamped } : { kind: "none", frame: clamped };
  }
  if (y < RULER) return { kind: "ruler", frame: clamped };
  for (const key of layout.keys) {
    if (Math.abs(x - key.x) <= 5 && Math.abs(y - key.y) <= 6) return { kind: "key", frame: key.frame, operator: key.operator };
  }
  const key = layout.keys.find((entry) => entry.operator === chosen && chosen);
  if (key && Math.abs(y - (key.y + REACH)) <= 6) {
    if (Math.abs(x - key.reach[0]) <= EDGE) return { kind: "before", frame: clamped, operator: key.operator };
    if (Math.abs(x - key.reach[3]) <= EDGE) return { kind: "after", frame: clamped, operator: key.operator };
  }
  for (const bar of [...layout.bars].reverse()) {
    if (y < bar.y || y > bar.y + bar.height) continue;
    const edge = Math.min(EDGE, (bar.x1 - bar.x0) / 3);
    if (Math.abs(x - bar.x0) <= edge) return { kind: "start", id: bar.id, frame: clamped };
    if (Math.abs(x - bar.x1) <= edge) return { kind: "end", id: bar.id, frame: clamped };
    if (x > bar.x0 && x < bar.x1) return { kind: "bar", id: bar.id, frame: clamped };
    if (x < bar.x0 && x >= bar.x0 - Math.max(bar.rampIn, 0) - EDGE) return { kind: "ramp-in", id: bar.id, frame: clamped };
    if (x > bar.x1 && x <= bar.x1 + Math.max(bar.rampOut, 0) + EDGE) return { kind: "ramp-out", id: bar.id, frame: clamped };
  }
  const row = layout.rows.find((entry) => y >= entry.y && y < entry.y + entry.height);
  return row ? { kind: "row", track: row.track, frame: clamped } : { kind: "none", frame: clamped };
}

/** The values of a key's operator when an end of its influence is dragged to a frame; of a drag both ends move. */
export function reachEdit(edit: HandEdit, end: "before" | "after", frame: number, fps: number, knots: number): Record<string, number> {
  const away = (frame - edit.frame) / fps;
  const seconds = Math.max(end === "before" ? -away : away - edit.hold, 0);
  if (edit.pose) return { [end]: Math.round(1000 * seconds) / 1000 };
  return { spacing: Math.min(Math.max((2 * seconds * 30) / knots, 1), 200) };
}

/** The frames at which bars start and end. */
export function edges(marks: readonly Mark[]): number[] {
  return marks.flatMap((mark) => [mark.start, mark.end]);
}

export type Part = "bar" | "start" | "end" | "ramp-in" | "ramp-out";

/** A mark after dragging one of its parts by frames: stays within the clip, at least two frames long. */
export function draggedMark(mark: Mark, part: Part, by: number, frames: number, fps: number): Mark {
  const step = Math.round(by);
  if (part === "bar") {
    const moved = Math.min(Math.max(step, -mark.start), frames - mark.end);
    const phases = mark.phases?.map((phase) => ({ ...phase, start: phase.start + moved, end: phase.end + moved }));
    return { ...mark, start: mark.start + moved, end: mark.end + moved, ...(phases ? { phases } : {}) };
  }
  if (part === "start") return { ...mark, start: Math.min(Math.max(mark.start + step, 0), mark.end - 2) };
  if (part === "end") return { ...mark, end: Math.max(Math.min(mark.end + step, frames), mark.start + 2) };
  const [rampIn, rampOut] = mark.ramp;
  const seconds = (value: number): number => Math.min(Math.max(value, 0), 2);
  return part === "ramp-in"
    ? { ...mark, ramp: [seconds(rampIn - by / fps), rampOut] }
    : { ...mark, ramp: [rampIn, seconds(rampOut + by / fps)] };
}

/** The edit that turns one mark into another: of a footstep by how much it changes, of any other mark what it is. */
export function markEdit(was: Mark, now: Mark): { kind: string } & Record<string, unknown> {
  if (was.kind !== "step") return { kind: "mark", id: now.id, start: now.start, end: now.end, ramp: now.ramp };
  const [onset, release] = [now.start - was.start, now.end - was.end];
  const eased = was.ramp[0] !== now.ramp[0] || was.ramp[1] !== now.ramp[1] ? { ramp: now.ramp } : {};
  if (onset === release) return { kind: "step", id: now.id, ...(onset ? { shift: onset } : {}), ...eased };
  return { kind: "step", id: now.id, ...(onset ? { onset } : {}), ...(release ? { release } : {}), ...eased };
}
