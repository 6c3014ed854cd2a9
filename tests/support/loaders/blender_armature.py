"""Run by Blender's Python: builds an armature with our script, prints where its bones are.

python blender_armature.py build_armature.py FOLDER 0,17,49 rig.blend
"""

import importlib.util
import json
import sys

import bpy

script, folder, frames, *outputs = sys.argv[1:]
spec = importlib.util.spec_from_file_location("build_armature", script)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)


def points(armature: bpy.types.Object) -> list[dict]:
    found = []
    for frame in map(int, frames.split(",")):
        bpy.context.scene.frame_set(frame)
        bpy.context.view_layer.update()
        heads = {b.name: list(armature.matrix_world @ b.head) for b in armature.pose.bones}
        empties = [thing for thing in bpy.data.objects if thing.type == "EMPTY"]
        found.append(heads | {e.name: list(e.matrix_world.translation) for e in empties})
    return found


armature = module.main([folder, *outputs])
limits = {
    bone.name: [(c.min_x, c.max_x), (c.min_y, c.max_y), (c.min_z, c.max_z)]
    for bone in armature.pose.bones
    for c in bone.constraints
}
found = {"points": points(armature), "limits": limits, "version": bpy.app.version_string}
print("FOUND " + json.dumps(found))  # noqa: T201
