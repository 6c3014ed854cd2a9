"""Joint moments and powers with the names of the angles, where the ground's forces are known."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from osteon.anatomy import ClinicalAngles, joint_axes
from osteon.errors import BadValue, NotEnoughData
from osteon.gait import FootLoads, PlateStep, at_frames, foot_loads
from osteon.human import BODY_MASS_INDEX, name_parts, standing_height
from osteon.kinetics.newton_euler import JointLoads, joint_loads
from osteon.kinetics.segment_inertia import segment_inertias
from osteon.maths import low_pass
from osteon.posing import standing_of
from osteon.typing import Array
from osteon.values import STANDING_FORCE, GroundReaction, Motion, Skeleton

CUTOFF_RATE = 10.0
"""Hz, low-pass of motion and forces. Chosen: laboratories take 6 to 15 for gait, and noise of poses
grows with the square of it."""
LEAST_SECONDS = 0.3
"""Seconds for which plates must carry the whole person to weigh it. Chosen: half a step."""
MASS_RANGE = (2.0, 400.0)
"""Kilograms that a person has; chosen: from a newborn to the heaviest there ever was."""


@dataclass(frozen=True, eq=False)
class JointMoments:
    """What turns the joints. Newton metres, watts; NaN where the ground's forces are not known."""

    names: tuple[str, ...]
    """As the angles have them."""
    moments: Array
    """(n_frames, n_names) internal: what muscles and ligaments do; it pushes the angle of the same
    name up."""
    points: dict[str, tuple[str, ...]]
    """Label of a joint (``LHipMoment``) → names of its components."""
    powers: dict[str, Array]
    """Label of a joint (``LHipPower``) → (n_frames,): above 0 it gives energy to the limbs."""
    mass: float
    """Of the person, kilograms."""
    weighed: str
    """Where the mass comes from, in words."""
    residual_force: Array
    """(n_frames, 3) newtons at the root that no plate explains; NaN while a foot's are unknown."""
    residual_moment: Array
    """(n_frames, 3) about the root's joint, newton metres."""
    steps: tuple[PlateStep, ...]
    rate: float
    whole: bool
    """Whether the rig has trunk, head and arms, without which residuals are those of all that
    carries no markers."""


def find_moments(
    motion: Motion,
    angles: ClinicalAngles,
    reactions: Sequence[GroundReaction],
    mass: float | None = None,
    cutoff: float | None = CUTOFF_RATE,
    seen: np.ndarray | None = None,
) -> JointMoments:
    """Return the moments and powers of a human rig's joints.

    Parameters
    ----------
    mass
        Of the person, kilograms; weighed by the plates, else by height, where not given.
    cutoff
        Low-pass of motion and forces, Hz; None for none.
    seen : (n_frames, n_bodies)
        Whether markers show a body: below a joint all must be, for guessed poses fly. All frames
        that are not held where nobody says.
    """
    check_loaded(reactions)
    _check(motion, mass, cutoff)
    feet = foot_loads(motion, reactions, standing_of(motion))
    if not any(step.foot for step in feet.steps):
        raise NotEnoughData("no foot of the rig is near the centre of pressure of any force plate")
    parts = name_parts(motion.skeleton)
    mass, weighed = (mass, "given") if mass else _weigh(motion, feet, reactions, parts)
    inertias = segment_inertias(motion.skeleton, parts, mass)
    loads = joint_loads(motion, inertias, feet.wrenches, cutoff)
    spread = 0 if cutoff is None else round(motion.rate / (4.0 * cutoff))
    known = _known(motion, feet, seen)
    sure = np.stack([_shrunk(each, spread) for each in known.T], axis=1)
    return _told(motion, angles, loads, sure, (mass, weighed, parts), feet)


def _known(motion: Motion, feet: FootLoads, seen: np.ndarray | None) -> np.ndarray:
    """(n_frames, n_bodies) whether a body's own motion and what acts on it are known."""
    known = np.ones(motion.rotations.shape[:2], bool) if seen is None else np.array(seen)
    known[list(motion.held)] = False
    for foot, sure in feet.known.items():
        known[:, motion.skeleton.index(foot)] &= sure
    return known


