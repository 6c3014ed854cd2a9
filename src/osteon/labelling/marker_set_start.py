"""Labels of a marker set on a person who was never seen: the average human shows where to begin.

The average human, at the size of the cloud, is looked for in full frames as a known person would
be, only with more slack. What is labelled there calibrates the person, and the person is then
followed as one who is known; twice, for what is labelled in between calibrates better.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from itertools import islice

import numpy as np

from osteon.calibration import calibrate
from osteon.errors import NotEnoughData
from osteon.human import MarkerSet
from osteon.labelling.average_human import ARMS, average_wearer
from osteon.labelling.courses import Chains, sure_chains
from osteon.labelling.first_frame import (
    SEED_TRIES,
    Start,
    find_first,
    find_starts,
    settle_by_frames,
)
from osteon.labelling.joint_levels import thinned, told_by_joints
from osteon.labelling.pieces import Pieces, relabelled
from osteon.labelling.rigid_joins import join_by_neighbours
from osteon.labelling.shape_start import start_by_shape
from osteon.labelling.wearer import FIRM_SLACK, Wearer, seed_bodies, wearer_of
from osteon.typing import Array, Indices
from osteon.values import Marker, Recording

SIZES = (1.0, 1.07, 0.93)
"""Ratios to the size that the cloud's height tells. Chosen: heels lift, heads are bent."""
ADULT_SIZES = (0.85, 1.12)
"""Ratios to the average human between which adults are. Derived: 1.49 and 1.96 m. Where the cloud
tells another size, raised arms, a bent back or a child may be the reason, so an adult's is tried
too."""
TALLEST_SIZE = 1.25
"""Ratio to the average human that nobody exceeds: 2.2 m. Chosen: then arms are raised."""
BESIDE_DISTANCE = 0.1
"""Metres between labels that an average human does not tell apart. Derived: both are off by
``PLACE_SLACK`` along each axis."""
MIRROR_SLACK = 0.025
"""Metres rms per axis that a marker is off the mirrored place of its like on the other side.
Chosen: as markers are put on by hand."""
SAME_SHARE = 0.01
"""Share of the samples that may be labelled otherwise than those that calibrated somebody. Chosen:
they move no marker by more than skin does."""
SURE_AVERAGE = 0.85
"""Share of the log odds of markers exactly in place, from which no other size is tried. Chosen:
wrong answers stay below 0.8."""
LEAST_AVERAGE = 0.74
"""Share of the same, below which nobody is found. Chosen: where knees and ankles carry no markers
and clusters were taken for them it was 0.73, where most was right 0.75 and more."""
FAR_LANDMARK = 0.08
"""Metres from where the average human has it, on a person who is calibrated, at which a landmark on
a limb's bone is hardly what it was taken for. Chosen: where all labels were right it was up to
0.06, where clusters were taken for knees and ankles 0.09 and more."""
LIMBS = ("upper_arm", "forearm", "thigh", "shin")
ROOT_MARKERS = 3
"""Count of labels on the pelvis that shape must tell. Derived: three points show how it turns."""
TOPS = (*ARMS, "neck", "head")
"""Bodies that do not tell how tall somebody is: arms may be raised; a head may carry no markers."""
TALL_QUANTILE = 0.9
"""Share of frames that show the cloud less tall than it is taken to be. Chosen: people stand up in
a tenth of most takes."""
HEIGHT_FRAMES = 200
"""Count of frames in which that is looked at. Chosen: as many postures as a take has."""
EDGE_QUANTILE = 0.02
"""Share of the points in a frame, above and below, that may be of something else. Chosen: one of
fifty."""


