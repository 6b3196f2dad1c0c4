// Components shared by the panels.
import type { ComponentChildren } from "preact";

export function Section({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section class="section">
      <h2>{title}</h2>
      {children}
    </section>
  );
}

/** Name and one-line description of each method. */
export const METHOD_NAMES: Record<string, [string, string]> = {
  hierarchical: ["Hierarchical", "Lee & Shin: splines, coarse to fine"],
  spacetime: ["Spacetime", "Gleicher: the whole clip at once"],
  filtered: ["Filtered IK", "per frame, then smoothed"],
  perframe: ["Per frame", "IK alone, may jump"],
  warping: ["Warping", "a curve through the constraints"],
  perkey: ["Per key", "IK at keys, splines between"],
};

const FEW = 0.005;

/** Formats a number for a table. */
export function shown(value: number | null): string {
  if (value === null) return "–";
  if (Math.abs(value) < FEW) return "0";
  return Math.abs(value) >= 100 ? value.toFixed(0) : Math.abs(value) >= 10 ? value.toFixed(1) : value.toFixed(2);
}
