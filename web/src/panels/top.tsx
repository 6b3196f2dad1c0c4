// The top bar: file, undo, saving, help.
import { useRef } from "preact/hooks";
import * as commands from "../commands";
import { Button, Icon } from "../icons";
import * as store from "../store";

const FORMATS = { glb: "GLB", bvh: "BVH", fbx: "FBX", usda: "USD", npz: "NPZ" };

export function TopBar() {
  const chooser = useRef<HTMLInputElement>(null);
  const doc = store.doc.value;
  const figure = store.figure.value;
  return (
    <header class="top">
      <div class="brand">
        <img src="static/icon.svg" alt="" width="22" height="22" />
        <strong>Footplant</strong>
      </div>
      <div class="file">
        <span class="clip-name">{figure?.clip ?? "…"}</span>
        {doc?.unsaved && (
          <span class="unsaved" title="Unsaved edits; the journal contains them">
            unsaved
          </span>
        )}
        {figure && figure.notes.length > 0 && (
          <button type="button" class="chip" id="notes" title="What the reader of the file noticed" onClick={() => (store.notesShown.value = true)}>
            {figure.notes.length === 1 ? "1 note" : `${figure.notes.length} notes`}
          </button>
        )}
        {doc && doc.conflicts.length > 0 && (
          <button type="button" class="chip wrong-chip" id="conflicts" onClick={() => showConflicts()}>
            {doc.conflicts.length === 1 ? "1 conflict" : `${doc.conflicts.length} conflicts`}
          </button>
        )}
        <span class="faint">
          {figure ? `${figure.character.name} · ${figure.frames} frames · ${Number(figure.fps.toFixed(2))} fps` : ""}
        </span>
      </div>
      <div class="spring" />
      {!store.connected.value && (
        <span class="away" role="status">
          {store.stranger.value ? "The editor was started again: use its new page." : "The server is away…"}
        </span>
      )}
      <div class="group">
        <Button icon="undo" label="Undo" hint="Ctrl Z" id="undo" disabled={!doc || doc.position === 0} onClick={commands.undo} />
        <Button icon="redo" label="Do again" hint="Ctrl Y" id="redo" disabled={!doc || doc.position >= doc.history.length} onClick={commands.redo} />
      </div>
      <div class="group">
        <Button icon="open" label="Open" text hint="or drop a file" onClick={() => chooser.current?.click()} />
        <Button icon="save" label="Save" text hint="Ctrl S, as .footplant" id="save" onClick={() => void commands.download("footplant")} />
      </div>
      <div class="group joined">
        <label>
          <span class="visually-hidden">Format to export</span>
          <select id="export-format" value={store.exportFormat.value} onChange={(event) => (store.exportFormat.value = event.currentTarget.value)}>
            {Object.entries(FORMATS).map(([key, name]) => (
              <option key={key} value={key}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <button type="button" id="export" class="button with-text primary" title="Export (Ctrl E)" onClick={() => void commands.download(store.exportFormat.peek())}>
          <Icon name="download" />
          <span>Export</span>
        </button>
      </div>
      <div class="group">
        <Button icon="camera" label="Save a picture" id="picture" onClick={() => void commands.savePicture()} />
        <Button icon="video" label={store.recording.value ? "Recording…" : "Save a video (WebM)"} id="video" on={store.recording.value} onClick={() => void commands.saveVideo()} />
        <Button icon="sun" label="Light or dark" id="theme" on={store.theme.value === "light"} onClick={() => (store.theme.value = store.theme.peek() === "light" ? "dark" : "light")} />
      </div>
      <Button icon="help" label="Keys" hint="?" id="help" onClick={() => (store.help.value = true)} />
      <input
        ref={chooser}
        type="file"
        hidden
        multiple
        aria-label="File to open"
        onChange={(event) => {
          void commands.receive([...(event.currentTarget.files ?? [])]);
          event.currentTarget.value = "";
        }}
      />
    </header>
  );
}

function showConflicts(): void {
  store.tab.value = "edit";
  const first = store.doc.peek()?.conflicts[0];
  const id = first?.steps[0] ?? first?.marks[0];
  if (id !== undefined) store.selection.value = { kind: "mark", id };
}
