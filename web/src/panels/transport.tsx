// Playback controls, current frame and time, timeline zoom.
import * as commands from "../commands";
import { Button } from "../icons";
import * as store from "../store";
import { zoomTimeline } from "../timeline/timeline";
import { inSeconds } from "../timeline/view";

const SPEEDS = [0.1, 0.25, 0.5, 1, 2];

export function Transport() {
  const seconds = (store.readFrame.value / store.fps.value).toFixed(2);
  return (
    <div class="transport" role="toolbar" aria-label="Playback">
      <div class="group">
        <Button icon="first" label="First frame" hint="Home" onClick={() => store.goTo(0)} />
        <Button icon="previous" label="One frame back" hint="←" onClick={() => commands.step(-1)} />
        <Button icon={store.playing.value ? "pause" : "play"} label={store.playing.value ? "Pause" : "Play"} hint="Space" id="play" on={store.playing.value} onClick={commands.playOrPause} />
        <Button icon="next" label="One frame on" hint="→" onClick={() => commands.step(1)} />
        <Button icon="last" label="Last frame" hint="End" onClick={() => store.goTo(store.frames.peek())} />
        <Button icon="loop" label="Loop" hint="L" on={store.looping.value} onClick={() => (store.looping.value = !store.looping.peek())} />
      </div>
      <label class="field">
        <span>Speed</span>
        <select id="speed" value={String(store.speed.value)} onChange={(event) => (store.speed.value = Number(event.currentTarget.value))}>
          {SPEEDS.map((value) => (
            <option key={value} value={String(value)}>
              {value}×
            </option>
          ))}
        </select>
      </label>
      <label class="field">
        <span>Frame</span>
        <input id="frame" class="number" type="number" min={0} max={store.frames.value - 1} value={store.readFrame.value} onChange={(event) => store.goTo(Number(event.currentTarget.value))} />
      </label>
      <span class="clock" aria-live="off">
        {seconds} s <span class="faint">of {((store.frames.value - 1) / store.fps.value).toFixed(2)} s</span>
      </span>
      <div class="spring" />
      <Influence />
      <div class="group">
        <button type="button" class="button with-text" aria-pressed={inSeconds.value} title="Ruler in frames or seconds" onClick={() => (inSeconds.value = !inSeconds.peek())}>
          <span>{inSeconds.value ? "Seconds" : "Frames"}</span>
        </button>
        <Button icon="minus" label="Zoom out" hint="−" onClick={() => zoomTimeline(1 / 1.4)} />
        <Button icon="plus" label="Zoom in" hint="+" onClick={() => zoomTimeline(1.4)} />
      </div>
    </div>
  );
}

function Influence() {
  const seconds = (store.reach.value / store.fps.value).toFixed(2);
  return (
    <label class="field influence" title="Extent of an edit to either side: seven knots in total ([ and ])">
      <span>Influence</span>
      <input id="spacing" type="range" min={1} max={32} step={1} value={store.spacing.value} onInput={(event) => (store.spacing.value = Number(event.currentTarget.value))} />
      <output>±{seconds} s</output>
    </label>
  );
}
