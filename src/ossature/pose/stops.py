"""Limits of cones in the physical model: MuJoCo knows ranges of angles only.

Each joint with a cone has three springs between its two bodies. Where the joint leaves its cone
they are hung from points of the body to where these points would be at the nearest pose within,
and pull both bodies; else they are slack.
"""

from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from ossature.maths import quat
from ossature.pose.bounds import HINGE, Bounds
from ossature.pose.equilibrium import LIMIT
from ossature.values import Skeleton
from ossature.values.arrays import Array

ARM = 0.1
"""Metres from the joint to the points that its springs pull."""
STIFF = 0.05 * LIMIT / ARM**2
"""Of each spring, against a marker's. Stiffer ones also brake what slides along the cone's edge."""
BEYOND = 1e-6
"""Radians outside a cone at which springs begin to pull."""


@dataclass(frozen=True, eq=False)
class Stops:
    """The springs of the joints that have cones, and where they are in the model."""

    bounds: Bounds
    """Of these joints alone."""
    bodies: np.ndarray
    """(n_stops,) which bodies of the skeleton."""
    parents: np.ndarray
    """(n_stops,)"""
    offsets: Array
    """(n_stops, 3) the joints in their parents."""
    sites: np.ndarray
    """(n_stops, 3) the model's points on the parents."""
    springs: np.ndarray
    """(n_stops, 3) the model's springs."""


def cones_of(bounds: Bounds) -> Bounds:
    """Without the hinges, whose ranges MuJoCo keeps itself."""
    rows = bounds.shape != HINGE
    return bounds._replace(
        **{name: getattr(bounds, name)[rows] for name in bounds._fields if name != "weight"}
    )


def add_stops(
    mujoco: ModuleType, spec: Any, added: list[Any], skeleton: Skeleton, b: Bounds
) -> None:
    """Hang slack springs on every joint that ``b`` bounds."""
    for body in b.body.tolist():
        above = added[skeleton.parents[body]]
        for point, arm in enumerate(ARM * np.eye(3)):
            above.add_site(name=f"stop{body}_{point}", pos=skeleton.offsets[body] + arm)
            added[body].add_site(name=f"stopped{body}_{point}", pos=arm)
            spring = spec.add_equality(
                type=mujoco.mjtEq.mjEQ_CONNECT,
                objtype=mujoco.mjtObj.mjOBJ_SITE,
                name=f"stops{body}_{point}",
            )
            spring.name1, spring.name2 = f"stop{body}_{point}", f"stopped{body}_{point}"
            spring.active = False


def find_stops(model: Any, skeleton: Skeleton, b: Bounds) -> Stops:
    """Where the springs are in a compiled model."""
    bodies = b.body.astype(int)
    parents = np.array(skeleton.parents, dtype=int)[bodies]
    sites = [[model.site(f"stop{i}_{k}").id for k in range(3)] for i in bodies]
    springs = [[model.equality(f"stops{i}_{k}").id for k in range(3)] for i in bodies]
    return Stops(
        b,
        bodies,
        parents,
        skeleton.offsets[bodies],
        np.array(sites, dtype=int).reshape(-1, 3),
        np.array(springs, dtype=int).reshape(-1, 3),
    )


def hang_stops(stops: Stops, model: Any, data: Any, turned: Array) -> None:
    """Hang the springs by the pose that ``turned`` (n_bodies, 4), world rotations, shows."""
    from ossature.pose.bound_lanes import hold_inside

    local = quat.identity((1, len(turned)))
    local[0, stops.bodies] = quat.between(turned[stops.parents], turned[stops.bodies])
    held = local.copy()
    hold_inside(stops.bounds, held)
    wanted = held[0, stops.bodies]
    outside = quat.angle(quat.between(local[0, stops.bodies], wanted)) > BEYOND
    data.eq_active[stops.springs] = outside[:, None]
    arms = quat.rotate(wanted[:, None], ARM * np.eye(3))
    model.site_pos[stops.sites] = stops.offsets[:, None] + arms
