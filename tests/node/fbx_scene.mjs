// Where three.js's FBXLoader puts the nodes and the skinned vertices of FBX files.
// in:  [{path, times: [..], vertices: n}, ..]
// out: [{names: [..], unit, takes: [{name, duration}], meshes: [name], warnings: [..],
//        rest: {positions: [bone][3], skinned: [n][3]}, frames: [like rest, ..]}, ..], in file units.
import { readFileSync } from 'node:fs';
import { AnimationMixer, LoopOnce, Vector3 } from 'three';
import { FBXLoader } from 'three/examples/jsm/loaders/FBXLoader.js';

// what the loader expects of a browser; textures say nothing about places
globalThis.self = globalThis;
globalThis.window = globalThis;
globalThis.document = { createElementNS: () => ({ addEventListener() {}, removeEventListener() {}, set src(_) {} }) };
globalThis.URL.createObjectURL = () => '';
const warnings = [];
console.warn = (...words) => warnings.push(words.join(' '));

function judge({ path, times, vertices }) {
  warnings.length = 0;
  const bytes = readFileSync(path);
  const group = new FBXLoader().parse(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length), '');
  const bones = [], meshes = [];
  group.traverse((object) => {
    if (object.isBone) bones.push(object);
    if (object.isSkinnedMesh) meshes.push(object);
  });
  const point = new Vector3();
  const look = () => {
    group.updateMatrixWorld(true);
    const positions = bones.map((bone) => bone.getWorldPosition(point).toArray());
    const skinned = [];
    for (const mesh of meshes) {
      mesh.skeleton.update();
      const count = mesh.geometry.attributes.position.count;
      for (let place = 0; vertices && place < count; place += Math.max(1, Math.floor(count / vertices))) {
        const vertex = new Vector3().fromBufferAttribute(mesh.geometry.attributes.position, place);
        mesh.applyBoneTransform(place, vertex);
        skinned.push(vertex.applyMatrix4(mesh.matrixWorld).toArray());
      }
    }
    return { positions, skinned };
  };
  const rest = look();
  const frames = [];
  if (group.animations.length) {
    const mixer = new AnimationMixer(group);
    const action = mixer.clipAction(group.animations[0]);
    action.setLoop(LoopOnce);
    action.clampWhenFinished = true;
    action.play();
    for (const time of times) {
      Object.assign(action, { time: 0, paused: false, enabled: true });
      mixer.time = 0;
      mixer.update(time);
      frames.push(look());
    }
  }
  return {
    names: bones.map((bone) => bone.userData.originalName),
    unit: group.userData.unitScaleFactor,
    takes: group.animations.map((clip) => ({ name: clip.name, duration: clip.duration })),
    meshes: meshes.map((mesh) => mesh.userData.originalName),
    warnings: [...warnings],
    rest,
    frames,
  };
}

process.stdout.write(JSON.stringify(JSON.parse(readFileSync(0, 'utf8')).map(judge)));
