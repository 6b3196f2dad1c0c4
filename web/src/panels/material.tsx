// Your own material: files that were dropped, takes, and the mapping of roles for characters that are not understood.
import { useSignal } from "@preact/signals";
import * as commands from "../commands";
import { declareFile } from "../crowd";
import { Button, Icon } from "../icons";
import * as store from "../store";

export function Dropped() {
  const now = store.dropped.value;
  if (!now) return null;
  const close = (): void => {
    store.dropped.value = null;
  };
  const clips = (now.found ?? []).filter(commands.isOwnClip);
  const title = now.names.length === 1 ? (now.names[0] ?? "") : `${now.names.length} files`;
  return (
    <div class="veil">
      <div class="dialog" role="dialog" aria-label="What to do with the file" aria-modal="true">
        <header>
          <h2>{title}</h2>
          <Button icon="close" label="Close" hint="Esc" onClick={close} />
        </header>
        {now.found === null && <p class="hint">Reading…</p>}
        {clips.length > 1 && (
          <div class="choices">
            <button type="button" id="drop-set" class="choice first" onClick={() => commands.driveDropped(clips)}>
              <Icon name="drive" size={26} />
              <strong>Drive with these {clips.length} clips</strong>
              <span>Find gaits, turns, idles and actions in them.</span>
            </button>
            <button type="button" id="drop-offer" class="choice" onClick={() => commands.offerClips(clips)}>
              <Icon name="compare" size={26} />
              <strong>Offer all of them</strong>
              <span>For blends and drive sets, in the panel Drive, and for crowds.</span>
            </button>
          </div>
        )}
        {now.found?.map((file, n) => (
          <DroppedEntry key={file.file} file={file} several={(now.found?.length ?? 0) > 1} first={n === 0} />
        ))}
      </div>
    </div>
  );
}

function facts(file: commands.DroppedFile): string {
  if (file.robot) return "a robot";
  const frames = file.frames === 1 ? "one pose" : `${file.frames} frames`;
  if (file.markers) return `${frames} of optical markers, solved when it is opened`;
  const what = file.human ? (file.skinned ? "a skinned character" : "a skeleton") : "not understood as a humanoid";
  return file.frames ? `${frames}, ${what}` : what;
}

function DroppedEntry({ file, several, first }: { file: commands.DroppedFile; several: boolean; first: boolean }) {
  const keep = useSignal(false);
  const take = useSignal(0);
  const moving = file.frames > 1 && !/\.(glb|gltf|vrm)$/i.test(file.file);
  const id = (name: string): { id?: string } => (first ? { id: name } : {});
  return (
    <section class="dropped-entry">
      <p class="hint">
        {several && <strong>{file.file.split("/")[1]}: </strong>}
        {facts(file)}
      </p>
      {file.takes.length > 1 && (
        <label class="field stacked">
          <span>Take</span>
          <select {...id("take")} value={String(take.value)} onChange={(event) => (take.value = Number(event.currentTarget.value))}>
            {file.takes.map((entry, n) => (
              <option key={n} value={String(n)}>
                {entry.name || `take ${n + 1}`} ({entry.frames} frames)
              </option>
            ))}
          </select>
        </label>
      )}
      <div class="choices">
        {!file.markers && (
          <button type="button" {...id("drop-retarget")} class={`choice ${moving ? "" : "first"}`} onClick={() => (file.human ? commands.retargetDropped(file, keep.peek()) : map(file, "retarget"))}>
            <Icon name="person" size={26} />
            <strong>Retarget to it</strong>
            <span>{file.human ? "Put this motion on the character in the file, feet planted." : "Say which joint is which first."}</span>
          </button>
        )}
        {file.frames > 0 && !file.robot && (
          <button type="button" {...id("drop-open")} class={`choice ${moving ? "first" : ""}`} onClick={() => commands.openDropped(file, take.peek())}>
            <Icon name="open" size={26} />
            <strong>Open it</strong>
            <span>{file.markers ? "Solve the markers, then edit the motion." : "Edit the motion in the file instead."}</span>
          </button>
        )}
        {commands.isOwnClip(file) && (
          <button type="button" {...id("drop-blend")} class="choice" onClick={() => commands.offerClips([file], take.peek())}>
            <Icon name="compare" size={26} />
            <strong>Blend or drive with it</strong>
            <span>Offer it beside the samples in the panels Drive and Crowd.</span>
          </button>
        )}
        {store.crowd.value && file.human && !file.markers && !file.robot && (
          <button type="button" {...id("drop-crowd")} class="choice" onClick={() => declareFile(file, take.peek())}>
            <Icon name="people" size={26} />
            <strong>Offer it to the crowd</strong>
            <span>{file.frames > 1 ? "As a body and a motion of its actors." : "As a body of its actors."}</span>
          </button>
        )}
        {file.frames > 0 && !file.robot && (
          <button type="button" {...id("drop-add")} class="choice" onClick={() => commands.addDropped(file, take.peek())}>
            <Icon name="people" size={26} />
            <strong>Add it beside</strong>
            <span>Another character in this scene.</span>
          </button>
        )}
        {!file.robot && !file.markers && (
          <button type="button" {...id("drop-map")} class="choice" onClick={() => map(file, file.frames > 1 ? "open" : "retarget")}>
            <Icon name="bones" size={26} />
            <strong>Map its joints</strong>
            <span>See and correct which joint is which.</span>
          </button>
        )}
      </div>
      {!file.markers && (
        <label class="check">
          <input type="checkbox" checked={keep.value} onChange={(event) => (keep.value = event.currentTarget.checked)} />
          <span>Keep footsteps when retargeting</span>
        </label>
      )}
    </section>
  );
}

