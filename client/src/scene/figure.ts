// A skin that the bodies carry.

import * as THREE from "three";
import { unpack } from "../packed";
import type { SkinRow } from "../report_data";
import { colour } from "../theme";
import { type Poses, quaternion } from "./sources";
import type { Layer } from "./stage";

/** Every how many-th vertex tells how far the figure reaches. */
const SAMPLED = 23;

export class FigureLayer implements Layer {
  readonly object: THREE.SkinnedMesh<THREE.BufferGeometry, THREE.MeshStandardMaterial>;
  private readonly bones: THREE.Bone[];

  constructor(
    geometry: THREE.BufferGeometry,
    /** From the rest pose's bodies to the world. */
    rest: THREE.Matrix4[],
    private readonly poses: Poses,
  ) {
    const material = new THREE.MeshStandardMaterial({ roughness: 0.75, transparent: true });
    this.object = new THREE.SkinnedMesh(geometry, material);
    // every bone is told its place in the world, so none hangs on another
    this.bones = rest.map(() => new THREE.Bone());
    this.object.add(...this.bones);
    const inverses = rest.map((matrix) => matrix.clone().invert());
    this.object.bind(new THREE.Skeleton(this.bones, inverses), new THREE.Matrix4());
    this.object.frustumCulled = false;
  }

  static async from(skin: SkinRow, poses: Poses): Promise<FigureLayer> {
    const [vertices, triangles, bodies, weights] = await Promise.all(
      [skin.vertices, skin.triangles, skin.bodies, skin.weights].map(unpack),
    );
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", new THREE.BufferAttribute(vertices.floats(), 3));
    geometry.setAttribute("skinIndex", new THREE.BufferAttribute(bodies.integers(), 4));
    geometry.setAttribute("skinWeight", new THREE.BufferAttribute(weights.floats(), 4));
    geometry.setIndex(new THREE.BufferAttribute(triangles.integers(), 1));
    geometry.computeVertexNormals();
    const one = new THREE.Vector3(1, 1, 1);
    const rest = skin.joints.map((joint, i) =>
      new THREE.Matrix4().compose(new THREE.Vector3(...joint), quaternion(skin.turns[i]), one),
    );
    return new FigureLayer(geometry, rest, poses);
  }

  show(frame: number): void {
    this.bones.forEach((bone, body) => {
      this.poses.place(frame, body, bone.position);
      this.poses.turn(frame, body, bone.quaternion);
    });
  }

  extend(frame: number, box: THREE.Box3): void {
    this.show(frame);
    this.object.updateMatrixWorld(true);
    const place = new THREE.Vector3();
    const vertices = this.object.geometry.attributes.position;
    for (let i = 0; i < vertices.count; i += SAMPLED) {
      place.fromBufferAttribute(vertices, i);
      this.object.applyBoneTransform(i, place);
      if (Number.isFinite(place.x)) box.expandByPoint(place); // poses may still be on their way
    }
  }

  /** Lets what is inside shine through. */
  setOpacity(opacity: number): void {
    this.object.material.opacity = opacity;
    this.object.material.depthWrite = opacity > 0.99;
  }

  /** The body that carries the skin at a place in the world, as the figure stands now. */
  bodyAt(place: THREE.Vector3): number {
    const { position, skinIndex, skinWeight } = this.object.geometry.attributes;
    const at = new THREE.Vector3();
    let nearest = 0;
    let least = Infinity;
    for (let i = 0; i < position.count; i++) {
      const away = this.object.getVertexPosition(i, at).distanceToSquared(place);
      if (away < least) [nearest, least] = [i, away];
    }
    const shares = [0, 1, 2, 3].map((k) => skinWeight.getComponent(nearest, k));
    return skinIndex.getComponent(nearest, shares.indexOf(Math.max(...shares)));
  }

  paint(): void {
    this.object.material.color.set(colour("skin"));
  }
}
