"""Files between Blender and the ``osteon`` command: BVH for armatures, CSV for markers."""

import csv
import json
import subprocess
from pathlib import Path

import bpy
import numpy as np
from bpy_extras import anim_utils

CENTIMETRE = 0.01
"""Metres, Blender's unit, in one of motion.bvh."""
MARKER_RADIUS = 0.012
"""Metres. Chosen: a marker's own size, and some."""
FIRST_FRAME = 1
"""Blender's frame that is the first of a take."""


class OsteonFailed(Exception):
    """Osteon, or what Blender would do with its files, did not work; the text says why."""


def run(command: str, *arguments: object) -> str:
    """Return what ``osteon`` prints."""
    words = [command, *map(str, arguments)]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except OSError as error:
        raise OsteonFailed(
            f"cannot run {command!r} ({error.strerror}); tell its place in the preferences of the "
            "Osteon extension"
        ) from error
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        raise OsteonFailed(lines[-1] if lines else f"{command} ended with {done.returncode}")
    return done.stdout


def solve(command: str, recording: Path, folder: Path) -> list[Path]:
    """Return folders of results, one for each person in the recording."""
    run(command, "solve", recording, "-o", folder / "solved")
    found = sorted(path.parent for path in (folder / "solved").rglob("motion.bvh"))
    if not found:
        raise OsteonFailed(f"nobody was found in {recording.name}")
    return found


def add_armature(context, results: Path, name: str):
    """Return an armature that moves as the take, in metres; the scene gets the take's rate."""
    facts = json.loads((results / "summary.json").read_text(encoding="utf-8"))
    set_rate(context.scene, facts["rate"])
    there = set(bpy.data.objects)
    bpy.ops.import_anim.bvh(
        filepath=str(results / "motion.bvh"), global_scale=CENTIMETRE, frame_start=FIRST_FRAME - 1,
        use_fps_scale=False, update_scene_fps=False, update_scene_duration=False,
        rotate_mode="QUATERNION",
    )  # fmt: skip
    (armature,) = set(bpy.data.objects) - there
    armature.name = facts["subject"] or name
    armature.animation_data.action.name = name
    context.scene.frame_start = FIRST_FRAME
    context.scene.frame_end = FIRST_FRAME + facts["frames"] - 1
    return armature


def set_rate(scene, rate: float) -> None:
    """Let the scene run at any rate: Blender's frame rate is a whole number over a base."""
    scene.render.fps = max(1, round(rate))
    scene.render.fps_base = scene.render.fps / rate


def markers_of(command: str, recording: Path, folder: Path) -> dict[str, np.ndarray]:
    """Return marker → (n_samples, 4) frame and place, metres, where it was seen."""
    run(command, "convert", recording, folder / "markers.csv", "--only", "markers", "--unit", "m",
        "--up", "z")  # fmt: skip
    seen: dict[str, list[tuple[float, ...]]] = {}
    with (folder / "markers.csv").open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        for row in rows:
            sample = tuple(float(row[key]) for key in ("frame", "x", "y", "z"))
            seen.setdefault(row["marker"], []).append(sample)
    return {name: np.array(samples) for name, samples in seen.items()}


def add_markers(context, markers: dict[str, np.ndarray]):
    """Return a collection of empties that move as the markers, hidden while they were not seen."""
    collection = bpy.data.collections.new("markers")
    context.scene.collection.children.link(collection)
    for name, samples in markers.items():
        empty = bpy.data.objects.new(name, None)
        empty.empty_display_type, empty.empty_display_size = "SPHERE", MARKER_RADIUS
        collection.objects.link(empty)
        frames = samples[:, 0] + FIRST_FRAME
        for axis in range(3):
            _add_curve(empty, "location", axis, frames, samples[:, 1 + axis], "LINEAR")
        ends = np.flatnonzero(np.diff(frames) > 1)
        hidden = np.concatenate([[0.0], frames[ends] + 1])
        shown = np.concatenate([frames[:1], frames[ends + 1]])
        times = np.concatenate([hidden, shown, [frames[-1] + 1]])
        values = np.concatenate([np.ones(len(hidden)), np.zeros(len(shown)), [1.0]])
        order = np.argsort(times, kind="stable")
        _add_curve(empty, "hide_viewport", 0, times[order], values[order], "CONSTANT")
    return collection


def _add_curve(thing, path: str, index: int, frames, values, between: str) -> None:
    data = thing.animation_data or thing.animation_data_create()
    if data.action is None:
        data.action = bpy.data.actions.new(thing.name)
        data.action_slot = data.action.slots.new("OBJECT", thing.name)
    bag = anim_utils.action_ensure_channelbag_for_slot(data.action, data.action_slot)
    curve = bag.fcurves.new(path, index=index)
    curve.keyframe_points.add(len(frames))
    curve.keyframe_points.foreach_set("co", np.stack([frames, values], axis=-1).ravel())
    for key in curve.keyframe_points:
        key.interpolation = between
    curve.update()


def motion_of(context, armature, folder: Path) -> Path:
    """Return a BVH file of the armature as it moves in the scene's frames."""
    scene, path = context.scene, folder / f"{armature.name}.bvh"
    for other in context.selected_objects:
        other.select_set(False)
    armature.select_set(True)
    context.view_layer.objects.active = armature
    bpy.ops.export_anim.bvh(
        filepath=str(path), frame_start=scene.frame_start, frame_end=scene.frame_end,
        global_scale=1.0, root_transform_only=True,
    )  # fmt: skip
    return path


def send(command: str, motion: Path, target: Path, names: str | None, *, mend_feet: bool) -> str:
    """Write the motion to ``target``, in the format of its ending; return what was said."""
    said = ""
    if mend_feet:
        folder = motion.parent / "mended"
        said = run(command, "map", motion, "--feet-only", "-o", folder).strip()
        motion = folder / "motion.bvh"
    asked = [] if names is None else ["--names", names]
    target.unlink(missing_ok=True)
    run(command, "convert", motion, target, *asked)
    return said or f"written to {target.name}"
