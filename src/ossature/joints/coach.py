"""Which motion a joint still lacks, and what it would bring.

A joint is uncertain along the directions that never turned. Turning by ±θ about an axis square to
such a direction adds ``n (1 − mean cos)`` to its eigenvalue; the covariance says what that is
worth in millimetres.
"""

import numpy as np

from ossature.maths import quat
from ossature.values import Advice, Bodies, Connection
from ossature.values.arrays import Array

GOOD = 0.005
"""Metres: a joint known this well needs no advice."""
SWEEP = np.radians(30.0)
"""The advised motion goes this far to either side."""
SECONDS = 2.0
"""How long one such motion takes."""
REPEATS = 2


def advise(bodies: Bodies, connections: tuple[Connection, ...]) -> tuple[Advice, ...]:
    """A sentence for each joint that is not yet known well, worst first."""
    found = [
        _advice(bodies, link)
        for link in connections
        if link.kind != "free" and link.ellipsoid[0][0] > GOOD
    ]
    return tuple(sorted(found, key=lambda advice: -advice.deviation))


def _advice(bodies: Bodies, link: Connection) -> Advice:
    deviations, directions = link.ellipsoid
    worst = float(deviations[0])
    # any axis square to the silent direction helps; the next worst direction has turned least
    axis = directions[1]
    reachable = _after(bodies, link, worst)
    text = (
        f"{link.child} on {link.parent}: ±{1000 * worst:.0f} mm "
        f"{_where(bodies, link, directions[0])}; {REPEATS} {_motion_word(bodies, link, axis)} of "
        f"±{np.degrees(SWEEP):.0f}° would bring ±{1000 * reachable:.0f} mm"
    )
    return Advice(link.child, worst, directions[0], axis, reachable, text)


def _after(bodies: Bodies, link: Connection, worst: float) -> float:
    """Deviation after the advised motion: information adds."""
    noise = link.rms / np.sqrt(3.0)
    n_frames = REPEATS * SECONDS * bodies.rate
    turned = 1.0 - np.sinc(SWEEP / np.pi)
    gained = n_frames * turned / max(noise**2, 1e-18)
    return float(1.0 / np.sqrt(1.0 / worst**2 + gained))


def _motion_word(bodies: Bodies, link: Connection, axis: Array) -> str:
    """Twist or swing: whether the missing axis runs along the limb, on average over the take."""
    if link.kind == "fixed":
        return "bends to each side"
    child, parent = (bodies.rotations[:, bodies.index(n)] for n in (link.child, link.parent))
    along = quat.rotate(quat.between(parent, child), link.in_child)
    length = max(float(np.linalg.norm(link.in_child)), 1e-12)
    share = np.sqrt(np.nanmean((along @ axis) ** 2)) / length
    return "twists about the limb" if share > 0.7 else "swings across the usual motion"


def _where(bodies: Bodies, link: Connection, direction: Array) -> str:
    """The direction in words: how it stands in the world, on average over the take."""
    turned = quat.rotate(bodies.rotations[:, bodies.index(link.parent)], direction)
    upright = float(np.sqrt(np.nanmean(turned[:, 2] ** 2)))
    if upright > 0.85:
        return "in height"
    return "in depth or width" if upright < 0.5 else "along a slanted line"
