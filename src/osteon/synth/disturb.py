"""What goes wrong in a capture volume. Each disturbance says exactly what it did."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from osteon.errors import BadValue, UnknownName
from osteon.maths import quat
from osteon.synth.curves import smooth_noise
from osteon.typing import Array, Indices, Mask
from osteon.values import Motion, Swap

SKIN_RMS = {
    "thigh": 0.009,  # 4–26 mm, median 9
    "shin": 0.004,  # 1–12 mm, median 4
    "upper_arm": 0.008,  # 6–35 mm, middle 14: arms that go through 120° turn 1.7 times SKIN_TURN
    "clavicle": 0.008,  # chosen: the scapula's, measured together with the upper arm
    "chest": 0.005,  # chosen: half of the 9–10 mm between bent and straight backs [Zemp 2014]
    "pelvis": 0.005,  # chosen: as the trunk above it
    "foot": 0.002,  # chosen: half of the 4.3 mm between the ends of its range [Tranberg 1998]
    "head": 0.002,  # chosen: as the foot, thin skin over bone
    "hand": 0.002,  # chosen: as the foot
}
"""Metres that the median person's skin slides on the bone: rms over a take in which the joints
beside it turn by ``SKIN_TURN``. Ranges are of [Cereatti 2017] where nothing else is said."""
FINGER_SKIN_RMS = 0.0012
"""Metres, of fingers; chosen: their joints turn by 0.6 radians rms, and skin over them then slides
by 2 to 3 mm."""
OTHER_SKIN_RMS = 0.004
"""Metres, of bodies that are not in the table, forearms among them; chosen: as the shin."""
FINGERS = ("thumb_", "index_", "middle_", "ring_", "little_")
SKIN_TURN = 0.3
"""Radians, rms about its mean, of the joints at both ends of a thigh in gait: sines through the 40°
of a hip and the 60° of a knee have 14° and 21°. Derived."""
SKIN_LIMIT = 6.0
"""Ratio of the most that skin slides to its rms: 54 mm at a thigh, the widest [Fiorentino 2017]."""
WOBBLE_ACCELERATION = 35.0
"""Metres per second² of the bone that shift flesh by its rms: at the thigh, 9 mm · (2π · 10 Hz)².
Chosen: 10 Hz, the slow end of what a thigh's muscles swing with, and well above what people do."""
SOFT_LEVER = 0.1
"""Metres; flesh that moves a sensor by this much turns it by one radian. Chosen: thigh and shin
then turn by 5° and 2° rms, inside the 1.9–9.6° by which clusters misjudge knees [Cereatti 2017]."""
PATIENCE_COUNT = 500
"""Count of places tried in a row before a take is full of swaps; chosen: more than ever needed."""


@dataclass(frozen=True)
class Slipped:
    """A marker or sensor that moved on its body and stayed there."""

    name: str
    frame: int
    """First frame in its new place."""
    shift: tuple[float, float, float]
    """In the body's frame, metres."""


@dataclass(frozen=True)
class Jump:
    """A sensor reported elsewhere for a while, as a magnetic tracker does at its hemisphere."""

    name: str
    frames: tuple[int, int]
    """First and last frame."""
    shift: tuple[float, float, float]
    """In the world, metres."""


def soft_tissue(
    motion: Motion,
    wearers: Sequence[int] | Indices,
    places: Array,
    skin: float,
    rng: np.random.Generator,
) -> Array:
    """Return how far skin slides on the bone, (n_frames, n_worn, 3) in the body's frame.

    Linear in the angles of the joints at both ends of the body [Bonci 2014] and in the bone's
    acceleration, until it is stretched; zero at rest. Half of what posture does is common to all
    that a body wears. Things worn on bodies ``wearers`` lie at ``places`` (n_worn, 3) from the
    joint, in the body's frame; ``skin`` multiplies ``SKIN_RMS``.
    """
    worn = list(wearers)
    sizes = skin * np.array([_skin_of(name) for name in motion.skeleton.names])[worn, None]
    pulled = _pulled_by_posture(motion, worn, rng) + _left_behind(motion, worn, places)
    stretch = np.sum(pulled**2, axis=-1, keepdims=True) / SKIN_LIMIT**2
    return sizes * pulled / (1.0 + stretch**2) ** 0.25


