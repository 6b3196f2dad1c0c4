// Where three.js puts the nodes of FBX files.
// in:  [{path, names: [..], takes: [{name, times}]}, ..]; name null is the pose of the file itself.
// out: [[{times: [[x, y, z] or null by name]}, ..], ..]; null where three.js has no node, or several, of that name.
import { readFileSync } from 'node:fs';
import { PropertyBinding, Vector3 } from 'three';
import { FBXLoader } from 'three/examples/jsm/loaders/FBXLoader.js';
import { samplesOf } from './played.mjs';

// what the loader expects of a browser; textures say nothing about places
globalThis.self = globalThis;
globalThis.window = globalThis;
globalThis.document = { createElementNS: () => ({ addEventListener() {}, removeEventListener() {}, set src(_) {} }) };
globalThis.URL.createObjectURL = () => '';
console.warn = () => {};

function judge({ path, names, takes }) {
  const bytes = readFileSync(path);
  const group = new FBXLoader().parse(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length), '');
  const found = new Map();
  group.traverse((object) => {
    const name = object.userData.originalName ?? object.name;
    found.set(name, found.has(name) ? null : object);
  });
  const objects = names.map((name) => found.get(name) ?? found.get(PropertyBinding.sanitizeNodeName(name)) ?? null);
  const point = new Vector3();
  const look = () => {
    group.updateMatrixWorld(true);
    return objects.map((object) => (object ? object.getWorldPosition(point).toArray() : null));
  };
  return takes.map(({ name, times }) => {
    const clip = group.animations.find((known) => known.name === name);
    if (name === null) return [look()];
    if (!clip) return null;
    return samplesOf(group, clip, times, look);
  });
}

const request = JSON.parse(readFileSync(0, 'utf8'));
process.stdout.write(JSON.stringify(request.map(judge)));
