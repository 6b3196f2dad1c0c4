// Entry point of the page.
import { render } from "preact";
import "uplot/dist/uPlot.min.css";
import "./app.css";
import { App } from "./app";
import { listen } from "./keys";
import { seam } from "./seam";
import { connect } from "./socket";
import { effect } from "@preact/signals";
import * as commands from "./commands";
import * as store from "./store";
import { readColours } from "./timeline/draw";

if (localStorage.getItem("footplant-theme") === "light") store.theme.value = "light";
// before anything is drawn: the timeline's colours come from the style sheet
effect(() => {
  document.documentElement.dataset.theme = store.theme.value;
  localStorage.setItem("footplant-theme", store.theme.value);
  readColours();
});
const root = document.getElementById("app");
if (root) render(<App />, root);
listen();
connect();
seam();

window.addEventListener("beforeunload", (event) => {
  if (store.doc.peek()?.unsaved) event.preventDefault();
});
window.addEventListener("dragover", (event) => event.preventDefault());
window.addEventListener("drop", (event) => {
  event.preventDefault();
  void commands.receive([...(event.dataTransfer?.files ?? [])]);
});
