// Pictures of GLB, VRM and FBX files as three.js draws them in a headless Chromium: one row a file, one cell a moment.
// in:  {chromium, out, width, height, view?, rows: [{path, title?, times: [seconds], view?, size?, animation?, floor?}]}
//      a list of times in place of a time draws them all over one another in one cell; eye: metres of height to look at
//      size: how tall the character is in the file's unit, or 'fit'
// out: {rows: [{bones, animations, size}]}; the picture is written to `out`. view: front, side, corner or back.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { basename, dirname, extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const request = JSON.parse(readFileSync(0, 'utf8'));
const kinds = { '.html': 'text/html', '.js': 'text/javascript', '.json': 'application/json' };
const rows = request.rows.map((row) => ({ ...row, name: basename(row.path) }));
let browser = null;
let finish = null;
const done = new Promise((resolve, reject) => { finish = { resolve, reject }; });

const server = createServer((question, answer) => {
  const path = decodeURIComponent(new URL(question.url, 'http://localhost').pathname);
  const send = (content, type) => { answer.writeHead(200, { 'content-type': type }); answer.end(content); };
  try {
    if (path === '/picture') {
      const parts = [];
      question.on('data', (part) => parts.push(part));
      question.on('end', () => {
        writeFileSync(request.out, Buffer.concat(parts));
        send('', 'text/plain');
        finish.resolve({ rows: JSON.parse(question.headers['x-seen']) });
      });
    } else if (path === '/request') send(JSON.stringify({ ...request, rows }), 'application/json');
    else if (path.startsWith('/file/')) {
      // a texture lies beside its file
      const [, , number, name] = path.split('/');
      const asked = rows[Number(number)];
      send(readFileSync(name === asked.name ? asked.path : join(dirname(asked.path), basename(name))), 'model/gltf-binary');
    }
    else {
      const inside = normalize(path).replace(/^(\.\.[/\\])+/, '');
      send(readFileSync(join(here, inside)), kinds[extname(inside)] ?? 'application/octet-stream');
    }
  } catch (error) {
    answer.writeHead(404);
    answer.end(String(error));
  }
});

server.listen(0, '127.0.0.1', () => {
  const profile = mkdtempSync(join(tmpdir(), 'footplant-browser-'));
  let said = '';
  browser = spawn(request.chromium ?? 'chromium', [
    '--headless=new', '--no-sandbox', '--disable-gpu', '--enable-unsafe-swiftshader', '--disable-dev-shm-usage',
    '--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup',
    '--no-first-run', '--enable-logging=stderr', `--user-data-dir=${profile}`,
    `http://127.0.0.1:${server.address().port}/render.html`,
  ], { stdio: ['ignore', 'ignore', 'pipe'] });
  browser.stderr.on('data', (text) => {
    said = (said + text).slice(-4000);
    if (/CONSOLE.*(Uncaught|Error)/.test(said)) finish.reject(new Error(said));
  });
  browser.on('error', finish.reject);
  browser.on('exit', (code) => finish.reject(new Error(`the browser ended with ${code}: ${said}`)));
  done.finally(() => {
    browser.on('exit', () => {
      try {
        rmSync(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
      } catch {
        // processes of the browser that are ending still write there; the system clears its temporary folder
      }
    });
    browser.kill();
  }).catch(() => {});
});

const timer = setTimeout(() => finish.reject(new Error('no picture came')), request.timeout ?? 100000);
try {
  console.log(JSON.stringify(await done));
} catch (error) {
  console.error(String(error));
  process.exitCode = 1;
} finally {
  clearTimeout(timer);
  server.close();
  server.closeAllConnections();
}
