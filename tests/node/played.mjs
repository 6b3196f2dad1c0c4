// Sampling an animation in three.js at given times, from a fresh start each: shared by the scripts that judge files.
import { AnimationMixer, LoopOnce } from 'three';

export function samplesOf(root, clip, times, look) {
  const mixer = new AnimationMixer(root);
  const action = mixer.clipAction(clip);
  action.setLoop(LoopOnce);
  action.clampWhenFinished = true;
  action.play();
  const seen = times.map((time) => {
    action.time = 0;
    action.paused = false;
    action.enabled = true;
    mixer.time = 0;
    mixer.update(time);
    return look();
  });
  mixer.stopAllAction();
  mixer.uncacheRoot(root);
  return seen;
}
