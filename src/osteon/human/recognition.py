"""A human recognised by shape and motion, whatever the markers are called.

How the markers mostly stand (``usual_posture``) is laid on the template at every size, facing all
ways that leave left and right alike; limbs then take the posture that explains most markers. Which
body a marker rides on is decided by where it is, by what it keeps its distance to, and by its
counterpart on the other side.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import squareform

from osteon.human.marker_sets import plain
from osteon.human.posed_template import ARM, LEG, LimbWays, distances, finer_ways, limb_ways, spots
from osteon.human.usual_posture import UsualPosture
from osteon.typing import Array

FAR_DISTANCE = 0.15
"""Metres from the template beyond which a marker is explained no worse; chosen: a limb's breadth
and more."""
SIZES = np.arange(0.70, 1.27, 0.035)
"""Ratios to the template's 1.75 m that are tried; chosen: from a schoolchild to the tallest."""
PAIR_DISTANCE = 0.05
"""Metres within which a mirrored marker lies near its counterpart; chosen: as laboratories place
markers, and people stand."""
MIDDLE_DISTANCE = 0.015
"""Metres from the middle plane within which a marker is on neither side; chosen: a spine's."""
LIFTS = (0.03, 0.07)
"""Metres at the template's size that the lowest marker is above the ground; chosen: a foot's, or an
ankle's where feet carry none."""
LEANS = (0.0, 0.2, 0.4)
"""Ratios of how far a trunk leans forward to its height; chosen: up to 22 degrees."""
HIP_HEIGHT = 0.95
"""Metres above the ground at which the template bends forward; chosen by its hips."""
EXPLAINED_DISTANCE = 0.03
"""Metres from trunk or head within which a marker needs no limb; chosen: as landmarks scatter."""
FINER_STEPS = (0.3, 0.15)
"""Radians by which bones are turned around the best of the ways tried; chosen: half of what lies
between those, and half of that."""
STILL = ("pelvis", "spine", "chest", "head", "left_clavicle", "right_clavicle")
"""Bodies that stand as the template's do."""
LIMBS = tuple(product(("left", "right"), (LEG, ARM)))


@dataclass(frozen=True)
class Fitted:
    """A figure laid on the markers."""

    points: Array
    """(n_markers, 3) in the template's axes and size."""
    to_front: Array
    """(2, 2) rows: front and left in the axes of the posture."""
    size: float
    away: dict[str, Array]
    """By body (n_markers,): how far the markers are from it, metres at the template's size."""
    ways: dict[tuple[str, tuple[str, str, str]], LimbWays]

    @property
    def nearest(self) -> Array:
        """(n_markers,) metres, cut off where it does not matter."""
        return np.minimum(self.size * np.min(list(self.away.values()), axis=0), FAR_DISTANCE)

    @property
    def cost(self) -> float:
        """Metres that markers are from the figure on average."""
        return float(self.nearest.mean())

    def placed(self, body: str, at: Array) -> Array:
        """(3,) where a place of the template's rest pose is on the figure as it stands."""
        turn, shift = self._stands(body)
        return turn @ at + shift

    def at_rest(self, bodies: Sequence[str]) -> Array:
        """(n_markers, 3) the markers in the rest pose, each carried by its body."""
        stands = [self._stands(body) for body in bodies]
        pairs = zip(self.points, stands, strict=True)
        return np.array([turn.T @ (point - shift) for point, (turn, shift) in pairs])

    def _stands(self, body: str) -> tuple[Array, Array]:
        for way in self.ways.values():
            if body in way.turns:
                return way.turns[body][0], way.shifts[body][0]
        return np.eye(3), np.zeros(3)


