"""Everything that one file holds; and a performer known from earlier takes: what a new one is
compared with and solved by."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from osteon.errors import BadValue, NotEnoughData, UnknownName
from osteon.values.array_checks import positive_rate
from osteon.values.motion import CompactMotion, Motion
from osteon.values.recording import Bodies, Recording
from osteon.values.skeleton import Skeleton

T = TypeVar("T", Recording, Bodies, Motion, Skeleton)
KIND_FIELDS = {"markers": "recordings", "bodies": "bodies", "motion": "motions"}
KIND_FIELDS |= {"skeleton": "skeletons", "compact": "compacts"}
"""Kinds of what a file may hold, and where a take keeps them."""


@dataclass(frozen=True, slots=True, eq=False)
class Take:
    """What ``read`` returns, whatever the format: one entry per subject and kind."""

    recordings: tuple[Recording, ...] = ()
    """Markers, one recording per subject."""
    bodies: tuple[Bodies, ...] = ()
    """Rigid bodies with position and orientation."""
    motions: tuple[Motion, ...] = ()
    """Skeletons in motion."""
    skeletons: tuple[Skeleton, ...] = ()
    """Skeletons without motion."""
    compacts: tuple[CompactMotion, ...] = ()
    """Motions told by movement parameters."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """Which of ``markers``, ``bodies``, ``motion``, ``skeleton``, ``compact`` are there."""
        return tuple(kind for kind, field in KIND_FIELDS.items() if getattr(self, field))

    def recording(self, subject: str | None = None) -> Recording:
        """Return the markers of the only subject, or of the one named."""
        return _choose(self.recordings, subject, "markers", self.kinds)

    def body_poses(self, subject: str | None = None) -> Bodies:
        """Return the rigid bodies of the only subject, or of the one named."""
        return _choose(self.bodies, subject, "rigid bodies", self.kinds)

    def motion(self, subject: str | None = None) -> Motion:
        """Return the skeleton in motion of the only subject, or of the one named."""
        motions = self.motions or tuple(compact.motion() for compact in self.compacts)
        return _choose(motions, subject, "moving skeletons", self.kinds)

    def skeleton(self) -> Skeleton:
        """Return the skeleton, with or without motion."""
        found = [*self.skeletons, *(motion.skeleton for motion in self.motions)]
        return _choose(found, None, "skeletons", self.kinds)


def _choose(values: Sequence[T], subject: str | None, kind: str, held: Sequence[str]) -> T:
    subjects = [v.skeleton.subject if isinstance(v, Motion) else v.subject for v in values]
    if not values:
        others = f"{' and '.join(held)} but " if held else ""
        raise NotEnoughData(f"the file holds {others}no {kind}")
    if subject is not None:
        if subject not in subjects:
            raise UnknownName("subject", subject, subjects)
        return values[subjects.index(subject)]
    if len(values) > 1:
        raise NotEnoughData(
            f"the file holds {kind} of {len(values)} subjects: {', '.join(subjects)}; "
            "choose one by its name (`subject`)"
        )
    return values[0]


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
