"""Which markers no longer sit where a calibrated subject had them.

The frames of a new take are fitted once with markers and joints free to leave their known places.
What the frames say of the places is then weighed against what differs between two takes of an
unchanged subject. A marker is accused when a shift of it alone explains so much that chance would
not do the same to any marker of the take: Baarda's test for one gross error among many measurements
[Baarda 1968]. The worst is set free and the others are asked again. What a pose can imitate, such
as a lone marker that went round its bone, shows in no recording and is not claimed.

Between two takes of an unchanged subject joints and places differ by the errors of a passport, and
by skin, which lies elsewhere in another motion: as far as it moved within each of the takes, for
every marker alone and for all markers of a body together. What a body's markers do together is its
frame, not its markers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from osteon.calibration import (
    START_MARKER_SIGMA,
    Beliefs,
    FramePoses,
    Scatter,
    SubjectModel,
    adjust,
    count_different,
    spread_frames,
    start_poses,
    varied_frames,
)
from osteon.errors import NotEnoughData
from osteon.identity.same_person import is_trunk, repeated
from osteon.typing import Array
from osteon.values import Marker, Recording, Skeleton

SKIN_SHARE = 0.5
"""How far a marker's mean place differs between two takes, as a share of its rms within them.
Chosen."""
PLACE_SIGMA = 0.001
"""Metres, per axis, beside that: a marker that is taken off and put on the same ink. Chosen."""
JOINT_SIGMA = 0.002
"""Metres. A joint between takes beside what its covariance owns up to. Chosen."""
TRUNK_SIGMA = 0.004
"""Metres. The same for joints of the trunk. Chosen: it is no chain of bones."""
TURN_SIGMA = 0.02
"""Radians. All markers of a body about their middle. Chosen."""
N_FRAMES = 40
"""Count of frames looked at. Chosen: varied ones; more repeat the same skin."""
FREE_SIGMA = 0.05
"""Metres: where a marker that was put elsewhere may be. Chosen."""
LOOSE_SIGMA = 0.02
"""Metres: how far markers may go while it is found out what the frames say. Chosen: they must not
hold on to what is believed."""
JUDGED_SIGMA = 0.006
"""Metres. A shift in a direction known no better is not judged. Chosen: there skin, which
follows the pose and is no noise, adds up."""
SURE_CHANCE = 0.01
"""Share of unchanged takes in which some marker would be accused, below which a
marker was put elsewhere. Chosen: one false alarm in a hundred takes."""
OPEN_CHANCE = 0.1
"""The same share, below which it may have been. Chosen."""
SCALE_FREEDOM = 40
"""Count of independent values that the scale of skin rests on. Chosen: tails are F's, not those of
a normal law."""
RIVAL_RATIO = 10.0
"""Ratio of chances up to which two markers of a body explain a take alike. Chosen: where a thigh
has two markers, either may have gone along the bone, and the chances are within three."""
MOST_FREED = 4
"""Count of markers set free before it is said that all were put on anew. Chosen."""
MOST_MISFIT = 2.0
"""Ratio: variance of the usual marker, as a multiple of what retakes show, that says the same.
Chosen."""
LEAST_NOISE = 0.0002
"""Metres. Chosen: no marker is seen better than this."""


def retake_covariance(rig: SubjectModel, skeleton: Skeleton, own_rms: Array) -> Array:
    """Return (n_shared, n_shared) of the difference between a passport and an unchanged take.

    Parameters
    ----------
    own_rms : (n_markers,)
        Distance of the markers from the model within the new take, metres.
    """
    markers = _markers(rig, skeleton)
    squares = own_rms**2 + known_rms(rig, skeleton) ** 2
    skin = SKIN_SHARE**2 * squares / 3.0 + PLACE_SIGMA**2
    covariance = np.zeros((rig.n_shared, rig.n_shared))
    for body in range(1, rig.n_bodies):
        own = rig.joint_columns(body)
        sigma = TRUNK_SIGMA if is_trunk(rig.names[body]) else JOINT_SIGMA
        covariance[own, own] = _known(skeleton.bodies[body].joint.covariance, sigma**2)
    for index, marker in enumerate(markers):
        own = rig.marker_columns(index)
        covariance[own, own] = _known(marker.covariance, skin[index])
    for body in range(rig.n_bodies):
        _add_together(covariance, rig, skeleton, body, skin)
    return covariance


def known_rms(rig: SubjectModel, skeleton: Skeleton) -> Array:
    """Return (n_markers,) metres; 0 where a skeleton came without."""
    return np.array([marker.rms or 0.0 for marker in _markers(rig, skeleton)])


def _markers(rig: SubjectModel, skeleton: Skeleton) -> list[Marker]:
    known = {marker.name: marker for body in skeleton.bodies for marker in body.markers}
    return [known[name] for name in rig.marker_names]


def _known(covariance: Array | None, more: float) -> Array:
    own = np.zeros((3, 3)) if covariance is None else repeated(covariance)
    return own + more * np.eye(3)


def _add_together(
    covariance: Array, rig: SubjectModel, skeleton: Skeleton, body: int, skin: Array
) -> None:
    """A body's markers shift and turn together against its joints."""
    own = np.flatnonzero(rig.marker_bodies == body)
    if not len(own):
        return
    joint = skeleton.bodies[body].joint.covariance
    # a joint is no better known from below than from above
    shift = float(np.mean(skin[own])) + float(np.trace(_known(joint, 0.0))) / 3.0
    arms = rig.places[own] - rig.places[own].mean(axis=0)
    ways = np.zeros((rig.n_shared, 6))
    for marker, (x, y, z) in zip(own.tolist(), arms, strict=True):
        columns = rig.marker_columns(marker)
        ways[columns, :3] = np.sqrt(shift) * np.eye(3)
        ways[columns, 3:] = TURN_SIGMA * np.array([[0, z, -y], [-z, 0, x], [y, -x, 0]])
    covariance += ways @ ways.T


