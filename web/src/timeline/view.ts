// The visible range of the timeline and the curves below it.
import { signal } from "@preact/signals";
import type { View } from "./layout";

export const timelineView = signal<View | null>(null);
export const inSeconds = signal(false);
