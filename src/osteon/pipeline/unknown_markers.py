"""A subject whose labels nobody knows: as a human where shape and motion say so, else blind."""

from collections.abc import Sequence
from dataclasses import replace

from osteon.calibration import Calibration, calibrate, calibrate_blind, with_hinges
from osteon.errors import NotEnoughData
from osteon.human import Recognition, Unlike, explain_unrecognised, recognise_shape
from osteon.pipeline.solved import SolveOptions
from osteon.typing import Share, unheard
from osteon.values import Recording

UNLIKE_RMS = 0.03
"""Metres from a human's rig to its markers beyond which it is none; chosen: three times
what skin moves markers, for some may be given to the next body."""


def calibrate_unknown(
    takes: Sequence[Recording],
    options: SolveOptions,
    subject: str = "",
    progress: Share = unheard,
) -> Calibration:
    """Calibrate a human recognised by shape, or, with the reason told, bodies found by motion."""
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
        "look it over, correct it, and give it with `own_set`; without it, `template=none`"
    )
    return replace(calibration, doubts=(told, *calibration.doubts), recognition=found)


def _blind(takes: Sequence[Recording], subject: str, progress: Share) -> Calibration:
    blind = calibrate_blind(takes, subject=subject, progress=progress)
    longest = max(takes, key=lambda take: take.n_frames)
    return replace(blind, skeleton=with_hinges(blind.skeleton, longest))
