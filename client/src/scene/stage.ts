// The 3D view: camera, light, and layers that are drawn in it. z is up, as in the data.

import * as THREE from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";
import { colour, onTheme } from "../theme";

/** Radians: how far beside the front the camera stands. */
const ASIDE = -0.6;
/** Metres: a single marker has no extent, and still wants room around it. */
const NEAREST = 0.03;

/** One thing that can be shown or hidden. */
export interface Layer {
  readonly object: THREE.Object3D;
  /** Moves what it draws to a frame. */
  show(frame: number): void;
  /** Takes its colours from the style sheet again. */
  paint?(): void;
  /** Grows a box by what should be in view. */
  extend?(frame: number, box: THREE.Box3): void;
}

export interface Pick {
  layer: string;
  /** Which of the layer's things. */
  index: number;
  place: THREE.Vector3;
}

export class Stage {
  readonly renderer: THREE.WebGLRenderer;
  readonly scene = new THREE.Scene();
  readonly camera = new THREE.PerspectiveCamera(32, 1, 0.01, 200);
  readonly controls: OrbitControls;
  /** Where the camera goes along, if it does. */
  follow: ((frame: number, out: THREE.Vector3) => boolean) | null = null;
  /** Where the front is, if anybody knows: the camera then looks at it. */
  facing: ((frame: number, out: THREE.Vector3) => boolean) | null = null;
  private readonly layers = new Map<string, Layer>();
  private frame = 0;
  private pending = false;
  /** Nothing was in sight when the camera looked for it: it looks again when something is. */
  private unseen = false;
  private readonly followed = new THREE.Vector3(NaN, NaN, NaN);

  constructor(private readonly host: HTMLElement) {
    this.renderer = new THREE.WebGLRenderer({ antialias: true });
    const canvas = this.renderer.domElement;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", "The take in three dimensions");
    host.append(canvas);
    this.camera.up.set(0, 0, 1);
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.addEventListener("change", () => this.render());
    this.scene.add(new THREE.HemisphereLight(0xffffff, 0x8a8f98, 2.0));
    const sun = new THREE.DirectionalLight(0xffffff, 1.9);
    sun.position.set(2, -3, 5);
    this.scene.add(sun);
    new ResizeObserver(() => this.resize()).observe(host);
    this.resize();
    onTheme(() => {
      this.scene.background = new THREE.Color(colour("stage"));
      for (const layer of this.layers.values()) layer.paint?.();
      this.render();
    });
  }

  /** Adds a layer, or puts it in the place of the one with this name. */
  add(name: string, layer: Layer, visible = true): void {
    this.remove(name);
    this.layers.set(name, layer);
    layer.object.visible = visible;
    layer.paint?.();
    layer.show(this.frame);
    this.scene.add(layer.object);
    this.render();
  }

  remove(name: string): void {
    const old = this.layers.get(name);
    if (old) this.scene.remove(old.object);
    this.layers.delete(name);
  }

  has(name: string): boolean {
    return this.layers.has(name);
  }

  setVisible(name: string, on: boolean): void {
    const layer = this.layers.get(name);
    if (!layer) return;
    layer.object.visible = on;
    if (on) layer.show(this.frame);
    this.render();
  }

  show(frame: number): void {
    this.frame = frame;
    for (const layer of this.layers.values()) if (layer.object.visible) layer.show(frame);
    if (this.unseen) this.lookAtAll();
    this.goAlong();
    this.render();
  }

  /** Moves the camera so that everything at this frame fits. */
  lookAtAll(): void {
    const box = new THREE.Box3();
    for (const layer of this.layers.values()) layer.extend?.(this.frame, box);
    this.unseen = box.isEmpty();
    if (this.unseen) return;
    const centre = box.getCenter(new THREE.Vector3());
    const radius = Math.max(NEAREST, 0.5 * box.getSize(new THREE.Vector3()).length());
    const half = THREE.MathUtils.degToRad(this.camera.fov / 2);
    const narrow = Math.min(1, this.camera.aspect);
    const away = (0.93 * radius) / Math.sin(Math.atan(Math.tan(half) * narrow));
    this.controls.target.copy(centre);
    const from = new THREE.Vector3(1, -1, 0);
    if (this.facing?.(this.frame, from)) from.applyAxisAngle(this.camera.up, ASIDE);
    this.camera.position.copy(from.setZ(0).setLength(0.97).setZ(0.25)).setLength(away).add(centre);
    this.camera.near = away / 100;
    this.camera.far = away * 60;
    this.camera.updateProjectionMatrix();
    this.controls.update();
    this.render();
  }

  /** The nearest thing under the pointer among the visible layers named. */
  pick(event: { clientX: number; clientY: number }, names: string[]): Pick | null {
    const area = this.renderer.domElement.getBoundingClientRect();
    const at = new THREE.Vector2(
      (2 * (event.clientX - area.left)) / area.width - 1,
      1 - (2 * (event.clientY - area.top)) / area.height,
    );
    const ray = new THREE.Raycaster();
    this.camera.updateMatrixWorld(); // it may have moved since the last picture
    ray.setFromCamera(at, this.camera);
    let best: { distance: number; pick: Pick } | null = null;
    for (const name of names) {
      const layer = this.layers.get(name);
      if (!layer?.object.visible) continue;
      const hit = ray.intersectObject(layer.object, true)[0];
      if (hit && (best === null || hit.distance < best.distance)) {
        const { indices, index: own = 0 } = hit.object.userData as { indices?: number[]; index?: number };
        const index = hit.instanceId === undefined ? own : (indices?.[hit.instanceId] ?? hit.instanceId);
        best = { distance: hit.distance, pick: { layer: name, index, place: hit.point } };
      }
    }
    return best?.pick ?? null;
  }

  /** Where a place in the world is on the page. */
  onScreen(place: THREE.Vector3): { x: number; y: number } {
    const area = this.renderer.domElement.getBoundingClientRect();
    this.camera.updateMatrixWorld(); // it may have moved since the last picture
    const at = place.clone().project(this.camera);
    return {
      x: area.left + (0.5 + 0.5 * at.x) * area.width,
      y: area.top + (0.5 - 0.5 * at.y) * area.height,
    };
  }

  /** Draws once before the next picture, however often it is asked. */
  render(): void {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.renderer.render(this.scene, this.camera);
    });
  }

  private goAlong(): void {
    const now = new THREE.Vector3();
    if (!this.follow?.(this.frame, now)) {
      this.followed.setX(NaN);
      return;
    }
    if (Number.isFinite(this.followed.x)) {
      const step = now.clone().sub(this.followed);
      this.controls.target.add(step);
      this.camera.position.add(step);
      this.controls.update();
    }
    this.followed.copy(now);
  }

  private resize(): void {
    const { clientWidth: width, clientHeight: height } = this.host;
    if (width === 0 || height === 0) return;
    this.renderer.setPixelRatio(Math.min(devicePixelRatio, 2));
    this.renderer.setSize(width, height);
    this.camera.aspect = width / height;
    this.camera.updateProjectionMatrix();
    this.render();
  }
}
