"""A motion seen in a mirror: what the left did the right does, on the same skeleton."""

from dataclasses import replace

import numpy as np
from msgspec import structs

from osteon.cleaning import other_side
from osteon.errors import NotEnoughData
from osteon.human import own_names
from osteon.maths import quat
from osteon.typing import Array
from osteon.values import Motion, Skeleton

CONTEXTS = {"Left": "Right", "Right": "Left", "left": "right", "right": "left"}


def mirrored(motion: Motion) -> Motion:
    """Return the motion with left and right exchanged, reflected in the plane between them.

    The plane is that of the rest pose, through the world's origin. Each body turns away from its
    rest as its partner did, seen in the mirror; bones keep their own lengths. Mirrored twice it is
    itself.
    """
    skeleton = motion.skeleton
    partner = _partners(skeleton)
    rest, places = (each[0] for each in Motion.at_rest(skeleton).world())
    flip = _reflection(places, partner)
    turned, _ = motion.world()
    away = quat.multiply(turned[:, partner], quat.inverse(rest[partner]))
    world = quat.multiply(_reflected(away, flip), rest)
    local = np.array(world)
    for body, parent in enumerate(skeleton.parents):
        if parent >= 0:
            local[:, body] = quat.between(world[:, parent], world[:, body])
    return replace(
        motion,
        rotations=local,
        root=motion.root @ flip.T,
        offsets=_offsets(motion, partner, rest, flip),
        marks=tuple(
            structs.replace(mark, context=CONTEXTS.get(mark.context, mark.context))
            for mark in motion.marks
        ),
        history=(*motion.history, "mirrored"),
    )


def _partners(skeleton: Skeleton) -> np.ndarray:
    """(n_bodies,) the body on the other side, or itself in the middle."""
    called = own_names(skeleton)
    ours = {body: own for own, body in called.items()}
    partner = np.arange(len(skeleton.bodies))
    for body, name in enumerate(skeleton.names):
        own = ours.get(name, "")
        swapped = {"left": "right", "right": "left"}.get(own.partition("_")[0])
        other = called.get(f"{swapped}_{own.partition('_')[2]}") if swapped else None
        if not own:
            other = other_side(name, skeleton.names)
        partner[body] = body if other is None else skeleton.index(other)
    if (partner == np.arange(len(partner))).all():
        raise NotEnoughData(
            f"the skeleton has no sides to exchange: none of {', '.join(skeleton.names[:8])} … "
            "is called left or right"
        )
    # a pair holds where both say so
    return np.where(partner[partner] == np.arange(len(partner)), partner, np.arange(len(partner)))


def _reflection(places: Array, partner: np.ndarray) -> Array:
    """(3, 3) in the upright plane between the sides at rest."""
    pairs = np.flatnonzero(partner > np.arange(len(partner)))
    across = places[partner[pairs]] - places[pairs]
    across = across * [1.0, 1.0, 0.0]
    # which of a pair stands first is chance: all point one way before they are added
    signs = np.sign(across @ across[np.argmax(np.linalg.norm(across, axis=-1))])
    total = (signs[:, None] * across).sum(axis=0)
    if np.linalg.norm(total) < 1e-6:
        raise NotEnoughData("left and right lie in one another at rest: there is no plane between")
    normal = quat.normalise(total)
    return np.eye(3) - 2.0 * np.outer(normal, normal)


def _reflected(turns: Array, flip: Array) -> Array:
    """Rotations as a mirror shows them: the axis is reflected, the sense of turning reversed."""
    return np.concatenate([turns[..., :1], -turns[..., 1:] @ flip.T], axis=-1)


def _offsets(motion: Motion, partner: np.ndarray, rest: Array, flip: Array) -> Array | None:
    """Joints in their parents' frames where bones stretch: those of the partners, reflected."""
    if motion.offsets is None:
        return None
    found = np.array(motion.offsets)
    for body, parent in enumerate(motion.skeleton.parents):
        if parent >= 0:
            above = motion.skeleton.parents[partner[body]]
            shown = quat.rotate(rest[above], motion.offsets[:, partner[body]]) @ flip.T
            found[:, body] = quat.rotate(quat.inverse(rest[parent]), shown)
    return found
