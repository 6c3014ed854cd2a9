"""Several takes of one subject as one: their frames in a row.

The joints come from all frames; what happens in a take is told by the frame counted through all.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from osteon.errors import BadValue, NotEnoughData
from osteon.values import Bodies, Recording, Take

T = TypeVar("T", Bodies, Recording)


def takes_in_a_row(takes: Sequence[Take], subject: str | None = None) -> Take:
    """One take with the frames of all, of the bodies or markers that all of them have."""
    if len(takes) == 1:
        return takes[0]
    if all(take.bodies for take in takes):
        return Take(bodies=(_in_a_row([take.body_poses(subject) for take in takes]),))
    if all(take.recordings for take in takes):
        markers = [take.recording(subject).markers() for take in takes]
        return Take(recordings=(_in_a_row(markers),))
    raise NotEnoughData(
        "takes are joined that all hold sensors, or all hold markers; give files of one kind"
    )


def _in_a_row(parts: Sequence[T]) -> T:
    rates = [part.rate for part in parts]
    if max(rates) > 1.001 * min(rates):
        told = ", ".join(f"{rate:g}" for rate in rates)
        raise BadValue(f"takes in a row need one rate, got {told} Hz; convert them first")
    common = [name for name in parts[0].names if all(name in part.names for part in parts)]
    if not common:
        raise NotEnoughData("the takes have no name in common; are they of one subject?")
    left = sorted({name for part in parts for name in part.names} - set(common))
    parts = [part.select(common) for part in parts]
    joined: dict[str, Any] = {"positions": np.concatenate([part.positions for part in parts])}
    if isinstance(parts[0], Bodies):
        joined["rotations"] = np.concatenate([p.rotations for p in parts if isinstance(p, Bodies)])
    else:
        joined["residuals"] = None
    did = f"{len(parts)} takes in a row"
    did += f" without {', '.join(left[:8])}, which not all have" if left else ""
    return replace(parts[0], **joined, marks=(), history=(*parts[0].history, did))
