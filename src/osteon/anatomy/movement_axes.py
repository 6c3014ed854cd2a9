"""The axes along which each limb moves, and the motion told by angles about them. [002] §4."""

from dataclasses import dataclass, replace

import numpy as np

from osteon import papers
from osteon.anatomy.direction_methods import (
    SAME_ANGLE,
    Direction,
    joining,
    principal,
    sweeps_of,
)
from osteon.anatomy.limb_frames import Normalised, limb_reaches, normalise
from osteon.anatomy.limb_path import moving_samples, smooth_path
from osteon.anatomy.parameters import (
    Parameters,
    limb_points,
    parameterise,
    rest_place,
    swing_angles,
)
from osteon.errors import BadValue, NotEnoughData
from osteon.maths import quat
from osteon.threads import one_thread
from osteon.typing import Array
from osteon.values import CompactMotion, Motion, Movement, Skeleton

METHODS = ("joining", "pca", "em")
SOURCES = ("orientations", "points")
EXACT_ANGLE = np.radians(0.1)
"""Radians (0.1°) rms that may be left out before another axis is taken; chosen: 0.7 mm on a limb of
0.4 m."""
APART_ANGLE = 2.0 * SAME_ANGLE
"""Least angle of a second axis with the first, and with the limb."""
FAINTEST_SHARE = 0.1
"""Share of all sweeping that makes a main movement at least; chosen: less is how a limb strays from
its axis."""
LOOK_COUNT = 3000
"""Count of samples by which the number of axes is judged; chosen: time, of a long take they tell as
much."""
LABELS = ("bend", "sideways", "turn")
"""Turning about the body's right, front and up."""


@dataclass(frozen=True, eq=False)
class LimbFit:
    """How well a limb's parameters tell its motion."""

    name: str
    error: float
    """Mean distance of the limb's far end from where it was, about its own joint, metres."""
    worst: float
    """Largest such distance, metres."""
    turned: float
    """Mean angle between the limb's frame and where it was, radians."""
    unreached: float
    """Share of frames whose direction the axes cannot reach."""
    moving: float
    """Share of frames in which the limb was on the move."""


@dataclass(frozen=True, eq=False)
class MovementAxes:
    """A motion told by movement, and how well."""

    compact: CompactMotion
    limbs: tuple[LimbFit, ...]
    normalised: Normalised
    method: str

    @property
    def motion(self) -> Motion:
        """The motion as given; its skeleton's bodies carry ``frame`` and ``movement``."""
        return replace(self.normalised.given, skeleton=self.compact.skeleton)