def _skin_of(name: str) -> float:
    side, _, part = name.partition("_")
    if side in ("left", "right") and part.startswith(FINGERS):
        return FINGER_SKIN_RMS
    return SKIN_RMS.get(part if side in ("left", "right") else name, OTHER_SKIN_RMS)


def wobble(
    motion: Motion, loose: Mapping[str, tuple[float, float]], rng: np.random.Generator
) -> tuple[Array, Array]:
    """Sensors that hang loose: smooth random shifts (n_frames, n_bodies, 3), and turns as rotation
    vectors, on their bodies; ``loose`` has their standard deviations per axis, metres and radians.
    """
    skeleton = motion.skeleton
    size = np.zeros((len(skeleton.bodies), 6))
    for name, (metres, radians) in loose.items():
        size[skeleton.index(name)] = [metres] * 3 + [radians] * 3
    moved = size * smooth_noise(rng, (motion.n_frames, *size.shape), motion.rate)
    return moved[..., :3], moved[..., 3:]


def slip(
    n_frames: int, names: Sequence[str], slips: Sequence[Slipped], kind: str = "marker"
) -> Array:
    """Displacement (n_frames, n_names, 3) in the body's frame of everything that slipped."""
    displaced = np.zeros((n_frames, len(names), 3))
    for each in slips:
        if each.name not in names:
            raise UnknownName(kind, each.name, names)
        if not 0 <= each.frame < n_frames:
            raise BadValue(f"slip frame must lie in 0–{n_frames - 1}, got {each.frame}")
        displaced[each.frame :, list(names).index(each.name)] += each.shift
    return displaced


def noise_level(positions: Array, rate: float, still: float, moving: float) -> Array:
    """(n_frames, n_worn, 1) standard deviation, from ``still`` at rest to ``moving`` at 0.5 m/s."""
    speed = np.linalg.norm(np.gradient(positions, 1.0 / rate, axis=0), axis=-1, keepdims=True)
    return still + (moving - still) * np.minimum(speed / 0.5, 1.0)


