// The scene, kept in sync with the store.
import { effect, untracked } from "@preact/signals";
import * as THREE from "three";
import { askPath, sinks } from "../socket";
import * as store from "../store";
import type { Character, Mark, SceneObject, Vec3 } from "../types";
import { CROWD, CURRENT, Track, type GroundData, type LooksData, type MeshData, type Poses } from "../wire";
import { Cast } from "./cast";
import { CrowdView } from "./crowd";
import { Bones, Skin } from "./figure";
import { Handles, Holds, Trails } from "./overlay";
import { Stage } from "./stage";
import { isPiece, knob, type Side } from "./pieces";
import { Way } from "./way";
import { disposeAll, makeObject, replaceTerrain } from "./world";

const FIGURE = 0xb9bdc6;
const OTHER = 0xd98cf0;
const GHOST = 0x8fa0b8;
/** Layers of three.js: what the left and the right pane show alone. Layer 0 is in both. */
const [LEFT, RIGHT] = [1, 2];

/** Where the camera is, of the character's height from its root. */
const VIEWS: Record<"front" | "side" | "top" | "quarter", Vec3> = { front: [0, 0.1, 2.3], side: [2.3, 0.1, 0], top: [0, 3.2, 0.001], quarter: [1.35, 0.42, 1.6] };

/** A character driven by the server, shown instead of the clip. */
export interface Live {
  track: Track;
  frames: number;
}

export class Theatre {
  readonly stage: Stage;
  handles: Handles | null = null;
  hovered = -1;
  readonly holds = new Holds();
  readonly objects = new THREE.Group();
  /** Knobs of the selected piece of the ground, by which it is resized. */
  readonly knobs = new THREE.Group();
  readonly way = new Way();
  live: Live | null = null;
  /** A crowd that plays, shown instead of the clip. */
  crowd: CrowdView | null = null;
  private skin: Skin | null = null;
  private bones: Bones | null = null;
  private ghost: Bones | null = null;
  /** Characters on the stage besides the edited one, by the layer of their poses. */
  private readonly casts = new Map<number, Cast>();
  private trails: Trails | null = null;
  private terrain: THREE.Mesh | null = null;
  private mesh: MeshData | null = null;
  private character: Character | null = null;
  private followed: THREE.Vector3 | null = null;

  constructor(canvas: HTMLCanvasElement) {
    this.stage = new Stage(canvas);
    this.stage.scene.add(this.holds.object, this.objects, this.knobs, this.way.object);
    // panes show some layers each; without them the camera sees all
    this.stage.camera.layers.enableAll();
    sinks.mesh = (mesh) => {
      if (mesh && mesh.layer > CROWD) this.crowd?.setMesh(mesh);
      else if (mesh && mesh.layer !== CURRENT) this.casts.get(mesh.layer)?.setMesh(mesh);
      else this.setMesh(mesh);
    };
    sinks.looks = (looks) => {
      if (looks.layer > CROWD) this.crowd?.setLooks(looks);
      else if (looks.layer !== CURRENT) this.casts.get(looks.layer)?.setLooks(looks);
      else this.setLooks(looks);
    };
    sinks.ground = (ground) => (ground?.layer === CROWD ? this.crowd?.setGround(ground) : this.setGround(ground));
    sinks.live = (data) => this.setLive(data);
    sinks.crowd = (data) => this.crowd?.take(data);
    effect(() => {
      const wanted = store.crowd.value !== null;
      if (wanted !== (this.crowd !== null)) untracked(() => this.setCrowd(wanted));
    });
    // a crowd moves all the time: what it shows is between the frames that have come
    this.stage.eachTime(() => this.crowd?.pose());
    effect(() => {
      const figure = store.figure.value;
      if (figure && figure.character !== this.character) this.setCharacter(figure.character, figure.original);
    });
    // footprints are rebuilt when footplants change; time only changes their shade
    effect(() => {
      this.holds.set(store.bars.value, (mark) => this.heading(mark), (store.figure.value?.character.height ?? 1.75) / 1.75 || 1);
      this.stage.change();
    });
    effect(() => this.setCasts());
    effect(() => this.setObjects());
    effect(() => this.stage.paint(store.theme.value === "light"));
    effect(() => {
      const chosen = store.selection.value;
      this.way.set(store.path.value, store.figure.value?.level ?? 0, chosen.kind === "path" ? chosen.index : -1);
      this.way.object.visible = store.show.path.value;
      this.stage.change();
    });
    effect(() => {
      if (store.show.path.value) askPath();
    });
    effect(() => this.pose());
  }

