"""Draw one walk on four characters, docs/pictures/map_characters.svg, and print how they stand.

python docs/tools/make_map_pictures.py
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import osteon as ost
from osteon import synth
from osteon.human import figure_at_rest
from osteon.maths import quat
from osteon.pipeline import Solved
from osteon.posing import Standing, find_soles, find_standing, sole_paths
from osteon.retargeting import average_figure, slide_and_depth
from osteon.synth import scaled
from osteon.values import Motion, Skeleton

PICTURE = Path(__file__).parents[1] / "pictures" / "map_characters.svg"
POSES, EVERY = 8, 0.42
"""How many poses, and seconds between them."""
SCALE = 180.0
"""Pixels per metre."""
WIDTH, MARGIN = 900.0, 46.0
COLOURS = {"left": "#3b7dd8", "right": "#d8663b", "": "#555b66"}
NAMES = {"thigh": "UpLeg", "shin": "Leg", "foot": "Foot", "upper_arm": "Arm", "forearm": "ForeArm"}
"""The creature's bones are called as a game's are."""


@dataclass(frozen=True)
class Character:
    title: str
    solved: Solved
    standing: Standing


def characters() -> Iterator[Character]:
    take = synth.perform(synth.human(), synth.walk(4.0), noise=0.001, seed=1)
    recording = ost.Take(recordings=(take.recording,))
    rigs: dict[str, Skeleton | str] = {
        "the performer's own rig": take.truth.skeleton,
        "the average figure, as tall as the performer": "figure",
        "a child of 1.2 m": average_figure(1.2),
        "a creature with long arms and short legs": creature(),
    }
    for title, rig in rigs.items():
        solved = ost.map_to(recording, rig)
        motion = solved.motion
        standing = find_standing(motion, find_soles(figure_at_rest(motion.skeleton)))
        yield Character(title, solved, standing)


def creature() -> Skeleton:
    """The average figure with arms 1.7 times as long, legs three quarters, and other names."""
    sizes = {"upper_arm": 1.7, "forearm": 1.7, "hand": 1.5, "thigh": 0.75, "shin": 0.75}
    figure = average_figure(1.75)
    factors = {name: sizes.get(name.partition("_")[2], 1.0) for name in figure.names}
    grown = scaled(figure, factors)
    bodies = [
        replace(body, name=_called(body.name), parent=body.parent and _called(body.parent))
        for body in grown.bodies
    ]
    return replace(grown, bodies=tuple(bodies), subject="creature")


def _called(name: str) -> str:
    side, _, part = name.partition("_")
    return f"{side.title()}{NAMES.get(part, part.title())}" if part else name.title()


def draw(all_of_them: list[Character]) -> str:
    rows, below = [], 30.0
    for each in all_of_them:
        motion = each.solved.motion
        frames = [round(i * EVERY * motion.rate) for i in range(POSES)]
        tall = max(max(one[2], other[2]) for _, _, one, other in bones(motion, frames))
        low = each.standing.ground.offset
        below += SCALE * float(tall - low) + 34.0
        rows += row(each, frames, below)
        below += 12.0
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:.0f} {below:.0f}" '
        'font-family="sans-serif" font-size="14">'
    )
    return "\n".join([head, '<rect width="100%" height="100%" fill="#ffffff"/>', *rows, "</svg>\n"])


def row(each: Character, frames: list[int], below: float) -> list[str]:
    """One character's poses over its ground, seen from its right."""
    motion, ground = each.solved.motion, each.standing.ground
    start = float(motion.root[frames[0], 1])

    def at(point: np.ndarray) -> tuple[float, float]:
        up = point[2] - float(ground.height(point))
        return MARGIN + 60.0 + SCALE * (point[1] - start), below - 18.0 - SCALE * up

    lines = [
        f'<text x="{MARGIN:.0f}" y="{below:.1f}" fill="#333">{each.title}</text>',
        f'<path d="M{MARGIN:.0f} {below - 18:.1f}H{WIDTH - MARGIN:.0f}" stroke="#999"/>',
    ]
    for side, thick, one, other in bones(motion, frames):
        (x0, y0), (x1, y1) = at(one), at(other)
        lines.append(
            f'<path d="M{x0:.1f} {y0:.1f}L{x1:.1f} {y1:.1f}" stroke="{COLOURS[side]}" '
            f'stroke-width="{SCALE * thick:.1f}" stroke-linecap="round" stroke-opacity="0.8"/>'
        )
    for place in planted(each, frames):
        x, y = at(place)
        lines.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="#111"/>')
    return lines


def bones(motion: Motion, frames: list[int]) -> list[tuple[str, float, np.ndarray, np.ndarray]]:
    """Side, thickness and both ends of every bone in every pose, metres."""
    turned, joints = motion.world()
    found = []
    for frame in frames:
        for index, (body, parent) in enumerate(
            zip(motion.skeleton.bodies, motion.skeleton.parents, strict=True)
        ):
            side = next((s for s in ("left", "right") if body.name.lower().startswith(s)), "")
            if parent >= 0:
                found.append((side, 0.035, joints[frame, parent], joints[frame, index]))
            if body.tip is not None:
                arm = quat.rotate(turned[frame, index], body.tip - body.joint.in_body)
                thick = 0.09 if body.name.lower() == "head" else 0.03
                found.append((side, thick, joints[frame, index], joints[frame, index] + arm))
    return found


def planted(each: Character, frames: list[int]) -> Iterator[np.ndarray]:
    """Points of soles that stand in the poses drawn."""
    motion = each.solved.motion
    for sole in each.standing.soles:
        paths, name = sole_paths(motion, sole), motion.skeleton.names[sole.body]
        for plant in each.standing.plants:
            if plant.body == name:
                for frame in frames:
                    if plant.frames[0] <= frame <= plant.frames[1]:
                        yield paths[frame, plant.point]


if __name__ == "__main__":
    drawn = list(characters())
    PICTURE.write_text(draw(drawn), encoding="utf-8")
    lines = ["| character | plants | slide, mm rms | deepest, mm |", "| --- | --: | --: | --: |"]
    for each in drawn:
        slide, depth = slide_and_depth(each.solved.motion, each.standing)
        count = len(each.solved.contacts)
        deep = 1e3 * max(depth, 0.0)
        lines.append(f"| {each.title} | {count} | {1e3 * slide:.2f} | {deep:.2f} |")
    sys.stdout.write("\n".join(lines) + "\n")
