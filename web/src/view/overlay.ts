// Overlays of the character: handles at joints and contact points, trails, footprints, pins.
import * as THREE from "three";
import { TRACK_COLOURS, WRONG } from "../store";
import type { Character, ContactPoint, Mark } from "../types";
import type { Track } from "../wire";

const TRAIL = 96;
/** Seconds around the current time in which footprints are drawn. */
const SEEN = 6;

/** Small discs on joints and contact points that can be picked. */
export class Handles {
  readonly object: THREE.Points;
  readonly points: ContactPoint[];
  private readonly colours: THREE.Color[];
  /** Fingers, eyes and hair: shown with the bones only, so that hands can be picked. */
  private readonly small: boolean[];

  constructor(character: Character, wanted: (point: ContactPoint) => boolean = () => true) {
    const all = character.joints.map((name, joint): ContactPoint => ({ name, joint, offset: [0, 0, 0], hand: false }));
    const joints = all.filter(wanted);
    this.points = [...joints, ...character.points.filter(wanted)];
    this.colours = this.points.map((point) => new THREE.Color(TRACK_COLOURS[character.tracks[point.joint] ?? "body"]));
    const below = (joint: number): boolean => {
      const parent = character.parents[joint] ?? -1;
      return parent >= 0 && (/^(left_hand|right_hand|head)$/.test(character.roles[parent] ?? "") || below(parent));
    };
    this.small = this.points.map((point, n) => n < joints.length && below(point.joint));
    const shape = new THREE.BufferGeometry();
    shape.setAttribute("position", new THREE.BufferAttribute(new Float32Array(3 * this.points.length), 3));
    shape.setAttribute("color", new THREE.BufferAttribute(new Float32Array(3 * this.points.length), 3));
    const material = new THREE.PointsMaterial({ size: 9, sizeAttenuation: false, map: disc(), vertexColors: true, transparent: true, depthTest: false, alphaTest: 0.1 });
    this.object = new THREE.Points(shape, material);
    this.object.frustumCulled = false;
    this.object.renderOrder = 10;
  }

  pose(track: Track, frame: number, selected: number, hovered: number, fine: boolean): void {
    const places = this.object.geometry.getAttribute("position") as THREE.BufferAttribute;
    const colours = this.object.geometry.getAttribute("color") as THREE.BufferAttribute;
    this.points.forEach((point, n) => {
      const seen = fine || !this.small[n] || n === selected;
      const [x, y, z] = seen ? track.point(frame, point.joint, point.offset) : HIDDEN;
      places.setXYZ(n, x, y, z);
      const colour = n === selected ? AMBER : n === hovered ? WHITE : this.colours[n];
      if (colour) colours.setXYZ(n, colour.r, colour.g, colour.b);
    });
    places.needsUpdate = colours.needsUpdate = true;
  }

  place(n: number): THREE.Vector3 {
    return new THREE.Vector3().fromBufferAttribute(this.object.geometry.getAttribute("position"), n);
  }

  dispose(): void {
    this.object.geometry.dispose();
    (this.object.material as THREE.Material).dispose();
  }
}

/** Trails of hands and feet before and after the current frame, fading with time. */
export class Trails {
  readonly object = new THREE.Group();
  private readonly lines: { point: ContactPoint; line: THREE.Line; colour: THREE.Color }[] = [];

  constructor(character: Character) {
    const wanted = character.points.filter((point) => point.name.endsWith("palm") || point.name.endsWith("heel"));
    for (const point of wanted) {
      const shape = new THREE.BufferGeometry();
      shape.setAttribute("position", new THREE.BufferAttribute(new Float32Array(3 * TRAIL), 3));
      shape.setAttribute("color", new THREE.BufferAttribute(new Float32Array(4 * TRAIL), 4));
      const line = new THREE.Line(shape, new THREE.LineBasicMaterial({ vertexColors: true, transparent: true, depthWrite: false }));
      line.frustumCulled = false;
      this.lines.push({ point, line, colour: new THREE.Color(TRACK_COLOURS[character.tracks[point.joint] ?? "body"]) });
      this.object.add(line);
    }
  }

  pose(track: Track, frame: number, fps: number): void {
    const step = Math.max(fps / 60, 1);
    for (const { point, line, colour } of this.lines) {
      const places = line.geometry.getAttribute("position") as THREE.BufferAttribute;
      const colours = line.geometry.getAttribute("color") as THREE.BufferAttribute;
      for (let n = 0; n < TRAIL; n++) {
        const away = n - TRAIL / 2;
        const at = Math.min(Math.max(Math.round(frame + away * step), 0), track.frames - 1);
        places.setXYZ(n, ...track.point(at, point.joint, point.offset));
        const fade = 1 - Math.abs(away) / (TRAIL / 2);
        colours.setXYZW(n, colour.r, colour.g, colour.b, fade * (away > 0 ? 0.45 : 0.95));
      }
      places.needsUpdate = colours.needsUpdate = true;
    }
  }