  private setCharacter(character: Character, original: Character): void {
    this.character = character;
    this.stage.scaleTo(character.height);
    for (const part of [this.bones, this.ghost, this.handles, this.trails]) {
      if (part) {
        this.stage.scene.remove(part.object);
        part.dispose();
      }
    }
    this.bones = new Bones(character, null, 1);
    for (const pose of this.onion.splice(0)) {
      this.stage.scene.remove(pose.object);
      pose.dispose();
    }
    this.ghost = new Bones(original, GHOST, 0.4);
    this.handles = new Handles(character);
    this.trails = new Trails(character);
    this.stage.scene.add(this.bones.object, this.ghost.object, this.handles.object, this.trails.object);
    for (const part of [this.bones, this.ghost, this.handles, this.trails]) part.object.traverse((each) => each.layers.set(LEFT));
    this.followed = null;
    this.framed = false;
  }
  private framed = false;

  private setMesh(mesh: MeshData | null): void {
    if (this.skin) {
      this.stage.scene.remove(this.skin.object);
      this.skin.dispose();
      this.skin = null;
    }
    this.mesh = mesh;
    if (mesh) {
      this.skin = new Skin(mesh, FIGURE, 1, this.stage.software);
      this.skin.object.layers.set(LEFT);
      this.stage.scene.add(this.skin.object);
    }
    this.pose();
  }

  /** Gives the character its own materials and textures. */
  private setLooks(looks: LooksData): void {
    this.skin?.dress(looks, this.stage.software, () => this.stage.change());
    this.pose();
  }

  private setGround(ground: GroundData | null): void {
    this.terrain = replaceTerrain(this.stage.scene, this.terrain, ground, this.stage.software);
    this.pose();
  }

  private setLive(data: Poses): void {
    // poses may still arrive after driving has stopped
    if (store.driving.peek() === "off") return;
    const known = this.live?.track;
    const track = known && known.joints === data.joints ? known : new Track(1, data.joints);
    track.patch({ ...data, first: 0 });
    this.live = { track, frames: (this.live?.frames ?? 0) + 1 };
    this.pose();
  }

  /** Shows a crowd instead of the clip and its scene, or these again. */
  private setCrowd(wanted: boolean): void {
    if (wanted) {
      this.crowd = new CrowdView(this.stage);
      this.hideClip();
      return;
    }
    this.crowd?.dispose();
    this.crowd = null;
    this.objects.visible = this.knobs.visible = true;
    this.way.object.visible = store.show.path.peek();
    if (this.terrain) this.terrain.visible = true;
    if (this.character) this.stage.scaleTo(this.character.height);
    this.framed = false;
  }

  private hideClip(): void {
    this.stage.panes = [];
    for (const part of [this.skin, this.bones, this.ghost, this.handles, this.trails, this.holds, this.way, ...this.onion]) if (part) part.object.visible = false;
    this.objects.visible = this.knobs.visible = false;
    if (this.terrain) this.terrain.visible = false;
    for (const cast of this.casts.values()) cast.hide();
    this.stage.change();
  }

  stopLive(): void {
    this.live = null;
    this.pose();
  }

  /** Puts the other characters on the stage: results that are compared, and those of the outliner. */
  private setCasts(): void {
    const [compared, figure] = [store.comparison.value, store.figure.value];
    const wanted = new Map<number, [Character, number, number]>();
    for (const actor of store.cast.value) if (!actor.active) wanted.set(actor.layer, [actor.character, FIGURE, 0]);
    for (const [side, colour, layer] of [[compared?.a, FIGURE, LEFT], [compared?.b, OTHER, RIGHT]] as const) {
      const character = side?.character ?? figure?.character;
      if (side && character && side.layer !== CURRENT) wanted.set(side.layer, [character, colour, layer]);
    }
    for (const [layer, cast] of this.casts) {
      if (wanted.get(layer)?.[0] === cast.character) continue;
      cast.dispose();
      this.casts.delete(layer);
    }
    for (const [layer, [character, colour, seen]] of wanted) {
      if (this.casts.has(layer)) continue;
      const made = new Cast(this.stage.scene, character, colour, this.stage.software, seen, () => this.stage.change());
      // the same character has the same skin
      if (character === figure?.character && this.mesh) made.setMesh(this.mesh);
      this.casts.set(layer, made);
    }
    // a character that comes or goes: all of them are in the picture
    if (this.staged !== store.cast.value.length && this.staged) this.framed = false;
    this.staged = store.cast.value.length;
    this.pose();
  }

