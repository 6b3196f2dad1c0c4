// Poses as local rotations, taken from the world poses that the server sends. Pure functions.
import type { Quat } from "../types";
import type { Track } from "../wire";

export interface CopiedPose {
  /** Name of a joint → its rotation relative to its parent, (w, x, y, z). */
  joints: Record<string, Quat>;
  /** Height of the root, metres. */
  height: number;
}

/** Product of two quaternions (x, y, z, w). */
function multiply(a: readonly number[], b: readonly number[]): [number, number, number, number] {
  const [ax = 0, ay = 0, az = 0, aw = 1] = a;
  const [bx = 0, by = 0, bz = 0, bw = 1] = b;
  return [aw * bx + ax * bw + ay * bz - az * by, aw * by - ax * bz + ay * bw + az * bx, aw * bz + ax * by - ay * bx + az * bw, aw * bw - ax * bx - ay * by - az * bz];
}

/** The pose of a track at a frame. */
export function poseAt(track: Track, frame: number, names: readonly string[], parents: readonly number[]): CopiedPose {
  const turn = (joint: number): Float32Array => track.quaternions.subarray(4 * (frame * track.joints + joint), 4 * (frame * track.joints + joint) + 4);
  const joints: Record<string, Quat> = {};
  names.forEach((name, joint) => {
    const parent = parents[joint] ?? -1;
    const [px = 0, py = 0, pz = 0, pw = 1] = parent >= 0 ? turn(parent) : [0, 0, 0, 1];
    const [x, y, z, w] = multiply([-px, -py, -pz, pw], [...turn(joint)]);
    joints[name] = [w, x, y, z];
  });
  return { joints, height: track.positions[3 * frame * track.joints + 1] ?? 0 };
}

/** A joint and everything below it. */
export function limbOf(joint: number, parents: readonly number[]): Set<number> {
  const found = new Set([joint]);
  parents.forEach((parent, child) => {
    if (found.has(parent)) found.add(child);
  });
  return found;
}
