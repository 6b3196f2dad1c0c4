// Bundles the page into a folder, or with --test bundles and runs the unit tests.
// node build.mjs [FOLDER]      node build.mjs --test
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const common = { bundle: true, format: "esm", jsx: "automatic", jsxImportSource: "preact", logLevel: "warning" };

async function page(folder) {
  mkdirSync(folder, { recursive: true });
  await build({
    ...common,
    entryPoints: { app: join(here, "src/main.tsx") },
    outdir: folder,
    minify: true,
    target: ["es2022"],
    legalComments: "none",
    loader: { ".css": "css" },
  });
  // the player is inlined into pages that are opened as files: a plain script, not a module
  await build({
    ...common,
    format: "iife",
    entryPoints: { player: join(here, "src/player/main.tsx") },
    outdir: folder,
    minify: true,
    target: ["es2022"],
    legalComments: "none",
    loader: { ".css": "css" },
  });
  copyFileSync(join(here, "src/index.html"), join(folder, "index.html"));
  copyFileSync(join(here, "src/icon.svg"), join(folder, "icon.svg"));
  writeFileSync(join(folder, "licences.txt"), licences());
}

// the texts of what is in the bundle travel with it
function licences() {
  const texts = ["three", "uplot", "preact", "@preact/signals", "@preact/signals-core"].map((name) => {
    const folder = join(here, "node_modules", name);
    const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    if (!file) throw new Error(`no licence text in ${folder}`);
    return `${name} ${version}\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
  });
  return texts.join(`\n${"-".repeat(80)}\n\n`);
}

async function tests() {
  const folder = mkdtempSync(join(tmpdir(), "footplant-web-"));
  try {
    const entries = readdirSync(join(here, "tests")).filter((name) => name.endsWith(".test.ts"));
    await build({
      ...common,
      entryPoints: entries.map((name) => join(here, "tests", name)),
      outdir: folder,
      platform: "node",
      outExtension: { ".js": ".mjs" },
    });
    const files = entries.map((name) => join(folder, name.replace(/\.ts$/, ".mjs")));
    const done = spawnSync(process.execPath, ["--test", "--test-reporter=spec", ...files], { stdio: "inherit" });
    process.exitCode = done.status ?? 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (!existsSync(join(here, "node_modules/esbuild"))) throw new Error("run npm ci --ignore-scripts first");
if (process.argv[2] === "--test") await tests();
else await page(process.argv[2] ?? join(here, "../src/footplant/editor/static"));
