"""Labels at joints told from clusters, by where motion shows the joints.

One frame of an average human takes a cluster's marker for a knee that is not worn, or for an elbow
that is. So somebody is calibrated as if of those limbs' markers the body alone were known: how they
move then tells where the joints are, and a landmark at a joint lies level with it along the bone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from osteon.calibration import calibrate
from osteon.human import MarkerSet
from osteon.labelling.courses import Chains
from osteon.labelling.first_frame import Start
from osteon.labelling.following import unrest_of
from osteon.labelling.pieces import relabelled
from osteon.labelling.wearer import FIRM_SLACK, Wearer
from osteon.maths import assign
from osteon.typing import Array, Indices
from osteon.values import Body, Recording, Skeleton

LEVEL_SLACK, ASIDE_SLACK = 0.02, 0.05
"""Metres rms that a landmark is farther along its bone than the average human's, and beside that.
Measured: 0.013 along, and at most 0.042, on a hundred labels of nine people calibrated so; aside
0.04, for motion does not tell where on its axis a hinge lies."""
LEVEL_SIGMAS = 2.0
"""Count of these, towards the bone's middle, from which a marker is not taken for a landmark.
Derived: from 4 cm off it is likelier to be of a cluster, anywhere along 30 cm of bone."""
TOLD_LEVEL = 0.013
"""Metres rms, of a joint along the bone, up to which motion has told it. Measured: 0.011 and less
where joints move, 0.017 where only the average human tells."""
MOVED_DISTANCE = 0.02
"""Metres rms by which distances across a joint vary at least where it moves. Chosen: skin does less
than half of it."""
CLEARLY_BETTER = 1.0
"""Log odds, as a ratio to one, by which others must suit better than those that hold labels.
Chosen: what one frame has told counts too."""

WEARER_FRAMES = 20
"""Count of frames that calibrate somebody in order to be labelled. Chosen: a sixth of what a rig is
made of; labels need centimetres."""


def told_by_joints(marker_set: MarkerSet, start: Start, chains: Chains) -> Start:
    """Return a start whose labels on limbs with clusters agree with the joints, as far as motion
    tells these; what does not is one of the cluster's."""
    wearer = start.wearer
    bodies = np.unique(wearer.rig.tree.marker_bodies[wearer.loose])
    held = _sure_points(start)
    if not (held[np.isin(wearer.rig.tree.marker_bodies, bodies) & ~wearer.loose] >= 0).any():
        return start
    skeleton, recording = _by_bodies(marker_set, start, held, chains, bodies)
    points = start.answer.points.copy()
    for body in bodies.tolist():
        if wearer.skeleton.names[body] in skeleton.names:
            limb = _limb(wearer, skeleton, recording, body)
            if limb is not None:
                limb.tell(held, points)
    return replace(start, answer=replace(start.answer, points=points))


def _sure_points(start: Start) -> Indices:
    """Return (n_labels,) the points of labels that may only be others of their own body's."""
    points = start.answer.points.copy()
    points[list(start.undecided - start.unplaced)] = -1
    return points


def _by_bodies(
    marker_set: MarkerSet, start: Start, held: Indices, chains: Chains, bodies: Indices
) -> tuple[Skeleton, Recording]:
    """Return the person calibrated as if on these bodies no marker's place were known; by what."""
    wearer, place = start.wearer, np.full(len(chains), -1)
    worn = np.flatnonzero(held >= 0)
    place[start.chains[held[worn]]] = np.arange(len(worn))
    names = tuple(wearer.names[label] for label in worn)
    on = wearer.rig.tree.marker_bodies[worn]
    marks = {
        name: replace(marker_set.markers[name], at=None)
        if body in bodies
        else marker_set.markers[name]
        for name, body in zip(names, on, strict=True)
    }
    recording = thinned(relabelled(chains.pieces, place[chains.number], names))
    return calibrate([recording], marks, next_markers=False).skeleton, recording


@dataclass(frozen=True, eq=False)
class _Joint:
    """The joint at the far end of a bone."""

    at: Array
    """(3,) in the body's frame."""
    usual: Array
    """(3,) of the average human."""
    rms: float
    """Metres along the bone."""


