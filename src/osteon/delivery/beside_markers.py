"""What stood beside the markers in a file (other programs' angles, forces and powers, poses of
bodies), put back beside what a verb made of its markers: verbs read markers alone, and a file that
is written loses nothing."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from osteon.formats import FORMATS, format_for_writing, read, to_z_up, turn_points, turn_rotations
from osteon.maths import quat
from osteon.typing import Array
from osteon.values import Bodies, Recording, Take

STORED_PREFIX = "stored_"
"""Before the label of an output of the file where there is a new point of that name."""


def beside_markers(recordings: Sequence[Recording], source: Path | None, target: Path) -> Take:
    """Return recordings with the model outputs and bodies of the file that their markers came from,
    as far as ``target`` has room for them.

    Each gets those of its subject; those of a file with one subject go to the first. None where
    there was no file, and of frames that were cut.
    """
    held = read(source) if source is not None else Take()
    whole = "head" in format_for_writing(target, FORMATS).along
    return Take(
        recordings=_with_outputs(recordings, held.recordings),
        bodies=_bodies_of(recordings, held.bodies) if whole else (),
    )


def _with_outputs(
    recordings: Sequence[Recording], held: Sequence[Recording]
) -> tuple[Recording, ...]:
    owners = {each.subject: each for each in held if each.outputs}
    names = [recording.subject for recording in recordings]
    if len(held) == 1 and owners and not set(owners) & set(names):
        owners = {names[0]: held[0]}
    return tuple(
        _joined(each, owners[each.subject]) if each.subject in owners else each
        for each in recordings
    )


def _bodies_of(recordings: Sequence[Recording], held: Sequence[Bodies]) -> tuple[Bodies, ...]:
    """Bodies of these subjects, of all where the file has one; turned as the markers are now."""
    first = recordings[0]
    subjects = {recording.subject for recording in recordings}
    one = len({bodies.subject for bodies in held}) == 1
    own = [bodies for bodies in held if one or bodies.subject in subjects]
    seconds = first.n_frames / first.rate
    own = [bodies for bodies in own if np.isclose(bodies.n_frames / bodies.rate, seconds)]
    return tuple(_turned(bodies, bodies.source.up, first.source.up) for bodies in own)


def _turned(bodies: Bodies, up: str, up_now: str) -> Bodies:
    if up == up_now:
        return bodies
    turn = quat.multiply(to_z_up(up_now), quat.inverse(to_z_up(up)))
    places, turns = turn_points(bodies.positions, turn), turn_rotations(bodies.rotations, turn)
    return replace(
        bodies, positions=places, rotations=turns, source=replace(bodies.source, up=up_now)
    )


def _joined(recording: Recording, before: Recording) -> Recording:
    """Markers and outputs in the file's order, then what is new."""
    if before.n_frames != recording.n_frames:
        return recording
    outputs = before.select([name for name in before.names if name in before.outputs])
    called = {name: _free(name, recording.names) for name in outputs.names}
    names = (*recording.names, *called.values())
    joined = replace(
        recording,
        positions=np.concatenate([recording.positions, _numbers(outputs, recording)], axis=1),
        names=names,
        residuals=_residuals(recording, outputs),
        outputs=recording.outputs | set(called.values()),
        history=(*recording.history, f"put back {len(called)} model outputs of the file"),
    )
    place = {called.get(name, name): index for index, name in enumerate(before.names)}
    return joined.select(sorted(names, key=lambda name: place.get(name, len(place))))


def _free(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name = f"{STORED_PREFIX}{name}"
    return name


def _numbers(outputs: Recording, recording: Recording) -> Array:
    """Their values such that the file's own numbers are written, whichever axis is up now."""
    up, up_now = outputs.source.up, recording.source.up
    if up == up_now:
        return outputs.positions
    return turn_points(turn_points(outputs.positions, quat.inverse(to_z_up(up))), to_z_up(up_now))


def _residuals(recording: Recording, outputs: Recording) -> Array | None:
    """Of both; an output without one counts as worked out, a marker as measured."""
    if recording.residuals is None and outputs.residuals is None:
        return None
    own, theirs = recording.residuals, outputs.residuals
    own = np.full(recording.seen.shape, np.nan) if own is None else own
    theirs = np.where(outputs.seen, 0.0, np.nan) if theirs is None else theirs
    return np.concatenate([own, theirs], axis=1)
