"""Recordings of one subject → the subject's skeleton."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from osteon.calibration.adjustment import Adjustment, FramePoses, adjust
from osteon.calibration.covariances import NextMarker, covariances_of, foretell_markers
from osteon.calibration.frame_choice import (
    STANDING_TURN,
    count_different,
    furthest_turn,
    spread_frames,
    varied_frames,
)
from osteon.calibration.guess import Guess
from osteon.calibration.joint_evidence import hold_joints
from osteon.calibration.joint_findings import (
    JointMotion,
    joint_motions,
    with_findings,
    with_glide_paths,
)
from osteon.calibration.motion_guess import guess_from_motion
from osteon.calibration.pose_start import shown_turns, start_poses
from osteon.calibration.priors import BeliefRows
from osteon.calibration.scatter import (
    Deviations,
    Scatter,
    estimate_deviations,
    first_deviations,
    first_scatter,
    scatter_of,
)
from osteon.calibration.soles import (
    UP,
    FootSole,
    add_toes,
    bone_tip,
    find_soles,
    still_markers,
)
from osteon.calibration.subject_model import SubjectModel
from osteon.calibration.template_guess import guess_from_template
from osteon.calibration.uncertain_joints import tell_uncertain
from osteon.errors import NotEnoughData
from osteon.human import Landmark, Recognition
from osteon.maths import fit_rigid, quat
from osteon.typing import Array, Share, part, unheard
from osteon.values import Body, Joint, Marker, Recording, Skeleton

FRAMES = 120
"""Frames that the fit looks at: half evenly over all takes, half where poses differ most. Of 80 it
mattered which ones they were: two choices from one take put spine or clavicles up to 15 mm apart,
of 120 up to 9 mm, on five synthetic performers."""
MOST_ROUNDS = 10
"""Count of fits, each weighed by what the one before left; chosen: most takes of twelve settle
after six."""
CLOSED_SIGMA, RIDE_SIGMA = 0.0001, 0.0025
"""Metres. How firmly joints and markers stay where they were found when joints are closed: chosen
on seven takes of four people with bones known. At 0.002 markers of fourteen real takes lie 0.5 to
4 % farther away than at 0.003, and hips under skin 0.4 mm nearer to the bones."""
SETTLED = 0.03
"""Share by which deviations still change when they are taken to stand: chosen, far below how well
a few postures tell them."""
STRAY = 0.04
"""Metres off its place, in half of the frames, from which a marker rides on no body that its label
names: skin and loose clothes keep below 0.02."""
MOST_STRAYS = 0.25
"""Share of the markers beyond which not they but the set or the take is wrong."""


Foretell = Callable[[Adjustment, Array, Deviations], tuple[NextMarker, ...]]
"""From a fit, the frames it has seen and how they scatter."""


@dataclass(frozen=True)
class Calibration:
    """A subject, and how well the frames looked at agree with it."""

    skeleton: Skeleton
    frames: int
    """How many frames were looked at."""
    rms: float
    """Marker distance over those frames, metres."""
    poses: int = 0
    """How many poses of the takes differ from one another."""
    turned: float = 0.0
    """How far the joint that moves most goes to either side, radians."""
    doubts: tuple[str, ...] = ()
    """What could not be settled, one sentence each."""
    strays: tuple[str, ...] = ()
    """Markers that are mostly elsewhere than on the body they were given to, worst first."""
    motions: Mapping[str, JointMotion] = field(default_factory=dict)
    """By the body that hangs on a joint: what the frames show of it."""
    recognition: Recognition | None = None
    """Where labels said nothing and shape and motion did: which marker was taken to sit where."""
    next_markers: tuple[NextMarker, ...] = ()
    """Markers that nobody wears and that would tell most of joints left open, best first."""


def calibrate(
    recordings: Sequence[Recording],
    found: dict[str, Landmark],
    *,
    hips: str = "harrington",
    subject: str = "",
    next_markers: bool = True,
    progress: Share = unheard,
) -> Calibration:
    """Fit joints and marker places of a subject whose marker set is known.

    Parameters
    ----------
    recordings
        Takes of the same person with the same markers on.
    found
        Labels on the template's landmarks.
    next_markers
        Whether to tell which markers that nobody wears would tell most.
    """
    labels = [label for label in found if any(_shows(take, label) for take in recordings)]
    observed = dict(zip(labels, np.moveaxis(_stacked(recordings, labels), 1, 0), strict=True))
    still = dict(zip(labels, still_markers(recordings, labels).T, strict=True))
    left_out: list[str] = []
    while True:
        worn = {label: found[label] for label in labels if label not in left_out}
        calibration = _fit_template(
            worn, observed, still, hips, subject, progress, next_markers=next_markers
        )
        far = left_out + list(calibration.strays)
        if not calibration.strays or len(far) > MOST_STRAYS * len(labels):
            break
        left_out = far
    told = (
        *_about_strays(left_out, calibration),
        *tell_uncertain(calibration.skeleton, calibration.motions),
    )
    return replace(calibration, doubts=(*calibration.doubts, *told))


def _fit_template(
    found: dict[str, Landmark],
    observed: dict[str, Array],
    still: dict[str, np.ndarray],
    hips: str,
    subject: str,
    progress: Share,
    *,
    next_markers: bool,
) -> Calibration:
    guess = guess_from_template(found, {label: observed[label] for label in found}, hips)
    seen = np.stack([observed[name] for name in guess.rig.marker_names], axis=1)
    keeps = np.stack([still[name] for name in guess.rig.marker_names], axis=1)

    def foretell(fit: Adjustment, frames: Array, known: Deviations) -> tuple[NextMarker, ...]:
        return foretell_markers(fit, frames, found, known, guess.usual, hips)

    calibration = fit_guess(
        guess,
        seen,
        subject=subject,
        still=keeps,
        foretell=foretell if next_markers else None,
        progress=progress,
    )
    if calibration.turned >= STANDING_TURN:
        return calibration
    told = (
        "the performer hardly moves: where the joints lie is the average human's answer, not this "
        "one's; add a take in which they bend"
    )
    return replace(calibration, doubts=(*calibration.doubts, told))


def _about_strays(left_out: Sequence[str], calibration: Calibration) -> tuple[str, ...]:
    doubts: tuple[str, ...] = ()
    if left_out:
        doubts += (
            f"left out, for not moving with the body that the label names: {', '.join(left_out)}; "
            "labelled wrongly, fallen off, or filled in?",
        )
    if calibration.strays:
        doubts += (
            f"mostly farther than {1e3 * STRAY:.0f} mm from where the rig has them: "
            f"{', '.join(calibration.strays)}; are the labels right, and is it this marker set?",
        )
    return doubts


def calibrate_blind(
    recordings: Sequence[Recording], *, subject: str = "", progress: Share = unheard
) -> Calibration:
    """Fit a subject of which nothing is known: bodies and tree come from the longest take, joints
    of bodies with a frame of their own from all frames of all takes."""
    longest = max(recordings, key=lambda take: take.n_frames)
    guess = guess_from_motion(longest, part(progress, 0.0, 0.4))
    observed = _stacked(recordings, guess.rig.marker_names)
    guess = hold_joints(guess, Recording(observed, guess.rig.marker_names, longest.rate))
    return fit_guess(guess, observed, subject=subject, progress=part(progress, 0.4, 1.0))


def fit_guess(
    guess: Guess,
    observed: Array,
    *,
    subject: str = "",
    still: np.ndarray | None = None,
    foretell: Foretell | None = None,
    progress: Share = unheard,
) -> Calibration:
    """Fit a first guess, from a template or from motion alone, to the frames of a subject.

    Parameters
    ----------
    observed : (n_frames, n_markers, 3)
        The guess's markers over all takes, metres; NaN where not seen.
    still : (n_frames, n_markers)
        Whether they keep their height: so the soles are found.
    foretell
        Finds which markers would tell more, where a template knows of any.
    """
    candidates = spread_frames(np.isfinite(observed[..., 0]), 4 * FRAMES)
    poses = start_poses(guess.rig, observed[candidates])
    fixed = np.isfinite(poses.positions[:, 0, 0])
    if not fixed.any():
        raise NotEnoughData(
            f"no frame shows two markers of {guess.rig.names[0]!r} at once; "
            "the root's pose cannot be found"
        )
    chosen = np.flatnonzero(fixed)
    parents, shown = guess.rig.parents, shown_turns(guess.rig, observed[candidates])
    chosen = chosen[varied_frames(poses.rotations[chosen], parents, FRAMES)]
    frames = observed[candidates[chosen]]
    different = count_different(poses.rotations[fixed], parents, shown[fixed])
    turned = furthest_turn(poses.rotations[chosen], parents, shown[chosen])
    fit, deviations = _fit_frames(guess, frames, poses[chosen], observed, progress)
    different = min(different, count_different(fit.poses.rotations, parents, shown[chosen]))
    covariances = covariances_of(fit, guess.held, guess.usual.girdles, deviations)
    soles = {}
    if still is not None:
        soles = find_soles(guess, fit.rig, fit.poses, frames, still[candidates[chosen]])
    seen = np.isfinite(frames[..., 0])
    squared = np.sum(fit.residuals**2, axis=-1)
    per_marker = np.sqrt(squared.sum(axis=0) / np.maximum(seen.sum(axis=0), 1))
    rig, turns = align_frames(fit.rig, guess, soles)
    skeleton = skeleton_of(guess, rig, turns, soles, per_marker, covariances, subject)
    skeleton = with_findings(skeleton, fit, guess.usual, deviations)
    skeleton = with_glide_paths(skeleton, fit, frames, guess.usual, deviations, turns)
    motions = joint_motions(fit, guess.usual, deviations, turns)
    skeleton = add_toes(skeleton, guess, rig, soles, turns)
    doubts = guess.doubts
    if not fit.converged:
        doubts += ("the calibration had not settled when its iterations ran out",)
    rms = float(np.sqrt(squared.sum() / max(seen.sum(), 1)))
    strays = _strays(guess.rig, np.where(seen, np.sqrt(squared), np.nan))
    found = Calibration(skeleton, len(frames), rms, different, turned, doubts, strays, motions)
    if foretell is None:
        return found
    return replace(found, next_markers=foretell(fit, frames, deviations))


def _fit_frames(
    guess: Guess, frames: Array, start: FramePoses, observed: Array, progress: Share
) -> tuple[Adjustment, Deviations]:
    """Fit the chosen frames, and find by turns how far markers and joints are from a rigid model.

    The first fit listens to markers however far off they are, for its poses are rough where gaps
    hide half a limb. After it, each fit is weighed by what the one before left.
    """
    usual, n_frames = guess.usual, len(frames)
    deviations = first_deviations(guess.rig, usual, observed)
    fit = adjust(
        guess.rig,
        frames,
        start,
        guess.beliefs,
        first_scatter(guess.rig, usual, n_frames),
        max_iterations=15,
        tolerance=1e-2,
        progress=part(progress, 0.0, 0.3),
    )
    for turn in range(MOST_ROUNDS):
        before = deviations
        deviations = estimate_deviations(fit, usual, deviations)
        last = _settled(before, deviations) or turn == MOST_ROUNDS - 1
        fit = adjust(
            fit.rig,
            frames,
            fit.poses,
            guess.beliefs,
            scatter_of(guess.rig, usual, deviations, n_frames),
            max_iterations=30 if last else 3,
            progress=part(progress, 0.3 + 0.07 * turn, 0.37 + 0.07 * turn),
        )
        if last:
            break
    rides = _ride_sigmas(guess, deviations)
    return _close_joints(fit, frames, rides, usual.girdles), deviations


def _ride_sigmas(guess: Guess, deviations: Deviations) -> Array:
    """(n_markers,) how firmly markers stay when joints are closed: those of a body whose shape and
    joints are known by all frames shift by no more than their skin does."""
    rides = np.full(guess.rig.n_markers, RIDE_SIGMA)
    if guess.held is not None:
        known = np.isfinite(guess.held.markers)
        skin = deviations.skin[guess.rig.marker_bodies]
        rides[known] = np.clip(skin, CLOSED_SIGMA, RIDE_SIGMA)[known]
    return rides


def _close_joints(fit: Adjustment, frames: Array, rides: Array, girdles: np.ndarray) -> Adjustment:
    """Return the fit with joints that hold, as a skeleton's do, and markers where they then ride
    best; joints stay in their places."""
    rows = BeliefRows(fit.rig)
    for body in range(1, fit.rig.n_bodies):
        rows.joint_at(body, fit.rig.offsets[body], CLOSED_SIGMA)
    for marker in range(fit.rig.n_markers):
        rows.marker_at(marker, fit.rig.places[marker], float(rides[marker]))
    firm = Scatter.of_rigid(fit.rig, girdles)
    closed = adjust(fit.rig, frames, fit.poses, rows.beliefs(), firm, max_iterations=20)
    return replace(fit, rig=closed.rig, poses=closed.poses, residuals=closed.residuals)


def _settled(before: Deviations, after: Deviations) -> bool:
    """Whether deviations hardly change any more."""
    change = np.log(np.concatenate([after.skin / before.skin, after.gaps / before.gaps]))
    return bool(np.abs(change).max() < SETTLED)


def _strays(rig: SubjectModel, errors: Array) -> tuple[str, ...]:
    """Of each body the marker that is mostly off its place, and by far: it pulls others along.

    ``errors`` (n_frames, n_markers) in metres, NaN where not seen.
    """
    shown = np.flatnonzero(np.isfinite(errors).any(axis=0))
    middle = np.zeros(rig.n_markers)
    middle[shown] = np.nanmedian(errors[:, shown], axis=0)
    far = middle > max(STRAY, 0.5 * float(middle.max(initial=0.0)))
    worst: dict[int, str] = {}
    for marker in np.argsort(-middle):
        if far[marker]:
            worst.setdefault(int(rig.marker_bodies[marker]), rig.marker_names[int(marker)])
    return tuple(worst.values())


def _shows(take: Recording, label: str) -> bool:
    return label in take.names and bool(take.measured[:, take.index(label)].any())


def _stacked(recordings: Sequence[Recording], labels: Sequence[str]) -> Array:
    """(n_frames, n_labels, 3) all takes after each other; only what cameras saw counts."""
    if not labels:
        raise NotEnoughData("none of the marker set's markers is ever seen")
    parts = []
    for take in recordings:
        part = np.full((take.n_frames, len(labels), 3), np.nan)
        for column, label in enumerate(labels):
            if label in take.names:
                index = take.index(label)
                shown = take.measured[:, index]
                part[shown, column] = take.positions[shown, index]
        parts.append(part)
    return np.concatenate(parts)


def skeleton_of(
    guess: Guess,
    rig: SubjectModel,
    turns: Array,
    soles: dict[int, FootSole],
    per_marker: Array,
    covariances: tuple[Array, Array],
    subject: str,
) -> Skeleton:
    """Return a subject whose frames are aligned as a skeleton in its rest pose.

    Parameters
    ----------
    turns : (n_bodies, 4)
        How its frames were turned.
    per_marker : (n_markers,)
        RMS distance of each marker from its place, metres.
    covariances : (n_bodies, 3, 3), (n_markers, 3, 3)
        Of joints and of marker places in the frames before, square metres.
    """
    return _skeleton(rig, _tips(rig, guess, turns, soles), turns, per_marker, covariances, subject)


def align_frames(
    rig: SubjectModel, guess: Guess, soles: dict[int, FootSole]
) -> tuple[SubjectModel, Array]:
    """Turn body frames so that bones point in the rest pose as they do on the template, and soles
    are level.

    The root lies as its markers do there: it branches, so no bone of its own says how.
    Returns the rig in the new frames and the turns (n_bodies, 4) to the new frame from the old.
    """
    rest = guess.rest
    turns = quat.identity((rig.n_bodies,))
    own = np.flatnonzero(rig.marker_bodies == 0)
    laid = fit_rigid(rig.places[own], guess.rig.places[None, own]).rotations[0]
    turns[0] = laid if np.isfinite(laid).all() else turns[0]
    for body in range(1, rig.n_bodies):
        child = bone_child(rig.names, rig.parents, body)
        if guess.usual.girdles[body]:
            turns[body] = turns[rig.parents[body]]  # what no marker tells is as on the chest
        if child is not None and np.linalg.norm(rest[child]) > 0.0:
            bone = quat.rotate(turns[body], rig.offsets[child])
            turns[body] = quat.multiply(quat.shortest(bone, rest[child]), turns[body])
        if body in soles:
            up = quat.rotate(turns[body], soles[body].up)
            turns[body] = quat.multiply(quat.shortest(up, UP), turns[body])
    offsets = rig.offsets.copy()
    for body, parent in enumerate(rig.parents):
        if parent >= 0:
            offsets[body] = quat.rotate(turns[parent], rig.offsets[body])
    places = quat.rotate(turns[rig.marker_bodies], rig.places)
    return replace(rig, offsets=offsets, places=places), turns


def bone_child(names: Sequence[str], parents: Sequence[int], body: int) -> int | None:
    """The child that continues a body's bone: its only one, or the next of the trunk."""
    children = [index for index, parent in enumerate(parents) if parent == body]
    if len(children) == 1:
        return children[0]
    trunk = [child for child in children if names[child] in ("spine", "chest", "neck", "head")]
    return trunk[0] if trunk else None


