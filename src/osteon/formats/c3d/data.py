"""The frames themselves: coordinates, residuals and analog samples."""

from dataclasses import dataclass, replace

import numpy as np

from osteon.formats.c3d.encoding import Processor
from osteon.formats.c3d.layout import Layout
from osteon.formats.c3d.parameters import C3dParameters
from osteon.typing import Array
from osteon.values import Analog

PLACEHOLDER_SIZE = 1e8
"""Coordinates this large stand for "not seen", in whatever unit: 100 kilometres in millimetres.
Chosen: below the −1e9 that SIMI writes, beyond all millimetres or metres of a room."""
UNSEEN_BIT = 0x8000
"""Code in the fourth word of a point that was not seen, defined by C3D: its sign bit."""
RESIDUAL_BITS = 0xFF
"""Bits of the fourth word that hold the residual, defined by C3D; the others name the cameras."""


@dataclass(frozen=True)
class Points:
    """Points in the file's own unit and axes."""

    raw: np.ndarray
    """(n_frames, n_points, 3) as stored."""
    factor: float
    """Turns ``raw`` into the file's unit: 1 for floats."""
    seen: np.ndarray
    """(n_frames, n_points)"""
    residuals: Array | None
    """(n_frames, n_points) in the file's unit, NaN where neither ``seen`` nor ``zeros``; None where
    the file has none."""
    zeros: np.ndarray
    """(n_frames, n_points) at exactly 0, 0, 0 and not flagged: a gap of a marker, a value of a
    model output."""
    words: Array | None
    """(n_frames, n_points) the fourth words, where the above do not tell them."""


def decode_frames(
    data: memoryview, layout: Layout, processor: Processor
) -> tuple[np.ndarray, np.ndarray]:
    """Points (n_frames, n_points, 4) and analog samples (n_frames, n_analog), as stored."""
    width = 4 * layout.n_points + layout.n_analog
    decode = processor.floats if layout.is_float else processor.integers
    if width == 0:
        return np.zeros((layout.n_frames, 0, 4)), np.zeros((layout.n_frames, 0))
    table = decode(data, layout.n_frames * width, layout.start).reshape(layout.n_frames, width)
    split = 4 * layout.n_points
    return table[:, :split].reshape(layout.n_frames, layout.n_points, 4), table[:, split:]


def decode_points(table: np.ndarray, scale: float, problems: list[str]) -> Points:
    """Which points were seen, and how well, from the fourth word of each."""
    raw, codes = table[..., :3], _codes(table[..., 3])
    flagged = (codes & UNSEEN_BIT).astype(bool)
    placed = _placed(raw, problems)
    factor = 1.0 if scale < 0.0 else scale
    zeros = ~(flagged | _anywhere(raw))
    if flagged.size and flagged.all() and placed.any():
        problems.append("every point is flagged as not seen; the coordinates were taken as real")
        return Points(raw, factor, placed, None, zeros, None)
    seen = placed & ~flagged
    residuals = (codes & RESIDUAL_BITS) * abs(scale)
    residuals[~(seen | zeros)] = np.nan
    return Points(raw, factor, seen, residuals, zeros, _more_than(table[..., 3], codes, flagged))


def _more_than(words: np.ndarray, codes: np.ndarray, flagged: np.ndarray) -> Array | None:
    """The fourth words, where they tell more than a residual and −1 for what was not seen."""
    plain = np.where(flagged, -1, codes & RESIDUAL_BITS)
    return None if np.array_equal(words, plain) else words.astype(np.float64)


def words_that_hold(words: Array, codes: Array) -> Array:
    """(n_frames, n_points) fourth words of before where they say of a sample what is known of it
    now, ``codes``: its residual in steps, −1 for a gap; else these."""
    before = _codes(words)
    said = np.where(before & UNSEEN_BIT, -1, before & RESIDUAL_BITS)
    return np.where(np.isfinite(words) & (said == codes), words, codes)


def _codes(words: np.ndarray) -> np.ndarray:
    """The fourth words as integers; what no 16-bit integer can be counts as 0, seen."""
    if words.dtype.kind == "i":
        return words.astype(np.int32)
    low, high = words.min(initial=0.0), words.max(initial=0.0)
    if not (low >= -UNSEEN_BIT and high < 2 * UNSEEN_BIT):
        words = np.where((words >= -UNSEEN_BIT) & (words < 2 * UNSEEN_BIT), words, 0.0)
    return words.astype(np.int32)


