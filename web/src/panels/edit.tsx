// The panel for the selection, the methods, and repair.
import * as commands from "../commands";
import { Button } from "../icons";
import * as socket from "../socket";
import * as store from "../store";
import type { Mark, Vec3 } from "../types";
import { isPiece } from "../view/pieces";
import { METHOD_NAMES, Section } from "./parts";

export function EditPanel() {
  const chosen = store.selection.value;
  const mark = store.selectedMark.value;
  return (
    <>
      <Conflicts />
      <Section title="Selection">
        {chosen.kind === "none" && <Nothing />}
        {chosen.kind === "point" && <PointCard name={chosen.name} joint={chosen.joint} offset={chosen.offset} />}
        {mark && (mark.kind === "step" ? <StepCard mark={mark} /> : <MarkCard mark={mark} />)}
        {chosen.kind === "object" && <ObjectCard index={chosen.index} />}
      </Section>
      <Section title="Pose">
        <div class="row">
          <Button icon="copy" label="Copy" text id="copy-pose" hint="Ctrl C" onClick={commands.copyPose} />
          <Button icon="paste" label="Paste" text id="paste-pose" hint="Ctrl V" disabled={!store.copiedPose.value} onClick={() => commands.pastePose()} />
          <Button icon="paste" label="Limb" text id="paste-limb" hint="the selected joint and what is below it" disabled={!store.copiedPose.value || chosen.kind !== "point"} onClick={() => chosen.kind === "point" && commands.pastePose(chosen.joint)} />
        </div>
      </Section>
      <Section title="Solve the whole clip">
        <p class="hint">Keys 1–{store.figure.value?.methods.length ?? 5} solve everything that holds, by another method.</p>
        <div class="methods" role="group" aria-label="Methods">
          {(store.figure.value?.methods ?? []).map((name, n) => (
            <button key={name} type="button" class={`method ${store.doc.value?.method === name ? "on" : ""}`} aria-pressed={store.doc.value?.method === name} data-method={name} onClick={() => commands.solveBy(name)}>
              <kbd>{n + 1}</kbd>
              <span>{METHOD_NAMES[name]?.[0] ?? name}</span>
              <small>{METHOD_NAMES[name]?.[1] ?? ""}</small>
            </button>
          ))}
        </div>
        <LastReport />
      </Section>
      <Section title="Feet">
        <Button icon="wrench" label="Fix skating, floating and penetration" text id="repair" onClick={() => socket.edit({ kind: "repair" })} />
      </Section>
    </>
  );
}

/** What cannot hold, in red, with what would cure it. */
function Conflicts() {
  const found = store.doc.value?.conflicts ?? [];
  if (!found.length) return null;
  return (
    <Section title={found.length === 1 ? "Conflict" : "Conflicts"}>
      {found.slice(0, 6).map((conflict) => (
        <div key={conflict.text} class="conflict" role="alert">
          <p>{conflict.text}</p>
          <div class="fixes">
            {conflict.fixes.map((fix) => (
              <button key={fix.label} type="button" class="fix" onClick={() => socket.edit(fix.edit)}>
                {fix.label}
              </button>
            ))}
          </div>
        </div>
      ))}
      {found.length > 6 && <p class="hint">and {found.length - 6} more</p>}
    </Section>
  );
}

