"""Limbs that jump, led back towards the pose before: see ``steady``."""

import numpy as np

from osteon.maths import between, exp, kernel, multiply


@kernel
def find_leaps(observed, homes, limbs, limit):
    """(n_frames, n_bodies) whether a marker of the body's limb leaps from the frame before.

    It leaps where it moves unlike the step before, and unlike the step after.

    Parameters
    ----------
    observed : (n_frames, n_markers, 3)
    homes : (n_markers,)
        The body that carries each marker.
    limbs : (n_bodies,)
        First body of each body's limb.
    limit
        Metres by which steps that are unlike differ.
    """
    n_frames, n_markers, _ = observed.shape
    leaps = np.zeros((n_frames, len(limbs)), dtype=np.bool_)
    unlike = np.zeros(n_markers, dtype=np.bool_)
    for frame in range(1, n_frames - 1):
        for marker in range(n_markers):
            square = 0.0
            for i in range(3):
                here = observed[frame, marker, i]
                change = observed[frame + 1, marker, i] - here - here
                square += (change + observed[frame - 1, marker, i]) ** 2
            now = square > limit * limit
            if now and unlike[marker]:
                leaps[frame, limbs[homes[marker]]] = True
            unlike[marker] = now
        for body in range(len(limbs)):
            leaps[frame, body] = leaps[frame, limbs[body]]
    return leaps


@kernel
def find_jumps(rotations, frames, leaps, limit):
    """(n_frames,) where some joint turns further than the limit from the frame before it, for each
    frame between, while no marker of its limb leaps; see ``lead_limbs``."""
    jumps = np.zeros(len(frames), dtype=np.bool_)
    for at in range(1, len(frames)):
        before, frame = frames[at - 1], frames[at]
        later = max(before, frame)
        cosine = np.cos(0.5 * min(limit * abs(frame - before), np.pi))
        for body in range(1, rotations.shape[1]):  # a root goes where it will
            a, b = rotations[before, body], rotations[frame, body]
            along = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]
            if abs(along) < cosine and not leaps[later, body]:
                jumps[at] = True
                break
    return jumps


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
