import assert from "node:assert/strict";
import { test } from "node:test";
import { barsOf } from "../src/store";
import { draggedMark, fitted, layoutTimeline, markEdit } from "../src/timeline/layout";
import type { Conflict, Document, Footstep, Mark } from "../src/types";
import { LOOKS, decode } from "../src/wire";

const step: Footstep = {
  id: 3,
  side: "left",
  track: "left_foot",
  title: "left step 100–169",
  start: 100,
  end: 170,
  marks: [3, 4],
  place: [0, 0, 1],
  heading: 0.1,
  free: false,
  ramp: [0.1, 0.1],
  phases: [
    { part: "heel", start: 100, end: 148, place: [0, 0, 0.9] },
    { part: "ball", start: 112, end: 170, place: [0, 0, 1.1] },
  ],
};

function plant(id: number, point: string): Mark {
  return { id, kind: "plant", title: point, point, joint: 7, track: "left_foot", start: 100, end: 150, ramp: [0.1, 0.1], place: [0, 0, 0], free: false };
}

function documentOf(conflicts: Conflict[]): Document {
  const pin: Mark = { ...plant(9, "left_palm"), kind: "pin", track: "left_hand" };
  return { is: "document", marks: [plant(3, "left_heel"), plant(4, "left_ball"), pin], steps: [step], conflicts, stack: [], drags: [], history: [], position: 0, unsaved: false, method: "", ground: "", objects: [], report: null };
}

test("a step is one bar, its plants are none, pins stay", () => {
  const bars = barsOf(documentOf([]));
  assert.deepEqual(bars.map((bar) => [bar.id, bar.kind, bar.wrong]), [[3, "step", false], [9, "pin", false]]);
  assert.equal(bars[0]?.phases?.length, 2);
});

test("what cannot hold is red", () => {
  const bars = barsOf(documentOf([{ kind: "overlap", steps: [3], marks: [3, 4], text: "", fixes: [] }]));
  assert.deepEqual(bars.map((bar) => bar.wrong), [true, false]);
});

test("dragging a step shifts or stretches it, and says by how much", () => {
  const bar = barsOf(documentOf([]))[0];
  assert.ok(bar);
  const moved = draggedMark(bar, "bar", 12, 500, 100);
  assert.deepEqual(markEdit(bar, moved), { kind: "step", id: 3, shift: 12 });
  assert.deepEqual(moved.phases?.map((phase) => phase.start), [112, 124]);
  assert.deepEqual(markEdit(bar, draggedMark(bar, "start", -6, 500, 100)), { kind: "step", id: 3, onset: -6 });
  assert.deepEqual(markEdit(bar, draggedMark(bar, "end", 5, 500, 100)), { kind: "step", id: 3, release: 5 });
  assert.deepEqual(markEdit(bar, { ...bar, ramp: [0.2, 0.1] }), { kind: "step", id: 3, ramp: [0.2, 0.1] });
  const pin = plant(9, "left_palm");
  assert.equal(markEdit(pin, { ...pin, start: 90 }).kind, "mark");
});

test("phases are laid out within the bar", () => {
  const view = fitted({ width: 1012, height: 200, gutter: 100, frames: 500, fps: 100 });
  const layout = layoutTimeline(view, barsOf(documentOf([])), [], [], null);
  const bar = layout.bars.find((entry) => entry.id === 3);
  assert.ok(bar);
  for (const phase of bar.phases) assert.ok(phase.x0 >= bar.x0 - 1e-9 && phase.x1 <= bar.x1 + 1e-9);
});

test("materials and pictures are read, and lengths that do not fit are refused", () => {
  const words = 8 + 6 + 1 + 4 + 1 + 1 + 1;
  const buffer = new ArrayBuffer(4 * words);
  new Uint32Array(buffer, 0, 8).set([LOOKS, 0, 0, 1, 1, 1, 0, 0]);
  new Float32Array(buffer, 4 * 15, 4).set([1, 0.5, 0, 1]);
  new Uint32Array(buffer, 4 * 20, 1).set([3]);
  new Uint8Array(buffer, 4 * 21, 3).set([7, 8, 9]);
  const read = decode(buffer);
  assert.equal(read.kind, LOOKS);
  if (read.kind !== LOOKS) return;
  assert.deepEqual([...(read.pictures[0] ?? [])], [7, 8, 9]);
  assert.deepEqual([...read.colours], [1, 0.5, 0, 1]);
  assert.throws(() => decode(buffer.slice(0, 4 * (words - 1))));
});
