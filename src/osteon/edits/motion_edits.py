"""Plants and poses set by hand on a finished motion, and a motion edited so far, with the way back.

Only frames near an edit change. The function that answers a mouse which drags a hand also replays
the edit that the drag became.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec
import numpy as np

from osteon.anatomy import edited, parameterise
from osteon.cleaning import check_range
from osteon.edits.model import BaseEdit, EditStage, Place3, Touched, list_names, name_frames
from osteon.errors import BadValue, NotEnoughData
from osteon.human import figure_at_rest
from osteon.maths import quat, runs
from osteon.posing import Contact, find_soles, limbs_of, reach
from osteon.typing import Array
from osteon.values import CompactMotion, Joint, Marker, Motion, Skeleton

PLANT_SECONDS = 0.25
"""Seconds around a plant that may follow it. Chosen: as a pose fades where nothing else is said."""
EASE_SECONDS = 0.05
"""Seconds before and after a jump that are turned through evenly. Chosen: what smears a fast limb
by no more than a picture of a film."""
PIN_POINTS = np.vstack([np.zeros(3), 0.1 * np.eye(3)])
"""Metres from the joint, in the body's frame: points that hold place and turn. Chosen: about as far
apart as a hand or foot is long."""
LONGEST_FADE = 10.0
"""Seconds over which a change may fade. Chosen: an upper end for what a page may ask for."""


class MotionEdit(BaseEdit, frozen=True):
    """A change of poses, made on the solved motion."""

    @property
    def stage(self) -> EditStage:
        return "motion"

    @property
    def turns_limbs(self) -> bool:
        """Whether it speaks of movement axes, which must then be found."""
        return False

    def frames(self, rate: float, n_frames: int) -> tuple[int, int]:
        """Return the first and last frame that may change."""
        raise NotImplementedError

    def change(self, window: Motion, first: int, by_hand: Skeleton | None) -> Motion:
        """Return the frames that may change, changed; the window begins at ``first``.

        ``by_hand`` as in :class:`Solved`.
        """
        raise NotImplementedError

    def change_contacts(self, contacts: Sequence[Contact], n_frames: int) -> tuple[Contact, ...]:
        """Return the contacts of the whole motion as they become."""
        return tuple(contacts)


class SetPlant(MotionEdit, frozen=True, tag="plant"):
    """A foot stands on the ground for a while, or does not."""

    body: str
    first: int
    last: int
    on: bool
    found: bool = True
    """As in ``SetPose``."""

    @property
    def touches(self) -> Touched:
        return Touched("plant", (self.body,), self.first, self.last)

    @property
    def sentence(self) -> str:
        stands = "stands" if self.on else "is off the ground"
        return f"{self.body} {stands} {name_frames(self.first, self.last)}"

    def frames(self, rate: float, n_frames: int) -> tuple[int, int]:
        check_range(n_frames, self.first, self.last)
        around = round(PLANT_SECONDS * rate) if self.on else 0
        return max(self.first - around, 0), min(self.last + around, n_frames - 1)

    def change(self, window: Motion, first: int, by_hand: Skeleton | None) -> Motion:
        body = window.skeleton.index(self.body)  # refuses a body that is not there
        if not self.on:
            return window
        window = _free_joints(window, by_hand, found=self.found)
        return plant(
            window, body, _points(window.skeleton, body), (self.first - first, self.last - first)
        )

    def change_contacts(self, contacts: Sequence[Contact], n_frames: int) -> tuple[Contact, ...]:
        stands = np.zeros(n_frames, dtype=bool)
        for contact in contacts:
            if contact.body == self.body:
                stands[contact.frames[0] : contact.frames[1] + 1] = True
        stands[self.first : self.last + 1] = self.on
        others = [contact for contact in contacts if contact.body != self.body]
        own = [Contact(self.body, run) for run in runs(stands)]
        return tuple(sorted([*others, *own], key=lambda contact: contact.frames))


class SetPose(MotionEdit, frozen=True, tag="pose"):
    """Another pose in one frame; the frames around it follow, less and less."""

    frame: int
    targets: dict[str, Place3] = msgspec.field(default_factory=dict)
    """Body, `` tip`` of a body, or marker → where it is to be in the world, metres."""
    parameters: dict[str, float] = msgspec.field(default_factory=dict)
    """Movement parameter, such as ``left_thigh.bend`` → angle, radians. Turned before targets."""
    limits: bool = True
    """Keep joints within their limits, where these are known."""
    spread: float = 0.25
    """Seconds to either side over which the change fades away; 0: this frame alone."""
    found: bool = True
    """Keep to the kinds and limits of joints that were found of the take; false: they were not
    known when the edit was made, and finding them later does not change it."""
    limb: bool = False
    """Turn only the limbs that are pulled, up to where the tree branches: a hand takes its arm
    along, not the trunk. False: every joint may turn."""
    pins: tuple[str, ...] = ()
    """Bodies that stay where they are, in the frames around as well."""

    @property
    def touches(self) -> Touched:
        return Touched("pose", None, self.frame, self.frame)

    @property
    def sentence(self) -> str:
        return f"pose {list_names((*self.targets, *self.parameters))} at frame {self.frame}"

    @property
    def turns_limbs(self) -> bool:
        return bool(self.parameters)

    def frames(self, rate: float, n_frames: int) -> tuple[int, int]:
        if not 0 <= self.frame < n_frames:
            raise BadValue(f"frame must lie in 0…{n_frames - 1}, got {self.frame}")
        if not 0.0 <= self.spread <= LONGEST_FADE:
            raise BadValue(f"spread must lie in 0…{LONGEST_FADE:g} s, got {self.spread:g} s")
        around = round(self.spread * rate)
        return max(self.frame - around, 0), min(self.frame + around, n_frames - 1)

    def change(self, window: Motion, first: int, by_hand: Skeleton | None) -> Motion:
        window, at = _free_joints(window, by_hand, found=self.found), self.frame - first
        then, _ = pose_at(window.frames(at, at), self)
        around = round(self.spread * window.rate)
        followed = _follow_frame(window, at, then, around)
        return _hold_pins(window, followed, self.pins) if self.pins and around else followed


class Ease(MotionEdit, frozen=True, tag="ease"):
    """A joint that jumps turns evenly instead, from just before to just after."""

    body: str
    first: int
    last: int

    @property
    def touches(self) -> Touched:
        return Touched("ease", (self.body,), self.first, self.last)

    @property
    def sentence(self) -> str:
        return f"{self.body} turns evenly {name_frames(self.first, self.last)}"

    def frames(self, rate: float, n_frames: int) -> tuple[int, int]:
        check_range(n_frames, self.first, self.last)
        around = max(1, round(EASE_SECONDS * rate))
        return max(self.first - around, 0), min(self.last + around, n_frames - 1)

    def change(self, window: Motion, first: int, by_hand: Skeleton | None) -> Motion:
        body = window.skeleton.index(self.body)
        start, end = window.rotations[0, body], window.rotations[-1, body]
        share = np.linspace(0.0, 1.0, window.n_frames)[:, None]
        turn = quat.log(quat.multiply(quat.inverse(start), end))
        rotations = np.array(window.rotations)
        rotations[1:-1, body] = quat.multiply(start, quat.exp(share * turn))[1:-1]
        return replace(window, rotations=rotations)


@dataclass(frozen=True, slots=True, eq=False)
class MotionPatch:
    """Frames and contacts as they were before an edit."""

    first: int
    last: int
    rotations: Array
    root: Array
    contacts: tuple[Contact, ...]


class MotionDraft:
    """Poses as edited so far. Every edit touches its own frames only."""

    def __init__(
        self, solved: Motion, contacts: Sequence[Contact] = (), by_hand: Skeleton | None = None
    ) -> None:
        """Begin with a solved motion; ``by_hand`` as in :class:`Solved`."""
        self.solved, self._by_hand = solved, by_hand
        self.rotations, self.root = np.array(solved.rotations), np.array(solved.root)
        self.contacts = tuple(contacts)
        self.patches: list[MotionPatch] = []

    @property
    def n_frames(self) -> int:
        return len(self.root)

    def apply(self, edit: MotionEdit) -> MotionPatch:
        """Make an edit; refuse what cannot be done, and change nothing then."""
        first, last = edit.frames(self.solved.rate, self.n_frames)
        now = self.window(first, last)
        then = edit.change(now, first, self._by_hand)
        patch = MotionPatch(first, last, now.rotations, now.root, self.contacts)
        frames = slice(first, last + 1)
        self.rotations[frames], self.root[frames] = then.rotations, then.root
        self.contacts = edit.change_contacts(self.contacts, self.n_frames)
        self.patches.append(patch)
        return patch

    def undo(self) -> MotionPatch:
        """Take the last edit back."""
        patch = self.patches.pop()
        self.rotations[patch.first : patch.last + 1] = patch.rotations
        self.root[patch.first : patch.last + 1] = patch.root
        self.contacts = patch.contacts
        return patch

    def motion(self) -> Motion:
        """Return the whole motion as it is now."""
        return replace(self.solved, rotations=self.rotations, root=self.root)

    def window(self, first: int, last: int, stride: int = 1) -> Motion:
        """Return the motion of some frames as it is now, without marks and held frames."""
        frames, motion = slice(first, last + 1, stride), self.solved
        return replace(
            motion,
            rotations=self.rotations[frames],
            root=self.root[frames],
            offsets=None if motion.offsets is None else motion.offsets[frames],
            marks=(),
            held=(),
        )

    def world(self, first: int, last: int, stride: int = 1) -> tuple[Array, Array]:
        """Return rotations and joints of some frames in the world."""
        return self.window(first, last, stride).world()


def pose_at(now: Motion, edit: SetPose) -> tuple[Motion, float | None]:
    """Return the edited pose of a motion of one frame, and the largest distance left to a target.

    Parameters turn their limbs first; then targets are reached from there. The root stays unless
    it has a target itself.
    """
    if not edit.targets and not edit.parameters:
        raise BadValue("a pose needs targets or parameters")
    for value in (*edit.parameters.values(), *(x for p in edit.targets.values() for x in p)):
        if not np.isfinite(value):
            raise BadValue(f"targets and angles must be finite numbers, got {value}")
    given = now
    if edit.parameters:
        now = _turn_limbs(now, edit.parameters)
    if not edit.targets:
        return (_hold_pins(given, now, edit.pins) if edit.pins else now), None
    if now.offsets is not None:
        raise NotEnoughData("this file's bones stretch; solve or fit it before pulling at it")
    free = _moves_root(now.skeleton, edit)
    carried = _carried_with_root(now, edit) if free and edit.limb else {}
    skeleton = _stiffened(now, edit) if edit.limb else now.skeleton
    skeleton, pinned = _pinned(skeleton, given, edit.pins)
    targets = {**pinned, **carried, **edit.targets}
    limited = edit.limits and any(body.joint.limits is not None for body in skeleton.bodies)
    found = reach(
        skeleton,
        targets,
        start=replace(now, skeleton=skeleton),
        limits="auto" if limited else "none",
        root="free" if free else "held",
    )
    if not (np.isfinite(found.motion.rotations).all() and np.isfinite(found.motion.root).all()):
        raise BadValue("no pose was found for these targets; they lie too far away")
    root = found.motion.root if free else now.root  # held to rounding, but every bit may stay
    moved = replace(now, rotations=found.motion.rotations, root=root)
    pulled = [found.names.index(name) for name in edit.targets]
    return moved, float(np.nanmax(found.error[:, pulled]))


def _pinned(
    skeleton: Skeleton, motion: Motion, pins: Sequence[str]
) -> tuple[Skeleton, dict[str, Array]]:
    """Return the skeleton with points on pinned bodies, and where these are, (n_frames, 3) each."""
    places: dict[str, Array] = {}
    for name in pins:
        body = skeleton.index(name)
        points = {f"pin {index} of {name}": point for index, point in enumerate(PIN_POINTS)}
        skeleton = _add_points(skeleton, body, points)
        paths = motion.points([body] * len(PIN_POINTS), PIN_POINTS)
        places.update(zip(points, np.moveaxis(paths, 1, 0), strict=True))
    return skeleton, places


def _stiffened(now: Motion, edit: SetPose) -> Skeleton:
    """Return the skeleton of a pose in which nothing turns but the limbs pulled at, or pinned."""
    skeleton = now.skeleton
    carriers = {marker.name: body.name for body in skeleton.bodies for marker in body.markers}
    limbs = limbs_of(skeleton.parents)
    turning = {int(limbs[skeleton.index(name)]) for name in edit.pins}
    for name in edit.targets:
        body = skeleton.index(carriers.get(name, name.removesuffix(" tip")))
        # where a limb begins is moved by what it hangs on
        begins = name in skeleton.names and limbs[body] == body
        turning.add(int(limbs[max(skeleton.parents[body], 0) if begins else body]))
    bodies = [
        body
        if index == 0 or int(limbs[index]) in turning
        else replace(body, joint=_fixed(body.joint, now.rotations[0, index]))
        for index, body in enumerate(skeleton.bodies)
    ]
    return replace(skeleton, bodies=tuple(bodies))


def _carried_with_root(now: Motion, edit: SetPose) -> dict[str, Array]:
    """Return where the joints on the root go when its own is pulled: along with it, unturned."""
    skeleton, joints = now.skeleton, now.world()[1][0]
    wanted = edit.targets.get(skeleton.names[0])
    if wanted is None:
        return {}
    return {
        skeleton.names[child]: joints[child] + np.subtract(wanted, joints[0])
        for child, parent in enumerate(skeleton.parents)
        if parent == 0
    }


def _fixed(joint: Joint, turn: Array) -> Joint:
    """Return a joint that stays as it is turned."""
    return Joint("fixed", joint.in_parent, joint.in_body, rest=turn)


def _hold_pins(before: Motion, after: Motion, pins: Sequence[str]) -> Motion:
    """Return frames that follow an edit, with pinned bodies where they were before it."""
    limbs = SetPose(0, {name: (0.0, 0.0, 0.0) for name in pins}, limb=True)
    rotations = np.array(after.rotations)
    for frame in range(after.n_frames):
        now = after.frames(frame, frame)
        skeleton, targets = _pinned(_stiffened(now, limbs), before.frames(frame, frame), pins)
        start = replace(now, skeleton=skeleton)
        held = reach(skeleton, targets, start=start, limits="none", root="held").motion
        rotations[frame] = held.rotations[0]
    return replace(after, rotations=rotations)


def plant(window: Motion, body: int, points: Array, frames: tuple[int, int]) -> Motion:
    """Let a body stand in some frames of a window: its points stay where they are on average.

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
    skeleton = _add_points(window.skeleton, body, dict(zip(names, points, strict=True)))
    targets = {
        name: np.broadcast_to(place, (stood.n_frames, 3))
        for name, place in zip(names, places, strict=True)
    }
    start = replace(stood, skeleton=skeleton)
    held = reach(skeleton, targets, start=start, limits="none", root="held").motion
    before = _follow_frame(window.frames(0, first), first, held.frames(0, 0), first)
    n_after = window.n_frames - 1 - last
    end = held.frames(held.n_frames - 1, held.n_frames - 1)
    after = _follow_frame(window.frames(last, window.n_frames - 1), 0, end, n_after)
    parts = [before.rotations[:-1], held.rotations, after.rotations[1:]]
    return replace(window, rotations=np.concatenate(parts))


