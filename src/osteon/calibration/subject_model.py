"""What calibration estimates, as flat arrays: a tree, its joints and its marker places."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from osteon.typing import Array


@dataclass(frozen=True)
class SubjectModel:
    """A subject whose bodies stand unturned in the rest pose, each with its joint as origin."""

    names: tuple[str, ...]
    parents: tuple[int, ...]
    """Index of each body's parent, −1 for the root; ``parents[j] < j``."""
    offsets: Array
    """(n_bodies, 3) each joint from its parent's joint, in the parent's frame; root zero."""
    marker_names: tuple[str, ...]
    marker_bodies: np.ndarray
    """(n_markers,) index of the body that carries each marker."""
    places: Array
    """(n_markers, 3) markers in their body's frame."""

    @property
    def n_bodies(self) -> int:
        return len(self.names)

    @property
    def n_markers(self) -> int:
        return len(self.marker_names)

    @property
    def n_shared(self) -> int:
        """Shared unknowns: three per joint (the root has none) and three per marker."""
        return 3 * (self.n_bodies - 1 + self.n_markers)

    @property
    def shared(self) -> Array:
        """(n_shared,) the unknowns that do not change over time."""
        return np.concatenate([self.offsets[1:].ravel(), self.places.ravel()])

    def joint_columns(self, body: int) -> slice:
        """Where the joint of ``body`` stands among the shared unknowns."""
        return slice(3 * (body - 1), 3 * body)

    def marker_columns(self, marker: int) -> slice:
        """Where a marker's place stands among the shared unknowns."""
        start = 3 * (self.n_bodies - 1 + marker)
        return slice(start, start + 3)

    def with_shared(self, shared: Array) -> "SubjectModel":
        split = 3 * (self.n_bodies - 1)
        offsets = np.concatenate([np.zeros((1, 3)), shared[:split].reshape(-1, 3)])
        return replace(self, offsets=offsets, places=shared[split:].reshape(-1, 3))


def mirror_pairs(names: Sequence[str]) -> list[tuple[int, int]]:
    """Indices of (left, right) twins by their names."""
    place = {name: index for index, name in enumerate(names)}
    return [
        (index, place["right_" + name.removeprefix("left_")])
        for name, index in place.items()
        if name.startswith("left_") and "right_" + name.removeprefix("left_") in place
    ]
