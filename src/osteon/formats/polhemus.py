"""Matrices of one magnetic sensor: four rows of four numbers a frame, the last 0 0 0 1.

The file says neither rate nor unit nor up axis: 100 Hz, metres and z up are assumed.
"""

import re
from pathlib import Path

import numpy as np

from osteon.errors import FormatError
from osteon.formats.registry import Format
from osteon.formats.shared.text_table import number_rows, read_lines
from osteon.maths import quat
from osteon.values import Bodies, Source, Take

ASSUMED_RATE = 100.0
"""Frames per second, which the file does not say; chosen: a round number, and the user is told."""
NUMBER = rb"[-+]?[\d.]+(?:[eE][-+]?\d+)?"
# blanks must part the numbers: else a long run of digits may be split in countless ways
ROW = rb"[ \t]*" + NUMBER + (rb"[ \t]+" + NUMBER) * 3 + rb"[ \t]*\r?\n"
FRAME = re.compile(rb"(?:" + ROW + rb"){3}[ \t]*0[.0]*[ \t]+0[.0]*[ \t]+0[.0]*[ \t]+1[.0]*\s")
TURN_ERROR = 0.05
"""Ratio to unit length by which rows of a rotation may be off it and off right angles; chosen: room
for printed digits, none for another kind of matrix."""


def sniff(head: bytes) -> bool:
    return FRAME.match(head.lstrip()) is not None


def read_polhemus(path: Path) -> Take:
    table = number_rows(path, read_lines(path), 0, "\t", 4)
    if len(table) % 4:
        raise FormatError(
            path, f"{len(table)} rows are no whole number of 4×4 matrices: is the file cut short?"
        )
    poses = table.reshape(-1, 4, 4)
    turns = poses[:, :3, :3]
    error = np.abs(turns @ np.swapaxes(turns, -1, -2) - np.eye(3)).max(axis=(-1, -2))
    straight = np.abs(poses[:, 3] - (0.0, 0.0, 0.0, 1.0)).max(axis=-1)
    bad = np.flatnonzero(
        ~((error < TURN_ERROR) & (straight < TURN_ERROR) & (np.linalg.det(turns) > 0))
    )
    if len(bad):
        raise FormatError(path, "expected a rotation and 0 0 0 1 below it", f"matrix {bad[0] + 1}")
    source = Source(
        file=path.name,
        format="Polhemus",
        problems=(f"the file says neither rate nor unit; {ASSUMED_RATE:g} Hz and metres assumed",),
    )
    bodies = Bodies(
        poses[:, None, :3, 3],
        quat.from_matrix(turns)[:, None],
        ("sensor",),
        ASSUMED_RATE,
        source=source,
    )
    return Take(bodies=(bodies,))


POLHEMUS = Format(
    name="Polhemus matrices",
    suffixes=(".traj",),
    sniff=sniff,
    read=read_polhemus,
    holds=frozenset({"bodies"}),
)
