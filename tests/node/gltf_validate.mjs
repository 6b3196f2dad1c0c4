// What the Khronos validator says about glTF files.  in: [path, ..]  out: [[{code, message, pointer, severity}, ..], ..]
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import validator from 'gltf-validator';

const answers = [];
for (const path of JSON.parse(readFileSync(0, 'utf8'))) {
  const report = await validator.validateBytes(new Uint8Array(readFileSync(path)), {
    maxIssues: 0,
    externalResourceFunction: async (uri) => new Uint8Array(readFileSync(join(dirname(path), decodeURIComponent(uri)))),
  }).catch((error) => ({ issues: { messages: [{ code: 'FAILED', message: String(error), pointer: '', severity: 0 }] } }));
  answers.push(report.issues.messages);
}
process.stdout.write(JSON.stringify(answers));
