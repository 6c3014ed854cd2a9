"""Run by Blender's Python: imports a file and prints where its bones' heads are, frame by frame.

    python blender_heads.py motion.glb 120 0,17,49 [again.glb or again.fbx]

With a second file, Blender also exports what it imported, frames 0 to the last one named.
Prints JSON, one object per frame: bone name → [x, y, z] in Blender's world (z up), metres. And one
of the rest: bone name → [head, tail].
"""

import json
import sys

import bpy


def main(path: str, rate: float, frames: list[int], export: str | None) -> None:
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    scene.render.fps, scene.render.fps_base = round(rate), round(rate) / rate
    first = 0
    if path.endswith(".bvh"):
        # axes as Blender proposes; with frame_start=0 the first frame becomes frame 1
        first = 1
        bpy.ops.import_anim.bvh(
            filepath=path, global_scale=0.01, use_fps_scale=False, frame_start=0
        )
    elif path.endswith(".fbx"):
        first = 1
        bpy.ops.wm.fbx_import(filepath=path)  # the one in its menu; the add-on rounds frame rates
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
    if export is not None:
        scene.frame_start, scene.frame_end = first, first + frames[-1]
        if export.endswith(".fbx"):
            # unthinned: keys that it thins out are off by a millimetre
            bpy.ops.export_scene.fbx(
                filepath=export, add_leaf_bones=False, bake_anim_simplify_factor=0.0
            )
        else:
            bpy.ops.export_scene.gltf(filepath=export, export_format="GLB")
    rest = {
        bone.name: [list(armature.matrix_world @ end) for end in (bone.head_local, bone.tail_local)]
        for bone in armature.data.bones
    }
    print("HEADS " + json.dumps(heads))  # noqa: T201
    print("REST " + json.dumps(rest))  # noqa: T201


if __name__ == "__main__":
    path, rate, frames, *export = sys.argv[1:]
    main(path, float(rate), [int(frame) for frame in frames.split(",")], *export or (None,))
