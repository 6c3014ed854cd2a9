"""A person found in the points of one frame, without any label and in any pose.

One body with several markers is looked for by the distances between them. From there the search
goes along the tree: the joint of the next body is known, so its markers lie on spheres about it
and keep their own distances. Many answers are carried along (a beam), each with its log odds
against points that are there by chance, and the best as a whole wins.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from osteon.labelling.wearer import Wearer
from osteon.maths import quat
from osteon.typing import Array, Indices

BEAM_WIDTH, WIDE_BEAM = 48, 150
"""Count of answers carried along; the second where only the average human is known, who suits many
places. Chosen: doubling the first finds nobody else on takes of ten sets."""
SEED_WIDTH = 400
"""Count of places that the first body may be at. Chosen: as the beam's."""
BODY_WIDTH = 40
"""Count of ways to give a body's labels to points, per answer. Chosen: as the beam's."""
GATE_SIGMAS = 3.5
"""Standard deviations off its place beyond which a point is not looked at. Chosen: leaves out one
marker of a hundred thousand if the slack is right, and few if it is half of it."""
USUAL_LEAN = 0.5
"""Radians rms that an average human's trunk and legs lean. Chosen: people are upright most of the
time."""
STEADY_SLACK = 0.012
"""Metres rms per axis that a marker moves about its place while a cloud is looked at. Chosen: what
skin does; less is known of where a marker sits than of that it stays there."""
LOYAL_DISTANCE = 0.02
"""Metres: a body follows its neighbour as if markers this far out said so. Chosen: settles the turn
that its own leave open, as in calibration."""
LIMB_WIDTH = 6
"""Count of answers carried along while lost limbs are looked for. Chosen: little is open then."""
LOOSE_SHARES = (0.25, 0.1, 0.0)
"""Share of the way to the next joint that it may be off besides, if none, one, or more markers show
how the bone is turned. Chosen: fifteen degrees, and six."""


@dataclass(frozen=True, eq=False)
class Cloud:
    """Points of one frame, and how steadily each two of them keep their distance around it."""

    points: Array
    """(n_points, 3)"""
    unrest: Array
    """(n_points, n_points) metres that a distance varies by, rms; 0 where that is not known."""

    @property
    def apart(self) -> Array:
        return cdist(self.points, self.points)


@dataclass(frozen=True, eq=False)
class Found:
    """Bodies placed so far, and the points their labels were given."""

    score: float
    rotations: Array
    """(n_bodies, 3, 3) to the world; NaN where not placed."""
    joints: Array
    """(n_bodies, 3)"""
    points: Indices
    """(n_labels,) the point of each label; −1: none."""


def find_figures(
    wearer: Wearer, cloud: Cloud, seed: int, known: Indices | None = None
) -> list[Found]:
    """Return answers, best first, that all begin with the body ``seed``.

    Parameters
    ----------
    known : (n_labels,)
        Points that labels are known to be at; −1 where that is open.
    """
    search = _Search(wearer, cloud, known)
    answers = search.seeds(seed)
    for body, near in order_from(wearer, seed):
        grown = [new for old in answers for new in search.grow(old, body, near)]
        answers = _best(grown, search.width)
    return answers


def find_limbs(
    wearer: Wearer, cloud: Cloud, known: Indices, rotations: Array, joints: Array
) -> Indices:
    """Return (n_labels,) the point of each label, where those of some are ``known``, else −1.

    Bodies that lack labels are placed anew from their parents, near the pose they had.

    Parameters
    ----------
    rotations, joints : (n_bodies, 3, 3), (n_bodies, 3)
        The pose of the bodies in the world, as far as it is known.
    """
    search = _Search(wearer, cloud, known, pose=rotations)
    answers = [Found(0.0, rotations, joints, known)]
    lacking = np.unique(wearer.rig.tree.marker_bodies[known < 0])
    for body in lacking[wearer.parents[lacking] >= 0]:
        near = int(wearer.parents[body])
        grown = [
            new for old in answers for new in search.grow(_without(wearer, old, body), body, near)
        ]
        answers = _best(grown, LIMB_WIDTH)
    return answers[0].points


def _without(wearer: Wearer, answer: Found, body: int) -> Found:
    """Return an answer in which a body's labels have no points yet."""
    points = answer.points.copy()
    points[wearer.labels_of(body)] = -1
    return replace(answer, points=points)


def seed_bodies(wearer: Wearer) -> list[int]:
    """Return the bodies to begin with, best first: many markers, far apart."""
    bodies = range(len(wearer.parents))
    size = {}
    for body in bodies:
        places = wearer.rig.places[wearer.labels_of(body)]
        spread = np.linalg.svd(places - places.mean(axis=0), compute_uv=False) if len(places) else 0
        size[body] = len(places) + float(np.sum(spread)) if len(places) >= 3 else 0.0
    return [body for body in sorted(bodies, key=lambda b: -size[b]) if size[body]]


