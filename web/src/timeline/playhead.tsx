// The playhead: an element of its own, so that playing moves it and does not draw the whole timeline again.
import { useSignalEffect } from "@preact/signals";
import { useRef } from "preact/hooks";
import * as store from "../store";
import { xOf } from "./layout";
import { timelineView } from "./view";

export function Playhead() {
  const mark = useRef<HTMLDivElement>(null);
  useSignalEffect(() => {
    const [view, frame, target] = [timelineView.value, store.frame.value, mark.current];
    if (!view || !target) return;
    const x = Math.round(xOf(view, frame));
    target.style.visibility = x < view.gutter ? "hidden" : "visible";
    target.style.transform = `translateX(${x}px)`;
  });
  return <div ref={mark} class="playhead" aria-hidden="true" />;
}
