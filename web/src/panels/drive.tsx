// Blends, drive mode and live mode.
import { useSignal } from "@preact/signals";
import { held, keepAsClip, makeSet, press, startDriving, stopDriving } from "../drive";
import { Button } from "../icons";
import * as socket from "../socket";
import * as store from "../store";
import { Section } from "./parts";

const BLENDABLE = ["walk", "run", "sneak", "limp", "turn-left", "turn-right"];
const PORTS = { vmc: 39539, xsens: 9763, natnet: 1511, rokoko: 14043 };
const NAMES = { vmc: "VMC", xsens: "Xsens MVN", natnet: "OptiTrack NatNet", rokoko: "Rokoko Studio" };

export function DrivePanel() {
  return (
    <>
      <DriveSection />
      <LiveSection />
      <BlendSection />
    </>
  );
}

function DriveSection() {
  const mode = store.driving.value;
  const own = store.driveSource.value === "own";
  const choose = (source: "samples" | "own") => () => (store.driveSource.value = source);
  return (
    <Section title="Drive">
      <p class="hint">Drive the character by keys or a gamepad, on the ground of the scene: gaits blend in phase, feet stay planted.</p>
      <div class="segments" role="group" aria-label="Motions to drive">
        <button type="button" id="drive-samples" class={own ? "" : "on"} disabled={mode !== "off"} onClick={choose("samples")}>
          Samples
        </button>
        <button type="button" id="drive-own" class={own ? "on" : ""} disabled={mode !== "off"} onClick={choose("own")}>
          Your clips
        </button>
      </div>
      {own && mode === "off" && <OwnSet />}
      {mode === "drive" ? (
        <div class="row">
          <Button icon="close" label="Stop driving" text id="stop-driving" onClick={stopDriving} />
          <Button icon="save" label="Keep as a clip" text id="keep-drive" onClick={keepAsClip} />
        </div>
      ) : (
        (!own || store.ownSet.value) && <Button icon="drive" label={mode === "starting" ? "Preparing…" : "Drive"} text primary id="drive" disabled={mode !== "off"} onClick={() => startDriving("drive", { set: own ? "own" : "samples" })} />
      )}
      {own && mode === "off" && <FoundSet />}
      {(!own || mode === "drive") && (
        <div class="keys-pad">
          {store.driveKeys.value.map(({ key, label, what }) => (
            <button
              key={key}
              type="button"
              data-drive={what}
              class={`drive-key ${held.value.has(key) ? "on" : ""}`}
              disabled={mode !== "drive"}
              onPointerDown={() => press(key, true)}
              onPointerUp={() => press(key, false)}
              onPointerLeave={() => press(key, false)}
            >
              <kbd>{label}</kbd> <span>{what}</span>
            </button>
          ))}
        </div>
      )}
    </Section>
  );
}

/** A motion set of one's own clips: which ones, and what was found in them. */
function OwnSet() {
  const current = useSignal(!store.ownClips.peek().length);
  const left = useSignal<ReadonlySet<string>>(new Set());
  const clips = store.ownClips.value.filter(({ file }) => !left.value.has(file));
  const found = store.ownSet.value;
  const toggle = (file: string): void => {
    const next = new Set(left.peek());
    if (!next.delete(file)) next.add(file);
    left.value = next;
  };
  return (
    <>
      <label class="check">
        <input type="checkbox" checked={current.value} onChange={(event) => (current.value = event.currentTarget.checked)} />
        <span>this clip ({store.figure.value?.clip})</span>
      </label>
      {store.ownClips.value.map(({ file, name }) => (
        <label key={file} class="check">
          <input type="checkbox" checked={!left.value.has(file)} data-clip={name} onChange={() => toggle(file)} />
          <span>{name}</span>
        </label>
      ))}
      <p class="hint">Drop more clips on the page. Gaits, their loops and turns, idles and actions are found in them.</p>
      <Button icon="check" label="Make a drive set" text primary={!found} id="make-set" disabled={(!clips.length && !current.value) || store.pending.value > 0} onClick={() => makeSet(current.peek(), clips)} />
    </>
  );
}

