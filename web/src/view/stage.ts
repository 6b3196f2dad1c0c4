// Renderer, camera, lights and floor. Draws only when something has changed.
import * as THREE from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";

export const BACKGROUND = 0x2b2d31;
/** Fewest pixels of the drawing a pixel of the page, each way, where the processor draws. */
const COARSEST = 0.4;

/** A part of the canvas whose camera sees `to` as the stage's camera sees `from`, at another scale. */
export interface Pane {
  /** Left and right edge, shares of the canvas's width. */
  left: number;
  right: number;
  /** Layers of the objects that it shows, besides layer 0. */
  layers: readonly number[];
  from: THREE.Vector3;
  to: THREE.Vector3;
  scale: number;
  /** Called before it is drawn: moves the floor to its character. */
  prepare: () => void;
}

export class Stage {
  readonly scene = new THREE.Scene();
  readonly camera = new THREE.PerspectiveCamera(38, 1, 0.05, 400);
  readonly renderer: THREE.WebGLRenderer;
  readonly orbit: OrbitControls;
  /** Software rendering: expensive effects are left out. */
  readonly software: boolean;
  readonly sun = new THREE.DirectionalLight(0xfff4e6, 2.1);
  private readonly grid: THREE.Mesh;
  private readonly blob: THREE.Mesh;
  private readonly shadowFloor: THREE.Mesh;
  private dirty = true;
  /** Parts of the canvas drawn side by side with linked cameras; empty: the whole canvas, all layers. */
  panes: readonly Pane[] = [];
  private readonly before: (() => void)[] = [];

  constructor(readonly canvas: HTMLCanvasElement) {
    const wanted = new URLSearchParams(location.search).get("quality");
    // asked on the canvas itself: a second context, for asking only, costs a second where the processor draws
    const fast = wanted ? null : fastContext(canvas);
    this.software = wanted ? wanted !== "high" : !fast || isSoftware(fast);
    const made = fast ? { canvas, context: fast } : { canvas, antialias: !this.software };
    this.renderer = new THREE.WebGLRenderer({ ...made, powerPreference: "high-performance" });
    this.renderer.setPixelRatio(Math.min(window.devicePixelRatio, this.software ? 1 : 2));
    this.renderer.shadowMap.enabled = !this.software;
    this.renderer.shadowMap.type = THREE.PCFShadowMap;
    this.scene.background = new THREE.Color(BACKGROUND);
    this.scene.fog = new THREE.Fog(BACKGROUND, 14, 42);
    this.camera.position.set(3.2, 1.9, 3.6);
    this.orbit = new OrbitControls(this.camera, canvas);
    this.orbit.enableDamping = false;
    this.orbit.target.set(0, 0.95, 0);
    this.orbit.maxDistance = 60;
    this.orbit.minDistance = 0.3;
    this.orbit.zoomToCursor = true;
    this.orbit.addEventListener("change", () => this.change());
    this.scene.add(new THREE.HemisphereLight(0xdfe6f2, 0x4a4640, this.software ? 1.9 : 1.5));
    this.sun.position.set(2.5, 6, 3.5);
    if (!this.software) this.castShadows();
    this.scene.add(this.sun, this.sun.target);
    const fill = new THREE.DirectionalLight(0xbfd4ff, 0.7);
    fill.position.set(-3, 2.5, -4);
    this.scene.add(fill);
    this.grid = makeGrid();
    this.blob = makeBlob();
    this.shadowFloor = new THREE.Mesh(new THREE.PlaneGeometry(60, 60).rotateX(-Math.PI / 2), new THREE.ShadowMaterial({ opacity: 0.36 }));
    this.shadowFloor.receiveShadow = true;
    this.scene.add(this.grid, this.blob, this.shadowFloor);
    this.renderer.setAnimationLoop(() => this.tick());
  }

  private castShadows(): void {
    this.sun.castShadow = true;
    this.sun.shadow.mapSize.set(2048, 2048);
    this.sun.shadow.radius = 4;
    this.sun.shadow.bias = -0.0004;
    this.sun.shadow.normalBias = 0.02;
    Object.assign(this.sun.shadow.camera, { left: -2.5, right: 2.5, top: 2.5, bottom: -2.5, near: 0.5, far: 16 });
  }

  /** Something is called before every time the stage may be drawn. */
  eachTime(work: () => void): void {
    this.before.push(work);
  }

  change(): void {
    this.dirty = true;
  }

  /** Whether everything that changed has been drawn. */
  get settled(): boolean {
    return !this.dirty;
  }

  /** Whether it has been drawn with all pixels. */
  get sharp(): boolean {
    return !this.dirty && this.ratio === 1;
  }

