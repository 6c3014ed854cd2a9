"""Which markers no longer sit where a calibrated subject had them.

The frames of a new take are fitted once with markers and joints free to leave their known places.
What the frames say of the places is then weighed against what differs between two takes of an
unchanged subject (``retake``). A marker is accused when a shift of it alone explains so much that
chance would not do the same to any marker of the take: Baarda's test for one gross error among many
measurements [Baarda 1968]. The worst is set free and the others are asked again. What a pose can
imitate, such as a lone marker that went round its bone, shows in no recording and is not claimed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import chdtri, fdtrc

from osteon.calibration import (
    MARKER_SIGMA,
    Adjustment,
    Beliefs,
    FramePoses,
    SubjectModel,
    adjust,
    count_different,
    spread_frames,
    start_poses,
    varied_frames,
)
from osteon.errors import NotEnoughData
from osteon.identity.retake import known_rms, retake_covariance
from osteon.typing import Array
from osteon.values import Recording, Skeleton

FRAMES = 40
"""Frames looked at."""
FREE_SIGMA = 0.05
"""Metres. Where a marker that was put elsewhere may be."""
LOOSE_SIGMA = 0.02
"""Metres. How far markers may go while it is found out what the frames say."""
JUDGED_SIGMA = 0.006
"""Metres. A shift in a direction known no better is not judged: there skin, which follows the pose
and is no noise, adds up."""
SURE = 0.01
"""Chance of accusing any marker of an unchanged take, below which a marker was put elsewhere."""
OPEN = 0.1
"""Chance below which it may have been."""
SCALE_FREEDOM = 40
"""Independent values that the scale of skin rests on: tails are F's, not those of a normal law."""
MOST = 4
"""Markers set free before it is said that all were put on anew."""
MISFIT = 2.0
"""Variance of the usual marker, as a multiple of what retakes show, that says the same."""
LEAST_NOISE = 0.0002
"""Metres. No marker is seen better than this."""


@dataclass(frozen=True, slots=True)
class Replaced:
    """A marker that sits elsewhere on its body, or may."""

    marker: str
    body: str
    moved: float
    """Metres, by the directions that the take shows."""
    chance: float
    """That any marker of an unchanged take looks as much moved as this one."""


@dataclass(frozen=True, slots=True)
class MarkerPlaces:
    """The markers of a take against those of the known subject."""

    skeleton: Skeleton
    """The known one, with the places of this take for the markers that moved."""
    replaced: tuple[Replaced, ...]
    """Surely elsewhere, worst first."""
    doubtful: tuple[Replaced, ...]
    """Perhaps elsewhere, worst first; their known places are kept."""
    all_anew: bool
    """Whether so many moved that the subject should be calibrated again."""
    misfit: float
    """Variance of the usual marker as a multiple of what retakes show; 1 where it is no more."""


def find_replaced(skeleton: Skeleton, recording: Recording) -> MarkerPlaces:
    """Compare marker places; ``recording`` is cleaned and z up, its subject ``skeleton``."""
    rig = rig_of(skeleton, recording.names)
    said = _said(rig, skeleton, recording)
    covariance = retake_covariance(rig, skeleton, said.rms)
    freed: dict[int, Replaced] = {}
    free = FREE_SIGMA**2 * np.eye(3)
    while True:
        test = _asked(rig, said, covariance, list(freed))
        worst = int(np.argmin(test.chances))
        if test.chances[worst] > SURE or test.misfit > MISFIT or len(freed) == MOST:
            break
        freed[worst] = _told(rig, test, worst)
        covariance[rig.marker_columns(worst), rig.marker_columns(worst)] += free
    doubtful = [int(m) for m in np.argsort(test.chances) if test.chances[m] <= OPEN]
    places = {rig.marker_names[m]: rig.places[m] + test.found[m] for m in freed}
    all_anew = test.misfit > MISFIT or len(freed) == MOST
    return MarkerPlaces(
        _with_places(skeleton, places),
        tuple(freed.values()),
        () if all_anew else tuple(_told(rig, test, m) for m in doubtful),
        all_anew,
        test.misfit,
    )


def _told(rig: SubjectModel, test: "_Test", marker: int) -> Replaced:
    return Replaced(
        rig.marker_names[marker],
        rig.names[rig.marker_bodies[marker]],
        float(np.linalg.norm(test.shifts[marker])),
        float(test.chances[marker]),
    )


def rig_of(skeleton: Skeleton, labels: Sequence[str]) -> SubjectModel:
    """A skeleton as flat arrays, with those of its markers that are among ``labels``."""
    carried = skeleton.marker_places(labels)
    n_shared = len(carried.names)
    if n_shared < 3:
        raise NotEnoughData(
            f"{n_shared} of the {len(labels)} markers are among those of the known skeleton; "
            "3 or more are needed: give a skeleton or passport of the same marker set, or none"
        )
    offsets = np.array(skeleton.offsets)  # kernels know one kind of array, writable
    return SubjectModel(skeleton.names, skeleton.parents, offsets, *carried)


