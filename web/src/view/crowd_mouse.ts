// The mouse in crowd mode: actors are selected, moved and turned by their rings; points of a body and targets are pulled.
import * as THREE from "three";
import { freeName, say, sayLatest, table } from "../crowd";
import * as store from "../store";
import type { CrowdGoal } from "../types";
import { PLACED, type CrowdView, type Grab } from "./crowd";
import { nearest } from "./pick";
import type { Theatre } from "./scene";

const NEAR = 13;
const BODY = 22;
const STILL = 4;
/** Seconds in which targets and actors that are dragged get to where the mouse is. */
const EASE = 0.12;

type Grip =
  | { kind: "goal"; name: string; goal: CrowdGoal | null; from: THREE.Vector3 }
  | { kind: "point"; grab: Grab; at: THREE.Vector3 }
  | { kind: "ring"; number: number }
  | { kind: "knob"; number: number };

export class CrowdMouse {
  private grip: { what: Grip; plane: THREE.Plane; offset: THREE.Vector3; x: number; y: number; moved: boolean } | null = null;
  private empty: [number, number] | null = null;
  private readonly ray = new THREE.Raycaster();

  constructor(private readonly theatre: Theatre) {
    const { canvas } = theatre.stage;
    canvas.addEventListener("pointerdown", (event) => this.down(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    window.addEventListener("pointerup", () => this.up());
  }

  private mouse(event: PointerEvent): [number, number] {
    const box = this.theatre.stage.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  private hit(x: number, y: number, plane: THREE.Plane): THREE.Vector3 | null {
    const { canvas, camera } = this.theatre.stage;
    this.ray.setFromCamera(new THREE.Vector2((2 * x) / canvas.clientWidth - 1, 1 - (2 * y) / canvas.clientHeight), camera);
    return this.ray.ray.intersectPlane(plane, new THREE.Vector3());
  }

  private down(event: PointerEvent): void {
    const view = this.theatre.crowd;
    if (!view || event.button !== 0 || event.altKey || event.shiftKey) return;
    const [x, y] = this.mouse(event);
    const what = this.at(view, x, y);
    if (!what) {
      this.empty = [x, y];
      return;
    }
    const flat = what.kind === "ring" || what.kind === "knob";
    const at = what.kind === "goal" ? what.from : what.kind === "point" ? what.at : view.ringOf(what.number)?.at;
    if (!at) return;
    const normal = flat ? new THREE.Vector3(0, 1, 0) : this.theatre.stage.camera.getWorldDirection(new THREE.Vector3());
    const plane = new THREE.Plane().setFromNormalAndCoplanarPoint(normal, at);
    const hit = this.hit(x, y, plane) ?? at;
    this.grip = { what, plane, offset: what.kind === "knob" ? new THREE.Vector3() : at.clone().sub(hit), x, y, moved: false };
    this.theatre.stage.orbit.enabled = false;
    if (what.kind === "goal") store.crowdGoal.value = what.name;
    else if (what.kind !== "point") {
      store.crowdActor.value = what.number;
      store.crowdGoal.value = null;
    }
  }

  /** What is under the mouse: a target, a point of the selected actor, a ring, a body. */
  private at(view: CrowdView, x: number, y: number): Grip | null {
    const { stage } = this.theatre;
    const targets = view.targets();
    const target = targets[nearest(targets.map(({ at }) => stage.project(at)), x, y, NEAR)];
    if (target) return { kind: "goal", name: target.goal.name, goal: target.goal, from: target.at.clone() };
    const grabs = view.grabs();
    const n = nearest(grabs.map((_, k) => stage.project(view.place(k) ?? new THREE.Vector3())), x, y, NEAR);
    const [grab, at] = [grabs[n], view.place(n)];
    if (grab && at) return { kind: "point", grab, at };
    const rings = (store.crowd.peek()?.actors ?? []).flatMap(({ number }) => {
      const ring = view.ringOf(number);
      return ring ? [{ number, ...ring }] : [];
    });
    const knob = rings[nearest(rings.map((ring) => stage.project(ring.knob)), x, y, NEAR)];
    if (knob) return { kind: "knob", number: knob.number };
    const joints = view.joints();
    const joint = joints[nearest(joints.map((each) => stage.project(each.at)), x, y, BODY)];
    for (const ring of rings) {
      const hit = this.hit(x, y, new THREE.Plane(new THREE.Vector3(0, 1, 0), -ring.at.y));
      if (hit && hit.distanceTo(ring.at) < 1.1 * ring.outer && (!joint || joint.number === ring.number)) return { kind: "ring", number: ring.number };
    }
    return null;
  }

  private move(event: PointerEvent): void {
    const view = this.theatre.crowd;
    if (!view) return;
    const [x, y] = this.mouse(event);
    if (!this.grip) {
      if (this.empty && Math.hypot(x - this.empty[0], y - this.empty[1]) > STILL) this.empty = null;
      if (event.buttons === 0) this.hover(view, x, y);
      return;
    }
    if (!this.grip.moved && Math.hypot(x - this.grip.x, y - this.grip.y) < STILL) return;
    this.grip.moved = true;
    const hit = this.hit(x, y, this.grip.plane);
    if (hit) this.pull(view, hit.add(this.grip.offset));
  }

  private pull(view: CrowdView, to: THREE.Vector3): void {
    const what = this.grip?.what;
    if (!what || !this.grip) return;
    if (what.kind === "point") {
      const made = this.begin(what.grab, what.at);
      if (!made) return;
      this.grip.what = made;
      this.pull(view, to);
    } else if (what.kind === "goal") {
      view.pulled = { goal: what.name, to: to.clone() };
      // a target on another actor is an offset from its point
      const target = what.goal?.of ? new THREE.Vector3(...what.goal.target).add(to).sub(what.from) : to;
      sayLatest(`aim ${what.name}`, "/crowd/aim", [what.name, target.x, target.y, target.z, EASE]);
    } else {
      const [ring, name] = [view.ringOf(what.number), store.crowd.peek()?.actors.find((actor) => actor.number === what.number)?.name];
      if (!ring || name === undefined) return;
      if (what.kind === "ring") sayLatest(`place ${name}`, "/crowd/place", [name, to.x, to.z, EASE]);
      else sayLatest(`place ${name}`, "/crowd/place", [name, ring.at.x, ring.at.z, EASE, (180 / Math.PI) * Math.atan2(to.x - ring.at.x, to.z - ring.at.z)]);
    }
    this.theatre.stage.change();
  }

  /** Takes a point of the selected actor: its goal, or a new one that begins where the point is. */
  private begin({ name: point, joint, offset }: Grab, at: THREE.Vector3): Grip | null {
    const actor = store.chosenActor.peek();
    if (!actor) return null;
    const goals = store.crowdStatus.peek()?.goals ?? [];
    const known = goals.find((goal) => goal.actor === actor.number && goal.joint === joint && goal.offset.every((part, k) => Math.abs(part - (offset[k] ?? 0)) < 1e-6) && goal.together === 1 && PLACED.includes(goal.kind));
    if (known) {
      store.crowdGoal.value = known.name;
      return { kind: "goal", name: known.name, goal: known, from: this.theatre.crowd?.targetOf(known)?.clone() ?? at };
    }
    const name = freeName(`${actor.name} ${point}`, goals.map((goal) => goal.name));
    const target = [at.x, at.y, at.z] as const;
    const sent = say("/crowd/goal", [table({ name, kind: "reach", actor: actor.name, point, target, priority: store.crowdPriority.peek() })], (wrong) => {
      if (wrong && store.crowdGoal.peek() === name) store.crowdGoal.value = null;
    }, `aim ${name}`);
    if (!sent) return null;
    store.crowdGoal.value = name;
    return { kind: "goal", name, goal: null, from: at };
  }

  private up(): void {
    const view = this.theatre.crowd;
    if (this.grip) this.release(view);
    else if (this.empty && view) {
      store.crowdGoal.value = null;
      store.crowdActor.value = this.picked(view);
    }
    this.empty = null;
  }

  /** The actor that a click on its body selects; a click beside all of them selects none. */
  private picked(view: CrowdView): number | null {
    const [x, y] = this.empty ?? [0, 0];
    const joints = view.joints();
    return joints[nearest(joints.map((each) => this.theatre.stage.project(each.at)), x, y, BODY)]?.number ?? null;
  }

  private release(view: CrowdView | null): void {
    this.grip = null;
    this.theatre.stage.orbit.enabled = true;
    // the server tells targets a few times a second: until then it is drawn where it was let go
    if (view?.pulled) {
      const pulled = view.pulled;
      setTimeout(() => {
        if (view.pulled === pulled) view.pulled = null;
      }, 600);
    }
  }

  /** Cancels a drag: a target goes back to where it was. */
  cancel(): boolean {
    const [view, what] = [this.theatre.crowd, this.grip?.what];
    if (!view || !what) return false;
    if (what.kind === "goal" && this.grip?.moved) {
      const back = what.goal?.of ? new THREE.Vector3(...what.goal.target) : what.from;
      sayLatest(`aim ${what.name}`, "/crowd/aim", [what.name, back.x, back.y, back.z, EASE]);
    }
    view.pulled = null;
    this.release(view);
    return true;
  }

  private hover(view: CrowdView, x: number, y: number): void {
    const grabs = view.grabs();
    const handle = nearest(grabs.map((_, k) => this.theatre.stage.project(view.place(k) ?? new THREE.Vector3())), x, y, NEAR);
    if (handle === view.hovered) return;
    view.hovered = handle;
    const { canvas } = this.theatre.stage;
    canvas.style.cursor = handle >= 0 ? "grab" : "default";
    canvas.title = store.spoken(grabs[handle]?.name ?? "");
  }
}
