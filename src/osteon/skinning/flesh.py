"""Pieces of flesh along bones: tubes with oval sections, told by five stations from end to end."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from osteon.anatomy import other_side
from osteon.human import find_parts
from osteon.maths import forward_kinematics, quat
from osteon.typing import Array
from osteon.values import Skeleton

STATION_COUNT = 5
"""Count of sections along a piece of flesh; chosen: both ends, the middle, and a calf's bulge
between."""
SHORTEST_BONE = 1e-4
"""Metres; chosen: bones shorter than a tenth of a millimetre carry no flesh."""
ALONG_COSINE = np.cos(np.radians(40.0))
"""Cosine of 40°; a bone nearer to the front goes forward, and its sections are told by up instead.
Chosen: feet do, thighs at rest do not."""
UP = np.array([0.0, 0.0, 1.0])


class Piece(NamedTuple):
    """A tube from one place to another, on one body, in the rest pose."""

    body: int
    start: Array
    end: Array
    wide: Array
    """(5,) half widths across ``front``, metres."""
    deep: Array
    """(5,) half depths along ``front``, metres."""
    front: Array
    """(3,) unit, across the tube."""
    shift: Array
    """(5,) how far the middle lies to the front, metres."""


@dataclass(frozen=True, eq=False)
class FleshPose:
    """A skeleton in the pose in which it is given flesh."""

    skeleton: Skeleton
    rotations: Array
    """(n_bodies, 4) to the world."""
    joints: Array
    """(n_bodies, 3)"""
    front: Array
    """(3,) level unit vector, from the right and left in the bodies' names."""
    parts: dict[str, int]
    """Human parts, as ``left_thigh``, and the bodies they are."""

    def point(self, body: int, place: Array) -> Array:
        """Return (3,) in the world, of a place in a body's frame."""
        reach = place - self.skeleton.bodies[body].joint.in_body
        return self.joints[body] + quat.rotate(self.rotations[body], reach)

    def tip(self, body: int) -> Array | None:
        tip = self.skeleton.bodies[body].tip
        return None if tip is None else self.point(body, tip)

    def children(self, body: int) -> tuple[int, ...]:
        return self.skeleton.children_of(body)

    def ends(self, body: int) -> list[Array]:
        """Return far ends of a body's bones: the joints it carries, and its tip."""
        found = [self.joints[child] for child in self.children(body)]
        tip = self.tip(body)
        ends = found if tip is None else [*found, tip]
        return [end for end in ends if np.linalg.norm(end - self.joints[body]) > SHORTEST_BONE]


def pose_of(skeleton: Skeleton, rotations: Array | None) -> FleshPose:
    """Return the skeleton with bodies turned by local ``rotations`` (n_bodies, 4); None: at
    rest."""
    rotations = skeleton.rest if rotations is None else rotations
    turned, joints = forward_kinematics(rotations, skeleton.offsets, skeleton.parents)
    names = find_parts(skeleton)
    parts = {part: skeleton.index(name) for part, name in names.items()}
    return FleshPose(skeleton, turned, joints, _front(skeleton, joints), parts)


def tube(
    body: int,
    start: Array,
    end: Array,
    front: Array,
    wide: Sequence[float] | Array,
    deep: Sequence[float] | Array,
    shift: Sequence[float] | Array = (0.0,) * STATION_COUNT,
) -> Piece:
    """Return a piece whose sections are told by the front, or by up where the tube goes forward."""
    way = end - start
    length = np.linalg.norm(way)
    way = way / length if length > SHORTEST_BONE else UP
    across = front if abs(way @ front) < ALONG_COSINE else UP
    if abs(way @ across) > 0.99:
        across = np.array([1.0, 0.0, 0.0]) if abs(way[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    across = quat.normalise(across - way * (way @ across))
    return Piece(body, start, end, np.array(wide), np.array(deep), across, np.array(shift))


def plain_pieces(pose: FleshPose, body: int, size: float) -> list[Piece]:
    """Return flesh of a body nobody knows: round tubes to its ends, or a ball.

    A body that several others hang on is thick: its tubes go from its middle to its ends.
    """
    ends, start = pose.ends(body), pose.joints[body]
    thick = _joint_radius(pose, body, size)
    if not ends:
        return [
            tube(body, start, start + 1e-3 * UP, pose.front, [1.1 * thick] * 5, [1.1 * thick] * 5)
        ]
    if len(ends) > 2:
        return _hub(pose, body, ends, size)
    pieces = []
    following = [_joint_radius(pose, child, size) for child in pose.children(body)]
    for index, end in enumerate(ends):
        last = following[index] if index < len(following) else 0.85 * thick
        own = bone_radius(float(np.linalg.norm(end - start)), size)
        radii = [thick, 1.1 * (own + thick) / 2, 1.05 * own, (own + last) / 2, last]
        pieces.append(tube(body, start, end, pose.front, radii, radii))
    return pieces


def bone_radius(length: float, size: float) -> float:
    """Return half the thickness of a bone with its flesh, of which only the length is known,
    metres."""
    return 0.10 * length + 0.008 * size


def _hub(pose: FleshPose, body: int, ends: list[Array], size: float) -> list[Piece]:
    """Return tubes from the middle, thinner across the plane in which the ends lie: palms and
    trunks."""
    places = np.array([pose.joints[body], *ends])
    middle = places.mean(axis=0)
    reach = float(np.linalg.norm(places - middle, axis=-1).mean())
    normal = np.linalg.svd(places - middle)[2][2]
    wide = np.linspace(0.6, 0.4, STATION_COUNT) * reach + 0.004 * size
    return [
        tube(body, middle, end, normal, wide, 0.65 * wide)
        for end in places
        if np.linalg.norm(end - middle) > SHORTEST_BONE
    ]


def _joint_radius(pose: FleshPose, body: int, size: float) -> float:
    """Return the mean of the bones that meet in a body's joint; a hub does not count."""
    start, parent = pose.joints[body], pose.skeleton.parents[body]
    lengths = [float(np.linalg.norm(end - start)) for end in pose.ends(body)[:2]]
    if parent >= 0:
        arriving = float(np.linalg.norm(start - pose.joints[parent]))
        if arriving > SHORTEST_BONE and (len(pose.ends(parent)) <= 2 or not lengths):
            lengths.append(arriving)
    return float(np.mean([bone_radius(length, size) for length in lengths or [0.1 * size]]))


def _front(skeleton: Skeleton, joints: Array) -> Array:
    """Return the level front from the bodies whose names say left and right; x where none do."""
    names = set(skeleton.names)
    pairs = [(name, other_side(name, names)) for name in skeleton.names]
    to_left = np.zeros(3)
    for left, right in pairs:
        if right is not None:
            to_left += joints[skeleton.index(left)] - joints[skeleton.index(right)]
    front = np.cross(to_left, UP)
    length = np.linalg.norm(front)
    return front / length if length > SHORTEST_BONE else np.array([1.0, 0.0, 0.0])
