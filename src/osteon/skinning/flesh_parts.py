"""Flesh of humans and four-legged animals, by the parts that names tell.

Widths are those of a person whose legs, hip to ankle, are 0.85 m long, and go with the leg. They
are chosen: the skin is to be looked at, nothing is measured by it.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from osteon.human import FINGERS, is_finger
from osteon.maths import quat
from osteon.skinning.flesh import SHORTEST_BONE, STATION_COUNT, UP, FleshPose, Piece, tube
from osteon.typing import Array

LEG_LENGTH = 0.85
"""Metres from hip to ankle of the person the widths below are of, 1.73 m tall by [Drillis 1966]."""
ARM_LIKE = {
    # part: next part, half widths, half depths and shifts to the front at five stations
    "thigh": ("shin", (84, 83, 74, 61, 48), (90, 90, 81, 66, 52), (0, 8, 12, 8, 2)),
    "shin": ("foot", (47, 56, 48, 36, 30), (51, 62, 53, 39, 34), (0, -14, -11, -3, 0)),
    "upper_arm": ("forearm", (54, 51, 46, 41, 34), (56, 54, 49, 43, 35), (0, 0, 2, 2, 0)),
    "forearm": ("hand", (34, 41, 36, 28, 20), (36, 45, 40, 31, 24), (0, 2, 2, 0, 0)),
}
"""Millimetres."""
HAND_WIDTHS = ((22, 21, 19, 15, 10), (29, 42, 44, 40, 27), (0, 2, 3, 2, 0))
"""Millimetres: half widths, half depths and shifts to the front at five stations; chosen: drawn to
look like a mitten."""
PALM_LENGTH = 0.083
"""Metres from the wrist to the middle finger's joint of the hand that the radii below are of;
derived from the average human's."""
PALM_RADII, FINGER_RADII = (0.0135, 0.0115), (0.0095, 0.0085, 0.0078, 0.0065)
"""Metres: half of a palm's thickness at the wrist and at the knuckles, and of a finger's at its
joints and its tip; chosen: drawn to look like a hand. Thumbs are a sixth thicker."""
FOOT_WIDTHS = ((34, 37, 40, 46, 38), (34, 32, 29, 24, 18), (1, 3, 4, 3, 10))
"""Millimetres, as the hand's; chosen: drawn to look like a shoe."""
LEVEL_SHARE = 0.3
"""Share of a foot's length that lies along the ground where it stands; chosen: steeper, within 17°
of straight down, it hangs."""
NECK_WIDTHS = ((54, 51, 49, 49, 50), (56, 54, 53, 53, 54), (0, 0, 2, 3, 4))
"""Millimetres, as the hand's; chosen: drawn between trunk and skull."""
SKULL_WIDTHS = ((66, 72, 76, 77, 74), (82, 90, 96, 97, 94))
"""Millimetres, half widths and half depths; chosen: drawn to look like a head."""
JAW_WIDTHS = ((40, 47, 53, 58, 60), (36, 44, 50, 55, 60))
"""Millimetres, half widths and half depths; chosen: drawn to end in the skull."""
TRUNK_WIDTHS = np.array(
    # way from hips (0) to neck (1); half width and depth, shift to the front; metres
    [
        [-0.15, 0.120, 0.085, -0.010],
        [0.00, 0.170, 0.118, -0.012],
        [0.15, 0.168, 0.115, -0.005],
        [0.35, 0.140, 0.098, 0.010],
        [0.50, 0.142, 0.100, 0.010],
        [0.68, 0.165, 0.115, 0.008],
        [0.80, 0.166, 0.110, 0.004],
        [0.88, 0.142, 0.094, -0.004],
        [0.95, 0.085, 0.068, -0.010],
        [1.00, 0.060, 0.058, -0.008],
        [1.10, 0.052, 0.054, 0.0],
    ]
)
"""Metres, but for the first column, a share of the way; chosen: drawn to look like a trunk."""
HIP_WIDTH, SHOULDER_WIDTH = 0.100, 0.185
"""Metres from the middle to the hip and shoulder joints; chosen with the trunk's widths, which go
along with the rig's."""
BARREL_WIDTHS = np.array(
    # the same for trunks that lie level, by trunk length; the shift is upwards
    [
        [-0.15, 0.07, 0.08, 0.0],
        [0.00, 0.14, 0.16, -0.02],
        [0.20, 0.145, 0.165, -0.02],
        [0.45, 0.135, 0.15, -0.01],
        [0.75, 0.165, 0.22, -0.06],
        [0.90, 0.145, 0.20, -0.05],
        [1.00, 0.115, 0.15, 0.0],
        [1.10, 0.09, 0.12, 0.0],
    ]
)
"""Shares of the trunk's length; chosen: drawn to look like a dog's or a horse's trunk."""