  /** How many characters the scene had. */
  private staged = 0;

  private poseCasts(frame: number, skins: boolean): void {
    const [compared, view, hidden] = [store.comparison.value, store.compareView.value, store.hidden.value];
    const fps = store.fps.peek();
    const put = (layer: number, rate: number, seen: boolean, opacity: number): void => {
      const [cast, track] = [this.casts.get(layer), store.tracks.layers.get(layer)];
      if (cast && track && seen && !this.live) cast.pose(track, (frame * rate) / fps, opacity, skins);
      else cast?.hide();
    };
    for (const actor of store.cast.value) if (!actor.active) put(actor.layer, actor.fps, !hidden.has(actor.id), 1);
    if (!compared) return;
    if (compared.a.layer !== CURRENT) put(compared.a.layer, compared.a.fps, view !== "b", 1);
    if (compared.b.layer !== CURRENT) put(compared.b.layer, compared.b.fps, view !== "a", view === "both" ? 0.55 : 1);
  }

  /** Root of one side of a comparison at a frame. */
  private rootOf(side: "a" | "b", frame: number): { place: THREE.Vector3; height: number } | null {
    const compared = store.comparison.peek()?.[side];
    const track = compared && compared.layer !== CURRENT ? store.tracks.layers.get(compared.layer) : store.tracks.current;
    if (!compared || !track) return null;
    const at = Math.min(Math.round((frame * compared.fps) / store.fps.peek()), track.frames - 1);
    const height = (compared.character ?? this.character)?.height || 1.7;
    return { place: new THREE.Vector3(...track.point(at, 0, [0, 0, 0])), height };
  }

  /** Two panes with linked cameras while two results are compared beside one another. */
  private setPanes(frame: number, level: number): void {
    const beside = store.comparison.value !== null && store.compareView.value === "beside" && !this.live;
    const [a, b] = [this.rootOf("a", frame), this.rootOf("b", frame)];
    if (!beside || !a || !b) {
      this.stage.panes = [];
      return;
    }
    const main = store.tracks.current?.point(Math.min(frame, store.tracks.current.frames - 1), 0, [0, 0, 0]) ?? [0, 0, 0];
    const from = new THREE.Vector3(...main);
    const tall = this.character?.height || 1.7;
    this.stage.panes = [a, b].map((side, n) => {
      const scale = side.height / tall;
      const to = store.show.follow.peek() ? side.place : from;
      // the floor is level for both: the camera of a smaller character is lower
      const ground = new THREE.Vector3(from.x, level, from.z);
      return { left: n / 2, right: (n + 1) / 2, layers: [n ? RIGHT : LEFT], from: ground, to: new THREE.Vector3(to.x, level, to.z), scale, prepare: () => this.stage.accompany(side.place.x, side.place.z, level, this.terrain !== null, scale) };
    });
  }

  private setObjects(): void {
    const chosen = store.selection.value;
    disposeAll(this.objects);
    this.objects.clear();
    (store.doc.value?.objects ?? []).forEach((thing, n) => {
      const made = makeObject(thing, chosen.kind === "object" && chosen.index === n, this.stage.software);
      made.userData.index = n;
      this.objects.add(made);
    });
    this.setKnobs(chosen.kind === "object" ? store.doc.value?.objects[chosen.index] : undefined);
    this.stage.change();
  }

  /** Shows an object as it is while it is dragged or resized. */
  preview(index: number, thing: SceneObject): void {
    const old = this.objects.children[index];
    if (!old) return;
    const made = makeObject(thing, true, this.stage.software);
    made.userData.index = index;
    disposeAll(old);
    this.objects.children[index] = made;
    made.parent = this.objects;
    this.setKnobs(thing);
    this.stage.change();
  }

