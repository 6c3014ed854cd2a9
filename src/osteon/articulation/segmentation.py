"""Which markers ride on the same rigid body, and how many bodies there are (docs/methods.md §3).

Two markers on one body keep their distance. A set of n markers taken as one body costs its
misfit, and saves degrees of freedom: apart, its parts would need their own poses. Parts are
joined, cheapest first, as long as the misfit per degree of freedom saved stays within what the
markers' own unrest explains. So the number of bodies comes from the data.

Unrest is what skin and joints do, slowly. What changes from one frame to the next is the cameras'
noise: it is measured there and taken off. A pose that is held says no more than one frame of it.

Where bodies are: poses of marker groups, from all frames and all their markers at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from osteon.articulation.body_evidence import COMPARED_FRAMES, SKIN_SHARE, join_by_evidence
from osteon.errors import NotEnoughData
from osteon.maths import (
    NORMAL_RATIO,
    distances_between,
    generalised_procrustes,
    noise_gain,
    quat,
)
from osteon.typing import Array
from osteon.values import Bodies, Recording

MOST_LOOKED_AT = 600
"""Frames looked at, spread evenly. Chosen: bounds time."""
SHARED_FRAMES = 20
"""Frames two markers must be seen in together to be compared. Chosen."""
ENOUGH = 3 * SHARED_FRAMES
"""Frames of a motion that tell its parts; where fewer differ all are looked at."""
RARE_SHARE = 0.02
"""Share of the frames in which a joint must bend to be noticed. Chosen."""
RARE_SIGMAS = 2.33
"""Standard deviations that normal noise exceeds in so few frames. Derived: two-sided, 2 %."""
STILLEST_SHARE = 0.002
"""Share of the body's size. Chosen: skin is never steadier, 1 mm on a human, 0.1 on a mouse."""
FOURTH = np.array([1.0, -4.0, 6.0, -4.0, 1.0]) / np.sqrt(noise_gain(4))
"""Fourth difference that leaves the variance of white noise as it is."""
HELD_SECONDS = 0.5
"""Seconds. Chosen: who changes nothing for so long holds a pose."""
HELD_RATIO = 3.0
"""Ratio: a marker moves where its distances have changed by more than this many times their noise.
Chosen: noise alone does so in one frame of thirty."""
AROUND_FRAMES = np.arange(-6, 7, 2)
"""Frames before and after of which half must show a deviation too. Derived: samples displaced for
up to six frames in a row do not, and a joint takes longer to bend and straighten."""
USUAL_SIGMAS = 3.0
"""Standard deviations, judged by the median, up to which a deviation needs no neighbours. Chosen:
normal noise hardly exceeds them."""
OUTLYING_SIGMAS = 6.0
"""Standard deviations, judged by the median, beyond which a difference is no noise but a sample
displaced. Chosen: normal noise never gets there, that of filtered tracks hardly."""
UNREST_RATIO = 2.0
"""Ratio of the misfit per degree of freedom to the markers' own unrest up to which distances alone
make parts one. Chosen: with 3 they join a chest to a pelvis that turn against each other by three
times what skin does."""
SKIN_RATIO = 3.5
"""Ratio of the most that skin does to a body to the unrest between a marker and its second
companion, in the median. Chosen on the same people as ``SKIN_SHARE``, which bounds it: thighs need
3.3."""


TWO_BODIES_RATIO = 1.7
"""Ratio of mean squares: halves of what looks like one body are two if they turn against each other
by more than so many times what noise explains. Simulated: 64 rigid bodies in raw and in filtered
noise gave 0.7–1.5, 128 joints of 20° and 40°, three and nine markers, 2 mm, gave 2 and more."""
SETTLING_COUNT = 10
"""Count of rounds in which markers may still change groups. Chosen: bounds time."""
LOOSEST_SHARE = 0.1
"""Share of the markers' distances: where even the steadiest pairs vary by it nothing is rigid.
Chosen."""
WIDEST_SHARE = 0.8
"""Share of the markers' distance from their middle up to which two of one body may be apart.
Chosen: 30 cm on a human; others of the same body lie between."""


