"""Labels of a marker set on a person who was never seen: the average human shows where to begin.

The average human, at the size of the cloud, is looked for in full frames as a known person would
be, only with more slack. What is labelled there calibrates the person, and the person is then
followed as one who is known; twice, for what is labelled in between calibrates better.
"""

from collections.abc import Iterable
from dataclasses import replace
from itertools import islice

import numpy as np
from scipy.spatial.distance import cdist

from osteon.calibration import calibrate, rest_model
from osteon.errors import NotEnoughData
from osteon.human import Landmark, MarkerSet, human
from osteon.labelling.courses import Chains, sure_chains
from osteon.labelling.first_frame import Start, find_starts, settle_by_frames
from osteon.labelling.pieces import Pieces, relabelled
from osteon.labelling.rigid_joins import join_by_neighbours
from osteon.labelling.wearer import LOOSE_SLACK, Wearer, wearer_of
from osteon.maths import quat
from osteon.posing import compile_rig
from osteon.typing import Array, Indices
from osteon.values import Body, Joint, Marker, Recording, Skeleton

PLACE_SLACK, SOFT_SLACK = 0.04, 0.07
"""Metres rms per axis that a marker is off the average human's place; the second of those that are
not on a bone. Chosen: a tenth of a limb's length, and a fifth."""
AVERAGE_JOINT = 0.035
"""Metres rms per axis that a joint is off the average human's. Chosen: as a marker."""
STIFF_POSTURE = ((0.0, 0.0, 0.0), (0.35, 0.35, 0.35))
"""Radians, of joints that are not listed below, as these. Chosen: a third of their ranges."""
USUAL_POSTURES = {
    "upper_arm": ((-1.2, 0.0, 0.0), (1.2, 1.2, 1.2)),
    "forearm": ((0.0, 0.0, -0.8), (0.4, 1.0, 0.8)),
    "hand": ((0.0, 0.0, 0.0), (0.5, 0.5, 0.5)),
    "thigh": ((0.0, -0.3, 0.0), (0.35, 0.7, 0.4)),
    "shin": ((0.0, 0.6, 0.0), (0.25, 0.7, 0.35)),
    "foot": ((0.0, 0.0, 0.0), (0.3, 0.4, 0.3)),
}
"""Radians, of joints on the left: how they are mostly turned from the rest pose, which stretches
the arms sideways, as rotation vectors (x forward, y left, z up), and by how much about each axis,
rms; Chosen: a third of their ranges, arms that hang, knees and elbows that
bend one way."""
OUTWARD = {
    "thigh": (0.0, 1.0, 0.0),
    "shin": (0.0, 1.0, 0.0),
    "upper_arm": (0.0, 0.0, 1.0),
    "forearm": (0.0, 0.0, 1.0),
}
"""Directions as ratios to one: outer sides of limbs on the left, in the rest pose, which stretches
the arms sideways. Chosen: where clusters are worn."""
OUTER_DISTANCE = 0.06
"""Metres from the middle of a bone to a cluster's markers, which are worn where muscles move them
least: outside. Chosen: a limb's radius and a marker's height."""
SIDES = ("left_", "right_")
TAKEN_OFF = ("elbow_medial", "knee_medial", "malleolus_medial")
RARE_COST = 1.5
"""Log odds, as a ratio to one, against labels that many laboratories take off once a person has
stood still. Chosen: four of five takes are without them, or all wear them and then little hangs on
it."""
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
WEARER_FRAMES = 40
"""Count of frames that calibrate somebody in order to be labelled. Chosen: a third of what a rig is
made of; labels need centimetres."""
SURE_AVERAGE = 0.85
"""Share of the log odds of markers exactly in place, from which no other size is tried. Chosen:
wrong answers stay below 0.8."""
LEAST_AVERAGE = 0.74
"""Share of the same, below which nobody is found. Chosen: where knees and ankles carry no markers
and clusters were taken for them it was 0.73, where most was right 0.75 and more."""
ARMS = ("upper_arm", "forearm", "hand")
TOPS = (*ARMS, "neck", "head")
"""Bodies that do not tell how tall somebody is: arms may be raised; a head may carry no markers."""
TALL_QUANTILE = 0.9
"""Share of frames that show the cloud less tall than it is taken to be. Chosen: people stand up in
a tenth of most takes."""
EDGE_QUANTILE = 0.02
"""Share of the points in a frame, above and below, that may be of something else. Chosen: one of
fifty."""


