"""Which marker is on which landmark, and the template posed and sized until they meet.

Both in turn: given how the template stands, markers are given to landmarks and bodies at the least
cost, all at once; given that, its bones turn and lengthen towards the markers. Costs are logarithms
of odds: how far a marker is from the landmark, how rarely marker sets have that landmark, and how
much the marker moves against the others of its body.
"""

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from osteon.human.jointed_figure import Figure, tree
from osteon.human.posed_template import bone_distances, skin_landmarks
from osteon.maths import assign
from osteon.typing import Array

LANDMARK_SIGMA, SOFT_SIGMA = 0.03, 0.06
"""Metres that markers are from their landmark on a figure of their size, and from one whose place
is anybody's choice; chosen: as laboratories differ, and half a thigh's free length."""
WIDER = (3.0, 2.0, 1.5, 1.2, 1.0, 1.0, 1.0)
"""Ratios to those while the figure is not yet where it will be, one for each time that markers are
given away; chosen: first as far as the first search leaves it off, at last enough to settle."""
STEPS = 3
"""Count of steps towards the markers each time; chosen: enough to settle."""
STRAIGHT_SIGMAS = 2.0
"""Ratio to the deviation beyond which costs grow in proportion to distance; chosen: laboratories
that place a marker elsewhere are no exception."""
ROBUST_DISTANCE = 0.06
"""Metres from its landmark at which a marker draws the figure half as much; chosen: twice its
deviation."""
ELSEWHERE_COST = 2.0
"""Logarithm of the odds (a ratio) that a marker is on a body beside all its landmarks; chosen: one
in eight."""
RIGID_SPREAD, LOOSEST_COST = 0.01, 5.0
"""Metres rms by which distances vary on one body, and the logarithm of odds (a ratio) that motion
says at most; chosen: as skin does, and so that shape can outweigh it."""
ORPHAN_COST = 3.0
"""Logarithm of the odds (a ratio) against a forearm's marker where the upper arm has none, and so
for all limbs; chosen: no marker set has such."""
BELOW = {"shin": "thigh", "foot": "shin", "forearm": "upper_arm", "hand": "forearm"}
"""Which part of a limb hangs on which."""
TRUNK = frozenset({"chest", "left_clavicle", "right_clavicle"})
"""Bodies of which one has markers wherever an arm has."""
HUNG_ON = {**BELOW, "thigh": "pelvis", "upper_arm": "chest"}
"""On which body's markers that of a part keep their distances as their joint has them."""
SWING_SHARE = 1.0 / np.sqrt(3.0)
"""Share of a marker's distance to the joint between by which the distance to one beyond varies at
most, rms. Derived: evenly between as near and as far as the two ever are."""
JOINT_OFF = 0.03
"""Metres that joints of the figure may lie elsewhere; chosen: as landmarks do."""
LEAST_SHARE, MOST_SHARE = 0.04, 0.92
"""Shares of marker sets that have a landmark, at least and at most; derived: half a set, and all
but one, of thirteen."""
PARTNER_DISTANCE, FAR_GAP = 0.12, 1.0
"""Metres within which counterparts lie in the rest pose, and that count where they do not; chosen:
as far as bones that were found a little too short carry them."""
MIDDLE_DISTANCE = 0.015
"""Metres from the middle plane within which a marker is on neither side; chosen: a spine's."""


class Places(NamedTuple):
    """The landmarks that markers may be on."""

    words: tuple[str, ...]
    bodies: np.ndarray
    at: Array
    sigmas: Array
    costs: Array
    """Logarithms of the odds that a marker set does without."""
    twins: np.ndarray
    """The same on the other side."""


@dataclass(frozen=True)
class Landmarked:
    """Markers on landmarks of a figure that stands as they do."""

    bodies: tuple[str, ...]
    words: tuple[str, ...]
    """By marker: its landmark, or the body alone."""
    doubts: Array
    """(n_markers,) metres rms that the landmark may lie elsewhere, by what else it could be."""
    away: Array
    """(n_markers,) metres from the landmark, or else from the body."""
    cost: float
    """Of all markers and of the figure, a logarithm of odds."""


def other_side(name: str) -> str:
    """Return the body or landmark on the other side; one in the middle is its own."""
    if name.startswith("left_"):
        return "right_" + name.removeprefix("left_")
    return "left_" + name.removeprefix("right_") if name.startswith("right_") else name


@cache
def landmark_places(words: frozenset[str] | None = None) -> Places:
    """Return where markers may be: on all landmarks, or on some, of both sides."""
    known = skin_landmarks()
    if words is not None:
        known = {word: known[word] for word in known if {word, other_side(word)} & words}
    named = tuple(known)
    marks = [mark for mark, _ in known.values()]
    shares = np.clip([1.0 - rarity for _, rarity in known.values()], LEAST_SHARE, MOST_SHARE)
    return Places(
        named,
        np.array([tree().names.index(mark.body) for mark in marks]),
        np.array([mark.at for mark in marks]),
        np.array([SOFT_SIGMA if mark.soft else LANDMARK_SIGMA for mark in marks]),
        np.log(1.0 / shares - 1.0),
        np.array([named.index(other_side(word)) for word in named]),
    )


