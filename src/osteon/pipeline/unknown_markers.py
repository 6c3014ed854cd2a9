"""A subject whose labels nobody knows: as a human where shape and motion say so, else blind."""

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from osteon.calibration import Calibration, calibrate, calibrate_blind, with_hinges
from osteon.errors import NotEnoughData
from osteon.human import Recognition, Unlike, explain_unrecognised, recognise_shape
from osteon.pipeline.solved import SolveOptions
from osteon.typing import Share, unheard
from osteon.values import Recording

UNLIKE_RMS = 0.03
"""Metres from a human's rig to its markers beyond which it is none; chosen: three times
what skin moves markers, for some may be given to the next body."""

STILL_DISTANCE, FAR_DISTANCE = 0.02, 0.5
"""Metres that a marker on a thing goes at most, and that one on whoever moves about goes at least.
Chosen: cameras and a knock; less than a step."""
RARE_SHARE = 0.02
"""Share of a marker's samples at either end that do not count. Chosen: spikes."""


def calibrate_unknown(
    takes: Sequence[Recording],
    options: SolveOptions,
    subject: str = "",
    progress: Share = unheard,
) -> Calibration:
    """Calibrate a human recognised by shape, or, with the reason told, bodies found by motion."""
    if still := still_markers(takes):
        moving = [_without(take, still) for take in takes]
        found = calibrate_unknown(moving, options, subject, progress)
        told = f"left out, for never moving while all others go far: {', '.join(still)}; props?"
        return replace(found, doubts=(*found.doubts, told))
    if options.template == "none":
        return _blind(takes, subject, progress)
    longest = max(takes, key=lambda take: take.n_frames)
    found = recognise_shape(longest)
    if isinstance(found, Recognition):
        human = _as_human(takes, found, options, subject, progress)
        if isinstance(human, Calibration):
            return human
        found = human
    labels = tuple(dict.fromkeys(label for take in takes for label in take.names))
    why = f"{explain_unrecognised(labels)}; not taken for a human: {found.reason}"
    blind = _blind(takes, subject, progress)
    return replace(blind, doubts=(why, *blind.doubts))


def still_markers(takes: Sequence[Recording]) -> list[str]:
    """Return markers that stay in one place while all others go far: somebody who stands on the
    spot has some between."""
    reach: dict[str, float] = {}
    for take in takes:
        for name, path in zip(take.names, np.moveaxis(take.positions, 1, 0), strict=True):
            seen = path[np.isfinite(path[:, 0])]
            if len(seen):
                low, high = np.quantile(seen, [RARE_SHARE, 1.0 - RARE_SHARE], axis=0)
                reach[name] = max(reach.get(name, 0.0), float(np.linalg.norm(high - low)))
    between = [far for far in reach.values() if STILL_DISTANCE <= far < FAR_DISTANCE]
    still = [name for name, far in reach.items() if far < STILL_DISTANCE]
    return [] if between or len(still) == len(reach) else still


def _without(take: Recording, names: Collection[str]) -> Recording:
    return take.select([name for name in take.names if name not in names])


def _as_human(
    takes: Sequence[Recording],
    found: Recognition,
    options: SolveOptions,
    subject: str,
    progress: Share,
) -> Calibration | Unlike:
    marks = found.marker_set()[1]
    try:
        calibration = calibrate(takes, marks, hips=options.hips, subject=subject, progress=progress)
    except NotEnoughData as error:
        return Unlike(str(error))
    if calibration.rms > UNLIKE_RMS:
        off = 1e3 * calibration.rms
        return Unlike(f"as one, they would be {off:.0f} mm rms from where the rig has them")
    told = (
        "no known marker set has these labels: recognised as a human by shape and motion, with "
        f"confidence {found.confidence:.2f}; where each marker is taken to sit is in markers.toml: "
        "look it over, correct it, and give it with `own_set`; if it is no human, `template=none`"
    )
    return replace(calibration, doubts=(told, *calibration.doubts), recognition=found)


def _blind(takes: Sequence[Recording], subject: str, progress: Share) -> Calibration:
    blind = calibrate_blind(takes, subject=subject, progress=progress)
    longest = max(takes, key=lambda take: take.n_frames)
    return replace(blind, skeleton=with_hinges(blind.skeleton, longest))
