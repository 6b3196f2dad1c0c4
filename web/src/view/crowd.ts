// The crowd in the viewport: its actors, rings to move them by, targets of goals, and handles of the selected actor.
import { effect } from "@preact/signals";
import * as THREE from "three";
import * as store from "../store";
import type { Character, CrowdActor, CrowdGoal, Vec3 } from "../types";
import { CROWD, type CrowdPoses, type GroundData, type LooksData, type MeshData, type Track } from "../wire";
import { Cast } from "./cast";
import { CrowdFrames } from "./crowd_frames";
import { Handles } from "./overlay";
import type { Stage } from "./stage";
import { disposeAll, replaceTerrain } from "./world";

const FIGURE = 0xb9bdc6;
const [MET, MISSED, HELD, CHOSEN, RING] = [0x93d38a, 0xff7a66, 0x8a9099, 0xffc04d, 0x5f6b7c];
/** Joints that can be dragged, besides contact points, by their roles. */
const DRAGGED = /^(head|hips|left_(lower_arm|lower_leg|hand|foot)|right_(lower_arm|lower_leg|hand|foot))$/;
/** Kinds of goals whose target is a place. */
export const PLACED = ["reach", "away", "touch", "area"];
/** Metres of the ring at the feet of an actor of average height, of the knob at its front, and of the camera above a
 * ground. */
const [INNER, OUTER, KNOB, ABOVE] = [0.27, 0.33, 0.44, 0.8];

interface Member {
  actor: CrowdActor;
  cast: Cast;
  ring: THREE.Group;
}

/** A handle of the selected actor, by the name that goals give it. */
export interface Grab {
  name: string;
  joint: number;
  offset: Vec3;
}

export class CrowdView {
  readonly object = new THREE.Group();
  handles: Handles | null = null;
  hovered = -1;
  /** A target that is being dragged: shown where the mouse is until the server has it. */
  pulled: { goal: string; to: THREE.Vector3 } | null = null;
  /** Frames that have arrived. */
  received = 0;
  private readonly frames = new CrowdFrames();
  private readonly members = new Map<number, Member>();
  private readonly meshes = new Map<number, MeshData>();
  private readonly looks = new Map<number, LooksData>();
  private readonly marks = new Map<string, { ball: THREE.Mesh; line: THREE.Line }>();
  private poses: ReadonlyMap<number, Track> = new Map();
  private terrain: THREE.Mesh | null = null;
  private framed = false;
  /** What the last picture was of. */
  private drawn: readonly unknown[] = [];
  private handled = -1;
  private followed: THREE.Vector3 | null = null;
  private readonly ended: () => void;

  constructor(private readonly stage: Stage) {
    stage.scene.add(this.object);
    this.ended = effect(() => this.setActors());
  }

  dispose(): void {
    this.ended();
    for (const { cast, ring } of this.members.values()) {
      cast.dispose();
      disposeAll(ring);
    }
    this.setGround(null);
    this.handles?.dispose();
    for (const { ball, line } of this.marks.values()) {
      disposeAll(ball);
      line.geometry.dispose();
      (line.material as THREE.Material).dispose();
    }
    this.stage.scene.remove(this.object);
    if (this.handles) this.stage.scene.remove(this.handles.object);
  }

  private setActors(): void {
    const crowd = store.crowd.value;
    if (!crowd) return;
    const wanted = new Map(crowd.actors.map((actor) => [actor.number, actor]));
    for (const [number, member] of this.members) {
      const now = wanted.get(number);
      if (now && now.model === member.actor.model && now.name === member.actor.name) member.actor = now;
      else {
        member.cast.dispose();
        disposeAll(member.ring);
        this.object.remove(member.ring);
        this.members.delete(number);
        if (this.handled === number) this.handled = -1;
      }
    }
    for (const actor of crowd.actors) {
      if (this.members.has(actor.number)) continue;
      const cast = new Cast(this.stage.scene, actor.character, FIGURE, this.stage.software, 0, () => this.stage.change());
      cast.hide();
      const ring = makeRing(actor.character);
      ring.visible = false;
      this.object.add(ring);
      this.members.set(actor.number, { actor, cast, ring });
      this.dress(actor.model);
    }
    const used = new Set(crowd.actors.map((actor) => actor.model));
    for (const known of [this.meshes, this.looks]) for (const model of known.keys()) if (!used.has(model)) known.delete(model);
    if (crowd.level) this.setGround(null);
    this.stage.change();
  }