def known_pieces(pose: FleshPose) -> dict[int, list[Piece]]:
    """Return body → its flesh, for all bodies whose part is known; nothing for bodies inside
    others."""
    scale = _scale(pose)
    found: dict[int, list[Piece]] = {}
    if scale is None:
        return found
    for side in ("left", "right"):
        for part, (following, *profile) in ARM_LIKE.items():
            _limb(found, pose, (f"{side}_{part}", f"{side}_{following}"), profile, scale)
        _extremities(found, pose, side, scale)
    _trunk(found, pose, scale)
    _head(found, pose, scale)
    return found


def fingered_hands(pose: FleshPose) -> dict[int, list[int]]:
    """Return hand → the first bones of its fingers, of hands that have some."""
    names, found = pose.skeleton.names, {}
    for body, name in enumerate(names):
        if name.endswith("_hand"):
            own = [one for one in pose.children(body) if is_finger(names[one])]
            if len(own) == len(FINGERS):
                found[body] = own
    return found


def hand_pieces(pose: FleshPose) -> dict[int, list[Piece]]:
    """Return body → its flesh, of hands with fingers: a palm of flat tubes, and a tube per bone."""
    found: dict[int, list[Piece]] = {}
    for hand, first in fingered_hands(pose).items():
        wrist, knuckles = pose.joints[hand], pose.joints[first]
        scale = float(np.linalg.norm(knuckles[len(FINGERS) // 2] - wrist)) / PALM_LENGTH
        palm = scale * np.linspace(*PALM_RADII, STATION_COUNT)
        found[hand] = [tube(hand, wrist, at, pose.front, palm, palm) for at in knuckles]
        # between the knuckles the palm is closed
        found[hand] += [
            tube(hand, one, other, UP, palm[::-1], palm[::-1])
            for one, other in pairwise(knuckles[1:])
        ]
        for body in first:
            thicker = scale * (7.0 / 6.0 if body == first[0] else 1.0)
            for radii in pairwise(FINGER_RADII):
                end, thick = pose.ends(body)[0], thicker * np.linspace(*radii, STATION_COUNT)
                found[body] = [tube(body, pose.joints[body], end, pose.front, thick, thick)]
                body = next(iter(pose.children(body)), body)
    return found


def _scale(pose: FleshPose) -> float | None:
    legs = []
    for side in ("left", "right"):
        if all(f"{side}_{part}" in pose.parts for part in ("thigh", "shin", "foot")):
            hip, knee, ankle = (
                pose.joints[pose.parts[f"{side}_{part}"]] for part in ("thigh", "shin", "foot")
            )
            legs.append(np.linalg.norm(knee - hip) + np.linalg.norm(ankle - knee))
    return float(np.mean(legs)) / LEG_LENGTH if legs and min(legs) > SHORTEST_BONE else None


def _path(pose: FleshPose, first: int, last: int) -> list[int]:
    """Return bodies from one down to another that hangs on it; empty where it does not."""
    path = [last]
    while path[0] != first:
        parent = pose.skeleton.parents[path[0]]
        if parent < 0:
            return []
        path.insert(0, parent)
    return path


def _limb(
    found: dict[int, list[Piece]],
    pose: FleshPose,
    parts: tuple[str, str],
    profile: list[tuple[int, ...]],
    scale: float,
) -> None:
    """Put a limb's flesh on all the bodies it is made of."""
    if parts[0] not in pose.parts or parts[1] not in pose.parts:
        return
    path = _path(pose, pose.parts[parts[0]], pose.parts[parts[1]])
    points = pose.joints[path]
    way = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=-1))])
    if len(path) < 2 or way[-1] < SHORTEST_BONE:
        return
    for index, body in enumerate(path[:-1]):
        found.setdefault(body, [])
        if way[index + 1] - way[index] > SHORTEST_BONE:
            stations = np.linspace(way[index], way[index + 1], 5) / way[-1]
            sections = [
                1e-3 * scale * np.interp(stations, np.linspace(0, 1, 5), row) for row in profile
            ]
            piece = tube(body, points[index], points[index + 1], pose.front, *sections)
            found[body].append(piece)