  dispose(): void {
    for (const { line } of this.lines) {
      line.geometry.dispose();
      (line.material as THREE.Material).dispose();
    }
  }
}

/** Footprints at footplants, and pins at pinned points. */
export class Holds {
  readonly object = new THREE.Group();
  private readonly entries: { mark: Mark; mesh: THREE.Mesh; material: THREE.MeshBasicMaterial }[] = [];
  private static readonly heel = new THREE.CircleGeometry(0.034, 20).rotateX(-Math.PI / 2);
  private static readonly ball = new THREE.CircleGeometry(0.046, 24).scale(1, 1.25, 1).rotateX(-Math.PI / 2);
  private static readonly pin = new THREE.OctahedronGeometry(0.028, 0);
  private static readonly foot = footShape();

  /** scale: the character's height over that of an average person. */
  set(marks: readonly Mark[], heading: (mark: Mark) => number, scale = 1): void {
    this.clear();
    for (const mark of marks) {
      if (!mark.place) continue;
      const name = typeof mark.point === "string" ? mark.point : "";
      const shape = mark.kind === "step" ? Holds.foot : mark.kind === "pin" ? Holds.pin : name.endsWith("ball") ? Holds.ball : Holds.heel;
      const material = new THREE.MeshBasicMaterial({ color: TRACK_COLOURS[mark.track] ?? "#999", side: THREE.DoubleSide, transparent: true, depthWrite: false, polygonOffset: true, polygonOffsetFactor: -2, wireframe: mark.free });
      const mesh = new THREE.Mesh(shape, material);
      mesh.position.set(...mark.place);
      if (mark.kind !== "pin") mesh.position.y += 0.006 * scale;
      mesh.rotation.y = heading(mark);
      mesh.scale.setScalar(scale);
      if (mark.kind === "step") mesh.scale.set((mark.track === "left_foot" ? -1 : 1) * scale, scale, scale);
      mesh.userData.mark = mark.id;
      this.entries.push({ mark, mesh, material });
      this.object.add(mesh);
    }
  }

  pose(frame: number, fps: number, selected: number | null, prints: boolean): void {
    for (const { mark, mesh, material } of this.entries) {
      const away = Math.max(mark.start - frame, frame - mark.end + 1, 0) / fps;
      const held = away <= 0;
      material.opacity = held ? 0.95 : Math.max(0.5 - 0.14 * away, 0.1);
      material.color.set(mark.id === selected ? "#f2b544" : mark.wrong ? WRONG : (TRACK_COLOURS[mark.track] ?? "#999"));
      // of a long clip only what is near in time is drawn
      mesh.visible = mark.id === selected || (away < SEEN && (mark.kind === "pin" || prints));
    }
  }

  /** The print of a footstep, to be moved while it is dragged. */
  meshOf(id: number): THREE.Mesh | undefined {
    return this.entries.find((entry) => entry.mark.id === id)?.mesh;
  }

  meshes(): THREE.Mesh[] {
    return this.entries.filter((entry) => entry.mesh.visible).map((entry) => entry.mesh);
  }

  clear(): void {
    for (const { material } of this.entries) material.dispose();
    this.entries.length = 0;
    this.object.clear();
  }
}

/** The outline of a right sole, 26 cm long, ahead along +z, flat on the ground. */
function footShape(): THREE.BufferGeometry {
  const outline = new THREE.Shape();
  outline.moveTo(0.0, -0.13);
  outline.bezierCurveTo(0.05, -0.13, 0.042, -0.03, 0.042, 0.01);
  outline.bezierCurveTo(0.06, 0.06, 0.058, 0.13, 0.01, 0.14);
  outline.bezierCurveTo(-0.035, 0.145, -0.048, 0.08, -0.036, 0.02);
  outline.bezierCurveTo(-0.03, -0.03, -0.05, -0.13, 0.0, -0.13);
  // the shape's y is ahead, and its x to the left of who looks along +z
  return new THREE.ShapeGeometry(outline, 10).rotateX(Math.PI / 2).scale(-1, 1, 1);
}

/** Position of hidden handles. */
const HIDDEN: [number, number, number] = [0, -1e6, 0];
const AMBER = new THREE.Color("#ffc04d");
const WHITE = new THREE.Color("#ffffff");

function disc(): THREE.Texture {
  const picture = document.createElement("canvas");
  picture.width = picture.height = 32;
  const g = picture.getContext("2d");
  if (g) {
    g.beginPath();
    g.arc(16, 16, 13, 0, 2 * Math.PI);
    g.fillStyle = "#fff";
    g.fill();
    g.lineWidth = 4;
    g.strokeStyle = "rgba(20,22,25,0.9)";
    g.stroke();
  }
  return new THREE.CanvasTexture(picture);
}
