"""Writing BVH: one root with six channels, three rotations for every other joint.

A node sits at the body's joint and is turned like the body's frame; with all rotations zero the
figure stands in the skeleton's rest pose. Frames turn along with the world: written with z up they
are those of ``skeleton.json``.

A BVH file has no place for its unit and its up axis. Ours tells them by how many decimals it
prints, which no reader minds; other programs print all numbers of a file alike.
"""

import re
from pathlib import Path

import numpy as np

from osteon.errors import WrongContent
from osteon.formats.registry import WriteOptions, check_posed
from osteon.formats.shared.text_table import unused_names
from osteon.formats.shared.units import metres_per, to_z_up, turn_local, turn_points
from osteon.maths import blocks, euler, quat
from osteon.typing import Array
from osteon.values import Motion, Skeleton, Take

ORDER = "zxy"
POSITION = "Xposition Yposition Zposition"
ROTATION = "Zrotation Xrotation Yrotation"
UNIT, UP = "cm", "y"
"""What most programs take for granted."""
LENGTH_DECIMALS = {"m": 9, "cm": 6, "mm": 5, "in": 10}
"""Digits behind the point by unit; chosen: ten nanometres or less, far below anything a camera
sees, and a number of its own for each unit, which tells the unit when a file of ours is read."""
ANGLE_DECIMALS = {"y": 8, "z": 7}
"""Digits of degrees behind the point, by up axis; chosen: fine, and telling the axis."""
OTHER_DECIMALS = 6, 7
"""Digits of angles and of lengths in other conventions, which those who read the file have to
judge; chosen: different from all above."""
UNSAFE = re.compile(r"[\s{}]+")


def bvh_conventions(unit: str | None = None, up: str | None = None) -> dict[str, str]:
    """Return the unit and up axis of a BVH file that was made here, where a user asks for these."""
    return {"unit": unit or UNIT, "up": up or UP}


def read_decimals(length: str, angle: str) -> tuple[str, str] | None:
    """Return unit and up axis of a file of ours with these numbers; None if another wrote it."""
    printed = [len(word.partition(".")[2]) for word in (length, angle)]
    for unit, lengths in LENGTH_DECIMALS.items():
        for up, angles in ANGLE_DECIMALS.items():
            if printed == [lengths, angles]:
                return unit, up
    return None


def write_bvh(path: Path, take: Take, options: WriteOptions) -> None:
    """Write the take's only motion; as the BVH file it came from, else in centimetres and y up."""
    if len(take.motions) != 1:
        raise WrongContent(
            path, f"a BVH file holds one skeleton, there are {len(take.motions)}; write them apart"
        )
    motion = take.motions[0]
    check_posed(motion, path, "BVH")
    own = motion.source if motion.source.format == "BVH" else None
    unit = options.unit or (own.unit if own else UNIT)
    up = options.up or (own.up if own else UP)
    scale, turn = 1.0 / metres_per(unit), quat.inverse(to_z_up(up))
    angles, lengths = OTHER_DECIMALS
    decimals = LENGTH_DECIMALS.get(unit, lengths), ANGLE_DECIMALS.get(up, angles)
    order = _depth_first(motion.skeleton)
    header = _hierarchy(motion, order, scale, turn, decimals[0])
    table, formats = _table(motion, order, scale, turn, decimals)
    row = " ".join(formats) + "\n"
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(header)
        file.write(f"MOTION\nFrames: {motion.n_frames}\nFrame Time: {1.0 / motion.rate:.12g}\n")
        for part in blocks(*table.shape):
            file.writelines(row % tuple(values) for values in table[part].tolist())


def _depth_first(skeleton: Skeleton) -> list[int]:
    """Return bodies in the order in which a BVH file nests them."""
    children: dict[int, list[int]] = {}
    for index, parent in enumerate(skeleton.parents):
        children.setdefault(parent, []).append(index)
    order, todo = [], children[-1]
    while todo:
        order.append(index := todo.pop())
        todo.extend(reversed(children.get(index, [])))
    return order


def _hierarchy(motion: Motion, order: list[int], scale: float, turn: Array, decimals: int) -> str:
    skeleton = motion.skeleton
    parents, bodies = skeleton.parents, skeleton.bodies
    offsets = turn_points(skeleton.offsets * scale, turn)
    # most readers stumble over blanks and brackets
    names = unused_names(UNSAFE.sub("_", name) or "joint" for name in skeleton.names)
    leaves = set(range(len(bodies))) - set(parents)
    lines, nest = ["HIERARCHY"], []

    def vector(values: Array) -> str:
        return " ".join(f"{value:.{decimals}f}" for value in values + 0.0)

    def close(until: int) -> None:
        while nest and nest[-1] != until:
            nest.pop()
            lines.append("\t" * len(nest) + "}")

    for index in order:
        close(parents[index])
        pad = "\t" * len(nest)
        channels = f"6 {POSITION} {ROTATION}" if _slides(motion, index) else f"3 {ROTATION}"
        lines += [
            f"{pad}{'JOINT' if nest else 'ROOT'} {names[index]}",
            f"{pad}{{",
            f"{pad}\tOFFSET {vector(offsets[index])}",
            f"{pad}\tCHANNELS {channels}",
        ]
        nest.append(index)
        tip = bodies[index].tip_from_joint
        if index in leaves or tip is not None:
            tip = np.zeros(3) if tip is None else tip * scale
            lines += [f"{pad}\tEnd Site", f"{pad}\t{{"]
            lines += [f"{pad}\t\tOFFSET {vector(turn_points(tip, turn))}", f"{pad}\t}}"]
    close(-1)
    return "\n".join(lines) + "\n"


def _slides(motion: Motion, index: int) -> bool:
    """Return whether a joint needs position channels: the root, and where bones stretch."""
    if motion.skeleton.parents[index] < 0:
        return True
    if motion.offsets is None:
        return False
    return bool(np.any(motion.offsets[:, index] != motion.skeleton.offsets[index]))


def _table(
    motion: Motion, order: list[int], scale: float, turn: Array, decimals: tuple[int, int]
) -> tuple[Array, list[str]]:
    """Return values (n_frames, n_channels) and how each column is printed."""
    of_length, of_angle = decimals
    channels = [(index, kind) for index in order for kind in ("at", "turn")]
    channels = [each for each in channels if each[1] == "turn" or _slides(motion, each[0])]
    table, formats = np.empty((motion.n_frames, 3 * len(channels))), []
    places = motion.in_parents()
    for slot, (index, kind) in enumerate(channels):
        column = table[:, 3 * slot : 3 * slot + 3]
        if kind == "at":
            np.round(turn_points(places[:, index] * scale, turn), of_length, out=column)
        else:
            turned = turn_local(motion.rotations[:, index], turn)
            np.round(np.degrees(euler.from_quat(turned, ORDER)), of_angle, out=column)
        formats += [f"%.{of_length if kind == 'at' else of_angle}f"] * 3
    table += 0.0  # turns −0 into 0
    return table, formats
