"""Trees that change in time: a racket taken up, partners, clasped hands, people side by side.

    python benchmarks/accuracy_trees.py              all scenes, 40 seeds
    python benchmarks/accuracy_trees.py racket clasp some of them; SEEDS=8 for fewer seeds, 40-79
                                                     for others; SKIN=1; -v tells what is wrong
    python benchmarks/accuracy_trees.py sensors      without the rows from clusters of markers

Replaces its section in docs/numbers/accuracy.md when all scenes were run.
"""

import os
import sys
from collections.abc import Callable
from dataclasses import replace

import accuracy_page as page
import msgspec
import numpy as np

from osteon import synth
from osteon.articulation import bodies_of, joints, play_back
from osteon.synth import PlayedScene
from osteon.values import Attachment, Bodies, Joints, Motion, Take

QUIET = {"noise": 0.001, "orientation_noise": 0.005}
SKINS = (0.0, 0.3, 1.0)
NEAR_FRAMES = 5
"""Frames by which a hold's ends may be off: issue 20."""


def exercise():
    return synth.exercise(15, rate=60, together=True)


def held(seed: int) -> tuple[int, int]:
    """Another part of the take for every seed, 4 to 7 s long."""
    rng = np.random.default_rng([seed, 7])
    first = int(rng.integers(150, 350))
    return first, first + int(rng.integers(240, 420))


def person(seed: int, clasp: tuple[int, int] | None = None):
    return synth.act(synth.human(), exercise(), seed=seed, clasp=clasp)


def clasped(seed: int) -> PlayedScene:
    done = person(seed, held(seed))
    return PlayedScene((done,), done.clasps)


def handed_over(seed: int) -> PlayedScene:
    return synth.with_racket(person(seed), held(seed), lies=True, seed=seed)


SCENES: dict[str, tuple[str, Callable[[int], PlayedScene]]] = {
    "racket": (
        "racket held for a while, wandering else",
        lambda seed: synth.with_racket(person(seed), held(seed), seed=seed),
    ),
    "lying": ("racket held for a while, lying still else", handed_over),
    "firm": (
        "racket held so firmly that it moves with the hand",
        lambda seed: synth.with_racket(person(seed), held(seed), firm=True, lies=True, seed=seed),
    ),
    "partners": (
        "two people, hand in hand for a while",
        lambda seed: synth.partners(exercise(), held(seed), seed=seed),
    ),
    "clasp": ("hands clasped for a while", clasped),
    "three": ("three people", lambda seed: synth.crowd(exercise(), 3, seed=seed)),
}


def joined(found: Joints) -> set[frozenset[str]]:
    return {frozenset((k.parent, k.child)) for k in found.connections if k.kind != "free"}


def tree_right(found: Joints, scene: PlayedScene) -> tuple[bool, bool]:
    """Whether every joint is right; and whether those are that are not called ambiguous."""
    certain = {
        frozenset((k.parent, k.child))
        for k in found.connections
        if k.kind != "free" and not k.ambiguous
    }
    return joined(found) == scene.joined, certain <= scene.joined


def holds_right(found: Joints, scene: PlayedScene) -> bool:
    told = [event for event in found.events if isinstance(event, Attachment)]
    loops = [loop for loop in found.loops if getattr(loop, "frames", None) is None]
    if len(told) != len(scene.holds) or loops:
        return False
    return all(
        frozenset(one.bodies) == frozenset(other.bodies)
        and np.abs(np.subtract(one.frames, other.frames)).max() <= NEAR_FRAMES
        for one, other in zip(told, scene.holds, strict=True)
    )


def widest_gap(motion: Motion, found: Joints) -> float:
    """Metres between the two ends of a hold in the motion, while it is told to last."""
    gaps = [0.0]
    skeleton = motion.skeleton
    for event in found.events:
        if isinstance(event, Attachment):
            ends = [skeleton.index(name) for name in event.bodies]
            places = np.array([event.in_first, event.in_second]) - skeleton.joints_in_bodies[ends]
            points = motion.points(ends, places)[event.frames[0] : event.frames[1] + 1]
            gaps.append(float(np.linalg.norm(points[:, 0] - points[:, 1], axis=-1).max()))
    return max(gaps)


