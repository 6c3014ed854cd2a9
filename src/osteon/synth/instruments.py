"""What a performer wears: markers on the skin, or magnetic sensors strapped on anywhere."""

from dataclasses import dataclass

from osteon.errors import NotEnoughData
from osteon.maths import quat
from osteon.synth.curves import stream
from osteon.typing import Array
from osteon.values import Bodies, MarkerPlaces, Motion, Recording, frozen


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
    names, wearers, places = worn_markers(motion)
    local = places if displaced is None else places + displaced
    positions = motion.points(wearers, local)
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
    local = worn.positions - motion.skeleton.joints_in_bodies
    local = local if displaced is None else local + displaced
    on_body = worn.rotations if turned is None else quat.multiply(turned, worn.rotations)
    q_world, p_world = motion.world()
    positions = p_world + quat.rotate(q_world, local)
    rotations = quat.multiply(q_world, on_body)
    skeleton = motion.skeleton
    return Bodies(positions, rotations, skeleton.names, motion.rate, subject=skeleton.subject)


def worn_markers(motion: Motion) -> MarkerPlaces:
    """Return every marker of the performer, who must wear some."""
    worn = motion.skeleton.marker_places()
    if not worn.names:
        raise NotEnoughData(f"performer {motion.skeleton.subject!r} wears no markers")
    return worn
