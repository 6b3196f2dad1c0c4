// The viewport panel.
import { useEffect, useRef } from "preact/hooks";
import * as store from "../store";
import { CrowdMouse } from "./crowd_mouse";
import { Gizmo } from "./gizmo";
import { playOn } from "./playback";
import { Theatre } from "./scene";

export const view: { theatre: Theatre | null; gizmo: Gizmo | null; crowd: CrowdMouse | null } = { theatre: null, gizmo: null, crowd: null };

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
    view.crowd = new CrowdMouse(theatre);
    playOn(theatre.stage);
    const box = target.parentElement;
    const watch = new ResizeObserver(() => theatre.stage.resize(box.clientWidth, box.clientHeight));
    watch.observe(box);
    return () => watch.disconnect();
  }, []);
  return <canvas ref={canvas} class="viewport" tabIndex={0} aria-label="Viewport: the character. Drag joints to move them, drag elsewhere to rotate the camera." />;
}
