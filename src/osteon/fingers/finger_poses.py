"""A hand's pose and the markers on its fingers → the angles of all fingers, over the whole take.

Each finger is solved for itself in its hand's frame, all frames at once: markers say what they
show; what a hand mostly does decides the rest, as where the joints of a finger lie of which the tip
alone is seen; and no angle changes faster than fingers do, which carries them across gaps. In a
long gap they sink to how a hand rests.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from osteon.fingers.finger_model import ANGLE_COUNT, FingerModel, finger_of
from osteon.human import FINGERS, is_finger
from osteon.maths import quat
from osteon.posing import SolveResult
from osteon.typing import Array
from osteon.values import Motion, Recording, Skeleton

MARKER_SIGMA = 0.0025
"""Metres per axis that a finger's marker is off where nothing is known of it. Chosen: skin over a
finger's joints slides by 2 to 4 mm when they bend."""
LEAST_SIGMA = 0.001
"""Metres. Chosen: a hand's frame is no better known."""
DOUBT_DISTANCE = 0.015
"""Metres from the model at which a marker begins to lose weight. Chosen: a finger's breadth, the
next finger's marker is farther."""
WALK_SIGMA = 1.1
"""Radians that an angle mostly changes by in a second, as a random walk does. Chosen: 0.1 in a
frame of 120 Hz, 700° per second, hides no motion, and a gap of 1 s leaves half a radian open."""
LIMIT_SIGMA = np.radians(2.0)
"""Radians by which angles go beyond their limits against a marker. Chosen: they are people's, and
differ."""
MOST_ITERATIONS, SQUARED_ITERATIONS = 30, 8
"""Counts of steps, and of those in which no marker is doubted. Chosen: most settle after ten."""
FIRST_DAMPING, DAMPING_RANGE = 1.0, (1e-3, 1e8)
"""Per square radian: what holds a frame's step at first, and how far that may change. Chosen: from
less than habits to more than markers."""
LARGEST_STEP = 0.6
"""Radians in one step. Chosen: a third of what a joint bends."""
SETTLED_STEP = 1e-3
"""Radians below which a step is the last; chosen, a tenth of what markers show."""


def without_fingers(skeleton: Skeleton) -> Skeleton:
    """Return a skeleton as it is without fingers; itself where it has none."""
    if not any(is_finger(name) for name in skeleton.names):
        return skeleton
    kept = tuple(body for body in skeleton.bodies if not is_finger(body.name))
    return replace(skeleton, bodies=kept)


def finger_names(skeleton: Skeleton) -> list[str]:
    """Return fingers with their sides, as ``left_index``, whose bones a skeleton has."""
    found = dict.fromkeys(n.rpartition("_")[0] for n in skeleton.names if is_finger(n))
    return [n for n in found if all(f"{n}_{number}" in skeleton.names for number in (1, 2, 3))]


def pose_fingers(recording: Recording, body: SolveResult, skeleton: Skeleton) -> SolveResult:
    """Return poses of a skeleton with fingers from those of the same skeleton without.

    Parameters
    ----------
    body
        As solved on ``without_fingers(skeleton)``.
    """
    motion = body.motion
    angles: dict[str, Array] = {}
    models: dict[str, FingerModel] = {}
    errors = {
        name: column for name, column in zip(body.marker_names, body.marker_error.T, strict=True)
    }
    for name in finger_names(skeleton):
        known = finger_of(skeleton, name)
        if known is None:
            continue
        models[name], worn = known
        seen = in_hand(recording, motion, skeleton.body(f"{name}_1").parent or "", worn)
        angles[name] = find_angles(models[name], seen, _sigmas(skeleton, worn), recording.rate)
        off = np.linalg.norm(seen - models[name].markers(angles[name]), axis=-1)
        errors |= dict(zip(worn, off.T, strict=True))
    _imitate(models, angles)
    rotations = _with_bodies(motion, skeleton)
    for name, own in angles.items():
        first = skeleton.index(f"{name}_1")
        order = [first, skeleton.index(f"{name}_2"), skeleton.index(f"{name}_3")]
        rotations[:, order] = models[name].local_turns(own)
    names = tuple(name for name in recording.names if name in errors)
    done = replace(motion, skeleton=skeleton, rotations=rotations)
    table = np.stack([errors[name] for name in names], axis=1)
    return replace(body, motion=done, marker_error=table, marker_names=names)


