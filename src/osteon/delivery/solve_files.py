"""What ``solve`` and ``map`` leave in their folder and print; ``fit`` with joints for markers."""

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from osteon.anatomy import ClinicalAngles
from osteon.calibration import NextMarker
from osteon.cleaning import swaps_text
from osteon.clips import root_on_ground
from osteon.delivery.angles_files import ANGLE_FILES, GAIT_FILES, write_angles
from osteon.delivery.bone_naming import called_by
from osteon.delivery.forces_files import FORCE_FILES
from osteon.delivery.report_of_solve import report_of
from osteon.errors import OsteonError, counted
from osteon.fixed_lengths import FitResult
from osteon.formats import (
    SKINNED,
    bvh_conventions,
    character_ending,
    check_endings,
    remove_unfinished,
    unfinished_folder,
    write,
    write_character,
    write_readable,
    write_skinned,
)
from osteon.pipeline import Analyses, Solved, analyse
from osteon.posing import FootSlide
from osteon.report import write_report
from osteon.threads import one_thread
from osteon.values import GlidePath, Motion, Skeleton, Swap

ALWAYS_FILES = ("skeleton.json", "summary.json", "report.html")
"""Files besides the motion."""
SET_FILE = "markers.toml"
"""The marker set of a take whose labels nobody knew."""
OWN_FILES = frozenset((*ALWAYS_FILES, SET_FILE, *ANGLE_FILES, *GAIT_FILES, *FORCE_FILES))
"""What a folder of results may hold besides motions; nothing else gives way to a later run."""
MOTION_FILES = ("bvh", "glb")
"""Formats of the motion that are always written."""
NAMED_SWAPS = 10
"""Exchanged labels that the terminal lists; all are in skeleton.json."""


@one_thread()
def deliver(
    solved: Solved,
    folder: Path,
    *,
    formats: Sequence[str] = (),
    unit: str | None = None,
    up: str | None = None,
    measured: dict[str, float] | None = None,
    facts: dict[str, Any] | None = None,
    analyses: Analyses | None = None,
    angles: ClinicalAngles | None = None,
    character: Path | None = None,
    names: str | None = None,
) -> None:
    """Write skeleton.json, the motion, summary.json and report.html.

    Parameters
    ----------
    formats
        Endings of further motion files, such as ``amc``.
    unit, up
        Of the BVH file; centimetres and y up by default, whatever the recording had.
    measured
        Lengths of bodies measured by hand, metres, to stand beside the found ones.
    facts
        Further entries of summary.json.
    analyses
        Of the motion, where they were made before.
    angles
        Of the motion, to be written as well.
    character
        The file that the skeleton was read from. If it is a skinned GLB or FBX the motion comes out
        in it, with its mesh and all else, as one more animation, named after the take.
    names
        Scheme of bone names for the motion files, as ``mixamo``; by default our own. All else, and
        a character's own file, keep the names they have.
    """
    check_endings(formats)
    motion, naming = called_by(solved.motion, names)
    analyses = analyse(solved.motion, advise=not solved.keypoints) if analyses is None else analyses
    folder.mkdir(parents=True, exist_ok=True)
    write(solved.skeleton, folder / "skeleton.json")
    motions: list[Path] = []
    bvh = bvh_conventions(unit, up)
    own = None if character is None else character_ending(character)
    for ending in dict.fromkeys((*MOTION_FILES, *([own] if own else []), *formats)):
        file = folder / f"motion.{ending}"
        if ending == "bvh":
            motions += write(motion, file, **bvh)
        elif ending == own:
            assert character is not None
            take = Path(solved.recording.source.file).stem or "motion"
            write_character(file, character, root_on_ground(solved.motion), take)
            motions.append(file)
        elif ending in SKINNED and analyses.skin is not None:
            write_skinned(file, motion, analyses.skin)
            motions.append(file)
        else:
            motions += write(motion, file)
    files = [*ALWAYS_FILES, *(file.name for file in motions)]
    files += [] if angles is None else write_angles(solved, angles, folder)
    if solved.recognition is not None:
        (folder / SET_FILE).write_text(solved.recognition.toml(), encoding="utf-8")
        files.append(SET_FILE)
    told = {"files": files, "bvh": bvh, "advice": list(analyses.advice)}
    summary = summary_of(solved) | told | naming | (facts or {})
    write_readable(summary, folder / "summary.json")
    write_report(folder / "report.html", report_of(solved, analyses, summary, measured))


class _Earlier(msgspec.Struct):
    """What summary.json of an earlier run says of its files."""

    files: tuple[str, ...] = ()


