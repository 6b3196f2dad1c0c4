// The outliner: the characters of the scene, which of them is edited, and where it stands.
import { useSignal } from "@preact/signals";
import { Button } from "../icons";
import * as socket from "../socket";
import * as store from "../store";
import { Section } from "./parts";

const SAMPLES = ["walk", "run", "sneak", "limp", "stand", "kick", "punch", "clap", "jump", "turn-left", "turn-right"];

export function Outline() {
  const chosen = useSignal("run");
  const cast = store.cast.value;
  const hidden = store.hidden.value;
  const toggle = (id: string): void => {
    const next = new Set(hidden);
    if (!next.delete(id)) next.add(id);
    store.hidden.value = next;
  };
  return (
    <Section title="Characters">
      <ul class="outline" id="outline">
        {cast.map((actor) => (
          <li key={actor.id} class={actor.active ? "on" : ""} data-actor={actor.clip}>
            <Button icon="eye" label={hidden.has(actor.id) ? `Show ${actor.clip}` : `Hide ${actor.clip}`} on={!hidden.has(actor.id)} onClick={() => toggle(actor.id)} />
            <button type="button" class="actor" aria-pressed={actor.active} title="Edit this character" disabled={actor.active} onClick={() => act({ what: "edit", id: actor.id })}>
              <strong>{actor.clip}</strong>
              <small>
                {actor.character.name} · {actor.frames} frames{counted(actor.active ? (store.doc.value?.position ?? 0) : actor.edits)}
              </small>
            </button>
            {cast.length > 1 && <Button icon="trash" label={`Remove ${actor.clip}`} onClick={() => act({ what: "remove", id: actor.id })} />}
          </li>
        ))}
      </ul>
      <div class="row">
        <label class="grow">
          <span class="visually-hidden">Sample to add</span>
          <select id="actor-sample" value={chosen.value} onChange={(event) => (chosen.value = event.currentTarget.value)}>
            {SAMPLES.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <Button icon="plus" label="Add it" text id="add-actor" onClick={() => act({ what: "add", file: `sample:${chosen.peek()}` })} />
      </div>
      <Place />
    </Section>
  );
}

/** Sends a change of the scene's characters. */
export function act(change: Record<string, unknown>): void {
  store.pending.value += 1;
  socket.askForSession({ do: "actor", ...change });
}

/** Where the edited character stands: moved and turned with its whole clip. */
function Place() {
  const entry = store.doc.value?.stack.find((operator) => operator.kind === "place");
  const move = (entry?.values.move as number[] | undefined) ?? [0, 0, 0];
  const turn = Number(entry?.values.turn ?? 0);
  const set = (values: Record<string, unknown>): void => socket.edit({ kind: "place", move, turn, ...values });
  const field = (label: string, id: string, value: number, step: number, change: (value: number) => void) => (
    <label class="field stacked">
      <span>{label}</span>
      <input id={id} type="number" step={step} value={value.toFixed(2)} onChange={(event) => change(event.currentTarget.valueAsNumber || 0)} />
    </label>
  );
  return (
    <div class="thirds">
      {field("Moved x, m", "place-x", move[0] ?? 0, 0.1, (x) => set({ move: [x, 0, move[2] ?? 0] }))}
      {field("z, m", "place-z", move[2] ?? 0, 0.1, (z) => set({ move: [move[0] ?? 0, 0, z] }))}
      {field("Turned, °", "place-turn", (turn * 180) / Math.PI, 5, (degrees) => set({ turn: (degrees * Math.PI) / 180 }))}
    </div>
  );
}

function counted(edits: number): string {
  return edits ? ` · ${edits} ${edits === 1 ? "edit" : "edits"}` : "";
}
