"""What other programs worked out and left in a file (angles, forces, powers), put back beside what
a verb made of its markers: verbs read markers alone, and a file that is written loses nothing."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from osteon.formats import read, to_z_up, turn_points
from osteon.maths import quat
from osteon.typing import Array
from osteon.values import Recording, Take

STORED_PREFIX = "stored_"
"""Before the label of an output of the file where there is a new point of that name."""


def with_outputs(recordings: Sequence[Recording], path: Path | None) -> tuple[Recording, ...]:
    """Return recordings with the model outputs of the file that their markers came from.

    Each gets those of its subject; those of a file with one subject go to the first. None where
    there was no file, and of frames that were cut.
    """
    take = read(path) if path is not None else Take()
    owners = {each.subject: each for each in take.recordings if each.outputs}
    names = [recording.subject for recording in recordings]
    if len(take.recordings) == 1 and owners and not set(owners) & set(names):
        owners = {names[0]: take.recordings[0]}
    return tuple(
        _joined(each, owners[each.subject]) if each.subject in owners else each
        for each in recordings
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
