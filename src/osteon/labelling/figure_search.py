"""A person found in the points of one frame, without any label and in any pose.

One body with several markers is looked for by the distances between them. From there the search
goes along the tree: the joint of the next body is known, so its markers lie on spheres about it
and keep their own distances. Many answers are carried along (a beam), each with its log odds
against points that are there by chance, and the best as a whole wins.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from osteon.labelling._figure_search_kernel import share_points_out, take_turns_away
from osteon.labelling.wearer import Wearer, order_from
from osteon.maths import assign, distances_between, quat
from osteon.typing import Array, Indices, Mask

BEAM_WIDTH, WIDE_BEAM = 48, 150
"""Count of answers carried along; the second where only the average human is known, who suits many
places. Chosen: doubling the first finds nobody else on takes of ten sets."""
COARSE_BEAM = 40
"""Count of answers carried along where only a size is asked for. Chosen: they take a quarter of the
time."""
SEED_WIDTH = 400
"""Count of places that the first body may be at. Chosen: as the beam's."""
BODY_WIDTH, SETTLED_WIDTH = 40, 16
"""Count of ways to give a body's labels to points, per answer; the second where each label has its
point or none. Chosen: as the beam's; with sixteen instead, two of eight sets were exchanged
somewhere; and all ways to leave out some of four labels."""
GATE_SIGMAS = 3.5
"""Standard deviations off its place beyond which a point is not looked at. Chosen: leaves out one
marker of a hundred thousand if the slack is right, and few if it is half of it."""
USUAL_LEAN = 0.5
"""Radians rms that an average human's trunk and legs lean. Chosen: people are upright most of the
time."""
USUAL_RISE = 0.3
"""Metres rms that joints of trunk and legs are above or below where standing people have them.
Chosen: a thigh's length is two of it."""
STEADY_SLACK = 0.012
"""Metres rms per axis that a marker moves about its place while a cloud is looked at. Chosen: what
skin does; less is known of where a marker sits than of that it stays there."""
STEADY_RMS = 0.004
"""Metres rms that two markers of one body mostly change their distance by. Measured: 1 to 6 mm on
walking and squatting people, 10 to 17 mm across a knee."""
LOYAL_DISTANCE = 0.02
"""Metres: a body follows its neighbour as if markers this far out said so. Chosen: settles the turn
that its own leave open, as in calibration."""
TURN_SHARE = 0.5
"""Share of what speaks against a joint's turn that counts before a body is laid: each of its labels
tells it anew. Chosen: two labels, as most have."""
LAID_RATIO = 4
"""Ratio of the ways that are laid on their points to the answers kept of them; the others are left
out by what distances alone say. Chosen: with ten times as many the same people are found."""
LIMB_WIDTH = 6
"""Count of answers carried along while lost limbs are looked for. Chosen: little is open then."""
LOOSE_SHARES = (0.25, 0.1, 0.0)
"""Share of the way to the next joint that it may be off besides, if none, one, or more markers show
how the bone is turned. Chosen: fifteen degrees, and six."""
ONE_SIDED = 1.5
"""Log odds, as a ratio to one, that a label worn on one side only has against it. Chosen: of
laboratories' takes one label in five is so, as markers fall off or are hidden."""


@dataclass(frozen=True, eq=False)
class Cloud:
    """Points of one frame, and how steadily each two of them keep their distance around it."""

    points: Array
    """(n_points, 3)"""
    unrest: Array
    """(n_points, n_points) metres that a distance varies by, rms; 0 where that is not known."""

    @property
    def apart(self) -> Array:
        return distances_between(self.points, self.points)


@dataclass(frozen=True, eq=False)
class Found:
    """Bodies placed, and the points their labels were given."""

    score: float
    rotations: Array
    """(n_bodies, 3, 3) to the world; NaN where not placed."""
    joints: Array
    """(n_bodies, 3)"""
    points: Indices
    """(n_labels,) the point of each label; −1: none."""
    question: int = 0


class _Beam(NamedTuple):
    """Answers that are carried along, best first; each row as ``Found``."""

    score: Array
    rotations: Array
    joints: Array
    points: Indices
    hoped: Array
    """(n_answers,) of the score: what points near bones would add that carry loose labels."""
    question: Indices
    """(n_answers,) which of several questions, asked together, each is an answer to."""


