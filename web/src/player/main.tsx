// Entry point of pages that play motions: no server, no network.
import { render } from "preact";
import { useEffect, useRef } from "preact/hooks";
import * as THREE from "three";
import "uplot/dist/uPlot.min.css";
import "../app.css";
import "./player.css";
import { Button, Icon, type IconName } from "../icons";
import * as store from "../store";
import type { Vec3 } from "../types";
import { Content } from "./data";
import { Curves, Timeline, Transport, step } from "./dock";
import { ReportPanel, Scenes, chooseFocus, millimetres } from "./report";
import { COLOURS, Player, content, current, focus, layout, open, panel, scene, visible } from "./show";

declare global {
  interface Window {
    footplantInflate: (id: string) => Promise<ArrayBuffer>;
  }
}

const player: { value: Player | null } = { value: null };
const SHOWN: [store.Shown, IconName, string, string][] = [
  ["bones", "bones", "Bones", "B"],
  ["prints", "print", "Footprints", "G"],
  ["trails", "trail", "Trails of hands and feet", "T"],
  ["follow", "follow", "Camera follows", "C"],
  ["curves", "curve", "Curves", "V"],
];

function toggle(name: store.Shown): void {
  store.show[name].value = !store.show[name].peek();
}

function switchLayout(): void {
  layout.value = layout.peek() === "side" ? "over" : "side";
}

function App() {
  const shown = current();
  return (
    <div class={`page player ${panel.value ? "" : "without-side"} ${(content.value?.header.scenes.length ?? 1) > 1 ? "with-scenes" : ""}`}>
      <header class="top">
        <span class="brand">
          <b>Footplant</b>
        </span>
        <span class="file">
          <span class="clip-name">{shown?.name}</span>
          <span class="faint">
            {shown?.frames} frames, {shown?.fps.toPrecision(4).replace(/\.?0+$/, "")} fps
          </span>
        </span>
        <div class="spring" />
        {(shown?.figures.length ?? 1) > 1 && (
          <div class="segments" role="group" aria-label="Arrangement">
            {(["side", "over"] as const).map((which) => (
              <button key={which} id={`layout-${which}`} type="button" class={layout.value === which ? "on" : ""} aria-pressed={layout.value === which} onClick={() => (layout.value = which)}>
                {which === "side" ? "Side by side" : "Overlaid"}
              </button>
            ))}
          </div>
        )}
        <div class="group">
          <Button icon="frame" label="Frame the characters" hint="F" onClick={() => player.value?.frame()} />
          <Button icon="print" label="Close-up of the feet" hint="Z" text onClick={() => player.value?.frame(true)} />
          {SHOWN.map(([name, icon, label, hint]) => (
            <Button key={name} id={`show-${name}`} icon={icon} label={label} hint={hint} on={store.show[name].value} onClick={() => toggle(name)} />
          ))}
          <Button icon="table" label="Report" hint="R" id="show-report" on={panel.value} onClick={() => (panel.value = !panel.peek())} />
        </div>
      </header>
      <Scenes />
      <main class="stage">
        <Viewport />
        <Labels />
      </main>
      {panel.value && (
        <aside class="side">
          <div class="panel">
            <ReportPanel />
          </div>
        </aside>
      )}
      <section class="dock" aria-label="Timeline">
        <Transport />
        <Timeline />
        {store.show.curves.value && <Curves />}
      </section>
    </div>
  );
}

function Viewport() {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const target = canvas.current;
    const box = target?.parentElement;
    if (!target || !box) return undefined;
    try {
      player.value = new Player(target);
    } catch (error) {
      box.append(`The view needs WebGL 2, which this browser does not offer (${String(error)}).`);
      return undefined;
    }
    const made = player.value;
    let first = true;
    const watch = new ResizeObserver(() => {
      made.stage.resize(box.clientWidth, box.clientHeight);
      made.pose();
      if (first) made.frame();
      first = false;
    });
    watch.observe(box);
    return () => watch.disconnect();
  }, []);
  return <canvas ref={canvas} class="viewport" tabIndex={0} aria-label="Viewport: drag to orbit, scroll to zoom." />;
}

