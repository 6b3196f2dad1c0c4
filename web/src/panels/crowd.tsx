// Crowd mode: its scene, who is in it, their goals, and the ground.
import { signal, useSignal } from "@preact/signals";
import { addActor, freeName, keepCrowd, pauseCrowd, removeActor, removeGoal, say, startCrowd, stopCrowd, table } from "../crowd";
import { Button } from "../icons";
import * as store from "../store";
import type { CrowdActor, CrowdGoal, Vec3 } from "../types";
import { PLACED } from "../view/crowd";
import { view } from "../view/viewport";
import { Section } from "./parts";

const SCENES: [string, string][] = [
  ["samples", "Four samples"],
  ["open", "The characters that are open"],
  ["fight", "A fight: kicks, parries, dodges"],
  ["boxes", "Boxes of three sizes"],
  ["table", "Wrists above a table"],
  ["elbow_wrist", "Elbow and wrist with priorities"],
  ["ground", "A walk on waves"],
];
const GROUNDS: [string, string][] = [
  ["Level", "level"],
  ["Slope 8°", "slope:8"],
  ["Stairs", "stairs:0.17:0.3"],
  ["Hills", "noise:3"],
  ["Waves", "waves:0.2:3:0.4"],
  ["Lift", "moving:lift:0.5:2"],
  ["Conveyor", "moving:conveyor:0.5"],
  ["Deck", "moving:deck:8:4"],
];
/** Kinds of goals, and what they need besides a point. */
const KINDS: Record<string, { label: string; of?: "may" | "must"; value?: [string, number]; other?: true; size?: true; turn?: true; whole?: true }> = {
  reach: { label: "Reach a place", of: "may" },
  touch: { label: "Touch another", of: "must" },
  away: { label: "Keep away from", of: "may", value: ["Distance, m", 0.4] },
  area: { label: "Stay in a box", of: "may", size: true },
  above: { label: "Stay above", value: ["Height, m", 1] },
  apart: { label: "Two points apart", other: true, value: ["Distance, m", 0.4] },
  orient: { label: "Turn, look", of: "may", turn: true },
  mass: { label: "Keep the centre of mass", whole: true },
  balance: { label: "Balance over the soles", whole: true },
};
const POINTS = [
  ...["palm", "hand", "forearm", "lower_arm", "upper_arm"].flatMap((part) => [`left_${part}`, `right_${part}`]),
  "head", "chest", "hips",
  ...["heel", "ball", "foot", "shin", "lower_leg"].flatMap((part) => [`left_${part}`, `right_${part}`]),
];

export function CrowdPanel() {
  return store.crowd.value ? <Running /> : <Start />;
}

const plainName = (name: string): string => name.replace(/^sample:/, "");

function Choice({ id, label, value, options, onChange, named = plainName }: { id: string; label: string; value: string; options: readonly string[]; onChange: (value: string) => void; named?: (value: string) => string }) {
  return (
    <label class="field stacked">
      <span>{label}</span>
      <select id={id} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {options.map((name) => (
          <option key={name} value={name}>
            {named(name)}
          </option>
        ))}
      </select>
    </label>
  );
}

/** A number that is sent when it was changed, not while it is typed. */
function Numeric({ id, label, value, step, onChange, digits = 2, disabled = false }: { id: string; label: string; value: number; step: number; onChange: (value: number) => void; digits?: number; disabled?: boolean }) {
  const typing = useSignal(false);
  return (
    <label class="field stacked">
      <span>{label}</span>
      <input
        id={id}
        type="number"
        step={step}
        disabled={disabled}
        {...(typing.value ? {} : { value: value.toFixed(digits) })}
        onFocus={() => (typing.value = true)}
        onBlur={() => (typing.value = false)}
        onChange={(event) => {
          const found = event.currentTarget.valueAsNumber;
          if (Number.isFinite(found)) onChange(found);
        }}
      />
    </label>
  );
}

