import assert from "node:assert/strict";
import { test } from "node:test";
import { freeName, freePlace, table } from "../src/crowd";
import { CrowdFrames } from "../src/view/crowd_frames";
import { CROWD_POSES, decode, type CrowdPoses } from "../src/wire";

const FPS = 30;

/** One actor of one joint that moves along x by a metre a second. */
function frame(n: number, numbers: number[] = [4]): CrowdPoses {
  return {
    kind: CROWD_POSES,
    frame: n,
    numbers: Uint32Array.from(numbers),
    counts: Uint32Array.from(numbers.map(() => 1)),
    positions: Float32Array.from(numbers.flatMap((number) => [n / FPS, number, 0])),
    quaternions: Float32Array.from(numbers.flatMap(() => [0, 0, 0, 1])),
  };
}

test("frames that come late are shown evenly", () => {
  const frames = new CrowdFrames();
  const seen: number[] = [];
  const arrivals = Array.from({ length: 60 }, (_, n) => n / FPS + (n % 3 === 1 ? 0.02 : 0));
  let next = 0;
  for (let now = 0; now < 1.9; now += 1 / 144) {
    while (next < 60 && (arrivals[next] ?? 0) <= now) frames.push(frame(next++), FPS, now);
    const x = frames.sample(now).get(4)?.positions[0];
    if (now > 0.5 && x !== undefined) seen.push(x);
  }
  const steps = seen.slice(1).map((x, n) => x - (seen[n] ?? 0));
  assert.ok(Math.min(...steps) > 0.3 / 144 && Math.max(...steps) < 1.7 / 144, `${Math.min(...steps)} ${Math.max(...steps)}`);
});

test("after a pause time goes on from there", () => {
  const frames = new CrowdFrames();
  for (let n = 0; n < 10; n++) frames.push(frame(n), FPS, n / FPS);
  assert.equal(frames.sample(5).get(4)?.positions[0], Math.fround(9 / FPS));
  for (let n = 10; n < 14; n++) frames.push(frame(n), FPS, 10 + n / FPS);
  const x = frames.sample(10 + 13 / FPS).get(4)?.positions[0] ?? 0;
  assert.ok(Math.abs(x - 11.5 / FPS) < 0.01, String(x));
});

test("actors come and go", () => {
  const frames = new CrowdFrames();
  frames.push(frame(0, [4]), FPS, 0);
  frames.push(frame(1, [4, 9]), FPS, 1 / FPS);
  assert.deepEqual([...frames.sample(1 / FPS).keys()], [4, 9]);
  frames.push(frame(2, [9]), FPS, 2 / FPS);
  assert.deepEqual([...frames.sample(2 / FPS).keys()], [9]);
});

test("a frame whose joints do not add up is refused", () => {
  const words = new Uint32Array(8 + 2 + 14);
  words.set([CROWD_POSES, 0, 1, 3, 1, 2, 0, 0, 4, 2]);
  const read = decode(words.buffer as ArrayBuffer);
  assert.ok(read.kind === CROWD_POSES && read.frame === 3 && read.positions.length === 6);
  words[9] = 1;
  assert.throws(() => decode(words.buffer as ArrayBuffer), /add up/);
});

test("who comes stands beside the others", () => {
  assert.deepEqual(freePlace([]), [0, 0]);
  const taken: [number, number][] = [[40, 40]];
  for (let n = 0; n < 30; n++) taken.push(freePlace(taken));
  for (const [n, a] of taken.entries()) for (const b of taken.slice(0, n)) assert.ok(Math.hypot(a[0] - b[0], a[1] - b[1]) > 0.8);
  assert.ok(Math.max(...taken.map(([x]) => Math.abs(x - 40))) < 8);
});

test("tables are TOML", () => {
  assert.equal(table({ name: 'a "b"', target: [0, 1.5, -2], priority: 3, of: undefined }), 'name = "a \\"b\\""\ntarget = [0.0000, 1.5000, -2.0000]\npriority = 3');
  assert.equal(freeName("ann", ["ann", "ann 2"]), "ann 3");
});
