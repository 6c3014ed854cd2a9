// Markers as spheres; those that were chosen stand out.

import * as THREE from "three";
import { colour } from "../theme";
import type { Cloud } from "./sources";
import type { Layer } from "./stage";

/** Metres; less where all markers lie within `WIDE`, as on a hand or a mouse. */
const RADIUS = 0.009;
const WIDE = 0.5;
/** So many markers tell how large the subject is. */
const ENOUGH = 5;

export class MarkerLayer implements Layer {
  readonly object: THREE.InstancedMesh;
  private chosen = new Set<number>();
  /** Diagonal of the largest box around all markers yet, metres. */
  private extent = 0;
  private frame = 0;
  private readonly place = new THREE.Vector3();
  private readonly matrix = new THREE.Matrix4();

  constructor(
    private readonly cloud: Cloud,
    /** Name of the colour in the style sheet. */
    private readonly tint = "marker",
    /** Whether a sample was filled in, and not measured. */
    private readonly filled: ((frame: number, marker: number) => boolean) | null = null,
  ) {
    this.object = new THREE.InstancedMesh(
      new THREE.SphereGeometry(RADIUS, 14, 10),
      new THREE.MeshStandardMaterial({ roughness: 0.45 }),
      Math.max(cloud.count, 1),
    );
    this.object.count = cloud.count;
    this.object.frustumCulled = false;
  }

  choose(markers: Iterable<number>): void {
    this.chosen = new Set(markers);
    this.paint();
  }

  show(frame: number): void {
    const usual = this.usualSize(frame);
    for (let i = 0; i < this.cloud.count; i++) {
      const seen = this.cloud.read(frame, i, this.place);
      const size = seen ? (this.chosen.has(i) ? 1.9 * usual : usual) : 0;
      this.matrix.makeScale(size, size, size);
      if (seen) this.matrix.setPosition(this.place);
      this.object.setMatrixAt(i, this.matrix);
    }
    this.object.instanceMatrix.needsUpdate = true;
    this.frame = frame;
    if (this.filled) this.paint(); // what was filled in changes from frame to frame
    // an old sphere around all markers would make clicks miss
    this.object.boundingSphere = null;
  }

  private usualSize(frame: number): number {
    if (this.cloud.count < ENOUGH || this.extent >= WIDE) return 1;
    const box = new THREE.Box3();
    this.extend(frame, box);
    if (!box.isEmpty()) this.extent = Math.max(this.extent, box.getSize(this.place).length());
    return this.extent > 0 ? Math.min(1, this.extent / WIDE) : 1;
  }

  paint(): void {
    const usual = new THREE.Color(colour(this.tint));
    const strong = new THREE.Color(colour("accent"));
    const made = new THREE.Color(colour("filled"));
    for (let i = 0; i < this.cloud.count; i++) {
      const plain = this.filled?.(this.frame, i) ? made : usual;
      this.object.setColorAt(i, this.chosen.has(i) && plain === usual ? strong : plain);
    }
    if (this.object.instanceColor) this.object.instanceColor.needsUpdate = true;
  }

  extend(frame: number, box: THREE.Box3): void {
    for (let i = 0; i < this.cloud.count; i++) {
      if (this.cloud.read(frame, i, this.place)) box.expandByPoint(this.place);
    }
  }
}