function StepCard({ mark }: { mark: Mark }) {
  const change = (values: Record<string, unknown>): void => socket.edit({ kind: "step", id: mark.id, ...values });
  const info = store.dragInfo.value;
  const place = mark.place ?? [0, 0, 0];
  return (
    <div class="card">
      <h3>{mark.title.replace(/ \d+–\d+$/, "")}</h3>
      <p class="faint">
        {((mark.end - mark.start) / store.fps.value).toFixed(2)} s{mark.phases?.length ? ` · ${mark.phases.map((phase) => `${phase.part} ${phase.start}–${phase.end - 1}`).join(", ")}` : ""}
      </p>
      <div class="row">
        <Number label="From" value={mark.start} step={1} onChange={(value) => change({ onset: Math.round(value) - mark.start })} />
        <Number label="To" value={mark.end - 1} step={1} onChange={(value) => change({ release: Math.round(value) + 1 - mark.end })} />
      </div>
      <Vector label="Place, m" value={place as Vec3} onChange={(axis, value) => change({ move: [0, 1, 2].map((n) => (n === axis ? value - (place[n] ?? 0) : 0)) })} />
      {typeof mark.heading === "number" && <Number label="Heading, °" value={(mark.heading * 180) / Math.PI} step={0.5} onChange={(value) => change({ turn: (value * Math.PI) / 180 - (mark.heading ?? 0) })} />}
      {store.dragging.value && info && (
        <p class={info.conflict ? "wrong" : "faint"} role="status">
          {info.conflict || store.snapNote.value || "reached"} · {info.milliseconds.toFixed(0)} ms
        </p>
      )}
      <Button icon="snap" label="Put it on the ground" text id="to-ground" onClick={() => change({ grounded: true })} />
      <label class="check">
        <input type="checkbox" checked={mark.free} onChange={(event) => change({ free: event.currentTarget.checked })} />
        <span>Anywhere, as long as it does not slide</span>
      </label>
      <div class="row">
        <Button label="Split here" text id="split" hint="S" onClick={commands.splitHere} />
        <Button label="Join next" text id="join" hint="J" onClick={commands.joinNext} />
        <Button icon="trash" label="Delete" text hint="Delete" id="delete-step" onClick={commands.deleteSelected} />
      </div>
    </div>
  );
}

function Nothing() {
  return (
    <p class="hint">
      Drag a joint in the viewport, or click one for the gizmo. Click a footprint or a bar to move a step; double-click a track to add one.
    </p>
  );
}

function PointCard({ name, joint, offset }: { name: string; joint: number; offset: Vec3 }) {
  store.poses.value;
  const track = store.tracks.current;
  const figure = store.figure.value;
  const at = track ? track.point(Math.min(store.readFrame.value, track.frames - 1), joint, offset) : ([0, 0, 0] as Vec3);
  const role = figure?.character.roles[joint];
  const contact = figure?.character.points.some((point) => point.name === name);
  const info = store.dragInfo.value;
  const moveTo = (axis: number, value: number): void => {
    const target = at.map((old, n) => (n === axis ? value : old)) as Vec3;
    socket.drop({ kind: "drag", frame: store.frame.peek(), point: contact ? name : { joint: name }, target, spacing: store.spacing.peek() });
  };
  return (
    <div class="card">
      <h3>{store.spoken(name)}</h3>
      <p class="faint">
        {contact ? `contact point on ${figure?.character.joints[joint] ?? ""}` : role ? store.spoken(role) : "joint"} · frame {store.readFrame.value}
      </p>
      <Vector label="Position, m" value={at} onChange={moveTo} />
      {store.dragging.value && info && (
        <p class={info.missed !== null && info.missed > 2 ? "warn" : "faint"} role="status">
          {info.missed === null ? "turned" : info.missed > 2 ? `out of reach by ${info.missed.toFixed(0)} mm` : `on target to ${info.missed.toFixed(1)} mm`} · {info.milliseconds.toFixed(0)} ms
        </p>
      )}
      <div class="row">
        <Button icon="pin" label="Pin here" text hint="P" onClick={commands.pinHere} />
        <Button icon={store.mode.value === "rotate" ? "rotate" : "move"} label={store.mode.value === "rotate" ? "Rotating" : "Moving"} text onClick={() => (store.mode.value = store.mode.peek() === "rotate" ? "translate" : "rotate")} />
      </div>
    </div>
  );
}

