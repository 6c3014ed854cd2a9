// Pinned bodies, each with a sign at its joint.

import * as THREE from "three";
import { type Poses } from "../scene/sources";
import { type Layer } from "../scene/stage";
import { colour } from "../theme";

/** Metres. */
const SIZE = 0.045;

export class PinLayer implements Layer {
  readonly object = new THREE.Group();
  private readonly material = new THREE.MeshBasicMaterial({ depthTest: false, transparent: true, opacity: 0.55 });

  constructor(
    private readonly poses: Poses,
    private readonly bodies: number[],
  ) {
    const sign = new THREE.OctahedronGeometry(SIZE);
    for (const _ of bodies) this.object.add(new THREE.Mesh(sign, this.material));
    this.object.renderOrder = 9;
  }

  show(frame: number): void {
    this.bodies.forEach((body, i) => {
      const sign = this.object.children[i];
      sign.visible = this.poses.place(frame, body, sign.position);
    });
  }

  paint(): void {
    this.material.color.set(colour("limit"));
  }
}
