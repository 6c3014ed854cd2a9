// The 3D view: floor, markers, bones. z is up, as in the data.

import * as THREE from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";
import { type ReportData, unpack } from "./data";

const MARKER_RADIUS = 0.009;
const BONE_WIDTH = 0.16;
const JOINT_RADIUS = 0.016;
const SIDE_COLOURS = { left: 0x2f8fd0, right: 0xd06a2f, middle: 0x8a8f98 };

/** A bone: slender octahedron from the origin to (0, 0, 1). */
function boneGeometry(): THREE.BufferGeometry {
  const geometry = new THREE.OctahedronGeometry(0.5, 0);
  const place = geometry.attributes.position;
  for (let i = 0; i < place.count; i++) {
    const [x, y, z] = [place.getX(i), place.getY(i), place.getZ(i)];
    place.setXYZ(i, x * BONE_WIDTH, y * BONE_WIDTH, z > 0.1 ? 1 : z < -0.1 ? 0 : 0.15);
  }
  geometry.computeVertexNormals();
  return geometry;
}

function sideOf(name: string): number {
  const word = name.toLowerCase();
  if (/^(left|l[_\s.]|l[A-Z])/.test(name) || word.startsWith("left")) return SIDE_COLOURS.left;
  if (/^(right|r[_\s.]|r[A-Z])/.test(name) || word.startsWith("right")) return SIDE_COLOURS.right;
  return SIDE_COLOURS.middle;
}

interface Bone {
  from: (frame: number, out: THREE.Vector3) => void;
  to: (frame: number, out: THREE.Vector3) => void;
}

export class Scene {
  private readonly renderer: THREE.WebGLRenderer;
  private readonly scene = new THREE.Scene();
  private readonly camera = new THREE.PerspectiveCamera(35, 1, 0.01, 200);
  private readonly controls: OrbitControls;
  private readonly joints: Float32Array;
  private readonly points: Float32Array;
  private readonly bones: Bone[] = [];
  private readonly boneMesh: THREE.InstancedMesh;
  private readonly jointMesh: THREE.InstancedMesh;
  private readonly markerMesh: THREE.InstancedMesh;
  private readonly floor: THREE.GridHelper;
  private frame = 0;
  private readonly matrix = new THREE.Matrix4();
  private readonly a = new THREE.Vector3();
  private readonly b = new THREE.Vector3();
  private readonly turn = new THREE.Quaternion();

  constructor(
    private readonly host: HTMLElement,
    private readonly data: ReportData,
  ) {
    this.renderer = new THREE.WebGLRenderer({ antialias: true, alpha: true });
    host.append(this.renderer.domElement);
    this.joints = unpack(data.joints);
    this.points = unpack(data.points);
    this.camera.up.set(0, 0, 1);
    this.controls = new OrbitControls(this.camera, this.renderer.domElement);
    this.controls.addEventListener("change", () => this.render());
    this.scene.add(new THREE.HemisphereLight(0xffffff, 0x666a70, 2.2));
    const sun = new THREE.DirectionalLight(0xffffff, 1.6);
    sun.position.set(2, -3, 5);
    this.scene.add(sun);
    this.floor = new THREE.GridHelper(10, 20, 0x888888, 0x888888);
    (this.floor.material as THREE.Material).transparent = true;
    (this.floor.material as THREE.Material).opacity = 0.25;
    this.floor.rotation.x = Math.PI / 2;
    this.scene.add(this.floor);
    this.collectBones();
    this.boneMesh = this.instances(boneGeometry(), this.bones.length);
    this.jointMesh = this.instances(
      new THREE.SphereGeometry(JOINT_RADIUS, 12, 8),
      data.bodies.length,
    );
    this.markerMesh = this.instances(
      new THREE.SphereGeometry(MARKER_RADIUS, 10, 8),
      data.markers.length,
    );
    this.paint();
    new ResizeObserver(() => this.resize()).observe(host);
    this.lookAtAll();
    this.resize();
  }

  /** Shows one of the page's frames. */
  show(frame: number): void {
    this.frame = frame;
    this.placeBones();
    this.placeSpheres(this.jointMesh, this.joints, this.data.bodies.length);
    this.placeSpheres(this.markerMesh, this.points, this.data.markers.length);
    this.render();
  }

  setVisible(part: "markers" | "skeleton", on: boolean): void {
    if (part === "markers") this.markerMesh.visible = on;
    else this.boneMesh.visible = this.jointMesh.visible = on;
    this.render();
  }