def find_figures(wearer: Wearer, cloud: Cloud, seed: int, *, coarse: bool = False) -> list[Found]:
    """Return answers, best first, that all begin with the body ``seed``.

    ``coarse``: few are carried along.
    """
    search = _Search(wearer, cloud)
    if coarse:
        search.width, search.body_width = COARSE_BEAM, SETTLED_WIDTH
    return sorted(search.answers(seed), key=lambda answer: -answer.score)


def score_labellings(wearer: Wearer, cloud: Cloud, seed: int, held: Indices, width: int) -> Array:
    """Return (n_labellings,) log odds of points being what they are taken for; 0 where no body
    can be placed.

    Parameters
    ----------
    held : (n_labellings, n_labels)
        The point that each label is taken to be at, and may be left without; −1: none.
    width
        How many answers are carried along of each.
    """
    search = _Search(wearer, cloud, held, alone=True)
    search.width = width
    scores = np.zeros(len(held))
    for answer in search.answers(seed):
        scores[answer.question] = max(scores[answer.question], answer.score)
    return scores


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
    search = _Search(wearer, cloud, known[None], pose=rotations)
    none = np.zeros(1)
    beam = _Beam(none, rotations[None], joints[None], known[None].copy(), none, none.astype(int))
    lacking = np.unique(wearer.rig.tree.marker_bodies[known < 0])
    for body in lacking[wearer.parents[lacking] >= 0]:
        beam.points[:, wearer.labels_of(body)] = -1
        beam = search.grow(beam, body, int(wearer.parents[body]), LIMB_WIDTH)
    return beam.points[0]


