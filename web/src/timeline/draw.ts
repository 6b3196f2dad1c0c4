// Draws a layout of the timeline on a canvas.
import { TRACK_COLOURS, WRONG } from "../store";
import { LABELS, REACH, RULER, type Bar, type Key, type Layout } from "./layout";

const FONT = "11px Inter, 'Segoe UI', system-ui, sans-serif";

/** Colours of the page's theme; set from its style sheet. */
export const colours = { back: "#1c1d20", odd: "#212327", even: "#24262a", text: "#b4b8c0", soft: "#8d929b", line: "#3a3d43", faintLine: "#2c2e33" };

/** Reads the colours of the theme from the page's style sheet. */
export function readColours(): void {
  const style = getComputedStyle(document.documentElement);
  for (const name of Object.keys(colours) as (keyof typeof colours)[]) {
    const value = style.getPropertyValue(`--timeline-${name}`).trim();
    if (value) colours[name] = value;
  }
}

export interface Look {
  selected: number | null;
  /** Operator of the selected key. */
  key?: number | null;
  hovered: number | null;
  fps: number;
  inSeconds: boolean;
}

export function drawTimeline(canvas: HTMLCanvasElement, layout: Layout, look: Look): void {
  const ratio = window.devicePixelRatio || 1;
  const { width, height, gutter } = layout.view;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  // drawn by the processor: this is little and rarely, and where there is no graphics card far faster
  const g = canvas.getContext("2d", { willReadFrequently: true });
  if (!g) return;
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.clearRect(0, 0, width, height);
  g.font = FONT;
  g.textBaseline = "middle";
  drawRows(g, layout);
  g.save();
  g.beginPath();
  g.rect(gutter, 0, width - gutter, height);
  g.clip();
  drawInfluence(g, layout);
  drawTicks(g, layout, look);
  for (const bar of layout.bars) {
    if (bar.x1 + bar.rampOut > gutter && bar.x0 - bar.rampIn < width) drawBar(g, bar, look);
  }
  drawKeys(g, layout, look.key ?? null);
  g.restore();
}

function drawRows(g: CanvasRenderingContext2D, layout: Layout): void {
  const { width, gutter } = layout.view;
  g.fillStyle = colours.back;
  g.fillRect(gutter, 0, width - gutter, RULER);
  layout.rows.forEach((row, number) => {
    g.fillStyle = number % 2 ? colours.odd : colours.even;
    g.fillRect(0, row.y, width, row.height);
    g.fillStyle = TRACK_COLOURS[row.track] ?? "#999";
    g.fillRect(0, row.y + 3, 3, row.height - 6);
    g.fillStyle = colours.text;
    g.textAlign = "left";
    g.fillText(LABELS[row.track], 12, row.y + row.height / 2 + 0.5);
  });
  g.fillStyle = colours.line;
  g.fillRect(gutter - 1, 0, 1, Math.max(layout.bottom, layout.view.height));
}

function drawTicks(g: CanvasRenderingContext2D, layout: Layout, look: Look): void {
  g.textAlign = "left";
  for (const tick of layout.ticks) {
    g.fillStyle = tick.major ? colours.line : colours.faintLine;
    g.fillRect(Math.round(tick.x), tick.major ? RULER - 9 : RULER - 5, 1, tick.major ? layout.bottom - RULER + 9 : 5);
    if (tick.major) {
      g.fillStyle = colours.soft;
      const label = look.inSeconds ? `${(tick.frame / look.fps).toFixed(2)} s` : `${tick.frame}`;
      g.fillText(label, tick.x + 4, 9);
    }
  }
}

function drawInfluence(g: CanvasRenderingContext2D, layout: Layout): void {
  if (!layout.influence) return;
  const [from, to] = layout.influence;
  const shade = g.createLinearGradient(from, 0, to, 0);
  shade.addColorStop(0, "rgba(242,181,68,0)");
  shade.addColorStop(0.5, "rgba(242,181,68,0.22)");
  shade.addColorStop(1, "rgba(242,181,68,0)");
  g.fillStyle = shade;
  g.fillRect(from, RULER, to - from, layout.bottom - RULER);
}

