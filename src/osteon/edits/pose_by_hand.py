"""A pose changed by hand in one frame, and the frames around it that follow.

The same function answers a mouse that drags a hand and replays the edit that the drag became.
"""

from dataclasses import replace

import numpy as np

from osteon.anatomy import edited, parameterise
from osteon.edits.model import SetPose
from osteon.errors import BadValue, NotEnoughData
from osteon.maths import quat
from osteon.posing import reach
from osteon.typing import Array
from osteon.values import CompactMotion, Marker, Motion, Skeleton

LONGEST = 10.0
"""Seconds over which a change may fade."""


def frames_of(edit: SetPose, rate: float, n_frames: int) -> tuple[int, int]:
    """First and last frame that an edit changes."""
    if not 0 <= edit.frame < n_frames:
        raise BadValue(f"frame must lie in 0…{n_frames - 1}, got {edit.frame}")
    if not 0.0 <= edit.spread <= LONGEST:
        raise BadValue(f"spread must lie in 0…{LONGEST:g} s, got {edit.spread:g} s")
    around = round(edit.spread * rate)
    return max(edit.frame - around, 0), min(edit.frame + around, n_frames - 1)


def pose_at(now: Motion, edit: SetPose) -> tuple[Motion, float | None]:
    """The edited pose of a motion of one frame, and the largest distance left to a target.

    Parameters turn their limbs first; then targets are reached from there. The root stays unless
    it has a target itself.
    """
    if not edit.targets and not edit.parameters:
        raise BadValue("a pose needs targets or parameters")
    for value in (*edit.parameters.values(), *(x for p in edit.targets.values() for x in p)):
        if not np.isfinite(value):
            raise BadValue(f"targets and angles must be finite numbers, got {value}")
    if edit.parameters:
        now = _turned(now, edit.parameters)
    if not edit.targets:
        return now, None
    if now.offsets is not None:
        raise NotEnoughData("this file's bones stretch; solve or fit it before pulling at it")
    skeleton = now.skeleton
    limited = edit.limits and any(body.joint.limits is not None for body in skeleton.bodies)
    free = _moves_root(skeleton, edit)
    found = reach(
        skeleton,
        edit.targets,
        start=now,
        limits="auto" if limited else "none",
        root="free" if free else "held",
    )
    if not (np.isfinite(found.motion.rotations).all() and np.isfinite(found.motion.root).all()):
        raise BadValue("no pose was found for these targets; they lie too far away")
    root = found.motion.root if free else now.root  # held to rounding, but every bit may stay
    moved = replace(now, rotations=found.motion.rotations, root=root)
    return moved, float(np.nanmax(found.error))


def bend(window: Motion, at: int, edit: SetPose) -> Motion:
    """The frames that an edit changes, changed; ``at`` is the edited one among them."""
    then, _ = pose_at(window.frames(at, at), edit)
    return _following(window, at, then, round(edit.spread * window.rate))


def plant(window: Motion, body: int, points: Array, frames: tuple[int, int]) -> Motion:
    """A body stands in some frames of a window: its points stay where they are on average.

    Parameters
    ----------
    points : (n_points, 3)
        From the body's joint, in its frame.
    frames
        First and last in which it stands; the ones before and after follow.
    """
    first, last = frames
    stood = window.frames(first, last)
    places = np.median(stood.points([body] * len(points), points), axis=0)
    names = [f"point {index} of the sole" for index in range(len(points))]
    skeleton = _with_points(window.skeleton, body, dict(zip(names, points, strict=True)))
    targets = {
        name: np.broadcast_to(place, (stood.n_frames, 3))
        for name, place in zip(names, places, strict=True)
    }
    start = replace(stood, skeleton=skeleton)
    held = reach(skeleton, targets, start=start, limits="none", root="held").motion
    before = _following(window.frames(0, first), first, held.frames(0, 0), first)
    n_after = window.n_frames - 1 - last
    end = held.frames(held.n_frames - 1, held.n_frames - 1)
    after = _following(window.frames(last, window.n_frames - 1), 0, end, n_after)
    parts = [before.rotations[:-1], held.rotations, after.rotations[1:]]
    return replace(window, rotations=np.concatenate(parts))


def _following(window: Motion, at: int, then: Motion, around: int) -> Motion:
    """A window in which the frame ``at`` becomes ``then`` and those around it follow.

    Every joint turns by a share of what it turns in that frame, falling to nothing beyond
    ``around`` frames.
    """
    now = window.frames(at, at)
    share = _share(window.n_frames, at, around)
    turn = quat.log(quat.multiply(quat.inverse(now.rotations), then.rotations))
    turned = quat.multiply(window.rotations, quat.exp(share[:, None, None] * turn))
    turned[at] = then.rotations[0]
    # where nothing turns every bit stays
    still = np.linalg.norm(turn, axis=-1, keepdims=True) < 1e-12
    rotations = np.where(still, window.rotations, turned)
    root = window.root + share[:, None] * (then.root - now.root)
    return replace(window, rotations=rotations, root=root)


def _with_points(skeleton: Skeleton, body: int, points: dict[str, Array]) -> Skeleton:
    """The skeleton with more markers on a body, given from its joint."""
    chosen = skeleton.bodies[body]
    more = tuple(Marker(name, point + chosen.joint.in_body) for name, point in points.items())
    return skeleton.replacing(chosen.name, markers=(*chosen.markers, *more))


def compact_of(motion: Motion) -> CompactMotion:
    """A motion told by the movement axes that its skeleton already carries."""
    skeleton = motion.skeleton
    if any(body.movement is None for body in skeleton.bodies[1:]):
        raise NotEnoughData("movement axes are not known yet; find them first (stage axes)")
    columns = [
        parameterise(motion.rotations[:, index], body.movement).angles
        for index, body in enumerate(skeleton.bodies)
        if index > 0 and body.movement is not None
    ]
    angles = np.concatenate(columns, axis=-1) if columns else np.zeros((motion.n_frames, 0))
    return CompactMotion(skeleton, motion.root, motion.rotations[:, 0], angles, motion.rate)


def _turned(now: Motion, parameters: dict[str, float]) -> Motion:
    """Limbs turned to angles; what the axes cannot tell of a limb's pose stays with it."""
    compact = compact_of(now)
    before = compact.motion().rotations
    after = edited(compact, parameters).motion().rotations
    rotations = np.array(now.rotations)
    for name in dict.fromkeys(parameter.rpartition(".")[0] for parameter in parameters):
        body = now.skeleton.index(name)
        turn = quat.multiply(after[:, body], quat.inverse(before[:, body]))
        rotations[:, body] = quat.multiply(turn, rotations[:, body])
    return replace(now, rotations=rotations)


def _moves_root(skeleton: Skeleton, edit: SetPose) -> bool:
    root = skeleton.bodies[0]
    own = {root.name, f"{root.name} tip", *(marker.name for marker in root.markers)}
    return bool(own & set(edit.targets))


def _share(n_frames: int, at: int, around: int) -> Array:
    """(n_frames,) 1 in the edited frame, falling like a cosine to 0 beyond the window."""
    away = np.abs(np.arange(n_frames) - at) / (around + 1)
    return 0.5 * (1.0 + np.cos(np.pi * np.minimum(away, 1.0)))