class _Search:
    """What stays the same while answers grow."""

    def __init__(
        self,
        wearer: Wearer,
        cloud: Cloud,
        known: Indices | None = None,
        pose: Array | None = None,
        *,
        alone: bool = False,
    ) -> None:
        """``known`` (n_questions, n_labels) are points that labels are at, −1 where that is open;
        ``alone``: there are no other points."""
        self.wearer, self.cloud, self.apart = wearer, cloud, cloud.apart
        self.pose = pose
        self.width = BEAM_WIDTH if wearer.known else WIDE_BEAM
        self.body_width = SETTLED_WIDTH if alone else BODY_WIDTH
        self.known = np.full((1, len(wearer.names)), -1) if known is None else known
        self.alone = alone
        held = np.zeros((len(self.known), len(cloud.points) + 1), dtype=bool)
        np.put_along_axis(held, self.known, values=True, axis=1)  # −1, none: the last
        self.held = held[:, :-1]
        """(n_questions, n_points)"""

    def answers(self, seed: int) -> list[Found]:
        """Return answers to all questions, that all begin with the body ``seed``."""
        beam = self.seeds(seed)
        for body, near in order_from(self.wearer, seed):
            if not len(beam.score):
                break
            beam = self.grow(beam, body, near, self.width)
        score, question = (beam.score - beam.hoped).tolist(), beam.question.tolist()
        rows = zip(score, beam.rotations, beam.joints, beam.points, question, strict=True)
        found = [Found(*row) for row in rows]
        return found if self.wearer.known else [self.with_loose(answer) for answer in found]

    def seeds(self, seed: int) -> _Beam:
        """Return places that the first body may be at."""
        n_bodies, labels = len(self.wearer.parents), self.wearer.placed_labels_of(seed)
        n = len(self.known)
        empty = _Beam(
            np.zeros(n),
            np.full((n, n_bodies, 3, 3), np.nan),
            np.full((n, n_bodies, 3), np.nan),
            np.full((n, len(self.wearer.names)), -1),
            np.zeros(n),
            np.arange(n),
        )
        width = SETTLED_WIDTH if self.alone else SEED_WIDTH
        ways = self._share_out(labels, self._unary(empty, labels), width)
        ways.real[:] &= (ways.given >= 0).sum(axis=-1) >= 3
        return self._placed(empty, seed, ways, None, self.width)

    def grow(self, beam: _Beam, body: int, near: int, width: int) -> _Beam:
        """Return the answers with one body more, in the ways most worth keeping."""
        wearer, labels = self.wearer, self.wearer.placed_labels_of(body)
        hold = _hold(wearer, beam, body, near)
        if self.pose is not None:
            hold = hold._replace(expected=np.broadcast_to(self.pose[body], (len(beam.score), 3, 3)))
        away = np.linalg.norm(self.cloud.points - hold.joint[:, None], axis=-1)
        radius = np.linalg.norm(wearer.rig.places[labels] - hold.anchor, axis=-1)
        sigma = np.hypot(wearer.slack[labels], _joint_slack(wearer, near))[:, None]
        off = (away[:, None] - radius[:, None]) / sigma
        unary = self._unary(beam, labels) - 0.5 * off**2
        unary[np.abs(off) > GATE_SIGMAS] = -np.inf
        if not wearer.known:
            self._take_turns_away(unary, hold, labels, sigma)
        ways = self._share_out(labels, unary, self.body_width)
        return self._placed(beam, body, ways, hold, width)

    def _take_turns_away(self, unary: Array, hold: "_Hold", labels: Indices, sigma: Array) -> None:
        """Take from the odds ``unary`` (n_answers, n_labels, n_points) what speaks against the
        least turn of the joint that takes each label's place into the direction of each point."""
        arms = self.wearer.rig.places[labels] - hold.anchor
        reach = np.linalg.norm(arms, axis=-1)[:, None]
        away = (self.cloud.points - hold.joint[:, None]) @ hold.expected
        usual = hold.turn**2 + (sigma / np.maximum(reach, 1e-3)) ** 2
        take_turns_away(arms, away, hold.frame, usual / TURN_SHARE, unary)

    def _unary(self, beam: _Beam, labels: Indices) -> Array:
        """Return (n_answers, n_labels, n_points) log odds before places are looked at: −∞ where a
        point is taken."""
        n_answers, n_points = len(beam.score), len(self.cloud.points)
        taken = np.full((n_answers, n_points + 1), self.alone)
        np.put_along_axis(taken, beam.points, values=True, axis=1)  # −1, none: the last
        taken[:, :-1] |= self.held[beam.question]
        gain = (self.wearer.gain - self.wearer.rarity)[labels]
        odds = np.where(taken[:, None, :-1], -np.inf, gain[:, None])
        known = self.known[np.ix_(beam.question, labels)]
        answer, row = np.nonzero(known >= 0)
        odds[answer, row] = -np.inf
        odds[answer, row, known[answer, row]] = gain[row]
        return odds

    def _share_out(self, labels: Indices, unary: Array, width: int) -> "_Ways":
        """Return ways to give points to the labels of one body.

        Label after label, keeping the ways whose distances suit best so far.
        """
        n, n_labels, n_points = unary.shape
        terms = np.zeros((n_labels, n_labels, n_points, n_points))
        for last, label in enumerate(labels):
            for before, other in enumerate(labels[:last]):
                terms[before, last] = self._pair_terms(other, label) / (2.0 + last)
        given = np.full((n, width, n_labels), -1)
        score = np.full((n, width), -np.inf)
        share_points_out(unary, terms, given, score)
        given[:, -1], score[:, -1] = -1, np.inf  # that none is worn is worth a look
        return _Ways(given, score, score > -np.inf)

    def _pair_terms(self, one: int, other: int) -> Array:
        """Return (n_points, n_points) what the distance of two points says of two labels."""
        places, slack = self.wearer.rig.places, self.wearer.slack
        variance = slack[one] ** 2 + slack[other] ** 2
        wanted = np.linalg.norm(places[one] - places[other])
        off = (self.apart - wanted) ** 2 / variance
        off += self.cloud.unrest**2 / min(variance, 2.0 * STEADY_SLACK**2)
        terms = np.where(off < GATE_SIGMAS**2, -off, -np.inf)
        np.fill_diagonal(terms, -np.inf)
        return terms

    def _placed(
        self, beam: _Beam, body: int, ways: "_Ways", hold: "_Hold | None", width: int
    ) -> _Beam:
        """Return the answers with a body laid on the points that its labels were given, the best
        ``width`` of all ways to answer a question."""
        wearer, labels = self.wearer, self.wearer.placed_labels_of(body)
        old, way = np.nonzero(ways.real)
        likely = beam.score[old] + ways.score[old, way]
        tried = _best_of_each(likely, beam.question[old], LAID_RATIO * width)
        old, given = old[tried], ways.given[old[tried], way[tried]]
        weights = np.where(given >= 0, wearer.slack[labels] ** -2, 0.0)
        places, targets = wearer.rig.places[labels], self.cloud.points[given]
        expected = None
        if hold is not None:
            weights = np.pad(weights, ((0, 0), (0, 1)), constant_values=wearer.joint_slack**-2)
            places = np.concatenate([places, hold.anchor[None]])
            targets = np.concatenate([targets, hold.joint[old, None]], axis=1)
            expected = hold.expected[old]
        rotations, origins = lay(places, targets, weights, expected)
        off = targets - origins[:, None] - np.einsum("wij,mj->wmi", rotations, places)
        score = (given >= 0) @ (wearer.gain - wearer.rarity)[labels] + beam.score[old]
        score -= 0.5 * np.einsum("wm,wmi,wmi->w", weights, off, off)
        score -= _unusual(wearer, rotations, expected, hold, body)
        score -= self._too_high(body, origins)
        score -= self._restless(given) + _one_sided(wearer, beam, old, labels, given)
        hoped = self._hoped(body, rotations, origins, beam.points[old], given)
        score += hoped
        best = _best_of_each(score, beam.question[old], width)
        kept = old[best]
        new = _Beam(
            score[best],
            beam.rotations[kept],
            beam.joints[kept],
            beam.points[kept],
            beam.hoped[kept] + hoped[best],
            beam.question[kept],
        )
        new.rotations[:, body], new.joints[:, body] = rotations[best], origins[best]
        new.points[:, labels] = given[best]
        return new

    def _hoped(
        self, body: int, rotations: Array, origins: Array, points: Indices, given: Indices
    ) -> Array:
        """Return (n_ways,) what points near a bone add that are free for its loose labels."""
        wearer = self.wearer
        loose = np.setdiff1d(wearer.labels_of(body), wearer.placed_labels_of(body))
        if self.alone or not len(loose):
            return np.zeros(len(given))
        middle = origins + rotations @ wearer.rig.places[loose[0]]
        odds = np.zeros((len(given), len(self.cloud.points) + 1))
        off = distances_between(middle, self.cloud.points) / wearer.slack[loose[0]]
        odds[:, :-1] = np.maximum(wearer.gain[loose[0]] + wearer.worth - 0.5 * off**2, 0.0)
        np.put_along_axis(odds, np.concatenate([points, given], axis=1), values=0.0, axis=1)
        return np.sort(odds, axis=1)[:, -len(loose) :].sum(axis=1)

    def with_loose(self, answer: Found) -> Found:
        """Return the answer with labels on bodies, anywhere on them, for points that are left; and
        its score with what all points are worth that are explained."""
        wearer, loose = self.wearer, np.flatnonzero(self.wearer.loose)
        explained = answer.score + wearer.worth * int((answer.points >= 0).sum())
        if not len(loose):
            return replace(answer, score=explained)
        bodies = wearer.rig.tree.marker_bodies[loose]
        turned = np.einsum("lij,lj->li", answer.rotations[bodies], wearer.rig.places[loose])
        off = (
            distances_between(turned + answer.joints[bodies], self.cloud.points)
            / wearer.slack[loose, None]
        )
        odds = wearer.gain[loose, None] + wearer.worth - 0.5 * off**2
        odds[:, answer.points[answer.points >= 0]] = 0.0
        if self.alone:
            odds[:, ~self.held[answer.question]] = 0.0
        odds = np.maximum(odds, 0.0)
        rows, columns = assign(-odds)
        added = odds[rows, columns]
        points = answer.points.copy()
        points[loose[rows[added > 0.0]]] = columns[added > 0.0]
        return replace(answer, score=explained + float(added.sum()), points=points)

    def _too_high(self, body: int, origins: Array) -> Array:
        """Return (n_ways,) log odds against a joint being so high, or so low."""
        height = self.wearer.heights[body]
        if np.isnan(height):
            return np.zeros(len(origins))
        floor = self.cloud.points[:, 2].min()
        return 0.5 * ((origins[:, 2] - floor - height) / USUAL_RISE) ** 2

    def _restless(self, given: Indices) -> Array:
        """Return (n_ways,) log odds against points of one body that change their distances."""
        n_labels, cost = given.shape[1], np.zeros(len(given))
        unrest = np.pad(self.cloud.unrest, ((0, 1), (0, 1)))  # −1, none: the last
        for one in range(n_labels):
            for other in range(one):
                cost += unrest[given[:, one], given[:, other]] ** 2
        count = np.maximum((given >= 0).sum(axis=1), 1)
        return 0.5 * cost / (count * STEADY_RMS**2)


