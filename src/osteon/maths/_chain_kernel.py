"""Forward kinematics of a single pose: what numpy's calls would cost is the whole budget there."""

import numpy as np

from osteon.maths.compiled import kernel
from osteon.typing import Array


def forward_pose(rotations: Array, root: Array, offsets: Array, parents) -> tuple[Array, Array]:
    """World rotations (n_bodies, 4) and joint places (n_bodies, 3) of one pose.

    Parameters
    ----------
    rotations : (n_bodies, 4)
        To the parent's frame; root: to the world.
    root : (3,)
    offsets : (n_bodies, 3)
        Joints from their parent's joint, in the parent's frame; the root's is not used.
    parents : (n_bodies,) of int64
        −1 for the root.
    """
    world, places = np.zeros_like(rotations), np.zeros_like(offsets)
    _forward(rotations, root, offsets, parents, world, places)
    return world, places


@kernel
def _forward(rotations, root, offsets, parents, world, places):
    for body in range(len(parents)):
        parent = parents[body]
        if parent < 0:
            world[body] = rotations[body]
            places[body] = root
            continue
        aw, ax, ay, az = world[parent]
        bw, bx, by, bz = rotations[body]
        world[body, 0] = aw * bw - ax * bx - ay * by - az * bz
        world[body, 1] = aw * bx + ax * bw + ay * bz - az * by
        world[body, 2] = aw * by - ax * bz + ay * bw + az * bx
        world[body, 3] = aw * bz + ax * by - ay * bx + az * bw
        a, b, c = offsets[body]
        s = 2.0 * (ay * c - az * b)
        t = 2.0 * (az * a - ax * c)
        u = 2.0 * (ax * b - ay * a)
        places[body, 0] = places[parent, 0] + a + aw * s + (ay * u - az * t)
        places[body, 1] = places[parent, 1] + b + aw * t + (az * s - ax * u)
        places[body, 2] = places[parent, 2] + c + aw * u + (ax * t - ay * s)
