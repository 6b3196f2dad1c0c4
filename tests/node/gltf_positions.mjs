// Where three.js puts the nodes and the skinned vertices of glTF files.
// in:  [{path, takes: [{animation, times}], nodes: [..], vertices: n}, ..]
// out: [{takes: [{positions: [time][node][3], rest: ..}], ..}, ..]; animation null is the pose of the file itself.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Vector3 } from 'three';
import { GLTFLoader } from 'three/examples/jsm/loaders/GLTFLoader.js';
import { samplesOf } from './played.mjs';

// what the loader expects of a browser
globalThis.self = globalThis;
globalThis.ProgressEvent ??= class {};

function read(path) {
  const bytes = readFileSync(path);
  let json, bin = null;
  if (bytes.toString('latin1', 0, 4) === 'glTF') {
    const length = bytes.readUInt32LE(12);
    json = JSON.parse(bytes.toString('utf8', 20, 20 + length));
    const start = 20 + length;
    if (start < bytes.length) bin = bytes.subarray(start + 8, start + 8 + bytes.readUInt32LE(start));
  } else {
    json = JSON.parse(bytes.toString('utf8'));
  }
  for (const [number, buffer] of (json.buffers ?? []).entries()) {
    let content = null;
    if (buffer.uri === undefined && number === 0) content = bin;
    else if (buffer.uri !== undefined && !buffer.uri.startsWith('data:')) {
      content = readFileSync(join(dirname(path), decodeURIComponent(buffer.uri)));
    }
    if (content) buffer.uri = 'data:application/octet-stream;base64,' + content.toString('base64');
  }
  // textures need a browser, and say nothing about places
  for (const key of ['images', 'textures', 'samplers', 'materials']) delete json[key];
  delete json.extensionsRequired;
  delete json.extensionsUsed;
  for (const mesh of json.meshes ?? []) {
    for (const primitive of mesh.primitives) {
      delete primitive.material;
      delete primitive.extensions;
    }
  }
  for (const group of [json.nodes ?? [], json.scenes ?? [], [json]]) for (const item of group) delete item.extensions;
  return JSON.stringify(json);
}

async function judge({ path, takes, nodes, vertices }) {
  const gltf = await new GLTFLoader().parseAsync(read(path), '');
  const objects = await Promise.all(nodes.map((node) => gltf.parser.getDependency('node', node)));
  const meshes = [];
  gltf.scene.traverse((object) => { if (object.isSkinnedMesh) meshes.push(object); });
  const point = new Vector3();
  const look = () => {
    gltf.scene.updateMatrixWorld(true);
    for (const mesh of meshes) mesh.skeleton.update();
    const positions = objects.map((object) => object.getWorldPosition(point).toArray());
    const skinned = [];
    for (const mesh of meshes) {
      const count = mesh.geometry.attributes.position.count;
      for (let place = 0; vertices && place < count; place += Math.max(1, Math.floor(count / vertices))) {
        const vertex = new Vector3().fromBufferAttribute(mesh.geometry.attributes.position, place);
        mesh.applyBoneTransform(place, vertex);
        skinned.push(vertex.applyMatrix4(mesh.matrixWorld).toArray());
      }
    }
    return { positions, skinned };
  };
  return takes.map(({ animation, times }) => {
    if (animation === null) return [look()];
    return samplesOf(gltf.scene, gltf.animations[animation], times, look);
  });
}

const request = JSON.parse(readFileSync(0, 'utf8'));
const answers = [];
for (const item of request) answers.push(await judge(item));
process.stdout.write(JSON.stringify(answers));
