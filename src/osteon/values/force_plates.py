"""Force plates: where they lie, and the force with which the ground carries a person."""

from dataclasses import dataclass, replace

import numpy as np

from osteon.typing import Array
from osteon.values.array_checks import freeze, frozen, positive_rate, settle

STANDING_FORCE = 20.0
"""Newtons across the plate from which on somebody is on it. Chosen: laboratories take 10 to 20, and
below the centre of pressure is noise."""


@dataclass(frozen=True, slots=True, eq=False)
class GroundReaction:
    """What one plate does to who is on it. Newtons, metres, seconds, z up; laboratory's axes."""

    corners: Array
    """(4, 3) the plate's surface."""
    force: Array
    """(n_samples, 3) on the person: it points up while somebody is there."""
    moment: Array
    """(n_samples, 3) on the person, about the middle of the corners, newton metres."""
    centre: Array
    """(n_samples, 3) centre of pressure, on the surface; NaN where nobody is on the plate."""
    free_moment: Array
    """(n_samples,) about the plate's upward normal through the centre of pressure, newton metres,
    counter-clockwise from above; NaN where nobody is on the plate."""
    loaded: np.ndarray
    """(n_samples,) whether somebody is on the plate."""
    rate: float
    """Samples per second; the first is at the first frame of the markers."""

    def __post_init__(self) -> None:
        force = frozen(self.force, ("n_samples", 3), "force")
        settle(self, force=force, rate=positive_rate(self.rate))
        freeze(self, corners=(4, 3), moment=force.shape, centre=force.shape)
        freeze(self, free_moment=force.shape[:1])


@dataclass(frozen=True, slots=True, eq=False)
class ForcePlate:
    """A plate in the floor that feels forces: where it lies, and what its channels mean."""

    corners: Array
    """(4, 3) metres, laboratory's axes."""
    channels: tuple[int, ...]
    """Columns of the analog samples."""
    gains: Array
    """(6, n_channels): a unit of each channel in newtons on the person, and newton metres about the
    middle of the corners, laboratory's axes."""
    zeros: Array
    """(n_channels,) what the channels show while nobody is on the plate."""
    tells_centre: bool = False
    """Whether the last three rows of ``gains`` are no moment but the centre of pressure, metres
    from the middle, and along the normal the free moment: some plates work these out themselves."""

    def __post_init__(self) -> None:
        n = len(self.channels)
        freeze(self, corners=(4, 3), gains=(6, n), zeros=(n,))

    @property
    def middle(self) -> Array:
        """(3,) where moments are about."""
        return self.corners.mean(axis=0)

    @property
    def normal(self) -> Array:
        """(3,) of length 1, upwards."""
        return _upward(np.cross(*_edges(self.corners)))

    def turned(self, rotation: Array) -> "ForcePlate":
        """In other axes: ``rotation`` (3, 3) leads to them."""
        gains = np.concatenate([rotation @ self.gains[:3], rotation @ self.gains[3:]])
        return replace(self, corners=self.corners @ rotation.T, gains=gains)

    def reaction(self, values: Array, rate: float) -> GroundReaction:
        """What the plate does to who is on it, by all analog samples (n_samples, all channels)."""
        loads = (values[:, list(self.channels)] - self.zeros) @ self.gains.T
        force, normal = loads[:, :3], self.normal
        loaded = force @ normal > STANDING_FORCE
        upward = np.where(loaded, force @ normal, np.nan)
        if self.tells_centre:
            about = loads[:, 3:] @ normal
            arm = np.where(loaded[:, None], loads[:, 3:] - about[:, None] * normal, np.nan)
            moment = np.nan_to_num(np.cross(arm, force)) + about[:, None] * normal
        else:
            moment = loads[:, 3:]
            arm = np.cross(normal, moment) / upward[:, None]
        free = (moment - np.cross(arm, force)) @ normal
        return GroundReaction(self.corners, force, moment, self.middle + arm, free, loaded, rate)


def _edges(corners: Array) -> tuple[Array, Array]:
    """Along x and y of the plate itself: corners are at +x+y, −x+y, −x−y, +x−y."""
    first, second, third, fourth = corners
    return first + fourth - second - third, first + second - third - fourth


def plate_axes(corners: Array) -> Array:
    """(3, 3) the plate's own axes in columns; NaN where the corners span no surface."""
    along, across = _edges(corners)
    down = np.cross(along, across)
    axes = np.stack([along, np.cross(down, along), down], axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return axes / np.linalg.norm(axes, axis=0)


def _upward(vector: Array) -> Array:
    return vector / np.linalg.norm(vector) * (1.0 if vector[2] >= 0.0 else -1.0)
