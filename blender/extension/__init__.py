"""Osteon in Blender: a recording comes in as an armature with its markers, an edited armature goes
back out.

Blender's Python and Osteon's are two programs: this one runs the ``osteon`` command, whose place is
told in the extension's preferences, and exchanges files with it.
"""

import shutil
import tempfile
from pathlib import Path

import bpy
from bpy.props import BoolProperty, EnumProperty, StringProperty
from bpy_extras.io_utils import ExportHelper, ImportHelper

from . import exchange

NAMES = ("as they are", "osteon", "mixamo", "unreal", "humanik", "vrm", "smpl", "soma", "rigify",
         "cmu", "rajagopal", "vroid", "daz", "character_creator")  # fmt: skip
"""Schemes of bone names that ``osteon convert --names`` knows."""


class OsteonPreferences(bpy.types.AddonPreferences):
    bl_idname = __package__

    command: StringProperty(
        name="Osteon",
        description="The osteon command: its name where it is on the path, or the whole path to it",
        default="osteon",
        subtype="FILE_PATH",
    )

    def draw(self, context):
        self.layout.prop(self, "command")
        if shutil.which(self.command) is None:
            self.layout.label(text="There is no such command: pip install osteon", icon="ERROR")


def _command(context) -> str:
    return context.preferences.addons[__package__].preferences.command


class ImportRecording(bpy.types.Operator, ImportHelper):
    """Solve a recording (C3D, TRC, CSV …) with Osteon; bring it in as an armature with markers"""

    bl_idname = "import_anim.osteon"
    bl_label = "Import recording"
    bl_options = {"REGISTER", "UNDO"}  # noqa: RUF012, as Blender wants it
    filter_glob: StringProperty(
        default="*.c3d;*.trc;*.csv;*.tsv;*.mat;*.osteon", options={"HIDDEN"}
    )
    markers: BoolProperty(
        name="Markers", description="Bring the recorded markers in too, as empties", default=True
    )

    def execute(self, context):
        with tempfile.TemporaryDirectory() as folder:
            try:
                found = exchange.solve(_command(context), Path(self.filepath), Path(folder))
                armatures = [
                    exchange.add_armature(context, take, Path(self.filepath).stem) for take in found
                ]
                if self.markers:
                    exchange.add_markers(context, exchange.markers_of(
                        _command(context), Path(self.filepath), Path(folder)))  # fmt: skip
            except exchange.OsteonFailed as failed:
                self.report({"ERROR"}, str(failed))
                return {"CANCELLED"}
        bones = sum(len(armature.data.bones) for armature in armatures)
        self.report({"INFO"}, f"{len(armatures)} armature(s), {bones} bones")
        return {"FINISHED"}


class SendBack(bpy.types.Operator, ExportHelper):
    """Send the active armature's motion back through Osteon, to any format that it writes"""

    bl_idname = "export_anim.osteon"
    bl_label = "Send armature to Osteon"
    filename_ext = ".osteon"
    check_extension = None
    filter_glob: StringProperty(default="*.osteon;*.bvh;*.glb;*.fbx;*.amc", options={"HIDDEN"})
    names: EnumProperty(
        name="Bone names",
        description="Call the bones as another program does",
        items=[(name, name, "") for name in NAMES],
    )
    mend_feet: BoolProperty(
        name="Mend feet", description="Keep feet where they stand, and above the ground"
    )

    @classmethod
    def poll(cls, context):
        return context.object is not None and context.object.type == "ARMATURE"

    def execute(self, context):
        names = None if self.names == NAMES[0] else self.names
        with tempfile.TemporaryDirectory() as folder:
            try:
                motion = exchange.motion_of(context, context.object, Path(folder))
                said = exchange.send(
                    _command(context), motion, Path(self.filepath), names, mend_feet=self.mend_feet
                )
            except exchange.OsteonFailed as failed:
                self.report({"ERROR"}, str(failed))
                return {"CANCELLED"}
        self.report({"INFO"}, said)
        return {"FINISHED"}


CLASSES = (OsteonPreferences, ImportRecording, SendBack)


def _in_imports(self, context):
    self.layout.operator(ImportRecording.bl_idname, text="Recording, solved by Osteon (.c3d …)")


def _in_exports(self, context):
    self.layout.operator(SendBack.bl_idname, text="Armature, through Osteon")


def register():
    for each in CLASSES:
        bpy.utils.register_class(each)
    bpy.types.TOPBAR_MT_file_import.append(_in_imports)
    bpy.types.TOPBAR_MT_file_export.append(_in_exports)


def unregister():
    bpy.types.TOPBAR_MT_file_export.remove(_in_exports)
    bpy.types.TOPBAR_MT_file_import.remove(_in_imports)
    for each in reversed(CLASSES):
        bpy.utils.unregister_class(each)
