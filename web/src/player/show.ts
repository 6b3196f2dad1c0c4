// What the player shows: scenes, figures side by side or overlaid. The editor's viewport draws it.
import { effect, signal } from "@preact/signals";
import * as THREE from "three";
import * as store from "../store";
import type { Character, Figure, Vec3 } from "../types";
import { Bones, Skin } from "../view/figure";
import { Holds, Trails } from "../view/overlay";
import { playOn } from "../view/playback";
import { Stage } from "../view/stage";
import { disposeAll, makeTerrain } from "../view/world";
import type { GroundData, Track } from "../wire";
import type { Content, FigureData, Plant, SceneData } from "./data";

export type Layout = "side" | "over";

export const content: { value: Content | null } = { value: null };
export const scene = signal(0);
export const layout = signal<Layout>("side");
/** Which figures of the scene are shown. */
export const visible = signal<boolean[]>([]);
/** The figure whose footplants and curves are in the dock. */
export const focus = signal(0);
export const panel = signal(true);

export const COLOURS: Record<FigureData["kind"], string> = { source: "#b9bdc6", unsolved: "#e0955f", result: "#86b6ee" };
const TALL = 1.75;
/** Heights over the tallest character's below which a character is enlarged. */
const SMALL = 0.35;

export function current(): SceneData | null {
  return content.value?.header.scenes[scene.value] ?? null;
}

export function focused(): FigureData | null {
  return current()?.figures[focus.value] ?? null;
}

/** The scene's frame as a fractional frame of a figure's motion. */
function frameOf(figure: FigureData, fps: number, frame: number): number {
  const own = figure.fps === fps ? frame - figure.lead : (frame * figure.fps) / fps;
  return Math.min(Math.max(own, 0), Math.max(figure.frames - 1, 0));
}

/** One motion on its character, with footprints, on a layer of its own. */
class Shown {
  readonly track: Track;
  readonly group = new THREE.Group();
  readonly holds = new Holds();
  private readonly skin: Skin | null = null;
  private readonly bones: Bones;
  private readonly trails: Trails;
  private readonly slides = new THREE.Group();
  private readonly terrain: THREE.Mesh | null = null;
  private readonly field: GroundData | null;

  constructor(
    readonly data: FigureData,
    readonly layer: number,
    made: Content,
    plain: boolean,
  ) {
    this.track = made.track(data);
    const mesh = data.skin === null ? null : made.mesh(data.skin);
    const colour = new THREE.Color(COLOURS[data.kind]).getHex();
    if (mesh && mesh.joints === this.track.joints) this.skin = new Skin(mesh, colour, 1, plain);
    this.bones = new Bones(data.character, this.skin ? null : colour, 1);
    this.trails = new Trails(data.character);
    this.holds.set(data.marks, (mark) => this.heading(mark as Plant), Math.max(data.character.height || TALL, 0.001) / TALL);
    for (const mark of data.marks) if (mark.wrong) this.slides.add(this.slide(mark));
    this.field = made.ground(data);
    if (this.field) this.terrain = makeTerrain(this.field, plain);
    for (const part of [this.skin?.object, this.bones.object, this.trails.object, this.holds.object, this.slides, this.terrain]) if (part) this.group.add(part);
    this.group.traverse((part) => part.layers.set(layer));
  }

  get character(): Character {
    return this.data.character;
  }

  get uneven(): boolean {
    return this.terrain !== null;
  }

  /** World position of the root at a frame of the scene. */
  root(frame: number, fps: number): Vec3 {
    return this.track.point(this.at(frame, fps), 0, [0, 0, 0]);
  }

  /** Height of the ground below a point. */
  level(x: number, z: number): number {
    const { field } = this;
    if (!field) return this.data.level;
    const i = Math.min(Math.max(Math.round((x - field.low[0]) / field.step[0]), 0), field.columns - 1);
    const j = Math.min(Math.max(Math.round((z - field.low[1]) / field.step[1]), 0), field.rows - 1);
    return field.heights[i * field.rows + j] ?? this.data.level;
  }

  private at(frame: number, fps: number): number {
    return Math.min(Math.round(frameOf(this.data, fps, frame) / this.data.motion.step), Math.max(this.track.frames - 1, 0));
  }

