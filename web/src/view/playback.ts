// Advances the current frame while playing, in real time.
import * as store from "../store";
import type { Stage } from "./stage";

export function playOn(stage: Stage): void {
  let last = performance.now();
  let rest = 0;
  stage.eachTime(() => {
    const now = performance.now();
    const passed = Math.min((now - last) / 1000, 0.25);
    last = now;
    if (!store.playing.peek()) {
      rest = 0;
      return;
    }
    rest += passed * store.fps.peek() * store.speed.peek();
    const whole = Math.floor(rest);
    if (!whole) return;
    rest -= whole;
    const next = store.frame.peek() + whole;
    if (next < store.frames.peek()) store.frame.value = next;
    else if (store.looping.peek()) store.frame.value = next % store.frames.peek();
    else {
      store.frame.value = store.frames.peek() - 1;
      store.playing.value = false;
    }
  });
}
