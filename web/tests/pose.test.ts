import assert from "node:assert/strict";
import { test } from "node:test";
import { hitTest, layoutTimeline, fitted, reachEdit, REACH } from "../src/timeline/layout";
import type { HandEdit } from "../src/types";
import { limbOf, poseAt } from "../src/view/pose";
import { Track } from "../src/wire";

test("a pose is copied as rotations relative to the parents", () => {
  const track = new Track(2, 3);
  const half = Math.SQRT1_2;
  // frame 1: the root turned by 90° about y, its child by 180°, the third as its parent
  track.positions.set([0, 0.9, 0], 9);
  track.quaternions.set([0, half, 0, half, 0, 1, 0, 0, 0, 1, 0, 0], 12);
  const pose = poseAt(track, 1, ["hips", "spine", "head"], [-1, 0, 1]);
  const near = (a: readonly number[] | undefined, b: number[]): void => b.forEach((value, n) => assert.ok(Math.abs((a?.[n] ?? NaN) - value) < 1e-6));
  near(pose.joints.hips, [half, 0, half, 0]);
  near(pose.joints.spine, [half, 0, half, 0]);
  near(pose.joints.head, [1, 0, 0, 0]);
  near([pose.height], [0.9]);
});

test("a limb is a joint and everything below it", () => {
  assert.deepEqual([...limbOf(1, [-1, 0, 1, 2, 0, 4])], [1, 2, 3]);
});

const pose: HandEdit = { operator: 4, frame: 250, joint: 0, spacing: 0, target: null, pose: true, before: 0.5, after: 0.25, hold: 0.1 };

test("the ends of the influence of a selected key are dragged, of a pose each by itself", () => {
  const view = fitted({ width: 1112, height: 200, gutter: 100, frames: 500, fps: 100 });
  const layout = layoutTimeline(view, [], [pose], ["body"], null);
  const key = layout.keys[0];
  assert.ok(key);
  assert.deepEqual(key.reach.map(Math.round), [500, 600, 620, 670]);
  assert.equal(hitTest(layout, 500, key.y + REACH, 4).kind, "before");
  assert.equal(hitTest(layout, 671, key.y + REACH, 4).kind, "after");
  assert.equal(hitTest(layout, 500, key.y + REACH, null).kind, "row");
  assert.deepEqual(reachEdit(pose, "before", 210, 100, 7), { before: 0.4 });
  assert.deepEqual(reachEdit(pose, "after", 290, 100, 7), { after: 0.3 });
  assert.deepEqual(reachEdit(pose, "after", 200, 100, 7), { after: 0 });
  assert.deepEqual(reachEdit({ ...pose, pose: false, hold: 0 }, "after", 320, 100, 7), { spacing: 6 });
});
