// The character's path as a curve on the ground, with draggable control points.
import * as THREE from "three";

export class Way {
  readonly object = new THREE.Group();
  private readonly line = new THREE.Line(new THREE.BufferGeometry(), new THREE.LineBasicMaterial({ color: "#f2b544", depthTest: false, transparent: true }));
  private readonly knobs: THREE.Mesh[] = [];
  private static readonly shape = new THREE.CylinderGeometry(0.06, 0.06, 0.016, 28);
  private static readonly colour = new THREE.MeshBasicMaterial({ color: "#f2b544", depthTest: false, transparent: true });
  private static readonly chosen = new THREE.MeshBasicMaterial({ color: "#ffffff", depthTest: false, transparent: true });

  constructor() {
    this.line.renderOrder = 8;
    this.line.frustumCulled = false;
    this.object.add(this.line);
  }

  set(points: readonly (readonly [number, number])[], level: number, selected: number): void {
    for (const knob of this.knobs.splice(0)) this.object.remove(knob);
    const places = points.map(([x, z]) => new THREE.Vector3(x, level + 0.01, z));
    places.forEach((place, n) => {
      const knob = new THREE.Mesh(Way.shape, n === selected ? Way.chosen : Way.colour);
      knob.position.copy(place);
      knob.renderOrder = 9;
      knob.userData.path = n;
      this.knobs.push(knob);
      this.object.add(knob);
    });
    this.line.visible = places.length > 1;
    if (places.length > 1) this.line.geometry.setFromPoints(new THREE.CatmullRomCurve3(places, false, "centripetal").getPoints(24 * places.length));
  }

  meshes(): THREE.Mesh[] {
    return this.object.visible ? this.knobs : [];
  }
}
