"""The stage as a whole."""

from collections.abc import Sequence

import msgspec

from osteon.cleaning.filters import smooth
from osteon.cleaning.gaps import fill as fill_gaps
from osteon.cleaning.spikes import remove_spikes
from osteon.cleaning.swaps import find_swaps, repair_swaps
from osteon.threads import one_thread
from osteon.values import Recording, Swap


def put_right(recording: Recording) -> tuple[Recording, tuple[Swap, ...]]:
    """Without swaps and spikes, and the swaps that were; gaps stay open, for what is filled in is
    no evidence."""
    found = find_swaps(recording)
    repaired = tuple(msgspec.structs.replace(swap, repaired=True) for swap in found)
    return remove_spikes(repair_swaps(recording, found)), repaired


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
    """A recording without exchanged labels, spikes and gaps. The original is left as it is.

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
