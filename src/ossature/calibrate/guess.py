"""Where the fit of a subject starts from."""

from collections.abc import Mapping
from dataclasses import dataclass

from ossature.calibrate.beliefs import Beliefs
from ossature.calibrate.rig import Rig
from ossature.maths.quat import Array


@dataclass(frozen=True)
class Guess:
    """A rig to start from, and the beliefs that hold it where motion is silent."""

    rig: Rig
    beliefs: Beliefs
    rest: Array
    """(n_bodies, 3) joint offsets whose directions the rest pose shall have; zero: any."""
    tips: Mapping[str, Array]
    """Ends of bones without a child, in the body's frame."""
    doubts: tuple[str, ...] = ()
    """What could not be settled, one sentence each."""
