"""What a fit has found of joints and skin besides their places: what joints show, how far skin
slides, and which joints glide."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import f as f_ratio

from osteon.calibration.adjustment import Adjustment
from osteon.calibration.scatter import SKIN_COUNT, Deviations, Usual, gap_shown, shared_skin
from osteon.maths import quat
from osteon.typing import Array
from osteon.values import Skeleton

GLIDES_CHANCE = 0.05
"""Share of joints of two bones that share a point which may be said to glide: chosen, as usual."""
LEAST_GLIDE = 0.001
"""Metres rms that a joint must glide by to be worth a word: chosen, what a rigid joint may give."""


@dataclass(frozen=True)
class JointMotion:
    """What the calibrating frames show of one joint."""

    postures: int
    """How many different ones it takes, each 0.8 rad from the others."""
    axis: Array
    """(3,) the axis along which motion does not tell its place, in the parent's frame; zero:
    none."""


def joint_motions(
    fit: Adjustment, usual: Usual, known: Deviations, turns: Array
) -> dict[str, JointMotion]:
    """Return what the frames of a fit show of each joint, by the body that hangs on it.

    ``turns`` (n_bodies, 4) lead from the frames that ``usual`` speaks of to those of the fit.
    """
    rig = fit.rig
    return {
        rig.names[body]: JointMotion(
            round(known.postures[body]) - 1,  # one more is counted there
            quat.rotate(turns[rig.parents[body]], usual.axes[body]),
        )
        for body in range(1, rig.n_bodies)
    }


def with_findings(skeleton: Skeleton, fit: Adjustment, usual: Usual, known: Deviations) -> Skeleton:
    """Return the skeleton with skin, gaps and gliding as found, metres rms in three dimensions."""
    bodies = []
    for index, body in enumerate(skeleton.bodies):
        joint = body.joint
        if body.parent is not None:
            gap = float(np.sqrt(3.0) * known.gaps[index])
            joint = replace(joint, gap=gap, glide=_glide(fit, usual, known, index))
        skin = float(np.sqrt(3.0) * known.skin[index]) if body.markers else None
        bodies.append(replace(body, joint=joint, skin=skin))
    return replace(skeleton, bodies=tuple(bodies))


def _glide(fit: Adjustment, usual: Usual, known: Deviations, body: int) -> float:
    """How far a joint's ends move against each other beyond what skin explains, metres rms; 0
    where skin may explain it.

    Skin is known by ``SKIN_COUNT`` numbers at least, so the ratio of the two variances follows F.
    """
    squares, count = gap_shown(fit, usual, known, body)
    skin = shared_skin(fit.rig, known, body)
    if count < 1.0 or squares / count < f_ratio.isf(GLIDES_CHANCE, count, SKIN_COUNT) * skin:
        return 0.0
    glide = float(np.sqrt(3.0 * (squares / count - skin)))
    return glide if glide > LEAST_GLIDE else 0.0
