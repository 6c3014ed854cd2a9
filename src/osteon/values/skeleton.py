"""A rig: bodies, the joints between them, and the markers they carry."""

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from osteon.errors import BadValue, ShapeError, UnknownName
from osteon.maths import quat, rotations
from osteon.typing import Array, Indices
from osteon.values.array_checks import (
    freeze,
    frozen,
    read_only,
    settle,
    unique_names,
    unit_quaternions,
)
from osteon.values.limits import Interval, Limits
from osteon.values.recording import Event

UNKNOWN_DEVIATION = 1.0
"""Metres, of a place of which nothing is known. Chosen: longer than any bone of a person."""
FEWEST_KNOTS = 4
"""Count of knots of a gliding joint: derived, two that were shown and one beyond either."""
KINDS = ("fixed", "hinge", "universal", "ball", "free")


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """A limb's own frame, told by the body's planes and not by how sensors were worn.

    In the default pose x points to the right, y to the front and z up, bent to the limb: z lies
    along it. The origin is the middle of the limb. [002] §3.
    """

    origin: Array
    """(3,) in the body's frame, metres."""
    rotation: Array
    """(4,) to the body's frame from the limb's."""

    def __post_init__(self) -> None:
        origin, rotation = frozen(self.origin, (3,), "frame origin"), self.rotation
        rotation = unit_quaternions(frozen(rotation, (4,), "frame rotation"))
        settle(self, origin=origin, rotation=rotation)


@dataclass(frozen=True, slots=True, eq=False)
class Movement:
    """The axes along which a limb really moves, and where its angles are zero. [002] §4.

    The limb's rotation is R(first axis) · R(second axis) · R(twist axis) · rest, where the twist
    axis is the limb itself at rest.
    """

    axes: Array
    """(n_axes, 3) unit axes in the parent's frame, none, one or two."""
    labels: tuple[str, ...]
    """What turning about each axis is called: ``bend``, ``sideways`` or ``turn``."""
    rest: Array
    """(4,) rotation to the parent's frame from the body's where all angles are zero."""
    direction: Array
    """(3,) unit direction of the limb in the body's frame."""
    share: tuple[float, ...] = ()
    """Part of all the limb's sweeping that went along each axis; 0 for an axis that was not seen
    and only takes up the rest."""

    def __post_init__(self) -> None:
        axes = np.asarray(self.axes, dtype=float).reshape(-1, 3)
        if len(axes) != len(self.labels) or len(axes) > 2:
            raise ShapeError(f"{len(axes)} movement axes need as many labels, and two at most")
        if len(set(self.labels)) != len(self.labels):
            raise BadValue(f"the two axes need labels that differ, got {self.labels[0]!r} twice")
        settle(self, axes=frozen(axes, ("n_axes", 3), "movement axes"))
        settle(self, rest=unit_quaternions(frozen(self.rest, (4,), "rest rotation")))
        settle(self, direction=frozen(self.direction, (3,), "limb direction"))

    @property
    def parameters(self) -> tuple[str, ...]:
        """The limb's angles in order: one for each axis, and ``twist``."""
        return (*self.labels, "twist")


