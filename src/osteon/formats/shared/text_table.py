"""Numbers in text and the labels over them, as TRC, TSV, CSV and BVH files hold them.

Rows are read one by one, blocks in bulk, and found again by line when a number is wrong. A label
may say by a prefix whose marker it is: ``Ann:LASI``.
"""

import re
import warnings
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from osteon.errors import FormatError
from osteon.typing import Array
from osteon.values import Recording

CELLS = re.compile(r"[\s,;]+")
BOM = b"\xef\xbb\xbf"
"""Bytes that some programs put before UTF-8."""
DECIMAL_COMMA = re.compile(rb"(?<=\d),(?=\d)")
START_BYTES = 4096
"""Bytes in which a table's header begins; chosen: a page of remarks may stand above it."""
LARGE_BYTES = 4 << 20
"""Bytes from which a compiled scanner is loaded; chosen: loading takes about half a second."""
LARGEST_NUMBER = 1e12
"""In any unit; chosen: a thousand kilometres in micrometres. No length or angle is larger; beyond,
a number is a damaged one."""
NOBODY = re.compile(r"un-?label|unnamed|uname|\*|(l|r|left|right)$", re.IGNORECASE)
"""Prefixes that mean "nobody's" or a side, not a subject."""


def read_lines(path: Path) -> list[str]:
    """Return a text file's lines, whatever ends them; old code pages keep one letter a byte."""
    data = parted_by_commas(path, path.read_bytes())
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def parted_by_commas(path: Path, data: bytes) -> bytes:
    """Return a CSV file's bytes with commas between cells and points in numbers.

    Spreadsheets of most languages write semicolons between cells and a comma in numbers.
    """
    if path.suffix.lower() != ".csv":
        return data
    rows = data[:START_BYTES].removeprefix(BOM).splitlines()
    head = next((row for row in rows if row.strip() and not row.startswith(b"#")), b"")
    if b";" not in head or b"," in head:
        return data
    return DECIMAL_COMMA.sub(b".", data).replace(b";", b",")


def perhaps_cut(lines: Sequence[str]) -> tuple[str, ...]:
    """Return a sentence where a table ends without a line end, in a number that may have lost
    digits.

    As many decimals as the three numbers before it have show that it is whole.
    """
    cells = CELLS.split(lines[-1].strip()) if lines else []
    if len(cells) < 2:
        return ()
    *before, last = [len(cell.partition(".")[2]) for cell in cells[-4:]]
    if last and set(before) == {last}:
        return ()
    shown = cells[-1][-24:]
    return (
        f"the last line does not end: if the file was cut short, its last number, {shown}, "
        "lacks digits",
    )


def number_rows(
    path: Path,
    lines: Sequence[str],
    first: int,
    delimiter: str,
    n_columns: int,
    promised: int | None = None,
) -> Array:
    """Return numbers (n_rows, n_columns) of all lines from ``lines[first]`` on that are not empty.

    A blank cell is NaN; blank cells beyond the last column are ignored.
    """
    of_promised = "" if promised is None else f" of {promised} promised"
    places = [i for i in range(first, len(lines)) if lines[i] and not lines[i].isspace()]
    rows = []  # grown row by row: a table made beforehand could be far larger than the file
    for place in places:
        cells = split_cells(lines[place], delimiter)
        if len(cells) < n_columns or "".join(cells[n_columns:]).strip():
            raise FormatError(
                path,
                f"expected {n_columns} columns, found {len(cells)}; "
                f"{len(rows)} whole frames before it{of_promised}",
                f"line {place + 1}",
            )
        try:
            rows.append(np.array(numbers(cells[:n_columns])))
        except ValueError as error:
            raise FormatError(path, f"expected numbers, {error}", f"line {place + 1}") from None
    return np.array(rows).reshape(-1, n_columns)


def check_frames(path: Path, promised: int, found: int) -> tuple[str, ...]:
    """Compare the header's count of frames with the rows that are there.

    Files shortened by hand are common and every row they have is good, so they are read, with a
    sentence about it. A file that was cut fails earlier: its last row is not whole.
    """
    if not found:
        raise FormatError(path, f"the header promises {promised} frames, found none")
    if promised == found:
        return ()
    return (f"the header promises {promised} frames, {found} are there",)


def frame_number(value: float, default: int) -> int:
    """Return the number of a frame; the default where doubles hold none so large."""
    return int(value) if abs(value) < 2**53 else default


def split_cells(line: str, delimiter: str) -> list[str]:
    """Return the cells of a line; one without the delimiter is taken to be parted by spaces."""
    return line.split(delimiter) if delimiter in line else line.split()


def numbers(cells: Sequence[str]) -> list[float]:
    """Return cells as numbers, NaN for blank ones."""
    try:
        return [float(cell) for cell in cells]
    except ValueError:
        return [float(cell) if cell and not cell.isspace() else np.nan for cell in cells]


