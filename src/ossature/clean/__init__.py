"""Recording → Recording: cuts, swaps, spikes, gaps, filters.

Every step returns a new recording with one line more in its ``history``; the old one is unchanged,
so going back is keeping it. A step that finds nothing to do returns the recording itself.
"""

from ossature.clean.cuts import blank, cut
from ossature.clean.filters import smooth
from ossature.clean.gaps import Gap, fill, find_gaps
from ossature.clean.spikes import find_spikes, remove_spikes
from ossature.clean.stage import clean, put_right
from ossature.clean.swaps import find_swaps, repair_swaps

__all__ = [
    "Gap",
    "blank",
    "clean",
    "cut",
    "fill",
    "find_gaps",
    "find_spikes",
    "find_swaps",
    "put_right",
    "remove_spikes",
    "repair_swaps",
    "smooth",
]
