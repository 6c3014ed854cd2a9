// Bones and joints, left and right told apart by colour.

import * as THREE from "three";
import type { BodyRow } from "../report_data";
import { colour } from "../theme";
import type { Poses } from "./sources";
import type { Layer } from "./stage";

const WIDTH = 0.15;
/** Of joints, metres at most; a share of the usual bone where creatures are small. */
const RADIUS = 0.014;
const RADIUS_OF_BONE = 0.12;
const UP = new THREE.Vector3(0, 0, 1);
/** Metres between two joints that show where left and right are. */
const APART = 0.02;

export type Side = "left" | "right" | "middle";

const SIDES: [Side, RegExp][] = [
  ["left", /^(left|l(?=[A-Z_\s.-])|L(?=[A-Z_\s.-]))|[_\s.-](l|L|left|Left)$/],
  ["right", /^(right|r(?=[A-Z_\s.-])|R(?=[A-Z_\s.-]))|[_\s.-](r|R|right|Right)$/],
];

/** Which side of the body a name speaks of: `left_thigh`, `LHip`, `hand.L`; among `names` that
 * also hold its like of the other side `lfemur` will do. */
export function sideOf(name: string, names: string[] = []): Side {
  const word = name.replace(/^(Left|LEFT)/, "left").replace(/^(Right|RIGHT)/, "right");
  for (const [side, pattern] of SIDES) if (pattern.test(word)) return side;
  const other = { l: "r", L: "R", r: "l", R: "L" }[name[0]];
  if (other === undefined || !names.includes(other + name.slice(1))) return "middle";
  return name[0].toLowerCase() === "l" ? "left" : "right";
}

/** Where a body with a left and a right side looks: square to the way from one to the other. */
export function frontOf(bodies: BodyRow[], poses: Poses): (frame: number, out: THREE.Vector3) => boolean {
  const names = bodies.map((body) => body.name);
  const left = names.flatMap((name, i) => (sideOf(name, names) === "left" ? [i] : []));
  const right = names.flatMap((name, i) => (sideOf(name, names) === "right" ? [i] : []));
  const [a, b] = [new THREE.Vector3(), new THREE.Vector3()];
  return (frame, out) => {
    // hips first; joints of both sides that fall together tell nothing
    for (let k = 0; k < Math.min(left.length, right.length); k++) {
      if (!poses.place(frame, right[k], a) || !poses.place(frame, left[k], b)) continue;
      const across = a.sub(b).setZ(0);
      if (across.length() < APART) continue;
      out.copy(UP).cross(across);
      return true;
    }
    return false;
  };
}

interface Bone {
  /** Body whose joint is where the bone begins. */
  from: number;
  /** Body whose joint is where it ends; −1: at the tip of `from`. */
  to: number;
}

export class SkeletonLayer implements Layer {
  readonly object = new THREE.Group();
  private readonly bones: Bone[] = [];
  private readonly boneMesh: THREE.InstancedMesh;
  private readonly jointMesh: THREE.InstancedMesh;
  private readonly a = new THREE.Vector3();
  private readonly b = new THREE.Vector3();
  private readonly turn = new THREE.Quaternion();
  private readonly scale = new THREE.Vector3();
  private readonly matrix = new THREE.Matrix4();

  constructor(
    private readonly bodies: BodyRow[],
    private readonly poses: Poses,
  ) {
    bodies.forEach((body, index) => {
      if (body.parent >= 0) this.bones.push({ from: body.parent, to: index });
      if (body.tip !== null) this.bones.push({ from: index, to: -1 });
    });
    this.boneMesh = instances(boneGeometry(), this.bones.length);
    this.jointMesh = instances(new THREE.SphereGeometry(jointRadius(bodies), 16, 12), bodies.length);
    this.boneMesh.userData.indices = this.bones.map((bone) => bone.from);
    this.object.add(this.boneMesh, this.jointMesh);
  }

  show(frame: number): void {
    this.bones.forEach((bone, i) => {
      this.poses.place(frame, bone.from, this.a);
      this.endOf(frame, bone, this.b);
      const length = this.b.sub(this.a).length();
      this.turn.setFromUnitVectors(UP, this.b.normalize());
      this.boneMesh.setMatrixAt(i, this.matrix.compose(this.a, this.turn, this.scale.setScalar(length)));
    });
    for (let i = 0; i < this.bodies.length; i++) {
      this.poses.place(frame, i, this.a);
      this.jointMesh.setMatrixAt(i, this.matrix.makeTranslation(this.a));
    }
    this.boneMesh.instanceMatrix.needsUpdate = true;
    this.jointMesh.instanceMatrix.needsUpdate = true;
    this.jointMesh.boundingSphere = this.boneMesh.boundingSphere = null;
  }

  paint(): void {
    const names = this.bodies.map((body) => body.name);
    const tint = (body: number) => new THREE.Color(colour(sideOf(names[body], names)));
    this.bones.forEach(({ from, to }, i) => this.boneMesh.setColorAt(i, tint(to < 0 ? from : to)));
    this.bodies.forEach((_, i) => this.jointMesh.setColorAt(i, tint(i)));
    for (const mesh of [this.boneMesh, this.jointMesh]) {
      if (mesh.instanceColor) mesh.instanceColor.needsUpdate = true;
    }
  }

  extend(frame: number, box: THREE.Box3): void {
    for (let i = 0; i < this.bodies.length; i++) {
      if (this.poses.place(frame, i, this.a)) box.expandByPoint(this.a);
    }
    for (const bone of this.bones) {
      this.endOf(frame, bone, this.a);
      if (Number.isFinite(this.a.x)) box.expandByPoint(this.a);
    }
  }

  private endOf(frame: number, bone: Bone, out: THREE.Vector3): void {
    if (bone.to >= 0) {
      this.poses.place(frame, bone.to, out);
      return;
    }
    const start = new THREE.Vector3();
    this.poses.place(frame, bone.from, start);
    this.poses.turn(frame, bone.from, this.turn);
    out.set(...(this.bodies[bone.from].tip ?? [0, 0, 0])).applyQuaternion(this.turn).add(start);
  }
}

/** Joints of a mouse or a hand must not hide its bones. */
function jointRadius(bodies: BodyRow[]): number {
  const ways = bodies.flatMap((body) => [...(body.parent >= 0 ? [body.offset] : []), body.tip ?? [0, 0, 0]]);
  const lengths = ways.map((way) => Math.hypot(...way)).filter((length) => length > 0);
  const usual = lengths.sort((a, b) => a - b)[lengths.length >> 1] ?? Infinity;
  return Math.min(RADIUS, RADIUS_OF_BONE * usual);
}

function instances(geometry: THREE.BufferGeometry, count: number): THREE.InstancedMesh {
  const material = new THREE.MeshStandardMaterial({ roughness: 0.5, flatShading: true });
  const mesh = new THREE.InstancedMesh(geometry, material, Math.max(count, 1));
  mesh.count = count;
  mesh.frustumCulled = false;
  return mesh;
}

/** A bone: slender octahedron from the origin to (0, 0, 1). */
function boneGeometry(): THREE.BufferGeometry {
  const geometry = new THREE.OctahedronGeometry(0.5, 0);
  const place = geometry.attributes.position;
  for (let i = 0; i < place.count; i++) {
    const [x, y, z] = [place.getX(i), place.getY(i), place.getZ(i)];
    place.setXYZ(i, x * WIDTH, y * WIDTH, z > 0.1 ? 1 : z < -0.1 ? 0 : 0.15);
  }
  geometry.computeVertexNormals();
  return geometry;
}
