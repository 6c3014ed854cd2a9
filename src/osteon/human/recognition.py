"""A human recognised by shape and motion, whatever the markers are called.

How the markers mostly stand (``usual_posture``) is laid on the template at every size, facing all
ways that leave left and right alike; limbs then take the posture that explains most markers. From
there markers and landmarks are brought together (``landmark_fit``), and the way to face in which
that goes best is taken, with what speaks for the front.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product

import numpy as np

from osteon.human.jointed_figure import Figure, figure_from, tree
from osteon.human.landmark_fit import TRUNK, Landmarked, Places, fit_landmarks, other_side
from osteon.human.marker_sets import plain
from osteon.human.posed_template import ARM, LEG, LimbWays, distances, finer_ways, limb_ways, spots
from osteon.human.usual_posture import UsualPosture
from osteon.maths import quat
from osteon.typing import Array

FAR_DISTANCE = 0.15
"""Metres from the template beyond which a marker is explained no worse; chosen: a limb's breadth
and more."""
SIZES = np.arange(0.56, 1.27, 0.035)
"""Ratios to the template's 1.75 m that are tried; chosen: from a child of four to the tallest."""
PAIR_DISTANCE = 0.05
"""Metres within which a mirrored marker lies near its counterpart; chosen: as laboratories place
markers, and people stand."""
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
Limb = tuple[str, tuple[str, str, str]]
LIMBS: tuple[Limb, ...] = tuple(product(("left", "right"), (LEG, ARM)))


@dataclass(frozen=True)
class Fitted:
    """A figure laid on the markers."""

    points: Array
    """(n_markers, 3) in the template's axes and size."""
    lean: float
    """How far their trunk leans forward, ratio to its height."""
    to_front: Array
    """(2, 2) rows: front and left in the axes of the posture."""
    size: float
    away: dict[str, Array]
    """By body (n_markers,): how far the markers are from it, metres at the template's size."""
    ways: "dict[Limb, LimbWays]"

    @property
    def nearest(self) -> Array:
        """(n_markers,) metres, cut off where it does not matter."""
        return np.minimum(self.size * np.min(list(self.away.values()), axis=0), FAR_DISTANCE)

    @property
    def cost(self) -> float:
        """Metres that markers are from the figure on average."""
        return float(self.nearest.mean())

    def figure(self, *, crossed: bool = False) -> Figure:
        """Return the template with these limbs, its trunk bent forward as the markers'; or with
        each leg where the other was found."""
        bend = quat.to_matrix(quat.exp(np.array([0.0, np.arctan(self.lean), 0.0])))
        turns = {name: bend for name in STILL if name != "pelvis"}
        for (_, limb), way in self.ways.items():
            for name, turn in way.turns.items():
                turns[other_side(name) if crossed and limb == LEG else name] = turn[0]
        return figure_from(turns)


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


def fits(posture: UsualPosture) -> list[list[Fitted]]:
    """Return the figure laid on a posture, once for each way it may face, of each plane the two
    ways in turn: at the size that leaves least unexplained, then at others."""
    found = []
    for angle, at in middle_planes(posture.points, posture.steady):
        for facing in (1.0, -1.0):
            left = facing * np.array([np.cos(angle), np.sin(angle)])
            axes = np.stack([[left[1], -left[0]], left])
            points = posture.points.copy()
            points[:, :2] = points[:, :2] @ axes.T
            points[:, 1] -= facing * at
            found.append(_sized(points, axes))
    return found


def _sized(points: Array, axes: Array) -> list[Fitted]:
    """The figure at every other size, and at those beside the one that leaves least unexplained,
    best first."""
    laid = {float(size): _laid(points, float(size)) for size in SIZES}
    sizes = sorted(laid)
    found = [_with_limbs(laid[s], axes, s) for s in sizes[::2]]
    place = sizes.index(min(found, key=lambda f: f.cost).size)
    beside = [s for s in sizes[max(place - 1, 0) : place + 2] if s != sizes[place]]
    return sorted([*found, *(_with_limbs(laid[s], axes, s) for s in beside)], key=lambda f: f.cost)


def _laid(points: Array, size: float) -> tuple[Array, float]:
    """The markers at the template's size, where trunk, head and straight legs explain most, and
    how far the trunk leans."""
    legs = [f"{side}_{name}" for side in ("left", "right") for name in LEG]
    scaled = (points - [float(np.median(points[:, 0])), 0.0, 0.0]) / size
    shifts = np.array([(x, 0.0, -z) for x, z in product(np.arange(-0.15, 0.16, 0.03), LIFTS)])
    ways = np.broadcast_to(np.eye(3), (len(shifts), 3, 3))
    best, found = np.inf, (scaled, 0.0)
    for lean in LEANS:
        tried = _straightened(scaled, lean)
        away = [distances(tried, spots()[name], ways, shifts) for name in (*STILL, *legs)]
        costs = np.minimum(np.min(away, axis=0), FAR_DISTANCE / size).sum(axis=1)
        way = int(np.argmin(costs))
        if costs[way] < best:
            best, found = costs[way], (scaled - shifts[way], lean)
    return found


