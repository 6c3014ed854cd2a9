"""Limbs that jump, led back towards the pose before: see ``steady``."""

import numpy as np

from osteon.maths import between, exp, kernel, multiply


@kernel
def lead_limbs(last, pose, leaps, limbs, fast, approach, led, way):
    """Lead every limb in which a joint jumps from ``last`` towards ``pose``; False where none does.

    Parameters
    ----------
    last, pose : (n_bodies, 4)
        Of the frame before and of the frame alone.
    leaps : (n_bodies,)
        Whether markers of the body's limb leap; such a limb may jump.
    limbs : (n_bodies,)
        First body of each body's limb.
    fast, approach
        Radians: what counts as a jump, and how far joints are led.
    led : (n_bodies, 4)
        Becomes the pose that is led.
    way : (n_bodies,)
        Becomes how far it is still from the frame's own, radians; −1 in limbs that do not jump.
    """
    wild = np.zeros(len(pose), dtype=np.bool_)
    for body in range(1, len(pose)):  # a root goes where it will
        if not leaps[body] and _size(_turn(last[body], pose[body])) > fast:
            wild[limbs[body]] = True
    if not wild.any():
        return False
    for body in range(len(pose)):
        led[body], way[body] = pose[body], -1.0
        turn = _turn(last[body], pose[body])
        angle = _size(turn) if body > 0 else 0.0
        if wild[limbs[body]] and angle > 0.0:
            share = min(1.0, approach / angle)
            towards = multiply(last[body], exp((share * turn[0], share * turn[1], share * turn[2])))
            for k in range(4):
                led[body, k] = towards[k]
            way[body] = (1.0 - share) * angle
    return True


@kernel
def share_gone(led, pose, way):
    """Share of the way to the frame's own pose that a fit has drawn limbs against the pull."""
    left, whole = 0.0, 0.0
    for body in range(len(pose)):
        if way[body] >= 0.0:
            left += _size(_turn(led[body], pose[body])) ** 2
            whole += way[body] ** 2
    return 1.0 - np.sqrt(left / whole) if whole > 0.0 else -np.inf


@kernel
def _turn(a, b):
    """Rotation vector from one rotation to another, the shorter way round."""
    w, x, y, z = between(a, b)
    if w < 0.0:
        w, x, y, z = -w, -x, -y, -z
    sine = _size((x, y, z))
    ratio = 2.0 * np.arctan2(sine, w) / sine if sine > 0.0 else 2.0
    return x * ratio, y * ratio, z * ratio


@kernel
def _size(v):
    return np.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