/** What was found in one's own clips, and what is missing. */
function FoundSet() {
  const found = store.ownSet.value;
  return (
    <>
      {found && (
        <table class="numbers found" id="own-set">
          <tbody>
            {found.motions.map(({ name, kind, what }) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td>{kind}</td>
                <td>{what}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {found?.missing.map((text) => (
        <p key={text} class="warn">
          {text}
        </p>
      ))}
    </>
  );
}

function LiveSection() {
  const protocol = useSignal<keyof typeof PORTS>("vmc");
  const port = useSignal(PORTS.vmc);
  const mode = store.driving.value;
  const status = store.liveStatus.value;
  return (
    <Section title="Live">
      <p class="hint">A performer drives the character: poses arrive by UDP, feet and hands keep their contacts.</p>
      <div class="row">
        <label class="field stacked grow">
          <span>Protocol</span>
          <select
            id="live-protocol"
            value={protocol.value}
            onChange={(event) => {
              protocol.value = event.currentTarget.value as keyof typeof PORTS;
              port.value = PORTS[protocol.value];
            }}
          >
            {Object.entries(NAMES).map(([key, name]) => (
              <option key={key} value={key}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <label class="field stacked">
          <span>Port</span>
          <input id="live-port" type="number" min={1} max={65535} value={port.value} onInput={(event) => (port.value = event.currentTarget.valueAsNumber || 0)} />
        </label>
      </div>
      {mode === "live" ? (
        <div class="row">
          <Button icon="close" label="Stop listening" text id="stop-live" onClick={stopDriving} />
          <Button icon="save" label="Keep as a clip" text id="keep-live" onClick={keepAsClip} />
        </div>
      ) : (
        <Button icon="drive" label="Listen" text id="live" disabled={mode !== "off"} onClick={() => startDriving("live", { place: `${protocol.peek()}:${port.peek()}` })} />
      )}
      {mode === "live" && (
        <p class="hint" role="status" id="live-status">
          {status ? `${status.datagrams} datagrams · ${status.rate.toFixed(0)} poses/s · ${status.note}` : "listening…"}
        </p>
      )}
      {mode === "live" &&
        Object.entries(status?.matters ?? {}).map(([limb, value]) => (
          <label key={limb} class="field mix" title="Importance of its end effector: it touches something, or is about to">
            <span>{limb}</span>
            <meter min={0} max={1} value={value} />
            <output>{value.toFixed(2)}</output>
          </label>
        ))}
    </Section>
  );
}

function BlendSection() {
  const weights = useSignal<Record<string, number>>({});
  const own = useSignal(1);
  const chosen = Object.entries(weights.value).filter(([, weight]) => weight > 0);
  const slider = (name: string, value: number, set: (value: number) => void) => (
    <label key={name} class="field mix">
      <span>{name}</span>
      <input type="range" min={0} max={1} step={0.05} value={value} data-blend={name} onInput={(event) => set(event.currentTarget.valueAsNumber)} />
      <output>{Math.round(100 * value)}</output>
    </label>
  );
  return (
    <Section title="Blend">
      <p class="hint">Corresponding times and steps are registered, poses blended by weight, feet locked again.</p>
      {slider("this clip", own.value, (value) => (own.value = value))}
      {store.ownClips.value.map(({ file, name }) => (
        <label key={file} class="field mix">
          <span title={name}>{name}</span>
          <input type="range" min={0} max={1} step={0.05} value={weights.value[file] ?? 0} data-blend={name} onInput={(event) => (weights.value = { ...weights.peek(), [file]: event.currentTarget.valueAsNumber })} />
          <output>{Math.round(100 * (weights.value[file] ?? 0))}</output>
        </label>
      ))}
      {BLENDABLE.map((name) => slider(name, weights.value[name] ?? 0, (value) => (weights.value = { ...weights.peek(), [name]: value })))}
      <Button
        icon="check"
        label="Blend"
        text
        id="blend"
        disabled={!chosen.length}
        onClick={() => {
          const clips = chosen.map(([name]) => (name.includes("/") ? name : `sample:${name}`));
          const takes = clips.map((name) => store.ownClips.peek().find(({ file }) => file === name)?.take || null);
          socket.edit({ kind: "blend", clips, takes, weights: [own.peek(), ...chosen.map(([, weight]) => weight)] });
        }}
      />
    </Section>
  );
}
