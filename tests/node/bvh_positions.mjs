// Where three.js's BVHLoader puts the joints.
// in:  [{path, frames: [..]}, ..]
// out: [{names: [..], frameTime, frames: n, positions: [frame][joint][3]}, ..]; end sites are named ENDSITE.
import { readFileSync } from 'node:fs';
import { AnimationMixer, LoopOnce, Vector3 } from 'three';
import { BVHLoader } from 'three/examples/jsm/loaders/BVHLoader.js';

function judge({ path, frames }) {
  const { skeleton, clip } = new BVHLoader().parse(readFileSync(path, 'latin1'));
  const root = skeleton.bones[0];
  const mixer = new AnimationMixer(root);
  const action = mixer.clipAction(clip);
  action.setLoop(LoopOnce);
  action.clampWhenFinished = true;
  action.play();
  const times = clip.tracks[0].times;
  const point = new Vector3();
  const positions = frames.map((frame) => {
    action.time = 0;
    action.paused = false;
    action.enabled = true;
    mixer.time = 0;
    mixer.update(times[frame]);
    root.updateMatrixWorld(true);
    return skeleton.bones.map((bone) => bone.getWorldPosition(point).toArray());
  });
  const names = skeleton.bones.map((bone) => bone.name);
  return { names, frameTime: times.length > 1 ? times[1] - times[0] : 0, frames: times.length, positions };
}

process.stdout.write(JSON.stringify(JSON.parse(readFileSync(0, 'utf8')).map(judge)));
