"""The bodies of any take: sensors as they are, clusters of markers, or a moving skeleton.

The scale of a tracker, from two sensors whose distance is known: [000] finds 0.94.

How noisy each body's poses are, judged from what moves too fast to be motion.

Noise that is smooth in time (a loose strap, skin) is not seen here; it shows in the residuals of
the joints.
"""

import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from osteon.articulation.segmentation import (
    TrackedBodies,
    segment,
    tell_one_body,
    track,
    turning_noise,
)
from osteon.cleaning import metres_per_reported, prepare
from osteon.errors import BadValue, FormatError, NotEnoughData
from osteon.maths import SMOOTH_ORDER, noise_of_differences, quat, white_noise
from osteon.typing import Array
from osteon.values import Bodies, Joints, Marker, Motion, Swap, Take, TrackerField


@dataclass(frozen=True, slots=True, eq=False)
class PoseNoise:
    """White noise of every body's pose."""

    position: Array
    """(n_bodies,) standard deviation per axis of the origin's place, metres."""
    rotation: Array
    """(n_bodies, 3, 3) covariance of small turns in the body's own frame, square radians."""
    over_frames: Array | None = None
    """(n_frames, n_bodies) ratio of a pose's noise to its body's usual one; None: always 1."""

    def frame_weights(self, pair: tuple[int, int], frames: np.ndarray) -> Array:
        """(n,) by how much a joint's rows of these frames are scaled."""
        if self.over_frames is None:
            return np.ones(len(frames))
        both = np.array(pair)
        usual = self.position[both] ** 2 + FINEST**2
        noisy = (self.over_frames[np.ix_(frames, both)] ** 2) @ usual
        return np.sqrt(usual.sum() / noisy)

    @property
    def shrinkage(self) -> Array:
        """(n_bodies, 3, 3) ``K`` with mean(noisy R) = R K: noise shortens the mean rotation."""
        trace = np.trace(self.rotation, axis1=-2, axis2=-1)[:, None, None]
        return np.eye(3) + 0.5 * (self.rotation - trace * np.eye(3))


def estimate_noise(bodies: Bodies) -> PoseNoise:
    """White noise of each body from its own trajectory; equal in all directions."""
    position = white_noise(bodies.positions)
    steps = quat.log(quat.between(bodies.rotations[:-1], bodies.rotations[1:]))
    angle = noise_of_differences(np.diff(steps, n=SMOOTH_ORDER - 1, axis=0))
    return PoseNoise(position, angle[:, None, None] ** 2 * np.eye(3))


def scale_factor(bodies: Bodies, first: str, second: str, distance: float) -> float:
    """Metres per unit that the tracker reports; ``distance`` in metres between rigid sensors."""
    if not distance > 0.0:
        raise BadValue(f"the distance of two sensors must be positive, got {distance}")
    apart = bodies.positions[:, bodies.index(first)] - bodies.positions[:, bodies.index(second)]
    lengths = np.linalg.norm(apart, axis=-1)
    lengths = lengths[np.isfinite(lengths)]
    if len(lengths) == 0 or lengths.mean() < 1e-6:
        raise NotEnoughData(f"{first} and {second} are never seen apart from each other")
    if lengths.std() > BENT_SHARE * lengths.mean():
        low, high = 100.0 * np.percentile(lengths, (5.0, 95.0))
        raise BadValue(
            f"{first} and {second} are {low:.0f} to {high:.0f} cm apart: no rigid bar, which alone "
            "tells the scale; name two sensors that are fastened to one"
        )
    return metres_per_reported(lengths, distance)


BENT_SHARE = 0.1
"""Share of a bar's length by which it varies, rms, from which on it is not rigid. Chosen: three
times what iron near a tracker makes of it (docs/guide/field.md)."""
FINEST = 1e-9
"""Metres: noise that even made-up data is granted."""


OUTSIDE_SHARE = 0.05
"""Share of poses outside a field's volume from which it is told. Chosen: a step aside is none."""


@dataclass(frozen=True, slots=True, eq=False)
class Moving:
    """The bodies of a take, and what markers tell about them where they are clusters of markers."""

    bodies: Bodies
    noise: PoseNoise | None = None
    """By the clusters' shapes; None for sensors, whose trajectories tell it."""
    markers: Mapping[str, tuple[Marker, ...]] = field(default_factory=dict)
    """Of each body."""
    swaps: tuple[Swap, ...] = ()
    """Exchanged labels that were put right."""
    problems: tuple[str, ...] = ()

    def without(self, names: Collection[str]) -> "Moving":
        """As if these bodies had not been recorded."""
        out = {self.bodies.index(name) for name in names}
        kept = [column for column in range(self.bodies.n_bodies) if column not in out]
        noise = self.noise
        if noise is not None:
            over = None if noise.over_frames is None else noise.over_frames[:, kept]
            noise = PoseNoise(noise.position[kept], noise.rotation[kept], over)
        bodies = self.bodies.select([self.bodies.names[column] for column in kept])
        return replace(self, bodies=bodies, noise=noise)

    def rescaled(self, factor: float) -> "Moving":
        """All lengths multiplied by ``factor``; orientations have no scale."""
        bodies, noise = self.bodies, self.noise
        history = (*bodies.history, f"scaled by {factor:.4g}")
        return replace(
            self,
            bodies=replace(bodies, positions=bodies.positions * factor, history=history),
            noise=None if noise is None else replace(noise, position=factor * noise.position),
            markers={
                name: tuple(replace(each, position=factor * each.position) for each in worn)
                for name, worn in self.markers.items()
            },
        )

    def in_field(self, field: TrackerField) -> "Moving":
        """Where the bodies are in a tracker's field, and which poses count less there."""
        if self.markers:
            raise BadValue(
                "a tracker's field is taken off sensors; these are bodies made of markers, which "
                "`osteon convert` corrects before"
            )
        noise = estimate_noise(self.bodies) if self.noise is None else self.noise
        reported = self.bodies.positions
        left = np.nan_to_num(field.noise(reported), nan=1.0)
        usual = np.sqrt(np.mean(left**2, axis=0))
        noise = replace(noise, position=field.scale * noise.position, over_frames=left / usual)
        problems = (*self.problems, *_told_outside(field, self.bodies))
        bodies = field.correct_bodies(self.bodies)
        return replace(self, bodies=bodies, noise=noise, problems=problems)

    def told(self, found: Joints) -> Joints:
        """The joints of these bodies, with what is known of their markers."""
        return replace(
            found,
            markers={name: self.markers[name] for name in found.names if name in self.markers},
            events=(*self.swaps, *found.events),
            warnings=(*self.problems, *found.warnings),
        )


