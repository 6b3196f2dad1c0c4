// Mouse interaction in the viewport: pick joints, footprints and objects, drag them by gizmo or directly.
import { effect } from "@preact/signals";
import * as THREE from "three";
import { TransformControls } from "three/examples/jsm/controls/TransformControls.js";
import * as socket from "../socket";
import * as store from "../store";
import type { Edit, Footstep, SceneObject, Vec3 } from "../types";
import { nearest } from "./pick";
import { alongLine, isPiece, knob, resized, type Side } from "./pieces";
import type { Theatre } from "./scene";
import { snapHeading, snapStep } from "./snap";

const NEAR = 13;
const STILL = 4;
/** Metres and radians within which a step snaps to others, for a person of average height; the grid of objects. */
const SNAP = { place: 0.06, turn: 0.12, grid: 0.05 };

type Grip =
  | { kind: "point"; name: string; joint: number; contact: boolean; frame: number }
  | { kind: "mark"; id: number; step: boolean; from: THREE.Vector3 }
  | { kind: "object"; index: number }
  | { kind: "path"; index: number };

export class Gizmo {
  readonly controls: TransformControls;
  private readonly proxy = new THREE.Object3D();
  private readonly ray = new THREE.Raycaster();
  private grip: Grip | null = null;
  private moved = false;
  /** A side of a piece that is being dragged by its knob. */
  private sizing: { index: number; side: Side; thing: SceneObject; at: Vec3; along: Vec3; from: number; now: SceneObject | null } | null = null;
  private direct: { plane: THREE.Plane; offset: THREE.Vector3; x: number; y: number } | null = null;