  /** Adapts fog, clipping planes, shadows and camera limits to a character's height, metres. */
  scaleTo(height: number): void {
    const scale = Math.max(height, 0.05) / 1.75;
    const [fog, wide] = [Math.max(scale, 1), 2.5 * Math.max(scale, 0.4)];
    const back = this.scene.background instanceof THREE.Color ? this.scene.background.getHex() : BACKGROUND;
    this.scene.fog = new THREE.Fog(back, 14 * fog, 42 * fog);
    this.orbit.minDistance = 0.3 * scale;
    this.orbit.maxDistance = 60 * fog;
    this.camera.near = 0.05 * Math.min(scale, 4);
    this.camera.far = 400 * fog;
    this.camera.updateProjectionMatrix();
    this.lift = scale;
    this.blob.scale.setScalar(scale);
    this.shadowFloor.scale.setScalar(fog);
    this.grid.scale.set(fog, 1, fog);
    const far = this.grid.material as THREE.ShaderMaterial;
    if (far.uniforms.reach) far.uniforms.reach.value = fog;
    Object.assign(this.sun.shadow.camera, { left: -wide, right: wide, top: wide, bottom: -wide, near: 0.5 * scale, far: 16 * Math.max(scale, 0.6) });
    this.sun.shadow.camera.updateProjectionMatrix();
    this.change();
  }
  /** The character's height over that of an average person. */
  private lift = 1;

  resize(width: number, height: number): void {
    // the window may have come to a screen with another density of pixels
    this.renderer.setPixelRatio(this.ratio * Math.min(window.devicePixelRatio, this.software ? 1 : 2));
    this.renderer.setSize(width, height, false);
    this.camera.aspect = width / Math.max(height, 1);
    this.camera.updateProjectionMatrix();
    this.change();
  }

  /** Moves the floor, its shadows and the light with the character. */
  accompany(x: number, z: number, level: number, terrain: boolean, scale = 1): void {
    this.grid.position.set(Math.round(x), level, Math.round(z));
    this.grid.visible = !terrain;
    this.shadowFloor.position.set(x, level + 0.001, z);
    this.shadowFloor.visible = !terrain && !this.software;
    this.blob.position.set(x, level + 0.003 * scale, z);
    this.blob.scale.setScalar(this.lift * scale);
    this.blob.visible = !terrain && this.software;
    const lift = Math.max(this.lift, 0.6);
    this.sun.position.set(x + 2.5 * lift, level + 6 * lift, z + 3.5 * lift);
    this.sun.target.position.set(x, level + 0.8 * lift, z);
  }

  /** Moves camera and target by the same vector. */
  carry(by: THREE.Vector3): void {
    this.camera.position.add(by);
    this.orbit.target.add(by);
    this.orbit.update();
  }

  look(from: THREE.Vector3, at: THREE.Vector3): void {
    this.camera.position.copy(from);
    this.orbit.target.copy(at);
    this.orbit.update();
    this.change();
  }

  /** The pixel of a world position, from the canvas's corner; null behind the camera. */
  project(place: THREE.Vector3): [number, number] | null {
    const seen = place.clone().project(this.camera);
    if (seen.z > 1) return null;
    return [((seen.x + 1) / 2) * this.canvas.clientWidth, ((1 - seen.y) / 2) * this.canvas.clientHeight];
  }

  private tick(): void {
    for (const work of this.before) work();
    if (this.software) this.adapt();
    if (!this.dirty) return;
    this.dirty = false;
    this.draw();
  }

  private draw(): void {
    if (this.panes.length) this.drawPanes();
    else this.renderer.render(this.scene, this.camera);
  }

  /** A picture of what is drawn now. */
  picture(): Promise<Blob | null> {
    this.draw();
    return new Promise((done) => this.canvas.toBlob(done, "image/png"));
  }

  /** Colours of the background and the floor. */
  paint(light: boolean): void {
    const [back, near, line] = light ? [0xd9dce1, 0xc9cdd3, 0x8b919b] : [BACKGROUND, 0x33363b, 0x5f656f];
    this.scene.background = new THREE.Color(back);
    this.scene.fog?.color.set(back);
    const floor = this.grid.material as THREE.ShaderMaterial;
    (floor.uniforms.near?.value as THREE.Color | undefined)?.set(near);
    (floor.uniforms.far?.value as THREE.Color | undefined)?.set(back);
    (floor.uniforms.line?.value as THREE.Color | undefined)?.set(line);
    this.change();
  }

  /** Where the processor draws, fewer pixels while things move: coarse and fluent rather than sharp and slow. */
  private adapt(): void {
    const now = performance.now();
    const passed = now - this.ticked;
    this.ticked = now;
    if (this.dirty) {
      this.still = 0;
      this.busy += 1;
      if (this.busy > 3 && passed > 34 && this.ratio > COARSEST) this.setRatio(Math.max(0.8 * this.ratio, COARSEST));
      return;
    }
    this.busy = 0;
    this.still += 1;
    if (this.still > 8 && this.ratio < 1) this.setRatio(1);
  }
  private ticked = 0;
  private still = 0;
  private busy = 0;
  private ratio = 1;

