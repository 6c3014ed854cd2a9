"""Where the fit of a subject starts from."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from osteon.calibration.priors import Beliefs, Near
from osteon.calibration.scatter import Usual
from osteon.calibration.subject_model import SubjectModel
from osteon.typing import Array

FEET = ("_foot", "_toes")
"""How bodies end that stand on soles."""


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
    usual: Usual
    """What skin and joints of such bodies mostly do."""
    ends: Mapping[str, Near | None] = field(default_factory=dict)
    """The same ends seen from the markers around them, those of feet on their soles; None: there
    are no such markers."""
    doubts: tuple[str, ...] = ()
    """What could not be settled, one sentence each."""
