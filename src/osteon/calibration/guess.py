"""Where the fit of a subject starts from."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from osteon.calibration.priors import Beliefs, Near
from osteon.calibration.scatter import Usual
from osteon.calibration.subject_model import SubjectModel
from osteon.typing import Array

FEET = ("_foot", "_toes")
"""How bodies end that stand on soles."""

ANY_SKIN_SIGMA, ANY_GLIDE_SIGMA = 0.003, 0.0003
"""Metres per axis. Skin and joints of a body of which nothing is known: chosen, a shank's and a
ball joint's."""


@dataclass(frozen=True)
class Guess:
    """A rig to start from, and the beliefs that hold it where motion is silent."""

    rig: SubjectModel
    beliefs: Beliefs
    rest: Array
    """(n_bodies, 3) joint offsets whose directions the rest pose shall have; zero: any."""
    tips: Mapping[str, Array]
    """Ends of bones without a child, in the body's frame."""
    heights: Array
    """(n_markers,) above the floor where the template stands; NaN where it does not know them."""
    ends: Mapping[str, Near | None] = field(default_factory=dict)
    """Tips of feet, on their soles, seen from the markers around them; None: there are none."""
    known: Usual | None = None
    """What is usual for the bodies; None: nothing is known of them."""
    doubts: tuple[str, ...] = ()
    """What could not be settled, one sentence each."""

    @property
    def usual(self) -> Usual:
        """What skin and joints of such bodies mostly do."""
        return self.known or Usual.of_any_body(self.rig.n_bodies, ANY_SKIN_SIGMA, ANY_GLIDE_SIGMA)
