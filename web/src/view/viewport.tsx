// The viewport panel.
import { useEffect, useRef } from "preact/hooks";
import * as store from "../store";
import { Gizmo } from "./gizmo";
import { Theatre } from "./scene";

export const view: { theatre: Theatre | null; gizmo: Gizmo | null } = { theatre: null, gizmo: null };

export function Viewport() {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const target = canvas.current;
    if (!target?.parentElement) return undefined;
    let theatre: Theatre;
    try {
      theatre = new Theatre(target);
    } catch (error) {
      store.toast(`The viewport needs WebGL 2, which this browser does not offer (${String(error)}).`, "error");
      return undefined;
    }
    view.theatre = theatre;
    view.gizmo = new Gizmo(theatre);
    let last = performance.now();
    let rest = 0;
    theatre.stage.eachTime(() => {
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
    const box = target.parentElement;
    const watch = new ResizeObserver(() => theatre.stage.resize(box.clientWidth, box.clientHeight));
    watch.observe(box);
    return () => watch.disconnect();
  }, []);
  return <canvas ref={canvas} class="viewport" tabIndex={0} aria-label="Viewport: the character. Drag joints to move them, drag elsewhere to rotate the camera." />;
}
