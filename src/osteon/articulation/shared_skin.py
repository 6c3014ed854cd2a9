"""The joints of all bodies at once, with the skin of every body as an unknown.

Flesh that carries a sensor slides and turns as the joints beside it bend, and every joint of that
body sees it. What follows a joint's own angle looks, at this joint, as if it lay elsewhere; the
body's other joints cannot be moved by that angle, and tell how much of it is skin. So all places
are fitted together, skin linear in the angles as a random effect, its size per body found by its
likelihood. docs/methods.md §1.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from osteon.articulation.body_source import PoseNoise
from osteon.articulation.refine import RefinedJoint, equations_at, frames_alike
from osteon.maths import quat
from osteon.typing import Array
from osteon.values import Bodies

FRAMES_ASIDE = 2
"""Frames between a residual and the postures that may explain it. Chosen: a frame's own posture
shares its noise with the residual."""
FIRST_SHIFT = 0.01
"""Metres per radian of skin to begin with; chosen: a third of the median thigh's."""
FIRST_TURN = 0.1
"""Radians per radian to begin with; chosen: that of ``FIRST_SHIFT`` at a lever of 0.1 m."""
LEAST_WHITE = 1e-6
"""Share of the noise's mean square that a joint's residuals count with at least. Chosen: an exact
joint, as of a motion that was written, leaves rounding only, and nothing can be weighed by that."""
LEAST_SIZE, MOST_SIZE = 1e-6, 1e2
"""Ratios to the first size below which skin is none, and above which none is: chosen, ten times as
far as usual. What two halves of a take hardly determine grows without end otherwise."""
ROUND_STEPS = (8, 4, 4)
"""Counts: steps towards the likeliest sizes in each round; between rounds skin is taken off the
sensors. Chosen: eight bring sizes near their limit, and rotations need repeating."""
LEAST_SECONDS = 4.0
"""Seconds of a take. Chosen: halves that shall foretell each other need two seconds each."""
LEAST_EXCESS = 0.03
"""Share of the noise's mean square by which residuals must exceed it: its level is known no better.
Simulated: white noise exceeds what is read from the paths by 0.01–0.03."""
MOST_UNEXPLAINED = 0.35
"""Share of that excess which skin of one half of the take may leave in the other half; beyond it,
what moves the sensors is not skin that follows the angles. Simulated: skin leaves 0.03–0.31, straps
that wander 0.7–1.0, flesh that swings 0.87 where motion is not periodic."""
MOST_LEFT = 3.0
"""Ratio to the noise's mean square of what may be left. Simulated: skin twice the median person's
leaves 2.7, skin that follows squares 15, clusters of markers that skin turns 6; the latter two
make joints worse."""
MOST_UNKNOWNS = 2500
"""Count of unknowns beyond which joints stay fitted one by one. Chosen: some 60 bodies; the cost
grows with their cube."""
USUAL_COUNT = 4.0
"""Count of coefficients that the other bodies' skin is worth. Chosen: a body shows 9 to 27 of its
own, and a person's bodies differ by a factor of four."""
_FIRST_SIZES = (FIRST_SHIFT**2, FIRST_TURN**2)
_PER_PAIR = 18
"""Count of coefficients of a body's skin and one joint beside it; derived: 3 × 3 shifts and as many
turns."""


@dataclass(frozen=True, slots=True, eq=False)
class SharedSkin:
    """What all joints together say."""

    fits: list[RefinedJoint | None]
    """The joints in their new places; residuals are what skin leaves unexplained."""
    covariances: Sequence[Array | None]
    """(6, 6) of each place, square metres, given that skin is linear in the angles."""
    bodies: Bodies
    """The take without the skin that was found."""


class _Edge(NamedTuple):
    """One joint's weighted sums."""

    columns: np.ndarray
    gram: Array
    pull: Array
    square: float
    rows: int


