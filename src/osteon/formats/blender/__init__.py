"""``build_armature.py``: a script for Blender, shipped as a file; Osteon itself never runs it."""

from pathlib import Path

SCRIPT = Path(__file__).with_name("build_armature.py")
HOW = (
    "Blender writes .fbx and .blend from a folder that solve or map wrote: "
    f"blender --background --python {SCRIPT} -- FOLDER rig.fbx"
)
"""What to tell who asks for one."""
MADE = (".fbx", ".blend")
