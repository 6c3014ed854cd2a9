"""Run by Blender's Python: imports a file and prints where its bones' heads are, frame by frame.

    python blender_heads.py motion.glb 120 0,17,49

Prints JSON, one object per frame: bone name → [x, y, z] in Blender's world (z up), metres.
"""

import json
import sys

import bpy


def main(path: str, rate: float, frames: list[int]) -> None:
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    scene.render.fps, scene.render.fps_base = round(rate), round(rate) / rate
    first = 0
    if path.endswith(".bvh"):
        # our BVH is z up, Blender expects y; with frame_start=0 the first frame becomes frame 1
        first = 1
        bpy.ops.import_anim.bvh(
            filepath=path, axis_forward="Y", axis_up="Z", use_fps_scale=False, frame_start=0
        )
    else:
        bpy.ops.import_scene.gltf(filepath=path)
    armature = next(thing for thing in scene.objects if thing.type == "ARMATURE")
    heads = []
    for frame in frames:
        scene.frame_set(first + frame)
        bpy.context.view_layer.update()
        heads.append(
            {bone.name: list(armature.matrix_world @ bone.head) for bone in armature.pose.bones}
        )
    print("HEADS " + json.dumps(heads))  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), [int(frame) for frame in sys.argv[3].split(",")])