@dataclass(frozen=True, eq=False)
class _Limb:
    """A bone between two joints, and the markers on it."""

    wearer: Wearer
    body: int
    own: Body
    axis: Array
    far: _Joint

    def tell(self, held: Indices, points: Indices) -> None:
        """Give labels at joints to the points that are level with these, of those ``held`` by them
        and by the cluster's labels; and to that what is left. Changes ``points`` in place."""
        labels = self.wearer.labels_of(self.body)
        found = {marker.name: marker.position for marker in self.own.markers}
        names = self.wearer.names
        labels = [each for each in labels.tolist() if held[each] >= 0 and names[each] in found]
        told = [label for label in labels if self._is_told(label)]
        pool = [*told, *(label for label in labels if self.wearer.loose[label])]
        if not told or len(pool) == len(told):
            return
        along, aside = self._off(told, np.array([found[names[label]] for label in pool]))
        cost = 0.5 * ((along / LEVEL_SLACK) ** 2 + (aside / ASIDE_SLACK) ** 2)
        cost = np.minimum(cost, 0.5 * LEVEL_SIGMAS**2)
        rows, columns = assign(cost)
        if cost.trace() - cost[rows, columns].sum() < CLEARLY_BETTER:
            columns = rows
        given, free = np.array(pool)[columns], np.setdiff1d(pool, np.array(pool)[columns])
        short = along[rows, columns] < -LEVEL_SIGMAS * LEVEL_SLACK
        points[told] = np.where(short, -1, held[given])
        self._give_cluster(held[np.concatenate([free, given[short]])], points)

    def _give_cluster(self, left: Indices, points: Indices) -> None:
        labels = self.wearer.labels_of(self.body)
        cluster = labels[self.wearer.loose[labels]]
        points[cluster] = -1
        points[cluster[: len(left)]] = left[: len(cluster)]

    def _is_told(self, label: int) -> bool:
        """Whether a label is at the far joint, and motion told the level of that."""
        place = self.wearer.rig.places[label]
        firm = self.wearer.slack[label] < FIRM_SLACK and self.far.rms < TOLD_LEVEL
        return firm and bool(np.linalg.norm(place - self.far.usual) < np.linalg.norm(place))

    def _off(self, told: Sequence[int], places: Array) -> tuple[Array, Array]:
        """Return (n_told, n_places) metres that places are farther along the bone than the place of
        each label, and beside that."""
        usual = self.wearer.rig.places[list(told)]
        off = places - self.far.at - (usual - self.far.usual)[:, None]
        along = off @ self.axis
        return along, np.linalg.norm(off - along[..., None] * self.axis, axis=-1)


def _limb(wearer: Wearer, skeleton: Skeleton, recording: Recording, body: int) -> _Limb | None:
    """Return a bone that one other goes on from, and moves against it; None: there is none."""
    average, own = wearer.skeleton, skeleton.body(wearer.skeleton.names[body])
    further = [
        each for each in skeleton.bodies if each.parent == own.name and each.name in average.names
    ]
    if own.parent is None or len(further) != 1:
        return None
    names = (
        [recording.index(marker.name) for marker in each.markers] for each in (own, further[0])
    )
    if unrest_of(recording.positions)[np.ix_(*names)].max(initial=0.0) < MOVED_DISTANCE:
        return None
    far, usual = further[0].joint, average.body(further[0].name).joint
    bone = far.in_parent - own.joint.in_body
    axis = bone / np.linalg.norm(bone)
    joint = _Joint(far.in_parent, usual.in_parent, _rms_along(far.covariance, axis))
    return _Limb(wearer, body, own, axis, joint)


def _rms_along(covariance: Array | None, axis: Array) -> float:
    return np.inf if covariance is None else float(np.sqrt(axis @ covariance @ axis))


def thinned(recording: Recording) -> Recording:
    """Return some frames of a recording, evenly."""
    step = max(1, recording.n_frames // WEARER_FRAMES)
    return Recording(recording.positions[::step], recording.names, recording.rate / step)