def _follow_frame(window: Motion, at: int, then: Motion, around: int) -> Motion:
    """Return a window in which the frame ``at`` becomes ``then`` and those around it follow.

    Every joint turns by a share of what it turns in that frame, falling to nothing beyond
    ``around`` frames.
    """
    now = window.frames(at, at)
    share = _fade(window.n_frames, at, around)
    turn = quat.log(quat.multiply(quat.inverse(now.rotations), then.rotations))
    turned = quat.multiply(window.rotations, quat.exp(share[:, None, None] * turn))
    turned[at] = then.rotations[0]
    # where nothing turns every bit stays
    still = np.linalg.norm(turn, axis=-1, keepdims=True) < 1e-12
    rotations = np.where(still, window.rotations, turned)
    root = window.root + share[:, None] * (then.root - now.root)
    return replace(window, rotations=rotations, root=root)


def _fade(n_frames: int, at: int, around: int) -> Array:
    """Return (n_frames,) 1 in the edited frame, falling like a cosine to 0 beyond the window."""
    away = np.abs(np.arange(n_frames) - at) / (around + 1)
    return 0.5 * (1.0 + np.cos(np.pi * np.minimum(away, 1.0)))


def _turn_limbs(now: Motion, parameters: dict[str, float]) -> Motion:
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


