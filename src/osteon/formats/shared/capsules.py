"""Flesh for bones: capsules of one density, so that models which need masses have plausible ones.

Every bone – from a body's joint to each joint it carries, and to its tip – is a capsule with a
radius of 15 % of its length, of the density of water. A body without any is a ball as large as the
skeleton's typical bone is thick. A rough figure: replace the masses where dynamics matter.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from osteon.typing import Array
from osteon.values import Skeleton

DENSITY = 1000.0
"""Kilograms per cubic metre."""
THICKNESS = 0.15
"""Radius of a capsule, as a share of its length."""
TYPICAL_LENGTH = 0.2
"""Metres: what counts as a typical bone where a skeleton has none."""
SHORTEST = 1e-6
"""Metres; what is shorter is no bone."""


@dataclass(frozen=True, eq=False)
class Capsule:
    """A rod with round ends, in the body's frame; a ball where both ends agree."""

    start: Array
    end: Array
    radius: float

    @property
    def length(self) -> float:
        return float(np.linalg.norm(self.end - self.start))


class Mass(NamedTuple):
    """What a body weighs, and how its weight lies."""

    total: float
    centre: Array
    """(3,) in the body's frame."""
    inertia: Array
    """(3, 3) about the centre, along the body's axes."""


def capsules_of(skeleton: Skeleton) -> list[list[Capsule]]:
    """The capsules of every body, at least one each."""
    ends: dict[str, list[Array]] = {body.name: [] for body in skeleton.bodies}
    for body in skeleton.bodies:
        if body.parent is not None:
            ends[body.parent].append(body.joint.in_parent)
        if body.tip is not None:
            ends[body.name].append(body.tip)
    bones = [
        [
            Capsule(start, end, THICKNESS * float(length))
            for end in ends[body.name]
            if (length := np.linalg.norm(end - start)) > SHORTEST
        ]
        for body, start in ((body, body.joint.in_body) for body in skeleton.bodies)
    ]
    lengths = [capsule.length for some in bones for capsule in some]
    radius = THICKNESS * float(np.median(lengths)) if lengths else THICKNESS * TYPICAL_LENGTH
    return [
        some or [Capsule(body.joint.in_body, body.joint.in_body, radius)]
        for body, some in zip(skeleton.bodies, bones, strict=True)
    ]


def mass_of(capsules: list[Capsule]) -> Mass:
    """All capsules of a body together; where they overlap, they weigh twice."""
    weights = np.array([sum(_masses(capsule)) for capsule in capsules])
    centres = np.array([0.5 * (capsule.start + capsule.end) for capsule in capsules])
    total = float(weights.sum())
    centre = weights @ centres / total
    inertia = sum(
        _inertia(capsule) + _moved(weight, place - centre)
        for capsule, weight, place in zip(capsules, weights, centres, strict=True)
    )
    return Mass(total, centre, np.asarray(inertia))


def _masses(capsule: Capsule) -> tuple[float, float]:
    """Mass of the rod, and of both round ends together."""
    disc = DENSITY * np.pi * capsule.radius**2
    return disc * capsule.length, disc * 4.0 / 3.0 * capsule.radius


def _inertia(capsule: Capsule) -> Array:
    """(3, 3) about the middle of one capsule."""
    rod, ends = _masses(capsule)
    length, radius = capsule.length, capsule.radius
    along = radius**2 * (rod / 2.0 + 2.0 / 5.0 * ends)
    across = rod * (length**2 / 12.0 + radius**2 / 4.0) + ends * (
        2.0 / 5.0 * radius**2 + length**2 / 4.0 + 3.0 / 8.0 * length * radius
    )
    axis = (capsule.end - capsule.start) / length if length > 0.0 else np.array([1.0, 0.0, 0.0])
    return across * np.eye(3) + (along - across) * np.outer(axis, axis)


def _moved(mass: float, by: Array) -> Array:
    """Inertia (3, 3) that a point mass has from afar."""
    return mass * (by @ by * np.eye(3) - np.outer(by, by))
