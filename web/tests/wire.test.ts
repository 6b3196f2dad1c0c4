import assert from "node:assert/strict";
import { test } from "node:test";
import { GROUND, MESH, POSES, Track, decode, encodePoses } from "../src/wire";

function poses(first: number, frames: number, joints: number, start = 0) {
  return {
    layer: 0,
    sequence: 7,
    first,
    frames,
    joints,
    positions: Float32Array.from({ length: frames * joints * 3 }, (_, n) => start + n),
    quaternions: Float32Array.from({ length: frames * joints * 4 }, (_, n) => (n % 4 === 3 ? 1 : 0)),
  };
}

test("poses come back as they were", () => {
  const sent = poses(5, 3, 2);
  const read = decode(encodePoses(sent));
  assert.equal(read.kind, POSES);
  if (read.kind !== POSES) return;
  assert.deepEqual([read.first, read.frames, read.joints, read.sequence], [5, 3, 2, 7]);
  assert.deepEqual([...read.positions], [...sent.positions]);
  assert.deepEqual([...read.quaternions], [...sent.quaternions]);
});

test("lengths that do not fit are refused", () => {
  const whole = encodePoses(poses(0, 2, 2));
  assert.throws(() => decode(whole.slice(0, whole.byteLength - 4)), /expected/);
  assert.throws(() => decode(new ArrayBuffer(8)), /8 bytes/);
  assert.throws(() => decode(new ArrayBuffer(33)), /33 bytes/);
});

test("unknown kinds are refused", () => {
  const other = new Uint32Array(8);
  other[0] = 99;
  assert.throws(() => decode(other.buffer as ArrayBuffer), /unknown kind 99/);
});

test("a mesh is read by its counts", () => {
  const [vertices, triangles, joints] = [4, 2, 3];
  const words = 8 + vertices * 14 + joints * 16 + triangles * 3;
  const buffer = new ArrayBuffer(4 * words);
  new Uint32Array(buffer).set([MESH, 0, 0, vertices, triangles, joints, 0, 0]);
  new Uint32Array(buffer).set([0, 1, 2, 2, 1, 3], words - 6);
  const mesh = decode(buffer);
  assert.equal(mesh.kind, MESH);
  if (mesh.kind !== MESH) return;
  assert.equal(mesh.vertices.length, 12);
  assert.equal(mesh.inverseBind.length, 48);
  assert.deepEqual([...mesh.faces], [0, 1, 2, 2, 1, 3]);
});

test("a ground is read by its counts", () => {
  const buffer = new ArrayBuffer(4 * (8 + 4 + 6));
  new Uint32Array(buffer).set([GROUND, 0, 1, 2, 3]);
  new Float32Array(buffer).set([-1, -2, 0.5, 0.25, 1, 2, 3, 4, 5, 6], 8);
  const ground = decode(buffer);
  assert.equal(ground.kind, GROUND);
  if (ground.kind !== GROUND) return;
  assert.deepEqual([ground.columns, ground.rows, ground.low, ground.step], [2, 3, [-1, -2], [0.5, 0.25]]);
  assert.deepEqual([...ground.heights], [1, 2, 3, 4, 5, 6]);
});

test("patches change their own frames only", () => {
  const track = new Track(10, 2);
  const patch = decode(encodePoses(poses(4, 2, 2, 100)));
  assert.ok(patch.kind === POSES && track.patch(patch));
  assert.equal(track.positions[3 * 2 * 4], 100);
  assert.equal(track.positions[3 * 2 * 4 - 1], 0);
  assert.equal(track.positions[3 * 2 * 6], 0);
  const beyond = decode(encodePoses(poses(9, 2, 2)));
  assert.ok(beyond.kind === POSES && !track.patch(beyond));
  const other = decode(encodePoses(poses(0, 1, 3)));
  assert.ok(other.kind === POSES && !track.patch(other));
});

test("points go with their joints", () => {
  const track = new Track(1, 1);
  track.positions.set([1, 2, 3]);
  // a quarter turn about y takes +z to +x
  track.quaternions.set([0, Math.SQRT1_2, 0, Math.SQRT1_2]);
  const [x, y, z] = track.point(0, 0, [0, 0.5, 2]);
  assert.ok(Math.abs(x - 3) < 1e-6 && Math.abs(y - 2.5) < 1e-6 && Math.abs(z - 3) < 1e-6);
});