def average_wearer(marks: dict[str, Landmark], scale: float) -> Wearer:
    """Return an average human of a size who wears a set's labels."""
    placed = {label: _somewhere(mark) for label, mark in marks.items()}
    slack = {label: _slack(marks[label]) for label in marks}
    model = rest_model(placed, scale)
    bodies = [
        Body(
            name,
            None if parent < 0 else model.names[parent],
            Joint("free" if parent < 0 else "ball", in_parent=model.offsets[index]),
            markers=tuple(
                Marker(model.marker_names[m], model.places[m])
                for m in sorted(
                    np.flatnonzero(model.marker_bodies == index),
                    key=lambda m: slack[model.marker_names[m]],
                )
            ),
        )
        for index, (name, parent) in enumerate(zip(model.names, model.parents, strict=True))
    ]
    skeleton = Skeleton(tuple(bodies))
    names = skeleton.marker_places().names
    postures = [_posture(name) for name in skeleton.names]
    return Wearer(
        skeleton,
        compile_rig(skeleton, names),
        names,
        np.array([slack[name] for name in names]),
        AVERAGE_JOINT,
        quat.to_matrix(quat.exp(np.array([usual for usual, _ in postures]))),
        np.array([turn for _, turn in postures]),
        _twins(names, placed),
        np.array([RARE_COST * _is_for_calibration(marks[name]) for name in names]),
        np.array([_height(name, scale) for name in skeleton.names]),
        known=False,
    )


def _slack(mark: Landmark) -> float:
    if mark.at is None:
        return LOOSE_SLACK
    return SOFT_SLACK if mark.soft else PLACE_SLACK


def _height(body: str, scale: float) -> float:
    """Return how high above the floor a joint is when somebody stands; NaN: of arms."""
    return np.nan if body.endswith(ARMS) else scale * float(human().bodies[body].at[2])


def _is_for_calibration(mark: Landmark) -> bool:
    return any(mark is human().landmarks[side + word] for side in SIDES for word in TAKEN_OFF)


def _somewhere(mark: Landmark) -> Landmark:
    """Return a landmark; where only its bone is known, beside the middle of that, on the outer side
    of limbs."""
    if mark.at is not None:
        return mark
    figure = human()
    ends = [body.at for body in figure.bodies.values() if body.parent == mark.body]
    end = ends[0] if ends else figure.tips[mark.body]
    middle = 0.5 * (figure.bodies[mark.body].at + end)
    side, _, limb = mark.body.partition("_")
    outward = np.array(OUTWARD.get(limb, (0.0, 0.0, 0.0))) * [
        1.0,
        {"right": -1.0}.get(side, 1.0),
        1.0,
    ]
    return replace(mark, at=middle + OUTER_DISTANCE * outward)


def _posture(body: str) -> tuple[Array, Array]:
    """Return how a joint is mostly turned, as a rotation vector, and by how much about the body's
    axes it is away from that."""
    side = -1.0 if body.startswith("right_") else 1.0
    usual, turn = USUAL_POSTURES.get(
        body.removeprefix("left_").removeprefix("right_"), STIFF_POSTURE
    )
    return np.array(usual) * [side, 1.0, side], np.array(turn)


def _twins(names: tuple[str, ...], marks: dict[str, Landmark]) -> Indices:
    """Return (n_labels,) the label of the same place on the other side; −1: none."""
    places = np.array([marks[name].at for name in names])
    apart = cdist(places, places * [1.0, -1.0, 1.0])
    nearest = apart.argmin(axis=1)
    same = (apart[np.arange(len(names)), nearest] < 1e-6) & (nearest != np.arange(len(names)))
    return np.where(same, nearest, -1)