def middle_planes(points: Array, steady: Array, count: int = 2) -> list[tuple[float, float]]:
    """Return vertical planes about which the markers lie alike on both sides, best first: the
    angle of the normal, radians, and where along it the plane stands, metres."""
    flat = points[:, :2] - np.median(points[:, :2], axis=0)
    ranked = []
    for angle in np.radians(np.arange(0.0, 180.0, 4.0)):
        normal = np.array([np.cos(angle), np.sin(angle)])
        base = float(np.median(points[:, :2], axis=0) @ normal)
        tried = np.arange(-0.15, 0.16, 0.02)
        gain = [_alike_sides(points, flat @ normal - at, normal, steady) for at in tried]
        ranked.append((max(gain), float(angle), base + float(tried[int(np.argmax(gain))])))
    ranked.sort(reverse=True)
    kept: list[tuple[float, float]] = []
    for _, angle, at in ranked:
        apart = [abs((angle - other + np.pi / 2) % np.pi - np.pi / 2) for other, _ in kept]
        if all(gap > np.radians(30.0) for gap in apart):
            kept.append((angle, at))
    return kept[:count]


def _alike_sides(points: Array, beside: Array, normal: Array, steady: Array) -> float:
    """How far off the plane markers lie that have a counterpart, metres summed."""
    mirrored = points.copy()
    mirrored[:, :2] -= 2.0 * beside[:, None] * normal
    gaps = np.linalg.norm(mirrored[:, None] - points[None], axis=-1)
    np.fill_diagonal(gaps, np.inf)
    return float((steady * np.abs(beside)) @ np.exp(-((gaps.min(axis=1) / PAIR_DISTANCE) ** 2)))


def fits(posture: UsualPosture) -> list[Fitted]:
    """Return the figure laid on a posture, once for each way it may face: of each plane the two
    ways in turn."""
    found = []
    for angle, at in middle_planes(posture.points, posture.steady):
        for facing in (1.0, -1.0):
            left = facing * np.array([np.cos(angle), np.sin(angle)])
            axes = np.stack([[left[1], -left[0]], left])
            points = posture.points.copy()
            points[:, :2] = points[:, :2] @ axes.T
            points[:, 1] -= facing * at
            found.append(_best_fit(points, axes))
    return found


def _best_fit(points: Array, axes: Array) -> Fitted:
    """The figure at the size that leaves least unexplained: every other one, then those beside."""
    laid = {float(size): _laid(points, float(size)) for size in SIZES}
    sizes = sorted(laid)
    first = min((_with_limbs(laid[s], axes, s) for s in sizes[::2]), key=lambda f: f.cost)
    place = sizes.index(first.size)
    beside = [s for s in sizes[max(place - 1, 0) : place + 2] if s != first.size]
    return min([first, *(_with_limbs(laid[s], axes, s) for s in beside)], key=lambda f: f.cost)


def _laid(points: Array, size: float) -> Array:
    """The markers at the template's size, where trunk, head and straight legs explain most."""
    legs = [f"{side}_{name}" for side in ("left", "right") for name in LEG]
    scaled = (points - [float(np.median(points[:, 0])), 0.0, 0.0]) / size
    shifts = np.array([(x, 0.0, -z) for x, z in product(np.arange(-0.15, 0.16, 0.03), LIFTS)])
    ways = np.broadcast_to(np.eye(3), (len(shifts), 3, 3))
    best, found = np.inf, scaled
    for lean in LEANS:
        tried = scaled - np.outer(lean * np.maximum(scaled[:, 2] - HIP_HEIGHT, 0.0), [1, 0, 0])
        away = [distances(tried, spots()[name], ways, shifts) for name in (*STILL, *legs)]
        costs = np.minimum(np.min(away, axis=0), FAR_DISTANCE / size).sum(axis=1)
        way = int(np.argmin(costs))
        if costs[way] < best:
            best, found = costs[way], tried - shifts[way]
    return found


def _still_away(laid: Array, bodies: tuple[str, ...]) -> dict[str, Array]:
    turns, shifts = np.eye(3)[None], np.zeros((1, 3))
    known = spots()
    return {name: distances(laid, known[name], turns, shifts)[0] for name in bodies}


def _with_limbs(laid: Array, axes: Array, size: float) -> Fitted:
    """The figure with each limb as it explains most of what trunk and head do not."""
    away = _still_away(laid, STILL)
    ways = {}
    for side, limb in LIMBS:
        own = laid[:, 1] > 0.0 if side == "left" else laid[:, 1] < 0.0
        taken = np.minimum(np.min(list(away.values()), axis=0), FAR_DISTANCE)
        own &= taken > EXPLAINED_DISTANCE
        tried = limb_ways(side, limb)
        way = tried.way(int(np.argmin(_left_over(laid[own], taken[own], tried))))
        for step in FINER_STEPS:
            tried = finer_ways(side, limb, way, step)
            way = tried.way(int(np.argmin(_left_over(laid[own], taken[own], tried))))
        ways[side, limb] = way
        for name, turns in way.turns.items():
            away[name] = distances(laid, spots()[name], turns, way.shifts[name])[0]
    return Fitted(laid, axes, size, away, ways)