def choose_swaps(
    positions: Array, names: Sequence[str], n_swaps: int, rng: np.random.Generator
) -> tuple[Swap, ...]:
    """Pairs of neighbouring markers that will exchange labels, each for 5 to 60 frames.

    No marker takes part in two swaps at once, and ten frames at least lie between its swaps.
    """
    n_frames, n_markers = positions.shape[:2]
    partners = _neighbours(positions, min(3, n_markers - 1))
    taken = np.zeros((n_frames, n_markers), dtype=bool)
    longest = min(60, n_frames // 4)
    swaps: list[Swap] = []
    failed = 0
    while len(swaps) < n_swaps:
        if failed > PATIENCE_COUNT:
            raise BadValue(
                f"{n_swaps} swaps do not fit in {n_frames} frames of {n_markers} markers"
            )
        length = int(rng.integers(min(5, longest), longest + 1))
        start = int(rng.integers(1, max(n_frames - length, 2)))
        first = int(rng.integers(n_markers))
        pair = [first, int(rng.choice(partners[first]))]
        if taken[max(start - 10, 0) : start + length + 10, pair].any():
            failed += 1
            continue
        failed = 0
        taken[start : start + length, pair] = True
        labels = (names[pair[0]], names[pair[1]])
        swaps.append(Swap(labels, (start, start + length - 1), repaired=False))
    return tuple(swaps)


def swap(positions: Array, names: Sequence[str], swaps: Sequence[Swap]) -> Array:
    """Positions with labels exchanged."""
    swapped = positions.copy()
    for each in swaps:
        pair = [list(names).index(name) for name in each.markers]
        frames = slice(each.frames[0], each.frames[1] + 1)
        swapped[frames, pair] = positions[frames, pair[::-1]]
    return swapped


def choose_gaps(
    shape: tuple[int, int], share: float, rate: float, keep: Mask, rng: np.random.Generator
) -> Mask:
    """(n_frames, n_worn) whether a sample is missing: exactly this share, in runs of up to 0.4 s.

    Samples marked in ``keep`` are never missing.
    """
    missing = np.zeros(shape, dtype=bool)
    wanted = round(share * missing.size)
    if not 0.0 <= share <= 0.9 or wanted > 0.95 * np.sum(~keep):
        raise BadValue(f"the share of missing samples must lie between 0 and 0.9, got {share}")
    left = wanted
    while left > 0:
        column, start = rng.integers(shape[1]), rng.integers(shape[0])
        frames = slice(start, start + 1 + int(rng.integers(max(round(0.4 * rate), 1))))
        fresh = start + np.flatnonzero(~(missing | keep)[frames, column])[:left]
        missing[fresh, column] = True
        left -= len(fresh)
    return missing


def choose_outliers(
    shape: tuple[int, int], share: float, furthest: float, rng: np.random.Generator
) -> Array:
    """(n_frames, n_worn, 3) shifts of single samples; zero for all but a share of them.

    Lengths lie between a tenth of ``furthest`` (metres) and all of it.
    """
    if not 0.0 <= share <= 1.0:
        raise BadValue(f"the share of outliers must lie between 0 and 1, got {share}")
    out = rng.random(shape) < share
    direction = rng.standard_normal((*shape, 3))
    direction /= np.linalg.norm(direction, axis=-1, keepdims=True)
    length = rng.uniform(0.1 * furthest, furthest, (*shape, 1))
    return np.where(out[..., None], length * direction, 0.0)


def choose_jumps(
    n_frames: int, names: Sequence[str], n_jumps: int, size: float, rng: np.random.Generator
) -> tuple[Jump, ...]:
    """Sensors that jump by ``size`` metres for 5 to 40 frames and come back."""
    jumps = []
    for _ in range(n_jumps):
        length = int(rng.integers(5, 41))
        start = int(rng.integers(1, max(n_frames - length, 2)))
        direction = rng.standard_normal(3)
        x, y, z = (size * direction / np.linalg.norm(direction)).tolist()
        last = min(start + length, n_frames) - 1
        jumps.append(Jump(names[int(rng.integers(len(names)))], (start, last), (x, y, z)))
    return tuple(jumps)


def jump(n_frames: int, names: Sequence[str], jumps: Sequence[Jump]) -> Array:
    """Displacement (n_frames, n_names, 3) in the world."""
    shift = np.zeros((n_frames, len(names), 3))
    for each in jumps:
        shift[each.frames[0] : each.frames[1] + 1, list(names).index(each.name)] += each.shift
    return shift


def _pulled_by_posture(motion: Motion, worn: Sequence[int], rng: np.random.Generator) -> Array:
    """(n_frames, n_worn, 3) of mean square 1 where the joints beside turn by ``SKIN_TURN``."""
    parents = np.array(motion.skeleton.parents)
    joint = np.arange(len(parents))
    # a joint is beside the body that it moves and the one that it hangs on; the root has none
    beside = ((joint[:, None] == joint) | (joint[:, None] == parents)) & (parents >= 0)
    share = beside / np.sqrt(np.maximum(beside.sum(axis=1, keepdims=True), 1))
    common = rng.standard_normal((len(parents), len(parents), 3, 3))[worn]
    own = rng.standard_normal((len(worn), len(parents), 3, 3))
    pull = (common + own) / np.sqrt(2.0) * share[worn, :, None, None] / np.sqrt(3.0)
    matrix = pull.transpose(0, 2, 1, 3).reshape(3 * len(worn), 3 * len(parents))
    turns = quat.log(motion.rotations).reshape(motion.n_frames, -1) / SKIN_TURN
    return (turns @ matrix.T).reshape(motion.n_frames, -1, 3)


def _left_behind(motion: Motion, worn: Sequence[int], places: Array) -> Array:
    """(n_frames, n_worn, 3) flesh that stays behind as its bone speeds up: at once, for bones move
    far more slowly than it swings."""
    rotations, joints = (each[:, worn] for each in motion.world())
    path, step = joints + quat.rotate(rotations, places), 1.0 / motion.rate
    speed_up = np.gradient(np.gradient(path, step, axis=0), step, axis=0)
    return -quat.rotate(quat.inverse(rotations), speed_up) / WOBBLE_ACCELERATION


def _neighbours(positions: Array, n: int) -> NDArray[np.intp]:
    """(n_markers, n) the markers that are nearest on average."""
    few = positions[:: max(len(positions) // 50, 1)]
    distance = np.linalg.norm(few[:, :, None] - few[:, None], axis=-1).mean(axis=0)
    return np.argsort(distance + np.diag(np.full(len(distance), np.inf)), axis=1)[:, :n]
