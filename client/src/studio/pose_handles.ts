// Handles that pull a body's joint or tip; the server poses the figure while the mouse moves.

import * as THREE from "three";
import { type Handle } from "./handles";
import { type Session } from "./session";
import { type View } from "./view";

export interface PoseSettings {
  /** Seconds to either side over which a change fades away. */
  spread: number;
  limits: boolean;
  /** Only the limb turns that is pulled at, not the trunk. */
  limb: boolean;
  /** Bodies that stay where they are. */
  pins: string[];
}

/** Handles of one body: its joint, and its free end where it has one. */
export function poseHandles(
  view: View,
  session: Session,
  body: number,
  settings: PoseSettings,
): Handle[] {
  const rig = session.side?.rig;
  const chosen = rig?.bodies[body];
  if (!chosen || view.poses === null) return [];
  const name = chosen.name.replaceAll("_", " ");
  const made = [pull(view, session, body, chosen.name, `pull the ${name}'s joint`, null, settings)];
  if (chosen.tip !== null) {
    const tip = new THREE.Vector3(...chosen.tip);
    const target = `${chosen.name} tip`;
    made.unshift(pull(view, session, body, target, `pull the ${name}`, tip, settings));
  }
  return made;
}

function pull(
  view: View,
  session: Session,
  body: number,
  target: string,
  label: string,
  tip: THREE.Vector3 | null,
  settings: PoseSettings,
): Handle {
  const turn = new THREE.Quaternion();
  let wanted: THREE.Vector3 | null = null;
  return {
    label,
    tint: "handle",
    place(frame, out) {
      if (wanted !== null) {
        out.copy(wanted);
        return true;
      }
      const seen = view.poses?.place(frame, body, out) ?? false;
      if (!seen || tip === null) return seen;
      view.poses?.turn(frame, body, turn);
      out.add(tip.clone().applyQuaternion(turn));
      return true;
    },
    drag(ray, start) {
      wanted = onPlane(ray, start, view.stage.camera) ?? wanted;
      if (wanted !== null) session.drag(view.frame, { [target]: wanted.toArray() }, settings);
    },
    drop() {
      if (wanted === null) return;
      const targets = { [target]: wanted.toArray() };
      const { frame } = view;
      session.edit({ edit: "pose", frame, targets, parameters: {}, found: true, ...settings });
      wanted = null;
    },
    cancel() {
      wanted = null;
      session.letGo();
    },
  };
}

/** Where a ray meets the plane through a place that faces the camera. */
export function onPlane(
  ray: THREE.Ray,
  through: THREE.Vector3,
  camera: THREE.Camera,
): THREE.Vector3 | null {
  const normal = camera.getWorldDirection(new THREE.Vector3());
  const plane = new THREE.Plane().setFromNormalAndCoplanarPoint(normal, through);
  return ray.intersectPlane(plane, new THREE.Vector3());
}
