// The operator stack: what is done to the clip, in order; each entry can be changed, switched, moved and removed.
import { useSignal } from "@preact/signals";
import * as commands from "../commands";
import { Button } from "../icons";
import * as store from "../store";
import type { Operator } from "../types";
import { Section } from "./parts";

/** Values of operators that the panel edits as plain fields: key, label, and how it is shown. */
const FIELDS: Record<string, [key: string, label: string, kind: "text" | "number" | "flag"][]> = {
  retarget: [["keep_footsteps", "Keep footsteps", "flag"]],
  terrain: [["ground", "Ground", "text"]],
  trim: [
    ["start", "From", "number"],
    ["end", "To", "number"],
  ],
  retime: [["speed", "Speed", "number"]],
  method: [["name", "Method", "text"]],
  step: [
    ["shift", "Shift, frames", "number"],
    ["onset", "Onset, frames", "number"],
    ["release", "Release, frames", "number"],
    ["turn", "Turn, rad", "number"],
  ],
  drag: [
    ["frame", "Frame", "number"],
    ["spacing", "Influence", "number"],
  ],
  turn: [
    ["frame", "Frame", "number"],
    ["spacing", "Influence", "number"],
  ],
  pose: [
    ["frame", "Frame", "number"],
    ["before", "Ease in, s", "number"],
    ["hold", "Hold, s", "number"],
    ["after", "Ease out, s", "number"],
  ],
  pin: [
    ["start", "From", "number"],
    ["end", "To", "number"],
  ],
};

export function StackPanel() {
  const stack = store.doc.value?.stack ?? [];
  const figure = store.figure.value;
  return (
    <>
      <Section title="Stack">
        <p class="hint">What is done to the clip, from top to bottom. A change solves everything below it again.</p>
        <ol class="stack" id="stack">
          <li class="operator origin">
            <span class="operator-title">{figure ? `${figure.clip}, ${figure.original_frames} frames` : ""}</span>
          </li>
          {stack.map((entry, n) => (
            <Entry key={entry.id} entry={entry} place={n} count={stack.length} />
          ))}
        </ol>
        {stack.length === 0 && <p class="hint">Nothing yet: retarget, bend the path, set a terrain, move a footstep or drag a joint.</p>}
      </Section>
      <ClipSection />
    </>
  );
}

function Entry({ entry, place, count }: { entry: Operator; place: number; count: number }) {
  const open = useSignal(false);
  const fields = (FIELDS[entry.kind] ?? []).filter(([key, , kind]) => key in entry.values || kind === "flag" || entry.kind === "step" || entry.kind === "pose");
  const move = entry.values.move as number[] | undefined;
  return (
    <li class={`operator ${entry.on ? "" : "off"} ${entry.failed ? "failed" : ""}`} data-operator={entry.kind}>
      <div class="operator-row">
        <input type="checkbox" aria-label={`${entry.title}: on`} checked={entry.on} onChange={() => commands.changeStack(entry.id, entry.on ? "off" : "on")} />
        <button type="button" class="operator-title" aria-expanded={open.value} onClick={() => (open.value = !open.peek())}>
          {entry.title}
        </button>
        <Button icon="up" label="Earlier" disabled={place === 0} onClick={() => commands.changeStack(entry.id, "move", { to: place - 1 })} />
        <Button icon="down" label="Later" disabled={place === count - 1} onClick={() => commands.changeStack(entry.id, "move", { to: place + 1 })} />
      </div>
      {entry.failed && (
        <p class="wrong" role="alert">
          {entry.failed}
        </p>
      )}
      {open.value && (
        <div class="operator-values">
          {fields.map(([key, label, kind]) => (
            <Value key={key} entry={entry} name={key} label={label} kind={kind} />
          ))}
          {entry.kind === "step" &&
            ["x", "y", "z"].map((axis, n) => (
              <label key={axis} class="field stacked">
                <span>Move {axis}, m</span>
                <input
                  type="number"
                  step={0.01}
                  value={(move?.[n] ?? 0).toFixed(3)}
                  onChange={(event) => commands.setOperator(entry.id, { move: [0, 1, 2].map((m) => (m === n ? event.currentTarget.valueAsNumber || 0 : (move?.[m] ?? 0))) })}
                />
              </label>
            ))}
          <div class="row">
            <Button icon="plus" label="Duplicate" text onClick={() => commands.changeStack(entry.id, "duplicate")} />
            <Button icon="trash" label="Remove" text onClick={() => commands.changeStack(entry.id, "delete")} />
          </div>
        </div>
      )}
    </li>
  );
}

function Value({ entry, name, label, kind }: { entry: Operator; name: string; label: string; kind: "text" | "number" | "flag" }) {
  const value = entry.values[name];
  const set = (next: unknown): void => commands.setOperator(entry.id, { [name]: next });
  if (kind === "flag") {
    return (
      <label class="check">
        <input type="checkbox" checked={value === true} onChange={(event) => set(event.currentTarget.checked)} />
        <span>{label}</span>
      </label>
    );
  }
  const whole = ["start", "end", "frame", "shift", "onset", "release"].includes(name);
  return (
    <label class="field stacked">
      <span>{label}</span>
      {kind === "text" ? (
        <input type="text" value={String(value ?? "")} data-value={name} spellcheck={false} onChange={(event) => set(event.currentTarget.value)} />
      ) : (
        <input
          type="number"
          step={whole ? 1 : 0.05}
          data-value={name}
          value={Number(value ?? 0)}
          onChange={(event) => set(whole ? Math.round(event.currentTarget.valueAsNumber || 0) : event.currentTarget.valueAsNumber || 0)}
        />
      )}
    </label>
  );
}

/** Edits of the whole clip: trim, retime, mirror. */
function ClipSection() {
  const from = useSignal(0);
  const to = useSignal(-1);
  const speed = useSignal(1);
  const last = store.frames.value - 1;
  const end = to.value < 0 ? last : Math.min(to.value, last);
  return (
    <Section title="Clip">
      <div class="row">
        <label class="field stacked">
          <span>From</span>
          <input id="trim-from" type="number" min={0} max={last} value={from.value} onChange={(event) => (from.value = event.currentTarget.valueAsNumber || 0)} />
        </label>
        <label class="field stacked">
          <span>To</span>
          <input id="trim-to" type="number" min={0} max={last} value={end} onChange={(event) => (to.value = event.currentTarget.valueAsNumber || 0)} />
        </label>
        <Button label="Trim" text id="trim" onClick={() => commands.sendEdit({ kind: "trim", start: from.peek(), end })} />
      </div>
      <div class="row">
        <label class="field stacked">
          <span>Speed, times</span>
          <input id="retime-speed" type="number" min={0.1} max={10} step={0.1} value={speed.value} onChange={(event) => (speed.value = event.currentTarget.valueAsNumber || 1)} />
        </label>
        <Button label="Retime" text id="retime" onClick={() => commands.sendEdit({ kind: "retime", speed: speed.peek() })} />
        <Button label="Mirror" text id="mirror" onClick={() => commands.sendEdit({ kind: "mirror" })} />
      </div>
    </Section>
  );
}
