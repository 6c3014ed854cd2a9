// Where layers get their places from: anything that can say what is where at a frame.

import * as THREE from "three";
import type { Grid } from "../packed";
import type { BodyRow } from "../report_data";

/** Points over time. */
export interface Cloud {
  readonly count: number;
  /** Writes a point's place; false where it was not seen. */
  read(frame: number, index: number, out: THREE.Vector3): boolean;
}

/** Bodies over time: where each body's joint is, and how the body is turned. */
export interface Poses {
  readonly count: number;
  place(frame: number, body: number, out: THREE.Vector3): boolean;
  turn(frame: number, body: number, out: THREE.Quaternion): void;
}

export class GridCloud implements Cloud {
  readonly count: number;

  constructor(private readonly grid: Grid) {
    this.count = grid.shape[1];
  }

  read(frame: number, index: number, out: THREE.Vector3): boolean {
    const at = 3 * (frame * this.count + index);
    out.set(this.grid.at(at), this.grid.at(at + 1), this.grid.at(at + 2));
    return Number.isFinite(out.x);
  }
}

/** A rig's poses from world rotations; bones keep their length unless `joints` says otherwise. */
export class RigPoses implements Poses {
  readonly count: number;
  private shown = -1;
  private readonly places: THREE.Vector3[];
  private readonly turns: THREE.Quaternion[];
  private readonly offsets: THREE.Vector3[];

  constructor(
    private readonly bodies: BodyRow[],
    private readonly vectors: Grid,
    private readonly root: Grid,
    private readonly joints: Grid | null = null,
  ) {
    this.count = bodies.length;
    this.places = bodies.map(() => new THREE.Vector3());
    this.turns = bodies.map(() => new THREE.Quaternion());
    this.offsets = bodies.map((body) => new THREE.Vector3(...body.offset));
  }

  place(frame: number, body: number, out: THREE.Vector3): boolean {
    this.solve(frame);
    out.copy(this.places[body]);
    return Number.isFinite(out.x);
  }

  turn(frame: number, body: number, out: THREE.Quaternion): void {
    this.solve(frame);
    out.copy(this.turns[body]);
  }

  private solve(frame: number): void {
    if (frame === this.shown) return;
    this.shown = frame;
    for (let i = 0; i < this.count; i++) {
      const at = 3 * (frame * this.count + i);
      turnOfVector(this.vectors.at(at), this.vectors.at(at + 1), this.vectors.at(at + 2), this.turns[i]);
      const place = this.places[i];
      const parent = this.bodies[i].parent;
      if (this.joints) place.set(this.joints.at(at), this.joints.at(at + 1), this.joints.at(at + 2));
      else if (parent < 0) place.set(...this.rootAt(frame));
      else place.copy(this.offsets[i]).applyQuaternion(this.turns[parent]).add(this.places[parent]);
    }
  }

  private rootAt(frame: number): [number, number, number] {
    return [this.root.at(3 * frame), this.root.at(3 * frame + 1), this.root.at(3 * frame + 2)];
  }
}

/** The rotation of a rotation vector. */
export function turnOfVector(x: number, y: number, z: number, out: THREE.Quaternion): void {
  const angle = Math.hypot(x, y, z);
  const share = angle > 1e-9 ? Math.sin(angle / 2) / angle : 0.5;
  out.set(x * share, y * share, z * share, Math.cos(angle / 2));
}

/** Our quaternions go w, x, y, z. */
export function quaternion(wxyz: [number, number, number, number]): THREE.Quaternion {
  return new THREE.Quaternion(wxyz[1], wxyz[2], wxyz[3], wxyz[0]);
}
