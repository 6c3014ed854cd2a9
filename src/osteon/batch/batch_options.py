"""What a user may ask of a batch, and the fingerprint that tells whether work is done already."""

import hashlib
import re
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

import osteon
from osteon.errors import BadValue
from osteon.formats import bvh_conventions, content_hash
from osteon.pipeline import SolveOptions


@dataclass(frozen=True)
class BatchOptions:
    """How takes are grouped, calibrated, solved and written."""

    solving: SolveOptions = field(default_factory=SolveOptions)
    """How takes are solved; subjects are calibrated here, so none is given."""
    formats: tuple[str, ...] = ()
    unit: str | None = None
    up: str | None = None
    """These three as in ``deliver``."""
    subjects: str | None = None
    """Regular expression on the path below the folder whose first group is the subject; by default
    the file says, else its folder, else its name up to the number of the take."""
    recalibrate: bool = False
    """Calibrate subjects anew where takes came since; by default new takes wear what is known."""
    retry: bool = False
    """Try takes again that failed before."""

    def __post_init__(self) -> None:
        if self.solving.skeleton is not None or self.solving.passport is not None:
            raise BadValue("a batch calibrates its subjects: solving takes no skeleton or passport")
        if self.subjects is None:
            return
        try:
            groups = re.compile(self.subjects).groups
        except re.error as error:
            raise BadValue(f"the subjects' pattern {self.subjects!r} is wrong: {error}") from None
        if groups < 1:
            raise BadValue(
                f"the subjects' pattern {self.subjects!r} has no group; put the part that names "
                "the subject in parentheses, as in '([0-9]+)_'"
            )

    def looking(self) -> str:
        """Fingerprint of all that the look at a file depends on."""
        return fingerprint(self.calibrating(), self.subjects or "")

    def calibrating(self) -> str:
        """Fingerprint of all that a subject's calibration depends on beside its takes."""
        asked = self.solving
        own = "" if asked.own_set is None else content_hash(Path(asked.own_set))
        return fingerprint(osteon.__version__, asked.template, own, asked.hips, asked.clean)

    def writing(self) -> str:
        """Fingerprint of all that a take's folder depends on beside recording and subject."""
        bvh = bvh_conventions(self.unit, self.up)
        return fingerprint(self.calibrating(), self.solving.smooth, list(self.formats), bvh)


def fingerprint(*parts: object) -> str:
    """Return the same for the same values, in any process and on any machine."""
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()
