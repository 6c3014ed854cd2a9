"""A rig: bodies, the joints between them, and the markers they carry."""

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from osteon.errors import BadValue, UnknownName
from osteon.typing import Array, Indices
from osteon.values.array_checks import frozen, read_only, unique_names, unit_quaternions
from osteon.values.events import Event
from osteon.values.limb import Frame, Movement
from osteon.values.limits import Limits

UNKNOWN_DEVIATION = 1.0
"""Metres, of a place of which nothing is known. Chosen: longer than any bone of a person."""
KINDS = ("fixed", "hinge", "universal", "ball", "free")


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

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise BadValue(f"joint kind must be one of {', '.join(KINDS)}, got {self.kind!r}")
        object.__setattr__(self, "in_parent", frozen(self.in_parent, (3,), "in_parent"))
        object.__setattr__(self, "in_body", frozen(self.in_body, (3,), "in_body"))
        axes = np.asarray(self.axes, dtype=float).reshape(-1, 3)
        object.__setattr__(self, "axes", frozen(axes, ("n_axes", 3), "axes"))
        object.__setattr__(self, "rest", unit_quaternions(frozen(self.rest, (4,), "rest")))
        if self.covariance is not None:
            object.__setattr__(self, "covariance", frozen(self.covariance, (3, 3), "covariance"))

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
        object.__setattr__(self, "position", frozen(self.position, (3,), "marker position"))
        if self.covariance is not None:
            object.__setattr__(self, "covariance", frozen(self.covariance, (3, 3), "covariance"))


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
        object.__setattr__(self, "markers", tuple(self.markers))
        if self.tip is not None:
            object.__setattr__(self, "tip", frozen(self.tip, (3,), "tip"))
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

    def __post_init__(self) -> None:
        object.__setattr__(self, "in_first", frozen(self.in_first, (3,), "in_first"))
        object.__setattr__(self, "in_second", frozen(self.in_second, (3,), "in_second"))


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
        object.__setattr__(self, "bodies", tuple(self.bodies))
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

        These are BVH's OFFSETs and glTF's rest translations: a node sits at the body's joint and
        is turned like the body.
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
