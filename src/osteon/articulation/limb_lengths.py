"""Limb lengths, with measured ones beside them: Tables 1–4 of [000]."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from osteon.errors import UnknownName
from osteon.values import Joints


@dataclass(frozen=True, slots=True)
class Limb:
    """Distance between two joints of one body."""

    name: str
    """The body's name; where a body has more than two joints, ``body:one:other`` with the
    names of the bodies that hang there."""
    length: float
    """Metres."""
    deviation: float
    """One standard deviation, metres."""
    measured: float | None = None
    """What somebody measured, metres."""

    @property
    def difference(self) -> float | None:
        """Measured minus found, as in the paper; metres."""
        return None if self.measured is None else self.measured - self.length


def limb_table(joints: Joints, measured: Mapping[str, float] | None = None) -> tuple[Limb, ...]:
    """Every limb of the skeleton; ``measured`` lengths in metres by limb name."""
    found = [limb for body in joints.names for limb in _limbs(joints, body)]
    names = {_key(limb.name): limb.name for limb in found}
    given = {}
    for name, length in (measured or {}).items():
        if _key(name) not in names:
            raise UnknownName("limb", name, list(names.values()))
        given[names[_key(name)]] = length
    return tuple(
        Limb(limb.name, limb.length, limb.deviation, given.get(limb.name)) for limb in found
    )


def _limbs(joints: Joints, body: str) -> list[Limb]:
    places = joints.joints_of(body)
    spread = {
        (link.parent if link.child == body else link.child): (
            link.covariance[:3, :3] if link.child == body else link.covariance[3:, 3:]
        )
        for link in joints.connections
        if body in (link.child, link.parent)
    }
    found = []
    for one, other in combinations(places, 2):
        name = body if len(places) == 2 else f"{body}:{one}:{other}"
        apart = places[one] - places[other]
        length = float(np.linalg.norm(apart))
        along = apart / max(length, 1e-12)
        deviation = float(np.sqrt(max(along @ (spread[one] + spread[other]) @ along, 0.0)))
        found.append(Limb(name, length, deviation))
    return found


def _key(name: str) -> tuple[str, frozenset[str]]:
    """Limbs read the same from either end."""
    body, *ends = name.split(":")
    return body, frozenset(ends)


def table_text(limbs: tuple[Limb, ...]) -> str:
    """The table in centimetres, one line per limb."""
    width = max([len(limb.name) for limb in limbs] + [4])
    lines = [f"{'limb':{width}}  found cm     ±   measured      Δ"]
    for limb in limbs:
        line = f"{limb.name:{width}}  {100 * limb.length:8.1f}  {100 * limb.deviation:4.1f}"
        if limb.difference is not None and limb.measured is not None:
            line += f"  {100 * limb.measured:9.1f}  {100 * limb.difference:+5.1f}"
        lines.append(line)
    return "\n".join(lines)
