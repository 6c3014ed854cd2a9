"""What kind each joint is, from its rotations about their mean. docs/methods.md §7, [001] §2.1.

The spread of the rotations, by principal geodesic analysis, is compared with a threshold: the
directions beyond it are the joint's freedom. Two free directions on a curved surface spread into
the third, so what looks like three is also tried as two axes: the pair a (in the parent), b (in the
body) with a·Rb constant. Whatever a universal joint does, the angle between its two axes stays.
docs/methods.md E2.7.

Cross-talk is what skin makes of a joint's motion: turns about one axis that show up about the
others. Skin slides as joints bend, and the markers on it take their bodies along. How far that
turns a body depends on how well its markers tell a turn: a shin is 40 cm long and 10 cm thick, so
the same slide twists it four times as far as it swings it. Held against what the markers tell in
each direction, a bending knee shows its cross-talk for what it is.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from osteon.errors import BadValue
from osteon.joint_limits._kinds_kernel import (
    cosines,
    find_rests,
    find_spreads,
    frame_across,
    mix,
    turn_moments,
    turns_about,
)
from osteon.joint_limits.sampling import MOST_NOISE, measure_shaking
from osteon.maths import (
    Spread,
    dot,
    f_quantile,
    forward_kinematics,
    kernel,
    place_points,
    point_jacobian,
    quat,
)
from osteon.papers import absolute, variance95
from osteon.typing import Array, Indices
from osteon.values import Motion

N_POSES = 5
"""Count of poses over which doubts are averaged. Chosen: they change little from pose to pose."""
UNSEEN_ERROR = 0.003
"""Metres of marker error beside which a turn that no marker shows may be a radian. Chosen."""
THRESHOLDS = ("noise", "variance95", "absolute")
KINDS = ("fixed", "hinge", "universal", "ball")
SLOW_SHARE = 0.3
"""Of the frequencies, in which motion is looked for. Chosen: at 50 samples a second below 7.5
Hz."""
SURFACE_FREEDOM = 5
"""Count of numbers that make a surface of two axes. Derived: two directions and the angle
between."""
NOISE_FREEDOM = 1.3
"""Ratio: degrees of freedom per sample of the noise found. Derived: three directions of third
differences, each 1 / 2.31 as neighbours are correlated."""
SURE_CHANCE, SURER_CHANCE = 0.996, 0.9999
"""Shares: how often noise alone passes for noise: out of a fitted surface, and along a direction,
where the largest of three that were chosen by their spread is judged. Chosen."""
MOST_CROSSTALK = 0.14
"""Most that skin makes of one direction in a second one, as ``second_to_first`` measures it.