def _left_over(points: Array, taken: Array, tried: LimbWays) -> Array:
    """(n_ways,) what is left unexplained, metres summed."""
    least = np.broadcast_to(taken, (len(next(iter(tried.turns.values()))), len(points)))
    for name, turns in tried.turns.items():
        least = np.minimum(least, distances(points, spots()[name], turns, tried.shifts[name]))
    return least.sum(axis=1)


NEAR_DISTANCE = 0.03
"""Metres; chosen: as far as markers of one landmark lie apart among laboratories."""
LOOSE_SPREAD = 0.02
"""Metres rms by which distances vary across a joint that bends a little; chosen: twice what skin
does."""
LONE_LOOSENESS = 0.3
"""Ratio to that spread which counts where a body has no other marker; chosen: a rigid one's."""
PARTNER_DISTANCE, FAR_GAP = 0.12, 1.0
"""Metres within which counterparts lie in the rest pose, and that count where they do not; chosen:
as far as bones that were found a little too short carry them."""
MOVING_SPREAD = 0.005
"""Metres rms by which distances between bodies vary at least where motion tells bodies apart;
chosen: as much as on one body, by its skin."""
FARTHEST_COST = 10.0
"""Ratio to the near distance beyond which all bodies are equally far; chosen: a thigh's length."""
BELOW = {"shin": "thigh", "foot": "shin", "forearm": "upper_arm", "hand": "forearm"}
"""Which part of a limb hangs on which."""
RIGID_LOOSENESS, UPPER_COST = 0.4, 0.7
"""Ratios to the loose spread below which a marker is rigid with a body, and to the near distance
that the one below it is then farther; chosen: as skin does, and two centimetres."""
CENTRAL_DISTANCE = 0.04
"""Metres from the middle plane within which a marker without counterpart is on the trunk; chosen:
as far as a spine sways."""
CENTRAL_COST = 2.0
"""Ratio to the near distance that a limb is farther for a marker in the middle; chosen: two hands'
breadths would have to speak for it."""
TOGETHER_SPREAD = 0.008
"""Metres rms within which all markers of a group keep their distances; chosen: as skin does."""
ASSIGN_ROUNDS = 10
"""Count of times that markers may change their body; chosen: enough to settle."""


def bodies_of(posture: UsualPosture, fit: Fitted) -> tuple[str, ...]:
    """Return the body that each marker rides on."""
    names = list(fit.away)
    mirrored = [names.index(other_side(name)) for name in names]
    near = np.minimum(fit.size * np.array(list(fit.away.values())).T / NEAR_DISTANCE, FARTHEST_COST)
    bodies = _by_groups(near, posture.spread)
    partner = partners(fit, [names[body] for body in bodies])
    central = np.abs(fit.points[:, 1]) < CENTRAL_DISTANCE
    limbs = np.array([name != other_side(name) for name in names])
    near[np.ix_(central & (partner < 0), limbs)] += CENTRAL_COST
    for _ in range(ASSIGN_ROUNDS):
        loose = _looseness(posture.spread, bodies, len(names))
        cost = near + loose + UPPER_COST * _rigid_above(names, loose)
        both = cost + np.where(partner[:, None] >= 0, cost[partner][:, mirrored], cost)
        changed = both.argmin(axis=1)
        if (changed == bodies).all():
            break
        bodies = changed
    return _uncrossed([names[body] for body in bodies], fit.points[:, 1])


def _uncrossed(bodies: list[str], beside: Array) -> tuple[str, ...]:
    """Legs on the side where their thighs are: shins cross in running, thighs do not."""
    left, right = _on(bodies, "left_thigh"), _on(bodies, "right_thigh")
    if not len(left) or not len(right) or np.median(beside[left]) > np.median(beside[right]):
        return tuple(bodies)
    return tuple(other_side(body) if body.partition("_")[2] in LEG else body for body in bodies)


