// Drawing of a character: a skinned mesh, or bones.
import * as THREE from "three";
import { TRACK_COLOURS } from "../store";
import type { Character, Vec3 } from "../types";
import type { LooksData, MeshData, Track } from "../wire";

const matrix = new THREE.Matrix4();
const place = new THREE.Vector3();
const tip = new THREE.Vector3();
const turn = new THREE.Quaternion();
const size = new THREE.Vector3();
const UP = new THREE.Vector3(0, 1, 0);

/** Bones as slim octahedra from joint to joint. */
export class Bones {
  readonly object: THREE.InstancedMesh;
  /** From a joint to another joint or an end site (top of the head, toe tip). */
  private readonly links: { from: number; to: number; offset: Vec3 }[] = [];

  constructor(character: Character, colour: number | null, opacity: number) {
    character.parents.forEach((parent, joint) => {
      if (parent >= 0) this.links.push({ from: parent, to: joint, offset: [0, 0, 0] });
    });
    for (const { joint, offset } of character.ends) this.links.push({ from: joint, to: joint, offset });
    const shape = new THREE.OctahedronGeometry(1, 0);
    // thick near the parent, as animators draw bones
    const points = shape.getAttribute("position");
    for (let n = 0; n < points.count; n++) {
      const y = points.getY(n);
      points.setXYZ(n, points.getX(n) * 0.5, y > 0.5 ? 1 : y < -0.5 ? 0 : 0.16, points.getZ(n) * 0.5);
    }
    shape.computeVertexNormals();
    const material = new THREE.MeshLambertMaterial({ color: colour ?? 0xffffff, flatShading: true, transparent: opacity < 1, opacity, depthWrite: opacity >= 1 });
    this.object = new THREE.InstancedMesh(shape, material, Math.max(this.links.length, 1));
    this.object.frustumCulled = false;
    this.object.castShadow = opacity >= 1;
    if (colour === null) {
      this.links.forEach(({ to }, n) => {
        const tint = new THREE.Color(TRACK_COLOURS[character.tracks[to] ?? "body"]).lerp(new THREE.Color(0xd8d8d8), 0.45);
        this.object.setColorAt(n, tint);
      });
    }
  }

  fade(opacity: number): void {
    fadeMaterial(this.object, opacity);
  }

  pose(track: Track, frame: number): void {
    this.links.forEach(({ from, to, offset }, n) => {
      place.fromArray(track.positions, 3 * (frame * track.joints + from));
      tip.set(...track.point(frame, to, offset)).sub(place);
      const length = tip.length();
      turn.setFromUnitVectors(UP, length > 1e-6 ? tip.divideScalar(length) : UP);
      const thick = Math.min(0.12 * length, 0.035) + 0.006;
      this.object.setMatrixAt(n, matrix.compose(place, turn, size.set(2 * thick, Math.max(length, 1e-4), 2 * thick)));
    });
    this.object.instanceMatrix.needsUpdate = true;
  }

  dispose(): void {
    this.object.geometry.dispose();
    (this.object.material as THREE.Material).dispose();
    this.object.dispose();
  }
}

/** A skinned mesh with joint transforms from the server; only blending is computed here. */
export class Skin {
  readonly object: THREE.SkinnedMesh;
  private readonly bones: THREE.Bone[];

  constructor(data: MeshData, colour: number, opacity: number, plain: boolean) {
    const shape = new THREE.BufferGeometry();
    shape.setAttribute("position", new THREE.BufferAttribute(data.vertices, 3));
    shape.setAttribute("normal", new THREE.BufferAttribute(data.normals, 3));
    shape.setAttribute("skinWeight", new THREE.BufferAttribute(data.weights, 4));
    shape.setAttribute("skinIndex", new THREE.BufferAttribute(Uint16Array.from(data.skinJoints), 4));
    shape.setIndex(new THREE.BufferAttribute(data.faces, 1));
    const look = { color: colour, transparent: opacity < 1, opacity, depthWrite: opacity >= 1 };
    const material = plain ? new THREE.MeshLambertMaterial(look) : new THREE.MeshStandardMaterial({ ...look, roughness: 0.72, metalness: 0 });
    this.object = new THREE.SkinnedMesh(shape, material);
    this.bones = Array.from({ length: data.joints }, () => {
      const bone = new THREE.Bone();
      bone.matrixAutoUpdate = bone.matrixWorldAutoUpdate = false;
      return bone;
    });
    const inverses = this.bones.map((_, n) => new THREE.Matrix4().fromArray(data.inverseBind, 16 * n));
    this.object.bind(new THREE.Skeleton(this.bones, inverses), new THREE.Matrix4());
    // joints are in the world; the mesh may stand beside, to be compared
    this.object.bindMode = THREE.DetachedBindMode;
    this.object.frustumCulled = false;
    this.object.castShadow = opacity >= 1;
    this.object.receiveShadow = opacity >= 1;
  }

