"""The average human who wears a marker set: where labels are, how far off, and how joints turn."""

from dataclasses import replace

import numpy as np

from osteon.calibration import rest_model
from osteon.human import Landmark, human
from osteon.labelling.wearer import LOOSE_SLACK, Wearer
from osteon.maths import distances_between, quat
from osteon.posing import compile_rig
from osteon.typing import Array, Indices
from osteon.values import Body, Joint, Marker, Skeleton

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
KNEES = ("knee_medial", "knee_lateral")
RARE_COST = 1.5
"""Log odds, as a ratio to one, against labels that many laboratories take off once a person has
stood still. Chosen: four of five takes are without them, or all wear them and then little hangs on
it."""
ARMS = ("upper_arm", "forearm", "hand")


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
        size=scale,
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
    apart = distances_between(places, places * [1.0, -1.0, 1.0])
    nearest = apart.argmin(axis=1)
    same = (apart[np.arange(len(names)), nearest] < 1e-6) & (nearest != np.arange(len(names)))
    return np.where(same, nearest, -1)


def is_taken_off(mark: Landmark) -> bool:
    """Whether a label is on the axis of a knee: laboratories that wear clusters take it off before
    somebody runs."""
    return any(mark is human().landmarks[side + word] for side in SIDES for word in KNEES)
