// Curves under the timeline, on the same frames, with the same cursor.
import { useComputed, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import * as store from "./store";
import { frameAt, xOf } from "./timeline/layout";
import { timelineView } from "./timeline/view";

type Plot = typeof store.plot.value;

const COLOURS = ["#4fa3ff", "#9bd0ff", "#ff7a66", "#ffb8ab", "#93d38a", "#f2b544"];
const AXES: Record<string, string> = { x: "#ff6b5e", y: "#7ddb6f", z: "#5aa9ff" };
export const PLOTS: Partial<Record<Plot, string>> = { height: "Foot height", speed: "Foot speed", error: "Constraint error", joint: "Joint curves", importance: "Importance" };

/** ask: has the chosen curves put into `store.curves`. choices: the plots to choose from. */
export function Plots({ ask, choices = PLOTS }: { ask: () => void; choices?: Partial<Record<Plot, string>> }) {
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | null>(null);
  const placed = useComputed(() => timelineView.value !== null);

  useSignalEffect(() => {
    store.plot.value;
    store.selection.value;
    if (store.show.curves.value) ask();
  });

  useSignalEffect(() => {
    const data = store.curves.value;
    const view = placed.value ? timelineView.peek() : null;
    const target = box.current;
    if (!target || !view) return;
    chart.current?.destroy();
    chart.current = null;
    if (!data) return;
    const names = Object.keys(data.lines);
    const axis = { stroke: "#9096a0", font: "10px Inter, system-ui", grid: { stroke: "#2e3136", width: 1 }, ticks: { stroke: "#2e3136", size: 4 } };
    chart.current = new uPlot(
      {
        width: target.clientWidth,
        height: target.clientHeight,
        padding: [6, 12, 7, 0],
        scales: { x: { time: false, auto: false, range: () => range() }, y: {} },
        axes: [
          { ...axis, show: false },
          { ...axis, size: view.gutter - 14, label: data.unit, labelSize: 14, labelFont: "10px Inter, system-ui" },
        ],
        series: [{}, ...names.map((name, n) => ({ label: name, stroke: colourOf(name, n), width: 1.4, points: { show: false } }))],
        cursor: { drag: { x: false, y: false }, points: { size: 5 } },
        legend: { show: false },
        hooks: { draw: [drawCursor] },
      },
      [data.frames, ...names.map((name) => data.lines[name] ?? [])],
      target,
    );
  });

  useSignalEffect(() => {
    timelineView.value;
    const [from, to] = range();
    chart.current?.setScale("x", { min: from, max: to });
  });
  useSignalEffect(() => {
    store.frame.value;
    chart.current?.redraw(false, false);
  });

  useEffect(() => {
    const target = box.current;
    if (!target) return undefined;
    const watch = new ResizeObserver(() => chart.current?.setSize({ width: target.clientWidth, height: target.clientHeight }));
    watch.observe(target);
    return () => watch.disconnect();
  }, []);

  const click = (event: MouseEvent): void => {
    const view = timelineView.peek();
    const left = box.current?.getBoundingClientRect().left ?? 0;
    if (view && event.clientX - left > view.gutter) store.goTo(frameAt(view, event.clientX - left));
  };

  const lines = store.curves.value?.lines ?? {};
  return (
    <div class="plots">
      <div class="plots-head">
        <label>
          <span class="visually-hidden">Which curves</span>
          <select id="plot-choice" value={store.plot.value} onChange={(event) => (store.plot.value = event.currentTarget.value as Plot)}>
            {Object.entries(choices).map(([key, name]) => (
              <option key={key} value={key}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <div class="legend">
          {Object.keys(lines).map((name, n) => (
            <span key={name}>
              <i style={{ background: colourOf(name, n) }} />
              {name} <b>{valueAt(name)}</b>
            </span>
          ))}
        </div>
      </div>
      <div ref={box} class="plot-box" onClick={click} />
    </div>
  );
}

/** Axes and feet have colours of their own: a heel that of its foot, a ball a lighter one. */
function colourOf(name: string, n: number): string {
  const [side, part] = name.split(" ");
  const foot = side === "left" || side === "right" ? store.TRACK_COLOURS[`${side}_${part === "ball" ? "hand" : "foot"}`] : undefined;
  return AXES[name] ?? foot ?? COLOURS[n % COLOURS.length] ?? "#ccc";
}

function range(): [number, number] {
  const view = timelineView.peek();
  return view ? [view.first, frameAt(view, view.width - 12)] : [0, store.frames.peek()];
}

function valueAt(name: string): string {
  const data = store.curves.value;
  const at = data?.frames.findIndex((frame) => frame >= store.readFrame.value) ?? -1;
  const value = data?.lines[name]?.[at < 0 ? (data.frames.length - 1) : at];
  return value === undefined ? "" : `${value.toFixed(Math.abs(value) < 10 ? 2 : 0)} ${data?.unit ?? ""}`;
}

function drawCursor(chart: uPlot): void {
  const view = timelineView.peek();
  if (!view) return;
  const ratio = window.devicePixelRatio || 1;
  const x = Math.round(xOf(view, store.frame.peek()) * ratio) + 0.5;
  chart.ctx.save();
  chart.ctx.strokeStyle = "#f2b544";
  chart.ctx.lineWidth = 1.5 * ratio;
  chart.ctx.beginPath();
  chart.ctx.moveTo(x, chart.bbox.top);
  chart.ctx.lineTo(x, chart.bbox.top + chart.bbox.height);
  chart.ctx.stroke();
  chart.ctx.restore();
}
