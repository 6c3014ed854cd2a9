"""What a user should know of a solved take, in words."""

from collections.abc import Sequence

import numpy as np

from osteon.posing import Standing, rms_of_seen, rms_per_marker, soles_off, sudden_turns
from osteon.typing import Array
from osteon.values import Motion

UNUSABLE_RMS = 0.04
"""Metres: no limb is told by markers that are so far from it. Chosen: twice what another person's
rig leaves."""
SUNKEN_SOLE_HEIGHT = 0.015
"""Metres off the ground at which a user is told of a sole."""
NAMED_FEW = 5
"""Names that a sentence lists before it counts the others."""


def sunken_soles(standing: Standing) -> tuple[str, ...]:
    """A word about soles that are not on the ground where they stand."""
    off = {
        body: high for body, high in soles_off(standing).items() if abs(high) > SUNKEN_SOLE_HEIGHT
    }
    if not off:
        return ()
    told = [f"{b} {1e3 * abs(h):.0f} mm {'above' if h > 0 else 'below'}" for b, h in off.items()]
    return (
        f"soles stand off the ground: {', '.join(told)}; feet that never stand flat, markers that "
        "moved since the calibration, or a floor that is none?",
    )


def of_another(errors: Array, most: float) -> tuple[str, ...]:
    """A word where a skeleton that was given is hardly that of who was recorded: its markers are
    farther off than ``most`` metres."""
    rms = rms_of_seen(errors)
    if rms is None or rms < most:
        return ()
    use = "not to be used as it stands: " if rms >= UNUSABLE_RMS else ""
    return (
        f"{use}markers are {1e3 * rms:.0f} mm rms from the skeleton that was given: of another "
        "person, or with markers elsewhere? without `skeleton` the take calibrates its own",
    )


def unusable(errors: Array) -> tuple[str, ...]:
    """A word about a rig that nothing can be done with."""
    rms = rms_of_seen(errors)
    if rms is None or rms < UNUSABLE_RMS:
        return ()
    return (
        f"not to be used as it stands: markers are {1e3 * rms:.0f} mm rms from this rig; several "
        "people at once, labels that change their markers (osteon label mends them), or points "
        "that are on no body?",
    )


def far_markers(names: Sequence[str], errors: Array, most: float) -> tuple[str, ...]:
    """A word about markers that are not always within ``most`` metres of where the rig has them,
    worst first."""
    off = rms_per_marker(names, errors)
    far = [name for name, rms in off.items() if rms > most]
    if not far:
        return ()
    told = [f"{name} {1e3 * off[name]:.0f} mm" for name in far[:NAMED_FEW]]
    others = f" and {len(far) - NAMED_FEW} others" if len(far) > NAMED_FEW else ""
    return (
        f"far from their place on the rig, rms: {', '.join(told)}{others}; labels exchanged for a "
        "while, markers that slipped, or a joint that the rig lacks?",
    )


def sudden(motion: Motion) -> tuple[str, ...]:
    """A word about joints that turn faster than people do, because their markers do."""
    turns = sudden_turns(motion)
    if not turns:
        return ()
    told = [
        f"{body} turns {np.degrees(angle):.0f}° in one frame at frame {frame}"
        for body, frame, angle in turns[:NAMED_FEW]
    ]
    others = f" and {len(turns) - NAMED_FEW} other joints" if len(turns) > NAMED_FEW else ""
    return (
        f"{', '.join(told)}{others}: its markers ask for it; exchanged, slipped, or seen again "
        "after a long gap?",
    )