  private setKnobs(thing: SceneObject | undefined): void {
    disposeAll(this.knobs);
    this.knobs.clear();
    if (!thing || !isPiece(thing)) return;
    const size = 0.035 * Math.max((this.character?.height ?? 1.75) / 1.75, 0.1);
    for (const [side, colour] of [["width", 0xff6b5e], ["height", 0x7ddb6f], ["depth", 0x5aa9ff]] as [Side, number][]) {
      const mesh = new THREE.Mesh(new THREE.BoxGeometry(size, size, size).scale(1.6, 1.6, 1.6), new THREE.MeshBasicMaterial({ color: colour, depthTest: false, transparent: true }));
      mesh.position.set(...knob(thing, side).at);
      mesh.rotation.y = thing.turn;
      mesh.renderOrder = 9;
      mesh.userData.side = side;
      this.knobs.add(mesh);
    }
  }

  /** Whether the ground is anything but level: the camera then follows the character's height. */
  private get uneven(): boolean {
    return this.terrain !== null || (store.doc.peek()?.objects ?? []).some(isPiece);
  }

  /** Which of the handles is selected; −1 for none. */
  selectedHandle(): number {
    const chosen = store.selection.peek();
    if (chosen.kind !== "point" || !this.handles) return -1;
    return this.handles.points.findIndex((point) => point.name === chosen.name && point.joint === chosen.joint);
  }

  /** Updates everything for the current frame. */
  pose(): void {
    store.poses.value;
    store.doc.value;
    store.crowd.value;
    if (this.crowd) {
      this.hideClip();
      return;
    }
    const [frame, chosen, view] = [store.frame.value, store.selection.value, store.compareView.value];
    const shown = Object.fromEntries(Object.entries(store.show).map(([key, signal]) => [key, signal.value])) as Record<store.Shown, boolean>;
    const compared = store.comparison.value;
    const figure = store.figure.value;
    const track = this.live?.track ?? store.tracks.current;
    // before its first poses have come, a character is at the origin
    if (!track || !figure || track.version === 0) return;
    const at = this.live ? 0 : Math.min(frame, track.frames - 1);
    const edited = store.cast.value.find((actor) => actor.active);
    const own = (!compared || (view !== "b" && compared.a.layer === CURRENT) || (view !== "a" && compared.b.layer === CURRENT)) && !(edited && store.hidden.value.has(edited.id));
    const pane = compared && compared.b.layer === CURRENT && compared.a.layer !== CURRENT ? RIGHT : LEFT;
    if (this.skin) {
      this.skin.object.visible = shown.skin && own;
      this.skin.pose(track, at);
    }
    if (this.bones) {
      this.bones.object.visible = own && (shown.bones || !this.skin || !shown.skin);
      this.bones.pose(track, at);
    }
    const original = store.tracks.original;
    if (this.ghost && original) {
      this.ghost.object.visible = shown.ghost && !this.live;
      if (this.ghost.object.visible) this.ghost.pose(original, Math.min(frame, original.frames - 1));
    } else if (this.ghost) this.ghost.object.visible = false;
    this.poseOnion(track, at, shown.onion && !this.live);
    this.poseCasts(frame, shown.skin);
    for (const part of [this.skin, this.bones]) part?.object.layers.set(pane);
    if (this.handles) {
      this.handles.object.visible = !this.live && !compared;
      this.handles.pose(track, at, this.selectedHandle(), this.hovered, shown.bones);
    }
    if (this.trails) {
      this.trails.object.visible = shown.trails && !this.live && own && !(compared && pane === RIGHT);
      if (this.trails.object.visible) this.trails.pose(track, at, figure.fps);
    }
    this.holds.object.visible = !this.live;
    this.holds.pose(frame, figure.fps, chosen.kind === "mark" ? chosen.id : null, shown.prints);
    this.accompany(track, at, figure.level, shown.follow || this.live !== null);
    this.setPanes(at, figure.level);
    this.stage.change();
  }

  private readonly onion: Bones[] = [];

  /** Poses a few tenths of a second before and after, pale. */
  private poseOnion(track: Track, at: number, wanted: boolean): void {
    if (wanted && !this.onion.length && this.character) {
      for (const colour of [0x5aa9ff, 0x5aa9ff, 0xff9d5c, 0xff9d5c]) {
        const pose = new Bones(this.character, colour, 0.3);
        this.onion.push(pose);
        this.stage.scene.add(pose.object);
      }
    }
    const gap = Math.max(Math.round(0.15 * store.fps.peek()), 1);
    this.onion.forEach((pose, n) => {
      const frame = at + gap * ([-2, -1, 1, 2][n] ?? 0);
      pose.object.visible = wanted && frame >= 0 && frame < track.frames;
      if (pose.object.visible) pose.pose(track, frame);
    });
  }

