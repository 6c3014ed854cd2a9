"""A motion in few numbers: the root's path, and angles about each limb's movement axes."""

from dataclasses import dataclass, replace

import numpy as np

from osteon.errors import NotEnoughData, UnknownName
from osteon.maths import quat, two_axes
from osteon.typing import Array
from osteon.values.array_checks import frozen, positive_rate, unit_quaternions
from osteon.values.motion import Motion
from osteon.values.skeleton import Skeleton
from osteon.values.source import Source


@dataclass(frozen=True, slots=True, eq=False)
class CompactMotion:
    """What a ``Motion`` says, told by movement. Metres, radians, z up."""

    skeleton: Skeleton
    """Every body but the root carries its ``movement``."""
    root: Array
    """(n_frames, 3) the root's place in the world."""
    turn: Array
    """(n_frames, 4) the root's rotation to the world."""
    angles: Array
    """(n_frames, n_parameters) in the order of ``names``, radians."""
    rate: float
    history: tuple[str, ...] = ()
    source: Source = Source()

    def __post_init__(self) -> None:
        lacking = [b.name for b in self.skeleton.bodies[1:] if b.movement is None]
        if lacking:
            raise NotEnoughData(f"no movement axes are known of {', '.join(lacking[:8])}")
        angles = frozen(self.angles, ("n_frames", len(self.names)), "angles")
        object.__setattr__(self, "angles", angles)
        object.__setattr__(self, "root", frozen(self.root, (len(angles), 3), "root"))
        turn = unit_quaternions(frozen(self.turn, (len(angles), 4), "turn"))
        object.__setattr__(self, "turn", turn)
        object.__setattr__(self, "rate", positive_rate(self.rate))

    @property
    def n_frames(self) -> int:
        return self.angles.shape[0]

    @property
    def names(self) -> tuple[str, ...]:
        """``left_thigh.bend``, ``left_thigh.sideways``, ``left_thigh.twist``, …"""
        return tuple(
            f"{body.name}.{word}"
            for body in self.skeleton.bodies
            if body.movement is not None and body.parent is not None
            for word in body.movement.parameters
        )

    def index(self, name: str) -> int:
        if name not in self.names:
            raise UnknownName("movement parameter", name, self.names)
        return self.names.index(name)

    def with_angles(self, angles: Array) -> "CompactMotion":
        return replace(self, angles=angles)

    def motion(self) -> Motion:
        """The motion that the parameters stand for."""
        rotations = quat.identity((self.n_frames, len(self.skeleton.bodies)))
        rotations[:, 0] = self.turn
        column = 0
        for index, body in enumerate(self.skeleton.bodies):
            if index == 0 or body.movement is None:
                continue
            movement = body.movement
            n = len(movement.axes) + 1
            axes = np.vstack([movement.axes, quat.rotate(movement.rest, movement.direction)])
            turned = two_axes.swing(axes, self.angles[:, column : column + n])
            rotations[:, index] = quat.multiply(turned, movement.rest)
            column += n
        return Motion(
            self.skeleton,
            rotations,
            self.root,
            self.rate,
            history=(*self.history, "made of movement parameters"),
            source=self.source,
        )
