// Compress byte arrays with meshoptimizer's encoder; its decoder says what they decode to.
import { readFileSync } from 'node:fs';
import { MeshoptDecoder } from 'meshoptimizer/decoder';
import { MeshoptEncoder } from 'meshoptimizer/encoder';

await MeshoptEncoder.ready;
await MeshoptDecoder.ready;

const filters = {
  OCTAHEDRAL: (floats, count, stride) => MeshoptEncoder.encodeFilterOct(floats, count, stride, stride === 4 ? 8 : 14),
  QUATERNION: (floats, count, stride) => MeshoptEncoder.encodeFilterQuat(floats, count, stride, 14),
  EXPONENTIAL: (floats, count, stride) => MeshoptEncoder.encodeFilterExp(floats, count, stride, 15),
  COLOR: (floats, count, stride) => MeshoptEncoder.encodeFilterColor(floats, count, stride, stride === 4 ? 8 : 12),
};

const answers = JSON.parse(readFileSync(0, 'utf8')).map(({ mode, filter, version, count, stride, data }) => {
  let bytes = new Uint8Array(Buffer.from(data, 'base64'));
  if (filter !== 'NONE') bytes = filters[filter](new Float32Array(bytes.buffer.slice(0)), count, stride);
  const encoded = mode === 'ATTRIBUTES' ? MeshoptEncoder.encodeVertexBufferLevel(bytes, count, stride, version ? 3 : 2, version)
    : mode === 'TRIANGLES' ? MeshoptEncoder.encodeIndexBuffer(bytes, count, stride)
      : MeshoptEncoder.encodeIndexSequence(bytes, count, stride);
  const decoded = new Uint8Array(count * stride);
  MeshoptDecoder.decodeGltfBuffer(decoded, count, stride, encoded, mode, filter);
  return { encoded: Buffer.from(encoded).toString('base64'), decoded: Buffer.from(decoded).toString('base64') };
});
console.log(JSON.stringify(answers));