class _Ways(NamedTuple):
    """Ways to give points to the labels of one body, in every answer."""

    given: Indices
    """(n_answers, n_ways, n_labels) points; −1: none."""
    score: Array
    """(n_answers, n_ways) what distances say for them; infinite where no label is given any."""
    real: Mask
    """(n_answers, n_ways) whether there is such a way."""


class _Hold(NamedTuple):
    """How a body hangs on a neighbour that is placed, in every answer."""

    anchor: Array
    """(3,) the joint they share, from the body's own joint."""
    joint: Array
    """(n_answers, 3) where it is in the world."""
    expected: Array
    """(n_answers, 3, 3) rotation of the body if their joint is at rest."""
    turn: Array
    """(3,) radians rms that it is away from that, about the axes of ``frame``."""
    frame: Array
    """(3, 3) the axes, in the body's own."""


def _hold(wearer: Wearer, beam: _Beam, body: int, near: int) -> _Hold:
    turn, at = beam.rotations[:, near], beam.joints[:, near]
    if wearer.parents[body] == near:
        joint = at + turn @ wearer.rig.offsets[body]
        expected = turn @ wearer.rest[body]
        return _Hold(np.zeros(3), joint, expected, wearer.turn[body], np.eye(3))
    rest = wearer.rest[near]
    return _Hold(wearer.rig.offsets[near], at, turn @ rest.T, wearer.turn[near], rest)


