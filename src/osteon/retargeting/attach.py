"""Where a performer's markers sit on another skeleton.

The performer's calibrated skeleton says where each marker sits on the performer; both rest poses
are laid onto one another part by part, each part turned to the character's bone and stretched to
its length, and the marker goes along. What the guess leaves over is then found from the recording
itself: poses for given places and places for given poses, in turn, near the guess.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from osteon.errors import BadValue, NotEnoughData
from osteon.human import NEXT, StandingFigure, chain_between
from osteon.maths import chain, quat
from osteon.posing import PoseOptions, PoseProblem, Rig, rig_on, solve_frames
from osteon.retargeting.springs import Bends, bent_posture, firm_bounds, posture_weights
from osteon.typing import Array, Indices
from osteon.values import Marker, Skeleton

TRUNK = ("pelvis", "spine", "chest")
LEVEL_PARTS = ("neck", "head")
"""Level at rest on anybody, wherever joints and ends of their bones were put."""
STRETCH_RATIOS = (0.4, 2.5)
"""Ratios: least and most that a part is stretched along its bone. Chosen: beyond them a bone's end
was put somewhere else."""
SIZE_RATIOS = (0.05, 20.0)
"""Ratios: least and most size of a character against the performer. Chosen: beyond them a unit must
be wrong."""
OWN_SIZES = (0.3, 3.0)
"""Ratios: the same for a skeleton that carries the recording's own markers. Chosen: postures differ
by less."""
BESIDE_SHARE = 0.12
"""Share of a bone's length within which a marker at its far end pulls the next bone too. Chosen: as
far as markers of a knee or an elbow sit from the joint."""
PLACE_SIGMA, FIT_SIGMA = 0.03, 0.005
"""Metres: how far a marker's place may be from the guess, and how well poses tell it. Chosen:
figures differ by centimetres, poses tell millimetres."""
BENDING = {"shin": "thigh", "forearm": "upper_arm"}
"""Parts below a knee or an elbow, and those above."""
SAMPLE_FRAMES = 200
"""Count of frames that places are found from, evenly spread. Chosen: a median needs no more, and
time grows with it."""


@dataclass(frozen=True, eq=False)
class Attachments:
    """Points of a skeleton that the recording pulls; a marker may pull two bodies."""

    names: tuple[str, ...]
    """(n_points,) the recording's marker that pulls each."""
    bodies: Indices
    """(n_points,)"""
    places: Array
    """(n_points, 3) from the body's joint, in the body's frame."""
    weights: Array
    """(n_points,) stiffness of each spring against the others."""

    def rig(self, skeleton: Skeleton) -> Rig:
        return rig_on(skeleton, self.bodies, self.places)

    def on(self, skeleton: Skeleton) -> Skeleton:
        """The skeleton carrying these markers, each on its first body."""
        carried: dict[int, list[Marker]] = {}
        for point in np.unique(self.names, return_index=True)[1]:
            body = int(self.bodies[point])
            place = self.places[point] + skeleton.joints_in_bodies[body]
            carried.setdefault(body, []).append(Marker(self.names[point], place))
        bodies = [
            replace(body, markers=tuple(carried.get(index, ())))
            for index, body in enumerate(skeleton.bodies)
        ]
        return skeleton.with_bodies(bodies, "markers attached")


def own_attachments(skeleton: Skeleton, names: Sequence[str]) -> Attachments:
    """Return the markers that a skeleton carries itself, of those recorded."""
    held = skeleton.marker_places(names)
    if len(held.names) < 3:
        raise NotEnoughData(
            f"skeleton {skeleton.subject!r} and recording share {len(held.names)} markers, and a "
            f"pose needs 3; the recording has {', '.join(names[:6])}, …"
        )
    return Attachments(*held, np.ones(len(held.names)))


def check_size(skeleton: Skeleton, points: Attachments, observed: Array) -> None:
    """Refuse a skeleton whose markers at rest are of another size than those recorded.

    Parameters
    ----------
    observed : (n_frames, n_points, 3)
        Metres, in the order of the attachments; NaN where not seen.
    """
    world = chain.forward_kinematics(skeleton.rest, skeleton.offsets, skeleton.parents)
    places = chain.place_points(*world, points.bodies.tolist(), points.places)
    whole = observed[np.isfinite(observed).all(axis=(1, 2))]
    if not len(whole):
        return
    own, seen = (
        float(np.median(np.linalg.norm(cloud - cloud.mean(axis=-2, keepdims=True), axis=-1)))
        for cloud in (places, whole)
    )
    if not OWN_SIZES[0] < own / max(seen, 1e-12) < OWN_SIZES[1]:
        raise BadValue(
            f"the markers of skeleton {skeleton.subject!r} lie {own:.3g} m about their middle, "
            f"those recorded {seen:.3g} m; check the skeleton's scale"
        )


