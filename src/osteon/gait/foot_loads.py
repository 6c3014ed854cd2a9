"""Force plates and feet → the force under each foot, where one plate bears it alone and whole."""

from collections.abc import Sequence

import numpy as np

from osteon.gait.foot_events import SIDES, FootPaths, Load, Side
from osteon.maths import runs
from osteon.typing import Array
from osteon.values import GroundReaction

EDGE_WIDTH = 0.03
"""Metres that a sole may reach over the plate's edge; chosen: soles are known to so much."""
REST_SPEED = 0.4
"""Metres per second below which a foot is taken to stand; chosen: swinging ones have over 1."""
WHOLE_SHARE, OTHER_SHARE = 0.8, 0.2
"""Shares of the middle of a contact in which every point of the sole must be on the plate, and in
which any of the other foot's may; chosen: a foot beside the plate has less, one on it more."""
SHORTEST_CONTACT, DROP_TIME = 0.1, 0.03
"""Seconds that a foot loads a plate at least, and for which its load may drop out; chosen: less is
a shock, and no foot is off and on again in so little."""
QUIET_TIME = 0.05
"""Seconds before and after a contact in which the plate bore nobody; chosen: so the threshold is
crossed by this foot."""


def loads_of(reactions: Sequence[GroundReaction], feet: FootPaths) -> dict[Side, Load]:
    """Return the vertical force under each foot; NaN while no plate bears it alone and whole.

    Plates under a moving belt are left out: it shakes them by more than the threshold.
    """
    if not reactions or feet.belt.any():
        return {}
    rate = reactions[0].rate
    forces: dict[Side, Array] = {side: np.full(len(reactions[0].force), np.nan) for side in SIDES}
    for reaction in reactions:
        pad = round(QUIET_TIME * rate)
        for first, last in _contacts(reaction):
            whose = _bearer(reaction, feet, first, last)
            around = slice(max(0, first - pad), last + pad + 1)
            if whose is not None:
                forces[whose][around] = reaction.force[around, 2]
    return {side: Load(force, rate) for side, force in forces.items() if np.isfinite(force).any()}


def _contacts(reaction: GroundReaction) -> list[tuple[int, int]]:
    """First and last samples of loads that last, short drop-outs bridged."""
    merged: list[tuple[int, int]] = []
    for first, last in runs(reaction.loaded):
        if merged and first - merged[-1][1] < DROP_TIME * reaction.rate:
            merged[-1] = (merged[-1][0], last)
        else:
            merged.append((first, last))
    shortest = SHORTEST_CONTACT * reaction.rate
    return [(first, last) for first, last in merged if last - first >= shortest]


def _bearer(reaction: GroundReaction, feet: FootPaths, first: int, last: int) -> Side | None:
    """Return the foot that stands on a plate in the middle half of a contact, if one does."""
    n_frames = len(feet.known)
    quarter = (last - first) // 4
    middle = slice(
        int((first + quarter) / reaction.rate * feet.rate),
        min(n_frames, int((last - quarter) / reaction.rate * feet.rate) + 2),
    )
    if middle.stop - middle.start < 2:
        return None
    low = reaction.corners[:, :2].min(axis=0) - EDGE_WIDTH
    high = reaction.corners[:, :2].max(axis=0) + EDGE_WIDTH
    shares = {}
    for side in SIDES:
        sole = feet.soles[side][middle]
        speed = np.linalg.norm(np.gradient(sole.mean(axis=1)[:, :2], axis=0), axis=-1) * feet.rate
        inside = np.all((sole[..., :2] > low) & (sole[..., :2] < high), axis=-1)
        shares[side] = (inside & (speed < REST_SPEED)[:, None]).mean(axis=0)
    for side, other in (SIDES, SIDES[::-1]):
        if shares[side].min() > WHOLE_SHARE and shares[other].max() < OTHER_SHARE:
            return side
    return None
