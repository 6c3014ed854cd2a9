"""What is said of a limb in words that no recording set-up changes: its frame, and how it moves."""

from dataclasses import dataclass

import numpy as np

from osteon.errors import BadValue, ShapeError
from osteon.typing import Array
from osteon.values.array_checks import frozen, unit_quaternions


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
        object.__setattr__(self, "origin", frozen(self.origin, (3,), "frame origin"))
        rotation = unit_quaternions(frozen(self.rotation, (4,), "frame rotation"))
        object.__setattr__(self, "rotation", rotation)


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
        object.__setattr__(self, "axes", frozen(axes, ("n_axes", 3), "movement axes"))
        rest = unit_quaternions(frozen(self.rest, (4,), "rest rotation"))
        object.__setattr__(self, "rest", rest)
        object.__setattr__(self, "direction", frozen(self.direction, (3,), "limb direction"))

    @property
    def parameters(self) -> tuple[str, ...]:
        """The limb's angles in order: one for each axis, and ``twist``."""
        return (*self.labels, "twist")
