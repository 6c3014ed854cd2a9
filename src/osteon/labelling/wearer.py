"""Who wears the markers: bodies, and where on them each label sits, and how surely."""

from dataclasses import dataclass

import numpy as np

from osteon.errors import NotEnoughData
from osteon.maths import quat
from osteon.posing import Rig, compile_rig
from osteon.typing import Array, Indices, Mask
from osteon.values import Skeleton

LEAST_SLACK = 0.008
"""Metres rms per axis that a marker is allowed about its place on a known person. Chosen: what skin
does, and a suit put on again."""
KNOWN_JOINT = 0.012
"""Metres rms per axis: the same of a known person's joint. Chosen: shoulders glide by as much."""
USUAL_TURN = 1.2
"""Radians that a joint is mostly away from its rest, rms. Chosen: arms hang from a rest that
stretches them, knees and elbows bend."""
CLUTTER_DENSITY = 50.0
"""Points per cubic metre that are there anyhow. Chosen: a person's markers fill about one."""

FEW_DENSITY = 5.0
"""Points per cubic metre that are none of a set's labels, where only the set is known. Chosen: what
is seen for long is mostly worn, so somebody must wear it."""
FIRM_SLACK = 0.05
"""Metres rms per axis: labels with less show where a body is. Chosen: as landmarks on bones."""
LOOSE_SLACK = 0.1
"""Metres rms per axis that a marker is off the middle of its bone, of which only the body is known.
Chosen: a thigh's breadth, and a quarter of its length."""


@dataclass(frozen=True, eq=False)
class Wearer:
    """A skeleton with labels on it, as flat arrays."""

    skeleton: Skeleton
    rig: Rig
    names: tuple[str, ...]
    """Of the labels, in the rig's order."""
    slack: Array
    """(n_labels,) metres rms per axis that a marker may be off its place."""
    joint_slack: float
    """Metres rms per axis that two bodies may disagree by about their joint."""
    rest: Array
    """(n_bodies, 3, 3) rotation of each body in its parent that is most to be expected."""
    turn: Array
    """(n_bodies, 3) radians rms that a joint is away from that, about the body's axes."""
    twin: Indices
    """(n_labels,) the label of the same place on the other side; −1: none that is known."""
    rarity: Array
    """(n_labels,) log odds against a label being worn at all, as a ratio to one."""
    heights: Array
    """(n_bodies,) metres above the floor at which joints mostly are; NaN: anywhere."""
    known: bool = True
    """Whether lengths and places were measured on this person, or are an average human's."""
    size: float = 1.0
    """Ratio to the average human's, of one who is not known."""

    @property
    def parents(self) -> Indices:
        return self.rig.tree.parents

    @property
    def rest_joints(self) -> Array:
        """(n_bodies, 3) metres from the root's joint, where no body is turned."""
        joints = np.zeros((len(self.parents), 3))
        for body in np.flatnonzero(self.parents >= 0):  # parents come first
            joints[body] = joints[self.parents[body]] + self.rig.offsets[body]
        return joints

    @property
    def gain(self) -> Array:
        """(n_labels,) log odds of a label against clutter for a marker that is exactly in place."""
        return -1.5 * np.log(2.0 * np.pi) - 3.0 * np.log(self.slack) - np.log(CLUTTER_DENSITY)

    @property
    def worth(self) -> float:
        """Log odds that a point adds besides if it is explained by any label, for few are not."""
        return 0.0 if self.known else float(np.log(CLUTTER_DENSITY / FEW_DENSITY))

    @property
    def loose(self) -> Mask:
        """(n_labels,) of which the body is known, and no place on it."""
        return self.slack >= LOOSE_SLACK

    def widened(self, gate: float) -> Array:
        """(n_labels,) a distance in metres, or three times the slack of a label where that is
        more."""
        return np.maximum(gate, 3.0 * self.slack)

    def labels_of(self, body: int) -> Indices:
        return np.flatnonzero(self.rig.tree.marker_bodies == body)

    def placed_labels_of(self, body: int) -> Indices:
        """Return the labels of a body whose places on it are known at all."""
        own = self.labels_of(body)
        return own[~self.loose[own]]

    def firm_labels_of(self, body: int) -> Indices:
        """Return the labels of a body whose places are well known."""
        own = self.labels_of(body)
        return own[self.slack[own] < FIRM_SLACK]


def wearer_of(skeleton: Skeleton) -> Wearer:
    """Return a person who was calibrated before."""
    places = skeleton.marker_places()
    if len(places.names) < 3:
        raise NotEnoughData(
            f"the skeleton carries {len(places.names)} markers; labels are found by three or more"
        )
    rms = {marker.name: marker.rms for body in skeleton.bodies for marker in body.markers}
    told = np.array([rms[name] or 0.0 for name in places.names]) / np.sqrt(3.0)
    return Wearer(
        skeleton,
        compile_rig(skeleton, places.names),
        places.names,
        np.maximum(told, LEAST_SLACK),
        KNOWN_JOINT,
        quat.to_matrix(skeleton.rest),
        np.full((len(skeleton.bodies), 3), USUAL_TURN),
        np.full(len(places.names), -1),
        np.zeros(len(places.names)),
        np.full(len(skeleton.bodies), np.nan),
    )


def seed_bodies(wearer: Wearer) -> list[int]:
    """Return the bodies to begin with, best first: firm markers that lie far from one line."""
    breadth = {}
    for body in range(len(wearer.parents)):
        places = wearer.rig.places[wearer.firm_labels_of(body)]
        if len(places) >= 3:
            spread = np.linalg.svd(places - places.mean(axis=0), compute_uv=False)
            breadth[body] = float(spread[1])
    return sorted(breadth, key=lambda body: -breadth[body])


def order_from(wearer: Wearer, seed: int) -> list[tuple[int, int]]:
    """Return the other bodies, each with the neighbour it is placed from, most markers first."""
    parents, done, order = wearer.parents, {seed}, []
    count = [len(wearer.firm_labels_of(body)) for body in range(len(parents))]
    while len(done) < len(parents):
        links = [(body, int(parents[body])) for body in range(len(parents)) if parents[body] >= 0]
        both = [*links, *(pair[::-1] for pair in links)]
        open_links = [pair for pair in both if pair[0] not in done and pair[1] in done]
        body, near = max(open_links, key=lambda pair: count[pair[0]])
        order.append((body, near))
        done.add(body)
    return order
