import assert from "node:assert/strict";
import { test } from "node:test";
import type { Footstep, SceneObject } from "../src/types";
import { alongLine, continued, knob, resized } from "../src/view/pieces";
import { snapFrame, snapHeading, snapStep } from "../src/view/snap";

const near = (a: readonly number[], b: readonly number[]): void => a.forEach((value, n) => assert.ok(Math.abs(value - (b[n] ?? NaN)) < 1e-9, `${a} is not ${b}`));
const stairs: SceneObject = { kind: "stairs", place: [1, 0, 2], turn: Math.PI / 2, size: [1.6, 0.64, 1.2], count: 4 };

test("knobs are at the ends of a piece, and drag it along its own axes", () => {
  // a quarter turn to the left: its depth is along +x
  near(knob(stairs, "depth").at, [1.6, 0.32, 2]);
  near(knob(stairs, "height").at, [1.6, 0.64, 2]);
  near(knob(stairs, "width").at, [1, 0.32, 1.2]);
  near(knob({ ...stairs, kind: "block" }, "height").at, [1, 0.64, 2]);
});

test("a longer piece keeps its near end, a wider one its middle, none becomes nothing", () => {
  const longer = resized(stairs, "depth", 0.4);
  near(longer.size, [1.6, 0.64, 1.6]);
  near(longer.place, [1.2, 0, 2]);
  near(resized(stairs, "width", 0.1).size, [1.8, 0.64, 1.2]);
  near(resized(stairs, "height", -5).size, [1.6, 0.02, 1.2]);
  near(resized(stairs, "height", 0.017, 0.05).size, [1.6, 0.65, 1.2]);
});

test("a landing is at the top of stairs, and a way down leads from its end to the ground", () => {
  const landing = continued(stairs, "block");
  near(landing.size, [1.6, 0.64, 1.2]);
  near(landing.place, [2.2, 0, 2]);
  const down = continued(landing, "stairs");
  assert.equal(down.count, 4);
  near(down.size, [1.6, 0.64, 1.28]);
  // its high end meets the landing: it rises against the way
  near([down.place[0] + (down.size[2] / 2) * Math.sin(down.turn)], [2.8]);
  near([continued(stairs, "ramp").place[1]], [0.64]);
});

test("a ray passes a line where it should", () => {
  near([alongLine([0, 0, 0], [0, 1, 0], [2, 0.7, 0], [-1, 0, 0]) ?? NaN], [0.7]);
  assert.equal(alongLine([0, 0, 0], [0, 1, 0], [2, 0, 0], [0, -1, 0]), null);
});

function step(id: number, side: "left" | "right", start: number, x: number, z: number, heading = 0): Footstep {
  return { id, side, track: `${side}_foot`, title: `${side} step ${start}–${start + 50}`, start, end: start + 51, marks: [], place: [x, 0, z], heading, free: false, ramp: [0.1, 0.1], phases: [] };
}

test("a step snaps in line with its own foot's, beside and midway of others, and only when they are near", () => {
  const steps = [step(1, "left", 0, 0.1, 0), step(2, "right", 30, -0.1, 0.7), step(3, "left", 60, 0.1, 1.4), step(5, "left", 180, 0.1, 2.8)];
  const moved = step(3, "left", 60, 0.1, 1.4);
  const found = snapStep(0.13, 1.38, 0, moved, steps, 0.06);
  near([found.x, found.z], [0.1, 1.4]);
  assert.equal(found.why.length, 2);
  assert.match(found.why[0] ?? "", /in line with the left step/);
  assert.match(found.why[1] ?? "", /midway/);
  near([snapStep(0.3, 0.73, 0, moved, steps, 0.06).z], [0.7]);
  const far = snapStep(0.3, 1.1, 0, moved, steps, 0.06);
  near([far.x, far.z, far.why.length], [0.3, 1.1, 0]);
});

test("headings and frames snap to others", () => {
  const steps = [step(1, "left", 0, 0, 0, 0.2), step(2, "right", 30, 0, 0, 0.31)];
  near([snapHeading(0.3, step(3, "left", 60, 0, 0), steps, 0.12).heading], [0.2]);
  near([snapHeading(0.5, step(3, "left", 60, 0, 0), steps, 0.12).heading], [0.5]);
  near([snapHeading(6.4, step(3, "left", 60, 0, 0), steps, 0.12).heading], [0.2 + 2 * Math.PI]);
  assert.deepEqual([snapFrame(97, [100, 90], 4), snapFrame(95, [100, 90], 4), snapFrame(100, [100, 103], 4)], [100, 95, 100]);
});
