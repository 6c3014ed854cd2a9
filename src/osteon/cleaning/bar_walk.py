"""A bar with two sensors, walked through the volume, tells what a tracker does to places. [000].

The distance of both sensors is known, so wherever the bar is, the distance that is reported tells
how much the volume is stretched there, along the bar. A smooth field that makes all distances
right is fitted; how smooth it has to be, stretches of the walk decide that the fit has not seen.
What is left is the noise, which may grow over the volume too. docs/guide/field.md.

Distances say nothing of where the whole volume is, nor how it is turned: both stay as reported.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from osteon.errors import BadValue, NotEnoughData
from osteon.maths import SMOOTH_ORDER, mad_scale, noise_of_differences, quat, rotations
from osteon.typing import Array
from osteon.values import Bodies, Recording, Take, TrackerField, smooth_terms, term_degrees

FEWEST_SAMPLES = 200
"""Count of frames that must show both sensors. Chosen: more than there are
unknowns."""
MOST_SAMPLES = 8000
"""Count of frames to which a longer walk is thinned. Chosen: bounds time, and neighbours say the
same."""
BEND_DEGREE = 5
"""Count: degree of the field. Chosen: finer bends hide within the bar."""
BEND_SIZES = (0.001, 0.003, 0.01, 0.03, 0.1)
"""Metres that linear terms bend places by, beforehand; the best is found. Chosen: from nothing to
more than any tracker."""
BEND_RATIO = 0.6
"""Ratio of the size of terms, beforehand, to that of one degree less. Chosen: fields of iron
outside the volume fade that fast."""
NOISE_DEGREES = (0, 1, 2)
"""Degrees of the noise's logarithm that are tried. Chosen: it grows outwards."""
FOLD_COUNT, FOLD_BLOCKS = 5, 40
"""Count of parts of the walk that are left out in turn, and of stretches they are made of. Chosen:
each part is spread over the whole walk."""
FIT_ROUNDS = 3
"""Count of fits, each linear about the one before and weighed by its noise. Chosen: the third
changes nothing that shows."""
NOISE_ROUNDS = 8
"""Count of steps of Newton. Chosen: more than it takes."""
FARTHEST_DEVIATIONS = 5.0
"""Standard deviations beyond which a distance is a stray. Chosen: none of 10⁶ is by chance."""
LOOSE_SHARE = 0.03
"""Share of the bar's length that may be left of its changes once the field is taken off. Chosen:
two and a half times what [000] has before any correction."""
LOOSE_TURN = np.radians(10.0)
"""Radians by which both sensors may turn against each other, root mean square. Chosen: ten times a
tracker's noise, and above what iron does to orientations."""
STEP_SHARE = 0.01
"""Share of the bar's length by which it may get longer or shorter for good. Chosen: a clamp that
slips; less than it is not seen beside what fields leave."""
STEP_DEVIATIONS = 6.0
"""Standard deviations that such a step must exceed. Chosen: the largest is
looked for."""
SCALE_BOUNDS = (0.5, 2.0)
"""Ratios of a bar's length to what is reported that a tracker may need. Chosen: others are another
unit."""
NARROW_SHARE = 0.05
"""Share of the bar's directions that each axis must have, of 1/3 if all are alike. Chosen: below, a
bar was hardly ever held that way."""


@dataclass(frozen=True, slots=True, eq=False)
class FieldWalk:
    """A field, and the walk that it was found from."""

    field: TrackerField
    sensors: tuple[str, str]
    times: Array
    """(n,) seconds."""
    places: Array
    """(n, 2, 3) of both sensors, as reported, metres."""
    scaled: Array
    """(n,) their distance by the scale alone, metres."""
    corrected: Array
    """(n,) their distance once the field is taken off, metres."""
    left: float
    """Root mean square of the distance's error in stretches that the fit had not seen, metres."""
    white: float
    """Standard deviation of the part of it that changes from frame to frame, metres."""
    turn: float | None
    """Root mean square by which both sensors turn against each other, radians; None for markers."""
    notes: tuple[str, ...]


