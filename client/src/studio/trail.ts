// The way of the chosen marker, half a second to either side.

import * as THREE from "three";
import { type Cloud } from "../scene/sources";
import { type Layer } from "../scene/stage";
import { colour } from "../theme";

const SECONDS = 0.5;

export class TrailLayer implements Layer {
  readonly object: THREE.LineSegments<THREE.BufferGeometry, THREE.LineBasicMaterial>;
  private readonly reach: number;
  private readonly places: Float32Array;
  private marker = -1;

  constructor(
    private readonly cloud: Cloud,
    private readonly frames: number,
    rate: number,
  ) {
    this.reach = Math.max(1, Math.round(SECONDS * rate));
    this.places = new Float32Array(2 * this.reach * 6);
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", new THREE.BufferAttribute(this.places, 3));
    this.object = new THREE.LineSegments(geometry, new THREE.LineBasicMaterial());
    this.object.frustumCulled = false;
  }

  choose(marker: number): void {
    this.marker = marker;
  }

  show(frame: number): void {
    const a = new THREE.Vector3();
    const b = new THREE.Vector3();
    let n = 0;
    const last = Math.min(this.frames - 1, frame + this.reach);
    for (let k = Math.max(0, frame - this.reach); k < last && this.marker >= 0; k++) {
      if (!this.cloud.read(k, this.marker, a) || !this.cloud.read(k + 1, this.marker, b)) continue;
      a.toArray(this.places, 6 * n);
      b.toArray(this.places, 6 * n + 3);
      n += 1;
    }
    this.object.geometry.setDrawRange(0, 2 * n);
    this.object.geometry.attributes.position.needsUpdate = true;
  }

  paint(): void {
    this.object.material.color.set(colour("accent"));
  }
}
