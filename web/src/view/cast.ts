// Another character on the stage than the edited one: a result to compare with, or one of several characters.
import * as THREE from "three";
import type { Character } from "../types";
import type { LooksData, MeshData, Track } from "../wire";
import { Bones, Skin } from "./figure";

export class Cast {
  private skin: Skin | null = null;
  private readonly bones: Bones;
  private looks: LooksData | null = null;

  /** layer: the layer of three.js that its parts are on, so that a pane may show it alone. */
  constructor(
    private readonly scene: THREE.Scene,
    readonly character: Character,
    private readonly colour: number,
    private readonly plain: boolean,
    private readonly layer: number,
    private readonly changed: () => void,
  ) {
    this.bones = new Bones(character, colour, 1);
    this.bones.object.layers.set(layer);
    scene.add(this.bones.object);
  }

  setMesh(mesh: MeshData): void {
    this.skin?.dispose();
    if (this.skin) this.scene.remove(this.skin.object);
    this.skin = new Skin(mesh, this.colour, 1, this.plain);
    this.skin.object.layers.set(this.layer);
    this.scene.add(this.skin.object);
  }

  setLooks(looks: LooksData): void {
    this.looks = looks;
    this.skin?.dress(looks, this.plain, this.changed);
  }

  /** Poses it at a frame of its own; opacity below 1 for what is seen through. */
  pose(track: Track, frame: number, opacity: number, skins: boolean): void {
    const at = Math.min(Math.max(Math.round(frame), 0), track.frames - 1);
    const drawn = this.skin && skins ? this.skin : this.bones;
    for (const part of [this.skin, this.bones]) if (part) part.object.visible = part === drawn;
    drawn.pose(track, at);
    if (!this.looks || drawn === this.bones) drawn.fade(opacity);
  }

  hide(): void {
    if (this.skin) this.skin.object.visible = false;
    this.bones.object.visible = false;
  }

  dispose(): void {
    for (const part of [this.skin, this.bones]) {
      if (!part) continue;
      this.scene.remove(part.object);
      part.dispose();
    }
  }
}