@dataclass(frozen=True, slots=True, eq=False)
class GlidePath:
    """How a joint's place in the parent goes with one angle: a cubic spline through knots, level at
    both ends and beyond. The rig's joint stays in its place all the same."""

    axis: Array
    """(3,) unit, in the parent's frame: the angle is the turn about it."""
    rest: Array
    """(4,) rotation to the parent's frame from the body's where the angle is zero."""
    angles: Array
    """(n_knots,) radians, going up; the first and the last lie beyond what was shown."""
    places: Array
    """(n_knots, 3) from where the rig has the joint, in the parent's frame, metres."""

    def __post_init__(self) -> None:
        freeze(self, axis=(3,), rest=(4,), angles=("n_knots",), places=("n_knots", 3))
        object.__setattr__(self, "rest", unit_quaternions(self.rest))
        if len(self.angles) != len(self.places) or len(self.angles) < FEWEST_KNOTS:
            raise ShapeError(
                f"a gliding joint needs {FEWEST_KNOTS} angles or more and a place for each, got "
                f"{len(self.angles)} and {len(self.places)}"
            )
        if not (np.diff(self.angles) > 0.0).all():
            raise BadValue("the angles of a gliding joint must go up from knot to knot")

    def angles_of(self, turns: Array) -> Array:
        """(n_frames,) the angle of the joint's rotations (n_frames, 4), radians."""
        turned = quat.multiply(turns, quat.inverse(self.rest))
        return rotations.twist_angle(turned, self.axis)

    @property
    def shown(self) -> Interval:
        """The angles between which frames have shown it, radians."""
        return float(self.angles[1]), float(self.angles[-2])

    @property
    def travel(self) -> float:
        """The largest distance between two of its places, metres."""
        apart = self.places[:, None] - self.places
        return float(np.linalg.norm(apart, axis=-1).max())

    def at(self, angles: Array) -> Array:
        """(n_angles, 3) where the joint then is, from where the rig has it, metres."""
        return level_spline(self.angles, angles) @ self.places


def level_spline(knots: Array, at: Array) -> Array:
    """(n, n_knots) what each knot's value counts at angles (n,): a cubic spline, level at both ends
    and beyond."""
    from scipy.interpolate import CubicSpline  # slow to load, rarely asked for

    spline = CubicSpline(knots, np.eye(len(knots)), bc_type="clamped")
    return np.asarray(spline(np.clip(at, knots[0], knots[-1])))


@dataclass(frozen=True, slots=True, eq=False)
class Joint:
    """How a body hangs on its parent: one point that both share."""

    kind: str = "ball"
    """``fixed``, ``hinge``, ``universal``, ``ball`` or ``free``."""
    in_parent: Array = (0.0, 0.0, 0.0)  # type: ignore[assignment]
    """(3,) the joint in the parent's frame (``l`` of [000])."""
    in_body: Array = (0.0, 0.0, 0.0)  # type: ignore[assignment]
    """(3,) the joint in the body's own frame (``c`` of [000])."""
    axes: Array = ()  # type: ignore[assignment]
    """(n_axes, 3) unit axes in the parent's frame: one for a hinge, two for a universal joint."""
    limits: Limits | None = None
    rms: float | None = None
    """How far the two bodies' ideas of the joint lie apart over the take, metres."""
    covariance: Array | None = None
    """(3, 3) of the joint centre in the parent's frame, square metres."""
    rest: Array = (1.0, 0.0, 0.0, 0.0)  # type: ignore[assignment]
    """(4,) rotation to the parent's frame from the body's where all angles about ``axes`` are
    zero: a hinge's rotation is R(axis, angle)·rest."""
    gap: float | None = None
    """How far a calibration found its two ends apart, noise counted out, metres rms: gliding, and
    skin that a body's markers share."""
    glide: float | None = None
    """The part of ``gap`` that skin does not explain, metres rms; 0 where skin may explain all."""
    glide_path: GlidePath | None = None
    """How it glides as it turns, of a joint with one main axis that does."""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise BadValue(f"joint kind must be one of {', '.join(KINDS)}, got {self.kind!r}")
        axes = np.asarray(self.axes, dtype=float).reshape(-1, 3)
        settle(self, axes=frozen(axes, ("n_axes", 3), "axes"))
        freeze(self, in_parent=(3,), in_body=(3,), rest=(4,), covariance=(3, 3))
        settle(self, rest=unit_quaternions(self.rest))

    @property
    def ellipsoid(self) -> tuple[Array, Array] | None:
        """Of the joint centre, in the parent's frame; None where it is not known all round."""
        if self.covariance is None or not np.isfinite(self.covariance).all():
            return None
        return ellipsoid(self.covariance)

    @property
    def deviation(self) -> float | None:
        """How uncertain the joint centre is in its worst direction, metres."""
        known = self.ellipsoid
        return None if known is None else float(known[0][0])


