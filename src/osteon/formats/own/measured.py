"""Limb lengths measured by hand: a CSV of ``limb,cm``, where cm may be m, cm, mm or in."""

import csv
from pathlib import Path

import numpy as np

from osteon.errors import FormatError
from osteon.formats.shared.units import METRES


def read_measured(path: Path) -> dict[str, float]:
    """Limb name → length in metres."""
    try:
        rows = list(csv.reader(path.read_text(encoding="utf-8-sig").splitlines()))
    except (OSError, UnicodeDecodeError) as error:
        raise FormatError(path, "cannot be read as text") from error
    rows = [[cell.strip() for cell in row] for row in rows if row and not row[0].startswith("#")]
    if not rows or len(rows[0]) != 2 or rows[0][0] != "limb" or rows[0][1] not in METRES:
        raise FormatError(path, "must begin with the line limb,cm (or m, mm, in)", "line 1")
    lengths = {}
    for number, row in enumerate(rows[1:], 2):
        try:
            name, value = row[0], float(row[1])
        except (ValueError, IndexError):
            value, name = np.nan, ""
        if not (np.isfinite(value) and value > 0.0):
            raise FormatError(
                path, f"expected a limb and its length, got {','.join(row)!r}", f"row {number}"
            )
        lengths[name] = value * METRES[rows[0][1]]
    return lengths
