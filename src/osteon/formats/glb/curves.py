"""Animation curves: key times of a file, and values at any time."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from osteon.errors import FormatError
from osteon.formats.glb.schema import Animation, File, Sampler
from osteon.maths import quat
from osteon.typing import Array

WIDTHS = {"translation": "VEC3", "rotation": "VEC4", "scale": "VEC3"}
EVEN_SHARE = 0.02
"""Share of its step by which a key may lie beside an even grid; chosen: room for rounded times, far
from a key that is missing (1)."""
LONE_RATE = 30.0
"""Frames per second of a file with a single key; chosen: a usual one, for such a file shows no
time."""
MOST_RESAMPLED = 36_000
"""Count of frames that unevenly spaced keys may be spread to beyond ten per key; chosen: twenty
minutes at 30 frames per second."""


class Curve(NamedTuple):
    times: Array
    """(n_keys,) seconds, increasing."""
    values: Array
    """(n_keys, 3 or 4); of a cubic spline (n_keys, 3, 3 or 4): tangent in, value, tangent out."""
    interpolation: str


class Clock(NamedTuple):
    times: Array
    """(n_frames,) seconds."""
    rate: float
    problems: tuple[str, ...]


def read_curves(file: File, animation: Animation, nodes: set[int]) -> dict[tuple[int, str], Curve]:
    """Return curves of these nodes by node and path; rotations stay x y z w."""
    curves, clocks = {}, {}
    for number, channel in enumerate(animation.channels):
        key = (channel.target.node, channel.target.path)
        place = f"$.animations[0].channels[{number}]"
        if key[0] not in nodes or key[1] not in WIDTHS:
            continue
        if key in curves:
            raise FormatError(file.path, f"a second channel for the {key[1]} of one node", place)
        if channel.sampler >= len(animation.samplers):
            raise FormatError(file.path, f"there is no sampler {channel.sampler}", place)
        sampler = animation.samplers[channel.sampler]
        if sampler.input not in clocks:  # most channels share theirs
            clocks[sampler.input] = _times(file, sampler.input, place)
        curves[key] = _curve(file, sampler, clocks[sampler.input], WIDTHS[key[1]], place)
    return curves


def _times(file: File, index: int, place: str) -> Array:
    times = file.array(index, "SCALAR")[:, 0]
    if not (np.diff(times) > 0).all():
        raise FormatError(file.path, "times of keys must increase", place)
    return times


def _curve(file: File, sampler: Sampler, times: Array, kind: str, place: str) -> Curve:
    values = file.array(sampler.output, kind)
    per_key = 3 if sampler.interpolation == "CUBICSPLINE" else 1
    if len(times) == 0 or len(values) != per_key * len(times):
        raise FormatError(
            file.path,
            f"{len(times)} keys need {per_key * len(times)} values, got {len(values)}",
            place,
        )
    if per_key == 3:
        values = values.reshape(len(times), 3, -1)
    return Curve(times, values, sampler.interpolation)


def find_clock(path: Path, curves: dict[tuple[int, str], Curve], rate: float | None) -> Clock:
    """Return one time per frame: the keys themselves where they are evenly spaced, else an even
    grid.

    ``rate`` is what the file says about itself, used where its keys agree.
    """
    clocks = {id(curve.times): curve.times for curve in curves.values()}
    keys = np.unique(np.concatenate([*clocks.values()]))
    keys = _merge(keys)
    if len(keys) == 1:
        note = () if rate else (f"a single key; {LONE_RATE:g} frames per second assumed",)
        return Clock(keys, rate or LONE_RATE, note)
    if rate is not None and _is_even(keys, 1.0 / rate):
        return Clock(keys, rate, ())
    span = float(keys[-1] - keys[0])
    if _is_even(keys, span / (len(keys) - 1)):
        return Clock(keys, _round_rate((len(keys) - 1) / span), ())
    rate = _round_rate(1.0 / float(np.median(np.diff(keys))))
    n_frames = int(min(span * rate, 2**40)) + 1
    if n_frames > 10 * len(keys) + MOST_RESAMPLED:
        raise FormatError(
            path, f"{len(keys)} keys are spread over {span:g} s; sample the animation evenly first"
        )
    note = f"keys are not evenly spaced; sampled {rate:g} times per second"
    return Clock(keys[0] + np.arange(n_frames) / rate, rate, (note,))


def sample(curve: Curve, times: Array, *, rotation: bool) -> Array:
    """Return values (n_times, 3), or rotations (n_times, 4) as w x y z; held before and after the
    keys."""
    values = curve.values[..., [3, 0, 1, 2]] if rotation else curve.values
    points = values[:, 1] if curve.interpolation == "CUBICSPLINE" else values
    if len(points) == 1:
        found = np.repeat(points, len(times), axis=0)
    elif np.array_equal(curve.times, times):
        found = points
    else:
        found = _between(curve, values, points, times, rotation=rotation)
    return quat.normalise(found) if rotation else found


def _between(curve: Curve, values: Array, points: Array, times: Array, *, rotation: bool) -> Array:
    left = np.clip(np.searchsorted(curve.times, times, side="right") - 1, 0, len(points) - 2)
    step = curve.times[left + 1] - curve.times[left]
    share = np.clip((times - curve.times[left]) / step, 0.0, 1.0)
    a, b = points[left], points[left + 1]
    if curve.interpolation == "STEP":
        return np.where(share[:, None] < 1.0, a, b)
    if curve.interpolation == "LINEAR":
        if rotation:
            return quat.slerp(quat.normalise(a), quat.normalise(b), share)
        return a + share[:, None] * (b - a)
    t, h = share[:, None], step[:, None]
    out, into = values[left, 2], values[left + 1, 0]
    return (
        (2 * t**3 - 3 * t**2 + 1) * a
        + (t**3 - 2 * t**2 + t) * h * out
        + (3 * t**2 - 2 * t**3) * b
        + (t**3 - t**2) * h * into
    )


def _merge(keys: Array) -> Array:
    """Return keys without those that stand for the same frame and differ by rounding only."""
    if len(keys) < 3:
        return keys
    steps = np.diff(keys)
    return keys[np.concatenate([[True], steps > 1e-3 * np.median(steps)])]


def _is_even(keys: Array, step: float) -> bool:
    grid = keys[0] + step * np.arange(len(keys))
    return bool(np.abs(keys - grid).max() <= EVEN_SHARE * step)


def _round_rate(rate: float) -> float:
    """Return a whole number where the rate is one to the precision of float32 times."""
    return float(round(rate)) if abs(rate - round(rate)) < 1e-4 * rate and rate >= 1 else rate
