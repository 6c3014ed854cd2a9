"""What a performer wears: markers on the skin, or magnetic sensors strapped on anywhere."""

from dataclasses import dataclass

import numpy as np

from osteon.errors import NotEnoughData
from osteon.maths import quat
from osteon.synth.curves import stream
from osteon.typing import Array
from osteon.values import Bodies, Motion, Recording, frozen


@dataclass(frozen=True, eq=False)
class Placement:
    """Where the sensors sit, one on every body."""

    positions: Array
    """(n_bodies, 3) in the body's frame, from its origin."""
    rotations: Array
    """(n_bodies, 4) to the body's frame from the sensor's."""

    def __post_init__(self) -> None:
        positions = frozen(self.positions, ("n_bodies", 3), "sensor positions")
        rotations = frozen(self.rotations, (len(positions), 4), "sensor rotations")
        object.__setattr__(self, "positions", positions)
        object.__setattr__(self, "rotations", rotations)


def placement(n_bodies: int, offset: float = 0.08, seed: int = 0) -> Placement:
    """Sensors anywhere: ``offset`` metres (standard deviation per axis), turned at random."""
    rng = stream(seed, "placement")
    turns = quat.normalise(rng.standard_normal((n_bodies, 4)))
    return Placement(offset * rng.standard_normal((n_bodies, 3)), turns)


def markers(motion: Motion, displaced: Array | None = None) -> Recording:
    """The skeleton's markers as perfect cameras see them.

    Parameters
    ----------
    displaced : (n_frames, n_markers, 3), optional
        How far each marker is from its place, in its body's frame.
    """
    wearers, places, names = marker_places(motion)
    local = places if displaced is None else places + displaced
    q_world, p_world = motion.world()
    positions = p_world[:, wearers] + quat.rotate(q_world[:, wearers], local)
    return Recording(positions, names, motion.rate, subject=motion.skeleton.subject)


def sensors(
    motion: Motion,
    worn: Placement,
    displaced: Array | None = None,
    turned: Array | None = None,
) -> Bodies:
    """The sensors as a perfect tracker sees them, named like the bodies that wear them.

    Parameters
    ----------
    displaced : (n_frames, n_bodies, 3), optional
        How far each sensor is from its place, in its body's frame.
    turned : (n_frames, n_bodies, 4), optional
        How far each sensor is turned on its body, in its body's frame.
    """
    in_body = np.array([body.joint.in_body for body in motion.skeleton.bodies])
    local = worn.positions - in_body
    local = local if displaced is None else local + displaced
    on_body = worn.rotations if turned is None else quat.multiply(turned, worn.rotations)
    q_world, p_world = motion.world()
    positions = p_world + quat.rotate(q_world, local)
    rotations = quat.multiply(q_world, on_body)
    skeleton = motion.skeleton
    return Bodies(positions, rotations, skeleton.names, motion.rate, subject=skeleton.subject)


def marker_places(motion: Motion) -> tuple[list[int], Array, tuple[str, ...]]:
    """Wearer (body index), place from the body's joint (n_markers, 3) and name of every marker."""
    worn = [
        (index, mark.position - body.joint.in_body, mark.name)
        for index, body in enumerate(motion.skeleton.bodies)
        for mark in body.markers
    ]
    if not worn:
        raise NotEnoughData(f"performer {motion.skeleton.subject!r} wears no markers")
    wearers, places, names = zip(*worn, strict=True)
    return list(wearers), np.array(places), tuple(names)
