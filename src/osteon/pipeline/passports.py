"""A performer's passport, made of solved takes."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import zip_longest
from pathlib import Path

import numpy as np

import osteon
from osteon.errors import FormatError, NotEnoughData
from osteon.formats import content_hash, file_name, read, read_passport, write_passport
from osteon.joint_limits import limits
from osteon.pipeline.analyses import Analyses
from osteon.pipeline.solved import Solved
from osteon.values import Joint, Motion, Origin, Passport, Recording, Skeleton

MOST_FRAMES = 20_000
"""Frames of motion that limits are judged from; of longer sessions the last takes are left out."""


def passports_of(
    solved: Sequence[Solved], analyses: Sequence[Analyses] = ()
) -> dict[str, Passport]:
    """Make a passport, by subject, of those who were calibrated on these takes.

    ``analyses`` of the same takes spare looking for the limits of a single one again.
    """
    subjects: dict[str, list[tuple[Solved, Skeleton | None]]] = {}
    for one, each in zip_longest(solved, analyses):
        takes = subjects.setdefault(one.recording.subject, [])
        takes.append((one, None if each is None else each.judged))
    return {
        name: _of_takes([one for one, _ in takes], takes[0][1] if len(takes) == 1 else None)
        for name, takes in subjects.items()
        if all(one.findings is None or one.findings.anew for one, _ in takes)
    }


def write_passports(
    solved: Sequence[Solved], folder: Path, analyses: Sequence[Analyses] = ()
) -> None:
    """Write a passport.json for each of ``passports_of``; of several in folders of their own."""
    passports = passports_of(solved, analyses)
    for subject, each in passports.items():
        place = folder / file_name(subject) if len(passports) > 1 and subject else folder
        write_passport(place / "passport.json", each)


def person_with_axes(path: Path) -> Skeleton:
    """Return the skeleton of a skeleton.json or passport.json that carries movement axes."""
    try:
        skeleton = read_passport(path).skeleton
    except FormatError:
        skeleton = read(path).skeleton()
    if all(body.movement is None for body in skeleton.bodies):
        raise NotEnoughData(
            f"{path.name}: no body has movement axes; osteon axes finds them on a calibration "
            "take, and keeps them in its skeleton.json and in the passport that it is given"
        )
    return skeleton


def keep_axes(path: Path, found: Skeleton, folder: Path) -> None:
    """Write passport.json in ``folder``: the one at ``path`` with the movement axes found."""
    passport = read_passport(path)
    names = {body.name: body.movement for body in found.bodies}
    own = passport.skeleton.names
    if not set(names) >= set(own):
        raise NotEnoughData(
            f"{path.name} is of another skeleton: it has {', '.join(own[:4])}…, the motion has "
            f"{', '.join(tuple(names)[:4])}…; solve the take with this passport first"
        )
    bodies = [replace(body, movement=names[body.name]) for body in passport.skeleton.bodies]
    skeleton = passport.skeleton.with_bodies(bodies, "movement axes of a calibration take")
    write_passport(folder / "passport.json", replace(passport, skeleton=skeleton))


def _of_takes(takes: Sequence[Solved], judged: Skeleton | None) -> Passport:
    origins = [origin_of(one.recording, one.path) for one in takes]
    squares = np.concatenate([one.fit_error.ravel() ** 2 for one in takes])
    noise = float(np.sqrt(np.nanmean(squares)))
    return make_passport(takes[0].skeleton, [one.motion for one in takes], origins, noise, judged)


def make_passport(
    skeleton: Skeleton,
    motions: Sequence[Motion],
    takes: Sequence[Origin],
    noise: float,
    judged: Skeleton | None = None,
) -> Passport:
    """Make the passport of a calibrated subject.

    Parameters
    ----------
    motions
        Solved takes of the subject, from which types and limits of the joints are judged.
    noise
        Distance between markers and model over the takes, rms, metres.
    judged
        The skeleton with what ``limits`` finds in the motions, where it is known already.
    """
    known = with_limits(skeleton, motions) if judged is None else _with_joints(skeleton, judged)
    return Passport(
        replace(known, events=(), loops=()),
        tuple(takes),
        noise,
        f"osteon {osteon.__version__}",
    )


def with_limits(skeleton: Skeleton, motions: Sequence[Motion]) -> Skeleton:
    """Return the skeleton with the types and limits that its motions show.

    What they do not show, as one frame or one body, leaves it as it is.
    """
    total = np.cumsum([motion.n_frames for motion in motions])
    shown = [m for m, frames in zip(motions, total, strict=True) if frames <= MOST_FRAMES]
    try:
        judged = limits(shown or motions[:1])
    except NotEnoughData:
        return skeleton
    return _with_joints(skeleton, judged)


def _with_joints(skeleton: Skeleton, judged: Skeleton) -> Skeleton:
    joints = {body.name: body.joint for body in judged.bodies}
    bodies = [
        replace(body, joint=_judged(body.joint, joints.get(body.name))) for body in skeleton.bodies
    ]
    return skeleton.with_bodies(bodies, judged.history[-1])


def _judged(own: Joint, judged: Joint | None) -> Joint:
    if judged is None or own.kind == "free":
        return own
    # a passport is one small text: the poses that were seen stay with the take
    ranges = judged.limits and replace(judged.limits, region=None)
    return replace(own, kind=judged.kind, axes=judged.axes, rest=judged.rest, limits=ranges)


def origin_of(recording: Recording, path: Path | None = None, sha256: str = "") -> Origin:
    """Say where a take came from; times are the file's, so that the same files tell the same."""
    modified = ""
    if path is not None:
        sha256 = sha256 or content_hash(path)
        changed = datetime.fromtimestamp(int(path.stat().st_mtime), UTC)
        modified = changed.isoformat().replace("+00:00", "Z")
    return Origin(
        file=path.name if path is not None else recording.source.file,
        frames=recording.n_frames,
        rate=recording.rate,
        sha256=sha256,
        modified=modified,
        software=recording.source.software,
    )