  pose(frame: number, fps: number, opacity: number, ground: boolean): void {
    if (!this.track.frames) return;
    const at = this.at(frame, fps);
    const own = frameOf(this.data, fps, frame);
    const skin = this.skin !== null && store.show.skin.value;
    if (this.skin) {
      this.skin.object.visible = skin;
      this.skin.fade(opacity);
      if (skin) this.skin.pose(this.track, at);
    }
    this.bones.object.visible = store.show.bones.value || !skin;
    this.bones.fade(skin ? 1 : opacity);
    if (this.bones.object.visible) this.bones.pose(this.track, at);
    this.trails.object.visible = store.show.trails.value;
    if (this.trails.object.visible) this.trails.pose(this.track, at, this.data.fps / this.data.motion.step);
    const prints = store.show.prints.value;
    this.holds.object.visible = this.slides.visible = prints;
    this.holds.pose(own, this.data.fps, null, prints);
    for (const slide of this.slides.children) slide.visible = own >= (slide.userData.start as number) - 0.5;
    if (this.terrain) this.terrain.visible = ground;
  }

  /** The path of a footplant that drifts, red. */
  private slide(mark: Plant): THREE.Object3D {
    const point = this.character.points.find((entry) => entry.name === mark.point);
    const places: THREE.Vector3[] = [];
    for (let frame = mark.start; point && frame < mark.end; frame++) {
      const at = Math.min(Math.round(frame / this.data.motion.step), this.track.frames - 1);
      places.push(new THREE.Vector3(...this.track.point(at, point.joint, point.offset)));
    }
    const group = new THREE.Group();
    group.userData.start = mark.start;
    if (places.length < 2) return group;
    const thick = 0.008 * (Math.max(this.character.height || TALL, 0.001) / TALL);
    const tube = new THREE.TubeGeometry(new THREE.CatmullRomCurve3(places), Math.min(4 * places.length, 200), thick, 6);
    const mesh = new THREE.Mesh(tube, new THREE.MeshBasicMaterial({ color: store.WRONG, depthTest: false, transparent: true, opacity: 0.9 }));
    mesh.renderOrder = 5;
    group.add(mesh);
    return group;
  }

  /** Heading of a planted foot: from heel to ball. */
  private heading(mark: Plant): number {
    const side = mark.track.split("_")[0];
    const [heel, ball] = ["heel", "ball"].map((part) => this.character.points.find((point) => point.name === `${side}_${part}`));
    if (!heel || !ball || !this.track.frames) return 0;
    const at = Math.min(Math.round((mark.start + mark.end) / 2 / this.data.motion.step), this.track.frames - 1);
    const [a, b] = [this.track.point(at, heel.joint, heel.offset), this.track.point(at, ball.joint, ball.offset)];
    return Math.atan2(b[0] - a[0], b[2] - a[2]);
  }

  dispose(): void {
    for (const part of [this.skin, this.bones, this.trails]) part?.dispose();
    this.holds.clear();
    disposeAll(this.slides);
    if (this.terrain) disposeAll(this.terrain);
  }
}

export class Player {
  readonly stage: Stage;
  shown: Shown[] = [];
  private loaded: SceneData | null = null;
  private followed: THREE.Vector3 | null = null;

  constructor(canvas: HTMLCanvasElement) {
    this.stage = new Stage(canvas);
    // not from below the ground
    this.stage.orbit.maxPolarAngle = 0.55 * Math.PI;
    playOn(this.stage);
    effect(() => this.load());
    effect(() => this.pose());
  }

  private load(): void {
    const [wanted, made] = [current(), content.value];
    if (!wanted || !made || wanted === this.loaded) return;
    this.loaded = wanted;
    for (const one of this.shown) {
      this.stage.scene.remove(one.group);
      one.dispose();
    }
    this.shown = wanted.figures.map((figure, n) => new Shown(figure, n + 1, made, this.stage.software));
    for (const one of this.shown) this.stage.scene.add(one.group);
    this.followed = null;
    store.tracks.current = this.shown.at(-1)?.track ?? null;
    store.poses.value += 1;
    this.stage.scaleTo(Math.max(...wanted.figures.map((figure) => figure.character.height || TALL)));
    this.frame();
  }

  /** Figures that are shown, the result last. */
  private seen(): Shown[] {
    const some = this.shown.filter((_, n) => visible.value[n] ?? true);
    return some.length ? some : this.shown.slice(-1);
  }

