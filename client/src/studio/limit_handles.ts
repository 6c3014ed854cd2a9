// Handles on a joint's range: the half axes of its cone, its twist, or the two ends of a hinge.

import * as THREE from "three";
import { type BodyRow, type ConeRow, type HingeRow } from "../report_data";
import { boneOf } from "../scene/limits";
import { quaternion, turnOfVector } from "../scene/sources";
import { type Handle } from "./handles";
import { type Session } from "./session";
import { type View } from "./view";

const SHARE = 0.5;
const LEAST = 0.08;
const CORNERS = 48;
/** Radius of the ring for twists, as a share of the handles' distance from the joint. */
const RING = 0.45;
const NARROWEST = THREE.MathUtils.degToRad(1);
const degrees = THREE.MathUtils.radToDeg;

export interface Range {
  hinge: [number, number] | null;
  swing: [number, number] | null;
  twist: [number, number] | null;
}

const UNTOUCHED: Range = { hinge: null, swing: null, twist: null };

export function rangeOf(body: BodyRow): Range {
  const { cone, hinge } = body;
  return {
    hinge: hinge && [hinge.low, hinge.high],
    swing: cone && [...cone.radii],
    twist: cone && [...cone.twist],
  };
}

/** The body with another range, to be drawn before the server has said so. */
export function withRange(body: BodyRow, range: Range): BodyRow {
  const { cone, hinge } = body;
  const [a, b] = range.swing ?? [0, 0];
  const ellipse = Array.from({ length: CORNERS }, (_, k): [number, number] => {
    const angle = (2 * Math.PI * k) / CORNERS;
    return [a * Math.cos(angle), b * Math.sin(angle)];
  });
  const [low, high] = range.hinge ?? [0, 0];
  return { ...body, hinge: hinge && { ...hinge, low, high }, cone: cone && { ...cone, rim: ellipse } };
}

/** Tells the server of a range; radians here, degrees there. */
export function sendRange(session: Session, body: BodyRow, range: Range): void {
  const inDegrees = (ends: [number, number] | null): [number, number] | null =>
    ends && [degrees(ends[0]), degrees(ends[1])];
  session.edit({
    edit: "limits",
    body: body.name,
    hinge: inDegrees(range.hinge),
    swing: inDegrees(range.swing),
    twist: inDegrees(range.twist),
    zyz: null,
  });
}

/** Where handles are and what they mean: directions in the parent's frame and back. */
class Joint {
  readonly reach: number;
  private readonly place = new THREE.Vector3();
  private readonly turn = new THREE.Quaternion();

  constructor(
    private readonly view: View,
    private readonly index: number,
    private readonly parent: number,
    bone: THREE.Vector3,
  ) {
    this.reach = SHARE * Math.max(bone.length(), LEAST);
  }

  toWorld(direction: THREE.Vector3, frame: number, out: THREE.Vector3): boolean {
    const seen = this.view.poses?.place(frame, this.index, this.place) ?? false;
    this.view.poses?.turn(frame, this.parent, this.turn);
    out.copy(direction).multiplyScalar(this.reach).applyQuaternion(this.turn).add(this.place);
    return seen;
  }

  /** Where a ray meets the plane through a place, in the parent's frame from the joint. */
  onPlane(ray: THREE.Ray, place: THREE.Vector3, normal: THREE.Vector3): THREE.Vector3 | null {
    this.view.poses?.place(this.view.frame, this.index, this.place);
    this.view.poses?.turn(this.view.frame, this.parent, this.turn);
    const back = this.turn.clone().invert();
    const origin = ray.origin.clone().sub(this.place).applyQuaternion(back);
    const local = new THREE.Ray(origin, ray.direction.clone().applyQuaternion(back));
    const plane = new THREE.Plane().setFromNormalAndCoplanarPoint(normal, place);
    return local.intersectPlane(plane, new THREE.Vector3());
  }

  /** Unit direction from the joint to where a ray comes nearest to the handles' sphere. */
  fromRay(ray: THREE.Ray): THREE.Vector3 {
    this.view.poses?.place(this.view.frame, this.index, this.place);
    this.view.poses?.turn(this.view.frame, this.parent, this.turn);
    const sphere = new THREE.Sphere(this.place, this.reach);
    const at =
      ray.intersectSphere(sphere, new THREE.Vector3()) ??
      ray.closestPointToPoint(this.place, new THREE.Vector3());
    return at.sub(this.place).applyQuaternion(this.turn.clone().invert()).normalize();
  }
}

