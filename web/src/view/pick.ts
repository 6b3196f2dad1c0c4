// Which of some places on the screen lies under the mouse.

/** The nearest place within some pixels; nearer to the camera wins among those that are about as near to the mouse. */
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
