"""The average figure of [003]: a slender body of ball joints, scaled to the performer's height.

Thirteen ball joints, 39 degrees of freedom besides the root's: ankles, knees, hips, shoulders,
elbows, neck and two joints in the trunk; hands are stiff. It has no limits, as in the paper, and
stands with its arms at its sides. Joints and landmarks are the marker sets' average human's, so
every set that osteon knows finds its places on it.
"""

import numpy as np

from osteon.errors import BadValue
from osteon.human import StandingFigure, figure_at_rest, human
from osteon.maths import quat
from osteon.typing import Array
from osteon.values import Body, Joint, Skeleton

PARENTS = {
    "pelvis": None,
    "spine": "pelvis",
    "chest": "spine",
    "head": "chest",
    **{
        f"{side}_{part}": parent if parent in ("chest", "pelvis") else f"{side}_{parent}"
        for side in ("left", "right")
        for part, parent in (
            ("upper_arm", "chest"),
            ("forearm", "upper_arm"),
            ("hand", "forearm"),
            ("thigh", "pelvis"),
            ("shin", "thigh"),
            ("foot", "shin"),
        )
    },
}
FIGURE_HEIGHTS = (0.3, 4.0)
"""Metres: least and most that a figure is tall. Chosen: beyond them a unit must be wrong."""


def average_figure(height: float) -> Skeleton:
    """Make the figure, ``height`` metres tall, x forward, y left, z up; without markers."""
    scale = checked_height(height) / human().height
    bodies = [_body(name, parent, scale) for name, parent in PARENTS.items()]
    return Skeleton(tuple(bodies), "average figure", history=(f"scaled to {height:.3f} m",))


def checked_height(height: float) -> float:
    least, most = FIGURE_HEIGHTS
    if not least <= height <= most:
        raise BadValue(f"height must be between {least:g} and {most:g} metres, got {height:g}")
    return height


def estimated_height(performer: Skeleton) -> float:
    """Estimate how tall a calibrated performer is by its bones, metres."""
    own, usual = 0.0, 0.0
    for body, offset in zip(performer.bodies, performer.offsets, strict=True):
        if body.parent in human().bodies and body.name in human().bodies:
            own += float(np.linalg.norm(offset))
            usual += _distance(body.name, body.parent)
    if usual == 0.0:
        raise BadValue("the performer's bones have no human names; give the height")
    return human().height * own / usual


def height_by_legs(performer: StandingFigure) -> float:
    """Return how tall the figure is whose legs are as long as this one's, metres."""
    usual = human().height
    return usual * performer.size() / figure_at_rest(average_figure(usual)).size()


def _body(name: str, parent: str | None, scale: float) -> Body:
    at, tip = _joint(name), human().tips.get(name)
    end = None if tip is None else scale * (tip - at)
    following = [child for child, above in PARENTS.items() if above == name]
    far = end if end is not None else scale * (_joint(following[0]) - at)
    length = float(np.linalg.norm(far))
    if parent is None:
        return Body(name, None, Joint("free"), length=length)
    kind = "fixed" if name.endswith("hand") else "ball"
    joint = Joint(kind, in_parent=scale * (at - _joint(parent)), rest=_rest(name))
    return Body(name, parent, joint, length=length, tip=end)


def _joint(name: str) -> Array:
    """In the template's rest pose; the neck and the shoulders hang on the chest itself."""
    body = human().bodies[name]
    return body.alone if name == "head" else body.at


def _rest(name: str) -> Array:
    """The template's arms are stretched out; the figure's hang."""
    if not name.endswith("upper_arm"):
        return quat.identity()
    quarter = np.pi / 2 if name.startswith("right") else -np.pi / 2
    return quat.from_axis_angle(np.array([1.0, 0.0, 0.0]), np.array(quarter))


def _distance(name: str, parent: str) -> float:
    bodies = human().bodies
    body = bodies[name]
    at = body.at if parent == body.parent else body.alone
    above = bodies[parent]
    return float(np.linalg.norm(at - above.at))
