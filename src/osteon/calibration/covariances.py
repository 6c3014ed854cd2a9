"""How well joints and marker places of a fit are known, and would be with one marker more.

A marker more is foretold, not fitted: it is laid on the poses that were found, at the template's
landmark, as noisy as the others and with the skin of its body, and the equations are summed again.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from osteon.calibration.adjustment import Adjustment, FramePoses, information_at
from osteon.calibration.guess import Held
from osteon.calibration.scatter import Deviations, Usual, scatter_of
from osteon.calibration.subject_model import SubjectModel
from osteon.calibration.template_guess import beliefs_about, rest_model
from osteon.human import (
    Landmark,
    human,
    landmark_names,
    scale_of,
    split_side,
    words_for_joint,
    words_for_spot,
)
from osteon.maths import FULL, fit_rigid, quat
from osteon.typing import Array

REGION_RATIO = 2.796
"""Ratio of the radius of a 95 % region to the deviation: derived, root of chi² with three
freedoms."""
OPEN_RADIUS = 0.020
"""Metres of a 95 % region from which a marker is looked for: chosen, as hips have it in good
sets."""
FORETOLD_FRAMES = 40
"""Count of frames that are summed anew for each marker: chosen, a third of those that calibrate."""
WORTH_SHARE = 0.25
"""Share by which a marker must narrow a region to be worth a word: chosen, a session's trouble."""
MOST_NEXT_MARKERS = 3
"""Count of markers that are told: chosen, as many as people put on."""


BARE_TURN = 0.35
"""Radians, of a body without markers about its joint, where what hangs on it does not tell its turn
either. Chosen: in squats of one person elbows of whose arms only wrists and shoulders are marked
are 94 and 102 mm off, a third of an upper arm."""


def covariances_of(
    fit: Adjustment, told: Held | None, girdles: np.ndarray, known: Deviations
) -> tuple[Array, Array]:
    """Return those of joints (n_bodies, 3, 3), root zero, and of marker places (n_markers, 3, 3).

    A body's frame is only a convention; its markers are what can be touched. So a joint is told as
    seen from its parent's markers, and a marker as seen from the others on its body: those are
    held while all else varies. What all frames have ``told`` is known as well as these say.
    """
    rig, shared = fit.rig, np.linalg.inv(fit.information)
    joints = _joint_covariances(rig, shared, range(1, rig.n_bodies), girdles, known)
    places = np.zeros((rig.n_markers, 3, 3))
    for marker, body in enumerate(rig.marker_bodies):
        others = np.flatnonzero(rig.marker_bodies == body)
        held = others[others != marker]
        places[marker] = _held_covariance(rig, shared, held, rig.marker_columns(marker))
    if told is not None:
        for body, covariance in told.joints.items():
            joints[body] = covariance
        sure = np.isfinite(told.markers)
        places[sure] = told.markers[sure, None, None] ** 2 * np.eye(3)
    return joints, places


def _joint_covariances(
    rig: SubjectModel,
    shared: Array,
    bodies: Iterable[int],
    girdles: np.ndarray,
    known: Deviations,
) -> Array:
    """(n_bodies, 3, 3) those of the joints of ``bodies``, as seen from their parents' markers."""
    joints = np.zeros((rig.n_bodies, 3, 3))
    for body in bodies:
        held = np.flatnonzero(rig.marker_bodies == rig.parents[body])
        joints[body] = _held_covariance(rig, shared, held, rig.joint_columns(body))
        if not girdles[rig.parents[body]] and _swivels(rig, body):
            joints[body] += BARE_TURN**2 * _across(rig.offsets[body])
    _add_girdles(joints, rig, girdles, known)
    return joints


def _swivels(rig: SubjectModel, body: int) -> bool:
    """Whether a joint lies between a body without markers and one of fewer than three: as an elbow
    between shoulder and wrist, it may go round a circle."""
    worn = np.bincount(rig.marker_bodies, minlength=rig.n_bodies)
    return bool(worn[rig.parents[body]] == 0 and worn[body] < 3)


