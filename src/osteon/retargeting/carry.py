"""A performer's poses on a character of other proportions and other bones.

Parts of a human are paired by what they are, other bodies by their names. Each pair has a turn that
lays the performer's rest pose onto the character's: limbs bone on bone, feet sole on sole. Every
part turns as the performer's does, from one rest pose to the other; the bodies of a trunk that the
performer has as one, or not at all, share the turn between their neighbours. The hips go where the
performer's hips go, scaled by the length of the legs.
"""

from collections.abc import Container, Sequence

import numpy as np

from osteon.human import NEXT, StandingFigure, chain_between, own_names, plain_name
from osteon.maths import quat
from osteon.posing import Rig, on_joints
from osteon.retargeting.attach import Attachments, lay_part
from osteon.typing import Array
from osteon.values import Motion, Skeleton

ALIKE_RATIO = 1.25
"""Ratio of the lengths of bones, and its root of whole figures, beyond which poses lead. Chosen:
markers would bend the limbs of a character that has none of the performer's proportions."""
ACROSS = {
    "the hips' width": ("left_thigh", "right_thigh"),
    "the shoulders' width": ("left_upper_arm", "right_upper_arm"),
    "the trunk's length": ("left_thigh", "left_upper_arm"),
}
"""Distances between joints that are no bones."""
ARM_LENGTH = 0.1
"""Metres from a body's joint to the points that say how it is turned. Chosen: a turn of a degree
moves them by 2 mm."""
Pairs = dict[int, tuple[int, Array]]
"""Body of the character → the performer's that it turns with, and the turn (4,) from the
performer's rest pose to the character's."""


def alike(performer: StandingFigure, character: StandingFigure) -> bool:
    """Whether the performer's markers can pull the character as they are."""
    size = character.size() / performer.size()
    bones = [size, *bone_ratios(performer, character).values()]
    return abs(np.log(size)) < 0.5 * np.log(ALIKE_RATIO) and max(
        abs(np.log(np.maximum(bones, 1e-9)))
    ) < np.log(ALIKE_RATIO)


def bone_ratios(performer: StandingFigure, character: StandingFigure) -> dict[str, float]:
    """Return how many times as long as the performer's the character's limb bones are."""
    own, other = _bones(performer), _bones(character)
    return {name: other[name] / max(own[name], 1e-9) for name in own if name in other}


def proportions(performer: StandingFigure, character: StandingFigure) -> dict[str, float]:
    """Return the same, and how wide hips and shoulders are and how long the trunk is."""
    ratios = bone_ratios(performer, character)
    for name, ends in ACROSS.items():
        if all(end in figure.parts for end in ends for figure in (performer, character)):
            own, other = (
                float(np.linalg.norm(figure.joint(ends[1]) - figure.joint(ends[0])))
                for figure in (performer, character)
            )
            ratios[name] = other / max(own, 1e-9)
    return ratios


def _bones(figure: StandingFigure) -> dict[str, float]:
    """Length of each limb bone that is known, metres."""
    lengths = {}
    for part in ("upper_arm", "forearm", "thigh", "shin"):
        for side in ("left", "right"):
            name = f"{side}_{part}"
            end = figure.end(name) if name in figure.parts else None
            if end is not None:
                lengths[name] = float(np.linalg.norm(end - figure.joint(name)))
    return lengths


def pose_points(skeleton: Skeleton) -> Attachments:
    """Put three points on every body: pulled together they pull it to a pose."""
    n_bodies = len(skeleton.bodies)
    places = ARM_LENGTH * np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    return Attachments(
        ("",) * (3 * n_bodies),
        np.repeat(np.arange(n_bodies), 3),
        np.tile(places, (n_bodies, 1)),
        np.tile([1.0, 0.3, 0.3], n_bodies),
    )


def carry_poses(
    performer: StandingFigure,
    character: StandingFigure,
    motion: Motion,
    rig: Rig | None = None,
    scale: float = 1.0,
) -> tuple[Array, Array]:
    """Return the character's local rotations (n_frames, n_bodies, 4) and root (n_frames, 3).

    Parameters
    ----------
    motion
        The performer's.
    rig
        The character's, for what its joints allow; None: as if all were ball joints.
    scale
        Of the root's path, about the world's origin.
    """
    return Carrier(performer, character, rig, scale).carry(*motion.world())