Simulation of 192 hinges and 144 balls under skin that slides by 5 to 15 mm, solved from markers,
tells them apart best at 0.15 and hardly worse from 0.12 to 0.17. Within that it was chosen with
real takes in view."""
N_STARTS = 12
"""Count of directions that the first axis is tried from. Chosen."""
FIRST_ROUNDS, MOST_ROUNDS = 3, 80
"""Counts of rounds from every start, and from the ``N_FOLLOWED`` best of them until they settle.
Chosen: few tell good starts, and the most bound the time."""
N_FOLLOWED = 3
"""Count of best starts that are followed until they settle. Chosen."""
SETTLED_SHARE = 1e-7
"""Share of the variance by which a round must better it to be followed by another. Chosen."""
MOST_OBLIQUE = 1.0
"""Ratio: cotangent of the least angle between the axes. Chosen: nearer than 45° they count as one
that wobbles."""
PAIR_PLACES = np.array([[0, 3, 4], [3, 1, 5], [4, 5, 2]])
"""Codes: places of the products of two parts of a vector, defined as xx, yy, zz, xy, xz, yz."""


def turn_doubts(motion: Motion) -> Array | None:
    """Return (n_bodies, 3, 3) how much markers leave open of each joint's turn, in its body's
    frame.

    The covariance of the joint's rotation if every marker is off by the same, in all directions and
    each for itself, in units of that error; the mean of a few poses. None where the motion was not
    solved from markers.
    """
    skeleton = motion.skeleton
    markers = [marker for body in skeleton.bodies for marker in body.markers]
    _, carriers, places = skeleton.marker_places({m.name for m in markers if m.rms is not None})
    whole = np.flatnonzero(np.isfinite(motion.rotations[..., 0]).all(axis=1))
    if not len(places) or not len(whole):
        return None
    poses = motion.rotations[whole[np.linspace(0, len(whole) - 1, N_POSES).astype(int)]]
    offsets = np.broadcast_to(skeleton.offsets, (*poses.shape[:2], 3))
    world = forward_kinematics(poses, offsets, skeleton.parents)
    placed = place_points(*world, carriers, places)
    moves = point_jacobian(*world, skeleton.parents, carriers.tolist(), placed)
    moves = moves.reshape(N_POSES, -1, moves.shape[-1])
    known = moves.transpose(0, 2, 1) @ moves + UNSEEN_ERROR**2 * np.eye(moves.shape[-1])
    doubts = np.linalg.inv(known).mean(axis=0)
    turns = 3 + 3 * np.arange(len(skeleton.bodies))[:, None] + np.arange(3)
    return doubts[turns[:, :, None], turns[:, None, :]]


def second_to_first(spread: Spread, doubts: Array) -> Array:
    """Return (n_joints,) spread in the second direction as a share of that in the first.

    Directions and spreads are in units of ``doubts`` (n_joints, 3, 3).
    """
    scaled = spread.std[..., None] * spread.directions
    whitener = np.swapaxes(np.linalg.inv(np.linalg.cholesky(doubts)), -1, -2)
    first, second, _ = np.moveaxis(np.linalg.svd(scaled @ whitener, compute_uv=False), -1, 0)
    return second / np.maximum(first, 1e-300)


@dataclass(frozen=True, slots=True)
class KindOptions:
    """What counts as movement."""

    threshold: str = "noise"
    """``noise``: spread well above the shaking found in the data and, in motion solved from
    markers, above what skin makes of the first direction; ``variance95``: the fewest directions
    that hold 95 % of the variance; ``absolute``: a fixed eigenvalue, as in [001]."""
    minimum: float = 0.5
    """Spread that is never movement, degrees; for ``noise`` and ``variance95``."""
    eigenvalue: float = 1e-3
    """Mean square of a quaternion's vector part along a direction; for ``absolute``."""

    def __post_init__(self) -> None:
        if self.threshold not in THRESHOLDS:
            raise BadValue(
                f"threshold must be one of {', '.join(THRESHOLDS)}, got {self.threshold!r}"
            )
        if not (self.minimum >= 0.0 and self.eigenvalue > 0.0):
            raise BadValue("minimum must not be negative, eigenvalue must be positive")


class Degrees(NamedTuple):
    """What was found about n joints."""

    kinds: tuple[str, ...]
    spread: Spread
    noise: Array
    """(n_joints,) radians."""
    threshold: Array
    """(n_joints,) radians of spread above which a direction counts as free."""
    axes: tuple[Array, ...]
    """Per joint (n_axes, 3) in the parent's frame at rest; none for fixed and ball."""
    rest: Array
    """(n_joints, 4) rotation at which the angles about the axes are zero."""
    crosstalk: Array
    """(n_joints,) spread in the second direction as a share of that in the first, by what markers
    tell of each; NaN where the motion is not from markers."""


def find_kinds(
    samples: Array,
    options: KindOptions | None = None,
    frames: Array | None = None,
    doubts: Array | None = None,
) -> Degrees:
    """Kinds, axes and rests of joints.

    Parameters
    ----------
    samples : (n_samples, n_joints, 4)
        Rotations to the parent's frame from the body's; NaN where missing.
    frames : (n_frames, n_joints, 4), optional
        The recording the samples were drawn from, in its own order and rate: the noise is looked
        for there. By default the samples themselves.
    doubts : (n_joints, 3, 3), optional
        Of motion solved from markers, what these leave open; see ``turn_doubts``.
    """
    options = options or KindOptions()
    spread, along = _spread(samples)
    noise = _noise(along if frames is None else _along(spread, frames))
    threshold = _threshold(samples, spread, noise, options)
    moved = _slow_spread(along) if options.threshold == "noise" else spread.std
    n_free = np.sum(moved > threshold[:, None], axis=1)
    crosstalk = np.full(len(noise), np.nan) if doubts is None else second_to_first(spread, doubts)
    if options.threshold == "noise":
        n_free[(n_free >= 2) & (crosstalk < MOST_CROSSTALK)] = 1
    pairs = _pairs(samples, spread, np.flatnonzero(n_free >= 2))
    if options.threshold == "noise":
        free = np.flatnonzero(n_free >= 2)
        n_free[free] = 3
        n_free[_on_a_surface(samples, pairs, free, noise, options)] = 2
    axes, rest = _axes_and_rest(n_free, spread, pairs)
    kinds = tuple(KINDS[n] for n in n_free)
    return Degrees(kinds, spread, noise, threshold, axes, rest, crosstalk)