def fit_landmarks(
    points: Array,
    size: float,
    spread: Array,
    bodies: np.ndarray,
    figure: Figure,
    known: Places | None = None,
) -> Landmarked:
    """Give markers to landmarks and move the figure to them, in turn.

    Parameters
    ----------
    points : (n_markers, 3)
        At the template's size, ``size`` times smaller than they are.
    spread : (n_markers, n_markers)
        Metres rms by which their distances vary.
    bodies
        Which body of the tree each marker may be on, to begin with.
    known
        Where markers may be; None: on any landmark.
    """
    known = known or landmark_places()
    given = _given(_costs(figure, points, size, spread, bodies, WIDER[0], known), known)
    for wider in WIDER[1:]:
        for _ in range(STEPS):
            figure = _nearer(figure, points, size, given.landmarks, known)
        given = _given(_costs(figure, points, size, spread, given.bodies, wider, known), known)
    costs = _costs(figure, points, size, spread, given.bodies, 1.0, known)
    rows, on = np.arange(len(points)), given.landmarks >= 0
    named = np.array(known.words)[given.landmarks]
    bodies_of = np.array(tree().names)[given.bodies]
    return Landmarked(
        tuple(bodies_of.tolist()),
        tuple(np.where(on, named, bodies_of).tolist()),
        _doubts(costs, given, size, known),
        np.where(on, costs.away[rows, given.landmarks], costs.beside[rows, given.bodies]),
        given.cost + figure.misfit,
    )


class Costs(NamedTuple):
    """Logarithms of odds, and distances in metres, (n_markers, n_landmarks or n_bodies) each."""

    landmarks: Array
    bodies: Array
    partners: np.ndarray
    """(n_markers,) counterparts on the other side; -1: none."""
    away: Array
    beside: Array


class Given(NamedTuple):
    """What markers are on."""

    landmarks: np.ndarray
    """(n_markers,) -1: none."""
    bodies: np.ndarray
    cost: float


def _costs(
    figure: Figure,
    points: Array,
    size: float,
    spread: Array,
    bodies: np.ndarray,
    wider: float,
    known: Places,
) -> Costs:
    linear, shifts = figure.stands()
    reached = np.einsum("lij,lj->li", linear[known.bodies], known.at) + shifts[known.bodies]
    away = size * np.linalg.norm(points[:, None] - reached, axis=-1)
    back = np.linalg.inv(linear)[:, None] @ (points - shifts[:, None])[..., None]
    beside = size * bone_distances(back[..., 0], tree().names).T
    loose = _looseness(spread, bodies) + ORPHAN_COST * _orphaned(bodies)
    loose += overstretched(figure, points, size, spread, bodies)
    return Costs(
        _distance_cost(away / (wider * known.sigmas)) + known.costs + loose[:, known.bodies],
        _distance_cost(beside / (wider * LANDMARK_SIGMA)) + ELSEWHERE_COST + loose,
        counterparts(back[bodies, np.arange(len(points)), :, 0]),
        away,
        beside,
    )


def _distance_cost(sigmas: Array) -> Array:
    straight = STRAIGHT_SIGMAS * (sigmas - 0.5 * STRAIGHT_SIGMAS)
    return np.where(sigmas < STRAIGHT_SIGMAS, 0.5 * sigmas**2, straight)


def _looseness(spread: Array, bodies: np.ndarray) -> Array:
    """(n_markers, n_bodies) how much markers move against those now on a body."""
    loose = np.zeros((len(bodies), len(tree().names)))
    for body in np.unique(bodies):
        on = np.flatnonzero(bodies == body)
        for marker in range(len(bodies)):
            others = on[on != marker]
            if len(others):
                loose[marker, body] = 0.5 * (np.median(spread[marker, others]) / RIGID_SPREAD) ** 2
    return np.minimum(loose, LOOSEST_COST)


