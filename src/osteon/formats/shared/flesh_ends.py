"""Where bones end with the flesh on them, and how low and how long a foot is: joints tell neither,
and who stands on them sinks."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from osteon.errors import BadValue, NotEnoughData
from osteon.human import StandingFigure, figure_at_rest
from osteon.maths import quat
from osteon.typing import Array
from osteon.values import Skeleton

MAIN_SHARE = 0.5
"""Share of a vertex's weight by which it is a body's own, derived: no two have more than half."""
END_SHARE = 0.9
"""Share of the way to the farthest vertex from which on flesh is a bone's end; chosen: the mean of
the last tenth does not hang on one vertex."""
SOLE_SHARE = 0.02
"""Share of a foot's vertices that may lie below its sole or before its tip; chosen: seams and
buckles."""
FRONT_SHARE = 0.3
"""Share of a foot's length that is its front, or its back; chosen: the ball with the toes, the
heel."""
FEWEST_VERTICES = 8
"""Count of vertices from which on flesh has a shape; derived: a box has as many corners."""


class Flesh(NamedTuple):
    """A mesh as it was put on bodies, in our world."""

    vertices: Array
    """(n_vertices, 3) metres, z up."""
    carriers: np.ndarray
    """(n_vertices, n) bodies."""
    weights: Array
    """(n_vertices, n) that sum to 1."""

    def on(self, bodies: list[int]) -> Array:
        """Return (n, 3) the vertices that these bodies carry."""
        shares = np.sum(self.weights * np.isin(self.carriers, bodies), axis=1)
        return self.vertices[shares > MAIN_SHARE]


def flesh_ends(flesh: Flesh, rests: Array) -> dict[int, Array]:
    """Return body → (3,) the far end of the flesh on it, from its joint in its frame.

    Parameters
    ----------
    rests : (n_bodies, 4, 4)
        Bodies as the skin was put on them, in our world.
    """
    ends = {}
    for body, rest in enumerate(rests):
        arms = (flesh.on([body]) - rest[:3, 3]) @ rest[:3, :3]
        if len(arms):
            ends[body] = _far(arms)
    return ends


def with_soles(skeleton: Skeleton, flesh: Flesh, joints: Array) -> Skeleton:
    """Return the skeleton with the last bones of its feet ending where their soles do: ahead in the
    foot's middle, and as low as its flesh. The same skeleton where no feet are known.

    Parameters
    ----------
    joints : (n_bodies, 3)
        Of bodies as the skin was put on them, in our world; NaN where that is not known.
    """
    try:
        figure = figure_at_rest(skeleton)
    except (NotEnoughData, BadValue):
        return skeleton
    bodies = list(skeleton.bodies)
    for side in ("left", "right"):
        if f"{side}_foot" in figure.parts:
            foot = skeleton.index(figure.parts[f"{side}_foot"])
            arms = flesh.on(_below(skeleton, foot)) - joints[foot]
            if len(arms) >= FEWEST_VERTICES and np.isfinite(arms).all():
                last = _last(skeleton, figure, side)
                tip = figure.joints[foot] + _sole_end(figure, side, arms) - figure.joints[last]
                tip = quat.rotate(quat.inverse(figure.rotations[last]), tip)
                bodies[last] = replace(bodies[last], tip=bodies[last].joint.in_body + tip)
    return replace(skeleton, bodies=tuple(bodies))


def _sole_end(figure: StandingFigure, side: str, arms: Array) -> Array:
    """Return (3,) the tip of the sole, from the ankle; ``arms`` (n, 3) go from there to the flesh
    of the foot, in the figure's world."""
    up = figure.upright()
    level = arms - (arms @ up)[:, None] * up
    along = _heading(figure, side, level)
    reach = np.quantile(level @ along, 1.0 - SOLE_SHARE)
    return reach * along + np.quantile(arms @ up, SOLE_SHARE) * up


def _heading(figure: StandingFigure, side: str, level: Array) -> Array:
    """Return (3,) where a foot points: from ankle to toes, else from the middle of its heel to that
    of its front. ``level`` (n, 3) is its flesh, laid on the ground."""
    up = figure.upright()
    if f"{side}_toes" in figure.parts:
        toes = figure.joint(f"{side}_toes") - figure.joint(f"{side}_foot")
        toes = toes - (toes @ up) * up
        if np.linalg.norm(toes) > FRONT_SHARE * np.linalg.norm(level, axis=-1).max():
            return quat.normalise(toes)
    along = quat.normalise(_far(level))
    across = np.cross(up, along)
    ahead, aside = level @ along, level @ across
    length = float(np.ptp(ahead))
    if length <= 0.0:
        return along
    back = ahead < ahead.min() + FRONT_SHARE * length
    front = ahead > ahead.max() - FRONT_SHARE * length
    middles = [0.5 * (aside[part].min() + aside[part].max()) for part in (back, front)]
    turned = (1.0 - FRONT_SHARE) * length * along + (middles[1] - middles[0]) * across
    return quat.normalise(turned)


def _far(arms: Array) -> Array:
    """Return (3,) the middle of what reaches farthest."""
    reach = np.linalg.norm(arms, axis=-1)
    return arms[reach >= END_SHARE * reach.max()].mean(axis=0)


def _below(skeleton: Skeleton, body: int) -> list[int]:
    """Return a body and all that hang on it."""
    found = [body]
    for index, parent in enumerate(skeleton.parents):
        if parent in found:
            found.append(index)
    return found


def _last(skeleton: Skeleton, figure: StandingFigure, side: str) -> int:
    """Return the body that ends a foot, as :meth:`StandingFigure.end` finds it."""
    name = figure.parts.get(f"{side}_toes", figure.parts[f"{side}_foot"])
    while below := skeleton.children(name):
        name = below[0]
    return skeleton.index(name)