  constructor(private readonly theatre: Theatre) {
    const { stage } = theatre;
    this.ray.layers.enableAll();
    this.controls = new TransformControls(stage.camera, stage.canvas);
    this.controls.setSize(0.72);
    this.controls.setColors("#ff6b5e", "#7ddb6f", "#5aa9ff", "#ffc04d");
    stage.scene.add(this.proxy, this.controls.getHelper());
    this.controls.addEventListener("change", () => stage.change());
    this.controls.addEventListener("dragging-changed", (event) => {
      stage.orbit.enabled = !event.value;
      if (event.value) this.begin();
      else this.end();
    });
    this.controls.addEventListener("objectChange", () => this.follow());
    effect(() => this.attach());
    const canvas = stage.canvas;
    canvas.addEventListener("pointerdown", (event) => this.down(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    window.addEventListener("pointerup", () => this.up());
    canvas.addEventListener("pointerleave", () => this.hover(-1));
  }

  get busy(): boolean {
    return this.controls.dragging || this.moved;
  }

  /** Places the gizmo at the selection. */
  private attach(): void {
    const chosen = store.selection.value;
    const mode = store.mode.value;
    store.poses.value;
    store.frame.value;
    store.doc.value;
    store.path.value;
    store.show.path.value;
    if (this.controls.dragging || this.direct) return;
    const at = this.placeOf(chosen);
    if (!at || this.theatre.live || store.crowd.value || store.comparison.value) {
      this.controls.detach();
      this.theatre.stage.change();
      return;
    }
    this.proxy.position.copy(at);
    this.proxy.quaternion.identity();
    const step = chosen.kind === "mark" && store.selectedMark.peek()?.kind === "step";
    const turns = mode === "rotate" && (chosen.kind !== "mark" || step) && chosen.kind !== "path";
    if (turns && chosen.kind === "point") this.proxy.quaternion.copy(this.turnOf(chosen.joint));
    if (turns && chosen.kind === "object") this.proxy.rotation.y = store.doc.peek()?.objects[chosen.index]?.turn ?? 0;
    this.controls.setMode(turns ? "rotate" : "translate");
    this.controls.setSpace(turns && chosen.kind === "point" ? "local" : "world");
    const flat = turns && (chosen.kind === "object" || step);
    this.controls.showX = this.controls.showZ = !flat;
    this.controls.setTranslationSnap(store.snapping.value && !step ? SNAP.grid : null);
    this.controls.setRotationSnap(store.snapping.value && !step ? Math.PI / 36 : null);
    if (!turns && chosen.kind === "point" && store.localAxes.value) {
      this.proxy.quaternion.copy(this.turnOf(chosen.joint));
      this.controls.setSpace("local");
    }
    // a piece stands on the ground: its top has a knob of its own
    const piece = chosen.kind === "object" && isPiece(store.doc.peek()?.objects[chosen.index]);
    this.controls.showY = chosen.kind !== "path" && (turns || !piece);
    this.controls.attach(this.proxy);
  }

  private placeOf(chosen: store.Selection): THREE.Vector3 | null {
    const track = store.tracks.current;
    if (chosen.kind === "point" && track) {
      return new THREE.Vector3(...track.point(Math.min(store.frame.peek(), track.frames - 1), chosen.joint, chosen.offset));
    }
    if (chosen.kind === "mark") {
      const place = store.selectedMark.peek()?.place;
      return place ? new THREE.Vector3(...place) : null;
    }
    if (chosen.kind === "object") {
      const place = store.doc.peek()?.objects[chosen.index]?.place;
      return place ? new THREE.Vector3(...place) : null;
    }
    const point = chosen.kind === "path" && store.show.path.peek() ? store.path.peek()[chosen.index] : undefined;
    return point ? new THREE.Vector3(point[0], store.figure.peek()?.level ?? 0, point[1]) : null;
  }

  private turnOf(joint: number): THREE.Quaternion {
    const track = store.tracks.current;
    const at = Math.min(store.frame.peek(), (track?.frames ?? 1) - 1);
    return track ? new THREE.Quaternion().fromArray(track.quaternions, 4 * (at * track.joints + joint)) : new THREE.Quaternion();
  }

  private begin(): void {
    const chosen = store.selection.peek();
    store.playing.value = false;
    this.moved = false;
    if (chosen.kind === "point") {
      const contact = store.figure.peek()?.character.points.some((point) => point.name === chosen.name) ?? false;
      this.grip = { kind: "point", name: chosen.name, joint: chosen.joint, contact, frame: store.frame.peek() };
      const at = this.placeOf(chosen);
      if (at) this.start = [at.x, at.y, at.z];
      store.dragging.value = { frame: store.frame.peek(), spacing: store.spacing.peek() };
    } else if (chosen.kind === "mark") {
      this.grip = { kind: "mark", id: chosen.id, step: store.selectedMark.peek()?.kind === "step", from: this.proxy.position.clone() };
      store.dragging.value = { frame: store.frame.peek(), spacing: store.spacing.peek() };
    } else if (chosen.kind !== "none") this.grip = { ...chosen };
  }

  /** The edit that releasing the mouse would make. */
  private change(): Edit | null {
    const grip = this.grip;
    const p = this.proxy.position;
    const place: Vec3 = [p.x, p.y, p.z];
    if (grip?.kind === "point") {
      const common = { frame: grip.frame, spacing: store.spacing.peek() };
      if (this.controls.mode === "rotate" && !this.direct) {
        const q = this.proxy.quaternion;
        return { kind: "turn", joint: this.jointName(grip.joint), rotation: [q.w, q.x, q.y, q.z], ...common };
      }
      return { kind: "drag", point: grip.contact ? grip.name : { joint: grip.name }, target: place, ...common };
    }
    if (grip?.kind === "mark" && grip.step) {
      const turn = new THREE.Euler().setFromQuaternion(this.proxy.quaternion, "YXZ").y;
      if (this.controls.mode === "rotate" && !this.direct) return { kind: "step", id: grip.id, turn: this.snappedTurn(grip.id, turn) };
      const [x, z] = this.snappedPlace(grip.id, p.x, p.z);
      // snapped to the ground as well: the server knows its height
      if (store.snapping.peek()) return { kind: "step", id: grip.id, move: [x - grip.from.x, 0, z - grip.from.z], grounded: true };
      return { kind: "step", id: grip.id, move: [x - grip.from.x, p.y - grip.from.y, z - grip.from.z] };
    }
    if (grip?.kind === "mark") return { kind: "mark", id: grip.id, place };
    if (grip?.kind === "object") {
      const objects = (store.doc.peek()?.objects ?? []).map((thing, n) =>
        n === grip.index ? { ...thing, ...(this.controls.mode === "rotate" && !this.direct ? { turn: new THREE.Euler().setFromQuaternion(this.proxy.quaternion, "YXZ").y } : { place }) } : thing,
      );
      return { kind: "objects", objects };
    }
    return grip?.kind === "path" ? { kind: "path", points: store.path.peek() } : null;
  }

  private stepOf(id: number): Footstep | undefined {
    return store.doc.peek()?.steps.find((step) => step.id === id);
  }

  /** Where a step that is dragged to a place snaps to. */
  private snappedPlace(id: number, x: number, z: number): [number, number] {
    const step = this.stepOf(id);
    if (!store.snapping.peek() || !step) return [x, z];
    const scale = (store.figure.peek()?.character.height ?? 1.75) / 1.75 || 1;
    const found = snapStep(x, z, step.heading ?? 0, step, store.doc.peek()?.steps ?? [], SNAP.place * scale, scale);
    store.snapNote.value = found.why.join(", ");
    return [found.x, found.z];
  }

  private snappedTurn(id: number, turn: number): number {
    const step = this.stepOf(id);
    if (!store.snapping.peek() || !step || step.heading === null) return turn;
    const found = snapHeading(step.heading + turn, step, store.doc.peek()?.steps ?? [], SNAP.turn);
    store.snapNote.value = found.why;
    return found.heading - step.heading;
  }

  private jointName(joint: number): string {
    return store.figure.peek()?.character.joints[joint] ?? "";
  }

  private follow(): void {
    if (!this.grip) return;
    this.moved = true;
    const change = this.change();
    if (change && (this.grip.kind === "point" || change.kind === "step")) socket.drag(change);
    if (this.grip.kind === "mark") {
      const print = this.theatre.holds.meshOf(this.grip.id);
      const lift = (print?.position.y ?? 0) - this.grip.from.y;
      const moved = change?.move as Vec3 | undefined;
      if (print && moved) print.position.set(this.grip.from.x + moved[0], this.grip.from.y + moved[1] + (this.printLift ??= lift), this.grip.from.z + moved[2]);
      else if (print && typeof change?.turn === "number") print.rotation.y = (store.selectedMark.peek()?.heading ?? 0) + change.turn;
      else if (print) print.position.copy(this.proxy.position);
    }
    if (this.grip.kind === "object") {
      const thing = (change?.objects as SceneObject[] | undefined)?.[this.grip.index];
      if (thing) this.theatre.preview(this.grip.index, thing);
    }
    if (this.grip.kind === "path") {
      const at = this.grip.index;
      const p = this.proxy.position;
      store.path.value = store.path.peek().map((point, n): [number, number] => (n === at ? [p.x, p.z] : point));
    }
    this.theatre.stage.change();
  }

  private end(): void {
    const change = this.moved ? this.change() : null;
    if (change) this.send(change);
    this.grip = null;
    this.printLift = undefined;
    this.moved = false;
    store.dragging.value = null;
    store.snapNote.value = "";
    this.attach();
  }

  private printLift: number | undefined;

  /** A foot that stands is moved with its whole step; anything else as it was dragged. */
  private send(change: Edit): void {
    const grip = this.grip;
    const track = store.figure.peek()?.character.tracks[grip?.kind === "point" ? grip.joint : -1];
    const step = grip?.kind === "point" && change.kind === "drag" && track?.endsWith("foot") ? this.stepAt(track, grip.frame) : undefined;
    if (step && grip?.kind === "point" && store.tracks.current) {
      // over the ground: the server keeps the sole on it
      const [x, , z] = this.start;
      const [tx, , tz] = change.target as Vec3;
      socket.drop({ kind: "step", id: step.id, move: [tx - x, 0, tz - z] });
    } else if (grip?.kind === "point" || change.kind === "step") socket.drop(change);
    else socket.edit(change);
  }
  /** Where the dragged point was before. */
  private start: Vec3 = [0, 0, 0];

  private stepAt(track: string, frame: number): Footstep | undefined {
    const leg = store.figure.peek()?.character;
    const joint = this.grip?.kind === "point" ? this.grip.joint : -1;
    // knees and thighs are no feet: only what moves with the sole
    const foot = leg?.points.some((point) => !point.hand && point.joint === joint) || /foot|toe/i.test(leg?.roles[joint] ?? "");
    return foot ? store.doc.peek()?.steps.find((step) => step.track === track && frame >= step.start && frame < step.end) : undefined;
  }

  /** Cancels a drag; the motion stays unchanged. */
  cancel(): boolean {
    if (this.sizing) {
      this.theatre.preview(this.sizing.index, this.sizing.thing);
      this.sizing = null;
      this.theatre.stage.orbit.enabled = true;
      return true;
    }
    if (!this.grip) return false;
    const moved = this.moved;
    this.grip = null;
    this.moved = false;
    this.direct = null;
    this.controls.reset();
    this.controls.dragging = false;
    this.theatre.stage.orbit.enabled = true;
    store.dragging.value = null;
    if (moved) socket.release();
    this.attach();
    return true;
  }

  private mouse(event: PointerEvent): [number, number] {
    const box = this.theatre.stage.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  private handleAt(x: number, y: number): number {
    const handles = this.theatre.handles;
    if (!handles || this.theatre.live || this.theatre.crowd || this.theatre.stage.panes.length) return -1;
    const places = handles.points.map((_, n) => this.theatre.stage.project(handles.place(n)));
    // palms, heels and balls before the joints beside them
    const joints = store.figure.peek()?.character.joints.length ?? 0;
    return nearest(places, x, y, NEAR, handles.points.map((_, n) => (n >= joints ? 3 : 0)));
  }

  private aim(x: number, y: number): void {
    const { canvas, camera } = this.theatre.stage;
    this.ray.setFromCamera(new THREE.Vector2((2 * x) / canvas.clientWidth - 1, 1 - (2 * y) / canvas.clientHeight), camera);
  }

  private down(event: PointerEvent): void {
    if (this.theatre.crowd || event.button !== 0 || this.controls.axis !== null || event.altKey || event.shiftKey) return;
    const [x, y] = this.mouse(event);
    const handle = this.handleAt(x, y);
    const point = this.theatre.handles?.points[handle];
    if (point) {
      store.selection.value = { kind: "point", name: point.name, joint: point.joint, offset: point.offset };
      const at = this.placeOf(store.selection.peek());
      if (!at) return;
      const normal = this.theatre.stage.camera.getWorldDirection(new THREE.Vector3());
      const plane = new THREE.Plane().setFromNormalAndCoplanarPoint(normal, at);
      this.aim(x, y);
      const hit = this.ray.ray.intersectPlane(plane, new THREE.Vector3()) ?? at;
      this.direct = { plane, offset: at.clone().sub(hit), x, y };
      this.theatre.stage.orbit.enabled = false;
      return;
    }
    this.aim(x, y);
    if (this.takeKnob()) return;
    const dot = this.ray.intersectObjects(this.theatre.way.meshes())[0];
    if (dot) {
      const index = Number(dot.object.userData.path);
      store.selection.value = { kind: "path", index };
      const at = dot.object.position.clone();
      const plane = new THREE.Plane(new THREE.Vector3(0, 1, 0), -at.y);
      const hit = this.ray.ray.intersectPlane(plane, new THREE.Vector3()) ?? at;
      this.direct = { plane, offset: at.sub(hit), x, y };
      this.theatre.stage.orbit.enabled = false;
      return;
    }
    const print = this.theatre.holds.object.visible ? this.ray.intersectObjects(this.theatre.holds.meshes())[0] : undefined;
    const thing = this.ray.intersectObjects(this.theatre.objects.children, true)[0];
    if (print && (!thing || print.distance < thing.distance)) this.takePrint(print, x, y);
    else if (thing) this.takeObject(thing, x, y);
    else this.empty = [x, y];
  }
  private empty: [number, number] | null = null;

  /** Takes a knob of the selected piece of the ground; whether there is one under the mouse. */
  private takeKnob(): boolean {
    const chosen = store.selection.peek();
    const hit = this.ray.intersectObjects(this.theatre.knobs.children)[0];
    const thing = chosen.kind === "object" ? store.doc.peek()?.objects[chosen.index] : undefined;
    if (!hit || chosen.kind !== "object" || !thing) return false;
    const side = hit.object.userData.side as Side;
    const { at, along } = knob(thing, side);
    this.sizing = { index: chosen.index, side, thing, at, along, from: this.alongSide(at, along) ?? 0, now: null };
    this.theatre.stage.orbit.enabled = false;
    return true;
  }

  private alongSide(at: Vec3, along: Vec3): number | null {
    const { origin, direction } = this.ray.ray;
    return alongLine(at, along, [origin.x, origin.y, origin.z], [direction.x, direction.y, direction.z]);
  }

  /** Selects an object; dragging it slides it over the ground. */
  private takeObject(hit: THREE.Intersection, x: number, y: number): void {
    let part: THREE.Object3D | null = hit.object;
    while (part && part.parent !== this.theatre.objects) part = part.parent;
    store.selection.value = { kind: "object", index: Number(part?.userData.index ?? 0) };
    const at = this.placeOf(store.selection.peek());
    if (!at || store.mode.peek() === "rotate") return;
    const plane = new THREE.Plane(new THREE.Vector3(0, 1, 0), -hit.point.y);
    this.direct = { plane, offset: at.clone().sub(hit.point), x, y };
    this.theatre.stage.orbit.enabled = false;
  }

  /** Selects a footprint; dragging it slides it over the ground. */
  private takePrint(print: THREE.Intersection, x: number, y: number): void {
    store.selection.value = { kind: "mark", id: Number(print.object.userData.mark) };
    const at = this.placeOf(store.selection.peek());
    if (!at || store.mode.peek() === "rotate") return;
    const plane = new THREE.Plane(new THREE.Vector3(0, 1, 0), -at.y);
    const hit = this.ray.ray.intersectPlane(plane, new THREE.Vector3()) ?? at;
    this.direct = { plane, offset: at.clone().sub(hit), x, y };
    this.theatre.stage.orbit.enabled = false;
  }

  private move(event: PointerEvent): void {
    const [x, y] = this.mouse(event);
    if (this.sizing) {
      this.aim(x, y);
      const to = this.alongSide(this.sizing.at, this.sizing.along);
      if (to === null) return;
      this.sizing.now = resized(this.sizing.thing, this.sizing.side, to - this.sizing.from, store.snapping.peek() ? SNAP.grid : 0);
      this.theatre.preview(this.sizing.index, this.sizing.now);
      return;
    }
    if (!this.direct) {
      if (!this.controls.dragging && event.buttons === 0) this.hover(this.handleAt(x, y));
      if (this.empty && Math.hypot(x - this.empty[0], y - this.empty[1]) > STILL) this.empty = null;
      return;
    }
    if (!this.grip && Math.hypot(x - this.direct.x, y - this.direct.y) < STILL) return;
    if (!this.grip) this.begin();
    this.aim(x, y);
    const hit = this.ray.ray.intersectPlane(this.direct.plane, new THREE.Vector3());
    if (hit) {
      this.proxy.position.copy(hit.add(this.direct.offset));
      if (this.grip?.kind === "object" && store.snapping.peek()) this.proxy.position.divideScalar(SNAP.grid).round().multiplyScalar(SNAP.grid);
      this.follow();
    }
  }

  private up(): void {
    if (this.sizing) {
      const { index, now } = this.sizing;
      this.sizing = null;
      this.theatre.stage.orbit.enabled = true;
      if (now) socket.edit({ kind: "objects", objects: (store.doc.peek()?.objects ?? []).map((thing, n) => (n === index ? now : thing)) });
    } else if (this.direct) {
      if (this.grip) this.end();
      this.direct = null;
      this.theatre.stage.orbit.enabled = true;
      this.attach();
    } else if (this.empty && !this.controls.dragging) store.selection.value = { kind: "none" };
    this.empty = null;
  }

  private hover(handle: number): void {
    if (handle === this.theatre.hovered) return;
    this.theatre.hovered = handle;
    const name = this.theatre.handles?.points[handle]?.name;
    this.theatre.stage.canvas.style.cursor = name ? "grab" : "default";
    this.theatre.stage.canvas.title = name ? store.spoken(name) : "";
    this.theatre.pose();
  }
}
