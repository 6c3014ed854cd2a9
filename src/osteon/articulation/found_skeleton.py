"""What found joints make: limbs with their lengths, and the take played through them.

Limb lengths, with measured ones beside them: Tables 1–4 of [000].

Residual removed: the motion played through the articulated model. [000] §3.4.

Rotations are the sensors' own, joints stay together by construction, and the whole figure is
placed where it agrees best with all sensors, so that no limb collects the drift of its chain.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from osteon.articulation.closed_loops import close_loops
from osteon.errors import NotEnoughData, UnknownName
from osteon.maths import quat
from osteon.typing import Array
from osteon.values import Attachment, Bodies, Joints, Loop, Motion, Skeleton


@dataclass(frozen=True, slots=True)
class Limb:
    """Distance between two joints of one body."""

    name: str
    """The body's name; where a body has more than two joints, ``body:one:other`` with the
    names of the bodies that hang there."""
    body: str
    length: float
    """Metres."""
    deviation: float
    """One standard deviation, metres."""
    measured: float | None = None
    """What somebody measured, metres."""

    @property
    def difference(self) -> float | None:
        """Measured minus found, as in the paper; metres."""
        return None if self.measured is None else self.measured - self.length


def limb_table(joints: Joints, measured: Mapping[str, float] | None = None) -> tuple[Limb, ...]:
    """Every limb of the skeleton; ``measured`` lengths in metres by limb name."""
    found = [limb for body in joints.names for limb in _limbs(joints, body)]
    names = {_key(limb.name): limb.name for limb in found}
    given = {}
    for name, length in (measured or {}).items():
        if _key(name) not in names:
            raise UnknownName("limb", name, list(names.values()))
        given[names[_key(name)]] = length
    return tuple(replace(limb, measured=given.get(limb.name)) for limb in found)


def _limbs(joints: Joints, body: str) -> list[Limb]:
    places = joints.joints_of(body)
    spread = {
        (link.parent if link.child == body else link.child): (
            link.covariance[:3, :3] if link.child == body else link.covariance[3:, 3:]
        )
        for link in joints.connections
        if body in (link.child, link.parent)
    }
    found = []
    for one, other in combinations(places, 2):
        name = body if len(places) == 2 else f"{body}:{one}:{other}"
        apart = places[one] - places[other]
        length = float(np.linalg.norm(apart))
        along = apart / max(length, 1e-12)
        deviation = float(np.sqrt(max(along @ (spread[one] + spread[other]) @ along, 0.0)))
        found.append(Limb(name, body, length, deviation))
    return found


def _key(name: str) -> tuple[str, frozenset[str]]:
    """Limbs read the same from either end."""
    body, *ends = name.split(":")
    return body, frozenset(ends)


def table_text(limbs: Sequence[Limb]) -> str:
    """The table in centimetres, one line per limb."""
    width = max([len(limb.name) for limb in limbs] + [4])
    lines = [f"{'limb':{width}}  found cm     ±   measured      Δ"]
    for limb in limbs:
        line = f"{limb.name:{width}}  {100 * limb.length:8.1f}  {100 * limb.deviation:4.1f}"
        if limb.difference is not None and limb.measured is not None:
            line += f"  {100 * limb.measured:9.1f}  {100 * limb.difference:+5.1f}"
        lines.append(line)
    return "\n".join(lines)


def play_back(bodies: Bodies, joints: Joints) -> Motion:
    """The take as a motion of the found skeleton, its loops closed while they hold.

    A body that hangs on nobody moves on its own. A frame in which a body is not seen holds the
    body's last rotation against its parent; frames that show no body at all repeat their neighbour
    and are listed as held.
    """
    return play_back_together(bodies, (joints,))[0]


def play_back_together(bodies: Bodies, subjects: Sequence[Joints]) -> list[Motion]:
    """The take as a motion of each subject; as ``play_back``, and who holds hands meets."""
    motions = [_played(bodies, subject) for subject in subjects]
    loops = [loop for subject in subjects for loop in subject.loops]
    present = {name for subject in subjects for name in subject.names}
    between = {
        event: None
        for subject in subjects
        for event in subject.events
        if isinstance(event, Attachment)
        and present.issuperset(event.bodies)
        and not any(set(event.bodies) <= set(each.names) for each in subjects)
    }
    loops += [
        Loop(each.bodies, np.array(each.in_first), np.array(each.in_second), each.rms, each.frames)
        for each in between
    ]
    return close_loops(motions, loops)


def _played(bodies: Bodies, joints: Joints) -> Motion:
    """As the sensors turn, joints together, loops as they come."""
    skeleton = joints.skeleton()
    bodies = bodies.select(skeleton.names)
    seen = bodies.seen
    if not seen.any():
        raise NotEnoughData("no frame shows any body: there is nothing to play back")
    local = bodies.rotations.copy()
    for index, parent in enumerate(skeleton.parents):
        if parent >= 0:
            local[:, index] = quat.between(bodies.rotations[:, parent], bodies.rotations[:, index])
    local = _held(local)
    still = Motion(skeleton, local, np.zeros((bodies.n_frames, 3)), bodies.rate)
    motion = replace(
        still,
        root=_held(_placed(bodies, still, _following(skeleton, 0))),
        held=tuple(np.flatnonzero(~seen.any(axis=1)).tolist()),
        marks=bodies.marks,
        history=(*joints.history, "played back through the joints"),
    )
    for body in loose_bodies(skeleton):
        motion = _moved_alone(bodies, motion, body)
    return motion


def loose_bodies(skeleton: Skeleton) -> list[int]:
    """Bodies that share no joint with their parent, parents first."""
    named = enumerate(skeleton.bodies)
    return [k for k, body in named if body.parent is not None and body.joint.kind == "free"]


def _following(skeleton: Skeleton, head: int) -> list[int]:
    """The bodies that joints hold to one, which is among them."""
    found = [head]
    for index, (body, parent) in enumerate(zip(skeleton.bodies, skeleton.parents, strict=True)):
        if parent in found and body.joint.kind != "free":
            found.append(index)
    return found


def _moved_alone(bodies: Bodies, motion: Motion, head: int) -> Motion:
    """What hangs on nobody at its own place, whatever its parent does."""
    skeleton = motion.skeleton
    shift = _held(_placed(bodies, motion, _following(skeleton, head)))
    above = quat.inverse(motion.world()[0][:, skeleton.parents[head]])
    offsets = motion.in_parents()
    offsets[:, head] += quat.rotate(above, shift)
    return replace(motion, offsets=offsets)


def _placed(bodies: Bodies, motion: Motion, who: list[int]) -> Array:
    """(n_frames, 3) shift by which some of the figure's sensors are nearest to the measured."""
    rotations, places = motion.world()
    origins = places - quat.rotate(rotations, motion.skeleton.joints_in_bodies)
    difference = (bodies.positions - origins)[:, who]
    seen = np.isfinite(difference[..., 0])
    total = np.where(seen[..., None], difference, 0.0).sum(axis=1)
    with np.errstate(invalid="ignore"):
        return total / seen.sum(axis=1)[:, None]


def _held(values: Array) -> Array:
    """The last known value of each column where one is missing; the first known before it."""
    known = np.isfinite(values).all(axis=-1)
    index = np.where(known, np.arange(len(values)).reshape(-1, *([1] * (known.ndim - 1))), -1)
    index = np.maximum.accumulate(index, axis=0)
    first = np.argmax(known, axis=0)
    index = np.where(index < 0, first, index)
    return np.take_along_axis(values, index[..., None], axis=0)