@dataclass(frozen=True, slots=True)
class MovedMarker:
    """A marker that sits elsewhere on its body, or may."""

    marker: str
    body: str
    moved: float
    """Metres, by the directions that the take shows."""
    chance: float
    """That any marker of an unchanged take looks as much moved as this one."""
    rival: str = ""
    """Another marker of the body that explains the take as well; empty: none."""

    @property
    def name(self) -> str:
        return f"{self.marker} or {self.rival}" if self.rival else self.marker


@dataclass(frozen=True, slots=True)
class MarkerFindings:
    """The markers of a take against those of the known subject."""

    skeleton: Skeleton
    """The known one, with the places of this take for the markers that moved."""
    replaced: tuple[MovedMarker, ...]
    """Surely elsewhere, worst first."""
    doubtful: tuple[MovedMarker, ...]
    """Perhaps elsewhere, worst first; their known places are kept."""
    all_anew: bool
    """Whether so many moved that the subject should be calibrated again."""


def find_moved_markers(skeleton: Skeleton, recording: Recording) -> MarkerFindings:
    """Compare marker places; ``recording`` is cleaned and z up, its subject ``skeleton``."""
    rig = rig_of(skeleton, recording.names)
    said = _read_frames(rig, skeleton, recording)
    covariance = retake_covariance(rig, skeleton, said.rms)
    replaced: list[MovedMarker] = []
    freed: list[int] = []
    free = FREE_SIGMA**2 * np.eye(3)
    while True:
        test = _test_markers(rig, said, covariance, freed)
        worst = int(np.argmin(test.chances))
        if (
            test.chances[worst] > SURE_CHANCE
            or test.misfit > MOST_MISFIT
            or len(replaced) == MOST_FREED
        ):
            break
        replaced.append(_describe(rig, test, worst))
        for marker in (worst, _rival(rig, test, worst)):
            if marker is not None:
                freed.append(marker)
                covariance[rig.marker_columns(marker), rig.marker_columns(marker)] += free
    doubtful: list[MovedMarker] = []
    for marker in np.argsort(test.chances):
        told = rig.marker_names[marker] in [one.rival for one in doubtful]
        if test.chances[marker] <= OPEN_CHANCE and not told:
            doubtful.append(_describe(rig, test, int(marker)))
    places = {rig.marker_names[m]: rig.places[m] + test.found[m] for m in freed}
    all_anew = test.misfit > MOST_MISFIT or len(replaced) == MOST_FREED
    return MarkerFindings(
        _with_places(skeleton, places),
        tuple(replaced),
        () if all_anew else tuple(doubtful),
        all_anew,
    )


def _rival(rig: SubjectModel, test: "_MarkerTest", marker: int) -> int | None:
    """The marker of the same body that might be meant as well."""
    on_body = rig.marker_bodies == rig.marker_bodies[marker]
    chances = np.where(on_body, test.chances, np.inf)
    chances[marker] = np.inf
    second = int(np.argmin(chances))
    return second if chances[second] <= RIVAL_RATIO * test.chances[marker] else None


