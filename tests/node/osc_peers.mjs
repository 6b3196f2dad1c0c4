// Reads a bundle and writes one with two OSC libraries; bones are [name, x, y, z, qx, qy, qz, qw].
import osc from 'osc';
import * as oscmin from 'osc-min';
import { readFileSync } from 'node:fs';

const request = JSON.parse(readFileSync(0, 'utf8'));
const data = Buffer.from(request.read, 'base64');
const ADDRESS = '/VMC/Ext/Bone/Pos';
const kinds = (row) => [{ type: 's', value: row[0] }, ...row.slice(1).map((value) => ({ type: 'f', value }))];

const packet = osc.readPacket(data, { metadata: true });
const read = packet.packets.filter((p) => p.address === ADDRESS).map((p) => p.args.map((a) => a.value));
const written = osc.writePacket({
  timeTag: { raw: [0, 1] },
  packets: request.write.map((row) => ({ address: ADDRESS, args: kinds(row) })),
}, { metadata: true });

const minimal = oscmin.fromBuffer ? oscmin : oscmin.default;
const found = minimal.fromBuffer(data);
const minRead = found.elements.filter((e) => e.address === ADDRESS).map((e) => e.args.map((a) => a.value));
const made = minimal.toBuffer({
  oscType: 'bundle',
  timetag: [0, 1],
  elements: request.write.map((row) => ({
    oscType: 'message',
    address: ADDRESS,
    args: [{ type: 'string', value: row[0] }, ...row.slice(1).map((value) => ({ type: 'float', value }))],
  })),
});
const bytes = (view) => Buffer.from(view.buffer ?? view, view.byteOffset ?? 0, view.byteLength).toString('base64');
console.log(JSON.stringify({
  osc: { read, written: bytes(written) },
  'osc-min': { read: minRead, written: bytes(made) },
}));