  setMesh(mesh: MeshData): void {
    this.meshes.set(mesh.layer - CROWD, mesh);
    this.dress(mesh.layer - CROWD);
  }

  setLooks(looks: LooksData): void {
    this.looks.set(looks.layer - CROWD, looks);
    for (const { actor, cast } of this.members.values()) if (actor.model === looks.layer - CROWD) cast.setLooks(looks);
  }

  /** Gives actors of a model its skin, as far as it has come. */
  private dress(model: number): void {
    const [mesh, looks] = [this.meshes.get(model), this.looks.get(model)];
    for (const { actor, cast } of this.members.values()) {
      if (actor.model !== model) continue;
      if (mesh) cast.setMesh(mesh);
      if (mesh && looks) cast.setLooks(looks);
    }
  }

  setGround(ground: GroundData | null): void {
    const name = store.crowd.peek()?.ground;
    if (ground && name !== this.ground) this.stayAbove(ground);
    this.ground = name;
    this.terrain = replaceTerrain(this.stage.scene, this.terrain, ground, this.stage.software);
    this.stage.change();
  }

  /** Lifts a camera that another ground would bury. */
  private stayAbove({ columns, rows, low, step, heights }: GroundData): void {
    const eye = this.stage.camera.position;
    const cell = (at: number, start: number, size: number, count: number): number => Math.min(Math.max(Math.round((at - start) / size), 0), count - 1);
    const height = heights[cell(eye.x, low[0], step[0], columns) * rows + cell(eye.z, low[1], step[1], rows)] ?? 0;
    if (eye.y < height + ABOVE) this.stage.look(new THREE.Vector3(eye.x, height + ABOVE, eye.z), this.stage.orbit.target.clone());
  }
  /** The ground that was drawn last, as messages have it. */
  private ground: string | undefined;

  take(data: CrowdPoses): void {
    this.received += 1;
    this.frames.push(data, store.crowd.peek()?.fps ?? 30, performance.now() / 1000);
  }

  /** Poses everything at the time that it is. */
  pose(): void {
    this.poses = this.frames.sample(performance.now() / 1000);
    const [skins, chosen] = [store.show.skin.value, store.crowdActor.value];
    // a crowd that is paused is drawn again only when something else has changed
    const status = store.crowdStatus.value;
    const goals = status && !status.playing ? JSON.stringify(status.goals) : status;
    const shown = [this.frames.at, skins, chosen, this.hovered, this.pulled, store.crowd.value, goals, store.crowdGoal.value, this.meshes.size];
    if (this.framed && shown.every((part, n) => part === this.drawn[n])) return;
    this.drawn = shown;
    for (const [number, { cast, ring, actor }] of this.members) {
      const track = this.poses.get(number);
      if (!track || track.joints !== actor.character.joints.length) {
        cast.hide();
        ring.visible = false;
        continue;
      }
      cast.pose(track, 0, 1, skins);
      this.poseRing(ring, number, track, number === chosen);
    }
    this.poseHandles(chosen);
    this.poseGoals();
    const middle = this.middle();
    if (!middle) return;
    // a blob of shadow is for one figure only
    this.stage.accompany(middle.x, middle.z, 0, this.terrain !== null, 0);
    if (!this.framed) {
      this.framed = true;
      this.frame();
    }
    this.follow(chosen);
    this.stage.change();
  }

