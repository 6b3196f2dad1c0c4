// Bones of a PMX model posed by a VMD motion as three.js does it: {pmx, vmd} on the input, places of all bones out.
import fs from "node:fs";
import * as THREE from "three";

const { pmx, vmd } = JSON.parse(fs.readFileSync(0, "utf8"));
console.warn = () => {};
const { MMDLoader } = await import("three/examples/jsm/loaders/MMDLoader.js");
const { MMDAnimationHelper } = await import("three/examples/jsm/animation/MMDAnimationHelper.js");

const bytes = (file) => Uint8Array.from(fs.readFileSync(file)).buffer;
const loader = new MMDLoader();
// pictures need a browser
loader.meshBuilder.materialBuilder.build = (data) => data.materials.map(() => new THREE.MeshBasicMaterial());
const parser = loader._getParser();
const model = parser.parsePmx(bytes(pmx), true);
const mesh = loader.meshBuilder.build(model, "");
const clip = loader.animationBuilder.build(parser.parseVmd(bytes(vmd), true), mesh);
const helper = new MMDAnimationHelper({ pmxAnimation: true });
helper.add(mesh, { animation: clip, physics: false });
const frames = [];
const last = Math.round(clip.duration * 30);
for (let frame = 0; frame <= last; frame++) {
  // the mixer starts over at the very end
  helper.update(frame === 0 ? 0 : 1 / 30 - (frame === last ? 1e-6 : 0));
  mesh.updateMatrixWorld(true);
  frames.push(mesh.skeleton.bones.map((bone) => bone.getWorldPosition(new THREE.Vector3()).toArray()));
}
const counts = model.metadata;
const rest = model.vertices.map((vertex) => vertex.position);
console.log(JSON.stringify({ bones: mesh.skeleton.bones.map((bone) => bone.name), frames, counts, rest }));