def _add_girdles(
    covariances: Array, rig: SubjectModel, girdles: np.ndarray, known: Deviations
) -> None:
    """Add to joints on girdles what these may be turned by: as girdles turn, as far as the marker
    or two on them do not tell it. About the line to its only marker a girdle turns unseen."""
    for body in range(1, rig.n_bodies):
        girdle = rig.parents[body]
        if not girdles[girdle]:
            continue
        told = np.eye(3) / known.girdles[girdle] ** 2
        for marker in np.flatnonzero(rig.marker_bodies == girdle):
            variance = known.skin[girdle] ** 2 + known.noise[marker] ** 2
            told += _across(rig.places[marker]) / variance
        arm = np.cross(rig.offsets[body], np.eye(3))
        covariances[body] += arm.T @ np.linalg.solve(told, arm)


def _across(arm: Array) -> Array:
    """(3, 3) of a turn's squares, those that move the end of an arm, metres² per radian²."""
    return (arm @ arm) * np.eye(3) - np.outer(arm, arm)


def _held_covariance(rig: SubjectModel, shared: Array, held: np.ndarray, columns: slice) -> Array:
    """(3, 3) of one point while the markers ``held`` stay where they are; ``shared`` is the
    covariance of all unknowns."""
    own = shared[columns, columns]
    if len(held) == 0:
        return own
    fixed = np.concatenate([np.arange(rig.n_shared)[rig.marker_columns(int(m))] for m in held])
    told = shared[fixed, columns]
    left = own - told.T @ np.linalg.solve(shared[np.ix_(fixed, fixed)], told)
    return 0.5 * (left + left.T)


@dataclass(frozen=True)
class NextMarker:
    """A marker that nobody wears yet, and what it would do for a joint."""

    marker: str
    """Where it goes, in words."""
    landmarks: tuple[str, ...]
    """The template's landmarks, of both sides where both are bare."""
    joint: str
    """The joint that gains most, in words."""
    body: str
    """The body that hangs on it."""
    before: float
    """Radius of its 95 % region in the longest direction, metres."""
    after: float
    """The same with the marker."""

    def __str__(self) -> str:
        return (
            f"next marker: {self.marker} would bring the {self.joint} from "
            f"± {1e3 * self.before:.0f} to ± {1e3 * self.after:.0f} mm (95 %)"
        )


