"""Keypoints of one person → the person's skeleton.

Bones are as long as their ends are apart over all takes, what noise adds taken out
(``fixed_lengths``); left and right are one. What keypoints do not show, where the spine bends and
which way bones point at rest, is the average human's, scaled. Keypoints beside joints, as those of
toes and face, take their middle place on the bodies as posed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from osteon.calibration import (
    Calibration,
    FramePoses,
    Guess,
    SubjectModel,
    align_frames,
    count_different,
    find_soles,
    guess_from_template,
    skeleton_of,
    spread_frames,
    still_markers,
)
from osteon.errors import NotEnoughData
from osteon.fixed_lengths import debiased, length_moments
from osteon.human import Landmark, human
from osteon.keypoints.lasting_errors import (
    MIRROR,
    SYSTEMATIC_ERROR,
    Sightings,
    half_seconds,
    lasting_share,
    usual_error,
    without_odd,
)
from osteon.keypoints.poses_from_keypoints import ON_JOINT, fit_poses, stray_distance
from osteon.keypoints.tracks import Tracks, steady_tracks
from osteon.maths import quat, untwisted_joints
from osteon.posing import compile_rig
from osteon.typing import Array, Indices, Share, unheard
from osteon.values import Recording, Skeleton

POSED_FRAMES = 300
"""Count of frames that places and soles are found from, evenly spread. Chosen: noise of 10 mm is
below 1 mm in their mean."""
PLACE_ROUNDS = 3
"""Count of rounds of posing and placing. Chosen: a fourth moves toes by less than 1 mm."""
STRAIGHT_SHARE = 75.0
"""% of the frames in which shoulders are nearer to the hips than the trunk is long. Chosen: who
stands is straight, who bends is not."""
UNSEEN_RATIO = 2.0
"""Ratio by which joints that are no keypoint are less sure than where markers sit around them.
Measured: where the trunk bends lay 53 to 83 mm off on 4 people whose bones are known."""
ANYWHERE_PLACE = np.array([0.0, 0.0, 0.1])
"""Metres: where keypoints start of which only the body is known. Chosen: on no joint, and so far
from most places that poses doubt it until it is found."""
WIDE_PARTS = ("thigh", "upper_arm")
"""Bodies whose joints are as far apart as a trunk is wide."""


@dataclass(frozen=True, eq=False)
class _Person:
    """All takes of a person after each other."""

    worn: dict[str, Landmark]
    """By label."""
    honest: Array
    """(n_frames, n_points, 3) as recorded, without jumps."""
    tracks: Tracks
    still: np.ndarray
    """(n_frames, n_points) whether a keypoint keeps its height."""
    blocks: Indices
    """(n_frames,) number of the half second; empty where frames do not follow each other."""

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(self.worn)

    def __getitem__(self, frames: np.ndarray) -> Tracks:
        return replace(
            self.tracks,
            positions=self.tracks.positions[frames],
            jumps=self.tracks.jumps[frames],
        )


def calibrate_keypoints(
    recordings: Sequence[Recording],
    found: dict[str, Landmark],
    *,
    set_name: str = "",
    subject: str = "",
    in_order: bool = True,
    progress: Share = unheard,
) -> Calibration:
    """Fit the skeleton of a person whom a markerless system saw.

    Parameters
    ----------
    recordings
        Takes of the same person.
    found
        Labels on the template's landmarks.
    set_name
        Of the keypoint set, to be told.
    in_order
        Whether frames follow each other, so that time tells of noise and jumps.
    """
    person = _gather(recordings, found, in_order=in_order)
    observed = dict(zip(person.labels, np.moveaxis(person.tracks.positions, 1, 0), strict=True))
    guess = guess_from_template(person.worn, observed, wanted=_completing(person.worn))
    guess = replace(guess, rig=_with_trunk(_on_joints(guess.rig, person.worn), observed))
    rig, errors = _with_lengths(guess.rig, observed)
    chosen = spread_frames(np.isfinite(person.tracks.positions[..., 0]), POSED_FRAMES)
    for turn in range(PLACE_ROUNDS):
        progress(turn / PLACE_ROUNDS)
        rig = _with_places(guess, rig, person[chosen])
    return _finished(guess, rig, errors, person, chosen, set_name, subject)


def _gather(
    recordings: Sequence[Recording], found: dict[str, Landmark], *, in_order: bool
) -> _Person:
    labels = tuple(
        label
        for label in found
        if any(label in take.names and take.seen[:, take.index(label)].any() for take in recordings)
    )
    if not labels:
        raise NotEnoughData("none of the set's keypoints is ever seen")
    honest, steady = [], []
    for take in recordings:
        points = np.full((take.n_frames, len(labels), 3), np.nan)
        for column, label in enumerate(labels):
            if label in take.names:
                points[:, column] = take.positions[:, take.index(label)]
        tracks = steady_tracks(points, take.rate) if in_order else _as_they_are(points)
        steady.append(tracks)
        points[tracks.jumps] = np.nan
        honest.append(Recording(points, labels, take.rate))
    smoothed = [
        Recording(tracks.positions, labels, take.rate)
        for take, tracks in zip(recordings, steady, strict=True)
    ]
    noise = np.stack([tracks.noise for tracks in steady]).max(axis=0)
    positions = np.concatenate([tracks.positions for tracks in steady])
    jumps = np.concatenate([tracks.jumps for tracks in steady])
    still = still_markers(smoothed, labels)
    blocks = half_seconds(recordings) if in_order else np.zeros(0, dtype=np.int64)
    together = np.concatenate([take.positions for take in honest])
    worn = {label: found[label] for label in labels}
    return _Person(worn, together, Tracks(positions, noise, jumps), still, blocks)


def _as_they_are(points: Array) -> Tracks:
    noise = np.full(points.shape[1], SYSTEMATIC_ERROR)
    return Tracks(points, noise, np.zeros(points.shape[:2], dtype=bool))


def _completing(found: dict[str, Landmark]) -> set[str]:
    """Bodies that no keypoint rides on but that people have: a head, collar bones under arms."""
    bodies = {landmark.body for landmark in found.values()}
    sides = [side for side in ("left", "right") if f"{side}_upper_arm" in bodies]
    return {f"{side}_clavicle" for side in sides} | ({"head"} if sides else set())


def _on_joints(rig: SubjectModel, found: dict[str, Landmark]) -> SubjectModel:
    """Every body's keypoints so that the one that is its joint lies on it."""
    places, figure = rig.places.copy(), human()
    for marker, (label, body) in enumerate(zip(rig.marker_names, rig.marker_bodies, strict=True)):
        at = found[label].at
        if at is None:
            places[marker] = ANYWHERE_PLACE
        elif np.array_equal(at, figure.bodies[rig.names[body]].at):
            own = rig.marker_bodies == body
            places[own] = rig.places[own] - rig.places[marker]
    return replace(rig, places=places)


