// Where three.js's BVHLoader puts the joints.
// in:  [{path, frames: [..]}, ..]
// out: [{names: [..], frames: n, positions: [frame][joint][3]}, ..], without end sites.
// Tracks are put onto the bones by hand: the mixer does not find bones whose names hold a dot or a colon.
import { readFileSync } from 'node:fs';
import { Vector3 } from 'three';
import { BVHLoader } from 'three/examples/jsm/loaders/BVHLoader.js';

function judge({ path, frames }) {
  const { skeleton, clip } = new BVHLoader().parse(readFileSync(path, 'latin1'));
  const bones = skeleton.bones.filter((bone) => bone.name !== 'ENDSITE');
  const tracks = new Map(clip.tracks.map((track) => [track.name, track]));
  const point = new Vector3();
  const positions = frames.map((frame) => {
    for (const bone of bones) {
      bone.position.fromArray(tracks.get(`${bone.name}.position`).values, 3 * frame);
      bone.quaternion.fromArray(tracks.get(`${bone.name}.quaternion`).values, 4 * frame);
    }
    bones[0].updateMatrixWorld(true);
    return bones.map((bone) => bone.getWorldPosition(point).toArray());
  });
  return { names: bones.map((bone) => bone.name), frames: clip.tracks[0].times.length, positions };
}

process.stdout.write(JSON.stringify(JSON.parse(readFileSync(0, 'utf8')).map(judge)));