def _frames(rig: SubjectModel, recording: Recording) -> tuple[Array, FramePoses]:
    """Varied frames (n_frames, n_markers, 3) of a take and poses near theirs."""
    columns = [recording.index(name) for name in rig.marker_names]
    shown = recording.measured[:, columns]
    observed = np.where(shown[..., None], recording.positions[:, columns], np.nan)
    observed = observed[spread_frames(shown, 4 * FRAMES)]
    poses = start_poses(rig, observed)
    fixed = np.flatnonzero(np.isfinite(poses.root[:, 0]))
    if not len(fixed):
        raise NotEnoughData(f"no frame shows two markers of {rig.names[0]!r} at once")
    chosen = fixed[varied_frames(poses.rotations[fixed], rig.parents, FRAMES)]
    return observed[chosen], FramePoses(poses.rotations[chosen], poses.root[chosen])


@dataclass(frozen=True)
class _Said:
    """What the frames of a take say of the shared numbers, whatever was believed."""

    information: Array
    """(n_shared, n_shared) inverse covariance."""
    pull: Array
    """(n_shared,) information times the difference from the known numbers."""
    rms: Array
    """(n_markers,) of each marker about its own place in the take, metres."""


def _said(rig: SubjectModel, skeleton: Skeleton, recording: Recording) -> _Said:
    frames, poses = _frames(rig, recording)
    wide = retake_covariance(rig, skeleton, np.zeros(rig.n_markers))
    for marker in range(rig.n_markers):
        wide[rig.marker_columns(marker), rig.marker_columns(marker)] += LOOSE_SIGMA**2 * np.eye(3)
    precision = np.linalg.inv(wide)
    fit = _fit(rig, frames, poses, precision)
    squares, seen = np.sum(fit.residuals**2, axis=-1), np.isfinite(frames[..., 0])
    rms = np.sqrt(squares.sum(axis=0) / np.maximum(seen.sum(axis=0), 1))
    noise = max(squares.sum() / max(seen.sum(), 1), np.mean(known_rms(rig, skeleton) ** 2)) / 3.0
    # alike frames repeat their skin; one pose fits any skeleton, so the known noise is the least
    repeats = len(frames) / count_different(fit.poses.rotations, rig.parents)
    scale = MARKER_SIGMA**2 / (repeats * max(noise, LEAST_NOISE**2))
    change = fit.rig.shared - rig.shared
    return _Said(scale * (fit.information - precision), scale * (fit.information @ change), rms)


def _fit(rig: SubjectModel, frames: Array, poses: FramePoses, precision: Array) -> Adjustment:
    root = np.linalg.cholesky(precision).T
    return adjust(rig, frames, poses, Beliefs(root, root @ rig.shared, np.ones(rig.n_shared)))


@dataclass(frozen=True)
class _Test:
    """Every marker asked whether a shift of it alone explains the take."""

    shifts: Array
    """(n_markers, 3) the shift that would explain it best, in the body's frame."""
    chances: Array
    """(n_markers,) of as much in any marker of an unchanged take; inf where it is free already."""
    found: Array
    """(n_markers, 3) change of each place when all is weighed."""
    misfit: float


def _asked(rig: SubjectModel, said: _Said, covariance: Array, freed: Sequence[int]) -> _Test:
    precision = np.linalg.inv(covariance)
    left = np.linalg.inv(said.information + precision)
    change = left @ said.pull
    strain, expected = precision @ change, precision - precision @ left @ precision
    shifts, squares = np.zeros((rig.n_markers, 3)), np.zeros(rig.n_markers)
    freedom = np.zeros(rig.n_markers)
    for marker in set(range(rig.n_markers)) - set(freed):
        own = rig.marker_columns(marker)
        values, vectors = np.linalg.eigh(expected[own, own])
        told = values > 1.0 / JUDGED_SIGMA**2
        along = vectors[:, told].T @ strain[own]
        shifts[marker] = vectors[:, told] @ (along / values[told])
        squares[marker], freedom[marker] = np.sum(along**2 / values[told]), told.sum()
    judged = freedom > 0
    chances = np.full(rig.n_markers, np.inf)
    misfit = 1.0
    if judged.any():
        usual = squares[judged] / chdtri(freedom[judged], 0.5)
        misfit = max(1.0, float(np.median(usual)))
        per_value = squares[judged] / freedom[judged] / misfit
        chances[judged] = judged.sum() * fdtrc(freedom[judged], SCALE_FREEDOM, per_value)
    split = 3 * (rig.n_bodies - 1)
    return _Test(shifts, chances, change[split:].reshape(-1, 3), misfit)


def _with_places(skeleton: Skeleton, places: dict[str, Array]) -> Skeleton:
    """The skeleton with other places, counted from the body's joint, for some markers."""
    bodies = [
        replace(
            body,
            markers=tuple(
                replace(marker, position=places[marker.name] + body.joint.in_body)
                if marker.name in places
                else marker
                for marker in body.markers
            ),
        )
        for body in skeleton.bodies
    ]
    if not places:
        return skeleton
    return skeleton.with_bodies(bodies, f"new places for {', '.join(places)}")
