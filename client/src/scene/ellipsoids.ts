// How well each joint is known: ellipsoids of its standard deviation.

import * as THREE from "three";
import type { BodyRow } from "../report_data";
import { colour } from "../theme";
import type { Poses } from "./sources";
import type { Layer } from "./stage";

/** Deviations are drawn this many times their size: true ones would vanish inside the joints. */
const ENLARGED = 5;
/** Metres: deviations beyond this are seen as they are. */
const LARGE = 0.04;

interface Known {
  body: number;
  parent: number;
  /** Unit sphere → half axes, in the parent's frame. */
  shape: THREE.Matrix4;
}

export class EllipsoidLayer implements Layer {
  readonly object: THREE.InstancedMesh<THREE.SphereGeometry, THREE.MeshStandardMaterial>;
  /** How many times their size they are drawn. */
  readonly scale: number;
  private readonly known: Known[] = [];

  constructor(
    bodies: BodyRow[],
    private readonly poses: Poses,
  ) {
    const largest = Math.max(0, ...bodies.map((body) => body.sigma_mm ?? 0));
    this.scale = largest > 1000 * LARGE ? 1 : ENLARGED;
    bodies.forEach((body, index) => {
      if (!body.ellipsoid) return;
      const [a, b, c] = body.ellipsoid.map((axis) =>
        new THREE.Vector3(...axis).multiplyScalar(this.scale),
      );
      const shape = new THREE.Matrix4().makeBasis(a, b, c);
      this.known.push({ body: index, parent: body.parent, shape });
    });
    const material = new THREE.MeshStandardMaterial({
      transparent: true,
      opacity: 0.55,
      depthTest: false,
      side: THREE.DoubleSide,
    });
    this.object = new THREE.InstancedMesh(
      new THREE.SphereGeometry(1, 20, 14),
      material,
      Math.max(this.known.length, 1),
    );
    this.object.count = this.known.length;
    this.object.frustumCulled = false;
    this.object.renderOrder = 2;
  }

  get count(): number {
    return this.known.length;
  }

  show(frame: number): void {
    const place = new THREE.Vector3();
    const turn = new THREE.Quaternion();
    const matrix = new THREE.Matrix4();
    this.known.forEach(({ body, parent, shape }, i) => {
      this.poses.place(frame, body, place);
      if (parent >= 0) this.poses.turn(frame, parent, turn);
      else turn.identity();
      matrix.makeRotationFromQuaternion(turn).multiply(shape).setPosition(place);
      this.object.setMatrixAt(i, matrix);
    });
    this.object.instanceMatrix.needsUpdate = true;
  }

  paint(): void {
    this.object.material.color.set(colour("ellipsoid"));
  }
}