def bodies_of(
    take: Take, subject: str | None = None, clusters: Mapping[str, Sequence[str]] | None = None
) -> Moving:
    """Take sensors as they are, prepared markers in groups that move together, or a skeleton.

    Parameters
    ----------
    clusters
        Body → labels of its markers, where somebody knows; others are then on no body. None looks
        for those that keep their distances.
    """
    if clusters is not None and (take.bodies or not take.recordings):
        raise BadValue(f"clusters are of markers; the file holds {' and '.join(take.kinds)}")
    if take.bodies:
        return Moving(take.body_poses(subject))
    if take.recordings:
        recording, swaps = prepare(take.recording(subject).markers())
        groups = segment(recording) if clusters is None else tuple(clusters.values())
        if len(groups) == 1:
            raise NotEnoughData(tell_one_body(recording.select(groups[0])))
        tracked = track(recording, groups, None if clusters is None else tuple(clusters))
        return Moving(
            tracked.bodies, cluster_noise(tracked), _worn(tracked), swaps, _left_out(tracked)
        )
    if take.motions:
        return Moving(_bodies_of_motion(take.motion(subject)))
    raise NotEnoughData("joints need moving bodies or markers; the file holds neither")


def read_clusters(path: Path) -> dict[str, tuple[str, ...]]:
    """Return body → labels of its markers from a TOML table ``[clusters]``."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8")).get("clusters")
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FormatError(path, f"is not TOML: {error}") from error
    if not isinstance(table, dict) or not all(_are_labels(worn) for worn in table.values()):
        raise FormatError(
            path, 'expected a table [clusters] with lines like thigh = ["T1", "T2", "T3"]'
        )
    labels = [label for worn in table.values() for label in worn]
    twice = sorted({label for label in labels if labels.count(label) > 1})
    if twice:
        raise FormatError(path, f"{', '.join(twice)} on two bodies; a marker is on one")
    return {body: tuple(worn) for body, worn in table.items()}


def _are_labels(worn: object) -> bool:
    return isinstance(worn, list) and all(isinstance(label, str) for label in worn)


def _told_outside(field: TrackerField, bodies: Bodies) -> tuple[str, ...]:
    share = (
        float(np.mean(field.outside(bodies.positions)[bodies.seen])) if bodies.seen.any() else 0.0
    )
    if share < OUTSIDE_SHARE:
        return ()
    return (
        f"{100 * share:.0f} % of the poses lie outside the volume that the bar was walked through; "
        "there the field is a guess",
    )


def _worn(tracked: TrackedBodies) -> dict[str, tuple[Marker, ...]]:
    return {
        name: tuple(Marker(*marker) for marker in zip(markers, template, strict=True))
        for name, markers, template in zip(
            tracked.bodies.names, tracked.markers, tracked.templates, strict=True
        )
    }


def _left_out(tracked: TrackedBodies) -> tuple[str, ...]:
    if not tracked.left_out:
        return ()
    named = ", ".join(tracked.left_out)
    return (
        f"on no body, for a body takes three markers that move together and are not in a line: "
        f"{named}",
    )


def cluster_noise(tracked: TrackedBodies) -> PoseNoise:
    """Pose noise of marker clusters: their shape turns marker noise into turning noise.

    The origin is the markers' mean, so place and turn are independent. Skin that slides slowly is
    no white noise: the level is what the trajectories show at high frequency, if that is less.
    """
    white = estimate_noise(tracked.bodies).position
    position, rotation = [], []
    for template, noise, seen in zip(tracked.templates, tracked.marker_noise, white, strict=True):
        level = max(min(float(noise), float(seen) * np.sqrt(len(template))), FINEST)
        position.append(level / np.sqrt(len(template)))
        rotation.append(turning_noise(template, level))
    return PoseNoise(np.array(position), np.array(rotation))


def _bodies_of_motion(motion: Motion) -> Bodies:
    rotations, places = motion.world()
    names = motion.skeleton.names
    return Bodies(places, rotations, names, motion.rate, subject=motion.skeleton.subject)