def _spread(samples: Array) -> tuple[Spread, Array]:
    """``maths.rotations.spread`` of all joints, compiled: most of the time goes here.

    And the turns (n_samples, n_joints, 3) along the directions.
    """
    # to a ten-millionth of a radian: far below any noise, in a few steps
    mean, variance, directions, turns = find_spreads(samples, 1e-7, 50)
    mean = np.where(mean[:, :1] < 0.0, -mean, mean)
    spread = Spread(mean, np.sqrt(np.maximum(variance, 0.0)), directions)
    return spread, _along(spread, samples, turns)


def _along(spread: Spread, q: Array, turns: Array | None = None) -> Array:
    """Turns (n, n_joints, 3) from the means to rotations, along the directions."""
    found = turns_about(spread.mean, q) if turns is None else turns
    along = found.transpose(1, 0, 2) @ spread.directions.transpose(0, 2, 1)
    return along.transpose(1, 0, 2)


def _noise(along: Array) -> Array:
    """Shaking of all directions together, unless the one that moves least shakes far less.

    The more a joint moves the more of its motion is taken for shaking; but of pure noise the least
    direction, picked as the least, shows too little.
    """
    fast = measure_shaking(along)
    n_frames = np.maximum(np.isfinite(along[..., 0]).sum(axis=0), 1)
    together = np.sqrt(np.mean(fast**2, axis=-1))
    least = (1.0 + 2.5 / np.sqrt(n_frames)) * fast[:, 2]
    return np.minimum(np.minimum(together, least), MOST_NOISE)


def _threshold(samples: Array, spread: Spread, noise: Array, options: KindOptions) -> Array:
    """Return the spread above which a direction counts as free, (n_joints,) radians."""
    minimum = np.full(len(noise), np.radians(options.minimum))
    if options.threshold == "absolute":
        return absolute(len(noise), options.eigenvalue)
    if options.threshold == "variance95":
        return variance95(spread.std, minimum)
    return np.maximum(minimum, noise * np.sqrt(_slow_noise(_n_seen(samples), 0, SURER_CHANCE)))


def _slow_spread(along: Array) -> Array:
    """Return (n_joints, 3) of the spread along each direction, the part in the slow frequencies."""
    return np.sqrt(_slow_square(np.where(np.isfinite(along), along, 0.0)) / _n_seen(along)[:, None])


def _slow_square(tracks: Array) -> Array:
    """Return (...) sum of squares of the slow part of tracks (n, ...)."""
    n_slow = max(SURFACE_FREEDOM + 1, round(SLOW_SHARE * len(tracks)))
    return np.sum(_cosine_waves(tracks)[:n_slow] ** 2, axis=0)


def _cosine_waves(tracks: Array) -> Array:
    """Return the discrete cosine transform of tracks (n, ...), orthonormal, by one of Fourier's:
    every other sample, and those left out on the way back, make a track that closes."""
    n = len(tracks)
    turned = np.fft.fft(np.concatenate([tracks[::2], tracks[1::2][::-1]]), axis=0)
    shift = np.exp(-0.5j * np.pi * np.arange(n) / n) * np.sqrt(2.0 / n)
    shift[0] *= np.sqrt(0.5)
    return np.einsum("n...,n->n...", turned, shift).real


def _slow_noise(n_seen: Indices, n_fitted: int, sure: float) -> Array:
    """Return the most, per sample and square of the noise, that noise alone leaves in the slow
    part.

    By an F test; a model of ``n_fitted`` numbers that explains slow tracks has taken its share.
    """
    freedom = np.maximum(SLOW_SHARE * n_seen - n_fitted, 1.0)
    most = [f_quantile(*pair, sure) for pair in zip(freedom, NOISE_FREEDOM * n_seen, strict=True)]
    return freedom / n_seen * most


def _n_seen(samples: Array) -> Indices:
    return np.maximum(np.isfinite(samples[..., 0]).sum(axis=0), 1)