  private poseRing(ring: THREE.Group, number: number, track: Track, chosen: boolean): void {
    let lowest = Infinity;
    for (let k = 1; k < track.positions.length; k += 3) lowest = Math.min(lowest, track.positions[k] ?? 0);
    const standing = store.crowdStatus.value?.actors.find((entry) => entry.number === number);
    ring.visible = true;
    ring.position.set(track.positions[0] ?? 0, Math.max(lowest - 0.04, this.terrain ? -Infinity : 0.006), track.positions[2] ?? 0);
    ring.rotation.y = ((standing?.degrees ?? 0) * Math.PI) / 180;
    for (const part of ring.children as THREE.Mesh[]) {
      const look = part.material as THREE.MeshBasicMaterial;
      look.color.setHex(chosen ? CHOSEN : (standing?.depth ?? 0) > 0 ? MISSED : RING);
      look.opacity = chosen ? 0.95 : 0.55;
    }
  }

  private poseHandles(chosen: number | null): void {
    if (chosen !== this.handled) {
      if (this.handles) {
        this.stage.scene.remove(this.handles.object);
        this.handles.dispose();
        this.handles = null;
      }
      const member = chosen === null ? undefined : this.members.get(chosen);
      if (member) {
        const { roles } = member.actor.character;
        this.handles = new Handles(member.actor.character, (point) => point.hand || point.offset.some((part) => part !== 0) || DRAGGED.test(roles[point.joint] ?? ""));
        this.stage.scene.add(this.handles.object);
      }
      this.handled = member && chosen !== null ? chosen : -1;
      this.hovered = -1;
    }
    const track = this.poses.get(this.handled);
    if (this.handles) this.handles.object.visible = track !== undefined;
    if (this.handles && track) this.handles.pose(track, 0, -1, this.hovered, true);
  }

  private poseGoals(): void {
    const goals = store.crowdStatus.value?.goals ?? [];
    const wanted = new Set<string>();
    goals.forEach((goal) => {
      const target = this.targetOf(goal);
      const track = this.poses.get(goal.actor);
      if (!target || !track) return;
      const key = `${goal.name}\n${goal.actor}`;
      wanted.add(key);
      let mark = this.marks.get(key);
      if (!mark) this.marks.set(key, (mark = makeMark(goal.name)));
      if (!mark.ball.parent) this.object.add(mark.ball, mark.line);
      const chosen = goal.name === store.crowdGoal.value;
      const colour = goal.active <= 0 ? HELD : goal.met ? MET : MISSED;
      mark.ball.position.copy(target);
      mark.ball.scale.setScalar((chosen ? 1.35 : 1) * (goal.active <= 0 ? 0.6 : 1));
      (mark.ball.material as THREE.MeshBasicMaterial).color.setHex(chosen ? CHOSEN : colour);
      const point = track.point(0, goal.joint, goal.offset);
      const ends = mark.line.geometry.getAttribute("position") as THREE.BufferAttribute;
      ends.setXYZ(0, ...point);
      ends.setXYZ(1, target.x, target.y, target.z);
      ends.needsUpdate = true;
      (mark.line.material as THREE.LineBasicMaterial).color.setHex(colour);
      mark.line.visible = goal.active > 0;
    });
    for (const [key, { ball, line }] of this.marks) {
      if (wanted.has(key)) continue;
      this.object.remove(ball, line);
      disposeAll(ball);
      line.geometry.dispose();
      (line.material as THREE.Material).dispose();
      this.marks.delete(key);
    }
  }

  /** Where the target of a goal is now; null for goals without one. */
  targetOf(goal: CrowdGoal): THREE.Vector3 | null {
    if (!PLACED.includes(goal.kind)) return null;
    if (this.pulled?.goal === goal.name && goal.together === 1) return this.pulled.to;
    const target = new THREE.Vector3(...goal.target);
    if (!goal.of) return target;
    const track = this.poses.get(goal.of.actor);
    return track ? target.add(new THREE.Vector3(...track.point(0, goal.of.joint, goal.of.offset))) : null;
  }

