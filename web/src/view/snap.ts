// Snapping of footsteps to each other: in line, side by side, midway, the same heading. Pure functions.
import type { Footstep } from "../types";

export interface Snapped {
  x: number;
  z: number;
  /** What it has snapped to, for people; empty without. */
  why: string[];
}

/** Metres within which other steps count, for a person of average height. */
const NEARBY = 2.5;

/** A place of a step, moved to where it is in line with, beside or midway between other steps, if that is near.
 *
 * heading: of the step, radians; within: metres; scale: the character's height over that of an average person. */
export function snapStep(x: number, z: number, heading: number, step: Footstep, others: readonly Footstep[], within: number, scale = 1): Snapped {
  const [fx, fz] = [Math.sin(heading), Math.cos(heading)];
  const near = others.filter((other) => other.id !== step.id && Math.hypot(other.place[0] - x, other.place[2] - z) < NEARBY * scale);
  const ahead = (other: Footstep): number => (other.place[0] - x) * fx + (other.place[2] - z) * fz;
  const aside = (other: Footstep): number => (other.place[0] - x) * fz - (other.place[2] - z) * fx;
  const name = (other: Footstep): string => other.title;
  const sideways: [number, string][] = near.filter((other) => other.side === step.side).map((other) => [aside(other), `in line with the ${name(other)}`]);
  const along: [number, string][] = near.filter((other) => other.side !== step.side).map((other) => [ahead(other), `beside the ${name(other)}`]);
  const same = others.filter((other) => other.side === step.side && other.id !== step.id).sort((a, b) => a.start - b.start);
  const [before, after] = [same.filter((other) => other.start < step.start).at(-1), same.find((other) => other.start > step.start)];
  if (before && after) along.push([0.5 * (ahead(before) + ahead(after)), `midway between the ${name(before)} and the ${name(after)}`]);
  const best = (found: [number, string][]): [number, string] => found.reduce((one, other) => (Math.abs(other[0]) < Math.abs(one[0]) ? other : one), [within, ""]);
  const [by, why] = best(sideways);
  const [on, reason] = best(along);
  const [side, forward] = [why ? by : 0, reason ? on : 0];
  return { x: x + forward * fx + side * fz, z: z + forward * fz - side * fx, why: [why, reason].filter((text) => text) };
}

/** A heading of a step, turned to that of another one if that is near; radians. */
export function snapHeading(heading: number, step: Footstep, others: readonly Footstep[], within: number): { heading: number; why: string } {
  let [least, why] = [within, ""];
  let by = 0;
  for (const other of others) {
    if (other.id === step.id || other.heading === null || other.side !== step.side) continue;
    const away = Math.atan2(Math.sin(other.heading - heading), Math.cos(other.heading - heading));
    if (Math.abs(away) < least) [least, by, why] = [Math.abs(away), away, `heading as the ${other.title}`];
  }
  return { heading: heading + by, why };
}

/** A frame, moved to the nearest of some others within some frames. */
export function snapFrame(frame: number, to: readonly number[], within: number): number {
  const away = to.map((other) => Math.abs(other - frame));
  const least = Math.min(...away, within);
  return to[away.indexOf(least)] ?? frame;
}
