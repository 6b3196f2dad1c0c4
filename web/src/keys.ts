// Keyboard shortcuts, and the table shown by `?`.
import * as commands from "./commands";
import { driveKey } from "./drive";
import * as store from "./store";
import { zoomTimeline } from "./timeline/timeline";
import { view } from "./view/viewport";

interface Key {
  keys: string;
  what: string;
  group: "Play" | "Edit" | "View" | "File";
  test: (event: KeyboardEvent) => boolean;
  act: (event: KeyboardEvent) => void;
}

const plain = (key: string) => (event: KeyboardEvent) => event.key.toLowerCase() === key && !event.ctrlKey && !event.metaKey && !event.altKey;
const control = (key: string, shift = false) => (event: KeyboardEvent) => event.key.toLowerCase() === key && (event.ctrlKey || event.metaKey) && event.shiftKey === shift;
const toggle = (name: store.Shown) => () => {
  store.show[name].value = !store.show[name].peek();
};

export const KEYS: readonly Key[] = [
  { keys: "Space", what: "Play or pause", group: "Play", test: plain(" "), act: commands.playOrPause },
  { keys: "← →", what: "One frame back or forward; with Shift ten", group: "Play", test: (e) => e.key === "ArrowLeft" || e.key === "ArrowRight", act: (e) => commands.step((e.key === "ArrowLeft" ? -1 : 1) * (e.shiftKey ? 10 : 1)) },
  { keys: "Home  End", what: "First or last frame", group: "Play", test: (e) => e.key === "Home" || e.key === "End", act: (e) => store.goTo(e.key === "Home" ? 0 : store.frames.peek()) },
  { keys: "L", what: "Loop", group: "Play", test: plain("l"), act: () => (store.looping.value = !store.looping.peek()) },
  { keys: "Ctrl Z", what: "Undo", group: "Edit", test: control("z"), act: commands.undo },
  { keys: "Ctrl Y", what: "Do again", group: "Edit", test: (e) => control("y")(e) || control("z", true)(e), act: commands.redo },
  { keys: "G", what: "Move the selection", group: "Edit", test: plain("g"), act: () => (store.mode.value = "translate") },
  { keys: "R", what: "Rotate the selection", group: "Edit", test: plain("r"), act: () => (store.mode.value = "rotate") },
  { keys: "P", what: "Pin the selected point here", group: "Edit", test: plain("p"), act: commands.pinHere },
  { keys: "Delete", what: "Delete the selected bar, key or object", group: "Edit", test: (e) => e.key === "Delete" || e.key === "Backspace", act: commands.deleteSelected },
  { keys: "[  ]", what: "Smaller or larger influence", group: "Edit", test: (e) => e.key === "[" || e.key === "]", act: (e) => (store.spacing.value = Math.min(Math.max(store.spacing.peek() + (e.key === "[" ? -1 : 1), 1), 32)) },
  { keys: "1 – 9", what: "Solve the clip by that method", group: "Edit", test: (e) => /^[1-9]$/.test(e.key) && !e.ctrlKey && !e.metaKey, act: (e) => solveNumber(Number(e.key)) },
  { keys: "Tab", what: "Next joint; with Shift the previous", group: "Edit", test: (e) => e.key === "Tab" && (e.target as HTMLElement)?.classList?.contains("viewport"), act: (e) => nextJoint(e.shiftKey ? -1 : 1) },
  { keys: "M", what: "Next footstep or pin; with Shift the previous", group: "Edit", test: plain("m"), act: (e) => nextMark(e.shiftKey ? -1 : 1) },
  { keys: "S", what: "Split the selected footstep here", group: "Edit", test: plain("s"), act: commands.splitHere },
  { keys: "J", what: "Join the selected footstep with the next", group: "Edit", test: plain("j"), act: commands.joinNext },
  { keys: "Ctrl C  Ctrl V", what: "Copy and paste the selected key, else the pose", group: "Edit", test: (e) => control("c")(e) || control("v")(e), act: (e) => (e.key.toLowerCase() === "c" ? commands.copy() : commands.paste()) },
  { keys: "Esc", what: "Stop: cancel a drag or a solve, stop playing, clear the selection", group: "Edit", test: (e) => e.key === "Escape", act: commands.escape },
  { keys: "F", what: "Frame the character", group: "View", test: plain("f"), act: () => view.theatre?.frameFigure() },
  { keys: "F1 – F4", what: "Camera: front, side, top, three-quarter", group: "View", test: (e) => /^F[1-4]$/.test(e.key), act: (e) => view.theatre?.preset((["front", "side", "top", "quarter"] as const)[Number(e.key[1]) - 1] ?? "quarter") },
  { keys: "N", what: "Onion skin: poses before and after", group: "View", test: plain("n"), act: toggle("onion") },
  { keys: "C", what: "Camera follows", group: "View", test: plain("c"), act: toggle("follow") },
  { keys: "B", what: "Bones", group: "View", test: plain("b"), act: toggle("bones") },
  { keys: "O", what: "Ghost of the original", group: "View", test: plain("o"), act: toggle("ghost") },
  { keys: "T", what: "Trails of hands and feet", group: "View", test: plain("t"), act: toggle("trails") },
  { keys: "W", what: "Editable path on the ground", group: "View", test: plain("w"), act: toggle("path") },
  { keys: "V", what: "Curves", group: "View", test: plain("v"), act: toggle("curves") },
  { keys: "+  −", what: "Zoom the timeline", group: "View", test: (e) => ["+", "=", "-"].includes(e.key) && !e.ctrlKey, act: (e) => zoomTimeline(e.key === "-" ? 1 / 1.4 : 1.4) },
  { keys: "Ctrl S", what: "Save as a project", group: "File", test: control("s"), act: () => void commands.download("footplant") },
  { keys: "Ctrl E", what: "Export", group: "File", test: control("e"), act: () => void commands.download(store.exportFormat.peek()) },
  { keys: "?", what: "These keys", group: "File", test: (e) => e.key === "?", act: () => (store.help.value = !store.help.peek()) },
];

