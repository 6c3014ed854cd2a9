"""A skeleton in motion: rotations of its bodies, or angles about each limb's movement axes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from osteon.errors import NotEnoughData, UnknownName
from osteon.maths import blocks, chain, quat, rotations
from osteon.typing import Array, Indices
from osteon.values.array_checks import freeze, positive_rate, settle, unit_quaternions
from osteon.values.recording import Mark, Recording, Source
from osteon.values.skeleton import Skeleton


@dataclass(frozen=True, slots=True, eq=False)
class Motion:
    """Rotations on a skeleton whose bones keep their length. Metres, seconds, z up."""

    skeleton: Skeleton
    rotations: Array
    """(n_frames, n_bodies, 4) to the parent's frame from the body's; root: to the world."""
    root: Array
    """(n_frames, 3) the root's place in the world."""
    rate: float
    offsets: Array | None = None
    """(n_frames, n_bodies, 3) joints from their parent's joint where a file lets bones stretch
    or slide; None, the usual case: fixed by the skeleton. The root's entry is not used."""
    marks: tuple[Mark, ...] = ()
    held: tuple[int, ...] = ()
    """Frames that carry no evidence of their own and repeat a neighbour."""
    history: tuple[str, ...] = ()
    source: Source = Source()

    def __post_init__(self) -> None:
        n_bodies = len(self.skeleton.bodies)
        freeze(self, rotations=("n_frames", n_bodies, 4))
        settle(self, rotations=unit_quaternions(self.rotations), rate=positive_rate(self.rate))
        freeze(self, root=(self.n_frames, 3), offsets=(self.n_frames, n_bodies, 3))

    @classmethod
    def at_rest(cls, skeleton: Skeleton) -> "Motion":
        """Return one frame of a skeleton that stands in its rest pose, its root at the origin."""
        return cls(skeleton, skeleton.rest[None], np.zeros((1, 3)), 1.0)

    @classmethod
    def found_in(
        cls,
        take: "Recording | Motion",
        skeleton: Skeleton,
        poses: tuple[Array, Array],
        did: str,
        held: tuple[int, ...] = (),
    ) -> "Motion":
        """Return poses, rotations and root places, that were found for the frames of a take."""
        return cls(
            skeleton,
            *poses,
            take.rate,
            marks=take.marks,
            held=held,
            history=(*take.history, did),
            source=take.source,
        )

    @property
    def n_frames(self) -> int:
        return self.rotations.shape[0]

    def frames(self, first: int, last: int, stride: int = 1) -> "Motion":
        """Return the motion of every ``stride``-th frame from ``first`` to ``last``, both included,
        without marks and held frames."""
        part = slice(first, last + 1, stride)
        return replace(
            self,
            rotations=self.rotations[part],
            root=self.root[part],
            rate=self.rate / stride,
            offsets=None if self.offsets is None else self.offsets[part],
            marks=(),
            held=(),
        )

    def world(self) -> tuple[Array, Array]:
        """Rotation (n_frames, n_bodies, 4) and joint place (n_frames, n_bodies, 3) in the world."""
        return chain.forward_kinematics(self.rotations, self.in_parents(), self.skeleton.parents)

    def world_of(self, bodies: Sequence[int] | Indices) -> tuple[Array, Array]:
        """As ``world``, of these bodies alone, in a long motion without room for the others."""
        n_frames, n_bodies, _ = self.rotations.shape
        turned, joints = np.empty((n_frames, len(bodies), 4)), np.empty((n_frames, len(bodies), 3))
        for part in blocks(n_frames, 7 * n_bodies):
            places = self.in_parents(part)
            world = chain.forward_kinematics(self.rotations[part], places, self.skeleton.parents)
            turned[part], joints[part] = (each[:, bodies] for each in world)
        return turned, joints

    def in_parents(self, part: slice = slice(None)) -> Array:
        """Joints (n_frames, n_bodies, 3) in their parents' frames, in a part of the frames; the
        root in the world."""
        fixed = np.broadcast_to(self.skeleton.offsets, (*self.rotations[part].shape[:2], 3))
        offsets = np.array(fixed if self.offsets is None else self.offsets[part])
        offsets[:, 0] = self.root[part]
        return offsets

    def points(self, bodies: Sequence[int] | Indices, places: Array) -> Array:
        """Return where points fixed to bodies are in the world, (n_frames, n_points, 3).

        Parameters
        ----------
        bodies : (n_points,)
            Index of the body that carries each.
        places : (n_points, 3) or (n_frames, n_points, 3)
            From the body's joint, in the body's frame.
        """
        return chain.place_points(*self.world(), bodies, places)


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
        freeze(self, angles=("n_frames", len(self.names)))
        freeze(self, root=(self.n_frames, 3), turn=(self.n_frames, 4))
        settle(self, turn=unit_quaternions(self.turn), rate=positive_rate(self.rate))

    @property
    def n_frames(self) -> int:
        return self.angles.shape[0]

    @property
    def names(self) -> tuple[str, ...]:
        return movement_parameters(self.skeleton)

    def index(self, name: str) -> int:
        if name not in self.names:
            raise UnknownName("movement parameter", name, self.names)
        return self.names.index(name)

    def with_angles(self, angles: Array) -> "CompactMotion":
        return replace(self, angles=angles)

    def motion(self) -> Motion:
        """Return the motion that the parameters stand for."""
        local = quat.identity((self.n_frames, len(self.skeleton.bodies)))
        local[:, 0] = self.turn
        column = 0
        for index, body in enumerate(self.skeleton.bodies):
            if index == 0 or body.movement is None:
                continue
            movement = body.movement
            n = len(movement.axes) + 1
            axes = np.vstack([movement.axes, quat.rotate(movement.rest, movement.direction)])
            turned = rotations.swing(axes, self.angles[:, column : column + n])
            local[:, index] = quat.multiply(turned, movement.rest)
            column += n
        return Motion(
            self.skeleton,
            local,
            self.root,
            self.rate,
            history=(*self.history, "made of movement parameters"),
            source=self.source,
        )


def movement_parameters(skeleton: Skeleton) -> tuple[str, ...]:
    """Return ``left_thigh.bend``, ``left_thigh.sideways``, ``left_thigh.twist``, …"""
    return tuple(
        f"{body.name}.{word}"
        for body in skeleton.bodies
        if body.movement is not None and body.parent is not None
        for word in body.movement.parameters
    )
