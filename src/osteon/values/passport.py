"""A performer, known from earlier takes: what a new one is compared with and solved by."""

from dataclasses import dataclass

import numpy as np

from osteon.errors import BadValue
from osteon.values.array_checks import positive_rate
from osteon.values.skeleton import Skeleton


@dataclass(frozen=True, slots=True)
class Origin:
    """A take that a passport rests on."""

    file: str
    frames: int
    rate: float
    sha256: str = ""
    """Of the file; empty where the take did not come from one."""
    modified: str = ""
    """When the file was last changed, ISO 8601 in UTC; empty where it is not known."""
    software: str = ""
    """Program that wrote the file, where it says so."""

    def __post_init__(self) -> None:
        positive_rate(self.rate)
        if self.frames < 0:
            raise BadValue(f"a take has 0 frames or more, got {self.frames}")


@dataclass(frozen=True, slots=True, eq=False)
class Passport:
    """Lengths, types, limits and marker places of a person, and what they rest on."""

    skeleton: Skeleton
    """Joints with types, limits and covariances; markers with places, rms and covariances."""
    takes: tuple[Origin, ...]
    noise: float
    """Distance between markers and model over these takes, rms, metres."""
    made_by: str = ""
    """Program and version."""

    def __post_init__(self) -> None:
        if not (np.isfinite(self.noise) and self.noise >= 0.0):
            raise BadValue(f"noise must be a distance of 0 m or more, got {self.noise}")

    @property
    def subject(self) -> str:
        return self.skeleton.subject

    @property
    def frames(self) -> int:
        """Over all takes."""
        return sum(take.frames for take in self.takes)