def _straightened(points: Array, lean: float) -> Array:
    return points - np.outer(lean * np.maximum(points[:, 2] - HIP_HEIGHT, 0.0), [1, 0, 0])


def _still_away(laid: Array, bodies: tuple[str, ...]) -> dict[str, Array]:
    turns, shifts = np.eye(3)[None], np.zeros((1, 3))
    known = spots()
    return {name: distances(laid, known[name], turns, shifts)[0] for name in bodies}


def _with_limbs(
    placed: tuple[Array, float], axes: Array, size: float, limbs: Sequence[Limb] = LIMBS
) -> Fitted:
    """The figure with each limb as it explains most of what trunk, head, and limbs before it do
    not."""
    points, lean = placed
    laid = _straightened(points, lean)
    away = _still_away(laid, STILL)
    ways = {}
    for side, limb in limbs:
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
    return Fitted(points, lean, axes, size, away, ways)


def _left_over(points: Array, taken: Array, tried: LimbWays) -> Array:
    """(n_ways,) what is left unexplained, metres summed."""
    least = np.broadcast_to(taken, (len(next(iter(tried.turns.values()))), len(points)))
    for name, turns in tried.turns.items():
        least = np.minimum(least, distances(points, spots()[name], turns, tried.shifts[name]))
    return least.sum(axis=1)


SIZE_SIGMA = 0.2
"""Logarithm of a ratio by which sizes scatter; chosen: twice what grown-ups' do, for children."""
OTHER_RATIO = 1.5
"""Ratio to what the best size leaves unexplained up to which others are tried too where no chest is
found: limbs alone fit several. Chosen: those of generated walkers come as near."""
NEAR_DISTANCE, FARTHEST_COST = 0.03, 10.0
"""Metres as far as markers of one landmark lie apart among laboratories, and the ratio to that
beyond which all bodies are equally far; chosen: a thigh's length."""
TOGETHER_SPREAD = 0.008
"""Metres rms within which all markers of a group keep their distances; chosen: as skin does."""
MOVING_SPREAD = 0.005
"""Metres rms by which distances between bodies vary at least where motion tells bodies apart;
chosen: as much as on one body, by its skin."""


def _nearest_bodies(posture: UsualPosture, fit: Fitted) -> np.ndarray:
    """(n_markers,) the body of the tree that is nearest to all markers that move together."""
    names = list(fit.away)
    near = np.minimum(fit.size * np.array(list(fit.away.values())).T / NEAR_DISTANCE, FARTHEST_COST)
    bodies = np.zeros(len(near), dtype=int)
    for group in _rigid_groups(posture.spread):
        bodies[group] = tree().names.index(names[int(near[group].sum(axis=0).argmin())])
    return bodies


def _rigid_groups(spread: Array) -> list[np.ndarray]:
    """Markers that all keep their distances to each other."""
    from scipy.cluster.hierarchy import fcluster, linkage  # slow to load, rarely asked for
    from scipy.spatial.distance import squareform

    apart = np.where(np.isfinite(spread), spread, 1.0)
    np.fill_diagonal(apart, 0.0)
    joined = linkage(squareform(0.5 * (apart + apart.T), checks=False), "complete")
    labels = fcluster(joined, TOGETHER_SPREAD, "distance")
    return [np.flatnonzero(labels == label) for label in np.unique(labels)]


FOOT_LENGTH, ARM_REACH, KNEE_BEND, WALK_STEP = 0.15, 0.1, 0.3, 0.01
"""Metres that feet are longer before the ankle than behind it, and that forearms are ahead of upper
arms; radians that knees bend more to one side than to the other; metres a frame looked at: what
speaks with one voice for the front. Chosen, about what walking shows of each."""
LOUDEST_VOICE = 1.5
"""Ratio to one voice that any one observation has at most; chosen: none decides alone."""
FEWEST_PAIRS = 3
"""Count of labels that differ by an L and an R from which these are sides; chosen: two may be
chance."""
VOICE_ODDS = 2.0
"""Logarithm of the odds (a ratio) that one voice speaks for; chosen: seven to one."""


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
    seen = [np.isfinite(posture.frames[:, part, 2]).any(axis=1) for part in leg]
    frames = posture.frames[np.all(seen, axis=0)]
    if not len(frames):
        return 0.0
    ahead, up = frames[..., :2] @ fit.to_front[0], frames[..., 2]
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
    landmarked: Landmarked
    fit: Fitted
    margin: float
    """Logarithm of the odds that left and right are not exchanged."""
    voices: float
    """For the front among these, as ``front_votes`` counts them."""
    looseness: float
    """Ratio of how much distances vary on bodies to how much they vary between them."""


