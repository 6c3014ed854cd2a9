"""Rigid bodies in motion: magnetic or inertial sensors, tracked clusters, or fitted segments."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from osteon.errors import UnknownName
from osteon.typing import Array
from osteon.values.array_checks import frozen, positive_rate, unique_names, unit_quaternions
from osteon.values.events import Mark
from osteon.values.source import Source


@dataclass(frozen=True, slots=True, eq=False)
class Bodies:
    """Poses of rigid bodies. Metres, seconds, z up."""

    positions: Array
    """(n_frames, n_bodies, 3) body origin in the world; NaN where not seen."""
    rotations: Array
    """(n_frames, n_bodies, 4) unit quaternions w, x, y, z to the world from the body."""
    names: tuple[str, ...]
    rate: float
    subject: str = ""
    marks: tuple[Mark, ...] = ()
    history: tuple[str, ...] = ()
    source: Source = Source()

    def __post_init__(self) -> None:
        names = unique_names(self.names, "body")
        positions = frozen(self.positions, ("n_frames", len(names), 3), "positions")
        rotations = frozen(self.rotations, (*positions.shape[:2], 4), "rotations")
        rotations = unit_quaternions(rotations)
        # half a pose is none: both parts are there or neither is
        seen = np.isfinite(np.concatenate([positions, rotations], axis=-1)).all(-1, keepdims=True)
        positions, rotations = np.where(seen, positions, np.nan), np.where(seen, rotations, np.nan)
        for name, array in (("positions", positions), ("rotations", rotations)):
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "rate", positive_rate(self.rate))

    @property
    def n_frames(self) -> int:
        return self.positions.shape[0]

    @property
    def n_bodies(self) -> int:
        return self.positions.shape[1]

    @property
    def seen(self) -> np.ndarray:
        """(n_frames, n_bodies) whether the pose is known."""
        return np.isfinite(self.positions[..., 0])

    def index(self, name: str) -> int:
        if name not in self.names:
            raise UnknownName("body", name, self.names)
        return self.names.index(name)

    def select(self, names: Sequence[str]) -> "Bodies":
        """Only these bodies, in this order."""
        columns = [self.index(name) for name in names]
        return replace(
            self,
            positions=self.positions[:, columns],
            rotations=self.rotations[:, columns],
            names=tuple(names),
        )