def _describe(rig: SubjectModel, test: "_MarkerTest", marker: int) -> MovedMarker:
    rival = _rival(rig, test, marker)
    return MovedMarker(
        rig.marker_names[marker],
        rig.names[rig.marker_bodies[marker]],
        float(np.linalg.norm(test.shifts[marker])),
        float(test.chances[marker]),
        "" if rival is None else rig.marker_names[rival],
    )


def rig_of(skeleton: Skeleton, labels: Sequence[str]) -> SubjectModel:
    """Return a skeleton as flat arrays, with those of its markers that are among ``labels``."""
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
    observed = observed[spread_frames(shown, 4 * N_FRAMES)]
    poses = start_poses(rig, observed)
    fixed = np.flatnonzero(np.isfinite(poses.positions[:, 0, 0]))
    if not len(fixed):
        raise NotEnoughData(f"no frame shows two markers of {rig.names[0]!r} at once")
    chosen = fixed[varied_frames(poses.rotations[fixed], rig.parents, N_FRAMES)]
    return observed[chosen], poses[chosen]


@dataclass(frozen=True)
class _Evidence:
    """What the frames of a take say of the shared numbers, whatever was believed."""

    information: Array
    """(n_shared, n_shared) inverse covariance."""
    pull: Array
    """(n_shared,) information times the difference from the known numbers."""
    rms: Array
    """(n_markers,) of each marker about its own place in the take, metres."""


def _read_frames(rig: SubjectModel, skeleton: Skeleton, recording: Recording) -> _Evidence:
    frames, poses = _frames(rig, recording)
    wide = retake_covariance(rig, skeleton, np.zeros(rig.n_markers))
    for marker in range(rig.n_markers):
        wide[rig.marker_columns(marker), rig.marker_columns(marker)] += LOOSE_SIGMA**2 * np.eye(3)
    precision = np.linalg.inv(wide)
    root = np.linalg.cholesky(precision).T
    known = Beliefs(root, root @ rig.shared, np.ones(rig.n_shared))
    fit = adjust(rig, frames, poses, known, Scatter.of_rigid(rig))
    squares, seen = np.sum(fit.residuals**2, axis=-1), np.isfinite(frames[..., 0])
    rms = np.sqrt(squares.sum(axis=0) / np.maximum(seen.sum(axis=0), 1))
    noise = max(squares.sum() / max(seen.sum(), 1), np.mean(known_rms(rig, skeleton) ** 2)) / 3.0
    # alike frames repeat their skin; one pose fits any skeleton, so the known noise is the least
    repeats = len(frames) / count_different(fit.poses.rotations, rig.parents)
    scale = START_MARKER_SIGMA**2 / (repeats * max(noise, LEAST_NOISE**2))
    change = fit.rig.shared - rig.shared
    return _Evidence(scale * (fit.information - precision), scale * (fit.information @ change), rms)


@dataclass(frozen=True)
class _MarkerTest:
    """Every marker asked whether a shift of it alone explains the take."""

    shifts: Array
    """(n_markers, 3) the shift that would explain it best, in the body's frame."""
    chances: Array
    """(n_markers,) of as much in any marker of an unchanged take; inf where it is free already."""
    found: Array
    """(n_markers, 3) change of each place when all is weighed."""
    misfit: float
    """Variance of the usual marker as a multiple of what retakes show; 1 where it is no more."""


def _test_markers(
    rig: SubjectModel, said: _Evidence, covariance: Array, freed: Sequence[int]
) -> _MarkerTest:
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
        from scipy.special import chdtri, fdtrc  # slow to load, rarely asked for

        usual = squares[judged] / chdtri(freedom[judged], 0.5)
        misfit = max(1.0, float(np.median(usual)))
        per_value = squares[judged] / freedom[judged] / misfit
        chances[judged] = judged.sum() * fdtrc(freedom[judged], SCALE_FREEDOM, per_value)
    split = 3 * (rig.n_bodies - 1)
    return _MarkerTest(shifts, chances, change[split:].reshape(-1, 3), misfit)


def _with_places(skeleton: Skeleton, places: dict[str, Array]) -> Skeleton:
    """Return the skeleton with other places, counted from the body's joint, for some markers."""
    if not places:
        return skeleton
    bodies = []
    for body in skeleton.bodies:
        moved = {name: place + body.joint.in_body for name, place in places.items()}
        markers = [replace(m, position=moved.get(m.name, m.position)) for m in body.markers]
        bodies.append(replace(body, markers=tuple(markers)))
    return skeleton.with_bodies(bodies, f"new places for {', '.join(places)}")