def without_zeros(points: Array) -> tuple[Array, tuple[str, ...]]:
    """Return points (n_frames, n_points, 3) at exactly 0, 0, 0 as gaps, and a sentence if there
    were any.

    Many programs write what was not seen as zeros; no camera measures an exact zero three times.
    """
    zero = (points == 0.0).all(axis=-1)
    if not zero.any():
        return points, ()
    points = np.where(zero[..., None], np.nan, points)
    return points, (f"{int(zero.sum())} points at exactly 0, 0, 0 were read as missing",)


def number_or_nan(text: str | bytes) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan


def positive_number(path: Path, text: str, what: str, place: str = "") -> float:
    """Return a header entry that must be a number above zero."""
    value = number_or_nan(text)
    if not (np.isfinite(value) and value > 0.0):
        raise FormatError(path, f"{what} must be a positive number, got {text[:40]!r}", place)
    return value


def whole_number(path: Path, text: str, what: str, place: str = "") -> int:
    """Return a header entry that must be a count."""
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise FormatError(path, f"{what} must be a whole number, got {text[:40]!r}", place)
    return int(text)


def unique_labels(names: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return names, repeated ones with a number behind, and a sentence if there were any."""
    counts = Counter(names)
    repeated = [name for name, count in counts.items() if count > 1]
    if not repeated:
        return tuple(names), ()
    taken, used, unique = set(names), Counter(), []
    for name in names:
        label = name
        used[name] += 1
        while used[name] > 1 and label in taken:
            label = f"{name}_{used[name]}"
            used[name] += label in taken
        taken.add(label)
        unique.append(label)
    return tuple(unique), (f"repeated names got a number: {', '.join(repeated[:8])}",)


def unused_name(name: str, taken: Container[str]) -> str:
    """Return a name that nothing else has: underscores behind it where it is taken."""
    while name in taken:
        name += "_"
    return name


def unused_names(names: Iterable[str], taken: Iterable[str] = ()) -> list[str]:
    """Return names of which none is another's, or taken; see :func:`unused_name`."""
    found = dict.fromkeys(taken)
    n_taken = len(found)
    for name in names:
        found[unused_name(name, found)] = None
    return list(found)[n_taken:]


def parse_numbers(path: Path, block: bytes, first_line: int) -> Array:
    """Return all numbers (n_values,) between blanks in a block that starts on ``first_line``."""
    values = _parse_fast(block) if len(block) >= LARGE_BYTES else None
    if values is None:
        values = _parse_any(block)
    if values is None or not is_sane(values):
        raise _bad_number(path, block, first_line)
    return values


def is_sane(values: ArrayLike) -> bool:
    """Return whether all are finite and of a size that a measure can have."""
    return bool(np.all(np.abs(values) <= LARGEST_NUMBER))


def _parse_fast(block: bytes) -> Array | None:
    """Return the common case, plain decimals, rounded exactly as ``float`` does; else None."""
    from osteon.formats.shared._text_table_kernel import scan

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
            if not is_sane(number_or_nan(word)):
                told = f"expected a number, got {word[:24].decode('latin-1')!r}"
                if block.endswith(word):
                    told += ", where the file ends: cut short? copy it again from its source"
                return FormatError(path, told, f"line {number}")
    return FormatError(path, "the numbers cannot be read", f"from line {first_line}")


def label_prefixes(labels: Iterable[str]) -> dict[str, str]:
    """Return subject by prefix, as the labels' own colons tell."""
    found = [label.partition(":")[0] for label in labels if ":" in label[1:]]
    return {f"{name}:": name for name in dict.fromkeys(found) if not NOBODY.match(name)}


def split_labels(labels: Iterable[str], known: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return of each label the subject, by its longest prefix, and the name that is left.

    The subject is empty where there is no prefix.
    """
    sizes = sorted({len(prefix) for prefix in known}, reverse=True)
    found = []
    for label in labels:
        size = next((size for size in sizes if label[:size] in known), 0)
        found.append((known[label[:size]], label[size:].strip() or label) if size else ("", label))
    return found


def by_subject(recording: Recording) -> tuple[Recording, ...]:
    """Return one recording for each of several subjects; labels without a prefix are nobody's."""
    known = label_prefixes(recording.names)
    if len(known) < 2:
        return (recording,)
    parted = split_labels(recording.names, known)
    columns: dict[str, list[int]] = {subject: [] for subject in (*known.values(), "")}
    for column, (subject, _) in enumerate(parted):
        columns[subject].append(column)
    return tuple(
        _part(recording, own, [parted[column][1] for column in own], subject)
        for subject, own in columns.items()
        if own
    )


def _part(recording: Recording, columns: list[int], labels: list[str], subject: str) -> Recording:
    names, _ = unique_labels(labels)
    told = zip(names, columns, strict=True)
    return replace(
        recording,
        positions=recording.positions[:, columns],
        names=names,
        subject=subject,
        residuals=None if recording.residuals is None else recording.residuals[:, columns],
        outputs=frozenset(n for n, column in told if recording.names[column] in recording.outputs),
    )
