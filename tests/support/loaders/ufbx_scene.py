"""Run by a Python that has ufbx: prints what it finds in an FBX file.

    python ufbx_scene.py motion.fbx 120 0,17,49

Prints JSON: joints of the last animation by frame (name → [x, y, z] in the file's world, metres),
key times of its curves where they share them, weights (name → [[vertex, weight], …]), axes, stacks.
"""

import gc
import json
import sys

import ufbx

# ufbx 0.0.5 frees what Python still holds: everything is held, and nothing collected
gc.disable()
HELD = []


def hold(thing):
    HELD.append(thing)
    return thing


def every(things):
    things = hold(things)
    return [hold(things[index]) for index in range(len(things))]


def main(path: str, rate: float, frames: list[int]) -> None:
    scene = hold(ufbx.load_file(path))
    unit, stack = scene.settings.unit_meters, every(scene.anim_stacks)[-1]
    joints = []
    for frame in frames:
        posed = hold(ufbx.evaluate_scene(scene, hold(stack.anim), frame / rate))
        places = {node.name: hold(node.node_to_world).c3 for node in every(posed.nodes)}
        joints.append({name: [unit * p.x, unit * p.y, unit * p.z] for name, p in places.items()})
    weights = {}
    for mesh in every(scene.meshes):
        skins = every(mesh.skin_deformers)
        for cluster in every(skins[0].clusters) if skins else ():
            pairs = zip(list(cluster.vertices), list(cluster.weights), strict=True)
            weights[hold(cluster.bone_node).name] = [list(pair) for pair in pairs]
    clocks = {
        tuple(key.time for key in every(curve.keyframes))
        for layer in every(stack.layers)
        for value in every(layer.anim_values)
        for curve in hold(value.curves)
        if curve is not None
    }
    found = {
        "joints": joints,
        "times": list(clocks.pop()) if len(clocks) == 1 else [],
        "weights": weights,
        "rate": scene.settings.frames_per_second,
        "up": scene.settings.axes.up.name,
        "stacks": [each.name for each in every(scene.anim_stacks)],
        "poses": [len(pose.bone_poses) for pose in every(scene.poses)],
        "warnings": [warning.description for warning in every(scene.metadata.warnings)],
    }
    print("FOUND " + json.dumps(found), flush=True)  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), [int(frame) for frame in sys.argv[3].split(",")])