def _joint_slack(wearer: Wearer, near: int) -> float:
    """Return how far off a joint may be that is placed from a neighbour: more, where few markers
    show how that is turned."""
    shown = len(wearer.labels_of(near))
    reach = np.linalg.norm(wearer.rig.offsets, axis=-1)[wearer.parents == near].max(initial=0.05)
    return wearer.joint_slack + LOOSE_SHARES[min(shown, 2)] * float(reach)


def _unusual(
    wearer: Wearer, rotations: Array, expected: Array | None, hold: _Hold | None, body: int
) -> Array:
    """Return (n_ways,) log odds against a body being turned so: against its neighbour, or, of the
    first body of an average human, against standing."""
    if hold is not None and expected is not None:
        away = quat.log(quat.from_matrix(np.swapaxes(expected, -1, -2) @ rotations))
        return 0.5 * (((away @ hold.frame) / hold.turn) ** 2).sum(axis=-1)
    if wearer.known:
        return np.zeros(len(rotations))
    lean = np.arccos(np.clip(rotations[:, 2, 2], -1.0, 1.0))
    return 0.5 * (lean / USUAL_LEAN) ** 2


def _one_sided(wearer: Wearer, beam: _Beam, old: Indices, labels: Indices, given: Indices) -> Array:
    """Return (n_ways,) log odds against labels that are worn on one side, and on the other not."""
    cost, bodies = np.zeros(len(given)), wearer.rig.tree.marker_bodies
    for column, twin in enumerate(wearer.twin[labels]):
        beside = np.flatnonzero(labels == twin)
        if twin < 0 or (len(beside) and beside[0] < column):
            continue
        other = given[:, beside[0]] if len(beside) else beam.points[old, twin]
        if len(beside) or np.isfinite(beam.joints[:1, bodies[twin]]).any():
            cost += ONE_SIDED * ((given[:, column] >= 0) != (other >= 0))
    return cost


def _best_of_each(score: Array, question: Indices, count: int) -> Indices:
    """Return rows of the ``count`` largest scores of each question, in falling order."""
    order = np.lexsort((-score, question))
    asked = question[order]
    rank = np.arange(len(order)) - np.searchsorted(asked, asked)
    return order[rank < count]


def lay(
    places: Array, targets: Array, weights: Array, expected: Array | None
) -> tuple[Array, Array]:
    """Return rotations (n_ways, 3, 3) and origins (n_ways, 3) of places (n, 3) on targets
    (n_ways, n, 3) by weights (n_ways, n), turned as expected where these leave it open."""
    total = weights.sum(axis=1, keepdims=True)
    middle = weights @ places / total
    centre = np.einsum("wm,wmi->wi", weights, targets) / total
    arms = places - middle[:, None]
    match = np.einsum("wm,wmi,wmj->wij", weights, targets - centre[:, None], arms)
    if expected is not None:
        match = match + LOYAL_DISTANCE**2 * weights.max(axis=1)[:, None, None] * expected
    rotations = quat.nearest_matrix(match)
    return rotations, centre - np.einsum("wij,wj->wi", rotations, middle)
