"""Which body of a character turns with which of a performer's.

Parts of a human are paired by what they are, other bodies by their names. Each pair has a turn that
lays the performer's rest pose onto the character's: limbs bone on bone, feet sole on sole.
"""

from collections.abc import Container

import numpy as np

from osteon.human import NEXT, StandingFigure, chain_between, plain_name
from osteon.maths import quat
from osteon.retargeting.attach import lay_part
from osteon.typing import Array

Pairs = dict[int, tuple[int, Array]]
"""Body of the character → the performer's that it turns with, and the turn (4,) from the
performer's rest pose to the character's."""


def pair_bodies(performer: StandingFigure, character: StandingFigure) -> Pairs:
    """Find all bodies of the character that correspond to one of the performer's."""
    size = character.size() / performer.size()
    pairs: Pairs = {}
    for part, name in performer.parts.items():
        if part in character.parts:
            turn = _sole_turn(performer, character, part)
            if turn is None:
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
    called = {plain_name(name): index for index, name in enumerate(performer.skeleton.names)}
    parents, trunk = character.skeleton.parents, _trunk(character)
    named = set(character.parts.values())
    for body, own in enumerate(character.skeleton.bodies):
        namesake, above = called.get(plain_name(own.name)), parents[body]
        while above >= 0 and above not in pairs:
            above = parents[above]
        if namesake is None or own.name in named or own.joint.kind == "fixed" or above < 0:
            continue
        turn = pairs[above][1]
        bone, target = _bone(performer, namesake), _bone(character, body)
        if body not in trunk and bone is not None and target is not None:
            turn = quat.multiply(quat.shortest(quat.rotate(turn, bone), target), turn)
        pairs[body] = namesake, turn


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


def _sole_turn(performer: StandingFigure, character: StandingFigure, part: str) -> Array | None:
    """(4,) that lays sole on sole, for feet and toes: a line from ankle to toe falls as steeply as
    the ankle is high, and says nothing of the sole. None for other parts."""
    side, _, limb = part.partition("_")
    if limb not in ("foot", "toes"):
        return None
    soles = performer.sole(side), character.sole(side)
    if soles[0] is None or soles[1] is None:
        return None
    return quat.from_matrix(soles[1] @ soles[0].T)
