// The ground: half-metre lines under the whole take.

import * as THREE from "three";
import type { Ground } from "../report_data";
import { colour } from "../theme";
import type { Layer } from "./stage";

const CELL = 0.5;

export class FloorLayer implements Layer {
  readonly object = new THREE.Group();
  private readonly lines: THREE.LineSegments;

  /** `around` is what the floor should reach under; else it is six metres wide. */
  constructor(ground: Ground, around = new THREE.Box3()) {
    const half = around.isEmpty() ? 3 : Math.max(around.max.x - around.min.x, around.max.y - around.min.y) / 2 + 1;
    const cells = Math.max(2, Math.ceil(half / CELL));
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", new THREE.Float32BufferAttribute(grid(cells), 3));
    this.lines = new THREE.LineSegments(geometry, new THREE.LineBasicMaterial({ transparent: true }));
    const centre = around.isEmpty() ? new THREE.Vector3() : around.getCenter(new THREE.Vector3());
    const [x, y] = [CELL * Math.round(centre.x / CELL), CELL * Math.round(centre.y / CELL)];
    const [along, across] = ground.slope;
    this.object.position.set(x, y, ground.height + along * x + across * y);
    const normal = new THREE.Vector3(-along, -across, 1).normalize();
    this.object.quaternion.setFromUnitVectors(new THREE.Vector3(0, 0, 1), normal);
    this.object.add(this.lines);
  }

  show(): void {}

  paint(): void {
    (this.lines.material as THREE.LineBasicMaterial).color.set(colour("floor"));
  }
}

/** End points of lines both ways over a square of cells. */
function grid(cells: number): number[] {
  const points: number[] = [];
  const end = cells * CELL;
  for (let i = -cells; i <= cells; i++) {
    points.push(i * CELL, -end, 0, i * CELL, end, 0, -end, i * CELL, 0, end, i * CELL, 0);
  }
  return points;
}
