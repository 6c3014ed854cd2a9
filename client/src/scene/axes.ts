// Limb frames: x red, y green, z blue, at each limb's own frame, or at its joint where none is known.

import * as THREE from "three";
import type { BodyRow } from "../report_data";
import { type Poses, quaternion } from "./sources";
import type { Layer } from "./stage";

const LENGTH = 0.07;
const COLOURS = [0xd6433c, 0x3aa655, 0x3b78d8];

export class FrameLayer implements Layer {
  readonly object: THREE.LineSegments;
  private readonly places: THREE.BufferAttribute;

  constructor(
    private readonly bodies: Pick<BodyRow, "frame">[],
    private readonly poses: Poses,
  ) {
    const geometry = new THREE.BufferGeometry();
    this.places = new THREE.BufferAttribute(new Float32Array(bodies.length * 18), 3);
    geometry.setAttribute("position", this.places);
    const tints = bodies.flatMap(() => COLOURS.flatMap((hex) => [hex, hex]));
    const colours = tints.flatMap((hex) => new THREE.Color(hex).toArray());
    geometry.setAttribute("color", new THREE.Float32BufferAttribute(colours, 3));
    const material = new THREE.LineBasicMaterial({ vertexColors: true, depthTest: false });
    this.object = new THREE.LineSegments(geometry, material);
    this.object.frustumCulled = false;
    this.object.renderOrder = 3;
  }

  show(frame: number): void {
    const place = new THREE.Vector3();
    const turn = new THREE.Quaternion();
    const end = new THREE.Vector3();
    this.bodies.forEach((body, i) => {
      const seen = this.poses.place(frame, i, place);
      if (seen) this.poses.turn(frame, i, turn);
      else place.set(0, 0, 0);
      if (body.frame) {
        place.add(end.set(...body.frame.origin).applyQuaternion(turn));
        turn.multiply(quaternion(body.frame.rotation));
      }
      for (let axis = 0; axis < 3; axis++) {
        const at = 6 * i + 2 * axis;
        end.set(0, 0, 0).setComponent(axis, seen ? LENGTH : 0).applyQuaternion(turn).add(place);
        this.places.setXYZ(at, place.x, place.y, place.z);
        this.places.setXYZ(at + 1, end.x, end.y, end.z);
      }
    });
    this.places.needsUpdate = true;
  }
}
