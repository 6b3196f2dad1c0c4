import assert from "node:assert/strict";
import { test } from "node:test";
import { shared } from "../src/view/figure";

test("corners of one vertex with one texture coordinate are one, others are not", () => {
  // two triangles over an edge; at vertex 2 the texture has a seam
  const faces = [0, 1, 2, 2, 1, 3];
  const uvs = [0, 0, 1, 0, 0, 1, 0.5, 1, 1, 0, 1, 1];
  const [corners, index] = shared([1, 0], faces, uvs);
  assert.deepEqual(corners, [3, 4, 5, 0, 2]);
  assert.deepEqual([...index], [0, 1, 2, 3, 1, 4]);
});