export function limitHandles(
  view: View,
  session: Session,
  index: number,
  onChange: (range: Range) => void,
): Handle[] {
  const bodies = session.side?.rig?.bodies ?? [];
  const body = bodies[index];
  if (!body || body.parent < 0 || view.poses === null) return [];
  const bone = boneOf(bodies, index);
  const joint = new Joint(view, index, body.parent, bone);
  const range = rangeOf(body);
  const finish = {
    change: () => onChange(range),
    send: (key: keyof Range) => sendRange(session, body, { ...UNTOUCHED, [key]: range[key] }),
  };
  const { cone, hinge } = body;
  if (body.kind === "hinge" && hinge) {
    return [0, 1].map((end) => hingeHandle(joint, body.name, hinge, bone, range, end, finish));
  }
  if (cone === null || range.swing === null) return [];
  const swings = [0, 1].flatMap((axis) =>
    [1, -1].map((sign) => swingHandle(joint, cone, range, axis, sign, finish)),
  );
  return [...swings, ...[0, 1].map((end) => twistHandle(joint, cone, range, end, finish))];
}

interface Finish {
  change(): void;
  /** Tells the server what the handle has changed. */
  send(key: keyof Range): void;
}

function hingeHandle(
  joint: Joint,
  name: string,
  hinge: HingeRow,
  bone: THREE.Vector3,
  range: Range,
  end: number,
  finish: Finish,
): Handle {
  const axis = new THREE.Vector3(...hinge.axis).normalize();
  const straight = bone.clone().normalize().applyQuaternion(quaternion(hinge.rest));
  const flat = straight.clone().projectOnPlane(axis).normalize();
  const side = axis.clone().cross(flat);
  const ends = range.hinge ?? [0, 0];
  const start = [...ends];
  return {
    label: `${end === 0 ? "least" : "largest"} angle of ${name.replaceAll("_", " ")}`,
    tint: "limit",
    place: (frame, out) =>
      joint.toWorld(straight.clone().applyAxisAngle(axis, ends[end]), frame, out),
    drag(ray) {
      const to = joint.fromRay(ray);
      let angle = Math.atan2(to.dot(side), to.dot(flat));
      // the nearest turn to where the end was, so that ranges may pass half a turn
      angle += 2 * Math.PI * Math.round((ends[end] - angle) / (2 * Math.PI));
      ends[end] =
        end === 0 ? Math.min(angle, ends[1] - NARROWEST) : Math.max(angle, ends[0] + NARROWEST);
      finish.change();
    },
    drop: () => finish.send("hinge"),
    cancel() {
      ends[end] = start[end];
      finish.change();
    },
  };
}

function swingHandle(
  joint: Joint,
  cone: ConeRow,
  range: Range,
  axis: number,
  sign: number,
  finish: Finish,
): Handle {
  const centre = quaternion(cone.centre);
  const along = new THREE.Vector3(...cone.axis);
  const turnAxis = new THREE.Vector3(...cone.across[axis]);
  const radii = range.swing ?? [0, 0];
  const start = radii[axis];
  const swing = new THREE.Quaternion();
  return {
    label: `${axis === 0 ? "first" : "second"} half axis of the cone`,
    tint: "limit",
    place(frame, out) {
      const turn = turnAxis.clone().multiplyScalar(sign * radii[axis]);
      turnOfVector(turn.x, turn.y, turn.z, swing);
      const way = along.clone().applyQuaternion(swing).applyQuaternion(centre);
      return joint.toWorld(way, frame, out);
    },
    drag(ray) {
      const to = joint.fromRay(ray).applyQuaternion(centre.clone().invert());
      const side = turnAxis.clone().cross(along);
      const angle = sign * Math.atan2(to.dot(side), to.dot(along));
      radii[axis] = Math.max(NARROWEST, Math.min(angle < 0 ? NARROWEST : angle, Math.PI));
      finish.change();
    },
    drop: () => finish.send("swing"),
    cancel() {
      radii[axis] = start;
      finish.change();
    },
  };
}

/** On a ring about the bone, in the middle of the cone. */
function twistHandle(
  joint: Joint,
  cone: ConeRow,
  range: Range,
  end: number,
  finish: Finish,
): Handle {
  const centre = quaternion(cone.centre);
  const [along, zero, side] = [cone.axis, ...cone.across].map((axis) =>
    new THREE.Vector3(...axis).applyQuaternion(centre),
  );
  const ends = range.twist ?? [0, 0];
  const start = ends[end];
  return {
    label: `${end === 0 ? "least" : "largest"} twist`,
    tint: "ellipsoid",
    place(frame, out) {
      const around = zero.clone().multiplyScalar(Math.cos(ends[end]));
      around.addScaledVector(side, Math.sin(ends[end])).multiplyScalar(RING);
      return joint.toWorld(along.clone().add(around), frame, out);
    },
    drag(ray) {
      const to = joint.onPlane(ray, along.clone().multiplyScalar(joint.reach), along);
      if (to === null) return;
      let angle = Math.atan2(to.dot(side), to.dot(zero));
      angle += 2 * Math.PI * Math.round((ends[end] - angle) / (2 * Math.PI));
      ends[end] =
        end === 0 ? Math.min(angle, ends[1] - NARROWEST) : Math.max(angle, ends[0] + NARROWEST);
      finish.change();
    },
    drop: () => finish.send("twist"),
    cancel() {
      ends[end] = start;
      finish.change();
    },
  };
}