@dataclass(frozen=True, slots=True, eq=False)
class _Layout:
    """Which unknown stands where: places of all joints first, then skin by body and joint."""

    ends: Sequence[tuple[int, int]]
    """(child, parent) of each joint."""
    free: Sequence[Array]
    """(6, n_free) directions of each joint; (6, 0) where it is held."""
    pairs: list[tuple[int, int]]
    """(body, joint beside it)."""

    @property
    def starts(self) -> np.ndarray:
        return np.cumsum([0, *(free.shape[1] for free in self.free)])

    @property
    def n_places(self) -> int:
        return int(self.starts[-1])

    @property
    def size(self) -> int:
        return self.n_places + _PER_PAIR * len(self.pairs)

    def places(self, joint: int) -> np.ndarray:
        return np.arange(self.starts[joint], self.starts[joint + 1])

    def skin(self, pair: int) -> np.ndarray:
        first = self.n_places + _PER_PAIR * pair
        return np.arange(first, first + _PER_PAIR)

    def beside(self, body: int) -> list[int]:
        return [pair for pair, (wearer, _) in enumerate(self.pairs) if wearer == body]

    @property
    def groups(self) -> np.ndarray:
        """(n_skin,) coefficients of one size: a body's shifts (even), or its turns (odd)."""
        wearers = np.unique([body for body, _ in self.pairs], return_inverse=True)[1]
        halves = np.repeat([0, 1], _PER_PAIR // 2)
        return (2 * wearers[:, None] + halves).reshape(-1)


def solve_shared_skin(
    bodies: Bodies,
    noise: PoseNoise,
    ends: Sequence[tuple[int, int]],
    fits: Sequence[RefinedJoint | None],
) -> SharedSkin | None:
    """Fit all joints with the skin of their bodies; None where none shows, or nobody shares it."""
    layout = _layout(ends, fits) if bodies.n_frames >= LEAST_SECONDS * bodies.rate else None
    if layout is None or layout.size > MOST_UNKNOWNS or _excess(fits) < LEAST_EXCESS:
        return None
    present, spread = bodies, np.zeros((layout.size, layout.size))
    now = _moved(layout, bodies, noise, fits, np.zeros(layout.size))
    alike, found = np.ones(sum(fit is not None for fit in fits)), np.zeros(layout.size)
    sizes = np.tile(_FIRST_SIZES, int(layout.groups.max()) // 2 + 1)
    angles = _angles(bodies, ends)
    for steps in ROUND_STEPS:
        halves = _halves(layout, present, angles, now)
        fitted = _likeliest(layout, _both(halves), alike, sizes, found, steps)
        if not found.any() and not _foretells(layout, halves, fitted):
            return None
        found, sizes, spread = fitted.found, fitted.sizes, fitted.covariance
        present = _without_skin(bodies, layout, angles, found)
        now = _moved(layout, present, noise, now, found)
        alike = np.array([frames_alike(fit.residuals) for fit in now if fit is not None])
        found[: layout.n_places] = 0.0
    covariances = [
        None
        if fit is None
        else layout.free[k] @ spread[np.ix_(layout.places(k), layout.places(k))] @ layout.free[k].T
        for k, fit in enumerate(now)
    ]
    return SharedSkin(now, covariances, present)


def _excess(fits: Sequence[RefinedJoint | None]) -> float:
    """Share of the noise's mean square by which all residuals together exceed it."""
    squares = np.concatenate([fit.residuals.reshape(-1) ** 2 for fit in fits if fit is not None])
    return float(np.mean(squares)) - 1.0


def _layout(ends: Sequence[tuple[int, int]], fits: Sequence[RefinedJoint | None]) -> _Layout | None:
    """None unless some body has two joints that are fitted."""
    told = [k for k, fit in enumerate(fits) if fit is not None]
    pairs = sorted((body, k) for k in told for body in ends[k])
    wearers = [body for body, _ in pairs]
    if len(set(wearers)) == len(wearers):
        return None
    free = [np.zeros((6, 0)) if fit is None else fit.free for fit in fits]
    return _Layout(ends, free, pairs)


def _angles(bodies: Bodies, ends: Sequence[tuple[int, int]]) -> Array:
    """(n_frames, n_joints, 3) rotation vectors about their means; 0 where not seen."""
    turns = [quat.between(bodies.rotations[:, i], bodies.rotations[:, j]) for i, j in ends]
    bent = np.stack([about_mean(turn) for turn in turns], axis=1)
    around = np.nan_to_num(frames_aside(bent, np.arange(len(bent))))
    return around - around.mean(axis=0)


def about_mean(turns: Array) -> Array:
    """Rotation vectors (n_frames, 3) of quaternions from their mean."""
    known = turns[np.isfinite(turns).all(axis=-1)]
    # the first eigenvector is the mean whatever the signs of the quaternions
    mean = np.linalg.eigh(known.T @ known)[1][:, -1]
    return quat.log(quat.between(mean, turns))


def frames_aside(bent: Array, frames: np.ndarray) -> Array:
    """(n_frames, …) postures around frames, without the noise of the frames themselves."""
    before = np.maximum(frames - FRAMES_ASIDE, 0)
    after = np.minimum(frames + FRAMES_ASIDE, len(bent) - 1)
    return 0.5 * (bent[before] + bent[after])


def _halves(
    layout: _Layout, bodies: Bodies, angles: Array, fits: Sequence[RefinedJoint | None]
) -> list[tuple[_Edge, _Edge]]:
    """Of every joint that is fitted, its sums over the even and over the odd seconds."""
    odd = (np.arange(bodies.n_frames) // max(1, round(bodies.rate))) % 2 == 1
    return [
        (_edge(layout, bodies, angles, k, fit, ~odd), _edge(layout, bodies, angles, k, fit, odd))
        for k, fit in enumerate(fits)
        if fit is not None
    ]


def _both(halves: Sequence[tuple[_Edge, _Edge]]) -> list[_Edge]:
    return [
        _Edge(
            one.columns,
            one.gram + other.gram,
            one.pull + other.pull,
            one.square + other.square,
            one.rows + other.rows,
        )
        for one, other in halves
    ]


def _edge(
    layout: _Layout,
    bodies: Bodies,
    angles: Array,
    joint: int,
    fit: RefinedJoint,
    some: np.ndarray,
) -> _Edge:
    """The sums of one joint's equations over some frames."""
    some = some[fit.frames]
    columns, slopes = [layout.places(joint)], [fit.slopes[some]]
    child, parent = layout.ends[joint]
    frames, scale = fit.frames[some], fit.weights[some] / fit.unit
    turns = quat.to_matrix(quat.between(bodies.rotations[:, child], bodies.rotations[:, parent]))
    for body, arm, way in (
        (child, fit.centres[:3], -np.eye(3)),
        (parent, fit.centres[3:], turns[frames]),
    ):
        levers = np.concatenate([np.eye(3), np.cross(np.eye(3), arm).T], axis=1)
        ways = scale[:, None, None] * (way @ levers)
        for pair in layout.beside(body):
            bent = angles[frames, layout.pairs[pair][1]]
            moved = np.einsum("kia,kb->kiab", ways, bent)
            slopes.append(moved.reshape(len(frames), 3, _PER_PAIR))
            columns.append(layout.skin(pair))
    table = np.concatenate(slopes, axis=2)
    table = table.reshape(-1, table.shape[2])
    misfit = fit.residuals[some].reshape(-1)
    gram, pull, own = table.T @ table, table.T @ misfit, np.arange(fit.free.shape[1])
    drawn = (fit.ridge + fit.left_in) * np.mean(some)
    gram[own, own] += drawn
    pull[own] += drawn * fit.free.T @ fit.centres
    return _Edge(np.concatenate(columns), gram, pull, float(misfit @ misfit), len(misfit))


class _Fitted(NamedTuple):
    found: Array
    covariance: Array
    sizes: Array
    white: Array
    """(n_joints,) mean square of residuals without skin, of the joints that are fitted."""


def _likeliest(
    layout: _Layout,
    edges: Sequence[_Edge],
    alike: Array,
    sizes: Array,
    at: Array,
    steps: int,
) -> _Fitted:
    """Unknowns and sizes of skin by restricted maximum likelihood; the equations stand at ``at``.

    A size follows from its coefficients and from how many of them the data determine [MacKay 1992].
    """
    groups, places = layout.groups, layout.n_places
    white = np.maximum([edge.square / edge.rows for edge in edges], LEAST_WHITE)
    first = np.tile(_FIRST_SIZES, len(sizes) // 2)
    counts = np.bincount(groups, minlength=len(sizes))
    found, covariance = at, np.zeros((layout.size, layout.size))
    for _ in range(steps):
        normal, side = _sums(layout.size, edges, white * alike, at)
        covariance = np.linalg.inv(normal + np.diag(_precision(layout, sizes)))
        found = covariance @ side
        left = [
            _variance(edge, found - at, covariance, each)
            for edge, each in zip(edges, white * alike, strict=True)
        ]
        white = np.maximum(left, LEAST_WHITE)
        open_ = np.bincount(groups, np.diag(covariance)[places:], len(sizes)) / sizes
        power = np.bincount(groups, found[places:] ** 2, len(sizes)).astype(float)
        likely = _alike_sizes(power, np.maximum(counts - open_, 0.0))
        sizes = np.clip(likely, LEAST_SIZE * first, MOST_SIZE * first)
    return _Fitted(found, covariance, sizes, white)


def _alike_sizes(power: Array, counts: Array) -> Array:
    """Mean squares of coefficients; bodies that show few of theirs are drawn to the others."""
    both = power.reshape(-1, 2), counts.reshape(-1, 2)
    usual = both[0].sum(axis=0) / np.maximum(both[1].sum(axis=0), 1e-3)
    return ((both[0] + USUAL_COUNT * usual) / (both[1] + USUAL_COUNT)).reshape(-1)


def _sums(size: int, edges: Sequence[_Edge], variances: Array, at: Array) -> tuple[Array, Array]:
    normal, side = np.zeros((size, size)), np.zeros(size)
    for edge, variance in zip(edges, variances, strict=True):
        own = edge.columns
        normal[np.ix_(own, own)] += edge.gram / variance
        side[own] += (edge.gram @ at[own] - edge.pull) / variance
    return normal, side


def _precision(layout: _Layout, sizes: Array) -> Array:
    """(n_unknowns,) of what is known of them beforehand: hardly anything of places."""
    return np.concatenate([np.full(layout.n_places, 1e-6), 1.0 / sizes[layout.groups]])


def _power(edge: _Edge, step: Array) -> float:
    """Sum of squares of one joint's residuals after a step of the unknowns."""
    own = step[edge.columns]
    return float(edge.square + 2.0 * edge.pull @ own + own @ edge.gram @ own)


def _variance(edge: _Edge, step: Array, covariance: Array, variance: float) -> float:
    """Mean square that remains of one joint's residuals, per degree of freedom."""
    own = edge.columns
    spent = float(np.sum(edge.gram * covariance[np.ix_(own, own)])) / variance
    return _power(edge, step) / max(edge.rows - spent, 1.0)


def _foretells(layout: _Layout, halves: Sequence[tuple[_Edge, _Edge]], fitted: _Fitted) -> bool:
    """Whether skin of one half of the seconds explains what the other half shows beyond noise."""
    count = sum(edge.rows for pair in halves for edge in pair)
    without, within = (
        sum(_left_out(layout, halves, fitted, turn, skin=skin) for turn in (0, 1)) / count
        - (1.0 + LEAST_EXCESS)
        for skin in (False, True)
    )
    return within < min(MOST_UNEXPLAINED * without, MOST_LEFT)


def _left_out(
    layout: _Layout,
    halves: Sequence[tuple[_Edge, _Edge]],
    fitted: _Fitted,
    turn: int,
    *,
    skin: bool,
) -> float:
    """Sum of squares in one half of the frames, places and maybe skin being of the other."""
    learnt, asked = [pair[turn] for pair in halves], [pair[1 - turn] for pair in halves]
    normal, side = _sums(layout.size, learnt, fitted.white, np.zeros(layout.size))
    normal += np.diag(_precision(layout, fitted.sizes))
    part = slice(None if skin else layout.n_places)
    found = np.zeros(layout.size)
    found[part] = np.linalg.solve(normal[part, part], side[part])
    return sum(_power(edge, found) for edge in asked)


def _without_skin(bodies: Bodies, layout: _Layout, angles: Array, found: Array) -> Bodies:
    shift, turn = np.zeros(bodies.positions.shape), np.zeros(bodies.positions.shape)
    for pair, (body, joint) in enumerate(layout.pairs):
        ways = found[layout.skin(pair)].reshape(2, 3, 3)
        shift[:, body] += angles[:, joint] @ ways[0].T
        turn[:, body] += angles[:, joint] @ ways[1].T
    return replace(
        bodies,
        positions=bodies.positions - quat.rotate(bodies.rotations, shift),
        rotations=quat.multiply(bodies.rotations, quat.exp(-turn)),
    )


def _moved(
    layout: _Layout,
    bodies: Bodies,
    noise: PoseNoise,
    fits: Sequence[RefinedJoint | None],
    found: Array,
) -> list[RefinedJoint | None]:
    """The joints in their new places, with the equations that hold there."""
    return [
        None
        if fit is None
        else equations_at(
            bodies, layout.ends[k], fit.centres + fit.free @ found[layout.places(k)], noise, fit
        )
        for k, fit in enumerate(fits)
    ]