class Carrier:
    """How poses of one figure become another's: found once, used in every frame."""

    def __init__(
        self,
        performer: StandingFigure,
        character: StandingFigure,
        rig: Rig | None = None,
        scale: float = 1.0,
    ) -> None:
        skeleton, self._rest = character.skeleton, character.rotations
        self._rig, self._scale = rig, scale
        pairs = pair_bodies(performer, character)
        self._gaps = trunk_gaps(character, pairs)
        self._led, self._leads = list(pairs), [index for index, _ in pairs.values()]
        turns = np.array([turn for _, turn in pairs.values()]).reshape(-1, 4)
        at_rest = quat.multiply(quat.inverse(turns), self._rest[self._led])
        self._lays = quat.multiply(quat.inverse(performer.rotations[self._leads]), at_rest)
        """(n_pairs, 4) the character's body as seen from the performer's that leads it."""
        self._parents, self._offsets = np.array(skeleton.parents), skeleton.offsets
        self._levels = [np.array(bodies) for bodies in _levels(skeleton.parents)]
        above = np.where(self._parents[:, None] < 0, quat.identity(), self._rest[self._parents])
        self._still = quat.between(above, self._rest)
        between = {body for _, inner, _ in self._gaps for body in inner}
        n_bodies = len(self._parents)
        self._known = np.isin(np.arange(n_bodies), [*self._led, *between])[:, None]
        names = [performer.parts[f"{side}_thigh"] for side in ("left", "right")]
        self._hips = [performer.skeleton.index(name) for name in names]
        reach = character.middle("thigh")
        assert reach is not None
        self._pelvis = skeleton.index(character.parts["pelvis"])
        below = reach - character.joints[self._pelvis]
        self._below = quat.rotate(quat.inverse(self._rest[self._pelvis]), below)

    def carry(self, turned: Array, joints: Array) -> tuple[Array, Array]:
        """Return local rotations (n_frames, n_bodies, 4) and root (n_frames, 3) of the character.

        Parameters
        ----------
        turned, joints : (n_frames, n_bodies, 4), (n_frames, n_bodies, 3)
            The performer's, in the world.
        """
        wanted = quat.identity((len(turned), len(self._parents)))
        wanted[:, self._led] = quat.multiply(turned[:, self._leads], self._lays)
        self._share_between(wanted)
        local, actual = self._allowed(wanted)
        middle = joints[:, self._hips].mean(axis=1)
        return local, self._scale * middle - self._hips_from_root(actual)

    def _share_between(self, world: Array) -> None:
        """Bodies of the trunk between two that are known share what lies between them."""
        rest = self._rest
        for above, inner, body in self._gaps:
            still = quat.multiply(world[:, above], quat.between(rest[above], rest[body]))
            for step, between in enumerate(inner, 1):
                share = np.full(len(still), step / (len(inner) + 1))
                turned = quat.slerp(still, world[:, body], share)
                world[:, between] = quat.multiply(turned, quat.between(rest[body], rest[between]))

    def _allowed(self, wanted: Array) -> tuple[Array, Array]:
        """Local rotations that the joints allow, each body as near its world rotation as it can be
        below a parent that may have fallen short; and the world rotations that come of them."""
        local, actual = quat.identity(wanted.shape[:2]), quat.identity(wanted.shape[:2])
        for bodies in self._levels:
            parents = self._parents[bodies]
            above = actual[:, parents] if parents[0] >= 0 else quat.identity((1, len(bodies)))
            turns = quat.between(above, wanted[:, bodies])
            local[:, bodies] = np.where(self._known[bodies], turns, self._still[bodies])
            if self._rig is not None:
                local = on_joints(self._rig.tree, local)
            actual[:, bodies] = quat.multiply(above, local[:, bodies])
        return local, actual

    def _hips_from_root(self, actual: Array) -> Array:
        """(n_frames, 3) from the root's joint to between the hips."""
        body = self._pelvis
        place = quat.rotate(actual[:, body], self._below)
        while (parent := self._parents[body]) >= 0:
            place = place + quat.rotate(actual[:, parent], self._offsets[body])
            body = parent
        return place


def _levels(parents: Sequence[int]) -> list[list[int]]:
    """Bodies by how many stand above them."""
    depth: list[int] = []
    for parent in parents:
        depth.append(0 if parent < 0 else depth[parent] + 1)
    return [[b for b, d in enumerate(depth) if d == level] for level in range(max(depth) + 1)]


def pair_bodies(performer: StandingFigure, character: StandingFigure) -> Pairs:
    """Find all bodies of the character that correspond to one of the performer's."""
    size = character.size() / performer.size()
    pairs: Pairs = {}
    for part, name in performer.parts.items():
        if part in character.parts:
            turn = lay_part(performer, character, part, size).turn
            for body in _bodies_of(character, part):
                pairs[body] = performer.skeleton.index(name), turn
    _pair_namesakes(performer, character, pairs)
    return pairs