def size_ratio(performer: StandingFigure, character: StandingFigure) -> float:
    """Return how many times the performer's the character's legs are; refuse what cannot be."""
    ratio = character.size() / performer.size()
    if not SIZE_RATIOS[0] < ratio < SIZE_RATIOS[1]:
        raise BadValue(
            f"the character's legs are {ratio:.3g} times the performer's; check the scale of "
            f"skeleton {character.skeleton.subject!r}"
        )
    return ratio


def transfer(performer: StandingFigure, character: StandingFigure) -> Attachments:
    """Put the performer's markers at the corresponding places of the character."""
    ratio = size_ratio(performer, character)
    names, bodies, places, weights = [], [], [], []
    for index, body in enumerate(performer.skeleton.bodies):
        part = body.name
        if not (part in character.parts or part == "spine" or part.endswith("clavicle")):
            continue
        laying = lay_part(performer, character, part, ratio)
        for marker in body.markers:
            arm = quat.rotate(performer.rotations[index], marker.position - body.joint.in_body)
            place, along = laying.place(performer.joints[index] + arm)
            carriers = _carriers(character, part, along)
            for carrier in carriers:
                turned = quat.inverse(character.rotations[carrier])
                names.append(marker.name)
                bodies.append(carrier)
                places.append(quat.rotate(turned, place - character.joints[carrier]))
                weights.append(1.0 / len(carriers))
    if len(set(names)) < 3:
        raise NotEnoughData(
            f"the character's bodies correspond to none of the performer's that carry markers "
            f"({', '.join(performer.skeleton.names[:6])}, …); name them in a mapping file"
        )
    return Attachments(tuple(names), np.array(bodies), np.array(places), np.array(weights))


@dataclass(frozen=True, eq=False)
class Laying:
    """How a part of the performer is laid onto the character's."""

    start: Array
    aim: Array
    """Where the part begins, of performer and character, world at rest."""
    turn: Array
    """(4,) performer's rest to character's."""
    axis: Array
    """(3,) along the character's bone."""
    along: float
    across: float
    """Stretch along and across the bone."""
    length: float
    """Of the character's bone, metres."""

    def place(self, point: Array) -> tuple[Array, float]:
        """A point's place on the character, and its share of the way along the bone."""
        arm = quat.rotate(self.turn, point - self.start)
        reach = float(arm @ self.axis)
        stretched = self.across * arm + (self.along - self.across) * reach * self.axis
        return self.aim + stretched, self.along * reach / self.length


def lay_part(
    performer: StandingFigure, character: StandingFigure, part: str, size: float
) -> Laying:
    """Lay a part that both have, of which the character's is ``size`` times as large: limbs bone on
    bone, feet and toes sole on sole, for a line from ankle to toe falls as steeply as the ankle is
    high, and says nothing of the sole."""
    (start, end), (aim, stop) = _bone(performer, part), _bone(character, part)
    own, other = _axes(performer, part), _axes(character, part)
    level = own is not None and other is not None
    if own is None or other is None:
        own, other = performer.axes(), character.axes()
    turn = quat.from_matrix(other @ own.T)
    upright = Laying(start, aim, turn, other[:, 2], size, size, 1.0)
    if end is None or stop is None or part in LEVEL_PARTS:
        return upright
    bone, target = quat.rotate(turn, end - start), stop - aim
    if level:
        bone, target = (each @ other[:, 0] * other[:, 0] for each in (bone, target))
    lengths = float(np.linalg.norm(bone)), float(np.linalg.norm(target))
    if min(lengths) < 1e-6:
        return upright
    if part not in TRUNK and not level:
        turn = quat.multiply(quat.shortest(bone, target), turn)
    axis = bone / lengths[0] if part in TRUNK else target / lengths[1]
    along = float(np.clip(lengths[1] / lengths[0], *STRETCH_RATIOS))
    return Laying(start, aim, turn, axis, along, size, lengths[1])


def _axes(figure: StandingFigure, part: str) -> Array | None:
    """Return the sole's of feet and toes; None of other parts, and where it does not stand."""
    side, _, limb = part.partition("_")
    return figure.sole(side) if limb in ("foot", "toes") else None


def _bone(figure: StandingFigure, part: str) -> tuple[Array, Array | None]:
    if part in TRUNK:
        hips = figure.middle("thigh")
        assert hips is not None
        return hips, figure.middle("upper_arm")
    if part not in figure.parts:  # a shoulder girdle that the character does not have
        return figure.joint(part.replace("clavicle", "upper_arm")), None
    return figure.joint(part), figure.end(part)


