// Playback of a crowd: its frames arrive as the server steps them, and are shown interpolated at the page's own rate.
import { Track, type CrowdPoses } from "../wire";

/** Frames by which the picture is behind what has arrived: one to interpolate to, and half of one for late ones. */
const BEHIND = 1.5;
/** Seconds by which frames may come later than expected before time is counted anew: the crowd was paused, or stalled. */
const STALLED = 0.25;
/** Share of a delay that is taken over with every frame: clocks drift, and one late frame is none of that. */
const DRIFT = 0.02;
const KEPT = 12;

interface Frame {
  /** Seconds of the crowd. */
  at: number;
  tracks: Map<number, Track>;
}

export class CrowdFrames {
  private readonly frames: Frame[] = [];
  private readonly shown = new Map<number, Track>();
  /** Page time less crowd time, seconds, of frames that are not late. */
  private offset: number | null = null;
  private fps = 30;
  /** The time of the crowd that is shown, seconds; it stays where nothing has come. */
  at = 0;

  /** Takes a frame at a time of the page, seconds. */
  push(data: CrowdPoses, fps: number, now: number): void {
    this.fps = fps;
    const at = data.frame / fps;
    const last = this.frames[this.frames.length - 1];
    if (last && at <= last.at) this.frames.length = 0;
    const found = now - at;
    if (this.offset === null || found < this.offset || found - this.offset > STALLED) this.offset = found;
    else this.offset += DRIFT * (found - this.offset);
    const tracks = new Map<number, Track>();
    let start = 0;
    data.numbers.forEach((number, n) => {
      const joints = data.counts[n] ?? 0;
      const track = new Track(1, joints);
      track.positions.set(data.positions.subarray(3 * start, 3 * (start + joints)));
      track.quaternions.set(data.quaternions.subarray(4 * start, 4 * (start + joints)));
      tracks.set(number, track);
      start += joints;
    });
    this.frames.push({ at, tracks });
    if (this.frames.length > KEPT) this.frames.shift();
  }

  /** The actors, by their numbers, at a time of the page, seconds; the same tracks every time, posed anew. */
  sample(now: number): ReadonlyMap<number, Track> {
    const last = this.frames[this.frames.length - 1];
    if (!last || this.offset === null) return this.shown;
    const at = Math.min(now - this.offset - BEHIND / this.fps, last.at);
    this.at = at;
    let n = this.frames.length - 1;
    while (n > 0 && (this.frames[n]?.at ?? 0) > at) n -= 1;
    const before = this.frames[n] ?? last;
    const after = this.frames[n + 1] ?? before;
    const share = after === before ? 0 : Math.min(Math.max((at - before.at) / (after.at - before.at), 0), 1);
    for (const number of this.shown.keys()) if (!last.tracks.has(number)) this.shown.delete(number);
    for (const [number, newest] of last.tracks) {
      const a = before.tracks.get(number) ?? newest;
      const b = after.tracks.get(number) ?? a;
      let track = this.shown.get(number);
      if (!track || track.joints !== a.joints) this.shown.set(number, (track = new Track(1, a.joints)));
      if (b.joints === a.joints) mix(track, a, b, share);
    }
    return this.shown;
  }
}

/** Writes the pose between two, share 0 to 1, into a track. */
function mix(into: Track, a: Track, b: Track, share: number): void {
  for (let k = 0; k < into.positions.length; k++) {
    const from = a.positions[k] ?? 0;
    into.positions[k] = from + share * ((b.positions[k] ?? 0) - from);
  }
  const [p, q, out] = [a.quaternions, b.quaternions, into.quaternions];
  for (let k = 0; k < out.length; k += 4) {
    let dot = 0;
    for (let i = 0; i < 4; i++) dot += (p[k + i] ?? 0) * (q[k + i] ?? 0);
    const side = dot < 0 ? -share : share;
    let size = 0;
    for (let i = 0; i < 4; i++) {
      const value = (1 - share) * (p[k + i] ?? 0) + side * (q[k + i] ?? 0);
      out[k + i] = value;
      size += value * value;
    }
    const scale = 1 / Math.sqrt(size || 1);
    for (let i = 0; i < 4; i++) out[k + i] = (out[k + i] ?? 0) * scale;
  }
}