def _rigid_above(names: list[str], loose: Array) -> np.ndarray:
    """(n_markers, n_bodies) whether a marker is rigid with the body above: beside the joint between
    two it belongs to the upper one, as a marker on the knee to the thigh."""
    above = np.zeros(loose.shape, dtype=bool)
    for column, name in enumerate(names):
        side, _, limb = name.partition("_")
        if limb in BELOW:
            above[:, column] = loose[:, names.index(f"{side}_{BELOW[limb]}")] < RIGID_LOOSENESS
    return above


def _by_groups(near: Array, spread: Array) -> np.ndarray:
    """(n_markers,) the body that is nearest to all markers that move together."""
    bodies = np.zeros(len(near), dtype=int)
    for group in _rigid_groups(spread):
        bodies[group] = near[group].sum(axis=0).argmin()
    return bodies


def _rigid_groups(spread: Array) -> list[np.ndarray]:
    """Markers that all keep their distances to each other."""
    apart = np.where(np.isfinite(spread), spread, 1.0)
    np.fill_diagonal(apart, 0.0)
    tree = linkage(squareform(0.5 * (apart + apart.T), checks=False), "complete")
    labels = fcluster(tree, TOGETHER_SPREAD, "distance")
    return [np.flatnonzero(labels == label) for label in np.unique(labels)]


def _looseness(spread: Array, bodies: np.ndarray, n_bodies: int) -> Array:
    """(n_markers, n_bodies) how much markers move against those now on a body."""
    loose = np.full((len(bodies), n_bodies), LONE_LOOSENESS)
    for body in range(n_bodies):
        on = np.flatnonzero(bodies == body)
        for marker in range(len(bodies)):
            others = on[on != marker]
            if len(others):
                loose[marker, body] = np.median(spread[marker, others]) / LOOSE_SPREAD
    return np.minimum(loose, 3.0)


def partners(fit: Fitted, bodies: Sequence[str]) -> np.ndarray:
    """Return (n_markers,) the counterpart on the other side; -1 where there is none."""
    rest = fit.at_rest(bodies)
    gaps = np.linalg.norm((rest * [1.0, -1.0, 1.0])[:, None] - rest[None], axis=-1)
    gaps[np.abs(rest[:, 1]) < MIDDLE_DISTANCE] = np.inf
    np.fill_diagonal(gaps, np.inf)
    one, other = linear_sum_assignment(np.minimum(gaps + gaps.T, FAR_GAP))
    mutual = (other[other] == one) & (gaps[one, other] < PARTNER_DISTANCE)
    return np.where(mutual, other, -1)


def other_side(name: str) -> str:
    """Return the body on the other side; one in the middle is its own."""
    if name.startswith("left_"):
        return "right_" + name.removeprefix("left_")
    return "left_" + name.removeprefix("right_") if name.startswith("right_") else name


FOOT_LENGTH, ARM_REACH, KNEE_BEND, WALK_STEP = 0.15, 0.1, 0.3, 0.01
"""Metres that feet are longer before the ankle than behind it, and that forearms are ahead of upper
arms; radians that knees bend more to one side than to the other; metres a frame looked at: what
speaks with one voice for the front. Chosen, about what walking shows of each."""
LOUDEST_VOICE = 1.5
"""Ratio to one voice that any one observation has at most; chosen: none decides alone."""
FEWEST_PAIRS = 3
"""Count of labels that differ by an L and an R from which these are sides; chosen: two may be
chance."""
COST_STEP = 0.005
"""Metres by which one way of facing explains markers better that count as one voice; chosen."""


