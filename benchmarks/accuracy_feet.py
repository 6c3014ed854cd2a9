"""Feet that stand, and feet that slide; prints what docs/numbers/animation.md says.

DATA=… python accuracy_feet.py [soles] [slides]
"""

import sys
import time
from pathlib import Path

import numpy as np

import osteon as ost
from osteon.errors import OsteonError
from osteon.maths import quat
from osteon.pipeline import fix_feet
from osteon.posing import FootSlide, Plant, Standing, standing_of
from osteon.skinning import make_skin_for
from osteon.values import Motion, SkinnedMesh

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
sys.path.insert(0, str(Path(__file__).parent))
from accuracy_pops import CMU, DATA, OTHERS

from sliding_feet import on_longer_path, quickest_turn, slid

SOLE_FRAMES = 200
"""Frames of each foot that are looked at."""
WITHIN = 0.010
"""Metres from the ground that count as on it."""
FACTORS = (1.0, 0.85, 1.15, 1.4)
MOTIONS = (
    "cmu-02/02_01.bvh", "bvhtoolbox/test_freebvh.bvh", "bvhtoolbox/test_mocapbank.bvh",
    "cmu-asfamc-variants/Swagger.bvh", "cmu-01/01_01.bvh",
)  # fmt: skip
STAND_MM = 5.0


def soles() -> None:
    """The lowest point of a foot's skin above the ground, where a point of its sole stands."""
    print(
        "| take | feet × frames | 5 … 95 % of frames, mm | median | within 10 mm | what is told |"
    )
    print("|---|--:|--:|--:|--:|---|")
    for name in (*CMU, *OTHERS):
        try:
            solved = ost.solve(DATA / name)[0]
        except OsteonError as error:
            print(f"| {name} | refused: {error} |")
            continue
        standing = standing_of(solved.motion)
        heights = lowest(solved.motion, make_skin_for(solved.motion), standing)
        found = [f"{1e3 * np.quantile(heights, share):.0f}" for share in (0.05, 0.95)]
        told = "" if standing.ground.solid else "no one ground"
        within = 100 * np.mean(np.abs(heights) < WITHIN)
        print(f"| {name} | {len(heights)} | {' … '.join(found)} | {1e3 * np.median(heights):.1f} | "
              f"{within:.0f} % | {told} |", flush=True)  # fmt: skip


def lowest(motion: Motion, skin: SkinnedMesh, standing: Standing) -> np.ndarray:
    """Metres above the ground of the lowest vertex of each planted foot."""
    found, names = [np.zeros(0)], motion.skeleton.names
    for sole in standing.soles:
        foot = names[sole.body]
        frames = sorted({
            frame for plant in standing.plants if plant.body == foot
            for frame in range(plant.frames[0], plant.frames[1] + 1)
        })  # fmt: skip
        if not frames:
            continue
        chosen = np.unique(np.linspace(0, len(frames) - 1, SOLE_FRAMES).astype(int))
        bodies = [b for b in range(len(names)) if b == sole.body or below(motion, b, sole.body)]
        own = np.flatnonzero(np.isin(skin.bodies[:, 0], bodies))
        turned, joints = motion.world()
        heights = []
        for frame in np.array(frames)[chosen]:
            places = np.zeros((len(own), 3))
            turns = quat.multiply(turned[frame], quat.inverse(skin.rotations))
            for body, weight in zip(skin.bodies[own].T, skin.weights[own].T, strict=True):
                arms = quat.rotate(turns[body], skin.vertices[own] - skin.joints[body])
                places += weight[:, None] * (arms + joints[frame, body])
            heights.append((places[:, 2] - floor(standing, places, foot, frame)).min())
        found.append(np.array(heights))
    return np.concatenate(found)


def floor(standing: Standing, places: np.ndarray, foot: str, frame: int) -> np.ndarray | float:
    """Height of the ground; where there is no one ground, of what the foot stands on just then."""
    if standing.ground.solid:
        return standing.ground.height(places)
    plants = (each for each in standing.plants if each.body == foot)
    return min(p.place[2] for p in plants if p.frames[0] <= frame <= p.frames[1])


def below(motion: Motion, body: int, above: int) -> bool:
    parent = motion.skeleton.parents[body]
    return parent == above or (parent >= 0 and below(motion, parent, above))


def slides() -> None:
    """``map --feet-only`` on paths that were scaled: by stays of the true motion, and whether those
    that go on lie in steps that it tells of."""
    print("| motion | × | stays: median (most) mm | over 5 mm | told of these | "
          "given, over 5 mm | steps told | largest turn, ° in 1/120 s (given) | s |")  # fmt: skip
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for name in MOTIONS:
        motion = ost.read(DATA / name).motion()
        true = standing_of(motion)
        for factor in FACTORS:
            given = on_longer_path(motion, factor)
            begin = time.process_time()
            fixed = fix_feet(ost.Take(motions=(given,)))
            seconds, mended = time.process_time() - begin, fixed.motion
            before, after = slid(given, true), slid(mended, true)
            far = [stay for stay, mm in zip(true.plants, after, strict=True) if mm > STAND_MM]
            told = sum(any(meets(stay, slide) for slide in fixed.slides) for stay in far)
            print(
                f"| {name} | {factor:g} | {np.median(after):.1f} ({after.max():.1f}) | "
                f"{len(far)} of {len(after)} | {told} | {(before > STAND_MM).sum()} | "
                f"{len(fixed.slides)} | "
                f"{quickest_turn(mended):.0f} ({quickest_turn(given):.0f}) | {seconds:.1f} |",
                flush=True,
            )


def meets(stay: Plant, slide: FootSlide) -> bool:
    """Whether a stay lies, if only partly, in a step of the same foot."""
    (first, last), (begin, end) = stay.frames, slide.frames
    return stay.body == slide.body and first <= end and begin <= last


SECTIONS = {"soles": soles, "slides": slides}

if __name__ == "__main__":
    for chosen in sys.argv[1:] or SECTIONS:
        print(f"[{chosen}]")
        SECTIONS[chosen]()
