"""Markers or keypoints on fingers → a skeleton whose hands have fingers.

The average hand is laid on the markers of the person's hand and made as large as its fingers are.
Then every finger's bones, the plane in which it bends and the places of its markers are fitted to
some frames at once, each with what is known of it beforehand; what few markers leave open stays the
average human's, and its covariance says so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from osteon.calibration import farthest_frames
from osteon.fingers.finger_fit import FingerStart, FittedFinger, fit_finger
from osteon.fingers.finger_model import FingerModel
from osteon.fingers.finger_poses import in_hand
from osteon.human import ABOVE_JOINTS, BONE_COUNT, Finger, Landmark, human
from osteon.maths import fit_rigid, quat
from osteon.typing import Array
from osteon.values import Body, Joint, Limits, Marker, Motion, Recording, Skeleton

FITTED_FRAMES = 80
"""Count of frames that a finger is fitted to, half evenly, half where it differs most. Chosen: it
has some twenty numbers."""
LENGTH_RATIO, FIRST_LENGTH_RATIO = 0.06, 0.12
"""Ratios of a bone's deviation to its length: in a hand whose size is known, and at first. The
deviations of [Buryanov 2010] are 6 to 13 % and hold both."""
KNUCKLE_SIGMA, BASE_SIGMA = 0.003, 0.008
"""Metres per axis that a finger's first joint is unsure by beside a marker on its knuckle, and
where only the hand's others tell. Chosen: half of its breadth, and of what it is to the next."""
PLACE_SIGMA, LOOSE_SIGMA = 0.003, 0.010
"""Metres per axis of a marker's place over a joint or a nail, and of one somewhere on its bone.
Chosen: where people put them."""
ROLL_SIGMA, THUMB_ROLL_SIGMA = np.radians(8.0), np.radians(20.0)
"""Radians of the plane in which a finger bends, about the finger. Chosen: hands differ by so much,
and so does a hand's frame from its markers."""
ACROSS_SIGMA = 0.0015
"""Metres per axis that joints are off besides: bones are not straight, nor joints hinges.
Chosen."""
UNMARKED_SIGMA = 0.003
"""Metres per axis that joints are off besides where no marker shows the knuckle: measured, what
lacks to their stated regions on two generated hands. A finger's short arc and sliding skin say
little of its middle."""
KEYPOINT_SIGMA, KEYPOINT_BIAS = 0.001, 0.008
"""Metres per axis: how firmly a keypoint is its joint in the fit, chosen; and how far it is off for
all of a take. Keypoints of hands are off by 10 to 15 mm in space where several cameras see them:
derived from what bodies' are, by size."""
SIZE_RANGE = (0.7, 1.3)
"""Ratios of hands to the average one; chosen: a child's, and nobody's."""


@dataclass(frozen=True)
class HandTake:
    """A take, and how the body in it moves."""

    recording: Recording
    motion: Motion


def add_fingers(
    skeleton: Skeleton,
    takes: Sequence[HandTake],
    found: Mapping[str, Landmark],
    on_fingers: Mapping[str, Landmark],
    *,
    keypoints: bool = False,
) -> Skeleton:
    """Return the skeleton with fingers on the hands that show some.

    Parameters
    ----------
    found, on_fingers
        Labels on landmarks of the body and its hands, and of fingers.
    keypoints
        Whether they are joints, not skin.
    """
    bodies = list(skeleton.bodies)
    for side in ("left", "right"):
        hand = f"{side}_hand"
        marks = {k: mark for k, mark in on_fingers.items() if mark.body.startswith(side)}
        if not marks or hand not in skeleton.names:
            continue
        known = _Hand(skeleton.body(hand), found, marks, keypoints)
        own = _fit_hand(known, takes)
        at = skeleton.names.index(hand)
        middle = next(one.model.base for one in own if one.model.name.endswith("middle"))
        bodies[at] = replace(bodies[at], length=float(np.linalg.norm(middle)), tip=None)
        bodies += [body for one in own for body in _bodies(one, known.body, keypoints=keypoints)]
    return replace(skeleton, bodies=tuple(bodies))