def without_gaps(covariance: Array) -> Array:
    """Return a covariance (3, 3) as numbers: ``UNKNOWN_DEVIATION`` where nothing is known."""
    open_rows = ~np.isfinite(np.diag(covariance))
    whole = np.where(np.isfinite(covariance), covariance, 0.0)
    whole[open_rows], whole[:, open_rows] = 0.0, 0.0
    return whole + np.diag(UNKNOWN_DEVIATION**2 * open_rows)


def ellipsoid(covariance: Array) -> tuple[Array, Array]:
    """Standard deviations (3,), largest first, and their directions (3, 3) as rows."""
    values, vectors = np.linalg.eigh(without_gaps(covariance))
    return np.sqrt(np.maximum(values[::-1], 0.0)), vectors.T[::-1]


@dataclass(frozen=True, slots=True, eq=False)
class Marker:
    """A marker's place on its body."""

    name: str
    position: Array
    """(3,) in the body's frame."""
    rms: float | None = None
    """Distance between model and recording over the take, metres."""
    covariance: Array | None = None
    """(3, 3) of the place, square metres."""

    def __post_init__(self) -> None:
        settle(self, position=frozen(self.position, (3,), "marker position"))
        freeze(self, covariance=(3, 3))


@dataclass(frozen=True, slots=True, eq=False)
class Body:
    """One rigid part. Its frame is its own; the joint says where it meets its parent."""

    name: str
    parent: str | None
    """Name of the parent; None for the root."""
    joint: Joint = Joint()
    length: float | None = None
    """From the body's joint to the joint of the child that continues the bone; None if none."""
    markers: tuple[Marker, ...] = ()
    tip: Array | None = None
    """(3,) end of a bone that has no child, in the body's frame."""
    frame: Frame | None = None
    """The limb's frame by the body's planes, where ``normalise`` has found it."""
    movement: Movement | None = None
    """The limb's movement axes, where ``axes`` has found them."""
    skin: float | None = None
    """How far each of its markers was found to slide on the bone for itself, metres rms."""

    def __post_init__(self) -> None:
        settle(self, markers=tuple(self.markers))
        freeze(self, tip=(3,))
        if self.parent is None and np.any(self.joint.in_body):
            raise BadValue(f"root {self.name!r} must have its joint at its own origin")

    @property
    def tip_from_joint(self) -> Array | None:
        """(3,) the tip seen from the body's joint, in the body's frame."""
        return None if self.tip is None else self.tip - self.joint.in_body


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """Two bodies that meet without being parent and child, as clasped hands."""

    bodies: tuple[str, str]
    in_first: Array
    in_second: Array
    rms: float
    frames: tuple[int, int] | None = None
    """First and last frame in which they do; None: the whole take."""

    def __post_init__(self) -> None:
        freeze(self, in_first=(3,), in_second=(3,))

    @property
    def sentence(self) -> str:
        """What closes, when and how well, in words for people; without a full stop."""
        when = "" if self.frames is None else " from frame {} to {}".format(*self.frames)
        return f"{' and '.join(self.bodies)} close a loop{when}, {1e3 * self.rms:.1f} mm rms"


class MarkerPlaces(NamedTuple):
    """Markers on the bodies that carry them."""

    names: tuple[str, ...]
    bodies: Indices
    """(n_markers,) index of the body that carries each."""
    places: Array
    """(n_markers, 3) from the body's joint, in the body's frame."""