def _joint_paths(rig: SubjectModel, observed: dict[str, Array]) -> dict[str, Array]:
    """Body → (n_frames, 3) of its joint, where that is a keypoint."""
    return {
        rig.names[body]: observed[label]
        for label, body, place in zip(rig.marker_names, rig.marker_bodies, rig.places, strict=True)
        if np.linalg.norm(place) < ON_JOINT
    }


def _middle(joints: dict[str, Array], part: str) -> Array | None:
    """(n_frames, 3) between the left and the right joint."""
    pair = [joints.get(f"{side}_{part}") for side in ("left", "right")]
    return None if pair[0] is None or pair[1] is None else 0.5 * (pair[0] + pair[1])


def _with_trunk(rig: SubjectModel, observed: dict[str, Array]) -> SubjectModel:
    """The trunk as long as it is when straight."""
    joints = _joint_paths(rig, observed)
    low, high = _middle(joints, "thigh"), _middle(joints, "upper_arm")
    if low is None or high is None or not np.isfinite(high - low).any():
        return rig
    length = np.nanpercentile(np.linalg.norm(high - low, axis=-1), STRAIGHT_SHARE)
    rest = dict(zip(rig.names, untwisted_joints(rig.offsets, rig.parents), strict=True))
    middles = [0.5 * (rest[f"left_{part}"] + rest[f"right_{part}"]) for part in WIDE_PARTS]
    ratio = length / float(np.linalg.norm(middles[1] - middles[0]))
    trunk = [b for b, name in enumerate(rig.names) if not name.startswith(("left_", "right_"))]
    offsets, places = rig.offsets.copy(), rig.places.copy()
    for body in range(1, rig.n_bodies):
        if rig.parents[body] in trunk:
            offsets[body] *= ratio
    on_chest = [rig.names[body] == "chest" for body in rig.marker_bodies]
    places[on_chest] *= ratio
    return replace(rig, offsets=offsets, places=places)


