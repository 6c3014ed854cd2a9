"""What every stage does to a recording before it is used; and the same steps by hand."""

import shlex
from collections.abc import Sequence
from dataclasses import replace

import msgspec

from osteon.cleaning.filters import smooth
from osteon.cleaning.gaps import fill as fill_gaps
from osteon.cleaning.odd_recordings import oddities
from osteon.cleaning.size import check_size
from osteon.cleaning.spikes import remove_spikes
from osteon.cleaning.swaps import find_swaps, repair_swaps
from osteon.cleaning.up_axis import upright
from osteon.human import Landmark, recognise
from osteon.threads import one_thread
from osteon.values import Recording, Swap


def prepare(
    recording: Recording, found: dict[str, Landmark] | None = None, *, repair: bool = True
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
    """
    if found is None:
        known = recognise(recording.names)
        found = {} if known is None else known[1]
    check_size(recording, found)
    turned = upright(recording, found)
    noted = _note(turned, [_tell_oddity(turned, *odd) for odd in oddities(turned, found)])
    if not repair:
        return noted, ()
    swaps = find_swaps(noted)
    repaired = tuple(msgspec.structs.replace(swap, repaired=True) for swap in swaps)
    return remove_spikes(repair_swaps(noted, swaps)), repaired


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