@dataclass(frozen=True, eq=False)  # no slots: geometry is computed once
class Skeleton:
    """Bodies in tree order: every parent stands before its children."""

    bodies: tuple[Body, ...]
    subject: str = ""
    loops: tuple[Loop, ...] = ()
    events: tuple[Event, ...] = ()
    history: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        settle(self, bodies=tuple(self.bodies))
        names = unique_names([body.name for body in self.bodies], "body")
        place = {name: index for index, name in enumerate(names)}
        for index, body in enumerate(self.bodies):
            if body.parent is not None and body.parent not in place:
                raise UnknownName("parent body", body.parent, names)
            if body.parent is not None and place[body.parent] >= index:
                raise BadValue(f"body {body.name!r} stands before its parent {body.parent!r}")

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(body.name for body in self.bodies)

    @property
    def marker_names(self) -> frozenset[str]:
        """Of all markers that its bodies carry."""
        return frozenset(marker.name for body in self.bodies for marker in body.markers)

    @cached_property
    def parents(self) -> tuple[int, ...]:
        """Index of each body's parent, −1 for a root; ``parents[j] < j``."""
        place = {body.name: index for index, body in enumerate(self.bodies)}
        return tuple(-1 if body.parent is None else place[body.parent] for body in self.bodies)

    @cached_property
    def offsets(self) -> Array:
        """(n_bodies, 3) each joint from its parent's joint, in the parent's frame; root zero.

        These are BVH's OFFSETs: a node sits at the body's joint and is turned like the body.
        """
        parents = np.array(self.parents, dtype=int)
        in_parent = np.array([body.joint.in_parent for body in self.bodies]).reshape(-1, 3)
        from_joint = in_parent - self.joints_in_bodies[parents]
        return read_only(np.where(parents[:, None] < 0, 0.0, from_joint))

    @cached_property
    def joints_in_bodies(self) -> Array:
        """(n_bodies, 3) each joint in its own body's frame."""
        return read_only(np.array([body.joint.in_body for body in self.bodies]).reshape(-1, 3))

    @cached_property
    def rest(self) -> Array:
        """(n_bodies, 4) local rotations where all joint angles are zero."""
        return read_only(np.array([body.joint.rest for body in self.bodies]).reshape(-1, 4))

    def index(self, name: str) -> int:
        if name not in self.names:
            raise UnknownName("body", name, self.names)
        return self.names.index(name)

    def body(self, name: str) -> Body:
        return self.bodies[self.index(name)]

    def children(self, name: str) -> tuple[str, ...]:
        return tuple(body.name for body in self.bodies if body.parent == name)

    def children_of(self, index: int) -> tuple[int, ...]:
        """Return the bodies that hang on one, all by index."""
        return tuple(i for i, parent in enumerate(self.parents) if parent == index)

    def bone_ends(self, index: int) -> list[Array]:
        """Return where a body's bones end, (3,) each from its joint: the joints it carries, in
        order, and its tip."""
        ends = [self.offsets[child] for child in self.children_of(index)]
        tip = self.bodies[index].tip_from_joint
        return ends if tip is None else [*ends, tip]

    def marker_places(self, names: Container[str] | None = None) -> MarkerPlaces:
        """Return the markers that bodies carry, body by body: those among ``names``, or all."""
        carried = [
            (marker.name, index, marker.position - body.joint.in_body)
            for index, body in enumerate(self.bodies)
            for marker in body.markers
            if names is None or marker.name in names
        ]
        bodies = np.array([index for _, index, _ in carried], dtype=int)
        places = np.array([place for *_, place in carried]).reshape(-1, 3)
        return MarkerPlaces(tuple(name for name, *_ in carried), bodies, places)

    def replacing(self, name: str, **changes: Any) -> "Skeleton":
        """Return the skeleton with changes to one body."""
        bodies = list(self.bodies)
        bodies[self.index(name)] = replace(self.body(name), **changes)
        return replace(self, bodies=tuple(bodies))

    def with_bodies(self, bodies: Sequence[Body], did: str, **changes: Any) -> "Skeleton":
        return replace(self, bodies=tuple(bodies), history=(*self.history, did), **changes)
