// The binary messages: a header of eight unsigned integers, then 32-bit arrays. See footplant/editor/wire.py.

export const POSES = 1;
export const MESH = 2;
export const GROUND = 3;
export const LOOKS = 4;
export const CROWD_POSES = 5;
export const CURRENT = 0;
export const ORIGINAL = 1;
export const OTHER = 2;
export const LIVE = 3;
export const FIRST = 4;
/** Layer of the ground of a crowd; from here on, of the models of its actors. */
export const CROWD = 256;
const HEADER = 8;

export interface Poses {
  kind: typeof POSES;
  layer: number;
  sequence: number;
  first: number;
  frames: number;
  joints: number;
  positions: Float32Array;
  quaternions: Float32Array;
}

export interface MeshData {
  kind: typeof MESH;
  layer: number;
  vertices: Float32Array;
  normals: Float32Array;
  weights: Float32Array;
  inverseBind: Float32Array;
  skinJoints: Uint32Array;
  faces: Uint32Array;
  joints: number;
}

/** Materials and textures of a mesh. */
export interface LooksData {
  kind: typeof LOOKS;
  layer: number;
  /** Texture coordinates of every corner of every triangle. */
  uvs: Float32Array;
  /** Material of each triangle. */
  materials: Uint32Array;
  /** Red, green, blue, opacity of each material, linear. */
  colours: Float32Array;
  /** Texture of each material; −1 for none. */
  textures: Int32Array;
  pictures: Uint8Array[];
}

export interface GroundData {
  kind: typeof GROUND;
  layer: number;
  columns: number;
  rows: number;
  low: [number, number];
  step: [number, number];
  heights: Float32Array;
}

/** All actors of a crowd at a frame, one after another. */
export interface CrowdPoses {
  kind: typeof CROWD_POSES;
  frame: number;
  /** Numbers of the actors, and how many joints each has. */
  numbers: Uint32Array;
  counts: Uint32Array;
  positions: Float32Array;
  quaternions: Float32Array;
}

export type Message = Poses | MeshData | GroundData | LooksData | CrowdPoses;

/** Decodes a binary message; throws when its length does not match its header. */
export function decode(buffer: ArrayBuffer): Message {
  if (buffer.byteLength < 4 * HEADER || buffer.byteLength % 4) throw new Error(`a message of ${buffer.byteLength} bytes`);
  const head = new Uint32Array(buffer, 0, HEADER);
  const [kind = 0, layer = 0, sequence = 0, a = 0, b = 0, c = 0] = head;
  let at = 4 * HEADER;
  const floats = (count: number): Float32Array => {
    const part = new Float32Array(buffer, at, count);
    at += 4 * count;
    return part;
  };
  const integers = (count: number): Uint32Array => {
    const part = new Uint32Array(buffer, at, count);
    at += 4 * count;
    return part;
  };
  let message: Message;
  if (kind === POSES) {
    expectLength(buffer, HEADER + b * c * 7);
    message = { kind, layer, sequence, first: a, frames: b, joints: c, positions: floats(b * c * 3), quaternions: floats(b * c * 4) };
  } else if (kind === MESH) {
    expectLength(buffer, HEADER + a * 14 + c * 16 + b * 3);
    const [vertices, normals, weights, inverseBind] = [floats(3 * a), floats(3 * a), floats(4 * a), floats(16 * c)];
    message = { kind, layer, vertices, normals, weights, inverseBind, skinJoints: integers(4 * a), faces: integers(3 * b), joints: c };
  } else if (kind === LOOKS) {
    const [uvs, materials, colours] = [floats(6 * a), integers(a), floats(4 * b)];
    const textures = new Int32Array(buffer, at, b);
    at += 4 * b;
    const sizes = integers(c);
    const pictures = [...sizes].map((size) => {
      const part = new Uint8Array(buffer, at, size);
      at += 4 * Math.ceil(size / 4);
      return part;
    });
    expectLength(buffer, at / 4);
    message = { kind, layer, uvs, materials, colours, textures, pictures };
  } else if (kind === GROUND) {
    expectLength(buffer, HEADER + 4 + a * b);
    const [x = 0, z = 0, dx = 1, dz = 1] = floats(4);
    message = { kind, layer, columns: a, rows: b, low: [x, z], step: [dx, dz], heights: floats(a * b) };
  } else if (kind === CROWD_POSES) {
    expectLength(buffer, HEADER + 2 * b + 7 * c);
    const [numbers, counts] = [integers(b), integers(b)];
    if (counts.reduce((sum, count) => sum + count, 0) !== c) throw new Error("actors whose joints do not add up");
    message = { kind, frame: a, numbers, counts, positions: floats(3 * c), quaternions: floats(4 * c) };
  } else {
    throw new Error(`a message of the unknown kind ${kind}`);
  }
  return message;
}

function expectLength(buffer: ArrayBuffer, words: number): void {
  if (buffer.byteLength !== 4 * words) throw new Error(`expected ${4 * words} bytes, got ${buffer.byteLength}`);
}

/** Encodes poses as the server does; used by tests only. */
export function encodePoses(poses: Omit<Poses, "kind">): ArrayBuffer {
  const buffer = new ArrayBuffer(4 * (HEADER + poses.frames * poses.joints * 7));
  new Uint32Array(buffer, 0, HEADER).set([POSES, poses.layer, poses.sequence, poses.first, poses.frames, poses.joints, 0, 0]);
  new Float32Array(buffer, 4 * HEADER, poses.positions.length).set(poses.positions);
  new Float32Array(buffer, 4 * (HEADER + poses.positions.length)).set(poses.quaternions);
  return buffer;
}

/** All poses of one layer, into which patches are written. */
export class Track {
  readonly positions: Float32Array;
  readonly quaternions: Float32Array;
  /** Counts patches, to trigger drawing. */
  version = 0;

  constructor(
    readonly frames: number,
    readonly joints: number,
  ) {
    this.positions = new Float32Array(frames * joints * 3);
    this.quaternions = new Float32Array(frames * joints * 4);
  }

  /** Applies a patch; one that does not fit is ignored and reported. */
  patch(poses: Poses): boolean {
    if (poses.joints !== this.joints || poses.first + poses.frames > this.frames) return false;
    this.positions.set(poses.positions, poses.first * this.joints * 3);
    this.quaternions.set(poses.quaternions, poses.first * this.joints * 4);
    this.version += 1;
    return true;
  }

  copy(): Track {
    const made = new Track(this.frames, this.joints);
    made.positions.set(this.positions);
    made.quaternions.set(this.quaternions);
    return made;
  }

  /** World position of a point fixed to a joint. */
  point(frame: number, joint: number, offset: readonly [number, number, number]): [number, number, number] {
    const p = 3 * (frame * this.joints + joint);
    const q = 4 * (frame * this.joints + joint);
    const [x = 0, y = 0, z = 0, w = 1] = this.quaternions.subarray(q, q + 4);
    const [ox, oy, oz] = offset;
    const [tx, ty, tz] = [2 * (y * oz - z * oy), 2 * (z * ox - x * oz), 2 * (x * oy - y * ox)];
    return [
      (this.positions[p] ?? 0) + ox + w * tx + y * tz - z * ty,
      (this.positions[p + 1] ?? 0) + oy + w * ty + z * tx - x * tz,
      (this.positions[p + 2] ?? 0) + oz + w * tz + x * ty - y * tx,
    ];
  }
}