  /** Targets that can be dragged, with their goals. */
  targets(): { goal: CrowdGoal; at: THREE.Vector3 }[] {
    return (store.crowdStatus.peek()?.goals ?? []).flatMap((goal) => {
      const at = this.targetOf(goal);
      return at ? [{ goal, at }] : [];
    });
  }

  /** The handles of the selected actor by the names that goals give them: contact points and roles. */
  grabs(): Grab[] {
    const { points } = this.handles ?? { points: [] };
    const roles = this.members.get(this.handled)?.actor.character.roles ?? [];
    return points.map((point) => ({ name: point.hand || point.offset.some((part) => part !== 0) ? point.name : (roles[point.joint] || point.name), joint: point.joint, offset: point.offset }));
  }

  place(n: number): THREE.Vector3 | null {
    return this.handles?.place(n) ?? null;
  }

  /** Where the ring of an actor is, and the knob by which it is turned. */
  ringOf(number: number): { at: THREE.Vector3; knob: THREE.Vector3; outer: number } | null {
    const ring = this.members.get(number)?.ring;
    if (!ring?.visible) return null;
    const size = ring.scale.x;
    const knob = new THREE.Vector3(0, 0, KNOB * size).applyAxisAngle(new THREE.Vector3(0, 1, 0), ring.rotation.y).add(ring.position);
    return { at: ring.position.clone(), knob, outer: OUTER * size };
  }

  /** Joints of all actors in the world, with whose they are. */
  joints(): { number: number; at: THREE.Vector3 }[] {
    return [...this.poses].flatMap(([number, track]) => Array.from({ length: track.joints }, (_, n) => ({ number, at: new THREE.Vector3().fromArray(track.positions, 3 * n) })));
  }

  /** World positions of the joints of an actor. */
  positions(number: number): number[] {
    return [...(this.poses.get(number)?.positions ?? [])];
  }

  /** The orientation (w, x, y, z) of a joint that turns to its left and down, degrees, from how it is now.
   *
   * of: whose orientation it is relative to. */
  turned(actor: CrowdActor, point: string, yaw: number, pitch: number, of: { name: string; point: string } | null): [number, number, number, number] | null {
    const now = this.orientation(actor, point);
    const other = store.crowd.peek()?.actors.find((entry) => entry.name === of?.name);
    const from = other && of ? this.orientation(other, of.point) : new THREE.Quaternion();
    if (!now || !from) return null;
    const facing = ((store.crowdStatus.peek()?.actors.find((entry) => entry.number === actor.number)?.degrees ?? 0) * Math.PI) / 180;
    const radians = Math.PI / 180;
    const left = new THREE.Vector3(Math.cos(facing), 0, -Math.sin(facing));
    const down = new THREE.Quaternion().setFromAxisAngle(left, pitch * radians);
    const aside = new THREE.Quaternion().setFromAxisAngle(new THREE.Vector3(0, 1, 0), yaw * radians);
    const { w, x, y, z } = from.invert().multiply(aside.multiply(down).multiply(now));
    return [w, x, y, z];
  }

  /** World orientation of the joint of a point, by the name that goals give it. */
  private orientation(actor: CrowdActor, name: string): THREE.Quaternion | null {
    const { points, roles, joints } = actor.character;
    const chest = name === "chest" ? roles.lastIndexOf("spine") : -1;
    const found = [points.find((point) => point.name === name)?.joint ?? -1, roles.indexOf(name), chest, joints.indexOf(name)].find((joint) => joint >= 0);
    const track = this.poses.get(actor.number);
    return track && found !== undefined ? new THREE.Quaternion().fromArray(track.quaternions, 4 * found) : null;
  }