/** Keys of the group Edit that a crowd has a use for. */
const IN_CROWDS = ["Delete", "Esc"];

function solveNumber(number: number): void {
  const name = store.figure.peek()?.methods[number - 1];
  if (name) commands.solveBy(name);
}

/** Selects the next bar in time and goes to its start. */
function nextMark(by: number): void {
  const marks = [...store.bars.peek()].sort((a, b) => a.start - b.start || a.id - b.id);
  const chosen = store.selection.peek();
  const at = chosen.kind === "mark" ? marks.findIndex((mark) => mark.id === chosen.id) : -1;
  const next = at < 0 ? marks.find((mark) => mark.start >= store.frame.peek()) ?? marks[0] : marks[(at + by + marks.length) % marks.length];
  if (!next) return;
  store.tab.value = "edit";
  store.selection.value = { kind: "mark", id: next.id };
  store.goTo(next.start);
}

function nextJoint(by: number): void {
  const points = view.theatre?.handles?.points ?? [];
  if (!points.length) return;
  const at = view.theatre?.selectedHandle() ?? -1;
  const next = points[(at + by + points.length) % points.length];
  if (next) store.selection.value = { kind: "point", name: next.name, joint: next.joint, offset: next.offset };
}

/** Whether keys belong to the focused control, because text is typed into it. */
export function isTyping(target: HTMLElement): boolean {
  return target.matches?.("input:not([type=range]):not([type=checkbox]):not([type=file]), select, textarea") ?? false;
}

export function listen(): void {
  window.addEventListener("keydown", (event) => {
    const target = event.target as HTMLElement;
    if (isTyping(target) && event.key !== "Escape" && !event.ctrlKey && !event.metaKey) return;
    // Enter presses a focused button, Space plays wherever the focus is; a slider is moved by arrows
    if (target.matches?.("button, summary, a") && event.key === "Enter") return;
    if (target.matches?.("input[type=range]") && event.key.startsWith("Arrow")) return;
    if (driveKey(event, true)) {
      event.preventDefault();
      return;
    }
    const key = KEYS.find((entry) => entry.test(event));
    // what is not seen is not edited
    if (!key || (store.crowd.peek() && key.group === "Edit" && !IN_CROWDS.includes(key.keys))) return;
    event.preventDefault();
    key.act(event);
  });
  window.addEventListener("keyup", (event) => {
    // browsers press a focused button when Space is let go
    if (event.key === " " && !isTyping(event.target as HTMLElement)) event.preventDefault();
    driveKey(event, false);
  });
}
