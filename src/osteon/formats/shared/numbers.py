"""Blocks of numbers in text files: parsed in bulk, found again by line when one is wrong."""

import warnings
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from osteon.errors import FormatError
from osteon.typing import Array

LARGE = 4 << 20
"""From this many bytes a compiled scanner earns the time of loading it."""
LARGEST = 1e12
"""No length or angle in any unit is larger; beyond, a number is a damaged one."""


def parse_numbers(path: Path, block: bytes, first_line: int) -> Array:
    """All numbers of a block of white-space separated text, (n_values,).

    Parameters
    ----------
    path, first_line
        The file, and the number of the line on which the block starts, for error messages.
    """
    values = _parse_fast(block) if len(block) >= LARGE else None
    if values is None:
        values = _parse_any(block)
    if values is None or not is_sane(values):
        raise _bad_number(path, block, first_line)
    return values


def is_sane(values: ArrayLike) -> bool:
    """Whether all are finite and of a size that a measure can have."""
    return bool(np.all(np.abs(values) <= LARGEST))


def _parse_fast(block: bytes) -> Array | None:
    """The common case, plain decimals, rounded exactly as ``float`` does; else None."""
    from osteon.formats.shared.number_scanner import scan

    values = np.zeros(len(block) // 2 + 1)
    count = scan(np.frombuffer(block, dtype=np.uint8), values)
    return values[:count].copy() if count >= 0 else None


def _parse_any(block: bytes) -> Array | None:
    with warnings.catch_warnings():
        # numpy says "could not be read to its end" with a warning and returns what came before
        warnings.simplefilter("error", DeprecationWarning)
        try:
            return np.fromstring(block, sep=" ") if block.strip() else np.zeros(0)
        except (DeprecationWarning, ValueError):
            return None


def _bad_number(path: Path, block: bytes, first_line: int) -> FormatError:
    for number, line in enumerate(block.split(b"\n"), first_line):
        for word in line.split():
            try:
                good = is_sane(float(word))
            except ValueError:
                good = False
            if not good:
                shown = word[:24].decode("latin-1")
                return FormatError(path, f"expected a number, got {shown!r}", f"line {number}")
    return FormatError(path, "the numbers cannot be read", f"from line {first_line}")