def _pairs(samples: Array, spread: Spread, joints: Indices) -> tuple[Array, Array, Array]:
    """Outer axis in the parent, inner axis in the body, misfit; of other joints zero and inf."""
    n_joints = samples.shape[1]
    outer, inner, off = np.zeros((n_joints, 3)), np.zeros((n_joints, 3)), np.full(n_joints, np.inf)
    if len(joints) == 0:
        return outer, inner, off
    mean, directions = spread.mean[joints], spread.directions[joints]
    first, second, off[joints] = fit_axes(mean, directions, samples[:, joints])
    outer[joints] = quat.rotate(mean, np.einsum("ji,jik->jk", first, directions))
    inner[joints] = np.einsum("ji,jik->jk", second, directions)
    return outer, inner, off


def _on_a_surface(
    samples: Array,
    pairs: tuple[Array, Array, Array],
    joints: Indices,
    noise: Array,
    options: KindOptions,
) -> Indices:
    """Those of the joints whose turn out of the surface of their pair is noise.

    Motion is slow and white noise is not: the slow part of that turn is held against the noise, by
    an F test, so that few samples suffice.
    """
    between = cosines(samples, joints, pairs[0], pairs[1])
    seen, n_seen = np.isfinite(between), _n_seen(samples)[joints]
    cosine = np.where(seen, between, 0.0).sum(axis=0) / n_seen
    turn = np.where(seen, between - cosine, 0.0) / np.sqrt(np.maximum(1.0 - cosine**2, 0.25))
    most = _slow_noise(n_seen, SURFACE_FREEDOM, SURE_CHANCE) * noise[joints] ** 2
    still = np.radians(options.minimum) ** 2
    return joints[_slow_square(turn) / n_seen <= np.maximum(most, still)]


def _axes_and_rest(
    n_free: Indices, spread: Spread, pairs: tuple[Array, Array, Array]
) -> tuple[tuple[Array, ...], Array]:
    """Axes in the parent's frame at rest, and the rest: of all allowed poses nearest to zero."""
    first = quat.rotate(spread.mean, spread.directions[:, 0])
    rest = find_rests(spread.mean, n_free, first, pairs[0], pairs[1])
    both = np.stack([pairs[0], quat.rotate(rest, pairs[1])], axis=1)
    none = np.zeros((0, 3))
    axes = ({1: first[j, None], 2: both[j]}.get(n, none) for j, n in enumerate(n_free.tolist()))
    return tuple(axes), rest


def fit_axes(mean: Array, directions: Array, samples: Array) -> tuple[Array, Array, Array]:
    """Best pair of axes for rotations (n_samples, n_joints, 4) about their means (n_joints, 4).

    In principal coordinates ``directions`` (n_joints, 3, 3), widest first, the axes start in the
    plane of the two widest directions; each in turn is then the best for the other.

    Returns
    -------
    outer, inner : (n_joints, 3)
        Unit axes in principal coordinates: ``outer`` stays where it is, ``inner`` turns along.
    off : (n_joints,)
        Standard deviation of the turn out of the surface that the pair allows, radians.
    """
    n_joints = len(mean)
    moments = np.zeros((n_joints, 9, 9))
    turn_moments(mean, directions, samples, moments)
    for_outer, for_inner = _packed(moments)
    angles = np.pi * np.arange(N_STARTS) / N_STARTS
    starts = np.stack([np.cos(angles), np.sin(angles), np.zeros(N_STARTS)], axis=-1)
    outer, inner = np.zeros((n_joints, 3)), np.zeros((n_joints, 3))
    variance = np.full(n_joints, np.inf)
    _search(for_outer, for_inner, starts, outer, inner, variance)
    return outer, inner, np.sqrt(np.maximum(variance, 0.0))


@kernel
def _search(for_outer, for_inner, starts, outer, inner, variance):
    """A few rounds from every start, then the best few until they settle; the best is kept."""
    seconds, lefts = np.empty((len(starts), 3)), np.empty(len(starts))
    for joint in range(len(for_outer)):
        for start in range(len(starts)):
            two = (starts[start, 0], starts[start, 1], starts[start, 2])
            _, two, lefts[start] = _alternate(for_outer[joint], for_inner[joint], two, FIRST_ROUNDS)
            seconds[start, 0], seconds[start, 1], seconds[start, 2] = two
        for start in np.argsort(lefts)[:N_FOLLOWED]:
            two = (seconds[start, 0], seconds[start, 1], seconds[start, 2])
            one, two, left = _alternate(for_outer[joint], for_inner[joint], two, MOST_ROUNDS)
            if left < variance[joint]:
                variance[joint] = left
                for k in range(3):
                    outer[joint, k], inner[joint, k] = one[k], two[k]


