"""Run by a Python that has ``bpy``: what Blender finds in FBX files, or an FBX file of a GLB.

    python blender_fbx.py read A.fbx STACK 120 0,17,49 menu     # or addon: the older importer
    python blender_fbx.py make HERO.glb HERO.fbx

Prints JSON: joints by frame (name → [x, y, z], z up, metres), the largest distance of a key from a
whole frame, how many keys its curves have, weights (name → [[vertex, weight], …]), joints of the
pose that the armature rests in.
"""

import json
import sys

import bpy


def curves_of(action):
    for layer in action.layers:
        for strip in layer.strips:
            for bag in strip.channelbags:
                yield from bag.fcurves


def read(path: str, stack: str, rate: float, frames: list[int], importer: str) -> dict:
    scene = bpy.context.scene
    if importer == "menu":
        bpy.ops.wm.fbx_import(filepath=path)
    else:
        bpy.ops.import_scene.fbx(filepath=path)
    armature = next(thing for thing in scene.objects if thing.type == "ARMATURE")
    action = next(each for each in bpy.data.actions if stack in each.name.split("|"))
    armature.animation_data.action = action
    armature.animation_data.action_slot = action.slots[0]
    curves = [[key.co.x for key in curve.keyframe_points] for curve in curves_of(action)]
    first, told = min(keys[0] for keys in curves), scene.render.fps / scene.render.fps_base
    step = told / rate  # a character keeps the frame rate of its file, whatever moves it
    heads = []
    for frame in frames:
        whole, part = divmod(first + frame * step, 1.0)
        scene.frame_set(int(whole), subframe=part)
        bpy.context.view_layer.update()
        bones = armature.pose.bones
        heads.append({bone.name: list(armature.matrix_world @ bone.head) for bone in bones})
    weights: dict[str, list] = {}
    for thing in (thing for thing in scene.objects if thing.type == "MESH"):
        for vertex in thing.data.vertices:
            for group in vertex.groups:
                name = thing.vertex_groups[group.group].name
                weights.setdefault(name, []).append([vertex.index, group.weight])
    return {
        "joints": heads,
        "rate": told,
        "off_frames": max(
            abs((key - first) / step - round((key - first) / step))
            for keys in curves
            for key in keys
        ),
        "keys": sorted({len(keys) for keys in curves}),
        "weights": weights,
    }


def make(source: str, target: str) -> dict:
    bpy.ops.import_scene.gltf(filepath=source)
    bpy.ops.export_scene.fbx(filepath=target, add_leaf_bones=False, bake_anim_simplify_factor=0.0)
    return {}


if __name__ == "__main__":
    bpy.ops.wm.read_factory_settings(use_empty=True)
    what, path, *told = sys.argv[1:]
    if what == "make":
        found = make(path, *told)
    else:
        found = read(path, told[0], float(told[1]), [int(f) for f in told[2].split(",")], told[3])
    print("FOUND " + json.dumps(found), flush=True)
