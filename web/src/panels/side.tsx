// The panels on the right, except the one for the selection.
import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import * as commands from "../commands";
import { Button } from "../icons";
import * as socket from "../socket";
import * as store from "../store";
import type { Compared, QualityRow } from "../types";
import { Outline } from "./outline";
import { METHOD_NAMES, Section, shown } from "./parts";

const CHARACTERS = ["mannequin", "short", "sally", "blubby", "longlegs", "child"];
const MOTIONS = ["walk", "run", "sneak", "limp", "turn-left", "turn-right", "start", "stop", "stand", "jump", "kick", "punch", "reach", "clap", "climb"];
const TERRAINS: [string, string][] = [
  ["Hills", "noise:3"],
  ["Rough", "noise:8:0.35:0.9"],
  ["Stairs up", "stairs:0.17:0.32:12"],
  ["Stairs down", "stairs:-0.17:0.32:12"],
  ["Uphill 12°", "slope:12"],
  ["Downhill 12°", "slope:-12"],
  ["Side slope", "slope:10:90"],
  ["Level", "slope:0"],
];

export function CharacterPanel() {
  const keep = useSignal(false);
  const chooser = useRef<HTMLInputElement>(null);
  return (
    <>
      <Outline />
      <Section title="Retarget to">
        <p class="hint">Drop a character here or anywhere on the page: GLB, VRM, FBX, BVH, USD, or a robot as URDF or MJCF.</p>
        <div class="tiles">
          {CHARACTERS.map((name) => (
            <button key={name} type="button" class="tile" data-character={name} onClick={() => socket.edit({ kind: "retarget", character: `sample:${name}`, keep_footsteps: keep.peek() })}>
              {name}
            </button>
          ))}
        </div>
        <label class="check">
          <input type="checkbox" checked={keep.value} onChange={(event) => (keep.value = event.currentTarget.checked)} />
          <span>Keep footsteps</span>
        </label>
        <Button icon="open" label="Choose a character file" text onClick={() => chooser.current?.click()} />
        <input
          ref={chooser}
          type="file"
          hidden
          multiple
          aria-label="Character file"
          onChange={(event) => {
            void commands.retargetTo([...(event.currentTarget.files ?? [])], keep.peek());
            event.currentTarget.value = "";
          }}
        />
      </Section>
      <Section title="Open a sample">
        <div class="tiles">
          {MOTIONS.map((name) => (
            <button key={name} type="button" class="tile" onClick={() => openSample(name)}>
              {name}
            </button>
          ))}
        </div>
      </Section>
    </>
  );
}

function openSample(name: string): void {
  if (store.doc.peek()?.unsaved && !confirm("There are unsaved edits. Open another clip?")) return;
  socket.ask({ do: "open", file: `sample:${name}` });
}

export function ScenePanel() {
  const own = useSignal("noise:5:0.3:1.2");
  const objects = store.doc.value?.objects ?? [];
  return (
    <>
      <Section title="Terrain">
        <div class="tiles two">
          {TERRAINS.map(([name, ground]) => (
            <button key={ground} type="button" class={`tile ${store.doc.value?.ground === ground ? "on" : ""}`} data-ground={ground} onClick={() => socket.edit({ kind: "terrain", ground })}>
              {name}
            </button>
          ))}
        </div>
        <div class="row">
          <label class="field stacked grow">
            <span>Other ground</span>
            <input type="text" value={own.value} spellcheck={false} onInput={(event) => (own.value = event.currentTarget.value)} />
          </label>
          <Button label="Apply" text onClick={() => socket.edit({ kind: "terrain", ground: own.peek() })} />
        </div>
        <p class="hint">noise:SEED:HEIGHT:SPACING, stairs:RISE:RUN:COUNT or slope:DEGREES. Another ground takes the place of this one.</p>
      </Section>
      <Section title="Ground in pieces">
        <p class="hint">Put pieces in the way and drag them in the view; the character walks over them. With one selected, the next goes on from its end.</p>
        <div class="row">
          <Button icon="box" label="Block" text id="add-block" onClick={() => commands.addPiece("block")} />
          <Button icon="stairs" label="Stairs" text id="add-stairs" onClick={() => commands.addPiece("stairs")} />
          <Button icon="slope" label="Slope" text id="add-ramp" onClick={() => commands.addPiece("ramp")} />
        </div>
      </Section>
      <Section title="Objects">
        <div class="row">
          <Button icon="box" label="Box" text onClick={() => commands.addObject("box")} />
          <Button icon="desk" label="Table" text onClick={() => commands.addObject("table")} />
          <Button icon="door" label="Doorway" text onClick={() => commands.addObject("doorway")} />
        </div>
        <ul class="list">
          {objects.map((thing, n) => (
            <li key={n}>
              <button type="button" class={store.selection.value.kind === "object" && store.selection.value.index === n ? "on" : ""} onClick={() => (store.selection.value = { kind: "object", index: n })}>
                {thing.kind === "ramp" ? "slope" : thing.kind} {thing.size.map((side) => side.toFixed(2)).join(" × ")} m
              </button>
            </li>
          ))}
        </ul>
        {objects.some((thing) => thing.kind === "doorway") && (
          <Button icon="check" label="Duck under the doorways" text onClick={() => socket.edit({ kind: "terrain", ground: store.doc.peek()?.ground || "slope:0" })} />
        )}
      </Section>
    </>
  );
}