def _extremities(found: dict[int, list[Piece]], pose: FleshPose, side: str, scale: float) -> None:
    hand, foot = pose.parts.get(f"{side}_hand"), pose.parts.get(f"{side}_foot")
    level = _is_level(pose)
    if hand is not None:
        found[hand] = _foot(pose, hand, scale) if level else _hand(pose, hand, scale)
    if foot is not None:
        for piece in _foot(pose, foot, scale, pose.parts.get(f"{side}_toes")):
            found.setdefault(piece.body, []).append(piece)
    clavicle, arm = pose.parts.get(f"{side}_clavicle"), pose.parts.get(f"{side}_upper_arm")
    if clavicle is not None and arm is not None:
        radii = scale * np.array([0.045, 0.05, 0.054, 0.057, 0.057])
        ends = pose.joints[clavicle], pose.joints[arm]
        found[clavicle] = [tube(clavicle, *ends, pose.front, radii, 0.95 * radii)]


def _hand(pose: FleshPose, body: int, scale: float) -> list[Piece]:
    """Return a mitten with a thumb towards the front."""
    start, ends = pose.joints[body], pose.ends(body)
    parent = pose.skeleton.parents[body]
    forearm = start - pose.joints[parent] if parent >= 0 else -UP
    way = np.mean(ends, axis=0) - start if ends else 0.6 * forearm
    length = float(np.linalg.norm(way))
    end = start + way * (max(length, 0.17 * scale) / length if not pose.children(body) else 1.0)
    wide, deep, shift = (1e-3 * scale * np.array(row) for row in HAND_WIDTHS)
    pieces = [tube(body, start, end, pose.front, wide, deep, shift)]
    if not pose.children(body):
        thumb = np.linspace(0.019, 0.013, 5) * scale
        base = start + 0.15 * (end - start) + 0.018 * scale * pose.front
        top = start + 0.5 * (end - start) + 0.068 * scale * pose.front
        pieces.append(tube(body, base, top, pose.front, thumb, thumb))
    return pieces


def _foot(pose: FleshPose, body: int, scale: float, toes: int | None = None) -> list[Piece]:
    """Return a foot, from a heel behind and below the ankle to the toes, on a level sole that goes
    through the tip; one tube, cut where the ``toes`` begin whose tip is known."""
    ankle, tip = pose.joints[body], None if toes is None else pose.tip(toes)
    ends = pose.ends(body) if tip is None else [tip]
    toe = np.mean(ends, axis=0) if ends else ankle + scale * (0.17 * pose.front - 0.08 * UP)
    ahead = toe - ankle
    level = ahead if _hangs(ahead) else ahead - UP * (ahead @ UP)
    length = float(np.linalg.norm(ahead))
    small = min(scale, length / 0.19)
    level = level / np.linalg.norm(level)
    up = quat.normalise(np.cross(level, np.cross(UP, level))) if abs(level[2]) < 0.9 else UP
    rows = [1e-3 * small * np.array(row) for row in FOOT_WIDTHS]
    deep = rows[1]
    heel = ankle - 0.028 * small * level + (ahead - level * (ahead @ level)) + deep[0] * up
    toe = toe + deep[-1] * up + (0.028 * small * level if not pose.children(body) else 0.0)
    instep = np.array([37, 37, 36, 36, 34]) * 1e-3 * small
    top = 0.5 * (heel + toe) + 0.012 * small * up
    return [
        *_cut_tube(pose, (body, toes if tip is not None else None), (heel, toe), rows),
        tube(body, ankle, top, pose.front, instep, instep),
    ]


def _hangs(foot: Array) -> bool:
    """Return whether a foot, from ankle to tip, hangs instead of standing on its sole."""
    return bool(np.hypot(foot[0], foot[1]) < LEVEL_SHARE * np.linalg.norm(foot))


def sole_heights(pose: FleshPose) -> dict[int, float]:
    """Return foot or toes → height of the level sole that they stand on, metres; of feet whose tip
    is known."""
    heights = {}
    for side in ("left", "right"):
        own = [pose.parts[p] for p in (f"{side}_foot", f"{side}_toes") if p in pose.parts]
        tip = pose.tip(own[-1]) if f"{side}_foot" in pose.parts else None
        if tip is not None and not _hangs(tip - pose.joints[own[0]]):
            heights.update(dict.fromkeys(own, float(tip[2])))
    return heights