@one_thread()
def axes(
    motion: Motion,
    *,
    method: str = "joining",
    source: str = "orientations",
    known: Skeleton | None = None,
) -> MovementAxes:
    """Find every limb's movement axes and tell the motion by angles about them.

    Parameters
    ----------
    method
        ``joining`` (groups of like steps), ``pca`` or ``em``.
    source
        ``orientations``, or ``points`` where the limbs' own turning means nothing because only
        joint positions were measured.
    known
        The person's own skeleton with movement axes, as found on a calibration take: its axes are
        taken, by the bodies' names, so that takes can be compared.
    """
    if method not in METHODS:
        raise BadValue(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    if source not in SOURCES:
        raise BadValue(f"source must be one of {', '.join(SOURCES)}, got {source!r}")
    if motion.skeleton.parents.count(-1) != 1:
        raise NotEnoughData("movement axes need a skeleton with exactly one root")
    normalised = normalise(motion)
    skeleton = normalised.skeleton
    own = {} if known is None else {body.name: body.movement for body in known.bodies}
    bodies, columns, limbs = [skeleton.bodies[0]], [], []
    for index in range(1, len(skeleton.bodies)):
        parent = skeleton.parents[index]
        q = motion.rotations[:, index]
        direction = normalised.directions[index]
        found, moving = main_directions(q, direction, motion.rate, method, source)
        points = limb_points(q, direction)
        movement = own.get(skeleton.bodies[index].name)
        if movement is None:
            movement = movement_of(points, q, direction, found, normalised.body_axes[parent])
        parameters = parameterise(q, movement)
        columns.append(parameters.angles)
        bodies.append(replace(skeleton.bodies[index], movement=movement))
        reach = _length(normalised, index)
        limbs.append(_fit(bodies[-1].name, parameters, reach, float(moving.mean())))
    told = CompactMotion(
        skeleton.with_bodies(bodies, f"movement axes found by {method}"),
        motion.root,
        motion.rotations[:, 0],
        np.concatenate(columns, axis=-1) if columns else np.zeros((motion.n_frames, 0)),
        motion.rate,
        history=(*motion.history, f"told by movement axes ({method})"),
        source=motion.source,
    )
    return MovementAxes(told, tuple(limbs), normalised, method)


def main_directions(
    rotations: Array,
    direction: Array,
    rate: float,
    method: str = "joining",
    source: str = "orientations",
) -> tuple[list[Direction], np.ndarray]:
    """Up to two main directions of a limb, and which samples (n,) were on the move.

    Parameters
    ----------
    rotations : (n, 4)
        To the parent's frame.
    direction : (3,)
        The limb in its own frame.
    source
        As for ``axes``; circles are fitted to ``points``.
    """
    if source == "orientations":
        rotations = smooth_path(quat.unroll(rotations), rate)
        points = limb_points(rotations, direction)
    else:
        points = smooth_path(limb_points(rotations, direction), rate)
    moving = moving_samples(points, rate)
    if method != "joining":
        find = papers.pca if method == "pca" else papers.em
        return [Direction(*pair) for pair in find(points[moving])], moving
    turned = rotations if source == "orientations" else None
    return joining(sweeps_of(points, turned, moving)), moving


def movement_of(
    points: Array, rotations: Array, direction: Array, found: list[Direction], body_axes: Array
) -> Movement:
    """As many axes as it takes, the rest position, and names for the axes.

    Parameters
    ----------
    body_axes : (3, 3)
        Rows: the body's right, front and up in the parent's frame, in the default pose.
    """
    known = np.isfinite(rotations[:, 0])
    seen, every = rotations[known], points[known]
    points = every[:: max(1, len(every) // LOOK_COUNT)]
    if not len(points):
        return Movement(np.zeros((0, 3)), (), quat.identity(), direction)
    main = [one for one in found if one.weight >= FAINTEST_SHARE]
    chosen: list[Direction] = []
    place = rest_place(np.zeros((0, 3)), points)
    if not _stands(points, place):
        chosen = main[:1] or [_faint(points)]
        place = rest_place(chosen[0].axis[None], points)
        if not _keeps_circle(points, chosen[0].axis, place):
            chosen.append(_second(chosen[0], main[1:], points, place))
            place = rest_place(np.array([one.axis for one in chosen]), points)
    rest = seen[np.argmax(every @ place)]
    return _named(chosen, rest, direction, body_axes)


def _faint(points: Array) -> Direction:
    """Judge by their variance sweeps of which none is longer than a cell."""
    centre = points.mean(axis=0)
    along = principal(points - centre, points - centre)
    return Direction(quat.normalise(np.cross(centre, along)), 0.0)


def _stands(points: Array, place: Array) -> bool:
    apart = np.linalg.norm(points - place, axis=-1)
    return bool(np.sqrt(np.mean(apart**2)) <= EXACT_ANGLE)


def _keeps_circle(points: Array, axis: Array, place: Array) -> bool:
    turned = quat.from_axis_angle(axis, swing_angles(axis[None], place, points)[0][:, 0])
    return bool(
        np.sqrt(np.mean(np.sum((quat.rotate(turned, place) - points) ** 2, -1))) <= EXACT_ANGLE
    )


def _second(first: Direction, others: list[Direction], points: Array, place: Array) -> Direction:
    """Another main direction that reaches the points, else the axis across first and limb."""
    across = Direction(quat.normalise(np.cross(first.axis, place)), 0.0)
    for other in others:
        if _apart(other.axis, first.axis) < APART_ANGLE or _apart(other.axis, place) < APART_ANGLE:
            continue
        both = np.stack([first.axis, other.axis])
        start = points[np.argmax(points @ rest_place(both, points))]
        if swing_angles(both, start, points)[1].mean() >= 0.99:
            return other
    return across


def _apart(a: Array, b: Array) -> float:
    """Angle between two lines, radians."""
    return float(np.arctan2(np.linalg.norm(np.cross(a, b)), abs(a @ b)))


def _named(chosen: list[Direction], rest: Array, direction: Array, body_axes: Array) -> Movement:
    """Axes signed and named by the body's own, so that takes agree on both."""
    labels: list[str] = []
    signed = []
    for one in chosen:
        along = body_axes @ one.axis
        order = [k for k in np.argsort(-np.abs(along)) if LABELS[k] not in labels]
        labels.append(LABELS[order[0]])
        signed.append(one.axis * (-1.0 if along[order[0]] < 0.0 else 1.0))
    return Movement(
        np.array(signed).reshape(-1, 3),
        tuple(labels),
        rest,
        direction,
        tuple(round(one.weight, 4) for one in chosen),
    )


def _length(normalised: Normalised, index: int) -> float:
    """From joint to far end, metres; of a limb without one, the bone that leads to it."""
    own = float(np.linalg.norm(limb_reaches(normalised.skeleton)[index]))
    return own if own > 1e-6 else float(np.linalg.norm(normalised.skeleton.offsets[index]))


def _fit(name: str, parameters: Parameters, length: float, moving: float) -> LimbFit:
    seen = np.isfinite(parameters.missed)
    if not seen.any():
        return LimbFit(name, np.nan, np.nan, np.nan, np.nan, moving)
    apart = length * parameters.missed[seen]
    return LimbFit(
        name,
        float(apart.mean()),
        float(apart.max()),
        float(parameters.turned[seen].mean()),
        float(1.0 - parameters.reached[seen].mean()),
        moving,
    )