def _with_lengths(rig: SubjectModel, observed: dict[str, Array]) -> tuple[SubjectModel, Array]:
    """Bones as long as their ends are apart, and (n_bodies,) the standard errors of that."""
    joints = _joint_paths(rig, observed)
    names = list(joints)
    paths = np.stack([joints[name] for name in names], axis=1) if names else np.zeros((0, 0, 3))
    starts = np.array([_bone_start(rig, names, name) for name in names], dtype=np.int64)
    rest = untwisted_joints(rig.offsets, rig.parents)
    offsets, errors = rig.offsets.copy(), np.zeros(rig.n_bodies)
    found = debiased(length_moments(_without_odd_bones(paths, starts), starts))
    for name, start, length, error in zip(names, starts, found.lengths, found.errors, strict=True):
        body = rig.names.index(name)
        if start < 0 or not np.isfinite(length):
            continue
        across = names[start].endswith(WIDE_PARTS) and not name.endswith(("shin", "forearm"))
        if across:
            for side in (body, rig.names.index(names[start])):
                begin = abs(rest[rig.parents[side], 1])
                offsets[side, 1] = np.sign(offsets[side, 1]) * (0.5 * length - begin)
        else:
            offsets[body] *= length / np.linalg.norm(offsets[body])
        errors[body] = np.nan_to_num(error)
    return replace(rig, offsets=_both_sides_alike(rig, offsets)), errors


def _without_odd_bones(paths: Array, starts: Indices) -> Array:
    """Joints (n_frames, n_joints, 3) without those whose bone is of a length it never has else."""
    lengths = np.linalg.norm(paths - paths[:, starts], axis=-1)
    odd = np.isnan(without_odd(lengths)) & (starts >= 0)
    return np.where(odd[..., None], np.nan, paths)


def _bone_start(rig: SubjectModel, names: list[str], name: str) -> int:
    """Where a body's bone begins: at its parent's joint; at the right joint for the left one of a
    pair on a trunk; −1 where neither is a keypoint."""
    if name.startswith("left_") and name.endswith(WIDE_PARTS):
        twin = "right_" + name.removeprefix("left_")
        return names.index(twin) if twin in names else -1
    parent = rig.parents[rig.names.index(name)]
    beside = name.startswith(("left_", "right_")) and not name.endswith(WIDE_PARTS)
    if parent < 0:
        return -1
    return names.index(rig.names[parent]) if beside and rig.names[parent] in names else -1


def _both_sides_alike(rig: SubjectModel, places: Array) -> Array:
    """Joints (n_bodies, 3) of left and right, each the mean of itself and the other's mirror."""
    places = places.copy()
    for left, name in enumerate(rig.names):
        twin = "right_" + name.removeprefix("left_")
        if name.startswith("left_") and twin in rig.names:
            right = rig.names.index(twin)
            mean = 0.5 * (places[left] + MIRROR * places[right])
            places[left], places[right] = mean, MIRROR * mean
    return places


def _with_places(guess: Guess, rig: SubjectModel, tracks: Tracks) -> SubjectModel:
    """Keypoints beside joints where they are in the middle of the frames."""
    bare = _bare_skeleton(guess, rig)
    posed = compile_rig(bare, rig.marker_names)
    poses = fit_poses(bare, posed, tracks)
    local = posed.in_bodies(tracks.positions, poses.rotations, poses.root)
    places = rig.places.copy()
    for marker in range(rig.n_markers):
        own = local[np.isfinite(local[:, marker, 0]), marker]
        if np.linalg.norm(rig.places[marker]) >= ON_JOINT and len(own):
            places[marker] = np.median(own, axis=0)
    return replace(rig, places=places)


def _bare_skeleton(guess: Guess, rig: SubjectModel) -> Skeleton:
    """The rig as poses need it: nothing is known of errors and soles."""
    none = np.zeros(rig.n_markers)
    unsure = (np.zeros((rig.n_bodies, 3, 3)), np.zeros((rig.n_markers, 3, 3)))
    rig, turns = align_frames(rig, guess, {})
    return skeleton_of(guess, rig, turns, {}, none, unsure, "")


