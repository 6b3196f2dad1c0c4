// Picking: which screen point is under the mouse.

/** The nearest point within some pixels; of those at similar distance, the nearest to the camera. */
export function nearest(places: readonly ([number, number] | null)[], x: number, y: number, within: number, prefer: readonly number[] = []): number {
  let best = -1;
  let least = within;
  places.forEach((place, n) => {
    if (!place) return;
    const away = Math.hypot(place[0] - x, place[1] - y) - (prefer[n] ?? 0);
    if (away < least) {
      least = away;
      best = n;
    }
  });
  return best;
}