def start_with_set(marker_set: MarkerSet, pieces: Pieces) -> "SetWearer":
    """Return the person who wears a set, calibrated on what some frames of the take tell; where
    the average human suits poorly, on what the shape of the whole take does."""
    chains = join_by_neighbours(sure_chains(pieces))
    starts = _starts(marker_set, chains)
    best = settle_by_frames(starts, chains) if starts else None
    person = None
    if best is not None and best.share >= LEAST_AVERAGE:
        if best.share <= SURE_AVERAGE:
            best = told_by_joints(marker_set, best, chains)
        person = SetWearer(marker_set, best, held_recording(best, chains))
        if not best.wearer.loose.any() or person.farthest_landmark() < FAR_LANDMARK:
            return person
    shaped = _shaped(marker_set, chains)
    if shaped is not None:
        return SetWearer(marker_set, shaped, held_recording(shaped, chains))
    if person is None:
        raise NotEnoughData(_nobody(marker_set, 0.0 if best is None else best.share))
    return person


def _shaped(marker_set: MarkerSet, chains: Chains) -> Start | None:
    """Return what shape tells of the labels; None where it does not tell how the root of the body
    moves."""
    found = start_by_shape(marker_set, chains)
    if found is None:
        return None
    sure = [
        found.answer.points[label] >= 0 and label not in found.undecided
        for label in found.wearer.labels_of(0)
    ]
    return found if sum(sure) >= ROOT_MARKERS else None


def _nobody(marker_set: MarkerSet, share: float) -> str:
    return (
        f"nobody who wears {marker_set.name!r} is found: the average human suits by "
        f"{100.0 * max(share, 0.0):.0f} % at best, {100.0 * LEAST_AVERAGE:.0f} are needed, and the "
        "whole take is not like a human's; give a `skeleton` of the person, another set, or "
        "`marker_set=none`"
    )


def _starts(marker_set: MarkerSet, chains: Chains) -> list[Start]:
    """Return what is found in several frames, at the size and from the body that suit best; in the
    first, from two bodies, where that leaves little doubt."""
    found = _coarse_starts(marker_set, chains)
    if not found:
        return []
    best, seed = max(found, key=lambda each: each[0].share)
    starts = find_starts(best.wearer, chains, [seed])
    first = list(islice(starts, 1))
    if first and first[0].share > SURE_AVERAGE:
        others = [each for each in seed_bodies(best.wearer)[:SEED_TRIES] if each != seed]
        starts = islice(find_starts(best.wearer, chains, others), len(others))
    return [*first, *starts]


def _coarse_starts(marker_set: MarkerSet, chains: Chains) -> list[tuple[Start, int]]:
    """Return what is found in one frame, and from which body, at one size after the other, and of
    the best size from another body too; not after the first that leaves little doubt."""
    found = list[tuple[Start, int]]()

    def is_sure(wearer: Wearer, seed: int) -> bool:
        start = next(find_starts(wearer, chains, [seed], coarse=True), None)
        if start is not None:
            found.append((start, seed))
        return start is not None and start.share > SURE_AVERAGE

    for size in sizes_of(chains.pieces.recording, marker_set):
        average = average_wearer(marker_set.markers, size)
        if is_sure(average, seed_bodies(average)[0]):
            return found
    if found:
        best = max(found, key=lambda each: each[0].share)[0].wearer
        for seed in seed_bodies(best)[1:SEED_TRIES]:
            is_sure(best, seed)
    return found


