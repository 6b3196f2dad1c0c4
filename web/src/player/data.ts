// Unpacks the data of a page; the Python side is footplant/plot/packed.py and player.py.
import type { Character, Mark, Report as Verdict, Vec3 } from "../types";
import { CURRENT, GROUND, MESH, type GroundData, type MeshData, Track } from "../wire";

interface Packed {
  kind: "f4" | "i1" | "i2" | "i4";
  rows: number;
  columns: number;
  order: number;
  at: number;
}

export interface Table {
  title: string;
  head: string[];
  rows: string[][];
}

export interface Report extends Pick<Verdict, "method" | "status" | "meaning" | "solved" | "seconds" | "notes"> {
  drifts: string[];
  not_right: string[];
  tables: Table[];
}

export interface Plant extends Mark {
  drift: number;
}

interface PackedCurves {
  names: string[];
  values: number;
  steps: number;
  every: number;
  unit: string;
}

export interface FigureData {
  kind: "source" | "unsolved" | "result";
  label: string;
  frames: number;
  fps: number;
  /** Frames of the scene before this motion's first; negative: as many of its frames are left out. */
  lead: number;
  level: number;
  worst: number | null;
  character: Character;
  motion: { step: number; frames: number; root: number; root_step: number; turns: number; turn_steps: number; offsets?: number; moving?: number; moving_step?: number };
  skin: number | null;
  marks: Plant[];
  curves: Partial<Record<"height" | "speed", PackedCurves>>;
  ground: { low: [number, number]; step: [number, number]; heights: number; height_step: number } | null;
}

export interface SceneData {
  name: string;
  frames: number;
  fps: number;
  figures: FigureData[];
  report: Report | null;
}

interface PackedSkin {
  low: Vec3;
  step: Vec3;
  vertices: number;
  normals: number;
  weights: number;
  joints: number;
  faces: number;
  inverse_bind: number;
}

interface Header {
  title: string;
  compact: boolean;
  scenes: SceneData[];
  summary: Table | null;
  skins: PackedSkin[];
  arrays: Packed[];
}

const SIZES = { f4: 4, i1: 1, i2: 2, i4: 4 } as const;

/** The content of a page: scenes as JSON, and arrays that are unpacked when they are shown. */
export class Content {
  readonly header: Header;
  private readonly bytes: Uint8Array;

  constructor(block: ArrayBuffer) {
    const length = new DataView(block).getUint32(0, true);
    this.header = JSON.parse(new TextDecoder().decode(new Uint8Array(block, 4, length))) as Header;
    this.bytes = new Uint8Array(block, 4 + length);
  }

  /** Undoes byte planes, signs and differences. */
  array(number: number): Float32Array | Int32Array {
    const entry = this.header.arrays[number];
    if (!entry) throw new Error(`no array ${number}`);
    const { kind, rows, columns, order, at } = entry;
    const [count, size] = [rows * columns, SIZES[kind]];
    const words = new Uint32Array(count);
    for (let plane = 0; plane < size; plane++) {
      const from = at + plane * count;
      for (let n = 0; n < count; n++) words[n] = (words[n] ?? 0) | ((this.bytes[from + n] ?? 0) << (8 * plane));
    }
    if (kind === "f4") return new Float32Array(words.buffer);
    const found = new Int32Array(count);
    for (let n = 0; n < count; n++) found[n] = ((words[n] ?? 0) >>> 1) ^ -((words[n] ?? 0) & 1);
    for (let round = 0; round < order; round++) {
      for (let n = columns; n < count; n++) found[n] = (found[n] ?? 0) + (found[n - columns] ?? 0);
    }
    return found;
  }

