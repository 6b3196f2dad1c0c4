// Messages to and from the server; the Python side is footplant/editor/scene.py and connection.py.

export type Vec3 = [number, number, number];
export type Quat = [number, number, number, number];

export interface ContactPoint {
  name: string;
  joint: number;
  offset: Vec3;
  hand: boolean;
}

export interface Character {
  name: string;
  height: number;
  joints: string[];
  roles: string[];
  parents: number[];
  tracks: Track[];
  points: ContactPoint[];
  ends: { joint: number; offset: Vec3 }[];
  skinned: boolean;
}

export type Track = "left_foot" | "right_foot" | "left_hand" | "right_hand" | "body";

export interface LeftJournal {
  journal: string;
  edits: number;
  ended: number;
  name: string;
}

export interface Figure {
  is: "figure";
  clip: string;
  frames: number;
  fps: number;
  knots: number;
  level: number;
  session: string;
  character: Character;
  original: Character;
  original_frames: number;
  methods: string[];
  notes: string[];
  left: LeftJournal[];
}

export interface Mark {
  id: number;
  /** "step": all plants of one stance of a foot, as one bar; its number is that of the step. */
  kind: "plant" | "pin" | "step";
  title: string;
  point: string | { joint?: string; point?: string; offset?: Vec3 } | null;
  joint: number;
  track: Track;
  start: number;
  end: number;
  ramp: [number, number];
  place: Vec3 | null;
  free: boolean;
  /** Drawn red: the footplant drifts, or contradicts another. */
  wrong?: boolean;
  phases?: Phase[];
  heading?: number | null;
}

/** When one part of a foot is down during a step. */
export interface Phase {
  part: string;
  start: number;
  end: number;
  place: Vec3;
}

/** One stance of a foot: its plants of heel and ball. */
export interface Footstep {
  id: number;
  side: "left" | "right";
  track: Track;
  title: string;
  start: number;
  end: number;
  marks: number[];
  place: Vec3;
  heading: number | null;
  free: boolean;
  ramp: [number, number];
  phases: Phase[];
}

/** What cannot hold, with edits that would cure it. */
export interface Conflict {
  kind: "overlap" | "fast" | "reach";
  steps: number[];
  marks: number[];
  text: string;
  fixes: { label: string; edit: Edit }[];
}

/** One entry of the stack. */
export interface Operator {
  id: number;
  kind: string;
  title: string;
  on: boolean;
  failed: string;
  values: Record<string, unknown>;
}

export interface HandEdit {
  /** Its operator in the stack; 0 for one that was duplicated away. */
  operator: number;
  frame: number;
  joint: number;
  spacing: number;
  target: Vec3 | null;
}

export interface SceneObject {
  kind: "box" | "table" | "doorway";
  place: Vec3;
  turn: number;
  size: Vec3;
}

export interface Report {
  method: string;
  status: string;
  meaning: string;
  solved: boolean;
  seconds: number;
  worst: number | null;
  worst_name: string | null;
  unmet: string[];
  notes: string[];
}

export interface Document {
  is: "document";
  marks: Mark[];
  steps: Footstep[];
  conflicts: Conflict[];
  stack: Operator[];
  drags: HandEdit[];
  history: string[];
  position: number;
  unsaved: boolean;
  method: string;
  ground: string;
  objects: SceneObject[];
  report: Report | null;
}

export type QualityRow = [string, number | null, number | null];

export interface Compared {
  name: string;
  report: Report | null;
  rows: QualityRow[] | null;
}

export interface Curves {
  is: "curves";
  plot: string;
  unit: string;
  frames: number[];
  lines: Record<string, number[]>;
}

export type Said =
  | Figure
  | Document
  | Curves
  | { is: "quality"; position: number; rows: QualityRow[] }
  | { is: "compare"; a: Compared; b: Compared }
  | { is: "dragged"; seq: number; missed: number | null; frames: number; milliseconds: number; conflict?: string }
  | { is: "progress"; label: string; share: number; done?: boolean }
  | { is: "ground"; name: string; level: number }
  | { is: "path"; points: [number, number][] }
  | { is: "driving"; mode: "drive" | "live" }
  | { is: "live"; datagrams: number; rate: number; note: string; matters: Record<string, number> }
  | { is: "note"; text: string }
  | { is: "error"; text: string; during?: string };

export type Edit = { kind: string } & Record<string, unknown>;