class SetWearer:
    """A person as calibrated by what is labelled of a set, the average human for the rest."""

    def __init__(self, marker_set: MarkerSet, start: Start, labelled: Recording) -> None:
        self.marker_set, self.start, self.labelled = marker_set, start, labelled
        seen = np.flatnonzero(labelled.seen.any(axis=0))
        worn = [labelled.names[index] for index in seen]
        found = {name: marker_set.markers[name] for name in worn}
        self.skeleton = calibrate(
            [thinned(labelled.select(worn))], found, next_markers=False
        ).skeleton
        average = average_wearer(found, start.wearer.size)
        self._joints = dict(zip(average.skeleton.names, average.rest_joints, strict=True))

    @property
    def wearer(self) -> Wearer:
        """With what is found so far, and those labels between which one frame did not decide where
        the average human has them: on bones of the right length, over the take, it may; not
        between labels that lie beside each other."""
        return self._with_others([each for each in self.start.undecided if self._is_apart(each)])

    def _is_apart(self, label: int) -> bool:
        """Whether a label is found on the other side, or no other that was not found lies beside it
        on the same body."""
        average = self.start.wearer
        if self._is_mirrored(label):
            return True
        if self.start.by_shape or label in self.start.unplaced:
            return False
        body = average.rig.tree.marker_bodies[label]
        others = [
            other
            for other in average.placed_labels_of(int(body)).tolist()
            if other != label and average.names[other] not in self.skeleton.marker_names
        ]
        off = average.rig.places[others] - average.rig.places[label]
        return bool((np.linalg.norm(off, axis=-1) > BESIDE_DISTANCE).all())

    def _is_mirrored(self, label: int) -> bool:
        """Whether the same label of the other side is found, and tells where it is."""
        average, twin = self.start.wearer, int(self.start.wearer.twin[label])
        return twin >= 0 and average.names[twin] in self.skeleton.marker_names

    @property
    def completed(self) -> Wearer:
        """With labels that were not found where the average human has them."""
        placed = set(np.flatnonzero(~self.start.wearer.loose).tolist())
        mirrored = filter(self._is_mirrored, self.start.undecided)
        return self._with_others((placed - self.start.undecided) | set(mirrored))

    def _with_others(self, labels: Iterable[int]) -> Wearer:
        """Return the person with other labels of the set."""
        added = defaultdict(list)
        for label in labels:
            if self.start.wearer.names[label] not in self.skeleton.marker_names:
                body, marker = self._expected(label)
                added[body].append(marker)
        bodies = [
            replace(body, markers=(*body.markers, *added[body.name]))
            for body in self.skeleton.bodies
        ]
        return wearer_of(replace(self.skeleton, bodies=tuple(bodies)))

    def _expected(self, label: int) -> tuple[str, Marker]:
        """Return where a label must be that is not found, and on which body: as on the other side,
        else where the average human has it."""
        average = self.start.wearer
        name, bodies = average.names[label], average.rig.tree.marker_bodies
        if self._is_mirrored(label):
            twin = average.twin[label]
            other = self.skeleton.body(average.skeleton.names[bodies[twin]])
            found = {marker.name: marker.position for marker in other.markers}
            place, slack = found[average.names[twin]] * [1.0, -1.0, 1.0], MIRROR_SLACK
            body = average.skeleton.names[bodies[label]]
        else:
            body = self._carrier(int(bodies[label]))
            off = average.rest_joints[bodies[label]] - self._joints[body]
            place = average.rig.places[label] + off + self.skeleton.body(body).joint.in_body
            slack = average.slack[label]
        return body, Marker(name, place, rms=float(np.sqrt(3.0) * slack))

    def _carrier(self, body: int) -> str:
        """Return the body that carries what the average human's does: the next one, where nothing
        else shows it."""
        average = self.start.wearer
        names, found = average.skeleton.names, self.skeleton.names
        near = [body, *np.flatnonzero(average.parents == body).tolist()]
        while (body := int(average.parents[body])) >= 0:
            near.append(body)
        return next((names[each] for each in near if names[each] in found), found[0])

    def farthest_landmark(self) -> float:
        """Return how far at most a label on a limb's bone is from where the average human has it,
        metres: bones have their lengths by now, so it tells labels of other places."""
        average, far = self.start.wearer, 0.0
        for label, body in enumerate(average.rig.tree.marker_bodies.tolist()):
            carrier = average.skeleton.names[body]
            firm = average.slack[label] < FIRM_SLACK and carrier.endswith(LIMBS)
            if firm and carrier in self.skeleton.names:
                own = self.skeleton.body(carrier)
                found = {marker.name: marker.position for marker in own.markers}
                place = found.get(average.names[label])
                if place is not None:
                    off = place - own.joint.in_body - average.rig.places[label]
                    far = max(far, float(np.linalg.norm(off)))
        return far

    def is_calibrated_by(self, labelled: Recording) -> bool:
        """Whether hardly any sample has another label than in what calibrated the person."""
        place = {name: at for at, name in enumerate(self.labelled.names)}
        mine = self.labelled.positions[:, [place[name] for name in labelled.names], 0]
        other = labelled.seen & (labelled.positions[..., 0] != mine)
        return bool(other.sum() < SAME_SHARE * labelled.seen.sum())

    def begin(self, wearer: Wearer, chains: Chains) -> Start:
        """Return a frame to follow the person from.

        Where bodies carry a marker each, a pose may suit that has arms or sides exchanged: then the
        labels that calibrated the person stand alone.
        """
        first = find_first(wearer, chains)
        points = first.answer.points
        own = self._labelled_points(
            wearer, first.frame, chains.at(np.array([first.frame]), first.chains)[0]
        )
        same = np.array_equal(points[own >= 0], own[own >= 0])
        return first if same else replace(first, answer=replace(first.answer, points=own))

    def _labelled_points(self, wearer: Wearer, frame: int, places: Array) -> Indices:
        """Return (n_labels,) which of some places in a frame has calibrated the person as each
        label; −1: none."""
        column = {name: at for at, name in enumerate(self.labelled.names)}
        points = np.full(len(wearer.names), -1)
        for label, name in enumerate(wearer.names):
            if name in column:
                here = places == self.labelled.positions[frame, column[name]]
                points[label] = next(iter(np.flatnonzero(here.all(axis=-1))), -1)
        return points

    def again(self, labelled: Recording) -> "SetWearer":
        """Return the person as calibrated by more of their labels."""
        return SetWearer(self.marker_set, self.start, labelled)

    def doubts(self) -> tuple[str, ...]:
        """Return what to know about labels that an average human has begun."""
        share = self.start.share
        if share > SURE_AVERAGE:
            return ()
        return (
            f"the average human in {self.marker_set.name!r} suits by {100.0 * share:.0f} % "
            "only: markers beside each other, or whole limbs, may be exchanged; look at the rig, "
            "and label with its `skeleton` once it is right",
        )