  mesh(number: number): MeshData | null {
    const skin = this.header.skins[number];
    if (!skin) return null;
    const scaled = (values: Float32Array | Int32Array, factor: number): Float32Array => Float32Array.from(values, (value) => value * factor);
    const vertices = Float32Array.from(this.array(skin.vertices), (value, n) => (skin.low[n % 3] ?? 0) + value * (skin.step[n % 3] ?? 1));
    const weights = scaled(this.array(skin.weights), 1 / 255);
    for (let n = 0; n < weights.length; n += 4) {
      const sum = (weights[n] ?? 0) + (weights[n + 1] ?? 0) + (weights[n + 2] ?? 0) + (weights[n + 3] ?? 0) || 1;
      for (let k = n; k < n + 4; k++) weights[k] = (weights[k] ?? 0) / sum;
    }
    const inverseBind = this.array(skin.inverse_bind) as Float32Array;
    return {
      kind: MESH,
      layer: 0,
      vertices,
      normals: scaled(this.array(skin.normals), 1 / 127),
      weights,
      inverseBind,
      skinJoints: Uint32Array.from(this.array(skin.joints)),
      faces: Uint32Array.from(this.array(skin.faces)),
      joints: inverseBind.length / 16,
    };
  }

  ground(figure: FigureData): GroundData | null {
    const data = figure.ground;
    if (!data) return null;
    const entry = this.header.arrays[data.heights];
    const heights = Float32Array.from(this.array(data.heights), (value) => value * data.height_step);
    return { kind: GROUND, layer: CURRENT, columns: entry?.rows ?? 0, rows: entry?.columns ?? 0, low: data.low, step: data.step, heights };
  }

  curves(figure: FigureData, plot: "height" | "speed"): { frames: number[]; lines: Record<string, number[]>; unit: string } | null {
    const packed = figure.curves[plot];
    if (!packed) return null;
    const values = this.array(packed.values);
    const width = packed.names.length;
    const count = values.length / width;
    const lines: Record<string, number[]> = {};
    packed.names.forEach((name, n) => {
      lines[name] = Array.from({ length: count }, (_, row) => (values[row * width + n] ?? 0) / packed.steps);
    });
    return { frames: Array.from({ length: count }, (_, row) => row * packed.every), lines, unit: packed.unit };
  }

  /** Forward kinematics: world positions and rotations of all joints. */
  track(figure: FigureData): Track {
    const { motion, character } = figure;
    const { frames } = motion;
    const joints = character.parents.length;
    const track = new Track(frames, joints);
    const [root, turns] = [this.array(motion.root), this.array(motion.turns)];
    const moving = motion.moving === undefined ? null : this.array(motion.moving);
    const offsets = motion.offsets === undefined ? null : this.array(motion.offsets);
    for (let frame = 0; frame < frames; frame++) {
      for (let joint = 0; joint < joints; joint++) {
        const parent = character.parents[joint] ?? -1;
        const [at, q] = [frame * joints + joint, 4 * (frame * joints + joint)];
        let [w, x, y, z] = [turns[q] ?? 1, turns[q + 1] ?? 0, turns[q + 2] ?? 0, turns[q + 3] ?? 0];
        const length = Math.hypot(w, x, y, z) || 1;
        [w, x, y, z] = [w / length, x / length, y / length, z / length];
        if (parent < 0) {
          track.positions.set([0, 1, 2].map((axis) => (root[3 * frame + axis] ?? 0) * motion.root_step), 3 * at);
          track.quaternions.set([x, y, z, w], 4 * at);
          continue;
        }
        const o = 3 * at;
        const offset: Vec3 = moving
          ? [(moving[o] ?? 0) * (motion.moving_step ?? 0), (moving[o + 1] ?? 0) * (motion.moving_step ?? 0), (moving[o + 2] ?? 0) * (motion.moving_step ?? 0)]
          : [offsets?.[3 * joint] ?? 0, offsets?.[3 * joint + 1] ?? 0, offsets?.[3 * joint + 2] ?? 0];
        track.positions.set(track.point(frame, parent, offset), 3 * at);
        const p = 4 * (frame * joints + parent);
        const [px = 0, py = 0, pz = 0, pw = 1] = track.quaternions.subarray(p, p + 4);
        track.quaternions.set(
          [pw * x + px * w + py * z - pz * y, pw * y - px * z + py * w + pz * x, pw * z + px * y - py * x + pz * w, pw * w - px * x - py * y - pz * z],
          4 * at,
        );
      }
    }
    return track;
  }
}
