"""What every stage does to a recording before it is used; and the steps by hand, curves smoothed
among them.

Smoothing in time is never needed to solve a rig; it is for those who want calm curves.
"""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import msgspec
import numpy as np

from osteon.cleaning.gaps import fill as fill_gaps
from osteon.cleaning.neighbours import marker_runs
from osteon.cleaning.odd_recordings import oddities
from osteon.cleaning.size_and_up import check_size, upright
from osteon.cleaning.spikes import remove_spikes
from osteon.cleaning.swaps import find_swaps, repair_swaps
from osteon.errors import BadValue
from osteon.human import Landmark, recognise
from osteon.maths import low_pass
from osteon.threads import one_thread
from osteon.typing import Array
from osteon.values import Recording, Swap

METHODS = ("butterworth", "spline")
LOWEST_CUTOFF = 0.01
"""Hz. Chosen: a lower cut-off leaves hardly more than a straight line of a take."""


class RightSamples(NamedTuple):
    """Samples that a person has looked at: they are what their labels say, none is a spike."""

    markers: tuple[str, ...]
    first: int
    last: int


def prepare(
    recording: Recording,
    found: dict[str, Landmark] | None = None,
    *,
    repair: bool = True,
    right: Sequence[RightSamples] = (),
) -> tuple[Recording, tuple[Swap, ...]]:
    """Return a recording fit to use: of a possible size, z up, labels right, without spikes.

    What no person is like is noted among its problems. Gaps stay open, for what is filled in is no
    evidence. With it come the swaps that were repaired.

    Parameters
    ----------
    found
        The recording's labels on the average human; None: as far as its labels are of a known set.
    repair
        Put exchanged labels right and take out spikes. Both are judged from frame to frame: not for
        frames with others left out between them.
    right
        Samples that are not repaired, whatever they look like.
    """
    if found is None:
        known = recognise(recording.names)
        found = {} if known is None else known[1]
    check_size(recording, found)
    turned = upright(recording, found)
    noted = _note(turned, [_tell_oddity(turned, *odd) for odd in oddities(turned, found)])
    if not repair:
        return noted, ()
    swaps = [swap for swap in find_swaps(noted) if not _is_right(swap, right)]
    repaired = tuple(msgspec.structs.replace(swap, repaired=True) for swap in swaps)
    return remove_spikes(repair_swaps(noted, swaps), kept=_right_mask(noted, right)), repaired


def _is_right(swap: Swap, right: Sequence[RightSamples]) -> bool:
    """Whether somebody vouches for both markers in some of its frames."""
    first, last = swap.frames
    return any(
        set(swap.markers) <= set(each.markers) and first <= each.last and each.first <= last
        for each in right
    )


def _right_mask(recording: Recording, right: Sequence[RightSamples]) -> np.ndarray | None:
    """(n_frames, n_markers) samples that somebody vouches for; None where nobody does."""
    if not right:
        return None
    mask = np.zeros(recording.seen.shape, dtype=bool)
    for markers, first, last in right:
        columns = [recording.names.index(name) for name in markers if name in recording.names]
        mask[first : last + 1, columns] = True
    return mask


def _tell_oddity(recording: Recording, what: str, mends: Sequence[str]) -> str:
    """Say what no person is like, and the command that mends it."""
    file = recording.source.file
    if not file:
        return f"{what}; mend it where it comes from"
    mended = f"osteon convert {shlex.quote(file)} {shlex.quote(f'mended-{file}')}"
    return f"{what}; mend it with: {mended} {', or '.join(mends)}"


def _note(recording: Recording, told: Sequence[str]) -> Recording:
    """Put more to say about it before all else."""
    before = recording.source.problems
    new = tuple(sentence for sentence in told if sentence not in before)
    return replace(recording, source=replace(recording.source, problems=(*new, *before)))


@one_thread()
def clean(
    recording: Recording,
    *,
    swaps: bool | Sequence[Swap] = True,
    spikes: bool = True,
    fill: str | None = "auto",
    max_gap: float | None = None,
    cutoff: float | None = None,
) -> Recording:
    """Return a recording without exchanged labels, spikes and gaps. The original is left as it is.

    Swaps come first: a short one looks like two spikes. What was done is in ``history``, and the
    same calls on the same recording do the same again.

    Parameters
    ----------
    swaps
        Find and repair exchanged labels; or those that ``find_swaps`` found before.
    spikes
        Take out samples that fly off and come back.
    fill
        How gaps are filled: ``auto``, ``spline``, ``rigid``, ``lowrank``; None leaves them.
    max_gap
        Longer gaps stay open, seconds.
    cutoff
        Low-pass in Hz; None leaves the motion as it is.
    """
    if swaps is not False:
        recording = repair_swaps(recording, None if swaps is True else swaps)
    if spikes:
        recording = remove_spikes(recording)
    if fill is not None:
        recording = fill_gaps(recording, fill, max_gap)
    return recording if cutoff is None else smooth(recording, cutoff)


def smooth(recording: Recording, cutoff: float = 6.0, method: str = "butterworth") -> Recording:
    """Low-pass every marker without lag; gaps stay gaps, and stretches between them are separate.

    Parameters
    ----------
    cutoff
        Frequency in Hz at which half of the power is left.
    method
        ``butterworth`` runs a second-order filter forwards and backwards; ``spline`` is the cubic
        smoothing spline with the same cut-off, gentler at the ends of a stretch.
    """
    if method not in METHODS:
        raise BadValue(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    if not LOWEST_CUTOFF <= cutoff < 0.5 * recording.rate:
        raise BadValue(
            f"cutoff must lie between {LOWEST_CUTOFF} Hz and half the frame rate "
            f"({0.5 * recording.rate:g} Hz), got {cutoff:g} Hz"
        )
    apply = low_pass if method == "butterworth" else _spline
    positions = recording.positions.copy()
    for run in marker_runs(recording.seen):
        if recording.names[run.marker] not in recording.outputs:
            path = positions[run.frames, run.marker]
            positions[run.frames, run.marker] = apply(path, cutoff, recording.rate)
    return recording.with_positions(positions, f"smooth(cutoff={cutoff:g} Hz, method={method})")


def _spline(path: Array, cutoff: float, rate: float) -> Array:
    """The smoothing spline passes 1 / (1 + λω⁴ / rate) of an oscillation."""
    if len(path) < 5:
        return path
    stiffness = (np.sqrt(2.0) - 1.0) * rate / (2.0 * np.pi * cutoff) ** 4
    times = np.arange(len(path)) / rate
    from scipy.interpolate import make_smoothing_spline  # slow to load, rarely asked for

    return make_smoothing_spline(times, path, lam=stiffness, axis=0)(times)


def check_range(n_frames: int, first: int, last: int) -> None:
    """Refuse frames that are not there."""
    if not 0 <= first <= last < n_frames:
        raise BadValue(
            f"frames must lie in 0…{n_frames - 1}, first before last; got {first} to {last}"
        )