def _finished(
    guess: Guess,
    rig: SubjectModel,
    errors: Array,
    person: _Person,
    chosen: np.ndarray,
    set_name: str,
    subject: str,
) -> Calibration:
    bare = _bare_skeleton(guess, rig)
    posed, tracks = compile_rig(bare, rig.marker_names), person[chosen]
    poses = fit_poses(bare, posed, tracks)
    rotations, joints = posed.world(poses.rotations, poses.root)
    frames = FramePoses(quat.to_matrix(rotations), joints)
    soles = find_soles(guess, rig, frames, tracks.positions, person.still[chosen])
    off = posed.distances(person.honest[chosen], poses.rotations, poses.root)
    per_marker = np.sqrt(np.nanmean(off**2, axis=0))
    where = posed.markers(poses.rotations, poses.root)
    lasting = _lasting_share(person, chosen, where, off)
    covariances = _covariances(rig, errors, person, lasting)
    rig, turns = align_frames(rig, guess, soles)
    skeleton = skeleton_of(guess, rig, turns, soles, per_marker, covariances, subject)
    shown = np.ones(rotations.shape[:2], dtype=bool)
    return Calibration(
        skeleton,
        len(chosen),
        float(np.sqrt(np.nanmean(off**2))),
        count_different(frames.rotations, rig.parents, shown),
        doubts=(_announced(person, set_name, lasting), *guess.doubts),
    )


def _lasting_share(person: _Person, chosen: Indices, posed: Array, off: Array) -> float:
    """Share of lasting errors as others have measured them; ``off``: metres from the rig."""
    if not len(person.blocks):
        return 1.0
    noise = person.tracks.noise
    strayed = off > stray_distance(noise)
    seen = np.where(strayed[..., None], np.nan, person.honest[chosen])
    points = Sightings(person.labels, seen, posed, noise, person.blocks[chosen])
    return lasting_share(points, person.worn)


def _covariances(
    rig: SubjectModel, errors: Array, person: _Person, lasting: float
) -> tuple[Array, Array]:
    """Of joints (n_bodies, 3, 3) and of keypoints (n_markers, 3, 3).

    What a system is off for all of a take is as large as others have found it, or as the take
    shows. A joint that is no keypoint is as sure as the average human is.
    """
    figure = human()
    counts = np.isfinite(person.honest[..., 0]).sum(axis=0)
    passing = person.tracks.noise**2 / np.maximum(counts, 1)
    trembles = dict(zip(person.labels, passing, strict=True))
    variances = np.zeros(rig.n_bodies)
    for body, name in enumerate(rig.names):
        variances[body] = (lasting * usual_error(name)) ** 2 + errors[body] ** 2
        own = [
            trembles[label]
            for label, at, place in zip(
                rig.marker_names, rig.marker_bodies, rig.places, strict=True
            )
            if at == body and not place.any()
        ]
        if own or rig.parents[body] < 0:
            variances[body] += sum(own)
        else:
            variances[body] += (UNSEEN_RATIO * figure.bodies[name].sigma) ** 2
    joints = variances[:, None, None] * np.eye(3)
    joints[0] = 0.0
    of_points = (lasting * SYSTEMATIC_ERROR) ** 2
    return joints, np.tile(of_points * np.eye(3), (rig.n_markers, 1, 1))


def _announced(person: _Person, set_name: str, lasting: float) -> str:
    """Say that these are keypoints, and how steady they are."""
    n_jumps, n_seen = person.tracks.jumps.sum(), np.isfinite(person.honest[..., 0]).sum()
    jumped = 100.0 * n_jumps / max(n_seen + n_jumps, 1)
    noise = 1e3 * float(np.median(person.tracks.noise))
    called = f" ({set_name})" if set_name else ""
    lasting *= 1e3 * SYSTEMATIC_ERROR
    return (
        f"{len(person.labels)} keypoints{called}: joint centres, not skin; they tremble by "
        f"{noise:.1f} mm per axis, and {jumped:.1f} % of the samples jumped and were left out; "
        "lengths of bones, left against right and over time, tell of lasting errors of "
        f"{lasting:.0f} mm per axis; what is off along bones no take can show"
    )