  /** Draws it with the materials and textures of its file. Corners of one vertex with one uv share it. */
  dress(looks: LooksData, plain: boolean, ready: () => void): void {
    const old = this.object.geometry;
    const count = looks.materials.length;
    const order = [...Array(count).keys()].sort((a, b) => (looks.materials[a] ?? 0) - (looks.materials[b] ?? 0) || a - b);
    const faces = old.index?.array;
    if (!faces || faces.length !== 3 * count) return;
    const shape = new THREE.BufferGeometry();
    const [corners, index] = shared(order, faces, looks.uvs);
    for (const [name, width] of [["position", 3], ["normal", 3], ["skinWeight", 4], ["skinIndex", 4]] as const) {
      const from = old.getAttribute(name).array;
      const to = name === "skinIndex" ? new Uint16Array(width * corners.length) : new Float32Array(width * corners.length);
      corners.forEach((corner, n) => {
        const vertex = faces[corner] ?? 0;
        for (let k = 0; k < width; k++) to[width * n + k] = from[width * vertex + k] ?? 0;
      });
      shape.setAttribute(name, new THREE.BufferAttribute(to, width));
    }
    const uvs = new Float32Array(2 * corners.length);
    corners.forEach((corner, n) => uvs.set(looks.uvs.subarray(2 * corner, 2 * corner + 2), 2 * n));
    shape.setAttribute("uv", new THREE.BufferAttribute(uvs, 2));
    shape.setIndex(new THREE.BufferAttribute(index, 1));
    const used = [...new Set(order.map((face) => looks.materials[face] ?? 0))];
    let start = 0;
    used.forEach((material, n) => {
      const size = order.filter((face) => looks.materials[face] === material).length;
      shape.addGroup(3 * start, 3 * size, n);
      start += size;
    });
    const pictures = looks.pictures.map((data) => this.texture(data, ready));
    const materials = used.map((number) => {
      const [r = 1, g = 1, b = 1, opacity = 1] = looks.colours.subarray(4 * number, 4 * number + 4);
      const picture = pictures[looks.textures[number] ?? -1];
      const look = { color: new THREE.Color(r, g, b), side: THREE.DoubleSide, ...(picture ? { map: picture, alphaTest: 0.4 } : {}), ...(opacity < 1 ? { transparent: true, opacity } : {}) };
      return plain ? new THREE.MeshLambertMaterial(look) : new THREE.MeshStandardMaterial({ ...look, roughness: 0.75, metalness: 0 });
    });
    old.dispose();
    disposeMaterial(this.object.material);
    this.object.geometry = shape;
    this.object.material = materials;
  }
  private readonly textures: THREE.Texture[] = [];

  private texture(data: Uint8Array, ready: () => void): THREE.Texture {
    const address = URL.createObjectURL(new Blob([data as BlobPart]));
    const done = (): void => {
      URL.revokeObjectURL(address);
      ready();
    };
    const made = new THREE.TextureLoader().load(address, done, undefined, done);
    made.colorSpace = THREE.SRGBColorSpace;
    made.wrapS = made.wrapT = THREE.RepeatWrapping;
    this.textures.push(made);
    return made;
  }

  fade(opacity: number): void {
    fadeMaterial(this.object, opacity);
  }

  pose(track: Track, frame: number): void {
    if (track.joints !== this.bones.length) return;
    const base = frame * track.joints;
    this.bones.forEach((bone, joint) => {
      place.fromArray(track.positions, 3 * (base + joint));
      turn.fromArray(track.quaternions, 4 * (base + joint));
      bone.matrixWorld.compose(place, turn, size.set(1, 1, 1));
    });
    this.object.skeleton.update();
  }

  dispose(): void {
    this.object.geometry.dispose();
    disposeMaterial(this.object.material);
    for (const texture of this.textures) texture.dispose();
    this.object.skeleton.dispose();
  }
}

/** The corners of triangles that need a vertex of their own, and the index of triangles in an order into them.
 *
 * A vertex is computed once for all triangles around it, unless its texture coordinates differ. */
export function shared(order: readonly number[], faces: ArrayLike<number>, uvs: ArrayLike<number>): [number[], Uint32Array] {
  const known = new Map<string, number>();
  const corners: number[] = [];
  const index = new Uint32Array(3 * order.length);
  order.forEach((face, n) => {
    for (let k = 0; k < 3; k++) {
      const corner = 3 * face + k;
      const key = `${faces[corner]} ${uvs[2 * corner]} ${uvs[2 * corner + 1]}`;
      let at = known.get(key);
      if (at === undefined) {
        at = corners.push(corner) - 1;
        known.set(key, at);
      }
      index[3 * n + k] = at;
    }
  });
  return [corners, index];
}

function disposeMaterial(material: THREE.Material | THREE.Material[]): void {
  for (const each of [material].flat()) each.dispose();
}

/** Makes a mesh opaque or translucent. */
function fadeMaterial(mesh: THREE.Mesh, opacity: number): void {
  if (Array.isArray(mesh.material)) return;
  const material = mesh.material;
  if (material.opacity === opacity) return;
  material.opacity = opacity;
  material.transparent = opacity < 1;
  material.depthWrite = opacity >= 1;
  material.needsUpdate = true;
  mesh.castShadow = opacity >= 1;
}
