// The connection to the server: JSON both ways, poses one way. Reconnects automatically.
import { batch, effect } from "@preact/signals";
import * as store from "./store";
import type { CrowdAnswer, Edit, Said } from "./types";
import { CROWD_POSES, CURRENT, GROUND, LIVE, LOOKS, MESH, ORIGINAL, Track, decode, type CrowdPoses, type GroundData, type LooksData, type MeshData, type Poses } from "./wire";

const KEY = "footplant-session";
/** Largest number of frames for which a clip is measured after every edit. */
const QUICK = 3000;
let socket: WebSocket | null = null;
let sequence = 0;
let inFlight = false;
let waiting: Record<string, unknown> | null = null;
let asked: ReturnType<typeof setTimeout> | undefined;

/** Handlers for meshes and grounds; set by the viewport. */
export const sinks: {
  mesh: (mesh: MeshData | null) => void;
  ground: (ground: GroundData | null) => void;
  looks: (looks: LooksData) => void;
  live: (data: Poses) => void;
  crowd: (data: CrowdPoses) => void;
  answer: (said: CrowdAnswer) => void;
} = { mesh: () => {}, ground: () => {}, looks: () => {}, live: () => {}, crowd: () => {}, answer: () => {} };

export function connect(): void {
  const address = new URL("talk", location.href);
  address.protocol = "ws:";
  const key = sessionStorage.getItem(KEY);
  if (key) address.searchParams.set("session", key);
  socket = new WebSocket(address);
  socket.binaryType = "arraybuffer";
  socket.onmessage = (event: MessageEvent<string | ArrayBuffer>) => {
    if (typeof event.data === "string") hear(JSON.parse(event.data) as Said);
    else take(event.data);
  };
  socket.onclose = (event) => {
    batch(() => {
      store.connected.value = false;
      store.progress.value = null;
      store.pending.value = 0;
      inFlight = false;
      // what was driven has ended with the connection
      endDriving();
    });
    if (event.reason && event.code !== 1001) store.toast(event.reason, "error");
    setTimeout(() => void comeBack(), 1000);
  };
}

/** Waits for the server. Another program may have its port now: the token is only said to one that knows it. */
async function comeBack(): Promise<void> {
  const token = location.pathname.split("/")[1] ?? "";
  const nonce = [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  try {
    const answer = await fetch(`/back/${nonce}`, { cache: "no-store" });
    const wanted = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(`${nonce}:${token}`)));
    const proof = [...wanted].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    if (answer.ok && (await answer.text()) === proof) {
      connect();
      return;
    }
    store.stranger.value = true;
  } catch {
    store.stranger.value = false;
  }
  setTimeout(() => void comeBack(), 1500);
}

export function ask(request: Record<string, unknown>): void {
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(request));
  else store.toast("The server is unreachable: nothing was changed.", "error");
}

/** A request that opens another session in this tab: clips of one's own go along. */
export function askForSession(request: Record<string, unknown>): void {
  ask({ ...request, own: store.ownClips.peek().map((clip) => clip.file) });
}

export function edit(change: Edit): void {
  store.pending.value += 1;
  ask({ do: "edit", edit: change });
}

/** Sends drag targets: one request at a time, then the latest pending target. */
export function drag(change: Edit): void {
  const { kind, ...rest } = change;
  waiting = { do: "drag", edit: kind, ...rest };
  if (!inFlight) sendDrag();
}

function sendDrag(): void {
  if (!waiting) return;
  sequence += 1;
  inFlight = true;
  ask({ ...waiting, seq: sequence });
  waiting = null;
}

/** On mouse release the last target becomes an edit. */
export function drop(change: Edit): void {
  waiting = null;
  inFlight = false;
  store.pending.value += 1;
  ask({ do: "drop", edit: change });
}

export function release(): void {
  waiting = null;
  inFlight = false;
  ask({ do: "release" });
}