def sizes_of(recording: Recording, marker_set: MarkerSet) -> list[float]:
    """Return sizes against the average human, likeliest first: by how tall the cloud is when it
    stands, with a head's markers or without; and an adult's where that is none."""
    few = slice(None, None, max(1, recording.n_frames // HEIGHT_FRAMES))
    heights = np.where(recording.seen, recording.positions[..., 2], np.nan)[few]
    full = heights[np.isfinite(heights).sum(axis=1) >= 3]
    if not len(full):
        raise NotEnoughData("no frame shows three points; there is nobody to label")
    low, high = np.nanquantile(full, [EDGE_QUANTILE, 1.0 - EDGE_QUANTILE], axis=1)
    tall = float(np.quantile(high - low, TALL_QUANTILE))
    places = [(m.body, float(m.at[2])) for m in marker_set.markers.values() if m.at is not None]
    rest = [np.ptp([z for body, z in places if not body.endswith(out)]) for out in (ARMS, TOPS)]
    told = [tall / float(height) for height in dict.fromkeys(rest)]
    if not all(ADULT_SIZES[0] < size < ADULT_SIZES[1] for size in told):
        told.append(1.0)
    return [ratio * size for ratio in SIZES for size in told if size < TALLEST_SIZE]


def held_recording(start: Start, chains: Chains) -> Recording:
    """Return all that the chains labelled in one frame show."""
    holders = start.holders(chains)
    return relabelled(chains.pieces, holders.label, start.wearer.names)