def _fit_hand(hand: "_Hand", takes: Sequence[HandTake]) -> list[FittedFinger]:
    side = hand.body.name.partition("_")[0]
    fingers = [finger for name, finger in human().fingers.items() if name.startswith(side)]
    size, fitted = 1.0, []
    for ratio in (FIRST_LENGTH_RATIO, LENGTH_RATIO):
        starts = [hand.start(finger, size, ratio) for finger in fingers]
        fitted = [
            fit_finger(start, _observed(takes, hand.body.name, start.labels)) for start in starts
        ]
        size = size * _size(starts, fitted)
    return fitted


@dataclass(frozen=True, eq=False)
class _Hand:
    """A person's hand, and what its labels say."""

    body: Body
    found: Mapping[str, Landmark]
    """Of the body and its hands."""
    marks: Mapping[str, Landmark]
    """Of its fingers."""
    keypoints: bool

    @cached_property
    def laid(self) -> tuple[Array, Array]:
        """Turn (4,) and shift (3,) from the template's rest pose to the hand's frame."""
        wrist = human().bodies[self.body.name].at
        known = [(m, self.found[m.name].at) for m in self.body.markers if m.name in self.found]
        placed = [(marker.position, at - wrist) for marker, at in known if at is not None]
        if len(placed) >= 3:
            own, usual = (np.array(side) for side in zip(*placed, strict=True))
            fit = fit_rigid(usual, own[None])
            if np.isfinite(fit.positions).all():
                return fit.rotations[0], fit.positions[0]
        return quat.identity(), np.zeros(3)

    def start(self, finger: Finger, size: float, ratio: float) -> FingerStart:
        """Return the average finger at a size, whose bones differ by a ratio."""
        turn, _ = self.laid
        labels = tuple(label for label, mark in self.marks.items() if mark.body in finger.bodies)
        along, bend = quat.rotate(turn, finger.along), quat.rotate(turn, finger.curl)
        lengths, (base, base_sigma) = size * finger.lengths, self._base(finger, size)
        carriers = np.array([int(self.marks[label].body[-1]) - 1 for label in labels], dtype=int)
        places = np.zeros((len(labels), 3))
        firm = np.zeros(len(labels))
        for row, (label, bone) in enumerate(zip(labels, carriers, strict=True)):
            away, firm[row] = _place(finger, self.marks[label], bone, size)
            places[row] = quat.rotate(turn, away)
        if self.keypoints:  # the tip is as far as the last bone is long, the others are joints
            firm = np.where(places.any(axis=1), ratio * lengths[-1], KEYPOINT_SIGMA)
        roll = THUMB_ROLL_SIGMA if finger.name.endswith("thumb") else ROLL_SIGMA
        axis = np.cross(along, bend)
        axes = np.stack([np.cross(along, axis), axis])
        bones = np.outer(lengths[:2], along)
        model = FingerModel(finger.name, base, bones, axes, carriers, places)
        sigmas = [np.full(3, base_sigma), ratio * lengths, [roll], np.repeat(firm, 3)]
        return FingerStart(model, lengths, np.concatenate(sigmas), labels, base_sigma < BASE_SIGMA)

    def _base(self, finger: Finger, size: float) -> tuple[Array, float]:
        """(3,) the finger's first joint, beside its own marker if it has one, and how sure it
        is."""
        turn, shift = self.laid
        for marker in self.body.markers:
            mark = self.found.get(marker.name)
            if mark is not None and _is_of(finger, mark, "_centre"):
                return marker.position, KEYPOINT_SIGMA
            if mark is not None and _is_of(finger, mark, ""):
                under = ABOVE_JOINTS[0] * quat.rotate(turn, finger.curl)
                return marker.position + under, KNUCKLE_SIGMA
        away = finger.at - human().bodies[self.body.name].at
        return shift + quat.rotate(turn, size * away), BASE_SIGMA


def _is_of(finger: Finger, mark: Landmark, kind: str) -> bool:
    """Whether a marker on the hand is that of a finger's first joint."""
    return mark is human().hand_landmarks[f"{finger.name}_{finger.joints[0]}{kind}"]