  /** Looks at the character from a named side. */
  preset(side: keyof typeof VIEWS): void {
    const from = VIEWS[side];
    if (this.crowd) {
      this.crowd.preset(from);
      return;
    }
    const track = this.live?.track ?? store.tracks.current;
    if (!track) return;
    const height = this.character?.height || 1.7;
    const frame = this.live ? 0 : Math.min(store.frame.peek(), track.frames - 1);
    const [x, y, z] = track.point(frame, 0, [0, 0, 0]);
    const aim = new THREE.Vector3(x, y, z);
    this.stage.look(aim.clone().add(new THREE.Vector3(...from).multiplyScalar(height)), aim);
  }

  private accompany(track: Track, at: number, level: number, follow: boolean): void {
    const [x, y, z] = track.point(at, 0, [0, 0, 0]);
    this.stage.accompany(x, z, level, this.terrain !== null);
    const now = new THREE.Vector3(x, y, z);
    if (!this.framed) {
      this.framed = true;
      this.frameFigure(now);
    } else if (follow && this.followed) {
      // up stairs too; a jump or a crouch is seen better from a camera that stays
      const by = now.clone().sub(this.followed);
      const climbing = this.uneven && !this.live;
      const height = climbing ? this.climbed(track, at) : 0;
      if (climbing !== this.climbing) by.y = climbing || this.uneven ? by.y : 0;
      else by.y = height - this.height;
      [this.height, this.climbing] = [height, climbing];
      this.stage.carry(by);
    }
    this.followed = follow ? now : null;
  }

  private height = 0;
  private climbing = false;

  /** Height of the character's root, smoothed over a second, so that the camera climbs with it but does not bob. */
  private climbed(track: Track, at: number): number {
    const half = Math.round(0.5 * store.fps.peek());
    let sum = 0;
    for (let n = -4; n <= 4; n++) sum += track.point(Math.min(Math.max(Math.round(at + (n * half) / 4), 0), track.frames - 1), 0, [0, 0, 0])[1];
    return sum / 9;
  }

  /** Frames the character with the camera. */
  frameFigure(at?: THREE.Vector3): void {
    if (this.crowd) {
      this.crowd.frame();
      return;
    }
    const track = this.live?.track ?? store.tracks.current;
    const height = this.character?.height || 1.7;
    if (!track) return;
    const frame = this.live ? 0 : Math.min(store.frame.peek(), track.frames - 1);
    const center = at ?? new THREE.Vector3(...track.point(frame, 0, [0, 0, 0]));
    this.climbing = this.uneven && !this.live;
    this.height = this.climbing ? this.climbed(track, frame) : 0;
    // stairs are sent after the poses: a character far from the level floor is on something else
    const [level, sole] = [store.figure.peek()?.level ?? 0, center.y - 0.55 * height];
    const foot = this.uneven || Math.abs(sole - level) > 0.15 * height ? sole : level;
    const aim = new THREE.Vector3(center.x, foot + 0.5 * height, center.z);
    // several characters are seen from the front, so that none hides another
    const several = store.cast.peek().length > 1;
    const away = several ? new THREE.Vector3(-0.5, 0.5, 2.9) : new THREE.Vector3(1.35, 0.42, 1.6);
    const tall = Math.max(height, ...(several ? store.cast.peek().map((actor) => actor.character.height) : []));
    if (several) aim.y = foot + 0.5 * tall;
    this.stage.look(aim.clone().add(away.multiplyScalar(tall)), aim);
  }

  /** Heading of a planted foot: from its joint to its ball. */
  private heading(mark: Mark): number {
    const track = store.tracks.current;
    const figure = store.figure.peek();
    if (mark.kind === "step" && typeof mark.heading === "number") return mark.heading;
    if (!track || !figure || mark.kind === "pin") return 0;
    const side = mark.track.split("_")[0];
    const [heel, ball] = ["heel", "ball"].map((part) => figure.character.points.find((point) => point.name === `${side}_${part}`));
    if (!heel || !ball) return 0;
    const at = Math.min(Math.round((mark.start + mark.end) / 2), track.frames - 1);
    const [a, b] = [track.point(at, heel.joint, heel.offset), track.point(at, ball.joint, ball.offset)];
    return Math.atan2(b[0] - a[0], b[2] - a[2]);
  }
}