  private middle(): THREE.Vector3 | null {
    if (!this.poses.size) return null;
    const box = new THREE.Box3();
    for (const track of this.poses.values()) box.expandByPoint(new THREE.Vector3().fromArray(track.positions));
    return box.getCenter(new THREE.Vector3());
  }

  /** Shows the selected actor, else all, from the front. */
  frame(): void {
    const chosen = store.crowdActor.peek();
    const some = chosen !== null && this.members.has(chosen) ? [chosen] : [...this.members.keys()];
    const box = new THREE.Box3();
    let tall = 0;
    for (const number of some) {
      const track = this.poses.get(number);
      for (let k = 0; track && k < track.positions.length; k += 3) box.expandByPoint(new THREE.Vector3().fromArray(track.positions, k));
      tall = Math.max(tall, this.members.get(number)?.actor.character.height ?? 0);
    }
    if (box.isEmpty()) return;
    const [middle, size] = [box.getCenter(new THREE.Vector3()), box.getSize(new THREE.Vector3())];
    // shadows, fog and limits of the camera are for one figure, unless they are spread
    this.stage.scaleTo(Math.max(tall, 0.45 * Math.max(size.x, size.z), 0.1));
    const half = Math.tan((this.stage.camera.fov * Math.PI) / 360);
    const away = Math.max(size.y / half, size.x / (half * Math.max(this.stage.camera.aspect, 0.3)), tall) * 0.62 + 0.5 * size.z;
    this.stage.look(middle.clone().add(new THREE.Vector3(0.18, 0.22, 1).normalize().multiplyScalar(1.08 * away)), middle);
  }

  /** The camera goes with the selected actor over the ground, where it follows. */
  private follow(chosen: number | null): void {
    const track = chosen === null || !store.show.follow.value || this.pulled ? undefined : this.poses.get(chosen);
    const now = track ? new THREE.Vector3(track.positions[0], 0, track.positions[2]) : null;
    if (now && this.followed && chosen === this.following) this.stage.carry(now.clone().sub(this.followed));
    [this.followed, this.following] = [now, chosen];
  }
  private following: number | null = null;

  preset(away: Vec3): void {
    const middle = this.middle();
    if (!middle) return;
    const distance = middle.distanceTo(this.stage.camera.position);
    this.stage.look(middle.clone().add(new THREE.Vector3(...away).normalize().multiplyScalar(distance)), middle);
  }
}

/** A ring on the floor with a knob to its front. */
function makeRing(character: Character): THREE.Group {
  const group = new THREE.Group();
  const look = (): THREE.MeshBasicMaterial => new THREE.MeshBasicMaterial({ color: RING, transparent: true, opacity: 0.55, depthWrite: false, side: THREE.DoubleSide, polygonOffset: true, polygonOffsetFactor: -3 });
  group.add(new THREE.Mesh(new THREE.RingGeometry(INNER, OUTER, 40).rotateX(-Math.PI / 2), look()));
  group.add(new THREE.Mesh(new THREE.CircleGeometry(0.05, 3, -Math.PI / 2).rotateX(-Math.PI / 2).translate(0, 0, KNOB), look()));
  group.scale.setScalar(Math.max(character.height, 0.2) / 1.75);
  return group;
}

function makeMark(name: string): { ball: THREE.Mesh; line: THREE.Line } {
  const ball = new THREE.Mesh(new THREE.SphereGeometry(0.035, 16, 12), new THREE.MeshBasicMaterial({ depthTest: false, transparent: true, opacity: 0.9 }));
  ball.renderOrder = 11;
  ball.userData.goal = name;
  const shape = new THREE.BufferGeometry();
  shape.setAttribute("position", new THREE.BufferAttribute(new Float32Array(6), 3));
  const line = new THREE.Line(shape, new THREE.LineBasicMaterial({ depthTest: false, transparent: true, opacity: 0.8 }));
  line.frustumCulled = false;
  line.renderOrder = 10;
  return { ball, line };
}