def _cut_tube(
    pose: FleshPose,
    bodies: tuple[int, int | None],
    ends: tuple[Array, Array],
    rows: Sequence[Array],
) -> list[Piece]:
    """Return one tube on two bodies, cut beside the second's joint; whole where there is none.

    Ends are round, and what lies in each other swells: the two go half of that into each other.
    """
    (first, second), (start, end) = bodies, ends
    if second is None:
        return [tube(first, start, end, pose.front, *rows)]
    way = end - start
    along = np.linspace(0, 1, STATION_COUNT)
    cut = float(np.clip((pose.joints[second] - start) @ way / (way @ way), 0.2, 0.8))
    round_off = 0.5 * float(np.interp(cut, along, rows[1]) / np.linalg.norm(way))
    pieces = []
    for body, (low, high) in ((first, (0.0, cut - round_off)), (second, (cut + round_off, 1.0))):
        stations = np.linspace(low, high, STATION_COUNT)
        sections = [np.interp(stations, along, row) for row in rows]
        pieces.append(tube(body, start + low * way, start + high * way, pose.front, *sections))
    return pieces


def _is_level(pose: FleshPose) -> bool:
    """Return whether the trunk lies, as that of a four-legged animal."""
    line = _trunk_line(pose)
    return bool(
        len(line) > 1 and abs((line[-1] - line[0])[2]) < 0.6 * np.linalg.norm(line[-1] - line[0])
    )


def _trunk_line(pose: FleshPose) -> Array:
    """Return joints from the middle of the hips up to the neck; empty where parts are missing."""
    bodies = _trunk_bodies(pose)
    hips = [pose.joints[pose.parts[p]] for p in ("left_thigh", "right_thigh") if p in pose.parts]
    if not bodies or not hips:
        return np.zeros((0, 3))
    return np.stack([np.mean(hips, axis=0), *(pose.joints[body] for body in bodies[1:])])


def _trunk_bodies(pose: FleshPose) -> list[int]:
    """Return the bodies from the pelvis to the neck, or to the head where no neck is known."""
    top = pose.parts.get("neck", pose.parts.get("head"))
    if top is None or "pelvis" not in pose.parts:
        return []
    return _path(pose, pose.parts["pelvis"], top)


def _trunk(found: dict[int, list[Piece]], pose: FleshPose, scale: float) -> None:
    line, bodies = _trunk_line(pose), _trunk_bodies(pose)
    if len(line) < 2:
        return
    way = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(line, axis=0), axis=-1))])
    level = _is_level(pose)
    for index, body in enumerate(bodies[:-1]):
        found.setdefault(body, [])
        if way[index + 1] - way[index] < SHORTEST_BONE:
            continue
        start = line[index]
        if index == 0:
            start = start - 0.04 * scale * (line[1] - line[0]) / (way[1] - way[0])
        stations = np.linspace(way[index], way[index + 1], 5) / way[-1]
        lying = _sections(BARREL_WIDTHS, stations, way[-1])
        sections = lying if level else _torso(pose, stations, scale)
        found[body].append(tube(body, start, line[index + 1], pose.front, *sections))
    for body in range(len(pose.joints)):  # hip joints and such inside the trunk
        parent = pose.skeleton.parents[body]
        if (
            body not in found
            and parent in bodies[:-1]
            and any(
                pose.parts.get(f"{side}_{part}") in pose.children(body)
                for side in ("left", "right")
                for part in ("thigh", "clavicle")
            )
        ):
            found[body] = []


def _sections(table: Array, stations: Array, size: float) -> tuple[Array, ...]:
    """Return half widths, half depths and shifts at stations of a trunk, metres."""
    return tuple(size * np.interp(stations, table[:, 0], table[:, k]) for k in (1, 2, 3))


def _torso(pose: FleshPose, stations: Array, scale: float) -> tuple[Array, ...]:
    """Return sections as wide as the hips and shoulders are apart."""
    wide, deep, shift = _sections(TRUNK_WIDTHS, stations, scale)
    hips = _half_width(pose, "thigh", HIP_WIDTH * scale) - HIP_WIDTH * scale
    shoulders = _half_width(pose, "upper_arm", SHOULDER_WIDTH * scale) - SHOULDER_WIDTH * scale
    wider = np.interp(stations, [0.0, 0.4, 0.8, 1.0], [hips, 0.0, shoulders, 0.0])
    return wide + np.clip(wider, -0.4 * wide, 0.6 * wide), deep, shift


