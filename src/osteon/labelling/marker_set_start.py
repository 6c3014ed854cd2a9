"""Labels of a marker set on a person who was never seen: the average human shows where to begin.

The average human, at the size of the cloud, is looked for in full frames as a known person would
be, only with more slack. What is labelled there calibrates the person, and the person is then
followed as one who is known; twice, for what is labelled in between calibrates better.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from osteon.calibration import calibrate, rest_model
from osteon.errors import NotEnoughData
from osteon.human import Landmark, MarkerSet
from osteon.labelling.courses import Chains, sure_chains
from osteon.labelling.first_frame import Start, find_start, find_starts
from osteon.labelling.pieces import Pieces, relabelled
from osteon.labelling.wearer import Wearer, wearer_of
from osteon.maths import quat
from osteon.posing import compile_rig
from osteon.typing import Array
from osteon.values import Body, Joint, Marker, Recording, Skeleton

PLACE_SLACK, SOFT_SLACK = 0.04, 0.07
"""Metres rms per axis that a marker is off the average human's place; the second of those that are
not on a bone. Chosen: a tenth of a limb's length, and a fifth."""
AVERAGE_JOINT = 0.035
"""Metres rms per axis that a joint is off the average human's. Chosen: as a marker."""
HANGING_ANGLE = 1.2
"""Radians by which arms hang below the rest pose, which stretches them. Chosen: 70 degrees."""
STIFF_TURN, LIMB_TURN = 0.35, 1.2
"""Radians rms that joints of trunk, head, hands and feet are away from rest, and those of limbs.
Chosen: a third of their ranges."""
LIMBS = ("upper_arm", "forearm", "thigh", "shin")
SIZES = (1.0, 1.07, 0.93)
"""Ratios to the size that the cloud's height tells. Chosen: heels lift, heads are bent."""
SURE_AVERAGE = 0.85
"""Share of the log odds of markers exactly in place, from which no other size is tried. Chosen:
wrong answers stay below 0.8."""
LEAST_AVERAGE = 0.65
"""Share of the same, below which nobody is found. Chosen: where most was wrong it was 0.45, where
most was right 0.71 and more."""
KEPT_STARTS = 3
"""Count of starts that calibrate a person each. Chosen: the right one is mostly the first."""
MISSING_RMS = 0.07
"""Metres that a label, not found so far, is off the average human's place. Chosen: as a soft one,
in space."""
ARMS = ("upper_arm", "forearm", "hand")
TALL_QUANTILE = 0.9
"""Share of frames that show the cloud less tall than it is taken to be. Chosen: people stand up in
a tenth of most takes."""
EDGE_QUANTILE = 0.02
"""Share of the points in a frame, above and below, that may be of something else. Chosen: one of
fifty."""


def average_wearer(marks: dict[str, Landmark], scale: float) -> Wearer:
    """Return an average human of a size, wearing the labels whose places are known."""
    placed = {label: mark for label, mark in marks.items() if mark.at is not None}
    model = rest_model(placed, scale)
    bodies = [
        Body(
            name,
            None if parent < 0 else model.names[parent],
            Joint("free" if parent < 0 else "ball", in_parent=model.offsets[index]),
            markers=tuple(
                Marker(model.marker_names[m], model.places[m])
                for m in np.flatnonzero(model.marker_bodies == index)
            ),
        )
        for index, (name, parent) in enumerate(zip(model.names, model.parents, strict=True))
    ]
    skeleton = Skeleton(tuple(bodies))
    names = skeleton.marker_places().names
    slack = np.array([SOFT_SLACK if placed[name].soft else PLACE_SLACK for name in names])
    rig = compile_rig(skeleton, names)
    turn = [LIMB_TURN if name.endswith(LIMBS) else STIFF_TURN for name in skeleton.names]
    rest = _hanging(skeleton)
    return Wearer(skeleton, rig, names, slack, AVERAGE_JOINT, rest, np.array(turn), known=False)


def _hanging(skeleton: Skeleton) -> Array:
    """(n_bodies, 3, 3) at rest, but with arms that hang."""
    forward = np.array([1.0, 0.0, 0.0])
    turns = {"left_upper_arm": -HANGING_ANGLE, "right_upper_arm": HANGING_ANGLE}
    angles = np.array([turns.get(name, 0.0) for name in skeleton.names])
    return quat.to_matrix(quat.from_axis_angle(forward, angles))


