"""The compiled part of :mod:`osteon.labelling.figure_search`: what is done for every point."""

import math

import numpy as np

from osteon.maths import kernel


@kernel
def take_turns_away(arms, away, frame, usual, odds):
    """Take from ``odds`` (n_answers, n_labels, n_points), where finite, half the squared turn that
    takes arms (n_labels, 3) into the directions of points away (n_answers, n_points, 3), about the
    axes ``frame`` (3, 3), as a ratio to what is ``usual`` (n_labels, 3) in radians squared."""
    for answer in range(odds.shape[0]):
        for label in range(odds.shape[1]):
            ax, ay, az = arms[label]
            for point in range(odds.shape[2]):
                if odds[answer, label, point] == -np.inf:
                    continue
                x, y, z = away[answer, point]
                across = (ay * z - az * y, az * x - ax * z, ax * y - ay * x)
                sine = math.sqrt(across[0] ** 2 + across[1] ** 2 + across[2] ** 2)
                ratio = math.atan2(sine, ax * x + ay * y + az * z) / max(sine, 1e-9)
                for k in range(3):
                    about = across[0] * frame[0, k] + across[1] * frame[1, k]
                    turn = ratio * (about + across[2] * frame[2, k])
                    odds[answer, label, point] -= 0.5 * turn**2 / usual[label, k]


@kernel
def share_points_out(unary, terms, given, score):
    """Fill in the best ways to give points to labels, best first, of every answer.

    ``unary`` (n_answers, n_labels, n_points) is what points are worth for labels, ``terms``
    (n_labels, n_labels, n_points, n_points) what pairs say besides; ``given`` (n_answers, n_ways,
    n_labels) begins as −1, none, and ``score`` (n_answers, n_ways) as −∞.
    """
    n_answers, n_labels, n_points = unary.shape
    most = given.shape[1]
    ways, points, total = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most)
    before = np.empty((most, n_labels), np.int64)
    for answer in range(n_answers):
        score[answer, 0], n_ways = 0.0, 1
        for label in range(n_labels):
            n = 0
            for way in range(n_ways):
                n = _insert(way, -1, score[answer, way], ways, points, total, n)
                for point in range(n_points):
                    worth = score[answer, way] + unary[answer, label, point]
                    for other in range(label):
                        if worth == -np.inf:
                            break
                        held = given[answer, way, other]
                        if held >= 0:
                            worth += terms[other, label, held, point]
                    if worth > -np.inf:
                        n = _insert(way, point, worth, ways, points, total, n)
            for way in range(n_ways):
                for other in range(label):
                    before[way, other] = given[answer, way, other]
            for way in range(n):
                for other in range(label):
                    given[answer, way, other] = before[ways[way], other]
                given[answer, way, label], score[answer, way] = points[way], total[way]
            n_ways = n


@kernel
def _insert(way, point, worth, ways, points, total, n):
    """Put one of the ways kept where it belongs, best first; return how many there are then."""
    most = len(total)
    if n == most and worth <= total[n - 1]:
        return n
    at = min(n, most - 1)
    while at > 0 and total[at - 1] < worth:
        ways[at], points[at], total[at] = ways[at - 1], points[at - 1], total[at - 1]
        at -= 1
    ways[at], points[at], total[at] = way, point, worth
    return min(n + 1, most)