function drawBar(g: CanvasRenderingContext2D, bar: Bar, look: Look): void {
  const colour = bar.wrong ? WRONG : (TRACK_COLOURS[bar.track] ?? "#999");
  const chosen = bar.id === look.selected;
  const lit = chosen || bar.id === look.hovered;
  g.globalAlpha = 0.3;
  g.fillStyle = colour;
  g.beginPath();
  g.moveTo(bar.x0 - bar.rampIn, bar.y + bar.height);
  g.lineTo(bar.x0, bar.y);
  g.lineTo(bar.x1, bar.y);
  g.lineTo(bar.x1 + bar.rampOut, bar.y + bar.height);
  g.fill();
  g.globalAlpha = lit ? 1 : 0.82;
  const width = Math.max(bar.x1 - bar.x0, 2);
  g.beginPath();
  g.roundRect(bar.x0, bar.y, width, bar.height, 3);
  if (bar.free) {
    g.fillStyle = "#26282c";
    g.fill();
    g.strokeStyle = colour;
    g.lineWidth = 1.5;
    g.setLineDash([4, 3]);
    g.stroke();
    g.setLineDash([]);
  } else if (bar.phases.length) drawPhases(g, bar, colour, lit);
  else {
    g.fillStyle = colour;
    g.fill();
  }
  g.globalAlpha = 1;
  if (chosen) {
    g.strokeStyle = "#ffffff";
    g.lineWidth = 1.5;
    g.stroke();
  }
  if (width < 20) return;
  const text = bar.kind === "step" ? bar.title.replace(/ \d+–\d+.*$/, "").replace(/^(left|right) /, "") : bar.kind === "pin" ? bar.title.replace(/ [\d–]+$/, "") : bar.title.replace(/ \d+–\d+.*$/, "").replace(/^(left|right) /, "");
  if (width > g.measureText(text).width + 10) {
    g.fillStyle = bar.free ? "#d5d8de" : "#15171a";
    g.textAlign = "left";
    g.fillText(text, bar.x0 + 5, bar.y + bar.height / 2 + 0.5);
  }
}

/** The phases of a footstep in one bar: the heel above, the ball below, on a pale ground for the whole step. */
function drawPhases(g: CanvasRenderingContext2D, bar: Bar, colour: string, lit: boolean): void {
  g.save();
  g.clip();
  g.globalAlpha = lit ? 0.55 : 0.4;
  g.fillStyle = colour;
  g.fillRect(bar.x0, bar.y, bar.x1 - bar.x0, bar.height);
  g.globalAlpha = lit ? 1 : 0.85;
  for (const phase of bar.phases) {
    const ball = phase.part !== "heel";
    g.fillRect(phase.x0, bar.y + (ball ? bar.height / 2 : 0), phase.x1 - phase.x0, bar.height / 2);
  }
  g.restore();
}

function drawKeys(g: CanvasRenderingContext2D, layout: Layout, chosen: number | null): void {
  g.strokeStyle = "#15171a";
  g.lineWidth = 1;
  const shown = layout.keys.find((key) => key.operator && key.operator === chosen);
  if (shown) drawReach(g, shown);
  g.strokeStyle = "#15171a";
  g.lineWidth = 1;
  for (const key of layout.keys) {
    g.fillStyle = key.operator && key.operator === chosen ? "#ffffff" : "#f2b544";
    g.beginPath();
    if (key.pose) {
      // a pose is of the whole body: a square
      g.rect(key.x - 4.5, key.y - 4.5, 9, 9);
      g.fill();
      g.stroke();
      continue;
    }
    g.moveTo(key.x, key.y - 5.5);
    g.lineTo(key.x + 5.5, key.y);
    g.lineTo(key.x, key.y + 5.5);
    g.lineTo(key.x - 5.5, key.y);
    g.closePath();
    g.fill();
    g.stroke();
  }
}

/** The influence of the selected key as a curve, with a knob at each end. */
function drawReach(g: CanvasRenderingContext2D, key: Key): void {
  const [from, full, held, to] = key.reach;
  const [low, high] = [key.y + REACH, key.y - REACH];
  const ease = (x0: number, x1: number, y0: number, y1: number): void => {
    for (let n = 1; n <= 16; n++) {
      const u = n / 16;
      g.lineTo(x0 + u * (x1 - x0), y0 + u * u * (3 - 2 * u) * (y1 - y0));
    }
  };
  g.beginPath();
  g.moveTo(from, low);
  ease(from, full, low, high);
  g.lineTo(held, high);
  ease(held, to, high, low);
  g.fillStyle = "rgba(242,181,68,0.3)";
  g.fill();
  g.strokeStyle = "#f2b544";
  g.lineWidth = 1.5;
  g.stroke();
  g.fillStyle = "#ffffff";
  for (const x of [from, to]) {
    g.beginPath();
    g.arc(x, low, 3.5, 0, 2 * Math.PI);
    g.fill();
    g.stroke();
  }
}