  private place(one: Shown): THREE.Vector3 {
    const [x, , z] = one.root(store.frame.peek(), store.fps.peek());
    return new THREE.Vector3(x, one.uneven ? one.level(x, z) : one.data.level, z);
  }

  pose(): void {
    store.poses.value;
    const [now, fps, side] = [store.frame.value, store.fps.value, layout.value === "side"];
    const follow = store.show.follow.value;
    const seen = this.seen();
    const main = seen.at(-1);
    if (!main || !this.loaded) return;
    for (const one of this.shown) one.group.visible = seen.includes(one);
    for (const one of seen) one.pose(now, fps, side || one === main ? 1 : 0.45, side || one === main || !main.uneven);
    const origin = this.place(main);
    if (follow && this.followed) this.stage.carry(origin.clone().sub(this.followed));
    this.followed = follow ? origin : null;
    const tallest = side ? Math.max(...seen.map((one) => one.character.height || TALL)) : 0;
    const prepare = (one: Shown) => () => {
      const at = this.place(one);
      this.stage.accompany(at.x, at.z, one.data.level, one.uneven, this.scale(one, tallest));
    };
    this.stage.panes = side
      ? seen.map((one, n) => ({
          left: n / seen.length,
          right: (n + 1) / seen.length,
          layers: [one.layer],
          from: origin,
          to: follow ? this.place(one) : origin,
          scale: this.scale(one, tallest),
          prepare: prepare(one),
        }))
      : [{ left: 0, right: 1, layers: seen.map((one) => one.layer), from: origin, to: origin, scale: 1, prepare: prepare(main) }];
    this.stage.change();
  }

  /** Characters far smaller than the tallest are seen from nearer, so that they can be seen at all. */
  private scale(one: Shown, tallest: number): number {
    const ratio = (one.character.height || TALL) / (tallest || one.character.height || TALL);
    return ratio < SMALL ? ratio : 1;
  }

  /** Frames the characters; feet: from near the ground. */
  frame(feet = false): void {
    const main = this.seen().at(-1);
    if (!main) return;
    const height = Math.max(...this.seen().map((one) => one.character.height || TALL));
    const at = this.place(main);
    const narrow = Math.max((layout.peek() === "side" ? this.seen().length : 1) * (this.stage.canvas.clientHeight / Math.max(this.stage.canvas.clientWidth, 1)), 1);
    const aim = at.clone().setY(at.y + (feet ? 0.07 : 0.5) * height);
    // from the side on which the motion goes past
    const heading = this.heading(main);
    const from = new THREE.Vector3(...((feet ? [0.82, 0.2, 0.28] : [1.55, 0.38, 0.85]) as Vec3)).multiplyScalar(height * Math.sqrt(narrow));
    this.stage.look(aim.clone().add(from.applyAxisAngle(new THREE.Vector3(0, 1, 0), heading)), aim);
    this.followed = store.show.follow.peek() ? at : null;
  }

  /** The direction of travel, as an angle about y. */
  private heading(one: Shown): number {
    const last = one.track.frames - 1;
    if (last < 1) return 0;
    const [a, b] = [one.track.point(0, 0, [0, 0, 0]), one.track.point(last, 0, [0, 0, 0])];
    const [x, z] = [b[0] - a[0], b[2] - a[2]];
    return Math.hypot(x, z) > 0.3 * (one.character.height || TALL) ? Math.atan2(x, z) : 0;
  }
}

/** Shows a scene from its start. */
export function open(number: number): void {
  const wanted = content.value?.header.scenes[number];
  if (!wanted) return;
  scene.value = number;
  visible.value = wanted.figures.map(() => true);
  focus.value = wanted.figures.length - 1;
  const main = wanted.figures.at(-1);
  if (!main) return;
  store.figure.value = { is: "figure", clip: wanted.name, frames: wanted.frames, fps: wanted.fps, knots: 0, level: main.level, session: "", character: main.character, original: main.character, original_frames: wanted.frames, methods: [], notes: [], left: [] } satisfies Figure;
  store.goTo(store.frame.peek());
}

/** Footplants of a figure in frames of the scene. */
export function marksOf(figure: FigureData, fps: number): Plant[] {
  const moved = (frame: number): number => (figure.fps === fps ? frame + figure.lead : Math.round((frame * fps) / figure.fps));
  return figure.marks.map((mark) => ({ ...mark, start: moved(mark.start), end: moved(mark.end) }));
}
