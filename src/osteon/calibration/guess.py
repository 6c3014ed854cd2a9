"""Where the fit of a subject starts from."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from osteon.calibration.priors import Beliefs, Near
from osteon.calibration.scatter import Usual
from osteon.calibration.subject_model import SubjectModel
from osteon.typing import Array

FEET, TOES = ("_foot", "_toes"), "_toes"
"""How bodies are called, at their end, that stand on soles; and toes."""


@dataclass(frozen=True)
class Ball:
    """Where the toes of a foot begin, of which no marker shows how they turn."""

    toes: str
    """How they are called."""
    at: Array
    """(3,) in the foot's frame on the template, metres."""
    near: Near | None
    """The same seen from the foot's markers around it; None: there are none."""
    height: float
    """Above the sole, metres."""
    farther: float
    """How much farther ahead than the foot the toes end, metres: a foot's bone ends where it leaves
    the ground last."""
    sigma: float
    """How sure that is, metres."""


@dataclass(frozen=True)
class Held:
    """What all frames have told already: the fit of some of them leaves it as it is."""

    joints: Mapping[int, Array]
    """Body → (3, 3) covariance of its joint as seen from its parent's markers, metres²."""
    markers: Array
    """(n_markers,) deviation of each place against the others on its body, metres; NaN of markers
    that are not held."""


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
    balls: Mapping[str, Ball] = field(default_factory=dict)
    """Of feet whose toes carry too few markers to move by them."""
    doubts: tuple[str, ...] = ()
    """What could not be settled, one sentence each."""
    held: Held | None = None
