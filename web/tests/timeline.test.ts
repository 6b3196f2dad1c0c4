import assert from "node:assert/strict";
import { test } from "node:test";
import { RULER, draggedMark, fitted, frameAt, hitTest, lanes, layoutTimeline, panned, ticks, xOf, zoomed, type View } from "../src/timeline/layout";
import type { Mark } from "../src/types";
import { nearest } from "../src/view/pick";

const base = { width: 1012, height: 200, gutter: 100, frames: 500, fps: 100 };
const view: View = fitted(base);

function mark(id: number, point: string, start: number, end: number, extra: Partial<Mark> = {}): Mark {
  const track = point.startsWith("left") ? (point.endsWith("palm") ? "left_hand" : "left_foot") : "right_foot";
  return { id, kind: "plant", title: `${point.replace("_", " ")} ${start}–${end - 1}`, point, joint: 0, track, start, end, ramp: [0.1, 0.1], place: [0, 0, 0], free: false, ...extra };
}

const marks = [mark(1, "left_heel", 100, 150), mark(2, "left_ball", 120, 180), mark(3, "right_heel", 200, 260), mark(4, "left_heel", 300, 340)];
const layout = layoutTimeline(view, marks, [{ operator: 1, frame: 250, joint: 1, spacing: 8, target: null, pose: false, before: 0.5, after: 0.5, hold: 0 }], ["body", "left_hand"], { frame: 42, reach: 20 });
const bar = (id: number) => {
  const found = layout.bars.find((entry) => entry.id === id);
  assert.ok(found);
  return found;
};

test("the whole clip fits, and frames and pixels are inverse", () => {
  assert.equal(view.first, 0);
  assert.ok(xOf(view, 500) <= 1000.01);
  for (const frame of [0, 17, 499]) assert.ok(Math.abs(frameAt(view, xOf(view, frame)) - frame) < 1e-9);
});

test("zooming keeps the frame under the mouse and stays on the clip", () => {
  const x = xOf(view, 200);
  const near = zoomed(view, 4, x);
  assert.ok(Math.abs(frameAt(near, x) - 200) < 1e-6);
  const out = zoomed(near, 1 / 100, x);
  assert.equal(out.scale, view.scale);
  assert.equal(out.first, 0);
  assert.ok(zoomed(view, 1e9, x).scale <= 40);
});

test("panning stops at both ends", () => {
  const near = zoomed(view, 5, view.gutter);
  assert.equal(panned(near, -1000).first, 0);
  const last = panned(near, 1e6);
  assert.ok(last.first + (1012 - 100 - 12) / last.scale <= 500 + 1e-6);
});

test("bars of one track do not overlap", () => {
  const lane = lanes(marks.filter((entry) => entry.track === "left_foot"));
  assert.notEqual(lane.get(1), lane.get(2));
  assert.equal(lane.get(1), lane.get(4));
  const same = lanes([mark(1, "left_heel", 0, 50), mark(2, "left_heel", 40, 80)]);
  assert.notEqual(same.get(1), same.get(2));
});

test("bars lie where their frames are, in the row of their track", () => {
  const one = bar(1);
  assert.ok(Math.abs(one.x0 - xOf(view, 100)) < 1e-9 && Math.abs(one.x1 - xOf(view, 150)) < 1e-9);
  assert.ok(Math.abs(one.rampIn - 10 * view.scale) < 1e-9);
  const row = layout.rows.find((entry) => entry.track === "left_foot");
  assert.ok(row && one.y >= row.y && one.y + one.height <= row.y + row.height);
  assert.equal(layout.rows.length, 5);
});

test("what lies under the mouse", () => {
  const one = bar(1);
  const y = one.y + one.height / 2;
  const middle = (one.x0 + one.x1) / 2;
  assert.deepEqual(hitTest(layout, middle, y), { kind: "bar", id: 1, frame: Math.round(frameAt(view, middle)) });
  assert.equal(hitTest(layout, one.x0 + 1, y).kind, "start");
  assert.equal(hitTest(layout, one.x1 - 1, y).kind, "end");
  assert.equal(hitTest(layout, one.x0 - 10, y).kind, "ramp-in");
  assert.equal(hitTest(layout, one.x1 + 10, y).kind, "ramp-out");
  assert.deepEqual(hitTest(layout, xOf(view, 77), RULER / 2), { kind: "ruler", frame: 77 });
  const key = layout.keys[0];
  assert.ok(key);
  assert.deepEqual(hitTest(layout, key.x + 2, key.y), { kind: "key", frame: 250, operator: 1 });
  const body = layout.rows[4];
  assert.ok(body);
  assert.deepEqual(hitTest(layout, xOf(view, 30), body.y + 4), { kind: "row", track: "body", frame: 30 });
  assert.equal(hitTest(layout, 10, body.y + 4).kind, "row");
  assert.equal(hitTest(layout, 300, layout.bottom + 30).kind, "none");
  assert.equal(hitTest(layout, 5000, RULER / 2).frame, 499);
});

test("a short bar can still be taken in its middle", () => {
  const tiny = layoutTimeline(view, [mark(9, "left_heel", 10, 14)], [], [], null);
  const one = tiny.bars[0];
  assert.ok(one);
  assert.equal(hitTest(tiny, (one.x0 + one.x1) / 2, one.y + 3).kind, "bar");
});

test("dragged bars stay on the clip and keep two frames", () => {
  const one = mark(1, "left_heel", 100, 150);
  assert.deepEqual([draggedMark(one, "bar", 20.4, 500, 100).start, draggedMark(one, "bar", 20.4, 500, 100).end], [120, 170]);
  assert.deepEqual([draggedMark(one, "bar", -900, 500, 100).start, draggedMark(one, "bar", -900, 500, 100).end], [0, 50]);
  assert.equal(draggedMark(one, "bar", 900, 500, 100).end, 500);
  assert.equal(draggedMark(one, "start", 900, 500, 100).start, 148);
  assert.equal(draggedMark(one, "end", -900, 500, 100).end, 102);
  assert.deepEqual(draggedMark(one, "ramp-in", -20, 500, 100).ramp.map((value) => Math.round(100 * value)), [30, 10]);
  assert.deepEqual(draggedMark(one, "ramp-out", -50, 500, 100).ramp[1], 0);
});

test("ticks are at round frames, numbers not too near", () => {
  const found = ticks(view);
  const numbered = found.filter((tick) => tick.major);
  assert.ok(numbered.length > 3);
  for (let n = 1; n < numbered.length; n++) assert.ok((numbered[n]?.x ?? 0) - (numbered[n - 1]?.x ?? 0) >= 56);
  assert.ok(found.every((tick) => tick.frame >= 0 && tick.frame < 500));
  assert.ok(ticks({ ...view, frames: 1_000_000, scale: 1e-3 }).length < 2000);
});

test("influence", () => {
  assert.ok(layout.influence);
  assert.ok(Math.abs((layout.influence?.[1] ?? 0) - xOf(view, 62)) < 1e-9);
});

test("the nearest handle is picked, contact points before joints beside them", () => {
  const places: ([number, number] | null)[] = [[100, 100], [103, 100], null, [400, 400]];
  assert.equal(nearest(places, 99, 100, 13), 0);
  assert.equal(nearest(places, 101, 100, 13, [0, 3, 0, 0]), 1);
  assert.equal(nearest(places, 200, 200, 13), -1);
});