function map(file: commands.DroppedFile, use: "retarget" | "open"): void {
  store.dropped.value = null;
  store.mapping.value = { file, use };
}

/** Roles on a picture of a body: where each field stands, in percent of the picture. */
const BODY: [role: string, label: string, x: number, y: number][] = [
  ["head", "Head", 50, 4],
  ["neck", "Neck", 50, 13],
  ["spine", "Spine", 50, 27],
  ["hips", "Hips", 50, 41],
  ...(["left", "right"] as const).flatMap((side): [string, string, number, number][] => {
    const at = (right: number): number => (side === "right" ? right : 100 - right);
    const name = side === "left" ? "Left" : "Right";
    return [
      [`${side}_clavicle`, `${name} clavicle`, at(24), 16],
      [`${side}_upper_arm`, `${name} upper arm`, at(17), 24.5],
      [`${side}_lower_arm`, `${name} forearm`, at(13), 34],
      [`${side}_hand`, `${name} hand`, at(11), 43],
      [`${side}_upper_leg`, `${name} thigh`, at(26), 53],
      [`${side}_lower_leg`, `${name} shin`, at(26), 66],
      [`${side}_foot`, `${name} foot`, at(26), 80],
      [`${side}_toes`, `${name} toes`, at(26), 91],
    ];
  }),
];
const NEEDED = ["hips", "left_upper_leg", "left_lower_leg", "left_foot", "right_upper_leg", "right_lower_leg", "right_foot"];

/** Which joint plays which role, on a picture of a body. */
export function Mapping() {
  const now = store.mapping.value;
  return now ? <MappingDialog key={now.file.file} file={now.file} use={now.use} /> : null;
}

function MappingDialog({ file, use }: { file: commands.DroppedFile; use: "retarget" | "open" }) {
  const roles = useSignal<Record<string, string>>({ ...file.roles });
  const close = (): void => {
    store.mapping.value = null;
  };
  const missing = NEEDED.filter((role) => !roles.value[role]);
  const apply = (): void => {
    const said = Object.fromEntries(Object.entries(roles.peek()).filter(([role, joint]) => joint && joint !== file.roles[role]));
    close();
    const changed = Object.keys(said).length ? said : null;
    if (use === "open") commands.openDropped(file, 0, changed);
    else commands.retargetDropped(file, false, changed);
  };
  return (
    <div class="veil">
      <div class="dialog wide" role="dialog" aria-label="Which joint is which" aria-modal="true">
        <header>
          <h2>{file.name}: which joint is which</h2>
          <Button icon="close" label="Close" hint="Esc" onClick={close} />
        </header>
        {file.why && <p class="warn">{file.why}</p>}
        <div class="body-map">
          <svg viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true">
            <path d="M50 8 L50 40 M50 40 L38 53 L38 66 L38 84 M50 40 L62 53 L62 66 L62 84 M50 16 L34 20 L30 34 L28 46 M50 16 L66 20 L70 34 L72 46" />
          </svg>
          {BODY.map(([role, label, x, y]) => (
            <label key={role} class={`role ${roles.value[role] ? "" : NEEDED.includes(role) ? "missing" : "empty"}`} style={{ left: `${x}%`, top: `${y}%` }}>
              <span>{label}</span>
              <select data-role={role} value={roles.value[role] ?? ""} onChange={(event) => (roles.value = { ...roles.peek(), [role]: event.currentTarget.value })}>
                <option value="">–</option>
                {file.joints.map((joint) => (
                  <option key={joint} value={joint}>
                    {joint}
                  </option>
                ))}
              </select>
            </label>
          ))}
        </div>
        <footer class="row">
          <span class="hint grow">{missing.length ? `Still needed: ${missing.map(store.spoken).join(", ")}` : "Confirm, and look at the result: undo brings you back."}</span>
          <Button icon="check" label={use === "open" ? "Open it like this" : "Retarget like this"} text primary id="map-confirm" disabled={missing.length > 0} onClick={apply} />
        </footer>
      </div>
    </div>
  );
}

/** What the reader of the file noticed, in full. */
export function Notes() {
  const notes = store.figure.value?.notes ?? [];
  if (!store.notesShown.value) return null;
  const close = (): void => {
    store.notesShown.value = false;
  };
  return (
    <div class="veil" onClick={close}>
      <div class="dialog" role="dialog" aria-label="Notes of the import" aria-modal="true" onClick={(event) => event.stopPropagation()}>
        <header>
          <h2>Notes of the import</h2>
          <Button icon="close" label="Close" hint="Esc" onClick={close} />
        </header>
        <ul class="notes">
          {notes.map((note) => (
            <li key={note}>{note}</li>
          ))}
        </ul>
      </div>
    </div>
  );
}