def overstretched(
    figure: Figure, points: Array, size: float, spread: Array, bodies: np.ndarray
) -> Array:
    """Return (n_markers, n_bodies) how much farther markers come from those now on the next body
    than a joint between lets them; parameters as in ``fit_landmarks``."""
    linear, shifts = figure.stands()
    joints = np.einsum("bij,bj->bi", linear, tree().at) + shifts
    near = size * np.linalg.norm(points[:, None] - joints, axis=-1)
    names = tree().names
    over = np.zeros((len(bodies), len(names)))
    known = np.where(np.isfinite(spread), spread, 0.0)
    for child, name in enumerate(names):
        side, _, part = name.partition("_")
        if part not in HUNG_ON:
            continue
        above = HUNG_ON[part] if part in ("thigh", "upper_arm") else f"{side}_{HUNG_ON[part]}"
        parent = names.index(above)
        for body, other in ((child, parent), (parent, child)):
            on = np.flatnonzero(bodies == other)
            if len(on):
                shorter = np.minimum(near[:, child, None], near[on, child])
                beyond = known[:, on] - SWING_SHARE * (shorter + JOINT_OFF)
                beyond = np.maximum(np.median(beyond, axis=1), 0.0)
                over[:, body] += 0.5 * (beyond / RIGID_SPREAD) ** 2
    return np.minimum(over, LOOSEST_COST)


def _orphaned(bodies: np.ndarray) -> np.ndarray:
    """(n_markers, n_bodies) whether the body hangs on one without any other marker."""
    names = tree().names
    alone = np.zeros((len(bodies), len(names)), dtype=bool)
    for body, name in enumerate(names):
        side, _, part = name.partition("_")
        if part in BELOW:
            above = bodies == names.index(f"{side}_{BELOW[part]}")
            alone[:, body] = above.sum() - above < 1
        elif part == "upper_arm":
            alone[:, body] = not np.isin(bodies, [names.index(each) for each in TRUNK]).any()
    return alone


def counterparts(rest: Array) -> np.ndarray:
    """Return (n_markers,) the marker on the other side of each, in the rest pose; -1: none."""
    gaps = np.linalg.norm((rest * [1.0, -1.0, 1.0])[:, None] - rest[None], axis=-1)
    gaps[np.abs(rest[:, 1]) < MIDDLE_DISTANCE] = np.inf
    np.fill_diagonal(gaps, np.inf)
    one, other = assign(np.minimum(gaps + gaps.T, FAR_GAP))
    mutual = (other[other] == one) & (gaps[one, other] < PARTNER_DISTANCE)
    return np.where(mutual, other, -1)


def _given(costs: Costs, known: Places) -> Given:
    """Markers where all cost least together: a landmark takes one, a body any number.

    Counterparts on both sides count together, so that they are called alike.
    """
    landmarks = _both(costs.landmarks, costs.partners, known.twins)
    mirrored = [tree().names.index(other_side(name)) for name in tree().names]
    elsewhere = _both(costs.bodies, costs.partners, np.array(mirrored))
    n, n_landmarks = landmarks.shape
    alone = np.full((n, n), 2.0 * max(landmarks.max(), elsewhere.max()) * n)
    np.fill_diagonal(alone, elsewhere.min(axis=1))
    table = np.concatenate([landmarks, alone], axis=1)
    rows, columns = assign(table)
    on = np.where(columns < n_landmarks, columns, -1)
    bodies = np.where(on >= 0, known.bodies[on], elsewhere.argmin(axis=1))
    return Given(on, bodies, float(table[rows, columns].sum()))


def _both(costs: Array, partners: np.ndarray, twins: np.ndarray) -> Array:
    """The mean of each marker's cost and its counterpart's."""
    return 0.5 * (costs + np.where(partners[:, None] >= 0, costs[partners][:, twins], costs))


def _nearer(
    figure: Figure, points: Array, size: float, landmarks: np.ndarray, known: Places
) -> Figure:
    on = np.flatnonzero(landmarks >= 0)
    linear, shifts = figure.stands()
    bodies, at = known.bodies[landmarks[on]], known.at[landmarks[on]]
    off = points[on] - np.einsum("mij,mj->mi", linear[bodies], at) - shifts[bodies]
    away = size * np.linalg.norm(off, axis=-1)
    weights = size / known.sigmas[landmarks[on]] / (1.0 + (away / ROBUST_DISTANCE) ** 2)
    return figure.drawn(points[on], bodies, at, weights)


def _doubts(costs: Costs, given: Given, size: float, known: Places) -> Array:
    """How far landmarks may lie elsewhere: what else a marker could be, each as likely as it is."""
    doubts = np.zeros(len(given.landmarks))
    for marker in np.flatnonzero(given.landmarks >= 0):
        own = given.landmarks[marker]
        free = ~np.isin(np.arange(len(known.words)), given.landmarks)
        free[own] = True
        chances = np.exp(costs.landmarks[marker, own] - costs.landmarks[marker, free])
        beside = np.exp(costs.landmarks[marker, own] - costs.bodies[marker, known.bodies[own]])
        apart = size * np.linalg.norm(known.at[free] - known.at[own], axis=-1)
        squares = chances @ apart**2 + beside * costs.away[marker, own] ** 2
        doubts[marker] = np.sqrt(squares / (chances.sum() + beside))
    return doubts
