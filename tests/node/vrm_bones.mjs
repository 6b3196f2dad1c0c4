// What three-vrm makes of VRM characters, and of VRM animations that play on them.
// in:  [{path, animation: path or null, times: [..]}, ..]
// out: [{version, names: {bone: node name}, rest: {bone: [3]}, frames: [{bone: [3]}, ..], duration}, ..]
// Places are those of the character's own bones in the world, after VRM 0.x has been turned round to face +z.
import { readFileSync } from 'node:fs';
import { VRMLoaderPlugin, VRMUtils } from '@pixiv/three-vrm';
import { VRMAnimationLoaderPlugin, createVRMAnimationClip } from '@pixiv/three-vrm-animation';
import { AnimationMixer, LoopOnce, Vector3 } from 'three';
import { GLTFLoader } from 'three/examples/jsm/loaders/GLTFLoader.js';

// what the loaders expect of a browser
globalThis.self = globalThis;
globalThis.ProgressEvent ??= class {};
// answers go to the standard output, so warnings must not
console.log = console.warn = console.info = console.error;

function read(path) {
  const bytes = readFileSync(path);
  const length = bytes.readUInt32LE(12);
  const json = JSON.parse(bytes.toString('utf8', 20, 20 + length));
  const start = 20 + length;
  if (start < bytes.length && json.buffers) {
    const bin = bytes.subarray(start + 8, start + 8 + bytes.readUInt32LE(start));
    json.buffers[0].uri = 'data:application/octet-stream;base64,' + bin.toString('base64');
  }
  // textures need a browser, and say nothing about places
  for (const key of ['images', 'textures', 'samplers', 'materials']) delete json[key];
  for (const mesh of json.meshes ?? []) {
    for (const primitive of mesh.primitives) {
      delete primitive.material;
      delete primitive.extensions;
    }
  }
  delete json.extensionsRequired;
  const vrm = json.extensions.VRM ?? json.extensions.VRMC_vrm ?? {};
  for (const key of ['materialProperties', 'blendShapeMaster', 'expressions']) delete vrm[key];
  for (const key of ['texture', 'thumbnailImage']) if (vrm.meta) delete vrm.meta[key];
  if (json.extensions.VRM) vrm.materialProperties = [];
  return JSON.stringify(json);
}

async function load(path) {
  const loader = new GLTFLoader();
  loader.register((parser) => new VRMLoaderPlugin(parser));
  loader.register((parser) => new VRMAnimationLoaderPlugin(parser));
  return loader.parseAsync(read(path), '');
}

async function judge({ path, animation, times }) {
  const gltf = await load(path);
  const vrm = gltf.userData.vrm;
  VRMUtils.rotateVRM0(vrm);
  const bones = Object.entries(vrm.humanoid.humanBones).filter(([, bone]) => bone != null);
  const point = new Vector3();
  const look = () => {
    vrm.scene.updateMatrixWorld(true);
    return Object.fromEntries(bones.map(([name, bone]) => [name, bone.node.getWorldPosition(point).toArray()]));
  };
  const names = Object.fromEntries(bones.map(([name, bone]) => {
    const node = gltf.parser.associations.get(bone.node).nodes;
    return [name, gltf.parser.json.nodes[node].name ?? `node_${node}`];
  }));
  const answer = { version: vrm.meta.metaVersion, names, rest: look(), frames: [], duration: 0 };
  if (animation === null) return answer;
  const played = createVRMAnimationClip((await load(animation)).userData.vrmAnimations[0], vrm);
  const mixer = new AnimationMixer(vrm.scene);
  const action = mixer.clipAction(played);
  action.setLoop(LoopOnce);
  action.clampWhenFinished = true;
  action.play();
  answer.duration = played.duration;
  answer.frames = times.map((time) => {
    action.time = 0;
    action.paused = false;
    action.enabled = true;
    mixer.time = 0;
    mixer.update(time);
    vrm.humanoid.update();
    return look();
  });
  return answer;
}

const answers = [];
for (const item of JSON.parse(readFileSync(0, 'utf8'))) answers.push(await judge(item));
process.stdout.write(JSON.stringify(answers));