/** What the next crowd begins with. */
const scene = signal("samples");
const apart = signal(false);

function Start() {
  const own = store.ownClips.value;
  const mode = store.driving.value;
  return (
    <Section title="Crowd">
      <p class="hint">Several characters play motions in real time, with goals that you change while it runs: pull a hand, move who is there, change the ground. The clip is not edited.</p>
      <Choice id="crowd-scene" label="Begin with" value={scene.value} options={SCENES.map(([name]) => name)} named={(name) => SCENES.find(([own]) => own === name)?.[1] ?? name} onChange={(name) => (scene.value = name)} />
      <label class="check">
        <input id="crowd-apart" type="checkbox" checked={apart.value} onChange={(event) => (apart.value = event.currentTarget.checked)} />
        <span>Keep bodies out of one another</span>
      </label>
      <p class="hint">{own.length ? `Actors may also play ${own.map(({ name }) => name).join(", ")}.` : "Drop clips on the page to have them played, too, and characters once the crowd plays."}</p>
      <Button icon="people" label={mode === "starting" ? "Preparing…" : "Start the crowd"} text primary id="start-crowd" disabled={mode !== "off"} onClick={() => startCrowd(scene.peek(), apart.peek())} />
      {(mode === "drive" || mode === "live") && <p class="warn">Stop driving first.</p>}
    </Section>
  );
}

function Running() {
  return (
    <>
      <Transport />
      <Actors />
      <Goals />
      <Grounds />
    </>
  );
}

function Transport() {
  const status = store.crowdStatus.value;
  const playing = status?.playing ?? true;
  const slow = status !== null && playing && status.load > 0.95;
  const fps = store.crowd.value?.fps ?? 30;
  return (
    <Section title="Crowd">
      <div class="row">
        <Button icon={playing ? "pause" : "play"} label={playing ? "Pause" : "Play"} hint="Space" text id="pause-crowd" onClick={pauseCrowd} />
        <Button icon="close" label="Stop" text id="stop-crowd" onClick={stopCrowd} />
        <Button icon="save" label="Keep" hint="open the last ten minutes as a scene" text id="keep-crowd" onClick={keepCrowd} />
      </div>
      <p class="crowd-status" role="status" id="crowd-status">
        {status ? `${status.seconds.toFixed(1)} s · ${playing ? `${status.rate.toFixed(0)} of ${fps} frames/s · load ${(100 * status.load).toFixed(0)} %` : "paused"}${status.busy ? " · preparing a change" : ""}` : "starting…"}
      </p>
      {slow && status.rate < 0.8 * fps && <p class="warn">The crowd is slower than real time: remove actors or goals.</p>}
      <p class="hint">Click a character, then pull its hands, feet or head; drag its ring to move it, the tip of the ring to turn it. The last ten minutes are recorded.</p>
    </Section>
  );
}

function Actors() {
  const crowd = store.crowd.value;
  const body = useSignal("sample:mannequin");
  const motion = useSignal("sample:walk");
  if (!crowd) return null;
  return (
    <Section title={`Actors: ${crowd.actors.length}`}>
      <ul class="outline" id="crowd-actors">
        {crowd.actors.map((actor) => (
          <li key={actor.number} class={actor.number === store.crowdActor.value ? "on" : ""} data-crowd-actor={actor.name}>
            <button type="button" class="actor" aria-pressed={actor.number === store.crowdActor.value} onClick={() => choose(actor)}>
              <strong>{actor.name}</strong>
              <small>
                {plainName(actor.body)} · {plainName(actor.motion)}
                {actor.speed !== 1 && ` · ${actor.speed.toFixed(2)}×`}
                {deep(actor.number)}
              </small>
            </button>
            {crowd.actors.length > 1 && <Button icon="trash" label={`Remove ${actor.name}`} onClick={() => removeActor(actor.number)} />}
          </li>
        ))}
      </ul>
      <ChosenActor />
      <div class="halves">
        <Choice id="new-body" label="Body" value={body.value} options={crowd.bodies} onChange={(name) => (body.value = name)} />
        <Choice id="new-motion" label="Motion" value={motion.value} options={crowd.motions} onChange={(name) => (motion.value = name)} />
      </div>
      <Button icon="plus" label="Add an actor" text id="add-crowd-actor" onClick={() => addActor(body.peek(), motion.peek())} />
    </Section>
  );
}

