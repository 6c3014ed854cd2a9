"""More than one in a recording: a racket that a hand takes up, partners who hold hands, people who
have nothing to do with one another.

A scene is what each of them does; every one is recorded on their own, and the recordings are laid
side by side.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from osteon.maths import quat
from osteon.synth.capture import act, perform, sense
from osteon.synth.curves import ease, stream, waves
from osteon.synth.joint_coordinates import blend
from osteon.synth.motions import Act, Script, bend_arm, palm
from osteon.synth.performers import body, cluster, figure, human
from osteon.typing import Array
from osteon.values import Attachment, Bodies, Marker, Motion, Recording, Skeleton

TAKING_SECONDS = 0.25
"""Seconds in which a racket comes into a hand, or leaves it. Chosen: a quick grasp."""
PARTNER_SECONDS = 0.6
"""Seconds in which partners' hands come together and part. Chosen: as hands that are clasped."""
WOBBLE_ANGLE = 0.4
"""Radians by which a racket that is held loosely turns in the hand. Chosen: a play of the wrist."""
WANDER_ANGLE = 1.5
"""Radians by which a racket turns that goes its own ways. Chosen: any attitude."""
SHOULDERS_APART = 0.45
"""Metres between the shoulders of partners. Chosen: both reach the middle, whatever they do."""
CLUSTER_SIZE = 0.08
"""Metres from the middle of a cluster to its markers. Chosen: as plates that are strapped on."""
PERSON_SPACING = 1.5
"""Metres from one person to the next. Chosen: out of each other's reach."""


@dataclass(frozen=True)
class PlayedScene:
    """What everybody does, and who holds whom."""

    acts: tuple[Act, ...]
    holds: tuple[Attachment, ...] = ()

    @property
    def joined(self) -> frozenset[frozenset[str]]:
        """The pairs of bodies that share a joint throughout."""
        return frozenset(
            frozenset((each.name, each.parent))
            for act in self.acts
            for each in act.motion.skeleton.bodies
            if each.parent
        )


def racket() -> Skeleton:
    """A thing of one body, its handle at the origin, with four markers."""
    return figure("racket", [body("racket", None, (0, 0, 0), {}, cluster("RKT", (0, 0, 0.3), 0.1))])


def with_racket(
    person: Act, held: tuple[int, int], *, firm: bool = False, lies: bool = False, seed: int = 0
) -> PlayedScene:
    """A racket in the right palm from the first to the last frame of ``held``.

    Parameters
    ----------
    firm
        It moves as one with the hand; otherwise it turns in it.
    lies
        It lies still before and after; otherwise it goes its own ways.
    """
    motion, rng = person.motion, stream(seed, "racket")
    times = np.arange(motion.n_frames) / motion.rate
    hand, place = motion.skeleton.index("right_hand"), palm(motion.skeleton, "right")
    q_world, p_world = motion.world()
    grip = p_world[:, hand] + quat.rotate(q_world[:, hand], place)
    play = 0.0 if firm else WOBBLE_ANGLE * waves(rng, times, 3, 0.2, 1.0)
    in_hand = quat.multiply(q_world[:, hand], quat.exp(play + np.zeros((len(times), 3))))
    ways = waves(rng, times, 6, 0.1, 0.5)
    ways = np.broadcast_to(ways[:1], ways.shape) if lies else ways
    share = _share(len(times), held, TAKING_SECONDS * motion.rate)
    rotations = quat.slerp(quat.exp(WANDER_ANGLE * ways[:, :3]), in_hand, share)
    away = 0.8 * ways[:, 3:] + (0.5, 0.5, 1.0)
    root = away + share[:, None] * (grip - away)
    moved = Motion(racket(), rotations[:, None], root, motion.rate, history=("held",))
    hold = Attachment(("right_hand", "racket"), held, tuple(place.tolist()), (0.0, 0.0, 0.0), 0.0)
    return PlayedScene((person, Act(moved)), (hold,))


def partners(script: Script, held: tuple[int, int], *, seed: int = 0) -> PlayedScene:
    """Two people, ``a:`` and ``b:``; a's left hand and b's right meet in the frames of ``held``."""
    first, second = (
        _named(act(human(), script, seed=seed + 1000 * k), f"{letter}:")
        for k, letter in enumerate("ab")
    )
    second = _beside(first, second, seed)
    ends = ((first, "a:", "left"), (second, "b:", "right"))
    worlds = [each.motion.world() for each, _, _ in ends]
    shoulders = [
        world[1][:, each.motion.skeleton.index(f"{prefix}{side}_upper_arm")]
        for (each, prefix, side), world in zip(ends, worlds, strict=True)
    ]
    times = np.arange(first.motion.n_frames) / first.motion.rate
    sway = 0.1 * waves(stream(seed, "partners"), times, 3, 0.15, 0.7)
    meeting = np.mean(shoulders, axis=0) + sway + (0.0, 0.0, -0.1)
    share = _share(len(times), held, PARTNER_SECONDS * first.motion.rate)
    acts = []
    for (each, prefix, side), world in zip(ends, worlds, strict=True):
        motion = each.motion
        closed = motion.rotations.copy()
        bend_arm(motion.skeleton, world, closed, side, meeting, prefix)
        turned = blend(motion.skeleton, motion.rotations, closed, ease(share))
        turned = np.where((share == 1.0)[:, None, None], closed, turned)
        acts.append(replace(each, motion=replace(motion, rotations=turned)))
    near, far = (
        tuple(palm(each.motion.skeleton, side, prefix).tolist()) for each, prefix, side in ends
    )
    hold = Attachment(("a:left_hand", "b:right_hand"), held, near, far, 0.0)
    return PlayedScene(tuple(acts), (hold,))


