// Ground and objects: height-field terrain, boxes, tables and doorways.
import * as THREE from "three";
import type { SceneObject } from "../types";
import type { GroundData } from "../wire";
import { NEW_PIECES, isPiece } from "./pieces";

export function makeTerrain(data: GroundData, plain: boolean): THREE.Mesh {
  const { columns, rows, low, step, heights } = data;
  const places = new Float32Array(3 * columns * rows);
  for (let i = 0; i < columns; i++) {
    for (let j = 0; j < rows; j++) {
      const n = i * rows + j;
      places.set([low[0] + i * step[0], heights[n] ?? 0, low[1] + j * step[1]], 3 * n);
    }
  }
  const corners: number[] = [];
  for (let i = 0; i + 1 < columns; i++) {
    for (let j = 0; j + 1 < rows; j++) {
      const n = i * rows + j;
      corners.push(n, n + 1, n + rows, n + rows, n + 1, n + rows + 1);
    }
  }
  const shape = new THREE.BufferGeometry();
  shape.setAttribute("position", new THREE.BufferAttribute(places, 3));
  shape.setIndex(corners);
  shape.computeVertexNormals();
  const material = plain ? new THREE.MeshLambertMaterial({ color: 0x6d7268, side: THREE.DoubleSide }) : new THREE.MeshStandardMaterial({ color: 0x6d7268, roughness: 0.95, side: THREE.DoubleSide });
  addGridLines(material);
  const mesh = new THREE.Mesh(shape, material);
  mesh.receiveShadow = true;
  return mesh;
}

/** Lines every half metre, to make slopes visible. */
function addGridLines(material: THREE.Material): void {
  material.onBeforeCompile = (shader) => {
    shader.vertexShader = shader.vertexShader
      .replace("#include <common>", "#include <common>\nvarying vec3 groundPlace;")
      .replace("#include <begin_vertex>", "#include <begin_vertex>\ngroundPlace = position;");
    shader.fragmentShader = shader.fragmentShader
      .replace("#include <common>", "#include <common>\nvarying vec3 groundPlace;")
      .replace(
        "#include <color_fragment>",
        `#include <color_fragment>
        vec2 cell = groundPlace.xz * 2.0;
        vec2 line = abs(fract(cell - 0.5) - 0.5) / fwidth(cell);
        diffuseColor.rgb *= mix(0.72, 1.0, clamp(min(line.x, line.y), 0.0, 1.0));
        diffuseColor.rgb *= 0.86 + 0.5 * smoothstep(-0.4, 0.6, groundPlace.y);`,
      );
  };
}

const WOOD = 0x9a7b57;
const PLAIN = 0x7f8692;
const STONE = 0x7c8177;

export function makeObject(thing: SceneObject, chosen: boolean, plain: boolean): THREE.Group {
  const group = new THREE.Group();
  const [width, height, depth] = thing.size;
  const colour = thing.kind === "table" ? WOOD : isPiece(thing) ? STONE : PLAIN;
  const look = { color: colour, ...(chosen ? { emissive: 0x6b4a10 } : {}) };
  const material = plain ? new THREE.MeshLambertMaterial(look) : new THREE.MeshStandardMaterial({ ...look, roughness: 0.8 });
  const block = (w: number, h: number, d: number, x: number, y: number, z: number): void => {
    const mesh = new THREE.Mesh(new THREE.BoxGeometry(w, h, d), material);
    mesh.position.set(x, y, z);
    mesh.castShadow = mesh.receiveShadow = true;
    group.add(mesh);
  };
  if (thing.kind === "box" || thing.kind === "block") block(width, height, depth, 0, height / 2, 0);
  else if (thing.kind === "stairs") {
    const count = thing.count ?? 1;
    for (let n = 0; n < count; n++) {
      const [high, run] = [((n + 1) * height) / count, depth / count];
      block(width, high, run, 0, high / 2, -depth / 2 + (n + 0.5) * run);
    }
  } else if (thing.kind === "ramp") group.add(wedge(width, height, depth, material));
  else if (thing.kind === "table") {
    block(width, 0.05, depth, 0, height - 0.025, 0);
    for (const x of [-1, 1]) {
      for (const z of [-1, 1]) block(0.06, height - 0.05, 0.06, x * (width / 2 - 0.05), (height - 0.05) / 2, z * (depth / 2 - 0.05));
    }
  } else {
    block(width + 0.24, 0.14, depth, 0, height + 0.07, 0);
    for (const x of [-1, 1]) block(0.12, height, depth, x * (width / 2 + 0.06), height / 2, 0);
  }
  group.position.set(...thing.place);
  group.rotation.y = thing.turn;
  return group;
}

/** A ramp that rises along +z. */
function wedge(width: number, height: number, depth: number, material: THREE.Material): THREE.Mesh {
  const [w, d] = [width / 2, depth / 2];
  const [a, b, c, e, f, g] = [[-w, 0, -d], [w, 0, -d], [w, 0, d], [-w, 0, d], [-w, height, d], [w, height, d]] as [number, number, number][];
  const corners = [a, f, g, a, g, b, e, c, g, e, g, f, a, e, f, b, g, c].flat() as number[];
  const shape = new THREE.BufferGeometry();
  shape.setAttribute("position", new THREE.Float32BufferAttribute(corners, 3));
  shape.computeVertexNormals();
  const mesh = new THREE.Mesh(shape, material);
  mesh.castShadow = mesh.receiveShadow = true;
  return mesh;
}

export const NEW_OBJECTS: Record<SceneObject["kind"], [number, number, number]> = {
  ...NEW_PIECES,
  box: [0.5, 0.5, 0.5],
  table: [1.4, 0.75, 0.8],
  doorway: [1.1, 1.55, 0.2],
};

/** Shows another ground, or none, in place of the one that a scene has. */
export function replaceTerrain(
  scene: THREE.Scene, known: THREE.Mesh | null, ground: GroundData | null, plain: boolean,
): THREE.Mesh | null {
  if (known) {
    scene.remove(known);
    disposeAll(known);
  }
  const terrain = ground && makeTerrain(ground, plain);
  if (terrain) scene.add(terrain);
  return terrain;
}

export function disposeAll(object: THREE.Object3D): void {
  object.traverse((part) => {
    if (part instanceof THREE.Mesh) {
      part.geometry.dispose();
      for (const material of [part.material].flat()) (material as THREE.Material).dispose();
    }
  });
}