def _tips(
    rig: SubjectModel, guess: Guess, turns: Array, soles: dict[int, FootSole]
) -> dict[int, Array]:
    """Body → (3,) where its bone ends; of bodies without a child."""
    return {
        body: bone_tip(guess, rig, body, soles.get(body), turns[body])
        for body, name in enumerate(rig.names)
        if body not in rig.parents and name in guess.tips
    }


def _skeleton(
    rig: SubjectModel,
    tips: dict[int, Array],
    turns: Array,
    per_marker: Array,
    covariances: tuple[Array, Array],
    subject: str,
) -> Skeleton:
    bodies = []
    for body, (name, parent) in enumerate(zip(rig.names, rig.parents, strict=True)):
        child = bone_child(rig.names, rig.parents, body)
        own = np.flatnonzero(rig.marker_bodies == body)
        markers = tuple(
            Marker(
                rig.marker_names[m],
                rig.places[m],
                rms=float(per_marker[m]),
                covariance=_turned(covariances[1][m], turns[body]),
            )
            for m in own
        )
        joint = Joint(
            kind="free" if parent < 0 else "ball",
            in_parent=rig.offsets[body],
            covariance=None if parent < 0 else _turned(covariances[0][body], turns[parent]),
        )
        bodies.append(
            Body(
                name=name,
                parent=None if parent < 0 else rig.names[parent],
                joint=joint,
                length=None if child is None else float(np.linalg.norm(rig.offsets[child])),
                markers=markers,
                tip=tips.get(body),
            )
        )
    return Skeleton(tuple(bodies), subject=subject)


def _turned(covariance: Array, turn: Array) -> Array:
    """A covariance in a frame that was turned."""
    matrix = quat.to_matrix(turn)
    return matrix @ covariance @ matrix.T