@kernel
def _alternate(for_outer, for_inner, two, rounds):
    """Each axis in turn the best for the other; the pair and the variance it leaves."""
    one, left = two, np.inf
    for _ in range(rounds):
        before = left
        one, _ = _best_partner(for_outer, two)
        two, left = _best_partner(for_inner, one)
        if before - left <= SETTLED_SHARE * left:
            break
    return one, two, left


@kernel
def _best_partner(moments, held):
    """The axis that keeps its angle to ``held`` best, and the variance of the turn it forbids.

    With the axis u + t·held, u a unit vector across ``held``, that variance is a quadratic form.
    """
    form = _form(moments, held)
    along = _times(form, held)
    own = dot(along, held) + 1e-300
    first, second = frame_across(held)
    x, y = dot(along, first), dot(along, second)
    xx = dot(first, _times(form, first)) - x * x / own
    xy = dot(first, _times(form, second)) - x * y / own
    yy = dot(second, _times(form, second)) - y * y / own
    cosine, sine = _narrow(xx - yy, 2.0 * xy)
    u = mix(cosine, first, sine, second)
    t = min(max(-dot(along, u) / own, -MOST_OBLIQUE), MOST_OBLIQUE)
    axis = mix(1.0, u, t, held)
    length = np.sqrt(dot(axis, axis))
    return mix(1.0 / length, axis, 0.0, axis), dot(axis, _times(form, axis))


@kernel
def _narrow(x, y):
    """Cosine and sine of a right angle and half the angle of (x, y), without an arc tangent."""
    length = np.sqrt(x * x + y * y)
    if length == 0.0:
        return 0.0, 1.0
    if x >= 0.0:
        cosine = np.sqrt(0.5 * (1.0 + x / length))
        return -0.5 * y / (length * cosine), cosine
    sine = np.sqrt(0.5 * (1.0 - x / length))
    return -sine, 0.5 * y / (length * sine)


@kernel
def _packed(moments):
    """For either axis (n_joints, 6, 6): the form of one per product of two parts of the other.

    Entry (3a + b, 3c + d) of ``moments`` is what the parts a, c of the outer axis and b, d of the
    inner share; pairs of parts are counted once, see ``PAIR_PLACES``.
    """
    for_outer, for_inner = np.zeros((len(moments), 6, 6)), np.zeros((len(moments), 6, 6))
    for n in range(len(moments)):
        for a in range(3):
            for b in range(3):
                for c in range(3):
                    for d in range(3):
                        share = moments[n, 3 * a + b, 3 * c + d]
                        for_outer[n, PAIR_PLACES[b, d], PAIR_PLACES[a, c]] += share
                        for_inner[n, PAIR_PLACES[a, c], PAIR_PLACES[b, d]] += share
    for_outer[:, :, 3:] *= 0.5
    for_inner[:, :, 3:] *= 0.5
    return for_outer, for_inner


@kernel
def _form(moments, v):
    """The symmetric matrix Σ v_a v_b · moments[pair ab] as xx, yy, zz, xy, xz, yz."""
    m, w = moments, (v[0] * v[0], v[1] * v[1], v[2] * v[2], v[0] * v[1], v[0] * v[2], v[1] * v[2])
    one, two, three = _row(m, w, 0), _row(m, w, 1), _row(m, w, 2)
    return one, two, three, _row(m, w, 3), _row(m, w, 4), _row(m, w, 5)


@kernel
def _row(m, w, k):
    first = w[0] * m[0, k] + w[1] * m[1, k] + w[2] * m[2, k]
    return first + w[3] * m[3, k] + w[4] * m[4, k] + w[5] * m[5, k]


@kernel
def _times(form, v):
    return (
        form[0] * v[0] + form[3] * v[1] + form[4] * v[2],
        form[3] * v[0] + form[1] * v[1] + form[5] * v[2],
        form[4] * v[0] + form[5] * v[1] + form[2] * v[2],
    )