def field_of_bar(take: Take, distance: float, sensors: tuple[str, str] | None = None) -> FieldWalk:
    """Find a tracker's field from a rigid bar that was walked through its volume.

    Parameters
    ----------
    distance
        Metres between both sensors, as measured.
    sensors
        Their names; may be left out where the take has no others.
    """
    if not distance > 0.0:
        raise BadValue(f"the distance of two sensors must be positive, got {distance}")
    source = take.body_poses() if take.bodies else take.recording().markers()
    names = _names(source, sensors)
    pair = source.select(names)
    times, places = _samples(pair, names)
    scale = metres_per_reported(np.linalg.norm(np.diff(places, axis=1)[:, 0], axis=-1), distance)
    _check_scale(scale, distance)
    _check_walk(places, distance)
    walk = _Walk(places, scale, distance)
    field, left = _fit(walk)
    corrected = np.linalg.norm(np.diff(field.corrected(places), axis=1)[:, 0], axis=-1)
    turn = _turn(pair) if isinstance(pair, Bodies) else None
    _check_rigid(names, corrected - distance, times, distance, left, turn)
    white = noise_of_differences(np.diff(corrected[:, None, None], n=SMOOTH_ORDER, axis=0))
    return FieldWalk(
        field=field,
        sensors=names,
        times=times,
        places=places,
        scaled=scale * np.linalg.norm(np.diff(places, axis=1)[:, 0], axis=-1),
        corrected=corrected,
        left=left,
        white=float(white[0]),
        turn=turn,
        notes=_narrow(places, distance),
    )


def without_field(take: Take, field: TrackerField) -> Take:
    """The same take, its markers and bodies where they are and not where a tracker reports them."""
    if not take.recordings and not take.bodies:
        raise NotEnoughData(
            "a tracker's field is taken off markers or bodies; the file has neither"
        )
    return replace(
        take,
        recordings=tuple(field.correct_recording(each) for each in take.recordings),
        bodies=tuple(field.correct_bodies(each) for each in take.bodies),
    )


def metres_per_reported(lengths: Array, distance: float) -> float:
    """Metres per metre that the tracker reports, from distances (n,) of a bar of this length."""
    # noise lengthens distances: E d² = D² + the variance of the difference
    noise = np.nanvar(np.diff(lengths)) / 2.0
    return float(distance / np.sqrt(max(np.mean(lengths**2) - 2.0 * noise, 1e-12)))


def _names(source: Bodies | Recording, asked: tuple[str, str] | None) -> tuple[str, str]:
    if asked is not None:
        if asked[0] == asked[1]:
            raise BadValue(f"a bar has two sensors, got {asked[0]!r} twice")
        return asked
    if len(source.names) != 2:
        raise BadValue(
            f"a bar has two sensors, the file has {len(source.names)}; name them by `sensors`"
        )
    return source.names[0], source.names[1]


