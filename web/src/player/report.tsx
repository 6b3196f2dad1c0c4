// The panel on the right: what the report says, and every footplant.
import { Section } from "../panels/parts";
import * as store from "../store";
import { COLOURS, content, current, focus, focused, marksOf, open, scene } from "./show";
import type { Plant, Table } from "./data";

const FEW = 12;

export function ReportPanel() {
  const shown = current();
  const report = shown?.report ?? null;
  return (
    <>
      {report && (
        <Section title="Report">
          <div class={`report ${report.solved ? "" : "unmet"}`}>
            <strong>{report.status}</strong>
            <span>{report.meaning}</span>
            {report.drifts.map((text) => (
              <span key={text}>{text}</span>
            ))}
            <span class="faint">
              {report.method}, {report.seconds.toFixed(2)} s
            </span>
          </div>
          {report.not_right.length > 0 && (
            <ul class="wrong">
              {report.not_right.map((text) => (
                <li key={text}>{text}</li>
              ))}
            </ul>
          )}
        </Section>
      )}
      {report?.tables.slice(0, 1).map((table) => <Section key={table.title} title={table.title}><Rows table={table} /></Section>)}
      <Footplants />
      {report?.tables.slice(1).map((table) => (
        <details key={table.title} class="section">
          <summary>{table.title}</summary>
          <Rows table={table} />
        </details>
      ))}
      {report && report.notes.length > 0 && (
        <Section title="Notes">
          <ul class="notes">
            {report.notes.map((text) => (
              <li key={text}>{text}</li>
            ))}
          </ul>
        </Section>
      )}
      <Section title="Keys">
        <p class="hint">
          <kbd>Space</kbd> play · <kbd>←</kbd> <kbd>→</kbd> step, with Shift ten · <kbd>F</kbd> frame · <kbd>Z</kbd> feet · <kbd>S</kbd> side by side or overlaid · <kbd>B</kbd> bones · <kbd>G</kbd> footprints · <kbd>T</kbd> trails · <kbd>C</kbd> follow · <kbd>V</kbd> curves · <kbd>R</kbd> report. Drag to orbit, right-drag to pan, scroll to zoom.
        </p>
      </Section>
    </>
  );
}

export function Rows({ table }: { table: Table }) {
  return (
    <table class="numbers">
      <thead>
        <tr>
          {table.head.map((cell, n) => (
            <th key={n} scope="col">
              {cell}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {table.rows.map((row, n) => (
          <tr key={n} class={row.includes("beyond") || row.includes("not met") ? "bad" : ""}>
            {row.map((cell, k) => (k ? <td key={k}>{cell}</td> : <th key={k} scope="row">{cell}</th>))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Footplants of the figure in focus, the worst first; a click goes there. */
function Footplants() {
  const figure = focused();
  if (!figure?.marks.length) return null;
  const marks = marksOf(figure, store.fps.value).sort((a, b) => b.drift - a.drift);
  const drifting = marks.filter((mark) => mark.wrong).length;
  const go = (mark: Plant): void => {
    store.playing.value = false;
    store.goTo((mark.start + mark.end) / 2);
  };
  return (
    <Section title={`Footplants of ${figure.label}`}>
      <p class="hint">
        {marks.length} in all, {drifting ? <b class="drifts">{drifting} drift</b> : "none drifts"}. Drift: the largest horizontal distance from the mean position during the contact.
      </p>
      <ul class="list plants">
        {marks.slice(0, FEW).map((mark) => (
          <li key={mark.id}>
            <button type="button" onClick={() => go(mark)}>
              <i style={{ background: mark.wrong ? store.WRONG : store.TRACK_COLOURS[mark.track] }} />
              <span>{store.spoken(String(mark.point))}</span>
              <small>
                {mark.start}–{mark.end - 1}
              </small>
              <b class={mark.wrong ? "drifts" : ""}>{mark.drift < 10 ? mark.drift.toFixed(2) : mark.drift.toFixed(0)} mm</b>
            </button>
          </li>
        ))}
      </ul>
    </Section>
  );
}

/** The scenes of a page with several, and the table of all. */
export function Scenes() {
  const header = content.value?.header;
  if (!header || header.scenes.length < 2) return null;
  return (
    <nav class="scenes" aria-label="Scenes">
      {header.scenes.map((entry, n) => {
        const [before, after] = [entry.figures.find((figure) => figure.kind === "unsolved")?.worst, entry.figures.at(-1)?.worst];
        return (
          <button key={n} type="button" class={scene.value === n ? "on" : ""} aria-pressed={scene.value === n} onClick={() => open(n)}>
            <span>{entry.name}</span>
            <small>
              {before != null && <em style={{ color: COLOURS.unsolved }}>{millimetres(before)} copied</em>}
              {after != null && <em style={{ color: COLOURS.result }}>{millimetres(after)} drift</em>}
            </small>
          </button>
        );
      })}
      {header.summary && (
        <details class="summary">
          <summary>{header.summary.title}</summary>
          <Rows table={header.summary} />
        </details>
      )}
    </nav>
  );
}

export function millimetres(value: number): string {
  if (value < 0.05) return "0 mm";
  return `${value < 10 ? value.toFixed(1) : value.toFixed(0)} mm`;
}

export function chooseFocus(n: number): void {
  focus.value = n;
}