def in_hand(recording: Recording, motion: Motion, hand: str, names: Sequence[str]) -> Array:
    """(n_frames, n_names, 3) markers in a hand's frame, from its joint; NaN where not seen."""
    index = motion.skeleton.index(hand)
    turned, joints = motion.world()
    found = np.full((motion.n_frames, len(names), 3), np.nan)
    for column, name in enumerate(names):
        if name in recording.names:
            found[:, column] = recording.positions[:, recording.index(name)]
    away = found - joints[:, index, None]
    return quat.rotate(quat.inverse(turned[:, index])[:, None], away)


def find_angles(
    model: FingerModel,
    seen: Array,
    sigmas: Array,
    rate: float,
    habit: float = 1.0,
    start: Array | None = None,
) -> Array:
    """Return angles (n_frames, 4) of a finger, radians.

    Parameters
    ----------
    seen : (n_frames, n_markers, 3)
        In the hand's frame, metres; NaN where not seen.
    sigmas : (n_markers,)
        Metres per axis that each is off.
    rate
        Frames per second; 0: frames do not follow each other.
    habit
        Ratio by which what hands mostly do counts.
    start : (n_frames, 4)
        Angles near to them, in which every marker that is far off may be doubted at once.
    """
    habits = model.habits
    angles = np.tile(habits.usual, (len(seen), 1)) if start is None else start
    squared = SQUARED_ITERATIONS if start is None else 0
    if not len(model.carriers) or not np.isfinite(seen).any():
        return angles
    walk = rate / WALK_SIGMA**2 if len(angles) > 1 else 0.0
    damping = np.full(len(angles), FIRST_DAMPING)
    for turn in range(MOST_ITERATIONS):
        doubt = turn >= squared
        matrix, slope = angle_equations(model, seen, sigmas, angles, habit, doubt=doubt)
        _add_walk(matrix, slope, angles, walk)
        matrix += damping[:, None, None] * np.eye(ANGLE_COUNT)
        step = np.clip(_banded_step(matrix, slope, walk), -LARGEST_STEP, LARGEST_STEP)
        costs = [
            _costs(model, seen, sigmas, tried, habit, doubt=doubt) + _walk_costs(tried, walk)
            for tried in (angles, angles + step)
        ]
        # a straight finger hardly shows its bends: frames that a step makes worse stay, and go
        # shorter ways
        better = costs[1] <= costs[0]
        angles = np.where(better[:, None], angles + step, angles)
        damping = np.clip(np.where(better, 0.3, 10.0) * damping, *DAMPING_RANGE)
        if turn > squared and np.abs(step).max() < SETTLED_STEP:
            break
    return np.clip(angles, habits.lowest, habits.highest)


def _costs(
    model: FingerModel, seen: Array, sigmas: Array, angles: Array, habit: float, *, doubt: bool
) -> Array:
    """(n_frames,) what ``angle_equations`` makes least."""
    squares = np.sum((seen - model.markers(angles)) ** 2, axis=-1)
    if doubt:
        squares = squares / (1.0 + squares / DOUBT_DISTANCE**2)
    habits = model.habits
    away = angles - habits.usual
    usual = habit * np.einsum("fa,ab,fb->f", away, habits.precision(), away)
    beyond = _beyond(model, angles) / LIMIT_SIGMA
    return np.nansum(squares / sigmas**2, axis=1) + usual + np.sum(beyond**2, axis=1)


def _walk_costs(angles: Array, walk: float) -> Array:
    """(n_frames,) how far each frame is from those beside it."""
    apart = walk * np.sum(np.diff(angles, axis=0) ** 2, axis=1)
    return np.concatenate([apart, [0.0]]) + np.concatenate([[0.0], apart])


