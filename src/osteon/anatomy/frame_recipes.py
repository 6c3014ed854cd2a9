"""What anatomical frames are built from: points and directions of a moving rig, each with
a deviation."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from osteon.human import split_side
from osteon.maths import quat
from osteon.typing import Array
from osteon.values import Motion, Recording

MARK_SIGMA = 0.005
"""Metres per axis that a marker is off the bony point it is named after; chosen: a third of a
marker and its base, as trained hands repeat it."""
JOINT_SIGMA = 0.01
"""Metres per axis of a joint centre that carries no covariance; chosen: a hip's by regression."""
TEMPLATE_SIGMA = np.radians(10.0)
"""Radians of an axis that only the template knows; measured: knee axes that six walks
show lie up to 15° from it, 9° rms."""
TRIED_FRAMES = 12
"""Count of frames over which the uncertainty is averaged; chosen: posture hardly changes it."""
UP, RIGHT = "up", "right"
WAYS = {"upper_arm": ("y", "z"), "forearm": ("y", "x"), "hand": ("y", "x")}
"""Directions of a right arm's bodies in the rest pose, sideways and palm down: towards the trunk,
and to the right once the arm hangs with its palm to the front."""


@dataclass(frozen=True, eq=False)
class Segment:
    """An anatomical frame over a take."""

    name: str
    """As the rig's body, but ``trunk``; ``left_malleoli`` is the shin as the ankle sees it."""
    rotations: Array
    """(n_frames, 4) to the world from the frame: x front, y up, z right."""
    source: str
    """``landmarks``, ``motion`` or ``template``: where its least certain axis comes from."""
    told: str
    """What it was made of, in words."""
    deviation: Array
    """(3,) standard deviations of constant turns about its x, y and z, radians."""
    doubt: str = ""
    """What speaks against it, in words."""


@dataclass(frozen=True)
class FrameInput:
    """A point in the world (metres) or a direction (unit), and its deviation."""

    over_time: Array
    sigma: float