def segment(recording: Recording) -> tuple[tuple[str, ...], ...]:
    """Groups of markers that move together, largest first; markers hardly seen are left out."""
    positions = np.where(recording.measured[..., None], recording.positions, np.nan)
    looked_at = np.arange(0, len(positions), max(1, len(positions) // MOST_LOOKED_AT))
    noise = _noise(positions, looked_at)
    usual = float(np.median(noise[noise > 0.0])) if noise.any() else 0.0
    stillest = STILLEST_SHARE * _size(positions[looked_at])
    frames = _moving(positions, recording.rate, max(stillest, HELD_RATIO * usual))
    spread = distance_spread(positions, frames)
    usable = np.isfinite(spread).sum(axis=1) > 1
    if usable.sum() < 2:
        raise NotEnoughData(
            f"no two markers are seen together in {SHARED_FRAMES} frames; bodies are found by what "
            "keeps its distance while it moves, so give a longer take, or labels of a known set"
        )
    columns = np.flatnonzero(usable)
    spread, noise = spread[np.ix_(columns, columns)], noise[np.ix_(columns, columns)]
    _check_structure(spread, stillest / STILLEST_SHARE)
    # noise below the stillest skin is within what any marker is allowed
    calm = np.sqrt(np.maximum(spread**2 - np.maximum(noise**2 - stillest**2, 0.0), 0.0))
    # a variance is known to a share of √(2/n): so much of the noise may be left
    left_over = usual * (2.0 / len(frames)) ** 0.25
    unrest = max(stillest, left_over)
    groups = join_groups(calm, unrest)
    some = positions[np.ix_(frames[:: max(1, len(frames) // COMPARED_FRAMES)], columns)]
    size = stillest / STILLEST_SHARE
    near = _near(some, spread, size)
    least = UNREST_RATIO * max(_unrest(calm), unrest)
    skin = max(min(SKIN_RATIO * _unrest(calm, companion=2), SKIN_SHARE * size), least)
    # a distance has the noise of both its ends
    groups = join_by_evidence(some, groups, skin, usual / np.sqrt(2.0), near)
    named = [tuple(recording.names[columns[i]] for i in sorted(group)) for group in groups]
    if len(named) == 1:
        named = _one_or_two(recording, named[0])
    return tuple(sorted(named, key=lambda group: (-len(group), recording.index(group[0]))))


def _near(observed: Array, spread: Array, size: float) -> np.ndarray:
    """(n_markers, n_markers) which markers could share a body: beside each other in the median, and
    not far from keeping their distance."""
    beside = np.zeros(spread.shape, dtype=bool)
    for first in range(len(spread)):
        away = np.linalg.norm(observed - observed[:, first : first + 1], axis=-1)
        # what is not seen counts as far
        beside[first] = np.median(np.where(np.isfinite(away), away, np.inf), axis=0) < (
            WIDEST_SHARE * size
        )
    return beside & (spread < LOOSEST_SHARE * size)


def _one_or_two(recording: Recording, group: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The one group of a take, or its halves where these turn by more than noise explains.

    Turns show what distances hide; how noisy they are a shape must tell.
    """
    halves = _halves(recording.select(group))
    if halves is None:
        return [group]
    turn, explained = _turn_of_halves(halves)
    return list(halves.markers) if turn**2 > TWO_BODIES_RATIO * explained**2 else [group]


def _noise(positions: Array, frames: np.ndarray) -> Array:
    """(n_markers, n_markers) standard deviation of each distance's noise, metres.

    From fourth differences over time, in which motion up to a sixth of the frame rate cancels; 0
    where no five frames in a row show both markers.
    """
    frames = frames[(frames > 1) & (frames < len(positions) - 2)]
    noise = np.zeros((positions.shape[1],) * 2)
    for first in range(positions.shape[1]):
        differences = np.zeros((len(frames), positions.shape[1]))
        for step, share in zip(range(-2, 3), FOURTH, strict=True):
            there = positions[frames + step]
            differences += share * np.linalg.norm(there - there[:, first : first + 1], axis=-1)
        noise[first] = _steady_rms(differences)
    return noise


def _moving(positions: Array, rate: float, least: float) -> np.ndarray:
    """Up to about ``MOST_LOOKED_AT`` frames in which some marker's distances differ, RMS, by
    ``least`` metres from a while before; of all frames where too few do: nothing else is known."""
    stride = max(1, len(positions) // (4 * MOST_LOOKED_AT))
    candidates = positions[::stride]
    lag = max(1, round(HELD_SECONDS * rate / stride))
    moves = np.ones(len(candidates), dtype=bool)
    for frame in range(lag, len(candidates)):
        now, then = candidates[frame], candidates[frame - lag]
        change = distances_between(now, now) - distances_between(then, then)
        moves[frame] = not np.isfinite(change).any() or (_rms(change) > least).any()
    kept = stride * np.flatnonzero(moves if moves.sum() >= ENOUGH else np.ones_like(moves))
    return kept[:: max(1, len(kept) // MOST_LOOKED_AT)]


def _rms(values: Array) -> Array:
    """Of each column, over what is finite; 0 where nothing is."""
    known = np.isfinite(values)
    total = (np.where(known, values, 0.0) ** 2).sum(axis=0)
    return np.sqrt(total / np.maximum(known.sum(axis=0), 1))


def _steady_rms(values: Array) -> Array:
    """Of each column as ``_rms``, but for values that no noise of the middle ones would reach."""
    size = np.abs(values)
    known = np.isfinite(size).any(axis=0)
    limit = np.full(values.shape[1], np.inf)
    limit[known] = OUTLYING_SIGMAS * NORMAL_RATIO * np.nanmedian(size[:, known], axis=0)
    return _rms(np.where(size > np.maximum(limit, 1e-12), np.nan, values))


def distance_spread(positions: Array, frames: np.ndarray) -> Array:
    """(n_markers, n_markers) how much each distance varies over these frames, metres.

    The standard deviation, or what the rarer frames say where that is more: a joint that bends
    for a moment only is a joint all the same. Pairs seen together too rarely are infinite: nothing
    says that they move together.
    """
    n_markers = positions.shape[1]
    spread = np.zeros((n_markers, n_markers))
    around = np.clip(frames + AROUND_FRAMES[:, None], 0, len(positions) - 1)
    rows, places = np.unique(np.concatenate([frames[None], around]), return_inverse=True)
    positions, places = positions[rows], places.reshape(-1, len(frames))
    frames, around = places[0], places[1:]
    for first in range(n_markers):
        gaps = np.linalg.norm(positions - positions[:, first : first + 1], axis=-1)
        enough = np.isfinite(gaps[frames]).sum(axis=0) >= SHARED_FRAMES
        known = gaps[:, enough]
        off = known - np.nanmedian(known[frames], axis=0)
        off = _as_neighbours_show(off[frames], off[around])
        rare = np.nanquantile(np.abs(off), 1.0 - RARE_SHARE, axis=0) / RARE_SIGMAS
        spread[first] = np.inf
        spread[first, enough] = np.maximum(np.nanstd(off, axis=0), rare)
    return spread


def _as_neighbours_show(off: Array, around: Array) -> Array:
    """Deviations (n_frames, n), cut to what is usual or to what the frames ``around`` (n_around,
    n_frames, n) show.

    Joints bend and skin slides for a while; what is there for a moment only is a sample displaced.
    """
    usual = USUAL_SIGMAS * NORMAL_RATIO * np.nanmedian(np.abs(off), axis=0)
    limit = np.broadcast_to(usual, off.shape).copy()
    far = np.abs(off) > limit
    limit[far] = np.maximum(limit[far], np.nanmedian(np.abs(around[:, far]), axis=0))
    return np.clip(off, -limit, limit)


def join_groups(spread: Array, stillest: float) -> list[list[int]]:
    """Agglomerate markers while joining costs less than the freedom it saves.

    ``stillest`` is the least unrest, metres, that a marker is credited with.
    """
    unrest = max(_unrest(spread), stillest)
    groups = [[marker] for marker in range(len(spread))]
    squares = spread**2
    between = squares.copy()  # sums over the pairs of markers of two groups
    while len(groups) > 1:
        price, first, second = _cheapest(np.array([len(group) for group in groups]), between)
        if price > (UNREST_RATIO * unrest) ** 2:
            break
        groups[first] += groups.pop(second)
        between[first] += between[second]
        between[:, first] += between[:, second]
        between = np.delete(np.delete(between, second, axis=0), second, axis=1)
    return _settled(groups, squares)


def _settled(groups: list[list[int]], squares: Array) -> list[list[int]]:
    """Move markers that joined early to the group they are steadiest with in the end."""
    home = np.zeros(len(squares), dtype=int)
    for index, group in enumerate(groups):
        home[group] = index
    for _ in range(SETTLING_COUNT):
        member = np.eye(len(groups))[home]
        others = member.sum(axis=0) - member  # how many others each group would offer a marker
        total = (
            np.where(np.isfinite(squares), squares, squares[np.isfinite(squares)].max()) @ member
        )
        mean = np.where(others > 0, total / np.maximum(others, 1), np.inf)
        alone = others[np.arange(len(home)), home] == 0
        best = np.where(alone, home, np.argmin(mean, axis=1))
        if (best == home).all():
            break
        home = best
    return [group for i in range(len(groups)) if (group := np.flatnonzero(home == i).tolist())]


def _unrest(spread: Array, companion: int = 1) -> float:
    """How much a marker's distance to its steadiest companion varies, or to the next ones, in the
    median, metres."""
    others = np.sort(spread + np.diag(np.full(len(spread), np.inf)), axis=1)
    steady = others[:, min(companion, len(spread) - 1) - 1]
    return float(np.median(steady[np.isfinite(steady)])) if np.isfinite(steady).any() else 0.0


def _size(positions: Array) -> float:
    """Median distance of the markers from their middle, in the frame that shows most, metres."""
    whole = positions[np.argmax(np.isfinite(positions[..., 0]).sum(axis=1))]
    whole = whole[np.isfinite(whole[:, 0])]
    if not len(whole):
        return 0.0
    return float(np.median(np.linalg.norm(whole - np.median(whole, axis=0), axis=-1)))


def _check_structure(spread: Array, size: float) -> None:
    if _unrest(spread) > LOOSEST_SHARE * size:
        raise NotEnoughData(
            f"no markers keep their distance: even the steadiest pairs vary by "
            f"{1e3 * _unrest(spread):.0f} mm; check the labels, or whether these are markers at all"
        )


def _cheapest(sizes: np.ndarray, between: Array) -> tuple[float, int, int]:
    """What the cheapest two groups cost to join, per degree of freedom that it saves; and which.

    The misfit of a group taken as rigid is the sum of squared marker errors per frame. A distance
    shows one of three directions in which its ends may part, hence the factor.
    """
    within = np.diag(between)
    misfit = 3.0 * within / (2.0 * sizes)
    whole = within[:, None] + within + 2.0 * between
    joined = 3.0 * whole / (2.0 * (sizes[:, None] + sizes))
    freedom = np.where(sizes < 3, 2 * sizes + 1, 6)  # of a body that so many markers show
    saved = freedom[:, None] + freedom - np.where(sizes[:, None] + sizes < 3, 5, 6)
    price = (joined - misfit[:, None] - misfit) / saved
    price[np.tril_indices(len(sizes))] = np.inf
    first, second = np.unravel_index(np.argmin(price), price.shape)
    return float(price[first, second]), int(first), int(second)


NARROWEST_RATIO = 0.1
"""Ratio of a shape's second extent to its first that still shows an orientation. Chosen."""


@dataclass(frozen=True, slots=True, eq=False)
class TrackedBodies:
    """Poses of marker groups and the shapes behind them."""

    bodies: Bodies
    markers: tuple[tuple[str, ...], ...]
    """The markers of every body."""
    templates: tuple[Array, ...]
    """(n_markers, 3) of every body, in its own frame, metres."""
    marker_noise: Array
    """(n_bodies,) standard deviation per axis of a marker about its body, metres."""
    left_out: tuple[str, ...]
    """Markers of groups that show no orientation: fewer than three, or all in a line."""


def track(
    recording: Recording, groups: Sequence[Sequence[str]], called: Sequence[str] | None = None
) -> TrackedBodies:
    """Poses of every group of at least three markers that are not in a line.

    ``called`` names the groups; None goes by their markers' names.
    """
    kept, poses, left_out, names = [], [], [], []
    for place, group in enumerate(groups):
        columns = [recording.index(name) for name in group]
        shape = generalised_procrustes(recording.positions[:, columns]) if len(group) >= 3 else None
        if shape is None or not _shows_orientation(shape.template):
            left_out += group
            continue
        kept.append(tuple(group))
        poses.append(shape)
        names += [] if called is None else [called[place]]
    if not poses:
        raise NotEnoughData(
            "no group of three or more markers keeps its shape: there are no bodies to follow"
        )
    bodies = Bodies(
        np.stack([shape.fit.positions for shape in poses], axis=1),
        np.stack([shape.fit.rotations for shape in poses], axis=1),
        body_names(kept) if called is None else tuple(names),
        recording.rate,
        subject=recording.subject,
        marks=recording.marks,
        history=(*recording.history, f"{len(kept)} bodies from groups of markers"),
        source=recording.source,
    )
    noise = [_coordinate_noise(shape.marker_rms) for shape in poses]
    return TrackedBodies(
        bodies,
        tuple(kept),
        tuple(shape.template for shape in poses),
        np.array(noise),
        tuple(left_out),
    )


def tell_one_body(recording: Recording) -> str:
    """Say that all markers move as one body, and how far its halves turn against each other."""
    said = f"all {recording.n_markers} markers move as one body; there is no joint to be found"
    halves = _halves(recording)
    if halves is None:
        return said
    turn, noise = np.degrees(_turn_of_halves(halves))
    named = " and ".join(", ".join(markers) for markers in halves.markers)
    return (
        f"{said}. Its halves, {named}, turn against each other by {turn:.1f}° rms, of which noise "
        f"explains {noise:.1f}°: if they are two bodies, bend their joint further"
    )


def _halves(recording: Recording) -> TrackedBodies | None:
    """The markers nearer to either end, as two bodies; None where they do not make two."""
    apart = np.linalg.norm(recording.positions[:, :, None] - recording.positions[:, None], axis=-1)
    known = np.isfinite(apart)
    lengths = np.where(known, apart, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    ends = np.unravel_index(np.argmax(lengths), lengths.shape)
    nearer = np.argmin(lengths[:, ends], axis=1)
    names = np.array(recording.names)
    groups = [names[nearer == end].tolist() for end in (0, 1)]
    if min(map(len, groups)) < 3:
        return None
    halves = track(recording, groups)
    return halves if halves.bodies.n_bodies == 2 else None


def _turn_of_halves(halves: TrackedBodies) -> tuple[float, float]:
    """Rms angle of two bodies about their mean posture, and what noise gives it; radians."""
    turns = quat.between(halves.bodies.rotations[:, 0], halves.bodies.rotations[:, 1])
    turns = turns[np.isfinite(turns).all(axis=-1)]
    mean = np.linalg.eigh(turns.T @ turns)[1][:, -1]
    angles = quat.angle(quat.between(mean, turns))
    noise = sum(
        float(np.trace(turning_noise(shape, level)))
        for shape, level in zip(halves.templates, halves.marker_noise, strict=True)
    )
    return float(np.sqrt(np.mean(angles**2))), float(np.sqrt(noise))


def turning_noise(template: Array, noise: float) -> Array:
    """(3, 3) covariance, rad², of the turns of a shape whose markers have this noise per axis."""
    inertia = np.sum(template**2) * np.eye(3) - template.T @ template
    return noise**2 * np.linalg.inv(inertia)


def body_names(groups: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """What the markers' names have in common where that tells bodies apart, else a number."""
    common = [_shared_start(group).rstrip("_-.: 0123456789") for group in groups]
    return tuple(
        name if len(name) > 1 and common.count(name) == 1 else f"body_{number:02d}"
        for number, name in enumerate(common, 1)
    )


def _shared_start(names: Sequence[str]) -> str:
    first, last = min(names), max(names)
    same = [a == b for a, b in zip(first, last, strict=False)]
    return first[: same.index(False)] if False in same else first[: len(same)]


def _shows_orientation(template: Array) -> bool:
    extents = np.linalg.svd(template - template.mean(axis=0), compute_uv=False)
    return bool(extents[1] > NARROWEST_RATIO * extents[0])


def _coordinate_noise(marker_rms: Array) -> float:
    """Noise of a single coordinate: what is left after six degrees of freedom were fitted."""
    known = marker_rms[np.isfinite(marker_rms)]
    freedom = max(3 * len(known) - 6, 1)
    return float(np.sqrt(np.sum(known**2) / freedom))