def _place(finger: Finger, mark: Landmark, bone: int, size: float) -> tuple[Array, float]:
    """Where on its bone a marker is before the fit, in the rest pose, and how sure that is."""
    start = finger.at + finger.along * finger.lengths[:bone].sum()
    if mark.at is None:
        away = 0.5 * finger.lengths[bone] * finger.along - ABOVE_JOINTS[1] * finger.curl
        sigma = LOOSE_SIGMA
    else:
        away, sigma = mark.at - start, PLACE_SIGMA
    ahead = (away @ finger.along) * finger.along
    return size * ahead + (away - ahead), sigma


def _observed(takes: Sequence[HandTake], hand: str, labels: Sequence[str]) -> Array:
    """(n_frames, n_markers, 3) of chosen frames in the hand's frame."""
    seen = np.concatenate([in_hand(t.recording, t.motion, hand, labels) for t in takes])
    seen = seen[np.isfinite(seen[..., 0]).any(axis=1)] if labels else seen[:0]
    if not len(seen):
        return seen
    middle = np.nanmedian(seen, axis=0)
    whole = np.where(np.isfinite(seen), seen, middle)
    return seen[farthest_frames(whole.reshape(len(seen), -1), FITTED_FRAMES)]


def _size(starts: Sequence[FingerStart], fitted: Sequence[FittedFinger]) -> float:
    """How much larger the bones are than they were taken for, those that markers show best."""
    shown = [
        float(np.log(own.lengths[k] / start.lengths[k]))
        for start, own in zip(starts, fitted, strict=True)
        for k in range(BONE_COUNT)
        if own.labels and own.covariance[3 + k, 3 + k] < 0.25 * start.sigmas[3 + k] ** 2
    ]
    if not shown:
        return 1.0
    return float(np.exp(np.clip(np.median(shown), *np.log(SIZE_RANGE))))


def _bodies(fitted: FittedFinger, hand: Body, *, keypoints: bool) -> list[Body]:
    """The finger's three bodies."""
    model, lengths = fitted.model, fitted.lengths
    along = quat.normalise(model.bones[0])
    bias = (KEYPOINT_BIAS if keypoints else ACROSS_SIGMA) ** 2 * np.eye(3)
    if not fitted.on_knuckle:
        bias += UNMARKED_SIGMA**2 * np.eye(3)
    bodies, parent = [], hand.name
    for bone in range(BONE_COUNT):
        joint = Joint(
            kind="universal" if bone == 0 else "hinge",
            in_parent=model.base if bone == 0 else model.bones[bone - 1],
            axes=model.axes if bone == 0 else model.axes[1:],
            limits=_limits(model, bone),
            covariance=fitted.joints[bone] + bias + (_of_wrist(fitted, hand) if bone == 0 else 0.0),
        )
        worn = [row for row, carrier in enumerate(model.carriers) if carrier == bone]
        markers = [_marker(fitted, row) for row in worn]
        name, last = f"{model.name}_{bone + 1}", bone == BONE_COUNT - 1
        tip = _tip(fitted, along, keypoints=keypoints) if last else None
        bodies.append(Body(name, parent, joint, float(lengths[bone]), tuple(markers), tip))
        parent = name
    return bodies


def _of_wrist(fitted: FittedFinger, hand: Body) -> Array:
    """(3, 3) how unsure the first joint is with its wrist: it is laid from there unless a marker
    shows it. The joints after it are seen by markers of their own."""
    wrist = hand.joint.covariance
    return np.zeros((3, 3)) if fitted.on_knuckle or wrist is None else wrist


def _tip(fitted: FittedFinger, along: Array, *, keypoints: bool) -> Array:
    """(3,) the end of the last bone: where a network has it, else as long as it was taken for."""
    model = fitted.model
    shown = [place for place, k in zip(model.places, model.carriers, strict=True) if k == 2]
    farthest = max([float(place @ along) for place in shown], default=0.0)
    return (farthest if keypoints and farthest > 0.0 else fitted.lengths[-1]) * along


def _marker(fitted: FittedFinger, row: int) -> Marker:
    own = slice(7 + 3 * row, 10 + 3 * row)
    return Marker(
        fitted.labels[row],
        fitted.model.places[row],
        rms=float(fitted.rms[row]),
        covariance=fitted.covariance[own, own],
    )


def _limits(model: FingerModel, bone: int) -> Limits | None:
    if bone == 0:
        return None
    habits = model.habits
    return Limits(hinge=(float(habits.lowest[bone + 1]), float(habits.highest[bone + 1])))