def start_with_set(marker_set: MarkerSet, pieces: Pieces) -> "SetWearer":
    """Return the person who wears a set, calibrated on what some frames of the take tell."""
    chains = join_by_neighbours(sure_chains(pieces))
    starts = _starts(marker_set, chains)
    best = settle_by_frames(starts, chains) if starts else None
    if best is None or best.share < LEAST_AVERAGE:
        share = 0.0 if best is None else best.share
        raise NotEnoughData(
            f"nobody who wears {marker_set.name!r} is found: the average human suits by "
            f"{100.0 * max(share, 0.0):.0f} % at best, {100.0 * LEAST_AVERAGE:.0f} are needed; "
            "give a `skeleton` of the person, another set, or `marker_set=none`"
        )
    return SetWearer(marker_set, best, held_recording(best, chains))


def _starts(marker_set: MarkerSet, chains: Chains) -> list[Start]:
    """Return what is found in several frames, at the size that suits best of some."""
    tried: list[Start] = []
    for size in sizes_of(chains.pieces.recording, marker_set):
        tried += islice(find_starts(average_wearer(marker_set.markers, size), chains), 1)
        if max((start.share for start in tried), default=0.0) > SURE_AVERAGE:
            break
    if not tried:
        return []
    return list(find_starts(max(tried, key=lambda start: start.share).wearer, chains))


class SetWearer:
    """A person as calibrated by what is labelled of a set, the average human for the rest."""

    def __init__(self, marker_set: MarkerSet, start: Start, labelled: Recording) -> None:
        self.marker_set, self.start = marker_set, start
        seen = np.flatnonzero(labelled.seen.any(axis=0))
        worn = [labelled.names[index] for index in seen]
        found = {name: marker_set.markers[name] for name in worn}
        self.skeleton = calibrate([_thinned(labelled.select(worn))], found).skeleton

    @property
    def wearer(self) -> Wearer:
        """With what is found so far, and where the average human has them those labels between
        which one frame did not decide: on bones of the right length, over the take, it may; not
        between labels that lie beside each other."""
        return self._with_others([each for each in self.start.undecided if self._is_apart(each)])

    def _is_apart(self, label: int) -> bool:
        """Whether no other label that was not found lies beside one, on the same body."""
        average = self.start.wearer
        body = average.rig.tree.marker_bodies[label]
        others = [
            other
            for other in average.placed_labels_of(int(body)).tolist()
            if other != label and average.names[other] not in self.skeleton.marker_names
        ]
        off = average.rig.places[others] - average.rig.places[label]
        return bool((np.linalg.norm(off, axis=-1) > BESIDE_DISTANCE).all())

    @property
    def completed(self) -> Wearer:
        """With labels that were not found where the average human has them."""
        average = self.start.wearer
        placed = set(np.flatnonzero(~average.loose).tolist())
        return self._with_others(placed - self.start.undecided)

    def _with_others(self, labels: Iterable[int]) -> Wearer:
        """Return the person with other labels of the set, where the average human has them."""
        average = self.start.wearer
        rms = dict(zip(average.names, np.sqrt(3.0) * average.slack, strict=True))
        left = {average.names[index] for index in labels} - self.skeleton.marker_names
        bodies = []
        for body in self.skeleton.bodies:
            known = body.name in average.skeleton.names
            missing = [
                replace(marker, position=marker.position + body.joint.in_body, rms=rms[marker.name])
                for marker in (average.skeleton.body(body.name).markers if known else ())
                if marker.name in left
            ]
            bodies.append(replace(body, markers=(*body.markers, *missing)))
        return wearer_of(replace(self.skeleton, bodies=tuple(bodies)))

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


def _thinned(recording: Recording) -> Recording:
    """Return some frames of a recording, evenly."""
    step = max(1, recording.n_frames // WEARER_FRAMES)
    return Recording(recording.positions[::step], recording.names, recording.rate / step)


def sizes_of(recording: Recording, marker_set: MarkerSet) -> list[float]:
    """Return sizes against the average human, likeliest first: by how tall the cloud is when it
    stands, with a head's markers or without; and an adult's where that is none."""
    heights = np.where(recording.seen, recording.positions[..., 2], np.nan)
    full = heights[recording.seen.sum(axis=1) >= 3]
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
