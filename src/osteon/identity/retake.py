"""By how much the shared numbers of a subject differ between two takes although nothing changed.

Joints and places are those of a passport, with errors of their own. Skin lies elsewhere in another
motion: as far as it moved within each of the takes, for every marker alone and for all markers of a
body together. What a body's markers do together is its frame, not its markers.
"""

import numpy as np

from osteon.calibration import SubjectModel
from osteon.identity.same_person import is_trunk
from osteon.typing import Array
from osteon.values import Marker, Skeleton, without_gaps

SKIN_SHARE = 0.5
"""How far a marker's mean place differs between two takes, as a share of its rms within them."""
PLACE_SIGMA = 0.001
"""Metres, per axis, beside that: a marker that is taken off and put on the same ink."""
JOINT_SIGMA = 0.002
"""Metres. A joint between takes beside what its covariance owns up to."""
TRUNK_SIGMA = 0.004
"""The same for joints of the trunk, which is no chain of bones."""
TURN_SIGMA = 0.02
"""Radians. All markers of a body about their middle."""


def retake_covariance(rig: SubjectModel, skeleton: Skeleton, own_rms: Array) -> Array:
    """(n_shared, n_shared) of the difference between a passport and an unchanged take.

    Parameters
    ----------
    own_rms : (n_markers,)
        Distance of the markers from the model within the new take, metres.
    """
    markers = _markers(rig, skeleton)
    squares = own_rms**2 + known_rms(rig, skeleton) ** 2
    skin = SKIN_SHARE**2 * squares / 3.0 + PLACE_SIGMA**2
    covariance = np.zeros((rig.n_shared, rig.n_shared))
    for body in range(1, rig.n_bodies):
        own = rig.joint_columns(body)
        sigma = TRUNK_SIGMA if is_trunk(rig.names[body]) else JOINT_SIGMA
        covariance[own, own] = _known(skeleton.bodies[body].joint.covariance, sigma**2)
    for index, marker in enumerate(markers):
        own = rig.marker_columns(index)
        covariance[own, own] = _known(marker.covariance, skin[index])
    for body in range(rig.n_bodies):
        _add_together(covariance, rig, skeleton, body, skin)
    return covariance


def known_rms(rig: SubjectModel, skeleton: Skeleton) -> Array:
    """(n_markers,) metres; 0 where a skeleton came without."""
    return np.array([marker.rms or 0.0 for marker in _markers(rig, skeleton)])


def _markers(rig: SubjectModel, skeleton: Skeleton) -> list[Marker]:
    known = {marker.name: marker for body in skeleton.bodies for marker in body.markers}
    return [known[name] for name in rig.marker_names]


def _known(covariance: Array | None, more: float) -> Array:
    own = np.zeros((3, 3)) if covariance is None else without_gaps(covariance)
    return own + more * np.eye(3)


def _add_together(
    covariance: Array, rig: SubjectModel, skeleton: Skeleton, body: int, skin: Array
) -> None:
    """A body's markers shift and turn together against its joints."""
    own = np.flatnonzero(rig.marker_bodies == body)
    if not len(own):
        return
    joint = skeleton.bodies[body].joint.covariance
    # a joint is no better known from below than from above
    shift = float(np.mean(skin[own])) + float(np.trace(_known(joint, 0.0))) / 3.0
    arms = rig.places[own] - rig.places[own].mean(axis=0)
    ways = np.zeros((rig.n_shared, 6))
    for marker, (x, y, z) in zip(own.tolist(), arms, strict=True):
        columns = rig.marker_columns(marker)
        ways[columns, :3] = np.sqrt(shift) * np.eye(3)
        ways[columns, 3:] = TURN_SIGMA * np.array([[0, z, -y], [-z, 0, x], [y, -x, 0]])
    covariance += ways @ ways.T
