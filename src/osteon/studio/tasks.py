"""What a studio runs in the background, each on a picture of the session taken beforehand."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from osteon.cleaning import find_spikes, find_swaps
from osteon.edits import (
    Edit,
    Edits,
    RecordingId,
    Settings,
    as_solved,
    by_stage,
    describe_motion,
    describe_rig,
    edit_motion,
    edits_path,
    glue_markers,
    options_of,
    pose_rig,
    read_edits,
    solve_edited,
    turn_upright,
)
from osteon.formats import read
from osteon.pipeline import MapOptions, Solved, map_to
from osteon.report import Span
from osteon.studio.document import OpenTake, Shown
from osteon.typing import Progress, Step
from osteon.values import Motion, Recording, Take


@dataclass(frozen=True, eq=False)
class Snapshot:
    """What a solve needs, unmoved by edits that come while it runs."""

    key: object
    recording: Recording | None
    motion: Motion | None
    edits: tuple[Edit, ...]
    settings: Settings
    character: Path | None
    posed: tuple[object, Solved] | None
    """A solve before kinds, limits and axes, and what it was made from."""


def snapshot(take: OpenTake) -> Snapshot:
    recording = None if take.recording is None else take.edited_recording()
    return Snapshot(
        take.key(),
        recording,
        take.motion,
        tuple(take.edits),
        take.settings,
        take.character,
        take.posed,
    )


def solve_snapshot(
    shot: Snapshot, progress: Progress
) -> tuple[Solved, tuple[object, Solved] | None]:
    """Solve the rig up to plants and poses; also return what to keep for the next time."""
    if shot.recording is None:
        assert shot.motion is not None
        progress(Step("clean", "looking at the motion"))
        return describe_motion(shot.motion, shot.edits, shot.settings), None
    if shot.character is not None:
        return _map_character(shot, progress), shot.posed
    options = options_of(shot.settings)
    chosen = by_stage(shot.edits)
    key = chosen.recording, chosen.rig, options
    if shot.posed is not None and shot.posed[0] == key:
        posed = shot.posed[1]
    else:
        posed = pose_rig(shot.recording, shot.edits, options, progress)
    return describe_rig(posed, shot.edits, shot.settings, options, progress), (key, posed)


def _map_character(shot: Snapshot, progress: Progress) -> Solved:
    """Move a character by the recording, with the markers that were glued on by hand."""
    assert shot.character is not None and shot.recording is not None
    return map_to(
        Take(recordings=(shot.recording,)),
        shot.character,
        options=MapOptions(corrections=glue_markers(shot.edits, shot.character.name)),
        solving=options_of(shot.settings),
        progress=progress,
    )


def add_motion_edits(solved: Solved, shot: Snapshot) -> Solved:
    """Add plants and poses: what is written."""
    if shot.character is not None:
        return solved
    done = edit_motion(solved, shot.edits)
    return done if shot.recording is not None else as_solved(done.motion)


def find_suspicions(recording: Recording, progress: Progress) -> list[Span]:
    """Find labels that seem exchanged and samples that fly off; nothing is changed."""
    progress(Step("clean", "looking for swapped labels and spikes"))
    swaps = [
        Span("swap", " and ".join(swap.markers), *swap.frames) for swap in find_swaps(recording)
    ]
    spikes = find_spikes(recording)
    for frame in np.flatnonzero(spikes.any(axis=1)).tolist():
        names = [recording.names[marker] for marker in np.flatnonzero(spikes[frame]).tolist()]
        swaps.append(Span("spike", ", ".join(names), frame, frame))
    return swaps


def solve_compared(path: Path, label: str, edits: Edits, progress: Progress) -> Shown:
    """Solve a take to stand beside the open one."""
    take = read(path)
    if not take.recordings:
        solved = as_solved(take.motion())
        return Shown(label, solved.recording, solved)
    solved = solve_edited(take, edits, progress=progress)
    recording = take.recording(edits.recording.subject or None).markers()
    return Shown(label, turn_upright(recording, options_of(edits.settings)), solved)


def edits_beside(path: Path) -> Edits:
    """Read what was edited of a take before; nothing where there is no file of edits."""
    beside = edits_path(path)
    return read_edits(beside, path) if beside.exists() else Edits(RecordingId(path.name, ""))