def check_loaded(reactions: Sequence[GroundReaction]) -> None:
    """Refuse a take whose forces from the ground nobody knows."""
    if not reactions:
        raise NotEnoughData(
            "there are no force plates: without the forces of the ground nobody can tell the "
            "moments of joints"
        )
    if not any(reaction.loaded.any() for reaction in reactions):
        raise NotEnoughData("nobody steps on a force plate: moments of joints cannot be told")


def _check(motion: Motion, mass: float | None, cutoff: float | None) -> None:
    if mass is not None and not MASS_RANGE[0] <= mass <= MASS_RANGE[1]:
        raise BadValue(
            f"mass must lie between {MASS_RANGE[0]:g} and {MASS_RANGE[1]:g} kg: {mass:g}"
        )
    if cutoff is not None and not 0.0 < cutoff < 0.5 * motion.rate:
        half = 0.5 * motion.rate
        raise BadValue(
            f"cutoff must lie between 0 and half the frame rate, {half:g} Hz: {cutoff:g}"
        )


def _weigh(
    motion: Motion, feet: FootLoads, reactions: Sequence[GroundReaction], parts: dict[str, str]
) -> tuple[float, str]:
    """The person's mass by the plates, over frames in which they carry all of it."""
    usual = BODY_MASS_INDEX * standing_height(motion.skeleton, parts) ** 2
    each = [at_frames(reaction, motion.n_frames, motion.rate)[0][:, 2] for reaction in reactions]
    lift = np.sum(each, axis=0)
    carried = np.logical_and.reduce([*feet.known.values(), lift > STANDING_FORCE])
    if carried.sum() < LEAST_SECONDS * motion.rate:
        return usual, "by the height"
    inertias = segment_inertias(motion.skeleton, parts, usual)
    cutoff = min(CUTOFF_RATE, motion.rate / 4.0)
    loads = joint_loads(motion, inertias, np.zeros_like(feet.wrenches), cutoff)
    # a rig without arms and head weighs less than the person, and rises as the person does
    needed = loads.forces[:, 0, 2] / inertias.masses.sum()
    lifted = low_pass(lift, cutoff, motion.rate)
    mass = float(np.median(lifted[carried] / needed[carried]))
    if not MASS_RANGE[0] <= mass <= MASS_RANGE[1]:
        return usual, "by the height"
    return mass, "by the force plates"


def _shrunk(known: np.ndarray, by: int) -> np.ndarray:
    """Without frames that a low-pass mixes with unknown ones."""
    unknown = np.convolve(~known, np.ones(2 * by + 1), mode="same") > 0.5
    return ~unknown


def _told(
    motion: Motion,
    angles: ClinicalAngles,
    loads: JointLoads,
    known: np.ndarray,
    whom: tuple[float, str, dict[str, str]],
    feet: FootLoads,
) -> JointMoments:
    mass, weighed, parts = whom
    whole = {"chest", "head", "left_forearm", "right_forearm"} <= parts.keys()
    names, moments, points, powers = [], [], {}, {}
    for name, (label, body, axis) in joint_axes(angles).items():
        if body not in motion.skeleton.names or (body == "chest" and not whole):
            continue
        index = motion.skeleton.index(body)
        sure = _sure(motion.skeleton, index, known)
        joint = label.removesuffix("Angles")
        names.append(name)
        moments.append(np.where(sure, np.sum(loads.moments[:, index] * axis, axis=-1), np.nan))
        points[f"{joint}Moment"] = (*points.get(f"{joint}Moment", ()), name)
        powers[f"{joint}Power"] = np.where(sure, loads.powers[:, index], np.nan)
    sure = _sure(motion.skeleton, 0, known)[:, None]
    return JointMoments(
        tuple(names),
        np.stack(moments, axis=-1),
        points,
        powers,
        mass,
        weighed,
        np.where(sure, loads.forces[:, 0], np.nan),
        np.where(sure, loads.moments[:, 0], np.nan),
        feet.steps,
        motion.rate,
        whole,
    )


def _sure(skeleton: Skeleton, body: int, known: np.ndarray) -> np.ndarray:
    """(n_frames,) whether all is known of the bodies below a joint."""
    below = [body]
    for index, parent in enumerate(skeleton.parents):
        if parent in below:
            below.append(index)
    return np.logical_and.reduce(known[:, below], axis=1)