def _carriers(character: StandingFigure, part: str, along: float) -> list[int]:
    """The body at this share of the part's bone; two where it sits on the joint between them."""
    skeleton, parts = character.skeleton, character.parts
    side, _, limb = part.partition("_")
    if part == "spine":
        chest = parts.get("chest", parts["pelvis"])
        own = [*chain_between(skeleton, parts["pelvis"], chest), chest][1:] or [chest]
    elif part not in parts:
        own = [parts.get("chest", parts["pelvis"])]
    elif f"{side}_{NEXT.get(limb, '')}" in parts:
        own = chain_between(skeleton, parts[part], parts[f"{side}_{NEXT[limb]}"])
    else:
        own = [parts[part]]
    start, end = _bone(character, part)
    indices = [skeleton.index(name) for name in own]
    carrier = indices[0]
    if end is not None:
        axis, reach = quat.normalise(end - start), np.linalg.norm(end - start)
        for index in indices[1:]:
            if (character.joints[index] - start) @ axis <= along * reach:
                carrier = index
    if limb in ("thigh", "upper_arm") and abs(along - 1.0) < BESIDE_SHARE:
        return [carrier, skeleton.index(parts[f"{side}_{NEXT[limb]}"])]
    return [carrier]


def neck_and_head(character: StandingFigure) -> list[int]:
    """Return the bodies above the chest that a head is carried by, and the head."""
    parts, skeleton = character.parts, character.skeleton
    if "head" not in parts or "chest" not in parts:
        return []
    names = [*chain_between(skeleton, parts["chest"], parts["head"])[1:], parts["head"]]
    return [skeleton.index(name) for name in names]


def find_bends(character: StandingFigure, start: Array) -> Bends:
    """Find the character's knees and elbows; ``start`` (n_frames, n_bodies, 4) has the
    performer's poses on it, local rotations."""
    parts, found = character.parts, []
    for limb, above in BENDING.items():
        for side in ("left", "right"):
            part, upper = f"{side}_{limb}", f"{side}_{above}"
            end = character.end(part) if part in parts and upper in parts else None
            if end is not None:
                body = character.skeleton.index(parts[part])
                bones = character.joint(part) - character.joint(upper), end - character.joint(part)
                found.append((body, *bones))
    bodies = np.array([body for body, *_ in found], dtype=int)
    bones = np.array([each for _, *each in found]).reshape(-1, 2, 3)
    carriers = np.stack([np.array(character.skeleton.parents, dtype=int)[bodies], bodies], axis=1)
    own = quat.rotate(quat.inverse(character.rotations[carriers]), bones)
    upper, lower = np.moveaxis(quat.normalise(own), 1, 0)
    return Bends(bodies, upper, lower, quat.rotate(start[:, bodies], lower))


def refine(
    skeleton: Skeleton,
    guess: Attachments,
    observed: Array,
    start: tuple[Array, Array],
    *,
    bends: Bends,
    posture: float,
    led: Sequence[int] = (),
    rounds: int = 4,
) -> Attachments:
    """Find marker places that suit the recording, near the guess; the skeleton stays as it is.

    A neck that is longer or shorter than the performer's would bend for the markers on the head:
    those sit wherever they are while neck and head are turned as the performer's.

    Parameters
    ----------
    observed : (n_frames, n_points, 3)
        Metres, in the order of the attachments; NaN where not seen.
    start : ((n_frames, n_bodies, 4), (n_frames, 3))
        The performer's poses on the character.
    bends
        How much knees and elbows bend in the poses that places are found from.
    posture
        See ``posture_weights``.
    led
        Bodies of neck and head.
    """
    stride = max(1, len(observed) // SAMPLE_FRAMES)
    observed, start = observed[::stride], (start[0][::stride], start[1][::stride])
    bends = replace(bends, performers=bends.performers[::stride])
    options = PoseOptions(loss="huber", loss_scale=0.05, tolerance=1e-4)
    stiffness = posture_weights(guess.rig(skeleton), posture)
    places, on_led = guess.places, np.isin(guess.bodies, led)
    for _ in range(rounds):
        rig = replace(guess, places=places).rig(skeleton)
        rest, rest_weights = bent_posture(bends, start[0], skeleton.rest, stiffness)
        weights = np.where(on_led, 0.0, guess.weights)
        pulls = PoseProblem(rig, observed, weights, rest_weights, rest, firm_bounds(skeleton))
        poses = solve_frames(pulls, start=start, options=options)
        turned = np.array(poses.rotations)
        turned[:, led] = start[0][:, led]
        start = turned, poses.root
        places = _mean_places(rig, observed, start, guess.places, on_led)
    return replace(guess, places=places)


def _mean_places(
    rig: Rig, observed: Array, poses: tuple[Array, Array], guess: Array, anywhere: np.ndarray
) -> Array:
    """Median place of each point on its body, drawn towards the guess unless it may be anywhere."""
    local = rig.in_bodies(observed, *poses)
    places = np.array(guess)
    for point in range(len(places)):
        seen = local[np.isfinite(local[:, point, 0]), point]
        if len(seen):
            trust = PLACE_SIGMA**2 / (PLACE_SIGMA**2 + FIT_SIGMA**2) if not anywhere[point] else 1.0
            places[point] += trust * (np.median(seen, axis=0) - places[point])
    return places