def order_from(wearer: Wearer, seed: int) -> list[tuple[int, int]]:
    """Return the other bodies, each with the neighbour it is placed from, most markers first."""
    parents, done, order = wearer.parents, {seed}, []
    count = [len(wearer.labels_of(body)) for body in range(len(parents))]
    while len(done) < len(parents):
        links = [(body, int(parents[body])) for body in range(len(parents)) if parents[body] >= 0]
        both = [*links, *(pair[::-1] for pair in links)]
        open_links = [pair for pair in both if pair[0] not in done and pair[1] in done]
        body, near = max(open_links, key=lambda pair: count[pair[0]])
        order.append((body, near))
        done.add(body)
    return order


def _best(answers: list[Found], width: int) -> list[Found]:
    """Return the best ``width`` that differ in what they give to whom."""
    kept: dict[bytes, Found] = {}
    for one in sorted(answers, key=lambda answer: -answer.score):
        kept.setdefault(one.points.tobytes(), one)
        if len(kept) == width:
            break
    return list(kept.values())


class _Search:
    """What stays the same while answers grow."""

    def __init__(
        self, wearer: Wearer, cloud: Cloud, known: Indices | None, pose: Array | None = None
    ) -> None:
        self.wearer, self.cloud, self.apart = wearer, cloud, cloud.apart
        self.pose, self.width = pose, BEAM_WIDTH if wearer.known else WIDE_BEAM
        self.known = np.full(len(wearer.names), -1) if known is None else known

    def seeds(self, seed: int) -> list[Found]:
        """Return places that the first body may be at."""
        n_bodies, labels = len(self.wearer.parents), self.wearer.labels_of(seed)
        empty = Found(
            0.0,
            np.full((n_bodies, 3, 3), np.nan),
            np.full((n_bodies, 3), np.nan),
            np.full(len(self.wearer.names), -1),
        )
        given = self._share_out(labels, self._unary(empty, labels), SEED_WIDTH)
        given = given[(given >= 0).sum(axis=1) >= 3]
        placed = self._placed(empty, seed, given, None)
        return _best([self._stood(each, seed) for each in placed], self.width)

    def _stood(self, answer: Found, body: int) -> Found:
        """Return the answer, less likely the more a body leans that mostly stands."""
        if self.wearer.known:
            return answer
        lean = np.arccos(np.clip(answer.rotations[body, 2, 2], -1.0, 1.0))
        return replace(answer, score=answer.score - 0.5 * float(lean / USUAL_LEAN) ** 2)

    def grow(self, answer: Found, body: int, near: int) -> list[Found]:
        """Return an answer with one body more, in every way worth keeping."""
        wearer, labels = self.wearer, self.wearer.labels_of(body)
        hold = _hold(wearer, answer, body, near)
        if self.pose is not None:
            hold = hold._replace(expected=self.pose[body])
        away = np.linalg.norm(self.cloud.points - hold.joint, axis=-1)
        radius = np.linalg.norm(wearer.rig.places[labels] - hold.anchor, axis=-1)
        sigma = np.hypot(wearer.slack[labels], _joint_slack(wearer, near))[:, None]
        off = (away - radius[:, None]) / sigma
        unary = self._unary(answer, labels) - 0.5 * off**2
        unary[np.abs(off) > GATE_SIGMAS] = -np.inf
        return self._placed(answer, body, self._share_out(labels, unary, BODY_WIDTH), hold)

    def _unary(self, answer: Found, labels: Indices) -> Array:
        """Return (n_labels, n_points) log odds before places are looked at: −∞ where taken."""
        odds = np.repeat(self.wearer.gain[labels][:, None], len(self.cloud.points), axis=1)
        odds[:, answer.points[answer.points >= 0]] = -np.inf
        odds[:, self.known[self.known >= 0]] = -np.inf
        settled = np.flatnonzero(self.known[labels] >= 0)
        odds[settled] = -np.inf
        odds[settled, self.known[labels[settled]]] = self.wearer.gain[labels[settled]]
        return odds

    def _share_out(self, labels: Indices, unary: Array, width: int) -> Indices:
        """Return (n_ways, n_labels) points that labels of one body may be given; −1: none.

        Label after label, keeping the ways whose distances suit best so far.
        """
        given, score = np.zeros((1, 0), dtype=np.int64), np.zeros(1)
        for row in range(len(labels)):
            more = unary[row] + self._distance_terms(labels[: row + 1], given)
            total = score[:, None] + np.concatenate([more, np.zeros((len(given), 1))], axis=1)
            flat = np.argsort(-total, axis=None)[:width]
            flat = flat[np.isfinite(total.ravel()[flat])]
            way, point = np.unravel_index(flat, total.shape)
            point = np.where(point == len(self.cloud.points), -1, point)
            given = np.concatenate([given[way], point[:, None]], axis=1)
            score = total.ravel()[flat]
        return given

    def _distance_terms(self, labels: Indices, given: Indices) -> Array:
        """Return (n_ways, n_points) what distances to the points ``given`` (n_ways, n − 1) say of
        a point for the last of n labels."""
        places, slack = self.wearer.rig.places[labels], self.wearer.slack[labels]
        terms = np.zeros((len(given), len(self.cloud.points)))
        for before in range(len(labels) - 1):
            variance = slack[-1] ** 2 + slack[before] ** 2
            wanted = np.linalg.norm(places[-1] - places[before])
            at = given[:, before]
            off = (self.apart[at] - wanted) ** 2 / variance
            off += self.cloud.unrest[at] ** 2 / min(variance, 2.0 * STEADY_SLACK**2)
            term = np.where(off < GATE_SIGMAS**2, -off / (1.0 + len(labels)), -np.inf)
            term[np.arange(len(at)), at] = -np.inf
            terms += np.where((at >= 0)[:, None], term, 0.0)
        return terms

    def _placed(
        self, answer: Found, body: int, given: Indices, hold: "_Hold | None"
    ) -> list[Found]:
        """Return the answer with a body laid on the points that its labels were given, per way."""
        wearer, labels = self.wearer, self.wearer.labels_of(body)
        weights = np.where(given >= 0, wearer.slack[labels] ** -2, 0.0)
        places, targets = wearer.rig.places[labels], self.cloud.points[given]
        if hold is not None:
            weights = np.pad(weights, ((0, 0), (0, 1)), constant_values=wearer.joint_slack**-2)
            places = np.concatenate([places, hold.anchor[None]])
            joint = np.broadcast_to(hold.joint, (len(given), 1, 3))
            targets = np.concatenate([targets, joint], axis=1)
        rotations, origins = _lay(places, targets, weights, hold)
        off = targets - origins[:, None] - np.einsum("wij,mj->wmi", rotations, places)
        score = (given >= 0) @ wearer.gain[labels] + answer.score
        score -= 0.5 * np.einsum("wm,wmi,wmi->w", weights, off, off)
        if hold is not None:
            cosine = 0.5 * (np.einsum("wij,ij->w", rotations, hold.expected) - 1.0)
            score -= 0.5 * (np.arccos(np.clip(cosine, -1.0, 1.0)) / hold.turn) ** 2
        return [
            _with_body(answer, body, labels, *each)
            for each in zip(score, rotations, origins, given, strict=True)
        ]


