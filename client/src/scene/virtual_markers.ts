// Markers as the model has them, beside the recorded ones: a line between the two is what is left.

import * as THREE from "three";
import type { MarkerRow } from "../report_data";
import { colour } from "../theme";
import type { Cloud, Poses } from "./sources";
import type { Layer } from "./stage";

/** Metres. */
const RADIUS = 0.017;

/** Where the model carries the markers. */
export class ModelCloud implements Cloud {
  readonly count: number;
  private readonly turn = new THREE.Quaternion();
  private readonly joint = new THREE.Vector3();

  constructor(
    private readonly markers: MarkerRow[],
    private readonly poses: Poses,
  ) {
    this.count = markers.length;
  }

  read(frame: number, index: number, out: THREE.Vector3): boolean {
    const { body, place } = this.markers[index];
    if (body < 0 || place === null || !this.poses.place(frame, body, this.joint)) return false;
    this.poses.turn(frame, body, this.turn);
    out.set(...place).applyQuaternion(this.turn).add(this.joint);
    return true;
  }
}

export class VirtualMarkerLayer implements Layer {
  readonly object = new THREE.Group();
  private readonly shells: THREE.InstancedMesh<THREE.BufferGeometry, THREE.MeshBasicMaterial>;
  private readonly lines: THREE.LineSegments<THREE.BufferGeometry, THREE.LineBasicMaterial>;
  private readonly ends: Float32Array;

  constructor(
    private readonly model: Cloud,
    private readonly recorded: Cloud,
  ) {
    const shell = new THREE.OctahedronGeometry(RADIUS);
    const material = new THREE.MeshBasicMaterial({ wireframe: true });
    this.shells = new THREE.InstancedMesh(shell, material, Math.max(model.count, 1));
    this.ends = new Float32Array(6 * model.count);
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", new THREE.BufferAttribute(this.ends, 3));
    this.lines = new THREE.LineSegments(geometry, new THREE.LineBasicMaterial());
    this.shells.frustumCulled = this.lines.frustumCulled = false;
    this.object.add(this.shells, this.lines);
  }

  show(frame: number): void {
    const matrix = new THREE.Matrix4();
    const [there, seen] = [new THREE.Vector3(), new THREE.Vector3()];
    let n = 0;
    for (let i = 0; i < this.model.count; i++) {
      const known = this.model.read(frame, i, there);
      matrix.makeScale(+known, +known, +known).setPosition(there);
      this.shells.setMatrixAt(i, matrix);
      if (!known || !this.recorded.read(frame, i, seen)) continue;
      there.toArray(this.ends, 6 * n);
      seen.toArray(this.ends, 6 * n + 3);
      n += 1;
    }
    this.shells.instanceMatrix.needsUpdate = true;
    this.lines.geometry.setDrawRange(0, 2 * n);
    this.lines.geometry.attributes.position.needsUpdate = true;
  }

  paint(): void {
    this.shells.material.color.set(colour("virtual"));
    this.lines.material.color.set(colour("virtual"));
  }
}
