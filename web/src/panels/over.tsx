// Overlays: progress, messages, shortcuts, dropped files, recovery.
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
                ["Drag a footprint", "move the whole step"],
                ["Drag a key", "move it in time"],
                ["Double-click a track", "add a footstep or a pin"],
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
      {first.name && <strong>{first.name}</strong>}
      <Button label="Recover" text primary id="recover" onClick={() => socket.ask({ do: "recover", journal: first.journal })} />
      <Button label="Discard" text onClick={() => socket.ask({ do: "forget", journal: first.journal })} />
    </div>
  );
}
