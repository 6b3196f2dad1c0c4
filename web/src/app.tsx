// Page layout: top bar, tools, viewport, panels, bottom dock.
import type { IconName } from "./icons";
import { Icon } from "./icons";
import { CrowdPanel } from "./panels/crowd";
import { DrivePanel } from "./panels/drive";
import { EditPanel } from "./panels/edit";
import { Dropped, Mapping, Notes } from "./panels/material";
import { Help, Progress, Recovery, Toasts } from "./panels/over";
import { CharacterPanel, ComparePanel, HistoryPanel, PaneLabels, QualityPanel, ScenePanel } from "./panels/side";
import { StackPanel } from "./panels/stack";
import { Tools } from "./panels/tools";
import { TopBar } from "./panels/top";
import { Transport } from "./panels/transport";
import { Plots } from "./plots";
import { askCurves } from "./socket";
import * as store from "./store";
import { Timeline } from "./timeline/timeline";
import { Viewport } from "./view/viewport";

const TABS: [store.Tab, IconName, string, () => preact.JSX.Element][] = [
  ["edit", "edit", "Edit", EditPanel],
  ["stack", "stack", "Stack", StackPanel],
  ["character", "person", "Figure", CharacterPanel],
  ["scene", "terrain", "Scene", ScenePanel],
  ["compare", "compare", "A/B", ComparePanel],
  ["quality", "table", "Quality", QualityPanel],
  ["drive", "drive", "Drive", DrivePanel],
  ["crowd", "people", "Crowd", CrowdPanel],
  ["history", "history", "History", HistoryPanel],
];

export function App() {
  const Panel = TABS.find(([name]) => name === store.tab.value)?.[3] ?? EditPanel;
  return (
    <div class={`page ${store.show.curves.value ? "with-curves" : ""}`} data-theme={store.theme.value}>
      <TopBar />
      <Tools />
      <main class="stage">
        <Viewport />
        <PaneLabels />
        <Recovery />
        <Progress />
        <Toasts />
      </main>
      <aside class="side">
        <div class="tabs" role="tablist" aria-label="Panels">
          {TABS.map(([name, icon, label]) => (
            <button key={name} type="button" role="tab" id={`tab-${name}`} aria-selected={store.tab.value === name} class={store.tab.value === name ? "on" : ""} onClick={() => (store.tab.value = name)}>
              <Icon name={icon} size={17} />
              <span>{label}</span>
            </button>
          ))}
        </div>
        <div class="panel" role="tabpanel" aria-labelledby={`tab-${store.tab.value}`}>
          <Panel />
        </div>
      </aside>
      <section class="dock" aria-label="Timeline">
        <Transport />
        <Timeline />
        {store.show.curves.value && <Plots ask={askCurves} />}
      </section>
      <Help />
      <Dropped />
      <Mapping />
      <Notes />
    </div>
  );
}