/** Names of the figures over their parts of the view; a click chooses whose footplants are in the dock. */
function Labels() {
  const figures = current()?.figures ?? [];
  const seen = figures.filter((_, n) => visible.value[n] ?? true);
  return (
    <div class={`labels ${layout.value === "side" ? "split" : "over"}`}>
      {figures.map((figure, n) => {
        const [shown, at] = [visible.value[n] ?? true, seen.indexOf(figure)];
        if (!shown && layout.value === "side") return null;
        const style = layout.value === "side" ? { left: `${(100 * at) / seen.length}%`, width: `${100 / seen.length}%` } : {};
        return (
          <div key={n} class={`label ${focus.value === n ? "on" : ""} ${shown ? "" : "hidden"}`} style={style}>
            <button type="button" title="Show its footplants and curves below" onClick={() => chooseFocus(n)}>
              <i style={{ background: COLOURS[figure.kind] }} />
              <span>{figure.label}</span>
              {figure.character.height > 0 && <small>{figure.character.height.toFixed(2)} m</small>}
              {figure.worst !== null && (
                <small class={figure.marks.some((mark) => mark.wrong) ? "drifts" : ""}>worst drift {millimetres(figure.worst)}</small>
              )}
            </button>
            {figures.length > 1 && (
              <button type="button" class="eye" aria-label={shown ? `Hide ${figure.label}` : `Show ${figure.label}`} onClick={() => hide(n)}>
                <Icon name={shown ? "close" : "plus"} size={13} />
              </button>
            )}
          </div>
        );
      })}
      {layout.value === "side" && seen.slice(1).map((_, n) => <hr key={n} style={{ left: `${(100 * (n + 1)) / seen.length}%` }} />)}
      {layout.value === "side" && seen.length < figures.length && (
        <button type="button" class="all" onClick={() => (visible.value = figures.map(() => true))}>
          show all
        </button>
      )}
    </div>
  );
}

function hide(n: number): void {
  const next = (current()?.figures ?? []).map((_, k) => (k === n ? !(visible.peek()[k] ?? true) : (visible.peek()[k] ?? true)));
  if (next.some(Boolean)) visible.value = next;
}

const KEYS: Record<string, (event: KeyboardEvent) => void> = {
  " ": () => (store.playing.value = !store.playing.peek()),
  arrowleft: (event) => step(event.shiftKey ? -10 : -1),
  arrowright: (event) => step(event.shiftKey ? 10 : 1),
  home: () => store.goTo(0),
  end: () => store.goTo(store.frames.peek()),
  l: () => (store.looping.value = !store.looping.peek()),
  f: () => player.value?.frame(),
  z: () => player.value?.frame(true),
  s: switchLayout,
  b: () => toggle("bones"),
  g: () => toggle("prints"),
  t: () => toggle("trails"),
  c: () => toggle("follow"),
  v: () => toggle("curves"),
  r: () => (panel.value = !panel.peek()),
};

function listen(): void {
  window.addEventListener("keydown", (event) => {
    const typing = (event.target as HTMLElement).matches?.("select, input:not([type=range])");
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    const act = KEYS[event.key.toLowerCase()] ?? (/^[1-9]$/.test(event.key) ? () => open(Number(event.key) - 1) : undefined);
    if (!act) return;
    event.preventDefault();
    act(event);
  });
  // a button that keeps the focus would be pressed by Space
  window.addEventListener("click", (event) => ((event.target as HTMLElement).closest("button") as HTMLElement | null)?.blur());
}

/** Test interface: what is on the screen, as numbers. */
function seam(): void {
  const page = {
    ready: () => player.value !== null && store.tracks.current !== null,
    state: () => ({
      scene: scene.value,
      frame: store.frame.value,
      frames: store.frames.value,
      playing: store.playing.value,
      layout: layout.value,
      panes: player.value?.stage.panes.length ?? 0,
      camera: player.value?.stage.camera.position.toArray() ?? [],
      target: player.value?.stage.orbit.target.toArray() ?? [],
      figures: current()?.figures.map((figure) => ({ kind: figure.kind, label: figure.label, worst: figure.worst, plants: figure.marks.length, drifting: figure.marks.filter((mark) => mark.wrong).length })) ?? [],
    }),
    positions: (figure: number, frame: number) => {
      const track = player.value?.shown[figure]?.track;
      return track ? [...track.positions.subarray(3 * frame * track.joints, 3 * (frame + 1) * track.joints)] : [];
    },
    settled: () => player.value?.stage.settled ?? false,
    goTo: (frame: number) => store.goTo(frame),
    open,
    look: (feet: boolean) => player.value?.frame(feet),
    /** Puts the camera somewhere; it stays there. */
    see: (from: Vec3, at: Vec3) => {
      store.show.follow.value = false;
      player.value?.stage.look(new THREE.Vector3(...from), new THREE.Vector3(...at));
    },
  };
  Object.assign(window, { __fp: page });
}

async function start(): Promise<void> {
  const root = document.getElementById("app");
  if (!root) return;
  // red is for footplants that drift
  Object.assign(store.TRACK_COLOURS, { right_foot: "#4fd1a5", right_hand: "#8fe3c5" });
  content.value = new Content(await window.footplantInflate("footplant-data"));
  const { compact, scenes } = content.value.header;
  const small = compact || window.innerWidth <= 980;
  panel.value = !small;
  store.show.curves.value = !small && window.innerHeight > 640;
  store.show.trails.value = false;
  if (!scenes.length) {
    root.textContent = "There is nothing to play.";
    return;
  }
  open(0);
  render(<App />, root);
  listen();
  seam();
}

void start();