def crowd(script: Script, count: int, *, seed: int = 0) -> PlayedScene:
    """People in a row, ``a:``, ``b:``, …, who have nothing to do with one another."""
    acts = []
    for k in range(count):
        own = _named(act(human(), script, seed=seed + 1000 * k), f"{chr(ord('a') + k)}:")
        shift = np.array([PERSON_SPACING * k, 0.0, 0.0])
        acts.append(replace(own, motion=replace(own.motion, root=own.motion.root + shift)))
    return PlayedScene(tuple(acts))


def in_clusters(scene: PlayedScene) -> PlayedScene:
    """The same with four markers on every body, beside the middle of its bone."""
    acts = []
    for each in scene.acts:
        skeleton, bodies = each.motion.skeleton, []
        for index, worn in enumerate(skeleton.bodies):
            ends = np.array(skeleton.bone_ends(index) or [np.zeros(3)])
            x, y, z = (worn.joint.in_body + 0.5 * ends.mean(axis=0) + (0.0, 0.04, 0.0)).tolist()
            places = cluster(worn.name, (x, y, z), CLUSTER_SIZE).items()
            markers = tuple(Marker(name, np.array(place)) for name, place in places)
            bodies.append(replace(worn, markers=markers))
        motion = replace(each.motion, skeleton=replace(skeleton, bodies=tuple(bodies)))
        acts.append(replace(each, motion=motion))
    return replace(scene, acts=tuple(acts))


def sense_scene(scene: PlayedScene, *, seed: int = 0, skin: float = 0.0, **troubles: Any) -> Bodies:
    """A sensor on every body of everybody; as ``sense``. Things have no skin."""
    tracked = [
        sense(
            each.motion.skeleton, _as_script(each), seed=seed + 1000 * k, skin=own, **troubles
        ).bodies
        for k, (each, own) in enumerate(_with_skin(scene, skin))
    ]
    return Bodies(
        np.concatenate([each.positions for each in tracked], axis=1),
        np.concatenate([each.rotations for each in tracked], axis=1),
        tuple(name for each in tracked for name in each.names),
        tracked[0].rate,
        history=tracked[0].history,
    )


def perform_scene(
    scene: PlayedScene, *, seed: int = 0, skin: float = 0.0, **troubles: Any
) -> Recording:
    """The markers of everybody; as ``perform``. Things have no skin."""
    seen = [
        perform(
            each.motion.skeleton, _as_script(each), seed=seed + 1000 * k, skin=own, **troubles
        ).recording
        for k, (each, own) in enumerate(_with_skin(scene, skin))
    ]
    return replace(
        seen[0],
        positions=np.concatenate([each.positions for each in seen], axis=1),
        names=tuple(name for each in seen for name in each.names),
        subject="",
    )


def _with_skin(scene: PlayedScene, skin: float) -> list[tuple[Act, float]]:
    return [(each, skin if len(each.motion.skeleton.bodies) > 1 else 0.0) for each in scene.acts]


def _as_script(done: Act) -> Script:
    return lambda *_: done


def _share(n_frames: int, held: tuple[int, int], around: float) -> Array:
    """(n_frames,) 1 while held, 0 farther than ``around`` frames from it."""
    edges = (held[0] - around, held[0], held[1], held[1] + around)
    return np.interp(np.arange(n_frames), edges, (0.0, 1.0, 1.0, 0.0))


def _named(done: Act, prefix: str) -> Act:
    """The same act by a performer whose bodies and markers all begin with ``prefix``."""
    skeleton = done.motion.skeleton
    bodies = [
        replace(
            each,
            name=prefix + each.name,
            parent=each.parent and prefix + each.parent,
            markers=tuple(replace(m, name=prefix + m.name) for m in each.markers),
        )
        for each in skeleton.bodies
    ]
    return replace(
        done, motion=replace(done.motion, skeleton=replace(skeleton, bodies=tuple(bodies)))
    )


def _beside(first: Act, second: Act, seed: int) -> Act:
    """The second person, moved so that a hand's reach of the first is never left."""
    motion = second.motion
    there = first.motion.world()[1][:, first.motion.skeleton.index("a:left_upper_arm")]
    here = motion.world()[1][:, motion.skeleton.index("b:right_upper_arm")]
    times = np.arange(motion.n_frames) / motion.rate
    drift = 0.12 * waves(stream(seed, "beside"), times, 3, 0.05, 0.3)
    shift = there + (SHOULDERS_APART, 0.0, 0.0) + drift - here
    shift[:, 2] = 0.0
    return replace(second, motion=replace(motion, root=motion.root + shift))