def start_with_set(marker_set: MarkerSet, pieces: Pieces) -> "SetWearer":
    """Return the person who wears a set, calibrated on what one frame of the take tells."""
    chains = sure_chains(pieces)
    scale = size_of(pieces.recording, marker_set)
    starts: list[Start] = []
    for ratio in SIZES:
        starts += find_starts(average_wearer(marker_set.markers, ratio * scale), chains)
        if max((start.share for start in starts), default=0.0) > SURE_AVERAGE:
            break
    best = [start for start in _different(starts)[:KEPT_STARTS] if start.share > LEAST_AVERAGE]
    people = [person for start in best for person in _person(marker_set, scale, start, chains)]
    if not people:
        share = max((start.share for start in starts), default=0.0)
        raise NotEnoughData(
            f"nobody who wears {marker_set.name!r} is found: the average human suits by "
            f"{100.0 * max(share, 0.0):.0f} % at best, {100.0 * LEAST_AVERAGE:.0f} are needed; "
            "give a `skeleton` of the person, another set, or `marker_set=none`"
        )
    return max(people, key=lambda person: _likeness(person.wearer, chains))


def _person(
    marker_set: MarkerSet, scale: float, start: Start, chains: Chains
) -> Iterator["SetWearer"]:
    """Yield the person that a start calibrates; nobody, where too little was found."""
    try:
        yield SetWearer(marker_set, scale, held_recording(start, chains), start.share)
    except NotEnoughData:
        return


def _different(starts: list[Start]) -> list[Start]:
    """Return starts that label chains otherwise than the better ones before them, best first."""
    kept: dict[bytes, Start] = {}
    for start in sorted(starts, key=lambda start: -start.share):
        chains = np.where(start.answer.points >= 0, start.chains[start.answer.points], -1)
        kept.setdefault(chains.tobytes(), start)
    return list(kept.values())


def _likeness(wearer: Wearer, chains: Chains) -> float:
    """Return how well a person as calibrated is found again."""
    start = find_start(wearer, chains)
    return 0.0 if start is None else start.share


class SetWearer:
    """A person as calibrated by what is labelled of a set, the average human for the rest."""

    def __init__(
        self, marker_set: MarkerSet, scale: float, labelled: Recording, share: float
    ) -> None:
        self.marker_set, self.scale, self.share = marker_set, scale, share
        seen = np.flatnonzero(labelled.seen.any(axis=0))
        worn = [labelled.names[index] for index in seen]
        found = {name: marker_set.markers[name] for name in worn}
        self.skeleton = calibrate([labelled.select(worn)], found).skeleton
        self.wearer = wearer_of(self._completed())

    def again(self, labelled: Recording) -> "SetWearer":
        """Return the person as calibrated by more of their labels."""
        return SetWearer(self.marker_set, self.scale, labelled, self.share)

    def doubts(self) -> tuple[str, ...]:
        """Return what to know about labels that an average human has begun."""
        if self.share > SURE_AVERAGE:
            return ()
        return (
            f"the average human in {self.marker_set.name!r} suits by {100.0 * self.share:.0f} % "
            "only: markers beside each other, or whole limbs, may be exchanged; look at the rig, "
            "and label with its `skeleton` once it is right",
        )

    def _completed(self) -> Skeleton:
        """The skeleton, with labels that were not found where the average human has them."""
        average = average_wearer(self.marker_set.markers, self.scale).skeleton
        worn, bodies = self.skeleton.marker_names, []
        for body in self.skeleton.bodies:
            more = average.body(body.name).markers if body.name in average.names else ()
            missing = [
                replace(marker, position=marker.position + body.joint.in_body, rms=MISSING_RMS)
                for marker in more
                if marker.name not in worn
            ]
            bodies.append(replace(body, markers=(*body.markers, *missing)))
        return replace(self.skeleton, bodies=tuple(bodies))


def size_of(recording: Recording, marker_set: MarkerSet) -> float:
    """Return the size against the average human: how tall the cloud is when it stands."""
    heights = np.where(recording.seen, recording.positions[..., 2], np.nan)
    full = heights[recording.seen.sum(axis=1) >= 3]
    if not len(full):
        raise NotEnoughData("no frame shows three points; there is nobody to label")
    low, high = np.nanquantile(full, [EDGE_QUANTILE, 1.0 - EDGE_QUANTILE], axis=1)
    marks = marker_set.markers.values()
    rest = [m.at[2] for m in marks if m.at is not None and not m.body.endswith(ARMS)]
    return float(np.quantile(high - low, TALL_QUANTILE) / np.ptp(rest))


def held_recording(start: Start, chains: Chains) -> Recording:
    """Return all that the chains labelled in one frame show."""
    holders = start.holders(chains)
    return relabelled(chains.pieces, holders.label, start.wearer.names)