function deep(number: number): string {
  const depth = store.crowdStatus.value?.actors.find((actor) => actor.number === number)?.depth ?? 0;
  return depth > 0 ? ` · ${(1000 * depth).toFixed(0)} mm inside another` : "";
}

function choose(actor: CrowdActor): void {
  store.crowdActor.value = store.crowdActor.peek() === actor.number ? null : actor.number;
}

/** What the selected actor plays, and where it stands. */
function ChosenActor() {
  const actor = store.chosenActor.value;
  const crowd = store.crowd.value;
  if (!actor || !crowd) return null;
  const standing = store.crowdStatus.value?.actors.find((entry) => entry.number === actor.number);
  const [x, z] = standing?.place ?? [0, 0];
  const degrees = standing?.degrees ?? 0;
  const own = (names: readonly string[], now: string): readonly string[] => (names.includes(now) ? names : [now, ...names]);
  return (
    <div class="card" id="crowd-actor">
      <div class="halves">
        <Choice id="crowd-body" label={`Body of ${actor.name}`} value={actor.body} options={own(crowd.bodies, actor.body)} onChange={(name) => say("/crowd/body", [actor.name, name])} />
        <Choice id="crowd-motion" label="Motion" value={actor.motion} options={own(crowd.motions, actor.motion)} onChange={(name) => say("/crowd/motion", [actor.name, name])} />
        <Numeric id="crowd-speed" label="Speed, ×" value={actor.speed} step={0.1} onChange={(speed) => say("/crowd/speed", [actor.name, speed])} />
        <Numeric id="crowd-turn" label="Faces, °" value={degrees} step={5} digits={0} onChange={(turn) => say("/crowd/place", [actor.name, x, z, 0.4, turn])} />
        <Numeric id="crowd-x" label="x, m" value={x} step={0.1} onChange={(value) => say("/crowd/place", [actor.name, value, z])} />
        <Numeric id="crowd-z" label="z, m" value={z} step={0.1} onChange={(value) => say("/crowd/place", [actor.name, x, value])} />
      </div>
    </div>
  );
}

/** What is left of a goal, in the unit that fits. */
function leftOf(goal: CrowdGoal): string {
  if (goal.active <= 0 || goal.left === null) return "on hold";
  if (goal.met) return "met";
  return goal.kind === "orient" ? `${((180 * goal.left) / Math.PI).toFixed(1)}° off` : `${(1000 * goal.left).toFixed(0)} mm off`;
}

function Goals() {
  const goals = store.crowdStatus.value?.goals ?? [];
  const actors = store.crowd.value?.actors ?? [];
  const nameOf = (number: number): string => actors.find((actor) => actor.number === number)?.name ?? "";
  const met = goals.filter((goal) => goal.met).length;
  return (
    <Section title={goals.length ? `Goals: ${met} of ${goals.length} met` : "Goals"}>
      <ul class="goals" id="crowd-goals">
        {goals.map((goal) => (
          <li key={`${goal.name} ${goal.actor}`} data-goal={goal.name} class={`${goal.active <= 0 ? "held" : goal.met ? "met" : "missed"} ${goal.name === store.crowdGoal.value ? "on" : ""}`}>
            <div class="goal-row">
              <button type="button" aria-pressed={goal.name === store.crowdGoal.value} onClick={() => (store.crowdGoal.value = store.crowdGoal.peek() === goal.name ? null : goal.name)}>
                <strong>{store.spoken(goal.name)}</strong>
                <small>
                  {nameOf(goal.actor)} · {goal.kind}
                  {goal.of && ` · ${nameOf(goal.of.actor)}'s ${store.spoken(goal.of.point)}`} · priority {goal.priority}
                </small>
              </button>
              <span class="left">{leftOf(goal)}</span>
              <Button icon="trash" label={`Remove ${goal.name}`} onClick={() => removeGoal(goal.name)} />
            </div>
            {goal.why && <p class="goal-why">{goal.why}</p>}
          </li>
        ))}
      </ul>
      <ChosenGoal />
      <NewGoal />
    </Section>
  );
}

