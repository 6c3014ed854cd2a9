"""``build_armature.py``: a script for Blender, shipped as a file; Ossature itself never runs it."""
