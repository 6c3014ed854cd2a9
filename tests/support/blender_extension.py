"""Run by Blender's Python: installs the extension, imports a recording through it, turns a bone,
sends the armature back, and prints what was there.

    python blender_extension.py osteon-blender.zip path/to/osteon take.c3d sent.osteon bone frame
"""

import json
import sys

import bpy
from mathutils import Quaternion


def main(archive: str, command: str, recording: str, target: str, bone: str, frame: int) -> None:
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.extensions.package_install_files(
        filepath=archive, repo="user_default", enable_on_install=True
    )
    (name,) = [each for each in bpy.context.preferences.addons.keys() if each.endswith(".osteon")]  # noqa: SIM118
    bpy.context.preferences.addons[name].preferences.command = command
    scene = bpy.context.scene
    assert bpy.ops.import_anim.osteon(filepath=recording) == {"FINISHED"}
    (armature,) = [thing for thing in scene.objects if thing.type == "ARMATURE"]
    empties = [thing for thing in scene.objects if thing.type == "EMPTY"]
    scene.frame_set(1 + frame)
    facts = {
        "frames": [scene.frame_start, scene.frame_end],
        "rate": scene.render.fps / scene.render.fps_base,
        "action": armature.animation_data.action.name,
        "heads": {b.name: list(armature.matrix_world @ b.head) for b in armature.pose.bones},
        "tails": {b.name: list(armature.matrix_world @ b.tail) for b in armature.pose.bones},
        "rest": {b.name: list(armature.matrix_world @ b.head_local) for b in armature.data.bones},
        "markers": {thing.name: list(thing.matrix_world.translation) for thing in empties},
        "hidden": [thing.name for thing in empties if thing.hide_viewport],
    }
    turned = armature.pose.bones[bone]
    turned.rotation_quaternion = turned.rotation_quaternion @ Quaternion((1.0, 0.0, 0.0), 0.5)
    turned.keyframe_insert("rotation_quaternion", frame=1 + frame)
    bpy.context.view_layer.update()
    facts["edited"] = {b.name: list(armature.matrix_world @ b.head) for b in armature.pose.bones}
    bpy.context.view_layer.objects.active = armature
    assert bpy.ops.export_anim.osteon(filepath=target) == {"FINISHED"}
    print("FACTS " + json.dumps(facts))  # noqa: T201


if __name__ == "__main__":
    archive, command, recording, target, bone, frame = sys.argv[1:]
    main(archive, command, recording, target, bone, int(frame))