function hear(said: Said): void {
  batch(() => {
    switch (said.is) {
      case "figure":
        // only now is there a session: after a restart it is restored first
        store.connected.value = true;
        sessionStorage.setItem(KEY, said.session);
        store.tracks.current = new Track(said.frames, said.character.joints.length);
        store.tracks.original = null;
        store.tracks.layers.clear();
        store.comparison.value = null;
        if (store.figure.value?.clip !== said.clip) store.frame.value = 0;
        store.figure.value = said;
        // a terrain may change the number of frames: what is selected in the scene stays selected
        if (store.selection.value.kind !== "object") store.selection.value = { kind: "none" };
        store.frame.value = Math.min(store.frame.value, said.frames - 1);
        sinks.mesh(null);
        sinks.ground(null);
        document.title = `${said.clip} – Footplant`;
        break;
      case "document":
        store.doc.value = said;
        store.pending.value = Math.max(store.pending.value - 1, 0);
        if (store.selection.value.kind === "mark" && !store.selectedMark.value) store.selection.value = { kind: "none" };
        if (store.selection.value.kind === "object" && !said.objects[store.selection.value.index]) store.selection.value = { kind: "none" };
        refreshLater();
        break;
      case "dragged":
        store.dragInfo.value = said;
        inFlight = false;
        sendDrag();
        break;
      case "progress":
        store.progress.value = said.done ? null : said;
        break;
      case "quality":
        store.quality.value = said;
        break;
      case "compare":
        for (const side of [said.a, said.b]) {
          const joints = (side.character ?? store.figure.value?.character)?.joints.length ?? 0;
          if (side.layer !== CURRENT) store.tracks.layers.set(side.layer, new Track(side.frames, joints));
        }
        store.comparison.value = said;
        break;
      case "cast":
        for (const actor of said.actors) if (!actor.active) store.tracks.layers.set(actor.layer, new Track(actor.frames, actor.character.joints.length));
        store.cast.value = said.actors;
        break;
      case "curves":
        store.curves.value = said;
        break;
      case "ground":
        if (store.figure.value) store.figure.value = { ...store.figure.value, level: said.level };
        sinks.ground(null);
        break;
      case "path":
        store.path.value = said.points;
        break;
      case "driving":
        if (said.mode === "off") endDriving();
        else store.driving.value = said.mode;
        if (said.mode === "drive") store.driveKeys.value = said.keys;
        break;
      case "set":
        store.ownSet.value = said;
        store.pending.value = Math.max(store.pending.value - 1, 0);
        break;
      case "live":
        store.liveStatus.value = said;
        break;
      case "crowd":
        // it may still arrive after the crowd was stopped
        if (store.driving.value === "off") break;
        store.crowd.value = said;
        break;
      case "crowd_status":
        if (store.driving.value !== "crowd") break;
        store.crowdStatus.value = said;
        break;
      case "answer":
        if (said.wrong) store.toast(said.wrong, "error");
        sinks.answer(said);
        break;
      case "note":
        store.pending.value = 0;
        if (store.driving.value === "starting") endDriving();
        store.toast(said.text);
        break;
      case "error":
        inFlight = false;
        store.pending.value = 0;
        if (said.during === "drive" || (said.during === "crowd" && store.driving.value === "starting")) endDriving();
        store.toast(said.text, "error");
        break;
    }
  });
}

/** Nothing is driven any more: the clip is shown. */
export function endDriving(): void {
  batch(() => {
    store.driving.value = "off";
    store.crowd.value = null;
    store.crowdStatus.value = null;
    store.crowdActor.value = null;
    store.crowdGoal.value = null;
  });
}

/** Requests measures and curves when input has paused. */
function refreshLater(): void {
  clearTimeout(asked);
  asked = setTimeout(() => {
    // measuring a long clip takes a while: only when the panel is visible
    if (store.frames.peek() < QUICK || store.tab.peek() === "quality" || store.tab.peek() === "compare") ask({ do: "quality" });
    askCurves();
    askPath();
  }, 350);
}

effect(() => {
  const measured = store.quality.value?.position ?? -1;
  if (store.tab.value === "quality" && store.connected.peek() && measured !== store.doc.peek()?.position) ask({ do: "quality" });
});

export function askCurves(): void {
  if (!store.show.curves.value) return;
  const chosen = store.selection.value;
  ask({ do: "curves", plot: store.plot.value, joint: chosen.kind === "point" ? chosen.joint : 0 });
}

export function askPath(): void {
  if (store.show.path.value) ask({ do: "path" });
}

function take(buffer: ArrayBuffer): void {
  const message = decode(buffer);
  if (message.kind === MESH) sinks.mesh(message);
  else if (message.kind === LOOKS) sinks.looks(message);
  else if (message.kind === GROUND) sinks.ground(message);
  else if (message.kind === CROWD_POSES) sinks.crowd(message);
  else takePoses(message);
}

function takePoses(message: Poses): void {
  const all = store.figure.value;
  if (!all) return;
  if (message.layer === CURRENT) store.tracks.current?.patch(message);
  else if (message.layer === ORIGINAL) {
    const known = store.tracks.original;
    const made = known && known.joints === message.joints ? known : new Track(all.original_frames, message.joints);
    made.patch(message);
    store.tracks.original = made;
  } else if (message.layer === LIVE) sinks.live(message);
  else store.tracks.layers.get(message.layer)?.patch(message);
  // the original clip is only sent if it differs from the current one
  if (message.layer === CURRENT && !store.tracks.original && store.tracks.current && message.first + message.frames === all.frames) {
    store.tracks.original = store.tracks.current.copy();
  }
  store.poses.value += 1;
}