def _samples(pair: Bodies | Recording, names: tuple[str, str]) -> tuple[Array, Array]:
    """Times (n,) and places (n, 2, 3) of the frames that show both."""
    both = np.flatnonzero(np.isfinite(pair.positions).all(axis=(1, 2)))
    if len(both) < FEWEST_SAMPLES:
        raise NotEnoughData(
            f"{len(both)} frames show both {names[0]} and {names[1]}; a tracker's field needs "
            f"{FEWEST_SAMPLES}: walk the bar through the volume for half a minute"
        )
    both = both[:: -(-len(both) // MOST_SAMPLES)]
    return both / pair.rate, pair.positions[both]


def _check_scale(scale: float, distance: float) -> None:
    if not SCALE_BOUNDS[0] <= scale <= SCALE_BOUNDS[1]:
        raise BadValue(
            f"`distance` {distance:g} m is {scale:.3g} times the {distance / scale:.3g} m that the "
            "sensors are apart in the file; it is given in metres, and the file's unit may be wrong"
        )


def _check_walk(places: Array, distance: float) -> None:
    size = np.ptp(places.mean(axis=1), axis=0)
    if size.max() < distance:
        walked = " × ".join(f"{100 * each:.0f}" for each in size)
        raise NotEnoughData(
            f"the bar of {100 * distance:.0f} cm moves within {walked} cm only; a field shows over "
            "a volume: walk it through all of the space that is recorded in, turned all ways"
        )


def _narrow(places: Array, distance: float) -> tuple[str, ...]:
    """What the walk leaves open."""
    ways = np.diff(places, axis=1)[:, 0] / distance
    shares, axes = np.linalg.eigh(np.einsum("ki,kj->ij", ways, ways) / len(ways))
    if shares[0] / shares.sum() > NARROW_SHARE:
        return ()
    way = "xyz"[int(np.argmax(np.abs(axes[:, 0])))]
    return (
        f"the bar was hardly ever held along {way}, so stretching along {way} is a guess; turn it "
        "all ways while walking",
    )


@dataclass(frozen=True, eq=False)
class _Walk:
    """Places as reported, and the length that they should show."""

    places: Array
    scale: float
    distance: float

    @property
    def box(self) -> tuple[Array, Array]:
        low, high = self.places.min(axis=(0, 1)), self.places.max(axis=(0, 1))
        return 0.5 * (low + high), np.maximum(0.5 * (high - low), 1e-3)

    @property
    def n_terms(self) -> int:
        return len(term_degrees(BEND_DEGREE))

    @cached_property
    def terms(self) -> Array:
        """(n, n_terms) how much each term differs at both sensors."""
        centre, reach = self.box
        both = smooth_terms((self.places - centre) / reach, BEND_DEGREE)
        return both[:, 0] - both[:, 1]

    def middles(self, degree: int) -> Array:
        """(n, n_terms) the terms half way between both sensors."""
        centre, reach = self.box
        return smooth_terms((self.places.mean(axis=1) - centre) / reach, degree)

    @property
    def apart(self) -> Array:
        """(n, 3) from one sensor to the other, scaled."""
        return self.scale * (self.places[:, 0] - self.places[:, 1])


def _fit(walk: _Walk) -> tuple[TrackerField, float]:
    """The field, and the root mean square error of distances it had not seen."""
    bends, left = np.zeros((walk.n_terms, 3)), 0.0
    noises, noise_degree = np.zeros(1), 0
    spread = np.full(len(walk.places), 0.01 * walk.distance)
    for _ in range(FIT_ROUNDS):
        line = _linearised(walk, bends, spread)
        unseen = [_unseen_errors(line, size) for size in BEND_SIZES]
        costs = [float(np.mean((_without_strays(each) / spread) ** 2)) for each in unseen]
        best = int(np.argmin(costs))
        bends = _solved(line, BEND_SIZES[best], np.ones(FOLD_BLOCKS, dtype=bool))
        errors = _without_strays(unseen[best])
        left = float(np.sqrt(np.mean(errors**2)))
        noise_degree = min(NOISE_DEGREES, key=lambda d: _unseen_noise(walk.middles(d), errors))
        terms = walk.middles(noise_degree)
        noises = _noise(terms, errors)
        spread = np.sqrt(2.0) * np.exp(0.5 * terms @ noises)
    centre, reach = walk.box
    field = TrackerField(
        walk.distance, walk.scale, centre, reach, bends, BEND_DEGREE, noises, noise_degree
    )
    return field, left


@dataclass(frozen=True, slots=True, eq=False)
class _Linearised:
    """The distances' errors as linear in the field, near some field; sums of each stretch."""

    slopes: Array
    """(n, n_unknowns) per metre."""
    right: Array
    """(n,) metres: the error is ``slopes · bends − right``."""
    blocks: np.ndarray
    """(n,) stretch of each frame."""
    own: Array
    """(n_blocks, n_unknowns, n_unknowns) weighed sums of products."""
    pull: Array
    """(n_blocks, n_unknowns)"""


def _linearised(walk: _Walk, bends: Array, spread: Array) -> _Linearised:
    between = walk.apart + walk.terms @ bends
    lengths = np.linalg.norm(between, axis=-1)
    slopes = walk.terms[:, 1:, None] * (between / lengths[:, None])[:, None]
    slopes = slopes.reshape(len(slopes), -1)
    errors = lengths - walk.distance
    right = slopes @ bends[1:].reshape(-1) - errors
    counts = _stray_weights(errors / spread) / spread**2
    blocks = _stretches(len(errors))
    own, pull = [], []
    for block in range(FOLD_BLOCKS):
        rows = slice(*np.searchsorted(blocks, (block, block + 1)))
        weighed = counts[rows, None] * slopes[rows]
        own.append(weighed.T @ slopes[rows])
        pull.append(weighed.T @ right[rows])
    return _Linearised(slopes, right, blocks, np.array(own), np.array(pull))


def _stretches(n: int) -> np.ndarray:
    """(n,) the stretch of the walk that each frame is in."""
    return np.arange(n) * FOLD_BLOCKS // n


def _solved(line: _Linearised, size: float, used: np.ndarray) -> Array:
    """(n_terms, 3) the field by some of the stretches; higher terms are smaller beforehand."""
    degrees = np.repeat(term_degrees(BEND_DEGREE)[1:], 3)
    firm = (size * BEND_RATIO ** (degrees - 1.0)) ** -2
    own = line.own[used].sum(axis=0) + np.diag(firm)
    found = np.linalg.solve(own, line.pull[used].sum(axis=0)).reshape(-1, 3)
    return np.concatenate([np.zeros((1, 3)), found])


def _unseen_errors(line: _Linearised, size: float) -> Array:
    """(n,) errors of distances by a field that has not seen them."""
    errors = np.empty(len(line.right))
    for fold in range(FOLD_COUNT):
        used = np.arange(FOLD_BLOCKS) % FOLD_COUNT != fold
        hidden = ~used[line.blocks]
        bends = _solved(line, size, used)[1:].reshape(-1)
        errors[hidden] = line.slopes[hidden] @ bends - line.right[hidden]
    return errors


def _stray_weights(errors: Array) -> Array:
    """Strays count less, by Huber's rule."""
    limit = FARTHEST_DEVIATIONS * float(mad_scale(errors)) + 1e-12
    return np.minimum(1.0, limit / np.maximum(np.abs(errors), limit))


def _without_strays(errors: Array) -> Array:
    limit = FARTHEST_DEVIATIONS * float(mad_scale(errors)) + 1e-12
    return np.clip(errors, -limit, limit)


def _noise(terms: Array, errors: Array) -> Array:
    """(n_terms,) logarithm of the variance per axis, by likelihood; two sensors make an error."""
    squares = 0.5 * errors**2
    noises = np.zeros(terms.shape[1])
    noises[0] = np.log(max(float(squares.mean()), 1e-12))
    for _ in range(NOISE_ROUNDS):
        share = squares * np.exp(-terms @ noises)
        slope = terms.T @ (1.0 - share)
        slope[1:] += noises[1:]
        own = (terms * np.maximum(share, 0.1)[:, None]).T @ terms + np.eye(len(noises))
        noises = noises - np.linalg.solve(own, slope)
    return noises


def _unseen_noise(terms: Array, errors: Array) -> float:
    """How badly noise is foretold in stretches that it was not found from."""
    squares, cost = 0.5 * errors**2, 0.0
    for fold in range(FOLD_COUNT):
        hidden = _stretches(len(errors)) % FOLD_COUNT == fold
        told = terms[hidden] @ _noise(terms[~hidden], errors[~hidden])
        cost += float(np.sum(told + squares[hidden] * np.exp(-told)))
    return cost


def _turn(pair: Bodies) -> float:
    """Root mean square by which both turn against each other, radians."""
    seen = pair.seen.all(axis=1)
    between = quat.between(pair.rotations[seen, 0], pair.rotations[seen, 1])
    mean = rotations.frechet_mean(between)
    return float(np.sqrt(np.mean(quat.angle(quat.between(mean, between)) ** 2)))


def _check_rigid(
    names: tuple[str, str],
    errors: Array,
    times: Array,
    distance: float,
    left: float,
    turn: float | None,
) -> None:
    """Refuse a bar that is not rigid: no field could be told from how it bends."""
    what = f"{names[0]} and {names[1]} are not fixed to one rigid bar"
    if turn is not None and turn > LOOSE_TURN:
        raise BadValue(
            f"{what}: they turn against each other by {np.degrees(turn):.0f}°, where a tracker's "
            f"error stays below {np.degrees(LOOSE_TURN):.0f}°; fasten both and walk again"
        )
    if left > LOOSE_SHARE * distance:
        raise BadValue(
            f"{what}: beyond what a smooth field explains their distance changes by "
            f"{1000 * left:.0f} mm, {100 * left / distance:.0f} % of it, where "
            f"{100 * LOOSE_SHARE:.0f} % is the most of a tracker; fasten both and walk again"
        )
    where, step = _step(errors)
    if abs(step) > STEP_SHARE * distance:
        longer = "longer" if step > 0.0 else "shorter"
        raise BadValue(
            f"{what}: the bar is {1000 * abs(step):.0f} mm {longer} after {times[where]:.1f} s "
            "than before; fasten both and walk again"
        )


def _step(errors: Array) -> tuple[int, float]:
    """Where the mean of errors changes most, and by how much; 0 where chance explains it."""
    errors = _without_strays(errors)
    n, total = np.arange(1, len(errors)), np.cumsum(errors)
    before, after = total[:-1] / n, (total[-1] - total[:-1]) / n[::-1]
    usual = np.sqrt(_frames_alike(errors) * np.var(errors) * (1.0 / n + 1.0 / n[::-1]))
    sure = np.abs(after - before) / np.maximum(usual, 1e-12)
    edge = len(errors) // 20
    where = edge + int(np.argmax(sure[edge : len(sure) - edge]))
    found = float((after - before)[where])
    return where + 1, found if sure[where] > STEP_DEVIATIONS else 0.0


def _frames_alike(errors: Array) -> float:
    """Count of frames that say as much as one independent frame does, over blocks of the walk."""
    blocks = np.array_split(errors - np.median(errors), FOLD_BLOCKS)
    inside = np.concatenate([block - block.mean() for block in blocks])
    centred, alike = inside, 1.0
    power = float(centred @ centred)
    for lag in range(1, len(blocks[0])):
        product = float(centred[lag:] @ centred[:-lag]) / max(power, 1e-300)
        if product < 0.05:
            break
        alike += 2.0 * product
    return alike
