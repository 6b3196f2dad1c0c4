// Test interface: what is on the screen, as numbers and pixels.
import * as THREE from "three";
import * as store from "./store";
import { REACH } from "./timeline/layout";
import { currentLayout } from "./timeline/timeline";
import { view } from "./view/viewport";

export function seam(): void {
  const page = {
    ready: () => store.connected.value && store.figure.value !== null && store.doc.value !== null && store.tracks.current !== null && store.progress.value === null,
    state: () => ({
      frame: store.frame.value,
      playing: store.playing.value,
      frames: store.frames.value,
      fps: store.fps.value,
      figure: store.figure.value,
      document: store.doc.value,
      selection: store.selection.value,
      dragging: store.dragging.value,
      toasts: store.toasts.value,
      quality: store.quality.value,
      comparison: store.comparison.value,
      progress: store.progress.value,
      driving: store.driving.value,
      path: store.path.value,
      pending: store.pending.value,
      bars: store.bars.value,
      theme: store.theme.value,
      recording: store.recording.value,
      cast: store.cast.value,
      snapNote: store.snapNote.value,
      liveFrames: view.theatre?.live?.frames ?? 0,
      crowd: store.crowd.value,
      crowdStatus: store.crowdStatus.value,
      crowdActor: store.crowdActor.value,
      crowdGoal: store.crowdGoal.value,
      crowdFrames: view.theatre?.crowd?.received ?? 0,
      software: view.theatre?.stage.software,
    }),
    /** World positions of all joints at a frame. */
    positions: (frame: number) => {
      const track = store.tracks.current;
      return track ? [...track.positions.subarray(3 * frame * track.joints, 3 * (frame + 1) * track.joints)] : [];
    },
    livePosition: () => (view.theatre?.live ? [...view.theatre.live.track.positions] : []),
    /** World positions of the joints of an actor of the crowd, by its number, as they are drawn. */
    crowdPositions: (number: number) => view.theatre?.crowd?.positions(number) ?? [],
    /** Pixel of the target of a goal of the crowd. */
    crowdTarget: (name: string) => {
      const found = view.theatre?.crowd?.targets().find(({ goal }) => goal.name === name);
      return found ? onPage(found.at) : null;
    },
    /** Pixel of a point of the selected actor of the crowd. */
    crowdPoint: (name: string) => {
      const crowd = view.theatre?.crowd;
      const place = crowd?.place(crowd.grabs().findIndex((grab) => grab.name === name));
      return place ? onPage(place) : null;
    },
    /** Pixel of the ring of an actor of the crowd, towards +x. */
    crowdRing: (number: number) => {
      const ring = view.theatre?.crowd?.ringOf(number);
      return ring ? onPage(ring.at.add(new THREE.Vector3(0.9 * ring.outer, 0, 0))) : null;
    },
    /** Pixel of a joint or contact point, on the page. */
    handle: (name: string) => {
      const handles = view.theatre?.handles;
      const n = handles?.points.findIndex((point) => point.name === name) ?? -1;
      return handles && n >= 0 ? onPage(handles.place(n)) : null;
    },
    /** Pixel of the tip of one of the gizmo's arrows. */
    gizmo: (axis: "x" | "y" | "z") => {
      const controls = view.gizmo?.controls;
      const object = controls?.object;
      if (!controls || !object) return null;
      const eye = view.theatre?.stage.camera.position.distanceTo(object.position) ?? 1;
      const fov = ((view.theatre?.stage.camera.fov ?? 40) * Math.PI) / 180;
      // TransformControls scales itself with the distance: this is the length of its arrows
      const length = ((eye * Math.min(1.9 * Math.tan(fov / 2), 7)) / 4) * controls.size * 0.55;
      const along = new THREE.Vector3(axis === "x" ? 1 : 0, axis === "y" ? 1 : 0, axis === "z" ? 1 : 0);
      return onPage(object.position.clone().addScaledVector(along, length));
    },
    /** Pixel of one of the points of the path. */
    pathPoint: (n: number) => {
      const point = store.path.value[n];
      return point ? onPage(new THREE.Vector3(point[0], store.figure.value?.level ?? 0, point[1])) : null;
    },
    /** Pixel of a key of the timeline, by the number of its operator. */
    key: (operator: number) => {
      const key = currentLayout()?.keys.find((entry) => entry.operator === operator);
      const box = document.querySelector("canvas.timeline")?.getBoundingClientRect();
      return key && box ? [key.x + box.left, key.y + box.top] : null;
    },
    /** Pixel of the end of the influence of a selected key. */
    reach: (operator: number) => {
      const key = currentLayout()?.keys.find((entry) => entry.operator === operator);
      const box = document.querySelector("canvas.timeline")?.getBoundingClientRect();
      return key && box ? [key.reach[3] + box.left, key.y + REACH + box.top] : null;
    },
    /** Pixel of the print of a footstep. */
    print: (id: number) => {
      const mesh = view.theatre?.holds.meshOf(id);
      return mesh ? onPage(mesh.position) : null;
    },
    /** Pixel of a knob of the selected piece of the ground. */
    knob: (side: string) => {
      const mesh = view.theatre?.knobs.children.find((part) => part.userData.side === side);
      return mesh ? onPage(mesh.position) : null;
    },
    /** Whether everything that changed has been drawn, with all pixels. */
    sharp: () => view.theatre?.stage.sharp ?? true,
    /** How many panes the view has. */
    panes: () => view.theatre?.stage.panes.length ?? 0,
    /** Pixels of a bar of the timeline. */
    bar: (id: number) => {
      const bar = currentLayout()?.bars.find((entry) => entry.id === id);
      const box = document.querySelector("canvas.timeline")?.getBoundingClientRect();
      return bar && box ? { x0: bar.x0 + box.left, x1: bar.x1 + box.left, y: bar.y + bar.height / 2 + box.top } : null;
    },
    look: (from: [number, number, number], at: [number, number, number]) => view.theatre?.stage.look(new THREE.Vector3(...from), new THREE.Vector3(...at)),
    goTo: (frame: number) => store.goTo(frame),
    select: (name: string) => {
      const point = view.theatre?.handles?.points.find((entry) => entry.name === name);
      if (point) store.selection.value = { kind: "point", name: point.name, joint: point.joint, offset: point.offset };
    },
  };
  Object.assign(window, { __fp: page });
}

function onPage(place: THREE.Vector3): [number, number] | null {
  const stage = view.theatre?.stage;
  const seen = stage?.project(place);
  const box = stage?.canvas.getBoundingClientRect();
  return seen && box ? [seen[0] + box.left, seen[1] + box.top] : null;
}
