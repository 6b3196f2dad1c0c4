// Entry point of the page.
import { render } from "preact";
import "uplot/dist/uPlot.min.css";
import "./app.css";
import { App } from "./app";
import { listen } from "./keys";
import { seam } from "./seam";
import { connect } from "./socket";
import * as store from "./store";

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
  const file = event.dataTransfer?.files[0];
  if (file) store.dropped.value = { file };
});
