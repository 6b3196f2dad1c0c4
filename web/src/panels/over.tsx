// Overlays: progress, messages, shortcuts, dropped files, recovery.
import { useSignal } from "@preact/signals";
import * as commands from "../commands";
import { Button, Icon } from "../icons";
import { KEYS } from "../keys";
import * as socket from "../socket";
import * as store from "../store";

export function Progress() {
  const now = store.progress.value;
  if (!now) return null;
  return (
    <div class="progress" role="status">
      <span>{now.label || "working"}</span>
      <progress max={1} value={now.share} />
      <Button icon="close" label="Cancel" hint="Esc" onClick={() => socket.ask({ do: "cancel" })} />
    </div>
  );
}

export function Toasts() {
  return (
    <div class="toasts" aria-live="polite">
      {store.toasts.value.map((entry) => (
        <div key={entry.id} class={`toast ${entry.kind}`} role={entry.kind === "error" ? "alert" : "status"}>
          <span>{entry.text}</span>
          <button type="button" aria-label="Close the message" onClick={() => store.closeToast(entry.id)}>
            <Icon name="close" size={14} />
          </button>
        </div>
      ))}
    </div>
  );
}

export function Help() {
  if (!store.help.value) return null;
  const groups = [...new Set(KEYS.map((key) => key.group))];
  return (
    <div class="veil" onClick={() => (store.help.value = false)}>
      <div class="dialog wide" role="dialog" aria-label="Keys" aria-modal="true" onClick={(event) => event.stopPropagation()}>
        <header>
          <h2>Keys</h2>
          <Button icon="close" label="Close" hint="Esc" onClick={() => (store.help.value = false)} />
        </header>
        <div class="key-groups">
          {groups.map((group) => (
            <section key={group}>
              <h3>{group}</h3>
              <dl>
                {KEYS.filter((key) => key.group === group).map((key) => (
                  <div key={key.keys}>
                    <dt>
                      {key.keys.split("  ").map((part) => (
                        <kbd key={part}>{part}</kbd>
                      ))}
                    </dt>
                    <dd>{key.what}</dd>
                  </div>
                ))}
              </dl>
            </section>
          ))}
          <section>
            <h3>Mouse</h3>
            <dl>
              {[
                ["Drag a joint", "move it, the clip follows"],
                ["Drag elsewhere", "rotate the camera"],
                ["Right drag", "pan"],
                ["Wheel", "zoom"],
                ["Double-click a track", "add a footplant or a pin"],
              ].map(([how, what]) => (
                <div key={how}>
                  <dt>{how}</dt>
                  <dd>{what}</dd>
                </div>
              ))}
            </dl>
          </section>
        </div>
      </div>
    </div>
  );
}

export function Dropped() {
  const keep = useSignal(false);
  const now = store.dropped.value;
  if (!now) return null;
  const close = (): void => {
    store.dropped.value = null;
  };
  const moving = /\.(bvh|amc|npz|footplant|vrma)$/i.test(now.file.name);
  return (
    <div class="veil">
      <div class="dialog" role="dialog" aria-label="What to do with the file" aria-modal="true">
        <header>
          <h2>{now.file.name}</h2>
          <Button icon="close" label="Close" hint="Esc" onClick={close} />
        </header>
        <div class="choices">
          <button
            type="button"
            id="drop-retarget"
            class={`choice ${moving ? "" : "first"}`}
            onClick={() => {
              close();
              void commands.retargetTo(now.file, keep.peek());
            }}
          >
            <Icon name="person" size={26} />
            <strong>Retarget to it</strong>
            <span>Put this motion on the character in the file, feet planted.</span>
          </button>
          <button
            type="button"
            id="drop-open"
            class={`choice ${moving ? "first" : ""}`}
            onClick={() => {
              if (store.doc.peek()?.unsaved && !confirm("There are unsaved edits. Open another clip?")) return;
              close();
              void commands.openFile(now.file);
            }}
          >
            <Icon name="open" size={26} />
            <strong>Open it</strong>
            <span>Edit the motion in the file instead.</span>
          </button>
        </div>
        <label class="check">
          <input type="checkbox" checked={keep.value} onChange={(event) => (keep.value = event.currentTarget.checked)} />
          <span>Keep footsteps when retargeting</span>
        </label>
      </div>
    </div>
  );
}

export function Recovery() {
  const left = store.figure.value?.left ?? [];
  const first = left[0];
  if (!first || (store.doc.value?.history.length ?? 0) > 0) return null;
  const when = new Date(1000 * first.ended).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
  return (
    <div class="recovery" role="alertdialog" aria-label="Unsaved edits">
      <Icon name="history" />
      <span>
        {first.edits === 1 ? "One edit" : `${first.edits} edits`} from {when} {first.edits === 1 ? "was" : "were"} not saved.
      </span>
      <Button label="Recover" text primary id="recover" onClick={() => socket.ask({ do: "recover", journal: first.journal })} />
      <Button label="Discard" text onClick={() => socket.ask({ do: "forget", journal: first.journal })} />
    </div>
  );
}