  private setRatio(ratio: number): void {
    this.ratio = ratio;
    this.renderer.setPixelRatio(ratio * Math.min(window.devicePixelRatio, 1));
    this.change();
  }

  private drawPanes(): void {
    const { camera, renderer } = this;
    const size = renderer.getSize(new THREE.Vector2());
    const [place, layers, near] = [camera.position.clone(), camera.layers.mask, camera.near];
    renderer.setScissorTest(true);
    for (const pane of this.panes) {
      const [x, width] = [Math.round(pane.left * size.x), Math.round((pane.right - pane.left) * size.x)];
      renderer.setViewport(x, 0, width, size.y);
      renderer.setScissor(x, 0, width, size.y);
      camera.aspect = width / Math.max(size.y, 1);
      camera.position.copy(place).sub(pane.from).multiplyScalar(pane.scale).add(pane.to);
      camera.near = near * pane.scale;
      camera.updateProjectionMatrix();
      camera.layers.set(0);
      for (const layer of pane.layers) camera.layers.enable(layer);
      pane.prepare();
      renderer.render(this.scene, camera);
    }
    renderer.setScissorTest(false);
    renderer.setViewport(0, 0, size.x, size.y);
    camera.position.copy(place);
    camera.near = near;
    camera.layers.mask = layers;
    camera.aspect = size.x / Math.max(size.y, 1);
    camera.updateProjectionMatrix();
    camera.updateMatrixWorld();
  }
}

/** A hardware-accelerated context, or null. */
function fastContext(canvas: HTMLCanvasElement): WebGL2RenderingContext | null {
  return canvas.getContext("webgl2", { antialias: true, stencil: false, powerPreference: "high-performance", failIfMajorPerformanceCaveat: true });
}

/** Whether a context that claims acceleration is a software renderer. */
function isSoftware(context: WebGL2RenderingContext): boolean {
  const info = context.getExtension("WEBGL_debug_renderer_info");
  const name = info ? String(context.getParameter(info.UNMASKED_RENDERER_WEBGL)) : "";
  return /swiftshader|llvmpipe|software|basic render/i.test(name);
}

/** A floor with lines every half metre and metre that fade into the distance. */
function makeGrid(): THREE.Mesh {
  const material = new THREE.ShaderMaterial({
    uniforms: { reach: { value: 1 }, near: { value: new THREE.Color(0x33363b) }, far: { value: new THREE.Color(BACKGROUND) }, line: { value: new THREE.Color(0x5f656f) } },
    vertexShader: `
      varying vec3 place;
      varying float away;
      void main() {
        vec4 world = modelMatrix * vec4(position, 1.0);
        place = world.xyz;
        vec4 seen = viewMatrix * world;
        away = -seen.z;
        gl_Position = projectionMatrix * seen;
      }`,
    fragmentShader: `
      uniform vec3 near;
      uniform vec3 far;
      uniform vec3 line;
      uniform float reach;
      varying vec3 place;
      varying float away;
      float grid(float spacing, float width) {
        vec2 cell = place.xz / spacing;
        vec2 size = fwidth(cell);
        vec2 lines = smoothstep(size * (width + 0.7), size * width, abs(fract(cell - 0.5) - 0.5));
        return max(lines.x, lines.y) * clamp(1.0 - 2.0 * max(size.x, size.y), 0.0, 1.0);
      }
      void main() {
        float shade = max(0.22 * grid(0.5, 0.3), 0.5 * grid(1.0, 0.4));
        vec3 colour = mix(mix(near, line, shade), far, smoothstep(6.0, 30.0, away / reach));
        gl_FragColor = vec4(colour, 1.0);
        #include <colorspace_fragment>
      }`,
    polygonOffset: true,
    polygonOffsetFactor: 1,
    polygonOffsetUnits: 1,
  });
  return new THREE.Mesh(new THREE.PlaneGeometry(200, 200).rotateX(-Math.PI / 2), material);
}

function makeBlob(): THREE.Mesh {
  const picture = document.createElement("canvas");
  picture.width = picture.height = 64;
  const g = picture.getContext("2d");
  if (g) {
    const shade = g.createRadialGradient(32, 32, 2, 32, 32, 31);
    shade.addColorStop(0, "rgba(0,0,0,0.55)");
    shade.addColorStop(1, "rgba(0,0,0,0)");
    g.fillStyle = shade;
    g.fillRect(0, 0, 64, 64);
  }
  const material = new THREE.MeshBasicMaterial({ map: new THREE.CanvasTexture(picture), transparent: true, depthWrite: false });
  return new THREE.Mesh(new THREE.PlaneGeometry(1.3, 1.3).rotateX(-Math.PI / 2), material);
}
