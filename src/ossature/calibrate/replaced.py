"""Which markers no longer sit where a calibrated subject had them.

The frames of a new take are fitted with the joints held and every marker free to leave its known
place by what skin does anyway. A marker that leaves it by more was put elsewhere: it is set free,
worst first, until the others are content. What a pose can imitate, such as a lone marker that went
round its bone, shows in no recording and is not claimed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ossature.calibrate.adjust import Adjustment, Poses, adjust
from ossature.calibrate.beliefs import BeliefRows
from ossature.calibrate.rig import Rig
from ossature.calibrate.start import start_poses
from ossature.calibrate.variety import spread_frames, varied_frames
from ossature.errors import NotEnoughData
from ossature.maths.quat import Array
from ossature.values import Recording, Skeleton

FRAMES = 40
"""Frames looked at."""
SKIN_SIGMA = 0.004
"""Metres. How far a marker's mean place differs between two motions because skin moves."""
JOINT_SIGMA = 0.002
"""Metres. Bones are the same person's."""
FREE_SIGMA = 0.05
"""Metres. Where a marker that was put elsewhere may be."""
SURE = 3.5
"""Squared deviation in units of its variance above which a marker counts as put elsewhere."""
MOST = 6
"""Markers set free before it is said that all were put on anew."""


@dataclass(frozen=True, slots=True)
class Replaced:
    """A marker that sits elsewhere on its body."""

    marker: str
    body: str
    moved: float
    """Metres."""
    deviation: float
    """How far beyond chance: squared, in units of its variance, as measured before it was freed."""


@dataclass(frozen=True, slots=True)
class Places:
    """The markers of a take against those of the known subject."""

    skeleton: Skeleton
    """The known one, with the places of this take for the markers that moved."""
    replaced: tuple[Replaced, ...]
    """Worst first."""
    all_anew: bool
    """Whether so many moved that the subject should be calibrated again."""
    rms: float
    """Metres, of the markers to the model with the new places."""


def find_replaced(skeleton: Skeleton, recording: Recording) -> Places:
    """Compare marker places; ``recording`` is cleaned and z up, its subject ``skeleton``."""
    rig = rig_of(skeleton, recording.names)
    frames, poses = _frames(rig, recording)
    freed: dict[int, float] = {}
    while True:
        fit = _fit(rig, frames, poses, freed)
        poses = fit.poses
        deviations = _deviations(rig, fit, freed)
        worst_first = np.argsort(-deviations)
        if deviations[worst_first[0]] < SURE or len(freed) >= MOST:
            break
        # one marker drags its neighbours along, not a third of the body: no use in going on
        hopeless = (deviations > SURE).sum() > 2 * MOST
        freed |= {int(m): float(deviations[m]) for m in worst_first[: MOST if hopeless else 1]}
        if hopeless:
            break
    moved = np.linalg.norm(fit.rig.places - rig.places, axis=-1)
    replaced = tuple(
        Replaced(rig.marker_names[m], rig.names[rig.marker_bodies[m]], float(moved[m]), deviation)
        for m, deviation in sorted(freed.items(), key=lambda pair: -pair[1])
    )
    seen = np.isfinite(frames[..., 0])
    rms = float(np.sqrt(np.sum(fit.residuals**2) / max(int(seen.sum()), 1)))
    placed = _with_places(skeleton, {rig.marker_names[m]: fit.rig.places[m] for m in freed})
    return Places(placed, replaced, len(freed) >= MOST, rms)


def rig_of(skeleton: Skeleton, labels: Sequence[str]) -> Rig:
    """A skeleton as flat arrays, with those of its markers that are among ``labels``."""
    carried = [
        (marker, index)
        for index, body in enumerate(skeleton.bodies)
        for marker in body.markers
        if marker.name in labels
    ]
    if len(carried) < 3:
        raise NotEnoughData(
            f"{len(carried)} of the {len(labels)} markers are among those of the known skeleton; "
            "3 or more are needed: give a skeleton or passport of the same marker set, or none"
        )
    in_body = [body.joint.in_body for body in skeleton.bodies]
    return Rig(
        skeleton.names,
        skeleton.parents,
        skeleton.offsets,
        tuple(marker.name for marker, _ in carried),
        np.array([index for _, index in carried]),
        np.array([marker.position - in_body[index] for marker, index in carried]),
    )


def _frames(rig: Rig, recording: Recording) -> tuple[Array, Poses]:
    """Varied frames (n_frames, n_markers, 3) of a take and poses near theirs."""
    columns = [recording.index(name) for name in rig.marker_names]
    shown = recording.measured[:, columns]
    observed = np.where(shown[..., None], recording.positions[:, columns], np.nan)
    observed = observed[spread_frames(shown, 4 * FRAMES)]
    poses = start_poses(rig, observed)
    fixed = np.flatnonzero(np.isfinite(poses.root[:, 0]))
    if not len(fixed):
        raise NotEnoughData(f"no frame shows three markers of {rig.names[0]!r} at once")
    chosen = fixed[varied_frames(poses.rotations[fixed], rig.parents, FRAMES)]
    return observed[chosen], Poses(poses.rotations[chosen], poses.root[chosen])


def _fit(rig: Rig, frames: Array, poses: Poses, freed: dict[int, float]) -> Adjustment:
    rows = BeliefRows(rig)
    for body in range(1, rig.n_bodies):
        rows.joint_at(body, rig.offsets[body], JOINT_SIGMA)
    for marker in range(rig.n_markers):
        sigma = FREE_SIGMA if marker in freed else SKIN_SIGMA
        rows.marker_at(marker, rig.places[marker], sigma)
    return adjust(rig, frames, poses, rows.beliefs())


def _deviations(rig: Rig, fit: Adjustment, freed: dict[int, float]) -> Array:
    """(n_markers,) squared, in units of variance; −1 for those that are free already.

    What the data add to a belief of variance s², so that p² is left of it, is in the mean of size
    s² − p²: so much may a place differ from the believed one when all is well.
    """
    covariance = np.linalg.inv(fit.information)
    deviations = np.full(rig.n_markers, -1.0)
    for marker in set(range(rig.n_markers)) - freed.keys():
        own = rig.marker_columns(marker)
        expected = SKIN_SIGMA**2 * np.eye(3) - covariance[own, own]
        values, vectors = np.linalg.eigh(expected)
        along = vectors.T @ (fit.rig.places[marker] - rig.places[marker])
        # directions of which the take says next to nothing neither accuse nor acquit
        told = values > 0.1 * SKIN_SIGMA**2
        deviations[marker] = float(np.sum(along[told] ** 2 / values[told]))
    return deviations


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