export function ComparePanel() {
  const a = useSignal("current");
  const b = useSignal("warping");
  const found = store.comparison.value;
  const methods = store.figure.value?.methods ?? [];
  const choice = (label: string, chosen: typeof a) => (
    <label class="field stacked grow">
      <span>{label}</span>
      <select id={`compare-${label.toLowerCase()}`} value={chosen.value} onChange={(event) => (chosen.value = event.currentTarget.value)}>
        <option value="current">As it is now</option>
        <option value="history:0">As opened</option>
        <optgroup label="Solved by">
          {methods.map((name) => (
            <option key={name} value={name}>
              {resultName(name)}
            </option>
          ))}
        </optgroup>
        {(store.doc.value?.stack ?? []).some((entry) => entry.on) && (
          <optgroup label="Stack without">
            {(store.doc.value?.stack ?? []).filter((entry) => entry.on).map((entry) => (
              <option key={entry.id} value={`without:${entry.id}`}>
                {resultName(`without:${entry.id}`)}
              </option>
            ))}
          </optgroup>
        )}
        {(store.doc.value?.history.length ?? 0) > 0 && (
          <optgroup label="History">
            {(store.doc.value?.history ?? []).map((_, n) => (
              <option key={n} value={`history:${n + 1}`}>
                {resultName(`history:${n + 1}`)}
              </option>
            ))}
          </optgroup>
        )}
      </select>
    </label>
  );
  return (
    <Section title="Compare two results">
      <p class="hint">Methods solve the current footsteps, pins and drags; an entry of the history is the stack as it was then. B is violet; beside one another, the cameras move together.</p>
      <div class="row">
        {choice("A", a)}
        {choice("B", b)}
      </div>
      <Button icon="compare" label="Compare" text primary id="compare" onClick={() => commands.compare(a.peek(), b.peek())} />
      {found && (
        <>
          <div class="segments" role="group" aria-label="Show">
            {(["a", "both", "beside", "b"] as const).map((which) => (
              <button key={which} type="button" class={store.compareView.value === which ? "on" : ""} aria-pressed={store.compareView.value === which} onClick={() => (store.compareView.value = which)}>
                {which === "both" ? "Over" : which === "beside" ? "Beside" : which.toUpperCase()}
              </button>
            ))}
          </div>
          <CompareTable a={found.a} b={found.b} />
          <div class="row">
            {found.a.name !== "current" && <Button label="Keep A" text onClick={() => keep(found.a.name)} />}
            {found.b.name !== "current" && <Button label="Keep B" text id="keep-b" onClick={() => keep(found.b.name)} />}
            <Button label="Keep neither" text onClick={commands.endCompare} />
          </div>
        </>
      )}
    </Section>
  );
}

/** What a result that is compared is called. */
function resultName(name: string): string {
  const [doc, number] = [store.doc.value, Number(name.split(":")[1])];
  if (name === "current") return "As it is now";
  if (name === "history:0") return "As opened";
  if (name.startsWith("history:")) return `After ${number}: ${doc?.history[number - 1] ?? ""}`;
  if (name.startsWith("without:")) return `Without: ${doc?.stack.find((entry) => entry.id === number)?.title ?? ""}`;
  return METHOD_NAMES[name]?.[0] ?? name;
}

/** Names of the two results over their halves of the view. */
export function PaneLabels() {
  const found = store.comparison.value;
  if (!found || store.compareView.value !== "beside") return null;
  return (
    <div class="pane-labels" aria-hidden="true">
      <span>A · {resultName(found.a.name)}</span>
      <span>B · {resultName(found.b.name)}</span>
    </div>
  );
}

function keep(name: string): void {
  commands.endCompare();
  if (name.startsWith("history:")) socket.ask({ do: "go", position: Number(name.slice(8)) });
  else if (name.startsWith("without:")) commands.changeStack(Number(name.slice(8)), "off");
  else commands.solveBy(name);
}

function CompareTable({ a, b }: { a: Compared; b: Compared }) {
  const now = (store.quality.value?.rows ?? []).map(([name, , after]): QualityRow => [name, null, after]);
  const [left, right] = [a.rows ?? now, b.rows ?? now];
  const names = [...new Set([...left, ...right].map(([name]) => name))];
  const of = (rows: QualityRow[], name: string): number | null => rows.find((row) => row[0] === name)?.[2] ?? null;
  return (
    <table class="numbers">
      <thead>
        <tr>
          <th scope="col">Measure</th>
          <th scope="col">A</th>
          <th scope="col">B</th>
        </tr>
      </thead>
      <tbody>
        <tr>
          <th scope="row">worst constraint, mm</th>
          <td>{shown(a.report?.worst ?? null)}</td>
          <td>{shown(b.report?.worst ?? null)}</td>
        </tr>
        <tr>
          <th scope="row">time, ms</th>
          <td>{shown(a.report ? 1000 * a.report.seconds : null)}</td>
          <td>{shown(b.report ? 1000 * b.report.seconds : null)}</td>
        </tr>
        {names.map((name) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>{shown(of(left, name))}</td>
            <td>{shown(of(right, name))}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function QualityPanel() {
  const rows = store.quality.value?.rows ?? [];
  return (
    <Section title="Quality, before and after">
      <p class="hint">The clip as opened and as it is now, measured on the same footplants.</p>
      <table class="numbers" id="quality">
        <thead>
          <tr>
            <th scope="col">Measure</th>
            <th scope="col">Before</th>
            <th scope="col">Now</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(([name, before, after]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{shown(before)}</td>
              <td>{shown(after)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Section>
  );
}

export function HistoryPanel() {
  const doc = store.doc.value;
  const entries = ["Opened", ...(doc?.history ?? [])];
  return (
    <Section title="History">
      <ol class="list history" id="history">
        {entries.map((title, n) => (
          <li key={n}>
            <button type="button" class={n === doc?.position ? "on" : n > (doc?.position ?? 0) ? "undone" : ""} aria-current={n === doc?.position} onClick={() => socket.ask({ do: "go", position: n })}>
              <small>{n}</small> {title}
            </button>
          </li>
        ))}
      </ol>
    </Section>
  );
}