def lay_figure(posture: UsualPosture, known: Places | None = None) -> LaidFigure:
    """Lay the template on a posture and decide which way it faces; markers are on the landmarks
    ``known``, or on any."""
    sized = fits(posture)
    facing = [
        _best([_laid_figure(posture, fit, known) for fit in _both_orders(each[0])])
        for each in sized
    ]
    if "chest" not in min(facing, key=_worth).landmarked.bodies:
        for place, each in enumerate(sized):
            others = [fit for fit in each[1:] if fit.cost < OTHER_RATIO * each[0].cost]
            laid = [_laid_figure(posture, fit, known) for fit in others]
            facing[place] = _best([facing[place], *laid])
    best = min(facing, key=_worth)
    turned = [each for each in facing if each.fit.to_front[0] @ best.fit.to_front[0] < 0.0]
    return replace(best, margin=min(map(_worth, turned)) - _worth(best))


def _best(found: list[LaidFigure]) -> LaidFigure:
    """Of those that face one way: what speaks for the front says nothing of a size."""
    whole = [each for each in found if arms_hang(each.landmarked.bodies)]
    return min(whole or found, key=_cost)


def arms_hang(bodies: Collection[str]) -> bool:
    """Return whether there is a trunk that arms hang on, where there are arms."""
    arms = {f"{side}_{part}" for side in ("left", "right") for part in ARM}
    return not arms.intersection(bodies) or not TRUNK.isdisjoint(bodies)


def _cost(found: LaidFigure) -> float:
    """A logarithm of odds against it, whichever way it faces."""
    return found.landmarked.cost + 0.5 * (np.log(found.fit.size) / SIZE_SIGMA) ** 2


def _laid_figure(posture: UsualPosture, fit: Fitted, known: Places | None) -> LaidFigure:
    on = _landmarked(posture, fit, known)
    voices, loose = (
        front_votes(posture, fit, on.bodies),
        _loose_ratio(posture.spread, on.bodies),
    )
    return LaidFigure(posture.names, on, fit, 0.0, voices, loose)


def _worth(found: LaidFigure) -> float:
    return _cost(found) - VOICE_ODDS * found.voices


def _both_orders(fit: Fitted) -> list[Fitted]:
    """The figure, and where they differ that whose arms may explain what legs do as well: hands
    that hang beside thighs."""
    order = LIMBS[1::2] + LIMBS[::2]
    other = _with_limbs((fit.points, fit.lean), fit.to_front, fit.size, order)
    same = all(np.allclose(fit.away[name], other.away[name]) for name in fit.away)
    return [fit] if same else [fit, other]


def _landmarked(posture: UsualPosture, fit: Fitted, known: Places | None) -> Landmarked:
    """The markers on landmarks; where legs came out crossed also the other way round: shins cross
    in running, and are then looked for on the wrong side, but thighs do not."""
    start, names = _nearest_bodies(posture, fit), tree().names
    on = fit_landmarks(fit.points, fit.size, posture.spread, start, fit.figure(), known)
    left, right = (fit.points[_on(on.bodies, f"{side}_thigh"), 1] for side in ("left", "right"))
    if not len(left) or not len(right) or np.median(left) > np.median(right):
        return on
    legs = [name.partition("_")[2] in LEG for name in on.bodies]
    swapped = [
        names.index(other_side(name) if leg else name)
        for name, leg in zip(on.bodies, legs, strict=True)
    ]
    figure = fit.figure(crossed=True)
    back = fit_landmarks(fit.points, fit.size, posture.spread, np.array(swapped), figure, known)
    return min(on, back, key=lambda each: each.cost)


def _loose_ratio(spread: Array, bodies: Sequence[str]) -> float:
    """0 where nothing moves, and motion says nothing."""
    same = np.array([[one == other for other in bodies] for one in bodies])
    known = np.isfinite(spread) & ~np.eye(len(bodies), dtype=bool)
    on, between = spread[same & known], spread[~same & known]
    if not len(on) or not len(between) or between.mean() < MOVING_SPREAD:
        return 0.0
    return float(on.mean() / between.mean())