@contextmanager
def whole_results(output: Path, keep: Collection[Path] = ()) -> Iterator[tuple[Path, list[Path]]]:
    """Give a folder to write to, whose files move to ``output`` when all of them are whole.

    Only then goes what an earlier run had written there: a full disk costs no result. Besides the
    folder a list is given, of the files that gave way and were not written anew. Nothing else is
    touched: neither files that the earlier run did not list, nor those of ``keep``.
    """
    remove_unfinished(output)
    gone: list[Path] = []
    try:
        with unfinished_folder(output) as scratch:
            yield scratch, gone
            gone += _move(scratch, output, {path.resolve() for path in keep})
    except OSError as error:
        why = f"{error.strerror or error}; what was there before is untouched"
        raise OsteonError(f"cannot write to {output}: {why}") from error


def _move(scratch: Path, output: Path, keep: set[Path]) -> list[Path]:
    """Put new files in the place of the earlier ones; returns those that are not there any more."""
    made = sorted(path.relative_to(scratch) for path in scratch.rglob("*"))
    folders = [Path(), *(path for path in made if (scratch / path).is_dir())]
    earlier = [output / folder / name for folder in folders for name in _listed(output / folder)]
    for folder in folders:
        (output / folder).mkdir(exist_ok=True)
    for path in made:
        if path not in folders:
            (scratch / path).replace(output / path)
    written = {output / path for path in made}
    gone = [file for file in earlier if file not in written and file.resolve() not in keep]
    for file in gone:
        file.unlink()
    return gone


def _listed(folder: Path) -> list[str]:
    """Names of files that an earlier run says it has written to a folder, and that are there."""
    try:
        listed = msgspec.json.decode((folder / "summary.json").read_bytes(), type=_Earlier).files
    except (OSError, ValueError, msgspec.MsgspecError):
        return []
    ours = [name for name in listed if name in OWN_FILES or re.fullmatch(r"motion\.\w+", name)]
    return [name for name in ours if (folder / name).is_file()]


def summary_of(solved: Solved) -> dict:
    """Return the contract's summary.json."""
    recording = solved.recording
    return {
        "frames": recording.n_frames,
        "rate": recording.rate,
        "subject": recording.subject,
        "markers": recording.n_markers,
        "points": solved.points,
        "marker_set": solved.marker_set,
        "missing": float(1.0 - recording.seen.mean()) if recording.seen.size else 0.0,
        "marker_rms_mm": 1e3 * solved.rms,
        "marker_max_mm": 1e3 * float(np.nanmax(solved.fit_error)),
        "per_marker_rms_mm": {k: 1e3 * v for k, v in solved.rms_per_marker().items()},
        "riders": sorted(solved.riders),
        "gliding_joints_mm": gliding_joints(solved.skeleton),
        "bone_length_spread_mm": 1e3 * bone_length_spread(solved.motion),
        "held_frames": list(solved.motion.held),
        "next_markers": [_next_facts(each) for each in solved.next_markers],
        "contacts": [{"body": c.body, "frames": list(c.frames)} for c in solved.contacts],
        **({"slides": [_slide_facts(each) for each in solved.slides]} if solved.slides else {}),
        "warnings": list(solved.warnings),
        **({} if solved.findings is None else {"passport": solved.findings.facts()}),
        "seconds": solved.seconds,
    }


def _next_facts(marker: NextMarker) -> dict[str, object]:
    return {
        "marker": marker.marker,
        "landmarks": marker.landmarks,
        "joint": marker.joint,
        "from_mm": 1e3 * marker.before,
        "to_mm": 1e3 * marker.after,
    }


def _slide_facts(slide: FootSlide) -> dict[str, object]:
    return {"body": slide.body, "frames": list(slide.frames), "mm": 1e3 * slide.length}


def solve_text(solved: Solved) -> str:
    """Tell in a few lines what came of a take."""
    worst = list(solved.rms_per_marker().items())[:3]
    lines = [
        f"{solved.recording.subject or solved.recording.source.file}: "
        f"{counted(len(solved.skeleton.bodies), 'body')}, "
        f"{counted(solved.recording.n_frames, 'frame')}, "
        f"{solved.points} {1e3 * solved.rms:.2f} mm rms from the model",
        "worst: " + ", ".join(f"{name} {1e3 * rms:.1f} mm" for name, rms in worst),
    ]
    missing = f"{100.0 - 100.0 * solved.recording.seen.mean():.1f} %"
    lines += [f"{missing} of samples missing"] if missing != "0.0 %" else []
    lines += [f"{counted(len(solved.events), 'event')} in skeleton.json"] if solved.events else []
    swaps = [event for event in solved.events if isinstance(event, Swap)]
    if swaps:
        more = f" and {len(swaps) - NAMED_SWAPS} more" if len(swaps) > NAMED_SWAPS else ""
        lines.append(f"exchanged labels put back: {swaps_text(swaps[:NAMED_SWAPS])}{more}")
    known = [(body.joint.deviation or 0.0, body.name) for body in solved.skeleton.bodies]
    sigma, joint = max(known)
    if sigma:
        lines.append(f"least certain joint: {joint}, ± {1e3 * sigma:.0f} mm")
    lines += map(str, solved.next_markers)
    if gliding := gliding_joints(solved.skeleton):
        told = ", ".join(
            f"{name} {size:.1f} mm{_told_path(solved.skeleton.body(name).joint.glide_path)}"
            for name, size in gliding.items()
        )
        lines.append(f"joints that glide, by more than skin explains: {told}")
    if solved.motion.held:
        lines.append(
            f"{counted(len(solved.motion.held), 'frame')} held for want of {solved.points}"
        )
    return "\n".join([*lines, *(f"note: {warning}" for warning in solved.warnings)])


