// Which part of the clip the timeline and the curves below it show.
import { signal } from "@preact/signals";
import type { View } from "./layout";

export const timelineView = signal<View | null>(null);
export const inSeconds = signal(false);
