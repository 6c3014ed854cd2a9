// Spheres that can be grabbed; they keep their size on the screen.

import * as THREE from "three";
import { type Layer } from "../scene/stage";
import { colour } from "../theme";

export interface Handle {
  /** What dragging it does, also its name for those who cannot see it. */
  label: string;
  /** Name of its colour in the style sheet. */
  tint: string;
  /** Where it is in the world; false where it is nowhere. */
  place(frame: number, out: THREE.Vector3): boolean;
  /** The pointer moved along this ray; `start` is where the handle was grabbed. */
  drag(ray: THREE.Ray, start: THREE.Vector3): void;
  /** Let go; not where the drag was broken off. */
  drop(): void;
  cancel(): void;
}

const SIZE = 0.0085;
const REACH = 1.7;

export class HandleLayer implements Layer {
  readonly object = new THREE.Group();
  private handles: Handle[] = [];
  private frame = 0;
  private readonly geometry = new THREE.SphereGeometry(1, 18, 12);

  constructor(private readonly camera: THREE.Camera) {
    this.object.renderOrder = 10;
  }

  set(handles: Handle[]): void {
    this.handles = handles;
    this.object.clear();
    for (const _ of handles) {
      const material = new THREE.MeshBasicMaterial({
        depthTest: false,
        transparent: true,
        opacity: 0.85,
      });
      const ball = new THREE.Mesh(this.geometry, material);
      ball.renderOrder = 10;
      this.object.add(ball);
    }
    this.paint();
    this.show(this.frame);
  }

  show(frame: number): void {
    this.frame = frame;
    this.handles.forEach((handle, i) => {
      const ball = this.object.children[i];
      ball.visible = handle.place(frame, ball.position);
      ball.scale.setScalar(SIZE * ball.position.distanceTo(this.camera.position));
    });
  }

  paint(): void {
    this.handles.forEach((handle, i) => {
      const ball = this.object.children[i] as THREE.Mesh<
        THREE.SphereGeometry,
        THREE.MeshBasicMaterial
      >;
      ball.material.color.set(colour(handle.tint));
    });
  }

  /** The handle that a ray meets, with some patience. */
  under(ray: THREE.Ray): { handle: Handle; at: THREE.Vector3 } | null {
    let best: { handle: Handle; at: THREE.Vector3 } | null = null;
    let least = Infinity;
    this.handles.forEach((handle, i) => {
      const ball = this.object.children[i];
      const away = ray.distanceToPoint(ball.position);
      if (ball.visible && away < REACH * ball.scale.x && away < least) {
        least = away;
        best = { handle, at: ball.position.clone() };
      }
    });
    return best;
  }
}
