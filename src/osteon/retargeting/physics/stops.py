"""Limits of cones in the physical model: MuJoCo knows ranges of angles only.

Each joint with a cone has two ropes between its bodies, one against too much swing, one against
too much twist. Where the joint leaves its cone a rope is hung so that it is too short by as much,
and pulls both bodies straight back; along the cone's edge, across the rope, they slide freely. Else
it is slack.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from osteon.joint_limits import HINGE, Bounds, hold_inside
from osteon.maths import quat
from osteon.retargeting.springs import LIMIT_STIFFNESS
from osteon.typing import Array
from osteon.values import Skeleton

ARM = 0.1
"""Metres from the joint to the point that its rope pulls."""
STIFF = LIMIT_STIFFNESS / ARM**2
"""Of each rope, against a marker's spring."""
ROPES = 2
"""Of each joint: twist and swing."""
ROPE, SLACK = 1.0, 100.0
"""Metres that a rope is long, and that a slack one may be."""
BEYOND = 1e-6
"""Radians outside a cone at which ropes begin to pull."""


@dataclass(frozen=True, eq=False)
class Stops:
    """The ropes of the joints that have cones, and where they are in the model."""

    bounds: Bounds
    """Of these joints alone."""
    bodies: np.ndarray
    """(n_stops,) which bodies of the skeleton."""
    parents: np.ndarray
    """(n_stops,)"""
    offsets: Array
    """(n_stops, 3) the joints in their parents."""
    sites: np.ndarray
    """(n_stops, ROPES, 2) the model's points on parents and bodies."""
    ropes: np.ndarray
    """(n_stops, ROPES) the model's ropes."""


def cones_of(bounds: Bounds) -> Bounds:
    """Leave out the hinges, whose ranges MuJoCo keeps itself."""
    rows = bounds.shape != HINGE
    return bounds._replace(
        **{name: getattr(bounds, name)[rows] for name in bounds._fields if name != "weight"}
    )


def add_stops(spec: Any, added: list[Any], skeleton: Skeleton, b: Bounds) -> None:
    """Hang slack ropes on every joint that ``b`` bounds."""
    arm = np.array([ARM, 0.0, 0.0])
    for body in b.body.tolist():
        for which in range(ROPES):
            above, here = f"stop{body}_{which}", f"stopped{body}_{which}"
            added[skeleton.parents[body]].add_site(name=above, pos=skeleton.offsets[body] - arm)
            added[body].add_site(name=here, pos=arm)
            rope = spec.add_tendon(name=f"rope{body}_{which}", limited=True, range=[0.0, SLACK])
            rope.wrap_site(above)
            rope.wrap_site(here)


def find_stops(model: Any, skeleton: Skeleton, b: Bounds) -> Stops:
    """Find where the ropes are in a compiled model."""
    bodies = b.body.astype(int)
    parents = np.array(skeleton.parents, dtype=int)[bodies]
    names = [f"{body}_{which}" for body in bodies for which in range(ROPES)]
    sites = [[model.site(f"{end}{name}").id for end in ("stop", "stopped")] for name in names]
    ropes = [model.tendon(f"rope{name}").id for name in names]
    return Stops(
        b,
        bodies,
        parents,
        skeleton.offsets[bodies],
        np.array(sites, dtype=int).reshape(-1, ROPES, 2),
        np.array(ropes, dtype=int).reshape(-1, ROPES),
    )


def hang_stops(stops: Stops, model: Any, turned: Array) -> None:
    """Hang the ropes by the pose that ``turned`` (n_bodies, 4), world rotations, shows."""
    local = quat.identity((1, len(turned)))
    local[0, stops.bodies] = quat.between(turned[stops.parents], turned[stops.bodies])
    held = local.copy()
    hold_inside(stops.bounds, held)
    own, wanted = local[0, stops.bodies], held[0, stops.bodies]
    parts = _twist_and_swing(
        quat.log(quat.multiply(own, quat.inverse(wanted))),
        quat.rotate(own, stops.bounds.axes[:, 0]),
    )
    outside = np.linalg.norm(parts, axis=-1) > BEYOND
    model.tendon_range[stops.ropes, 1] = np.where(outside, ROPE, SLACK)
    arms = ARM * _across(parts)
    edge = quat.rotate(quat.exp(-parts), arms)
    away = quat.normalise(np.where(outside[..., None], arms - edge, arms))
    model.site_pos[stops.sites[..., 0]] = stops.offsets[:, None] + edge - ROPE * away
    model.site_pos[stops.sites[..., 1]] = quat.rotate(quat.inverse(own)[:, None], arms)


def _twist_and_swing(turns: Array, bones: Array) -> Array:
    """(n, 2, 3) the parts of rotation vectors (n, 3) about and across the bones (n, 3)."""
    twist = np.sum(turns * bones, axis=-1, keepdims=True) * bones
    return np.stack([twist, turns - twist], axis=1)


def _across(axes: Array) -> Array:
    """(..., 3) a unit vector across each."""
    least = np.eye(3)[np.argmin(np.abs(axes), axis=-1)]
    return quat.normalise(np.cross(axes + 1e-12, least))
