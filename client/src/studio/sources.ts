// A side's arrays as the 3D view reads them.

import type * as THREE from "three";
import { type Pose } from "../messages";
import { type Cloud, type Poses } from "../scene/sources";
import { type Blocks } from "./blocks";

export class BlockCloud implements Cloud {
  readonly count: number;

  constructor(private readonly points: Blocks) {
    this.count = points.columns;
  }

  read(frame: number, index: number, out: THREE.Vector3): boolean {
    out.fromArray(this.points.at(frame), 3 * index);
    return Number.isFinite(out.x);
  }
}

/** Joints and turns from the server; a pose that is being dragged stands in for its frame. */
export class BlockPoses implements Poses {
  readonly count: number;

  constructor(
    private readonly joints: Blocks,
    private readonly turned: Blocks,
    private readonly posed: () => Pose | null,
  ) {
    this.count = joints.columns;
  }

  place(frame: number, body: number, out: THREE.Vector3): boolean {
    const posed = this.posed();
    if (posed !== null && posed.frame === frame) out.set(...posed.joints[body]);
    else out.fromArray(this.joints.at(frame), 3 * body);
    return Number.isFinite(out.x);
  }

  turn(frame: number, body: number, out: THREE.Quaternion): void {
    const posed = this.posed();
    if (posed !== null && posed.frame === frame) {
      const [w, x, y, z] = posed.turned[body];
      out.set(x, y, z, w);
      return;
    }
    const numbers = this.turned.at(frame);
    const at = 4 * body;
    out.set(numbers[at + 1], numbers[at + 2], numbers[at + 3], numbers[at]);
  }
}

/** What a single pose says, whatever the frame: a live performer, or a character at rest. */
export class OnePose implements Poses {
  constructor(
    readonly count: number,
    private readonly pose: () => Pick<Pose, "joints" | "turned"> | null,
  ) {}

  place(_frame: number, body: number, out: THREE.Vector3): boolean {
    const joint = this.pose()?.joints[body];
    if (joint) out.set(...joint);
    return joint !== undefined && Number.isFinite(out.x);
  }

  turn(_frame: number, body: number, out: THREE.Quaternion): void {
    const [w, x, y, z] = this.pose()?.turned[body] ?? [1, 0, 0, 0];
    out.set(x, y, z, w);
  }
}

/** The markers of a live pose. */
export class LiveCloud implements Cloud {
  constructor(
    readonly count: number,
    private readonly pose: () => Pose | null,
  ) {}

  read(_frame: number, index: number, out: THREE.Vector3): boolean {
    const point = this.pose()?.points[index];
    if (point) out.set(...point);
    return Boolean(point);
  }
}