/** The priority, the target and the times of the selected goal. */
function ChosenGoal() {
  const goal = store.chosenGoal.value;
  const [start, stop] = [useSignal(0), useSignal(2)];
  if (!goal) return null;
  const [x, y, z] = goal.target;
  const aim = (target: Vec3): void => void say("/crowd/aim", [goal.name, ...target]);
  return (
    <div class="card" id="crowd-goal">
      <div class="halves">
        <Numeric id="goal-priority" label="Priority" value={goal.priority} step={1} digits={0} onChange={(value) => say("/crowd/priority", [goal.name, Math.round(value)])} />
        {PLACED.includes(goal.kind) && (
          <>
            <Numeric id="goal-x" label={goal.of ? "x from it, m" : "x, m"} value={x} step={0.05} onChange={(value) => aim([value, y, z])} />
            <Numeric id="goal-y" label={goal.of ? "y from it, m" : "y, m"} value={y} step={0.05} onChange={(value) => aim([x, value, z])} />
            <Numeric id="goal-z" label={goal.of ? "z from it, m" : "z, m"} value={z} step={0.05} onChange={(value) => aim([x, y, value])} />
          </>
        )}
      </div>
      <div class="row">
        <Numeric id="goal-start" label="From, s" value={start.value} step={0.5} digits={1} onChange={(value) => (start.value = value)} />
        <Numeric id="goal-stop" label="until, s" value={stop.value} step={0.5} digits={1} onChange={(value) => (stop.value = value)} />
        <Button label="Schedule from now" text id="goal-schedule" onClick={() => say("/crowd/schedule", [goal.name, start.peek(), stop.peek()])} />
      </div>
    </div>
  );
}

