"""A magnetic tracker near iron: what it reports of places, and a bar to find that out with."""

from dataclasses import dataclass, replace

import numpy as np

from osteon.maths import quat
from osteon.synth.curves import stream, waves
from osteon.typing import Array
from osteon.values import Bodies

IRON_POWER = 3
"""Ratio of exponents: how fast a lump's pull on places fades with distance. Defined by the field of
a dipole."""
SHORTEST_DISTANCE = 0.3
"""Metres from a lump nearer than which the pull grows no more. Chosen: sensors stay outside."""
NOISE_REACH = 2.0
"""Metres from the transmitter at which noise has doubled. Chosen: as the makers' sheets draw it."""


@dataclass(frozen=True)
class Iron:
    """Lumps of iron about a tracker's volume, and the tracker's own scale."""

    lumps: tuple[tuple[float, float, float], ...] = ((0.3, -0.4, -1.0), (3.0, 0.9, 1.2))
    """Places, metres. By default a beam below the floor and a radiator beside the volume."""
    pull: float = 0.06
    """Metres by which each moves a sensor that is a metre off."""
    scale: float = 0.94
    """Metres per metre that the tracker reports; [000] has 0.94."""
    noise: float = 0.004
    """Metres, standard deviation per axis beside the transmitter, which is at the origin."""
    turning_noise: float = 0.0175
    """Radians, standard deviation per axis."""

    def reported(self, places: Array) -> Array:
        """(..., 3) what the tracker reports of true places, without noise."""
        moved = np.array(places)
        for lump in self.lumps:
            off = places - np.asarray(lump)
            far = np.maximum(np.linalg.norm(off, axis=-1, keepdims=True), SHORTEST_DISTANCE)
            moved = moved - self.pull * off / far / far**IRON_POWER
        return moved / self.scale

    def noise_at(self, places: Array) -> Array:
        """(...,) standard deviation per axis, metres."""
        return self.noise * (1.0 + (np.linalg.norm(places, axis=-1) / NOISE_REACH) ** 2)

    def sense(self, bodies: Bodies, seed: int = 0) -> Bodies:
        """What the tracker reports of bodies that are where ``bodies`` says."""
        rng = stream(seed, "iron")
        noise = self.noise_at(bodies.positions)[..., None] / self.scale
        places = self.reported(bodies.positions)
        turns = self.turning_noise * rng.standard_normal(places.shape)
        return replace(
            bodies,
            positions=places + noise * rng.standard_normal(places.shape),
            rotations=quat.multiply(bodies.rotations, quat.exp(turns)),
        )


def walked_bar(
    seconds: float = 60.0,
    rate: float = 60.0,
    distance: float = 0.565,
    size: tuple[float, float, float] = (3.0, 3.0, 1.8),
    seed: int = 0,
) -> Bodies:
    """Where a rigid bar's two sensors are while it is walked through a volume, turned all ways."""
    rng, times = stream(seed, "bar"), np.arange(round(seconds * rate)) / rate
    middle = 0.5 * np.asarray(size) * waves(rng, times, 3, 0.03, 0.3) * 1.2
    middle[:, 2] += 0.5 * size[2]
    turn = quat.exp(np.pi * waves(rng, times, 3, 0.05, 0.4))
    half = quat.rotate(turn, np.array([0.5 * distance, 0.0, 0.0]))
    places = np.stack([middle - half, middle + half], axis=1)
    return Bodies(places, np.stack([turn, turn], axis=1), ("bar_a", "bar_b"), rate)
