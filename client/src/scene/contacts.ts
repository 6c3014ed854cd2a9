// Discs on the ground under what stands on it.

import * as THREE from "three";
import type { BodyRow, Ground, Span } from "../report_data";
import { colour } from "../theme";
import { boneOf } from "./limits";
import type { Poses } from "./sources";
import type { Layer } from "./stage";

const RADIUS = 0.11;
const ABOVE = 0.003;

export class ContactLayer implements Layer {
  readonly object: THREE.InstancedMesh<THREE.RingGeometry, THREE.MeshBasicMaterial>;
  private readonly feet: number[];

  constructor(
    private readonly bodies: BodyRow[],
    private readonly poses: Poses,
    private readonly spans: Span[],
    private readonly ground: Ground,
    /** Frames of the recording between two that are shown. */
    private readonly stride = 1,
  ) {
    const stands = spans.filter((span) => span.kind === "contact" && span.body >= 0);
    this.spans = stands;
    this.feet = [...new Set(stands.map((span) => span.body))];
    this.object = new THREE.InstancedMesh(
      new THREE.RingGeometry(0.72 * RADIUS, RADIUS, 40),
      new THREE.MeshBasicMaterial({ transparent: true, opacity: 0.9, side: THREE.DoubleSide }),
      Math.max(this.feet.length, 1),
    );
    this.object.count = this.feet.length;
    this.object.frustumCulled = false;
  }

  get count(): number {
    return this.feet.length;
  }

  show(frame: number): void {
    const now = frame * this.stride;
    const place = new THREE.Vector3();
    const middle = new THREE.Vector3();
    const turn = new THREE.Quaternion();
    const matrix = new THREE.Matrix4();
    this.feet.forEach((body, i) => {
      const stands = this.spans.some((s) => s.body === body && s.first <= now && now <= s.last);
      this.poses.place(frame, body, place);
      this.poses.turn(frame, body, turn);
      middle.copy(boneOf(this.bodies, body)).multiplyScalar(0.5).applyQuaternion(turn).add(place);
      const { height, slope } = this.ground;
      middle.z = height + slope[0] * middle.x + slope[1] * middle.y + ABOVE;
      const size = stands ? 1 : 0;
      this.object.setMatrixAt(i, matrix.makeScale(size, size, size).setPosition(middle));
    });
    this.object.instanceMatrix.needsUpdate = true;
  }

  paint(): void {
    this.object.material.color.set(colour("contact"));
  }
}