def trunk_gaps(
    character: StandingFigure, known: Container[int]
) -> list[tuple[int, list[int], int]]:
    """Find where the character has bodies between two of its trunk that are known: the upper
    end of the tree, those between, and the body below. Limbs have none: what hangs between a trunk
    and a limb, such as a collar bone, moves by itself or not at all."""
    parents, gaps = character.skeleton.parents, []
    for body in sorted(_trunk(character)):
        between, above = [], parents[body]
        while above >= 0 and above not in known:
            between.append(above)
            above = parents[above]
        if body in known and above >= 0 and between:
            gaps.append((above, between[::-1], body))
    return gaps


def without_partner(
    performer: StandingFigure, character: StandingFigure
) -> tuple[list[str], list[str]]:
    """List bodies of the character that could move and stay at rest, and bodies of the
    performer that move nothing."""
    pairs = pair_bodies(performer, character)
    led = {*pairs, *(body for _, between, _ in trunk_gaps(character, pairs) for body in between)}
    still = [
        body.name
        for index, body in enumerate(character.skeleton.bodies)
        if index not in led and body.joint.kind not in ("fixed", "free")
    ]
    parents, leads = performer.skeleton.parents, {index for index, _ in pairs.values()}
    for index in reversed(range(len(parents))):  # what a pair hangs on moves it
        if index in leads and parents[index] >= 0:
            leads.add(parents[index])
    left = [name for index, name in enumerate(performer.skeleton.names) if index not in leads]
    return still, left


def _bodies_of(character: StandingFigure, part: str) -> list[int]:
    """The bodies of a limb's part; of the trunk and the head only the one that is named."""
    skeleton, parts = character.skeleton, character.parts
    side, _, limb = part.partition("_")
    following = parts.get(f"{side}_{NEXT.get(limb, '')}")
    own = [parts[part]] if following is None else chain_between(skeleton, parts[part], following)
    return [skeleton.index(name) for name in own]


def _pair_namesakes(performer: StandingFigure, character: StandingFigure, pairs: Pairs) -> None:
    """Add bodies that are no part of a human, such as fingers, where both figures call them alike.

    What cannot move stays on its parent. Others are laid as the body they hang on is, and then
    bone on bone.
    """
    called = _called(performer)
    own_called = {body: name for name, body in own_names(character.skeleton).items()}
    parents, trunk = character.skeleton.parents, _trunk(character)
    named = set(character.parts.values())
    for body, own in enumerate(character.skeleton.bodies):
        namesake, above = called.get(plain_name(own.name)), parents[body]
        if namesake is None:
            namesake = called.get(plain_name(own_called.get(own.name, own.name)))
        while above >= 0 and above not in pairs:
            above = parents[above]
        if namesake is None or own.name in named or own.joint.kind == "fixed" or above < 0:
            continue
        turn = pairs[above][1]
        bone, target = _bone(performer, namesake), _bone(character, body)
        if body not in trunk and bone is not None and target is not None:
            turn = quat.multiply(quat.shortest(quat.rotate(turn, bone), target), turn)
        pairs[body] = namesake, turn


def _called(figure: StandingFigure) -> dict[str, int]:
    """Plain names → bodies: the figure's own, and ours where its scheme of names is known."""
    skeleton = figure.skeleton
    called = {plain_name(name): index for index, name in enumerate(skeleton.names)}
    for name, body in own_names(skeleton).items():
        called.setdefault(plain_name(name), skeleton.index(body))
    return called


def _trunk(figure: StandingFigure) -> set[int]:
    """The bodies from the root to chest and head."""
    parents, found = figure.skeleton.parents, set()
    for part in ("pelvis", "chest", "neck", "head"):
        body = figure.skeleton.index(figure.parts[part]) if part in figure.parts else -1
        while body >= 0:
            found.add(body)
            body = parents[body]
    return found


def _bone(figure: StandingFigure, body: int) -> Array | None:
    """(3,) from a body's joint to its first child's or to its tip, world at rest."""
    parents, own = figure.skeleton.parents, figure.skeleton.bodies[body]
    if body in parents:
        bone = figure.joints[parents.index(body)] - figure.joints[body]
    elif (tip := own.tip_from_joint) is not None:
        bone = quat.rotate(figure.rotations[body], tip)
    else:
        return None
    return bone if np.linalg.norm(bone) > 1e-6 else None
