"""What a fit has found of joints and skin besides their places: what joints show, how far skin
slides, and which joints glide."""

from dataclasses import dataclass, replace

import numpy as np

from osteon.calibration.adjustment import Adjustment, adjust
from osteon.calibration.joint_evidence import HELD_DEVIATION
from osteon.calibration.priors import BeliefRows
from osteon.calibration.scatter import (
    SKIN_COUNT,
    Deviations,
    Usual,
    gap_shown,
    measured_gaps,
    scatter_of,
    shared_skin,
)
from osteon.maths import f_quantile, quat, rotations
from osteon.typing import Array
from osteon.values import GlidePath, Skeleton, level_spline

GLIDES_CHANCE = 0.05
"""Share of joints of two bones that share a point which may be said to glide: chosen, as usual."""
KNOT_ANGLE = 0.5
"""Radians between knots of a path on which a joint glides, at most: chosen on squats of one person,
where 0.3 to 0.8 come as near to the bones' own path."""
NOISE_DOUBTS = 2.0
"""Count of deviations by which what noise has in a gap may be larger: chosen, as usual."""
LEAST_GLIDE = 0.0005
"""Metres rms that a joint must glide by to be worth a word: chosen, below any skin and above what
the fit itself leaves of joints that hold."""


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


def with_glide_paths(
    skeleton: Skeleton,
    fit: Adjustment,
    frames: Array,
    usual: Usual,
    known: Deviations,
    turns: Array,
) -> Skeleton:
    """Return the skeleton with the paths of joints that glide, as far as they have an axis.

    Parameters
    ----------
    fit
        Its joints closed, so its rig is the skeleton's.
    frames : (n_frames, n_markers, 3)
        Those that were fitted, metres; NaN where not seen.
    turns : (n_bodies, 4)
        To the skeleton's frames from those of the fit.
    """
    bodies = list(skeleton.bodies)
    gliding = [k for k, b in enumerate(bodies) if b.joint.glide and usual.axes[k].any()]
    if not gliding:
        return skeleton
    opened = adjust(
        fit.rig,
        frames,
        fit.poses,
        BeliefRows(fit.rig).all_stay(HELD_DEVIATION),
        scatter_of(fit.rig, usual, known, len(frames)),
    )
    for index in gliding:
        joint = bodies[index].joint
        path = _glide_path(opened, usual, known, index, joint.glide or 0.0, turns)
        bodies[index] = replace(bodies[index], joint=replace(joint, glide_path=path))
    return replace(skeleton, bodies=tuple(bodies))


def _glide(fit: Adjustment, usual: Usual, known: Deviations, body: int) -> float:
    """How far a joint's ends move against each other beyond what skin explains, metres rms; 0
    where skin may explain it.

    Skin is known by ``SKIN_COUNT`` numbers at least, so the ratio of the two variances follows F.
    """
    shown, skin = gap_shown(fit, usual, known, body), shared_skin(fit.rig, known, body)
    squares = shown.squares - NOISE_DOUBTS * shown.doubt
    least = f_quantile(max(shown.count, 1.0), SKIN_COUNT, 1.0 - GLIDES_CHANCE) * skin
    if shown.count < 1.0 or squares < shown.count * least:
        return 0.0
    glide = float(np.sqrt(3.0 * (shown.squares / shown.count - skin)))
    return glide if glide > LEAST_GLIDE else 0.0


def _glide_path(
    fit: Adjustment, usual: Usual, known: Deviations, body: int, glide: float, turns: Array
) -> GlidePath:
    """The joint's place across its axis as a function of the angle about it, bodies being free.

    Knots are drawn to zero as far as frames do not show their angle; beyond them it is zero.
    """
    axis, to_parent = usual.axes[body], turns[fit.rig.parents[body]]
    bent = quat.multiply(to_parent, quat.exp(fit.leans[:, body]))
    bent = quat.multiply(bent, quat.inverse(turns[body]))
    angles = rotations.twist_angle(bent, quat.rotate(to_parent, axis))
    first, last = float(angles.min()), float(angles.max())
    shown = np.linspace(first, last, 1 + max(int(np.ceil((last - first) / KNOT_ANGLE)), 1))
    knots = np.concatenate([[first - KNOT_ANGLE], shown, [last + KNOT_ANGLE]])
    weights = level_spline(knots, angles)[:, 1:-1]
    gaps, variances = measured_gaps(fit, known, body)
    places = np.zeros((len(knots), 3))
    for way in np.flatnonzero(np.abs(axis) < 0.5):
        scaled = weights.T / variances[:, way]
        normal = scaled @ weights + 3.0 / glide**2 * np.eye(len(knots) - 2)
        places[1:-1, way] = np.linalg.solve(normal, scaled @ gaps[:, way])
    turned = quat.rotate(to_parent, np.vstack([axis, places]))
    return GlidePath(turned[0], quat.identity(), knots, turned[1:])