function MarkCard({ mark }: { mark: Mark }) {
  const change = (values: Record<string, unknown>): void => socket.edit({ kind: "mark", id: mark.id, ...values });
  return (
    <div class="card">
      <h3>{mark.title.replace(/ [\d–]+( \(kept\))?$/, "")}</h3>
      <p class="faint">
        {mark.kind} · {((mark.end - mark.start) / store.fps.value).toFixed(2)} s
      </p>
      <div class="row">
        <Number label="From" value={mark.start} step={1} onChange={(value) => change({ start: value })} />
        <Number label="To" value={mark.end - 1} step={1} onChange={(value) => change({ end: value + 1 })} />
      </div>
      <div class="row">
        <Number label="Ease in, s" value={mark.ramp[0]} step={0.05} onChange={(value) => change({ ramp: [value, mark.ramp[1]] })} />
        <Number label="Ease out, s" value={mark.ramp[1]} step={0.05} onChange={(value) => change({ ramp: [mark.ramp[0], value] })} />
      </div>
      {mark.place && <Vector label="Place, m" value={mark.place} onChange={(axis, value) => change({ place: mark.place?.map((old, n) => (n === axis ? value : old)) })} />}
      {mark.kind === "plant" && (
        <label class="check">
          <input type="checkbox" checked={mark.free} onChange={(event) => change({ free: event.currentTarget.checked })} />
          <span>Anywhere, as long as it does not slide</span>
        </label>
      )}
      <div class="row">
        <Button icon="trash" label={mark.kind === "plant" ? "Delete this footplant" : "Unpin"} text hint="Delete" onClick={commands.deleteSelected} />
      </div>
    </div>
  );
}

function ObjectCard({ index }: { index: number }) {
  const objects = store.doc.value?.objects ?? [];
  const thing = objects[index];
  if (!thing) return null;
  const change = (values: object): void => socket.edit({ kind: "objects", objects: objects.map((old, n) => (n === index ? { ...old, ...values } : old)) });
  const put = (old: Vec3, axis: number, value: number): number[] => old.map((number, n) => (n === axis ? value : number));
  return (
    <div class="card">
      <h3>{thing.kind === "ramp" ? "slope" : thing.kind}</h3>
      <Vector label="Place, m" value={thing.place} onChange={(axis, value) => change({ place: put(thing.place, axis, value) })} />
      <Vector label="Size, m" value={thing.size} onChange={(axis, value) => change({ size: put(thing.size, axis, Math.max(value, 0.02)) })} />
      <Number label="Turn, °" value={(thing.turn * 180) / Math.PI} step={5} onChange={(value) => change({ turn: (value * Math.PI) / 180 })} />
      {thing.kind === "stairs" && <Number label="Steps" value={thing.count ?? 1} step={1} onChange={(value) => change({ count: Math.min(Math.max(Math.round(value), 1), 100) })} />}
      {isPiece(thing) && <p class="hint">Drag it over the ground, or its knobs: red for its width, green for its height, blue for its depth. The motion follows when you let go.</p>}
      <Button icon="trash" label="Delete" text hint="Delete" onClick={commands.deleteSelected} />
    </div>
  );
}

function Vector({ label, value, onChange }: { label: string; value: Vec3; onChange: (axis: number, value: number) => void }) {
  return (
    <fieldset class="vector">
      <legend>{label}</legend>
      {["x", "y", "z"].map((axis, n) => (
        <label key={axis} class={`axis-${axis}`}>
          <span>{axis}</span>
          <input type="number" step={0.01} data-place={axis} value={((value[n] ?? 0) + 0).toFixed(3).replace(/^-(0\.0*)$/, "$1")} onChange={(event) => onChange(n, event.currentTarget.valueAsNumber || 0)} />
        </label>
      ))}
    </fieldset>
  );
}

function Number({ label, value, step, onChange }: { label: string; value: number; step: number; onChange: (value: number) => void }) {
  return (
    <label class="field stacked">
      <span>{label}</span>
      <input type="number" step={step} value={step < 1 ? value.toFixed(2) : Math.round(value)} onChange={(event) => onChange(event.currentTarget.valueAsNumber || 0)} />
    </label>
  );
}

function LastReport() {
  const report = store.doc.value?.report;
  if (!report) return null;
  return (
    <div class={`report ${report.solved ? "" : "unmet"}`} id="report">
      <strong>{report.meaning}</strong>
      <span class="faint">
        {report.method} · {(1000 * report.seconds).toFixed(0)} ms{report.worst !== null ? ` · worst ${report.worst.toFixed(2)} mm` : ""}
      </span>
      {report.notes.map((note) => (
        <p key={note} class="hint">
          {note}
        </p>
      ))}
    </div>
  );
}
