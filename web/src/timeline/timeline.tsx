// The timeline panel: mouse handling, hit tests by the layout, and sending changes.
import { useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { edit } from "../socket";
import * as store from "../store";
import type { Mark, Track } from "../types";
import { drawTimeline } from "./draw";
import { snapFrame } from "../view/snap";
import { type Layout, type Part, type View, draggedMark, edges, fitted, frameAt, hitTest, layoutTimeline, markEdit, panned, reachEdit, xOf, zoomed } from "./layout";
import { Playhead } from "./playhead";
import { inSeconds, timelineView } from "./view";

const GUTTER = 92;
/** Pixels within which the end of a bar snaps to another. */
const SNAP = 8;
const CURSORS: Record<string, string> = { bar: "grab", start: "ew-resize", end: "ew-resize", "ramp-in": "w-resize", "ramp-out": "e-resize", ruler: "pointer", key: "pointer", before: "ew-resize", after: "ew-resize" };
const NEW_POINTS: Partial<Record<Track, string>> = { left_foot: "left_ball", right_foot: "right_ball", left_hand: "left_palm", right_hand: "right_palm" };

let latest: Layout | null = null;
/** The current layout; tests drag its bars. */
export function currentLayout(): Layout | null {
  return latest;
}

export function Timeline() {
  const canvas = useRef<HTMLCanvasElement>(null);
  const scrubbing = useRef(false);
  const held = useRef<{ mark: Mark; part: Part; x: number } | null>(null);
  const key = useRef<{ operator: number; from: number } | null>(null);
  const keyAt = useSignal<number | null>(null);
  const reaching = useRef<{ operator: number; end: "before" | "after" } | null>(null);
  const reachAt = useSignal<number | null>(null);
  const draft = useSignal<Mark | null>(null);
  const hovered = useSignal<number | null>(null);

  useEffect(() => {
    const box = canvas.current?.parentElement;
    if (!box) return undefined;
    const watch = new ResizeObserver(() => {
      const base = { width: box.clientWidth, height: box.clientHeight, gutter: GUTTER, frames: store.frames.peek(), fps: store.fps.peek() };
      const old = timelineView.peek();
      const whole = !old || old.frames !== base.frames || Math.abs(old.scale - fitted(old).scale) < 1e-6;
      timelineView.value = whole ? fitted(base) : panned({ ...base, first: old.first, scale: old.scale }, 0);
    });
    watch.observe(box);
    // on a screen with another density of pixels it is drawn anew
    const redraw = (): void => {
      if (timelineView.peek()) timelineView.value = { ...(timelineView.peek() as View) };
    };
    window.addEventListener("resize", redraw);
    return () => {
      watch.disconnect();
      window.removeEventListener("resize", redraw);
    };
  }, []);

  useSignalEffect(() => {
    const [frames, fps] = [store.frames.value, store.fps.value];
    const view = timelineView.peek();
    if (view && (view.frames !== frames || view.fps !== fps)) timelineView.value = fitted({ ...view, frames, fps });
  });

  useSignalEffect(() => {
    const view = timelineView.value;
    const target = canvas.current;
    if (!view || !target) return;
    store.theme.value;
    const shown = store.bars.value.map((mark) => (draft.value?.id === mark.id ? draft.value : mark));
    const chosen = store.selection.value;
    const drag = store.dragging.value;
    const near = drag || chosen.kind === "point" ? { frame: drag?.frame ?? store.frame.value, reach: store.reach.value } : null;
    const moved = keyAt.value;
    const [reached, end] = [reachAt.value, reaching.current];
    const drags = (store.doc.value?.drags ?? []).map((entry) => {
      if (moved !== null && entry.operator === key.current?.operator) return { ...entry, frame: moved };
      if (reached === null || !end || entry.operator !== end.operator) return entry;
      const seconds = Math.max(end.end === "before" ? entry.frame - reached : reached - entry.frame - entry.hold * view.fps, 0) / view.fps;
      return entry.pose ? { ...entry, [end.end]: seconds } : { ...entry, before: seconds, after: seconds };
    });
    latest = layoutTimeline(view, shown, drags, store.figure.value?.character.tracks ?? [], near);
    drawTimeline(target, latest, {
      selected: chosen.kind === "mark" ? chosen.id : null,
      key: store.keyChosen.value,
      hovered: hovered.value,
      fps: view.fps,
      inSeconds: inSeconds.value,
    });
  });

  const place = (event: MouseEvent): [number, number] => {
    const box = canvas.current?.getBoundingClientRect();
    return [event.clientX - (box?.left ?? 0), event.clientY - (box?.top ?? 0)];
  };

  const down = (event: PointerEvent): void => {
    const view = timelineView.peek();
    if (!latest || !view || event.button > 1) return;
    canvas.current?.setPointerCapture(event.pointerId);
    const [x, y] = place(event);
    const hit = hitTest(latest, x, y, store.keyChosen.peek());
    if ("operator" in hit && hit.kind !== "key") {
      reaching.current = { operator: hit.operator, end: hit.kind };
      return;
    }
    store.keyChosen.value = hit.kind === "key" && hit.operator ? hit.operator : null;
    if (hit.kind === "key" && hit.operator) {
      store.selection.value = { kind: "none" };
      key.current = { operator: hit.operator, from: hit.frame };
      store.goTo(hit.frame);
      return;
    }
    if (hit.kind === "ruler" || hit.kind === "none" || hit.kind === "row" || hit.kind === "key") {
      if (x < view.gutter) return;
      store.playing.value = false;
      store.goTo(hit.frame);
      scrubbing.current = true;
      if (hit.kind === "row" && store.selection.peek().kind === "mark") store.selection.value = { kind: "none" };
      return;
    }
    const mark = store.bars.value.find((entry) => entry.id === hit.id);
    if (!mark) return;
    store.selection.value = { kind: "mark", id: mark.id };
    held.current = { mark, part: hit.kind, x };
  };
  const move = (event: PointerEvent): void => {
    const view = timelineView.peek();
    if (!latest || !view) return;
    const [x, y] = place(event);
    if (scrubbing.current) {
      store.goTo(frameAt(view, x));
      return;
    }
    if (key.current) {
      keyAt.value = Math.min(Math.max(Math.round(frameAt(view, x)), 0), view.frames - 1);
      return;
    }
    if (reaching.current) {
      reachAt.value = Math.min(Math.max(frameAt(view, x), 0), view.frames - 1);
      return;
    }
    if (held.current) {
      let by = (x - held.current.x) / view.scale;
      if (store.snapping.peek()) by = snapped(held.current.mark, held.current.part, by, view.scale);
      draft.value = draggedMark(held.current.mark, held.current.part, by, view.frames, view.fps);
      return;
    }
    const hit = hitTest(latest, x, y, store.keyChosen.peek());
    hovered.value = "id" in hit ? hit.id : null;
    if (canvas.current) canvas.current.style.cursor = CURSORS[hit.kind] ?? "default";
  };

  const up = (): void => {
    scrubbing.current = false;
    if (key.current) {
      const [at, { operator, from }] = [keyAt.peek(), key.current];
      if (at !== null && at !== from) edit({ kind: "stack", do: "set", id: operator, values: { frame: at } });
      key.current = null;
      keyAt.value = null;
      return;
    }
    if (reaching.current) {
      const [at, { operator, end }] = [reachAt.peek(), reaching.current];
      const entry = store.doc.peek()?.drags.find((drag) => drag.operator === operator);
      if (at !== null && entry) edit({ kind: "stack", do: "set", id: operator, values: reachEdit(entry, end, at, store.fps.peek(), store.figure.peek()?.knots ?? 7) });
      reaching.current = null;
      reachAt.value = null;
      return;
    }
    const [was, now] = [held.current?.mark, draft.peek()];
    held.current = null;
    draft.value = null;
    if (was && now && (was.start !== now.start || was.end !== now.end || was.ramp[0] !== now.ramp[0] || was.ramp[1] !== now.ramp[1])) {
      edit(markEdit(was, now));
      const known = store.doc.peek();
      // optimistic update; confirmed by the server
      if (known) {
        const put = <T extends { id: number }>(entry: T): T => (entry.id === now.id ? { ...entry, start: now.start, end: now.end, ramp: now.ramp, ...(now.phases ? { phases: now.phases } : {}) } : entry);
        store.doc.value = now.kind === "step" ? { ...known, steps: known.steps.map(put) } : { ...known, marks: known.marks.map(put) };
      }
    }
  };

  const twice = (event: MouseEvent): void => {
    if (!latest) return;
    const [x, y] = place(event);
    const hit = hitTest(latest, x, y);
    if (hit.kind === "row" && x >= latest.view.gutter) addHold(hit.track, hit.frame);
  };

  const wheel = (event: WheelEvent): void => {
    event.preventDefault();
    const view = timelineView.peek();
    if (!view) return;
    const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    timelineView.value = sideways
      ? panned(view, (event.deltaX || event.deltaY) / view.scale)
      : zoomed(view, Math.exp(-event.deltaY * 0.0015), place(event)[0]);
  };

  useEffect(() => {
    const target = canvas.current;
    target?.addEventListener("wheel", wheel, { passive: false });
    return () => target?.removeEventListener("wheel", wheel);
  }, []);

  return (
    <div class="timeline-box">
      <canvas
        ref={canvas}
        class="timeline"
        role="slider"
        tabIndex={0}
        aria-label="Timeline: arrow keys step, drag bars to change when constraints hold, double-click to add one"
        aria-valuemin={0}
        aria-valuemax={store.frames.value - 1}
        aria-valuenow={store.readFrame.value}
        onPointerDown={down}
        onPointerMove={move}
        onPointerUp={up}
        onPointerCancel={up}
        onDblClick={twice}
      />
      <Playhead />
    </div>
  );
}

/** Frames by which a part of a bar is dragged, so that its end meets the playhead or the end of another bar. */
function snapped(mark: Mark, part: Part, by: number, scale: number): number {
  if (part !== "bar" && part !== "start" && part !== "end") return by;
  const from = part === "end" ? mark.end : mark.start;
  const to = [store.frame.peek(), ...edges(store.bars.peek().filter((other) => other.id !== mark.id))];
  return snapFrame(from + by, to, SNAP / scale) - from;
}

/** Adds a footstep, or a pin of a hand, around a frame. */
export function addHold(track: Track, at: number): void {
  const point = NEW_POINTS[track];
  const half = Math.max(Math.round(0.15 * store.fps.peek()), 2);
  const [start, end] = [Math.max(at - half, 0), Math.min(at + half, store.frames.peek())];
  if (!point || !store.figure.peek()?.character.points.some((entry) => entry.name === point)) {
    store.toast("Select a joint in the viewport and press P to pin it here.");
  } else if (track.endsWith("foot")) edit({ kind: "step", do: "add", foot: track.split("_")[0], start, end });
  else edit({ kind: "pin", point, start, end, frame: at });
}

export function zoomTimeline(factor: number): void {
  const view: View | null = timelineView.peek();
  if (view) timelineView.value = zoomed(view, factor, Math.max(xOf(view, store.frame.peek()), view.gutter));
}