  /** Moves the camera so that the whole take at this frame fits. */
  lookAtAll(): void {
    const box = new THREE.Box3();
    for (const cloud of [this.points, this.joints]) {
      const count = cloud === this.points ? this.data.markers.length : this.data.bodies.length;
      for (let i = 0; i < count; i++) {
        if (this.read(cloud, count, i, this.frame, this.a)) box.expandByPoint(this.a);
      }
    }
    if (box.isEmpty()) return;
    box.getCenter(this.a);
    const size = box.getSize(this.b).length();
    this.controls.target.copy(this.a);
    this.camera.position.copy(this.a).add(new THREE.Vector3(1.5, -1.2, 0.45).multiplyScalar(size));
    this.camera.near = size / 100;
    this.camera.far = size * 100;
    this.camera.updateProjectionMatrix();
    this.controls.update();
    this.render();
  }

  private instances(geometry: THREE.BufferGeometry, count: number): THREE.InstancedMesh {
    const material = new THREE.MeshStandardMaterial({ roughness: 0.55, flatShading: false });
    const mesh = new THREE.InstancedMesh(geometry, material, Math.max(count, 1));
    mesh.count = count;
    mesh.frustumCulled = false;
    this.scene.add(mesh);
    return mesh;
  }

  private collectBones(): void {
    const n = this.data.bodies.length;
    const joint = (body: number) => (frame: number, out: THREE.Vector3) => {
      this.read(this.joints, n, body, frame, out);
    };
    this.data.bodies.forEach((body, index) => {
      if (body.parent >= 0) this.bones.push({ from: joint(body.parent), to: joint(index) });
    });
    for (const tip of this.data.tips) {
      const points = unpack(tip.points);
      this.bones.push({
        from: joint(tip.body),
        to: (frame, out) => void this.read(points, 1, 0, frame, out),
      });
    }
  }

  private paint(): void {
    const colour = new THREE.Color();
    const names = [
      ...this.data.bodies.filter((body) => body.parent >= 0).map((body) => body.name),
      ...this.data.tips.map((tip) => this.data.bodies[tip.body].name),
    ];
    names.forEach((name, i) => this.boneMesh.setColorAt(i, colour.set(sideOf(name))));
    this.data.bodies.forEach((body, i) => this.jointMesh.setColorAt(i, colour.set(sideOf(body.name))));
    this.data.markers.forEach((_, i) => this.markerMesh.setColorAt(i, colour.set(0x35b36a)));
  }

  private placeBones(): void {
    const up = new THREE.Vector3(0, 0, 1);
    const scale = new THREE.Vector3();
    this.bones.forEach((bone, i) => {
      bone.from(this.frame, this.a);
      bone.to(this.frame, this.b);
      const length = this.b.sub(this.a).length();
      this.turn.setFromUnitVectors(up, this.b.normalize());
      this.matrix.compose(this.a, this.turn, scale.setScalar(length));
      this.boneMesh.setMatrixAt(i, this.matrix);
    });
    this.boneMesh.instanceMatrix.needsUpdate = true;
  }

  private placeSpheres(mesh: THREE.InstancedMesh, cloud: Float32Array, count: number): void {
    for (let i = 0; i < count; i++) {
      const seen = this.read(cloud, count, i, this.frame, this.a);
      this.matrix.makeScale(seen ? 1 : 0, seen ? 1 : 0, seen ? 1 : 0);
      if (seen) this.matrix.setPosition(this.a);
      mesh.setMatrixAt(i, this.matrix);
    }
    mesh.instanceMatrix.needsUpdate = true;
  }

  private read(
    cloud: Float32Array,
    count: number,
    index: number,
    frame: number,
    out: THREE.Vector3,
  ): boolean {
    const at = 3 * (frame * count + index);
    out.set(cloud[at], cloud[at + 1], cloud[at + 2]);
    return Number.isFinite(out.x);
  }

  private resize(): void {
    const { clientWidth: width, clientHeight: height } = this.host;
    if (width === 0 || height === 0) return;
    this.renderer.setPixelRatio(Math.min(devicePixelRatio, 2));
    this.renderer.setSize(width, height);
    this.camera.aspect = width / height;
    this.camera.updateProjectionMatrix();
    this.render();
  }

  private render(): void {
    this.renderer.render(this.scene, this.camera);
  }
}