def _free_joints(window: Motion, by_hand: Skeleton | None, *, found: bool) -> Motion:
    """Return the motion on joints that keep only to what was said by hand, unless ``found``."""
    if by_hand is None or found:
        return window
    bodies = [replace(body, joint=by_hand.body(body.name).joint) for body in window.skeleton.bodies]
    return replace(window, skeleton=replace(window.skeleton, bodies=tuple(bodies)))


def _add_points(skeleton: Skeleton, body: int, points: dict[str, Array]) -> Skeleton:
    """Return the skeleton with more markers on a body, given from its joint."""
    chosen = skeleton.bodies[body]
    more = tuple(Marker(name, point + chosen.joint.in_body) for name, point in points.items())
    return skeleton.replacing(chosen.name, markers=(*chosen.markers, *more))


def _points(skeleton: Skeleton, index: int) -> Array:
    """Return (n, 3) from the joint: a foot's sole, else the body's free end, else its joint."""
    try:
        for sole in find_soles(figure_at_rest(skeleton)):
            if sole.body == index:
                return sole.points[sole.carriers == index]
    except (NotEnoughData, BadValue):
        pass
    tip = skeleton.bodies[index].tip_from_joint
    return (np.zeros(3) if tip is None else tip)[None]


def compact_of(motion: Motion) -> CompactMotion:
    """Return a motion told by the movement axes that its skeleton already carries."""
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