def _half_width(pose: FleshPose, part: str, usual: float) -> float:
    sides = [pose.parts.get(f"{side}_{part}") for side in ("left", "right")]
    if None in sides:
        return usual
    left, right = (pose.joints[body] for body in sides)  # type: ignore[index]
    return float(np.clip(0.5 * np.linalg.norm(left - right), 0.5 * usual, 2.0 * usual))


def _head(found: dict[int, list[Piece]], pose: FleshPose, scale: float) -> None:
    head, neck = pose.parts.get("head"), pose.parts.get("neck")
    if head is None:
        return
    if neck is not None:
        path = _path(pose, neck, head)
        rows = [1e-3 * scale * np.array(row) for row in NECK_WIDTHS]
        if _is_level(pose):
            rows[0] = rows[1] = np.linspace(0.13, 0.11, 5) * scale
            rows[2] = np.zeros(5)
        for body, after in pairwise(path):
            found.setdefault(body, [])
            if np.linalg.norm(pose.joints[after] - pose.joints[body]) > SHORTEST_BONE:
                ends = pose.joints[body], pose.joints[after]
                found[body].append(tube(body, *ends, pose.front, *rows))
    ends = pose.ends(head)
    way = ends[0] - pose.joints[head] if ends else 0.18 * scale * UP
    if _is_level(pose):
        found[head] = _muzzle(pose, head, way, scale)
    else:
        found[head] = _skull(pose, head, way, scale, on_neck=neck is not None)


def _skull(pose: FleshPose, body: int, way: Array, scale: float, *, on_neck: bool) -> list[Piece]:
    """Return neck, skull and jaw."""
    base = pose.joints[body]
    up = way / np.linalg.norm(way)
    ahead = pose.front - up * (pose.front @ up)
    ahead = ahead / np.linalg.norm(ahead) if np.linalg.norm(ahead) > 0.1 else pose.front
    rise = (0.085 if on_neck else 0.15) * scale
    centre = base + max(0.75 * float(np.linalg.norm(way)), rise) * up + 0.012 * scale * ahead

    def oval(
        profile: tuple[tuple[int, ...], ...], low: tuple[int, int], high: tuple[int, int]
    ) -> Piece:
        """Return an oval between two places up and ahead of the head's middle, millimetres."""
        start, end = (centre + 1e-3 * scale * (h * up + out * ahead) for h, out in (low, high))
        wide, deep = (1e-3 * scale * np.array(row) for row in profile)
        return tube(body, start, end, ahead, wide, deep)

    skull, jaw = oval(SKULL_WIDTHS, (-30, 0), (45, 0)), oval(JAW_WIDTHS, (-78, 42), (-10, 28))
    rows = [1e-3 * scale * np.array(row) for row in NECK_WIDTHS]
    throat = tube(body, base - 0.02 * scale * up, centre - 0.045 * scale * up, pose.front, *rows)
    return [skull, jaw, throat]


def _muzzle(pose: FleshPose, body: int, way: Array, scale: float) -> list[Piece]:
    """Return an animal's head along its bone, with ears."""
    base, length = pose.joints[body], float(np.linalg.norm(way))
    ahead = way / length
    right = np.cross(pose.front, UP)
    top = np.cross(right, ahead)
    skull = length * np.array([0.30, 0.34, 0.31, 0.24, 0.2])
    nose = length * np.array([0.24, 0.21, 0.18, 0.16, 0.14])
    ear = length * np.array([0.11, 0.115, 0.10, 0.085, 0.06])
    pieces = [
        tube(body, base, base + 0.4 * way, pose.front, skull, skull),
        tube(
            body, base + 0.35 * way - 0.05 * length * top, base + 0.97 * way, pose.front, nose, nose
        ),
    ]
    for sign in (-1.0, 1.0):
        root = base + 0.1 * way + length * (sign * 0.2 * right + 0.22 * top)
        tip = root + length * (sign * 0.12 * right + 0.28 * top - 0.08 * ahead)
        pieces.append(tube(body, root, tip, pose.front, ear, 0.8 * ear))
    return pieces