def take(scene: PlayedScene, seed: int, skin: float) -> Bodies:
    return synth.sense_scene(scene, seed=seed, skin=skin, **QUIET)


def from_markers(name: str, skin: float, seeds: range) -> list[object]:
    """Clusters of four markers instead of sensors; bodies are known by what most of them wear."""
    label, make = SCENES[name]
    right, gaps = 0, []
    for seed in seeds:
        scene = synth.in_clusters(make(seed))
        recording = synth.perform_scene(scene, seed=seed, skin=skin, noise=0.0005)
        moving = bodies_of(Take(recordings=(recording,)))
        found = moving.told(joints(moving.bodies, noise=moving.noise))
        worn = {body: found.markers[body][0].name[:-1] for body in found.names}
        told = [
            msgspec.structs.replace(event, bodies=(worn[event.bodies[0]], worn[event.bodies[1]]))
            for event in found.events
            if isinstance(event, Attachment)
        ]
        loops = [loop for loop in found.loops if getattr(loop, "frames", None) is None]
        right += not loops and holds_right(replace(found, events=tuple(told), loops=()), scene)
        gaps.append(1000 * widest_gap(play_back(moving.bodies, found), found))
    return [f"{label}, from markers", skin, "", "", right, f"{max(gaps):.2f}", len(seeds)]


def row(name: str, skin: float, seeds: range) -> list[object]:
    label, make = SCENES[name]
    right, certain, holds, gaps = 0, 0, 0, []
    for seed in seeds:
        scene = make(seed)
        bodies = take(scene, seed, skin)
        found = joints(bodies)
        whole, sure = tree_right(found, scene)
        right, certain = right + whole, certain + sure
        ends = holds_right(found, scene)
        holds += ends
        gaps.append(1000 * widest_gap(play_back(bodies, found), found))
        if "-v" in sys.argv and not (whole and ends):
            told = [(e.bodies, e.frames) for e in found.events if isinstance(e, Attachment)]
            wrong = [tuple(pair) for pair in joined(found) ^ scene.joined]
            truth = [(hold.bodies, hold.frames) for hold in scene.holds]
            print(" ", name, skin, seed, "tree", wrong, "holds", told, "truth", truth, flush=True)
            print("    loops", [(x.bodies, getattr(x, "frames", None)) for x in found.loops])
    return [label, skin, right, certain, holds, f"{max(gaps):.2f}", len(seeds)]


def asked_seeds() -> range:
    first, _, last = os.environ.get("SEEDS", "40").rpartition("-")
    return range(int(first), int(last) + 1) if first else range(int(last))


def section(names: list[str], seeds: range) -> str:
    skins = [float(each) for each in os.environ.get("SKIN", "").split()] or list(SKINS)
    wearing = [row] if "sensors" in sys.argv else [row, from_markers]
    rows = []
    for name in names:
        for skin in skins:
            for judged in wearing:
                rows.append(judged(name, skin, seeds))
                print(rows[-1], flush=True)
    head = ["scene", "skin", "tree right", "certain joints right", "holds right"]
    head += ["widest gap, mm", "of"]
    return f"""\
`python benchmarks/accuracy_trees.py`. Sensors of 1 mm and 0.3° on every body, 15 s at 60 Hz,
all joints moving, seeds {seeds[0]} to {seeds[-1]}; the hold begins and ends elsewhere in every
seed. *Tree right*: exactly the true joints, nobody joined to anybody else. *Certain joints right*:
those that are not called ambiguous. *Holds right*: exactly the true pair, first and last frame
within {NEAR_FRAMES} frames, no other loop. *Widest gap*: between both ends of a hold in the motion,
while it lasts. Skin 1 is the median person's.

{page.table(head, rows)}"""


def main() -> None:
    asked = [word for word in sys.argv[1:] if word in SCENES]
    text = section(asked or list(SCENES), asked_seeds())
    if not asked:
        page.put_section("Joints: trees that change in time", text)


if __name__ == "__main__":
    main()
