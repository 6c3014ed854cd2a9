"""What each finished job leaves in its folder's record.json."""

import msgspec


class Survey(msgspec.Struct, frozen=True, kw_only=True):
    """One look at a file: whose it is, and whether it is a take at all."""

    take: str
    """Path below the batch's folder, with slashes."""
    size: int
    modified_ns: int
    """With the size: whether the file is still the one that was looked at."""
    looking: str = ""
    """Fingerprint of the options it was looked at with."""
    sha256: str = ""
    kind: str = ""
    """``markers`` or ``bodies``; empty where there is nothing to solve."""
    subjects: tuple[str, ...] = ()
    """As the batch names them, in the order of the file."""
    frames: int = 0
    rate: float = 0.0
    software: str = ""
    skipped: str = ""
    """Why it is no take, in one sentence."""
    problem: str = ""
    """Why it cannot be read, in one sentence."""


class SubjectRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A calibrated subject."""

    subject: str
    options: str
    """Fingerprint."""
    version: str
    takes: tuple[str, ...]
    """Those that it was calibrated on."""
    frames: int = 0
    """How many frames the fit looked at."""
    candidates: int = 0
    """How many it chose them from."""
    rms_mm: float = 0.0
    doubts: tuple[str, ...] = ()
    skeleton: str = ""
    """SHA-256 of skeleton.json: the takes solved with it name it."""
    problem: str = ""


class TakeRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A solved take: what from, what with, how good."""

    take: str
    sha256: str
    options: str
    version: str
    subjects: tuple[str, ...]
    skeletons: tuple[str, ...]
    """SHA-256 of each subject's skeleton.json."""
    people: tuple["Quality", ...] = ()
    """One entry per subject."""
    files: tuple[tuple[str, int], ...] = ()
    """Every file written, by its path in the take's folder, and its bytes."""
    problem: str = ""

    @property
    def key(self) -> tuple[object, ...]:
        """Work with the same key need not be done again."""
        return self.sha256, self.options, self.version, self.subjects, self.skeletons


class Quality(msgspec.Struct, frozen=True, kw_only=True):
    """How well one subject of a take is explained."""

    subject: str
    folder: str = ""
    """Below the take's folder; empty where the take has one subject."""
    frames: int = 0
    rate: float = 0.0
    markers: int = 0
    """Or bodies."""
    missing: float = 0.0
    """Share of all samples."""
    rms_mm: float = 0.0
    max_mm: float = 0.0
    worst: str = ""
    held: int = 0
    report: str = ""
    """Its page, below its folder."""
    warnings: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    """What differs from the subject's passport, one sentence each."""