def _beyond(model: FingerModel, angles: Array) -> Array:
    """(n_frames, 4) how far angles are beyond what joints go."""
    habits = model.habits
    return np.maximum(angles - habits.highest, 0.0) + np.minimum(angles - habits.lowest, 0.0)


def angle_equations(
    model: FingerModel,
    seen: Array,
    sigmas: Array,
    angles: Array,
    habit: float = 1.0,
    *,
    doubt: bool = True,
) -> tuple[Array, Array]:
    """Return normal matrices (n_frames, 4, 4) and what they shall give (n_frames, 4): markers,
    habits and limits, each frame for itself."""
    points, slopes, _ = model.slopes(angles)
    off = np.where(np.isfinite(seen), seen - points, 0.0)
    weights = np.isfinite(seen[..., 0]) / sigmas**2
    if doubt:
        weights = weights / (1.0 + np.sum(off**2, axis=-1) / DOUBT_DISTANCE**2) ** 2
    matrix = np.einsum("fm,fmia,fmib->fab", weights, slopes, slopes)
    wanted = np.einsum("fm,fmia,fmi->fa", weights, slopes, off)
    habits = model.habits
    held = habit * habits.precision()
    beyond = _beyond(model, angles)
    matrix += held + (beyond != 0.0)[:, None] * np.eye(ANGLE_COUNT) / LIMIT_SIGMA**2
    wanted += (habits.usual - angles) @ held - beyond / LIMIT_SIGMA**2
    return matrix, wanted


def _add_walk(matrix: Array, wanted: Array, angles: Array, walk: float) -> None:
    """Add that angles change little from frame to frame, but for the matrix's side blocks."""
    if not walk:
        return
    change = walk * np.diff(angles, axis=0)
    wanted[:-1] += change
    wanted[1:] -= change
    each = np.full(len(angles), 2.0)
    each[[0, -1]] = 1.0
    matrix += walk * each[:, None, None] * np.eye(ANGLE_COUNT)


def _banded_step(matrix: Array, wanted: Array, walk: float) -> Array:
    """(n_frames, 4) the step to all frames' angles at once."""
    from scipy.linalg import solveh_banded  # slow to load, rarely asked for

    n_frames, n = wanted.shape
    band = np.zeros((n + 1, n_frames * n))
    for lag in range(n):
        for row in range(n - lag):
            band[lag, row::n] = matrix[:, row + lag, row]
    band[n, : (n_frames - 1) * n] = -walk
    return solveh_banded(band, wanted.ravel(), lower=True).reshape(n_frames, n)


def _sigmas(skeleton: Skeleton, names: Sequence[str]) -> Array:
    rms = {m.name: m.rms for body in skeleton.bodies for m in body.markers}
    known = [rms[name] for name in names]
    found = [MARKER_SIGMA if one is None else max(one / np.sqrt(3.0), LEAST_SIGMA) for one in known]
    return np.array(found)


def _imitate(models: dict[str, FingerModel], angles: dict[str, Array]) -> None:
    """A finger without markers bends as those beside it do."""
    for name, model in models.items():
        side, _, finger = name.partition("_")
        if len(model.carriers) or finger == "thumb":
            continue
        at = FINGERS.index(finger)
        beside = [f"{side}_{FINGERS[k]}" for k in (at - 1, at + 1) if 0 < k < len(FINGERS)]
        shown = [angles[one] for one in beside if one in models and len(models[one].carriers)]
        if shown:
            angles[name] = np.mean(shown, axis=0) * [0.0, 1.0, 1.0, 1.0]


def _with_bodies(motion: Motion, skeleton: Skeleton) -> Array:
    """(n_frames, n_bodies, 4) of the whole skeleton, fingers as at rest."""
    rotations = np.tile(skeleton.rest, (motion.n_frames, 1, 1))
    for index, name in enumerate(motion.skeleton.names):
        rotations[:, skeleton.index(name)] = motion.rotations[:, index]
    return rotations
