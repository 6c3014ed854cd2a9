// How far joints go: cones of directions, and sectors of hinges.

import * as THREE from "three";
import type { BodyRow, ConeRow, HingeRow } from "../report_data";
import { colour } from "../theme";
import { type Poses, quaternion, turnOfVector } from "./sources";
import type { Layer } from "./stage";

const SHARE = 0.5;
const STEP = Math.PI / 36;

interface Drawn {
  body: number;
  parent: number;
  group: THREE.Group;
}

export class LimitLayer implements Layer {
  readonly object = new THREE.Group();
  private readonly drawn: Drawn[] = [];
  private readonly fill = new THREE.MeshBasicMaterial({
    transparent: true,
    opacity: 0.22,
    side: THREE.DoubleSide,
    depthWrite: false,
  });
  private readonly edge = new THREE.LineBasicMaterial();

  constructor(
    bodies: BodyRow[],
    private readonly poses: Poses,
  ) {
    bodies.forEach((body, index) => {
      const bone = boneOf(bodies, index);
      const rim = body.hinge ? hingeRim(body.hinge, bone) : body.cone ? coneRim(body.cone) : null;
      if (rim === null || body.parent < 0) return;
      const reach = SHARE * Math.max(bone.length(), 0.08);
      const points = rim.map((way) => way.multiplyScalar(reach));
      this.drawn.push({ body: index, parent: body.parent, group: this.fan(points, !body.hinge) });
    });
  }

  get count(): number {
    return this.drawn.length;
  }

  show(frame: number): void {
    for (const { body, parent, group } of this.drawn) {
      this.poses.place(frame, body, group.position);
      this.poses.turn(frame, parent, group.quaternion);
    }
  }

  paint(): void {
    this.fill.color.set(colour("limit"));
    this.edge.color.set(colour("limit"));
  }

  private fan(points: THREE.Vector3[], closed: boolean): THREE.Group {
    const group = new THREE.Group();
    const ring = closed ? [...points, points[0]] : points;
    const corners: THREE.Vector3[] = [];
    for (let i = 0; i + 1 < ring.length; i++) {
      corners.push(new THREE.Vector3(), ring[i], ring[i + 1]);
    }
    group.add(new THREE.Mesh(new THREE.BufferGeometry().setFromPoints(corners), this.fill));
    const outline = closed ? ring : [new THREE.Vector3(), ...ring, new THREE.Vector3()];
    group.add(new THREE.Line(new THREE.BufferGeometry().setFromPoints(outline), this.edge));
    this.object.add(group);
    return group;
  }
}

/** From a body's joint to where its bone ends, in the body's frame. */
export function boneOf(bodies: BodyRow[], index: number): THREE.Vector3 {
  const tip = bodies[index].tip;
  const child = bodies.find((body) => body.parent === index);
  return new THREE.Vector3(...(tip ?? child?.offset ?? [0, 0, 0.1]));
}

/** Unit directions of the bone along a cone's rim, in the parent's frame. */
export function coneRim(cone: ConeRow): THREE.Vector3[] {
  const centre = quaternion(cone.centre);
  const [u, v] = cone.across.map((axis) => new THREE.Vector3(...axis));
  const swing = new THREE.Quaternion();
  return finely(cone.rim).map(([along, across]) => {
    const turn = u.clone().multiplyScalar(along).addScaledVector(v, across);
    turnOfVector(turn.x, turn.y, turn.z, swing);
    return new THREE.Vector3(...cone.axis).applyQuaternion(swing).applyQuaternion(centre);
  });
}

/** The corners of a closed polygon with points between them, for its edges are curves in space. */
function finely(corners: [number, number][]): [number, number][] {
  return corners.flatMap((from, i) => {
    const to = corners[(i + 1) % corners.length];
    const n = Math.max(1, Math.ceil(Math.hypot(to[0] - from[0], to[1] - from[1]) / STEP));
    return Array.from({ length: n }, (_, k): [number, number] => [
      from[0] + (k / n) * (to[0] - from[0]),
      from[1] + (k / n) * (to[1] - from[1]),
    ]);
  });
}

/** Unit directions of the bone over a hinge's range, in the parent's frame. */
export function hingeRim(hinge: HingeRow, bone: THREE.Vector3): THREE.Vector3[] {
  const axis = new THREE.Vector3(...hinge.axis);
  const straight = bone.clone().normalize().applyQuaternion(quaternion(hinge.rest));
  const n = Math.max(2, Math.ceil((hinge.high - hinge.low) / STEP));
  return Array.from({ length: n + 1 }, (_, k) =>
    straight.clone().applyAxisAngle(axis, hinge.low + (k / n) * (hinge.high - hinge.low)),
  );
}