def _told_path(path: GlidePath | None) -> str:
    """Tell how far a joint glides as it turns."""
    if path is None:
        return ""
    low, high = np.degrees(path.shown)
    return f" ({1e3 * path.travel:.1f} mm on the way from {low:.0f} to {high:.0f}°)"


def gliding_joints(skeleton: Skeleton) -> dict[str, float]:
    """Return body → how far its joint glides by more than skin explains, millimetres rms."""
    return {body.name: 1e3 * body.joint.glide for body in skeleton.bodies if body.joint.glide}


def map_text(mapped: Solved, file: str, onto: str) -> str:
    """Tell in a few lines how a character was moved.

    ``file`` names a performer without a name; ``onto`` is empty where a motion was mended.
    """
    name = mapped.recording.subject or mapped.recording.source.file or file
    whom = f" onto {onto}" if onto else ""
    frames = counted(mapped.motion.n_frames, "frame")
    off = f"{mapped.points} {1e3 * mapped.rms:.2f} mm rms off"
    notes = [f"note: {note}" for note in mapped.warnings]
    return "\n".join([f"{name}{whom}: {frames}, {off}", *notes])


def bone_length_spread(motion: Motion) -> float:
    """Return the largest standard deviation over time of any joint-to-joint distance, metres."""
    _, joints = motion.world()
    parents = motion.skeleton.parents
    spreads = [
        float(np.std(np.linalg.norm(joints[:, child] - joints[:, parent], axis=-1)))
        for child, parent in enumerate(parents)
        if parent >= 0
    ]
    return max(spreads, default=0.0)


def deliver_fit(result: FitResult, folder: Path, seconds: dict[str, float], **options: Any) -> None:
    """Write skeleton.json, the motion, summary.json and report.html.

    ``options`` as in :func:`osteon.delivery.solve_files.deliver`.
    """
    deliver(_as_solved(result, seconds), folder, facts=facts_of_fit(result), **options)


def summary_of_fit(result: FitResult, seconds: dict[str, float]) -> dict[str, Any]:
    """Return the contract's summary.json, and what is known about the lengths."""
    return summary_of(_as_solved(result, seconds)) | facts_of_fit(result)


def fit_text(result: FitResult) -> str:
    """Tell in a few lines what came of a fit."""
    worst = list(result.rms_per_joint().items())[:3]
    lines = [
        f"{counted(len(result.lengths), 'bone')}, {counted(result.motion.n_frames, 'frame')}, "
        f"{1e3 * result.rms:.2f} mm rms from the joints given; {result.status.value}",
        "worst: " + ", ".join(f"{name} {1e3 * rms:.1f} mm" for name, rms in worst),
    ]
    if result.beside:
        count = counted(len(result.beside), "bone")
        lines.append(f"how {count} turn about themselves is told by markers beside the joints")
    if result.motion.held:
        lines.append(f"{counted(len(result.motion.held), 'frame')} held for want of joints")
    return "\n".join([*lines, *(f"note: {warning}" for warning in result.warnings)])


def facts_of_fit(result: FitResult) -> dict[str, Any]:
    """Return lengths and how they were found, millimetres."""
    errors = result.standard_errors
    return {
        "status": result.status.value,
        "iterations": result.fit.iterations,
        "joint_rms_mm": 1e3 * result.rms,
        "fixed_length_rms_mm": 1e3 * result.fit.rms,
        "twist_by_markers": dict(result.beside),
        "lengths_mm": {
            name: {
                "length": 1e3 * length,
                "error": 1e3 * errors[name] if errors[name] == errors[name] else None,
            }
            for name, length in result.lengths.items()
        },
    }


def _as_solved(result: FitResult, seconds: dict[str, float]) -> Solved:
    return Solved(
        result.joints,
        result.motion,
        result.joint_error,
        marker_set="joint positions",
        warnings=result.warnings,
        seconds=seconds,
    )
