"""A motion whose end goes over into its start, and one that stays in its place."""

from dataclasses import dataclass, replace

import numpy as np

from osteon.errors import BadValue
from osteon.maths import quat
from osteon.values import Motion


@dataclass(frozen=True)
class LoopEnds:
    """How far the last frame was from the first."""

    turn: float
    """Of the joint that was farthest off, radians."""
    body: str
    height: float
    """Of the root, metres."""
    travel: float
    """What one round goes along the floor, metres; it is kept."""

    @property
    def sentence(self) -> str:
        return (
            f"the ends were apart by {np.degrees(self.turn):.1f}° at {self.body} and by "
            f"{1e3 * self.height:.0f} mm in height; one round travels {self.travel:.2f} m"
        )


def loop(motion: Motion, seconds: float) -> tuple[Motion, LoopEnds]:
    """Return the motion whose last frame has the pose of the first, and how far it was from it.

    Over the last ``seconds`` each joint, and the root's height, goes over to where the first frame
    has it, beginning and ending smoothly. The path along the floor is kept: a round begins where
    the last one ended.
    """
    n_blend = round(seconds * motion.rate)
    if not 1 <= n_blend < motion.n_frames:
        long = (motion.n_frames - 1) / motion.rate
        raise BadValue(f"a loop blends over more than a frame and less than {long:g} s: {seconds}")
    ends = _ends(motion)
    rise = np.zeros(motion.n_frames)
    along = np.arange(1, n_blend + 1) / n_blend
    rise[-n_blend:] = along**2 * (3.0 - 2.0 * along)
    missing = quat.log(quat.between(motion.rotations[-1], motion.rotations[0]))
    root, offsets = np.array(motion.root), motion.offsets
    root[:, 2] += rise * (root[0, 2] - root[-1, 2])
    if offsets is not None:
        offsets = offsets + rise[:, None, None] * (offsets[0] - offsets[-1])
    done = replace(
        motion,
        rotations=quat.multiply(motion.rotations, quat.exp(rise[:, None, None] * missing)),
        root=root,
        offsets=offsets,
        history=(*motion.history, f"looped over {seconds:g} s: {ends.sentence}"),
    )
    return done, ends


def _ends(motion: Motion) -> LoopEnds:
    turns = quat.angle(quat.between(motion.rotations[-1], motion.rotations[0]))
    apart, worst = motion.root[-1] - motion.root[0], int(np.argmax(turns))
    return LoopEnds(
        float(turns[worst]),
        motion.skeleton.names[worst],
        float(abs(apart[2])),
        float(np.hypot(*apart[:2])),
    )


def in_place(motion: Motion) -> Motion:
    """Return the motion with its root above one place of the floor; height and turning stay."""
    root = np.array(motion.root)
    root[:, :2] = root[0, :2]
    return replace(motion, root=root, history=(*motion.history, "kept in its place"))
