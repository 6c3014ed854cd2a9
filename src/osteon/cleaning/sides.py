"""Is left left? A body is not its own mirror image: front, up and left fix each other.

Coordinates of a left-handed world show a mirror image, and so do labels whose sides are exchanged:
no marker tells which of the two it is. Both at once are a body again.
"""

from collections.abc import Collection

import numpy as np

from osteon.cleaning.size import sampled
from osteon.human import Landmark, scale_of
from osteon.maths import RigidFit, fit_rigid, quat
from osteon.typing import Array
from osteon.values import Recording

TRUNK_BODIES = frozenset(
    ("pelvis", "spine", "chest", "neck", "head", "left_clavicle", "right_clavicle")
)
"""Bodies that look like the template in any pose."""
LEGS = ("thigh", "shin", "foot")
LOWER_BODIES = frozenset(
    ("pelvis", *(f"{side}_{leg}" for side in ("left", "right") for leg in LEGS))
)
LIMB_BODIES = {"legs": "thigh", "arms": "upper_arm"}
"""By limb the body at the trunk: it cannot change sides."""
FEWEST_MARKERS = 4
"""Markers that a mirror image can differ in."""
BEST_SHARE = 0.1
"""Share of the frames, those most like the template, that tell how well it fits."""
CLEAR_RATIO = 1.35
"""How many times better the other hypothesis must fit."""
ACROSS_SHARE = -0.3
"""How far over a limb must be, 1.0 being where it belongs: crossed legs leave thighs above 0."""
MIRROR = np.array([1.0, -1.0, 1.0])


def exchanged_sides(recording: Recording, found: dict[str, Landmark]) -> str:
    """Tell what is on the wrong side: ``all``, ``legs`` or ``arms``; empty where left is left.

    Parameters
    ----------
    found
        The recording's labels on the average human.
    """
    observed = sampled(recording, found)
    placed = {label: found[label] for label in observed}
    size = scale_of(placed, observed)
    trunk, lower = (_Fit(observed, placed, bodies, size) for bodies in (TRUNK_BODIES, LOWER_BODIES))
    told = trunk if abs(np.log(trunk.better)) > np.log(CLEAR_RATIO) else lower
    if told.better < 1.0 / CLEAR_RATIO:
        return "all"
    if trunk.better > CLEAR_RATIO:
        for limb, body in LIMB_BODIES.items():
            if _side(observed, placed, body, trunk.left) < ACROSS_SHARE * size:
                return limb
    return ""


class _Fit:
    """The template on some bodies in every frame, as it is and mirrored."""

    def __init__(
        self,
        observed: dict[str, Array],
        placed: dict[str, Landmark],
        bodies: Collection[str],
        size: float,
    ) -> None:
        own = [label for label in observed if placed[label].body in bodies]
        self.better, self.left = 1.0, np.zeros(3)
        """How many times better it fits as it is; the body's left (n_frames, 3) in the world."""
        if len(own) < FEWEST_MARKERS:
            return
        template = size * np.stack([np.asarray(placed[label].at) for label in own])
        points = np.stack([observed[label] for label in own], axis=1)
        told = np.isfinite(points[..., 0]).sum(axis=1) >= max(FEWEST_MARKERS, len(own) // 2)
        if told.any():
            as_is = fit_rigid(template, points)
            mirrored = fit_rigid(template * MIRROR, points)
            self.better = _misfit(mirrored, told) / _misfit(as_is, told)
            self.left = quat.rotate(as_is.rotations, np.array([0.0, 1.0, 0.0]))


def _misfit(fit: RigidFit, told: np.ndarray) -> float:
    """Metres rms, of the best frames; a tenth of a millimetre where it is perfect."""
    rms = fit.rms[told & np.isfinite(fit.rms)]
    return max(float(np.quantile(rms, BEST_SHARE)), 1e-4) if len(rms) else 1.0


def _side(observed: dict[str, Array], placed: dict[str, Landmark], body: str, left: Array) -> float:
    """How far left of the right one a limb's left body is, 1.0 for as far as on the template."""
    middle, rest = [], []
    for side in ("left", "right"):
        own = [label for label in observed if placed[label].body == f"{side}_{body}"]
        if not own:
            return 1.0
        points = np.stack([observed[label] for label in own])
        count = np.isfinite(points).sum(axis=0)
        middle.append(np.where(count > 0, np.nansum(points, axis=0) / np.maximum(count, 1), np.nan))
        rest.append(np.mean([np.asarray(placed[label].at)[1] for label in own]))
    apart = np.sum((middle[0] - middle[1]) * left, axis=-1)
    apart = apart[np.isfinite(apart)]
    return float(np.median(apart)) / float(rest[0] - rest[1]) if len(apart) else 1.0