def front_votes(posture: UsualPosture, fit: Fitted, bodies: Sequence[str]) -> float:
    """Return the voices for the figure facing as it does (above 0) or the other way (below)."""
    votes = [float(fit.to_front[0] @ posture.walked) / WALK_STEP]
    votes.append(LOUDEST_VOICE * _label_vote(posture.names, bodies))
    ahead = fit.points[:, 0]
    for side in ("left", "right"):
        on = {limb: _on(bodies, f"{side}_{limb}") for limb in (*LEG, *ARM)}
        if len(on["shin"]) and len(on["foot"]):
            ankle = ahead[on["shin"][np.argmin(fit.points[on["shin"], 2])]]
            feet = ahead[on["foot"]]
            votes.append(float(feet.max() + feet.min() - 2.0 * ankle) / FOOT_LENGTH)
            if len(on["thigh"]):
                votes.append(_knee_bend(posture, fit, [on[part] for part in LEG]) / KNEE_BEND)
        if len(on["upper_arm"]) and len(on["forearm"]):
            reach = np.median(ahead[on["forearm"]]) - np.median(ahead[on["upper_arm"]])
            votes.append(float(reach) / ARM_REACH)
    return float(np.clip(votes, -LOUDEST_VOICE, LOUDEST_VOICE).sum())


def _label_vote(labels: Sequence[str], bodies: Sequence[str]) -> float:
    """From -1 to 1: whether labels that differ by an L and an R only are on these sides."""
    side = {plain(label): body.split("_", 1)[0] for label, body in zip(labels, bodies, strict=True)}
    pairs = [
        (side[word], side["R" + word[1:]])
        for word in side
        if word[:1] == "L" and "R" + word[1:] in side
    ]
    votes = [(pair == ("left", "right")) - (pair == ("right", "left")) for pair in pairs]
    return float(np.mean(votes)) if len(votes) >= FEWEST_PAIRS else 0.0


def _on(bodies: Sequence[str], name: str) -> np.ndarray:
    return np.array([place for place, body in enumerate(bodies) if body == name], dtype=int)


def _knee_bend(posture: UsualPosture, fit: Fitted, leg: list[np.ndarray]) -> float:
    """How much farther a knee bends as knees do than the other way, radians."""
    ahead, up = posture.frames[..., :2] @ fit.to_front[0], posture.frames[..., 2]
    shown = np.all([np.isfinite(up[:, m]).any(axis=1) for m in leg], axis=0)
    if not shown.any():
        return 0.0
    ahead, up = ahead[shown], up[shown]
    joints = [(np.nanmedian(ahead[:, m], axis=1), np.nanmedian(up[:, m], axis=1)) for m in leg]
    leans = [
        np.arctan2(above[0] - below[0], above[1] - below[1]) for above, below in pairwise(joints)
    ]
    bend = (leans[1] - leans[0] + np.pi) % (2.0 * np.pi) - np.pi
    low, middle, high = np.nanquantile(bend, [0.02, 0.5, 0.98])
    return float(high + low - 2.0 * middle)


@dataclass(frozen=True)
class LaidFigure:
    """A take's markers on the template, and how sure that is."""

    names: tuple[str, ...]
    bodies: tuple[str, ...]
    """By marker."""
    fit: Fitted
    margin: float
    """Voices by which left and right are known from each other."""
    looseness: float
    """Ratio of how much distances vary on bodies to how much they vary between them."""


def lay_figure(posture: UsualPosture) -> LaidFigure:
    """Lay the template on a posture and decide which way it faces."""
    tried = fits(posture)
    plane = int(np.argmin([fit.cost for fit in tried])) // 2 * 2
    pair = tried[plane : plane + 2]
    found = [(fit, bodies_of(posture, fit)) for fit in pair]
    votes = [front_votes(posture, fit, bodies) for fit, bodies in found]
    better = np.clip((pair[1].cost - pair[0].cost) / COST_STEP, -LOUDEST_VOICE, LOUDEST_VOICE)
    margin = 0.5 * (votes[0] - votes[1]) + float(better)
    fit, bodies = found[0 if margin >= 0.0 else 1]
    return LaidFigure(posture.names, bodies, fit, abs(margin), _loose_ratio(posture.spread, bodies))


def _loose_ratio(spread: Array, bodies: Sequence[str]) -> float:
    """0 where nothing moves, and motion says nothing."""
    same = np.array([[one == other for other in bodies] for one in bodies])
    known = np.isfinite(spread) & ~np.eye(len(bodies), dtype=bool)
    on, between = spread[same & known], spread[~same & known]
    if not len(on) or not len(between) or between.mean() < MOVING_SPREAD:
        return 0.0
    return float(on.mean() / between.mean())