class _Hold(NamedTuple):
    """How a body hangs on a neighbour that is placed."""

    anchor: Array
    """(3,) the joint they share, from the body's own joint."""
    joint: Array
    """(3,) where it is in the world."""
    expected: Array
    """(3, 3) rotation of the body if their joint is at rest."""
    turn: float
    """Radians rms that it is away from that."""


def _hold(wearer: Wearer, answer: Found, body: int, near: int) -> _Hold:
    turn, at = answer.rotations[near], answer.joints[near]
    if wearer.parents[body] == near:
        joint = at + turn @ wearer.rig.offsets[body]
        return _Hold(np.zeros(3), joint, turn @ wearer.rest[body], wearer.turn[body])
    return _Hold(wearer.rig.offsets[near], at, turn @ wearer.rest[near].T, wearer.turn[near])


def _joint_slack(wearer: Wearer, near: int) -> float:
    """Return how far off a joint may be that is placed from a neighbour: more, where few markers
    show how that is turned."""
    shown = len(wearer.labels_of(near))
    reach = np.linalg.norm(wearer.rig.offsets, axis=-1)[wearer.parents == near].max(initial=0.05)
    return wearer.joint_slack + LOOSE_SHARES[min(shown, 2)] * float(reach)


def _with_body(
    answer: Found, body: int, labels: Indices, score: float, turn: Array, at: Array, given: Indices
) -> Found:
    rotations, joints = answer.rotations.copy(), answer.joints.copy()
    points = answer.points.copy()
    rotations[body], joints[body], points[labels] = turn, at, given
    return Found(float(score), rotations, joints, points)


def _lay(places: Array, targets: Array, weights: Array, hold: _Hold | None) -> tuple[Array, Array]:
    """Return rotations (n_ways, 3, 3) and origins (n_ways, 3) of places (n, 3) on targets
    (n_ways, n, 3) by weights (n_ways, n), turned as expected where these leave it open."""
    total = weights.sum(axis=1, keepdims=True)
    middle = weights @ places / total
    centre = np.einsum("wm,wmi->wi", weights, targets) / total
    arms = places - middle[:, None]
    match = np.einsum("wm,wmi,wmj->wij", weights, targets - centre[:, None], arms)
    if hold is not None:
        match = match + LOYAL_DISTANCE**2 * weights.max(axis=1)[:, None, None] * hold.expected
    rotations = quat.nearest_matrix(match)
    return rotations, centre - np.einsum("wij,wj->wi", rotations, middle)