@dataclass(frozen=True)
class FrameRecipe:
    """What a frame is made of, and how."""

    source: str
    told: str
    inputs: Sequence[FrameInput]
    build: Callable[..., Array]
    doubt: str = ""

    def segment(self, name: str) -> Segment:
        arrays = [each.over_time for each in self.inputs]
        turns = self.build(*arrays)
        return Segment(name, turns, self.source, self.told, self.deviation(), self.doubt)

    def deviation(self) -> Array:
        """Turns (3,) of the frame by its inputs' deviations, about its own axes, radians."""
        every = max(1, len(self.inputs[0].over_time) // TRIED_FRAMES)
        arrays = [each.over_time[::every] for each in self.inputs]
        right = self.build(*arrays)
        total = np.zeros(3)
        for place, each in enumerate(self.inputs):
            for step in each.sigma * np.eye(3):
                moved = [a + step if i == place else a for i, a in enumerate(arrays)]
                turns = quat.log(quat.between(right, self.build(*moved)))
                total += np.nanmean(turns**2, axis=0)
        return np.sqrt(total)


@dataclass(frozen=True, eq=False)
class WornMarkers:
    """What Plug-in Gait's model goes by."""

    recording: Recording
    """Markers as they were recorded, gaps filled."""
    measures: Mapping[str, float]
    """What is stated of the person, ``left_knee_width``: metres and radians."""


def _marker_paths(motion: Motion, worn: WornMarkers | None) -> dict[str, Array]:
    """Label → (n_frames, 3): the rig's marker, or as it was recorded where it was."""
    carried = motion.skeleton.marker_places(motion.skeleton.marker_names)
    points = motion.points(carried.bodies, carried.places)
    paths = {name: points[:, place] for place, name in enumerate(carried.names)}
    if worn is None:
        return paths
    recorded = worn.recording
    for place, name in enumerate(recorded.names):
        path = recorded.positions[:, place]
        paths[name] = np.where(np.isfinite(path), path, paths.get(name, path))
    return paths


class MarkedFigure:
    """A human rig in motion, with the landmarks that its markers sit on.

    Parameters
    ----------
    landmarks
        Label of a marker → the template's landmark.
    convention
        Whose definitions to follow where they differ: ``isb``, ``pig`` or ``opensim``.
    worn
        Markers as they were recorded and measures of the person, for ``pig``; else the rig's.
    """

    def __init__(
        self,
        motion: Motion,
        landmarks: Mapping[str, str],
        convention: str,
        worn: WornMarkers | None = None,
    ) -> None:
        self.skeleton, self.convention, self.rate = motion.skeleton, convention, motion.rate
        self.landmarks = landmarks
        self.measures = worn.measures if worn else {}
        self.recorded = worn is not None
        self.turns, self.joints = motion.world()
        self._labelled = _marker_paths(motion, worn if convention == "pig" else None)
        self._marks = {
            landmarks[name]: path
            for name, path in reversed(self._labelled.items())
            if name in landmarks and name in self.skeleton.marker_names
        }

    def has(self, *bodies: str) -> bool:
        return all(body in self.skeleton.names for body in bodies)

    def turn(self, body: str) -> Array:
        """(n_frames, 4) of a body in the world."""
        return self.turns[:, self.skeleton.index(body)]

    def marks(self, *names: str) -> list[FrameInput] | None:
        """Return landmarks as points, None where one was not marked."""
        if not set(names) <= self._marks.keys():
            return None
        return [FrameInput(self._marks[name], MARK_SIGMA) for name in names]

    def worn(self, side: str, label: str, place: str) -> Array | None:
        """(n_frames, 3) a marker that was recorded, by Plug-in Gait's label, else by the landmark
        that it sits on; None where it is not there throughout."""
        if not self.recorded:
            return None
        named = self._labelled.get(f"{side[0].upper()}{label}")
        path = self._marks.get(f"{side}_{place}") if named is None else named
        return path if path is not None and np.isfinite(path).all() else None

    def has_labels(self, side: str, labels: Sequence[str]) -> bool:
        """Whether there are points of these names, each with its side's letter before it."""
        return all(f"{side[0].upper()}{label}" in self._labelled for label in labels)

    def joint(self, body: str) -> FrameInput:
        """Return the joint that a body hangs on as a point."""
        index = self.skeleton.index(body)
        covariance = self.skeleton.bodies[index].joint.covariance
        sigma = JOINT_SIGMA
        if covariance is not None and np.isfinite(covariance).all():
            sigma = float(np.sqrt(np.trace(covariance) / 3.0))
        return FrameInput(self.joints[:, index], sigma)

    def way(self, body: str, direction: Sequence[float] | Array, sigma: float) -> FrameInput:
        """Return a direction that is fixed in a body."""
        return FrameInput(quat.rotate(self.turn(body), np.asarray(direction, dtype=float)), sigma)

    def carried(self, body: str, axis: Array, sigma: float = 0.0) -> FrameInput:
        """Return the direction in a body that stays nearest to one in the world (n_frames, 3)."""
        local = quat.rotate(quat.inverse(self.turn(body)), axis)
        return self.way(body, quat.normalise(np.nanmean(local, axis=0)), sigma)

    def rest(self, body: str, which: str) -> FrameInput:
        """Return up or right of a body as the template has it in the anatomical position."""
        side, part = split_side(body)
        up, right = np.array([0.0, 0.0, 1.0]), np.array([0.0, -1.0, 0.0])
        if part in WAYS:
            sign = -1.0 if side == "left" else 1.0
            up, right = (sign * np.eye(3)["xyz".index(axis)] for axis in WAYS[part])
        return self.way(body, up if which == UP else right, TEMPLATE_SIGMA)


def frame(first: str, along: Array, second: str, near: Array) -> Array:
    """Return rotations (..., 4) of frames with one axis along a vector and another near to one.

    Parameters
    ----------
    first, second
        ``x``, ``y`` or ``z``.
    along, near : (..., 3)
        Of any length; ``near`` is made square to ``along``.
    """
    one, two = "xyz".index(first), "xyz".index(second)
    a = quat.normalise(along)
    c = quat.normalise(np.cross(a, near))
    columns = np.zeros((*a.shape[:-1], 3, 3))
    columns[..., one], columns[..., two] = a, np.cross(c, a)
    columns[..., 3 - one - two] = c if (two - one) % 3 == 1 else -c
    return quat.from_matrix(columns)


def by_template(figure: MarkedFigure, body: str) -> FrameRecipe:
    inputs = [figure.rest(body, UP), figure.rest(body, RIGHT)]
    told = "as the template stands in the rig's rest pose"
    return FrameRecipe("template", told, inputs, lambda up, right: frame("y", up, "z", right))