def _placed(raw: np.ndarray, problems: list[str]) -> np.ndarray:
    """Which points have a place: neither exactly zero, nor NaN, nor a placeholder."""
    x, y, z = raw[..., 0], raw[..., 1], raw[..., 2]
    placed = _anywhere(raw)
    if raw.dtype.kind == "i":
        return placed
    fits = _below_placeholder(x) & _below_placeholder(y) & _below_placeholder(z)
    far = int(np.isfinite(raw[~fits]).all(axis=-1).sum()) if not fits.all() else 0
    if far:
        problems.append(f"{far} points lie beyond {PLACEHOLDER_SIZE:g} units; taken as not seen")
    return placed & fits


def _anywhere(raw: np.ndarray) -> np.ndarray:
    """Which points are not at exactly 0, 0, 0."""
    return (raw[..., 0] != 0) | (raw[..., 1] != 0) | (raw[..., 2] != 0)


def _below_placeholder(values: np.ndarray) -> np.ndarray:
    return np.abs(values) < PLACEHOLDER_SIZE


def decode_analog(
    table: np.ndarray, parameters: C3dParameters, rate: float, ratio: int, *, is_float: bool
) -> Analog | None:
    """Channels in their own units: (stored − offset) · scale · general scale."""
    n_frames, n_values = table.shape
    if n_values == 0 or n_frames == 0:
        return None
    used = parameters.count("ANALOG", "USED") or 0
    n_channels = next(
        n for n in (used, n_values // max(ratio, 1), n_values) if n > 0 and n_values % n == 0
    )
    per_frame = n_values // n_channels
    stored = table.reshape(n_frames * per_frame, n_channels)
    if _is_unsigned(parameters) and not is_float:
        stored = stored.astype(np.int32) & 0xFFFF
    values = _scaled(stored, parameters)
    analog = Analog(values, *channel_names(parameters, n_channels), rate * per_frame)
    if stored_analog(analog, parameters) is None:
        return replace(analog, stored=stored)
    return analog


def channel_names(
    parameters: C3dParameters, n_channels: int
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names and units of analog channels."""
    names = parameters.texts("ANALOG", "LABELS")[:n_channels]
    names += [f"channel_{i + 1}" for i in range(len(names), n_channels)]
    units = (parameters.texts("ANALOG", "UNITS") + [""] * n_channels)[:n_channels]
    return tuple(names), tuple(units)


def stored_analog(analog: Analog, parameters: C3dParameters) -> np.ndarray | None:
    """Samples (n_samples, n_channels) as float32 that ``parameters`` scale to just these values."""
    if analog.stored is not None:
        candidates = [analog.stored]
    else:
        factor, offset = _factors(parameters, len(analog.names))
        with np.errstate(all="ignore"):
            plain = analog.values / factor
            # adding −0 leaves the sign of a zero, adding 0 does not
            offsets = (np.where(each, each, -0.0) for each in (offset, _as_unsigned(offset)))
            candidates = [plain + each for each in offsets]
    for candidate in candidates:
        stored = candidate.astype(np.float32)
        values = _scaled(stored, parameters)
        if np.array_equal(values, analog.values, equal_nan=True):
            return stored
    return None


def _scaled(stored: np.ndarray, parameters: C3dParameters) -> Array:
    factor, offset = _factors(parameters, stored.shape[1])
    if _is_unsigned(parameters) or stored.max() >= UNSEEN_BIT:
        # samples that need all 16 bits have an offset that does, too
        offset = _as_unsigned(offset)
    return (stored - offset) * factor


def _factors(parameters: C3dParameters, n_channels: int) -> tuple[Array, Array]:
    """Scale and offset of every channel."""
    general = parameters.number("ANALOG", "GEN_SCALE")
    scale = _per_channel(parameters, "SCALE", n_channels, 1.0)
    offset = _per_channel(parameters, "OFFSET", n_channels, 0.0)
    return scale * (1.0 if general is None else general), offset


def _as_unsigned(offset: Array) -> Array:
    return np.where(offset < 0, offset + 2 * UNSEEN_BIT, offset)


def _is_unsigned(parameters: C3dParameters) -> bool:
    return parameters.text("ANALOG", "FORMAT").upper() == "UNSIGNED"


def _per_channel(parameters: C3dParameters, name: str, n_channels: int, default: float) -> Array:
    values = np.full(n_channels, default)
    given = parameters.numbers("ANALOG", name)[:n_channels]
    values[: len(given)] = np.where(np.isfinite(given), given, default)
    return values
