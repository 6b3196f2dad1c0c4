// Playback controls, the timeline of footplants, and curves.
import { useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { Button } from "../icons";
import { Plots } from "../plots";
import * as store from "../store";
import { drawTimeline } from "../timeline/draw";
import { Playhead } from "../timeline/playhead";
import { TRACKS, fitted, frameAt, layoutTimeline, panned, zoomed } from "../timeline/layout";
import { inSeconds, timelineView } from "../timeline/view";
import type { Track } from "../types";
import { content, current, focused, marksOf } from "./show";

const GUTTER = 78;
const SPEEDS = [0.1, 0.25, 0.5, 1, 2];

export function step(by: number): void {
  store.playing.value = false;
  store.goTo(store.frame.peek() + by);
}

export function Transport() {
  return (
    <div class="transport" role="toolbar" aria-label="Playback">
      <div class="group">
        <Button icon="first" label="First frame" hint="Home" onClick={() => store.goTo(0)} />
        <Button icon="previous" label="One frame back" hint="←" onClick={() => step(-1)} />
        <Button icon={store.playing.value ? "pause" : "play"} label={store.playing.value ? "Pause" : "Play"} hint="Space" id="play" on={store.playing.value} onClick={() => (store.playing.value = !store.playing.peek())} />
        <Button icon="next" label="One frame on" hint="→" onClick={() => step(1)} />
        <Button icon="loop" label="Loop" hint="L" on={store.looping.value} onClick={() => (store.looping.value = !store.looping.peek())} />
      </div>
      <label class="field">
        <span class="visually-hidden">Speed</span>
        <select id="speed" value={String(store.speed.value)} onChange={(event) => (store.speed.value = Number(event.currentTarget.value))}>
          {SPEEDS.map((value) => (
            <option key={value} value={String(value)}>
              {value}×
            </option>
          ))}
        </select>
      </label>
      <input id="scrub" class="scrub" type="range" min={0} max={store.frames.value - 1} value={store.frame.value} aria-label="Current frame" onInput={(event) => ((store.playing.value = false), store.goTo(Number(event.currentTarget.value)))} />
      <span class="clock" aria-live="off">
        {(store.frame.value / store.fps.value).toFixed(2)} s <span class="faint">frame {store.frame.value} of {store.frames.value}</span>
      </span>
    </div>
  );
}

export function Timeline() {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const [target, box] = [canvas.current, canvas.current?.parentElement];
    if (!target || !box) return undefined;
    const watch = new ResizeObserver(() => {
      const base = { width: box.clientWidth, height: box.clientHeight, gutter: GUTTER, frames: store.frames.peek(), fps: store.fps.peek() };
      timelineView.value = fitted(base);
    });
    watch.observe(box);
    const wheel = (event: WheelEvent): void => {
      event.preventDefault();
      const view = timelineView.peek();
      if (!view) return;
      const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
      timelineView.value = sideways ? panned(view, (event.deltaX || event.deltaY) / view.scale) : zoomed(view, Math.exp(-event.deltaY * 0.0015), event.offsetX);
    };
    target.addEventListener("wheel", wheel, { passive: false });
    return () => {
      watch.disconnect();
      target.removeEventListener("wheel", wheel);
    };
  }, []);
  useSignalEffect(() => {
    const [frames, fps] = [store.frames.value, store.fps.value];
    const view = timelineView.peek();
    if (view && (view.frames !== frames || view.fps !== fps)) timelineView.value = fitted({ ...view, frames, fps });
  });
  useSignalEffect(() => {
    const [view, target, figure] = [timelineView.value, canvas.current, focused()];
    if (!view || !target || !figure) return;
    const marks = marksOf(figure, store.fps.value);
    const used = TRACKS.filter((track) => track.endsWith("foot") || marks.some((mark) => mark.track === track));
    const layout = layoutTimeline(view, marks, [], [], null, used as Track[]);
    drawTimeline(target, layout, { selected: null, hovered: null, fps: view.fps, inSeconds: inSeconds.value });
  });
  const scrub = (event: PointerEvent): void => {
    const view = timelineView.peek();
    if (!view || !(event.buttons & 1)) return;
    canvas.current?.setPointerCapture(event.pointerId);
    store.playing.value = false;
    store.goTo(frameAt(view, event.offsetX));
  };
  return (
    <div class="timeline-box">
      <canvas ref={canvas} class="timeline" aria-label="Timeline of footplants; those that drift are red. Drag to scrub, scroll to zoom." onPointerDown={scrub} onPointerMove={scrub} />
      <Playhead />
    </div>
  );
}

export function Curves() {
  const ask = (): void => {
    const figure = focused();
    const plot = store.plot.value === "speed" ? "speed" : "height";
    const found = figure ? content.value?.curves(figure, plot) : null;
    const lead = figure && figure.fps === current()?.fps ? figure.lead : 0;
    const ratio = figure ? store.fps.value / figure.fps : 1;
    store.curves.value = found ? { is: "curves", plot, unit: found.unit, frames: found.frames.map((frame) => frame * ratio + lead), lines: found.lines } : null;
  };
  return <Plots ask={ask} choices={{ height: "Foot height", speed: "Foot speed" }} />;
}