def foretell_markers(
    fit: Adjustment,
    frames: Array,
    found: Mapping[str, Landmark],
    deviations: Deviations,
    usual: Usual,
    hips: str,
) -> tuple[NextMarker, ...]:
    """Return the markers that would tell most of joints that are left open, best first.

    Parameters
    ----------
    frames : (n_frames, n_markers, 3)
        What the fit has seen; NaN where not seen.
    found
        The labels that are worn, on the template's landmarks.
    """
    some = np.arange(0, len(frames), -(-len(frames) // FORETOLD_FRAMES))
    worn = {label: found[label] for label in fit.rig.marker_names}
    scale = scale_of(worn, dict(zip(worn, np.moveaxis(frames, 1, 0), strict=True)))
    base = _Base(fit.rig, fit.poses[some], frames[some], worn, deviations, usual, hips, scale)
    bodies = [b for b in range(1, fit.rig.n_bodies) if words_for_joint(fit.rig.names[b])]
    now = base.radii((), bodies)
    assert now is not None
    wide = [body for body, radius in now.items() if radius > OPEN_RADIUS]
    near = {fit.rig.names[each] for body in wide for each in (body, fit.rig.parents[body])}
    best: dict[str, NextMarker] = {}
    for landmarks in _bare(found, near):
        then = base.radii(landmarks, wide)
        for told in [] if then is None else _gains(fit.rig.names, wide, now, then, landmarks):
            known = best.get(split_side(told.body)[1])
            if known is None or told.after < known.after:
                best[split_side(told.body)[1]] = told
    ranked = sorted(best.values(), key=lambda each: each.after - each.before)
    return tuple(ranked[:MOST_NEXT_MARKERS])


def _bare(found: Mapping[str, Landmark], bodies: set[str]) -> list[tuple[str, ...]]:
    """Landmarks of these bodies that nobody wears and people put markers on; both sides at once."""
    worn, spots = set(landmark_names(dict(found)).values()), human().landmarks
    bare = [
        name
        for name, spot in spots.items()
        if name not in worn and spot.body in bodies and words_for_spot(name) is not None
    ]
    pairs: dict[str, tuple[str, ...]] = {}
    for name in bare:
        plain = split_side(name)[1]
        pairs[plain] = (*pairs.get(plain, ()), name)
    return list(pairs.values())


def _gains(
    names: Sequence[str],
    wide: list[int],
    now: Mapping[int, float],
    then: Mapping[int, float],
    landmarks: tuple[str, ...],
) -> list[NextMarker]:
    """What markers on landmarks do for joints that are open: of twins, for the worse."""
    joints: dict[str, list[int]] = {}
    for body in wide:
        joints.setdefault(split_side(names[body])[1], []).append(body)
    both = len(landmarks) > 1
    told = []
    for bodies in joints.values():
        body = max(bodies, key=lambda each: then[each])
        words = words_for_joint(names[body], both=len(bodies) > 1)
        before, after = max(now[each] for each in bodies), then[body]
        if words is not None and after < (1.0 - WORTH_SHARE) * before:
            marker = f"one on {words_for_spot(landmarks[0], both=both)}"
            told.append(NextMarker(marker, landmarks, words.name, names[body], before, after))
    return told


@dataclass(frozen=True)
class _Base:
    """A fit on fewer frames, to which markers can be added."""

    rig: SubjectModel
    poses: FramePoses
    frames: Array
    found: dict[str, Landmark]
    deviations: Deviations
    usual: Usual
    hips: str
    scale: float
    """Of the subject against the template."""

    def radii(self, more: tuple[str, ...], bodies: list[int]) -> dict[int, float] | None:
        """Body → radius of its joint's 95 % region, metres, had markers been on the landmarks
        ``more`` as well; None where they would make other bodies, or a label has their name."""
        spots = {name: human().landmarks[name] for name in more}
        if spots.keys() & self.found.keys():
            return None
        found = self.found | spots
        rest = rest_model(found, self.scale)
        if rest.names != self.rig.names or rest.marker_names != tuple(found):
            return None
        places = {name: _place(self.rig, self.found, spot) for name, spot in spots.items()}
        added = np.array(list(places.values())).reshape(-1, 3)
        rig = replace(
            rest, offsets=self.rig.offsets, places=np.concatenate([self.rig.places, added])
        )
        noise = np.full(len(more), np.median(self.deviations.noise))
        known = replace(self.deviations, noise=np.concatenate([self.deviations.noise, noise]))
        laid = [_laid(self.rig, self.poses, spots[name], place) for name, place in places.items()]
        seen = np.concatenate([self.frames, *(each[:, None] for each in laid)], axis=1)
        beliefs = beliefs_about(found, rig, rest, self.hips)
        scatter = scatter_of(rig, self.usual, known, len(seen))
        information = information_at(rig, seen, self.poses, beliefs, scatter)
        shared = np.linalg.inv(information)
        covariances = _joint_covariances(rig, shared, bodies, self.usual.girdles, known)
        sizes = np.sqrt(np.linalg.eigvalsh(covariances)[:, -1])
        return {body: REGION_RATIO * float(sizes[body]) for body in bodies}


def _laid(rig: SubjectModel, poses: FramePoses, spot: Landmark, place: Array) -> Array:
    """(n_frames, 3) where a landmark goes in the poses that were found."""
    body = rig.names.index(spot.body)
    return poses.positions[:, body] + poses.rotations[:, body] @ place


def _place(rig: SubjectModel, found: Mapping[str, Landmark], spot: Landmark) -> Array:
    """(3,) a landmark in its body's frame: as on the template, laid over joints and markers."""
    bodies, body = human().bodies, rig.names.index(spot.body)
    own = bodies[spot.body].at
    assert spot.at is not None
    worn = [(m, found[rig.marker_names[m]].at) for m in np.flatnonzero(rig.marker_bodies == body)]
    ends = [child for child, parent in enumerate(rig.parents) if parent == body]
    pairs = [(rig.places[m], at - own) for m, at in worn if at is not None]
    pairs += [(rig.offsets[child], bodies[rig.names[child]].at - own) for child in ends]
    there = np.array([np.zeros(3), *(pair[0] for pair in pairs)])
    here = np.array([np.zeros(3), *(pair[1] for pair in pairs)])
    scale = float(np.linalg.norm(there) / max(np.linalg.norm(here), 1e-9))
    laid = fit_rigid(scale * here, there[None])
    place = scale * (spot.at - own)
    if laid.status[0] != FULL:
        return place
    return laid.positions[0] + quat.rotate(laid.rotations[0], place)
