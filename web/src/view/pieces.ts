// Pieces of the ground: blocks, stairs and ramps. Where their knobs are, how they are resized, what continues them.
import type { SceneObject, Vec3 } from "../types";

export type PieceKind = "block" | "stairs" | "ramp";
export type Side = "width" | "height" | "depth";

/** Thinnest piece, metres. */
const THINNEST = 0.02;

export function isPiece(thing: Pick<SceneObject, "kind"> | undefined): boolean {
  return thing?.kind === "block" || thing?.kind === "stairs" || thing?.kind === "ramp";
}

/** Direction of an object's depth, and of its width to the left of it, on the ground (x, z). */
export function axes(turn: number): { ahead: [number, number]; left: [number, number] } {
  return { ahead: [Math.sin(turn), Math.cos(turn)], left: [Math.cos(turn), -Math.sin(turn)] };
}

/** Where the knob of a side is, and along which direction it is dragged. */
export function knob(thing: SceneObject, side: Side): { at: Vec3; along: Vec3 } {
  const { ahead, left } = axes(thing.turn);
  const [x, y, z] = thing.place;
  const [width, height, depth] = thing.size;
  const half = 0.5 * height;
  if (side === "width") return { at: [x + 0.5 * width * left[0], y + half, z + 0.5 * width * left[1]], along: [left[0], 0, left[1]] };
  const end: Vec3 = [x + 0.5 * depth * ahead[0], y, z + 0.5 * depth * ahead[1]];
  if (side === "depth") return { at: [end[0], y + half, end[2]], along: [ahead[0], 0, ahead[1]] };
  // the top of a block is in its middle, that of stairs and ramps at their end
  return { at: thing.kind === "block" ? [x, y + height, z] : [end[0], y + height, end[2]], along: [0, 1, 0] };
}

/** An object after the knob of a side was dragged by metres: the other side stays, the width grows both ways. */
export function resized(thing: SceneObject, side: Side, by: number, step = 0): SceneObject {
  const rounded = (value: number): number => Math.max(step > 0 ? Math.round(value / step) * step : value, THINNEST);
  const [width, height, depth] = thing.size;
  if (side === "width") return { ...thing, size: [rounded(width + 2 * by), height, depth] };
  if (side === "height") return { ...thing, size: [width, rounded(height + by), depth] };
  const { ahead } = axes(thing.turn);
  const longer = rounded(depth + by);
  const half = 0.5 * (longer - depth);
  return { ...thing, place: [thing.place[0] + half * ahead[0], thing.place[1], thing.place[2] + half * ahead[1]], size: [width, height, longer] };
}

export const NEW_PIECES: Record<PieceKind, Vec3> = { block: [1.6, 0.2, 1.2], stairs: [1.6, 0.64, 1.28], ramp: [1.6, 0.4, 2] };
const RUN = 0.32;

/** A piece that continues another: a landing at the top of stairs or a ramp, a way down from the end of a block. */
export function continued(thing: SceneObject, kind: PieceKind): SceneObject {
  const { ahead } = axes(thing.turn);
  const [width, height, depth] = thing.size;
  const down = thing.kind === "block" && kind !== "block";
  const steps = Math.max(Math.round(height / 0.16), 1);
  const deep = kind === "stairs" ? (down ? steps * RUN : NEW_PIECES.stairs[2]) : kind === "ramp" && down ? Math.max(5 * height, 0.5) : NEW_PIECES[kind][2];
  const away = 0.5 * (depth + deep);
  const [x, y, z] = thing.place;
  const upwards = thing.kind !== "block" && kind !== "block";
  return {
    kind,
    // what rises further begins at the top of what is there
    place: [x + away * ahead[0], upwards ? y + height : y, z + away * ahead[1]],
    turn: down ? thing.turn + Math.PI : thing.turn,
    size: [width, kind === "block" || down ? height : NEW_PIECES[kind][1], deep],
    ...(kind === "stairs" ? { count: down ? steps : 4 } : {}),
  };
}

/** How far along a line, metres from its origin, a ray passes closest; null when they are parallel. */
export function alongLine(origin: Vec3, along: Vec3, eye: Vec3, ray: Vec3): number | null {
  const dot = (a: Vec3, b: Vec3): number => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  const between: Vec3 = [origin[0] - eye[0], origin[1] - eye[1], origin[2] - eye[2]];
  const [a, b, c] = [dot(along, along), dot(along, ray), dot(ray, ray)];
  const [d, e] = [dot(along, between), dot(ray, between)];
  const over = a * c - b * b;
  return over < 1e-9 * a * c ? null : (b * e - c * d) / over;
}