function NewGoal() {
  const actors = store.crowd.value?.actors ?? [];
  const kind = useSignal("reach");
  const point = useSignal("right_palm");
  const other = useSignal("");
  const of = useSignal("");
  const at = useSignal("chest");
  const value = useSignal<number | null>(null);
  const size = useSignal(0.2);
  const [yaw, pitch] = [useSignal(0), useSignal(0)];
  const actor = store.chosenActor.value;
  const needs = KINDS[kind.value] ?? { label: "" };
  const others = actors.filter((entry) => entry.number !== actor?.number).map((entry) => entry.name);
  const followed = needs.of && others.includes(of.value) ? of.value : needs.of === "must" ? (others[0] ?? "") : "";
  // the same point of the other side, until another one is chosen
  const second = other.value || point.value.replace(/^(left|right)/, (side) => (side === "left" ? "right" : "left"));
  const wanted = value.value ?? needs.value?.[1] ?? 0;
  const add = (): void => {
    if (!actor) return;
    const name = freeName(`${actor.name} ${needs.whole ? kind.peek() : point.peek()}`, (store.crowdStatus.peek()?.goals ?? []).map((goal) => goal.name));
    const standing = store.crowdStatus.peek()?.actors.find((entry) => entry.number === actor.number);
    const [facing, reach] = [((standing?.degrees ?? 0) * Math.PI) / 180, 0.28 * actor.character.height];
    const [x, z] = standing?.place ?? [0, 0];
    // an arm's length ahead, to be dragged from there
    const ahead: Vec3 = [x + reach * Math.sin(facing), 0.75 * actor.character.height, z + reach * Math.cos(facing)];
    const placed = PLACED.includes(kind.peek()) && !followed;
    say(
      "/crowd/goal",
      [
        table({
          name,
          kind: kind.peek(),
          actor: actor.name,
          point: needs.whole ? undefined : point.peek(),
          other: needs.other ? second : undefined,
          of: followed || undefined,
          at: followed ? at.peek() : undefined,
          target: placed ? ahead : undefined,
          value: needs.value ? wanted : undefined,
          size: needs.size ? [size.peek(), size.peek(), size.peek()] : undefined,
          turn: needs.turn ? (view.theatre?.crowd?.turned(actor, point.peek(), yaw.peek(), pitch.peek(), followed ? { name: followed, point: at.peek() } : null) ?? undefined) : undefined,
          priority: store.crowdPriority.peek(),
        }),
      ],
      (wrong) => {
        if (!wrong) store.crowdGoal.value = name;
      },
    );
  };
  return (
    <details class="card">
      <summary>{actor ? `Add a goal of ${actor.name}` : "Add a goal: select an actor first"}</summary>
      <div class="halves">
        <Choice id="new-goal-kind" label="Goal" value={kind.value} options={Object.keys(KINDS)} named={(name) => KINDS[name]?.label ?? name} onChange={(name) => (kind.value = name)} />
        {!needs.whole && <Choice id="new-goal-point" label="of its" value={point.value} options={POINTS} named={store.spoken} onChange={(name) => (point.value = name)} />}
        {needs.other && <Choice id="new-goal-other" label="and its" value={second} options={POINTS} named={store.spoken} onChange={(name) => (other.value = name)} />}
        {needs.of && <Choice id="new-goal-of" label="follow" value={followed} options={needs.of === "must" ? others : ["", ...others]} named={(name) => name || "nobody"} onChange={(name) => (of.value = name)} />}
        {followed && <Choice id="new-goal-at" label="at its" value={at.value} options={POINTS} named={store.spoken} onChange={(name) => (at.value = name)} />}
        {needs.value && <Numeric id="new-goal-value" label={needs.value[0]} value={wanted} step={0.05} onChange={(found) => (value.value = found)} />}
        {needs.size && <Numeric id="new-goal-size" label="Half its edge, m" value={size.value} step={0.05} onChange={(found) => (size.value = found)} />}
        {needs.turn && <Numeric id="new-goal-yaw" label="Turn left by, °" value={yaw.value} step={5} digits={0} onChange={(found) => (yaw.value = found)} />}
        {needs.turn && <Numeric id="new-goal-pitch" label="Down by, °" value={pitch.value} step={5} digits={0} onChange={(found) => (pitch.value = found)} />}
        <Numeric id="new-goal-priority" label="Priority" value={store.crowdPriority.value} step={1} digits={0} onChange={(found) => (store.crowdPriority.value = Math.round(found))} />
      </div>
      <Button icon="plus" label="Add the goal" text id="add-goal" disabled={!actor || (needs.of === "must" && !followed)} onClick={add} />
    </details>
  );
}

function Grounds() {
  const crowd = store.crowd.value;
  const own = useSignal("stairs:0.12:0.4");
  if (!crowd) return null;
  const set = (ground: string): void => void say("/crowd/ground", [ground]);
  return (
    <Section title="Ground">
      <div class="tiles">
        {[...GROUNDS, ...crowd.grounds.map((name): [string, string] => [name, name])].map(([label, ground]) => (
          <button key={ground} type="button" class={`tile ${crowd.ground === ground ? "on" : ""}`} data-crowd-ground={ground} onClick={() => set(ground)}>
            {label}
          </button>
        ))}
      </div>
      <div class="row">
        <label class="field stacked grow">
          <span>Other ground</span>
          <input id="crowd-ground" type="text" value={own.value} spellcheck={false} onInput={(event) => (own.value = event.currentTarget.value)} />
        </label>
        <Button label="Apply" text id="apply-crowd-ground" onClick={() => set(own.peek())} />
      </div>
    </Section>
  );
}
