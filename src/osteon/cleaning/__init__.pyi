from .bar_walk import (
    FieldWalk as FieldWalk,
    field_of_bar as field_of_bar,
    metres_per_reported as metres_per_reported,
    without_field as without_field,
)
from .displaced import (
    displaced_samples as displaced_samples,
    without_displaced as without_displaced,
)
from .gaps import fill as fill
from .odd_recordings import (
    mend as mend,
    oddities as oddities,
    other_side as other_side,
)
from .preparation import (
    RightSamples as RightSamples,
    check_range as check_range,
    clean as clean,
    prepare as prepare,
    smooth as smooth,
)
from .size_and_up import check_size as check_size, upright as upright
from .spikes import find_spikes as find_spikes, remove_spikes as remove_spikes
from .swaps import (
    find_swaps as find_swaps,
    repair_swaps as repair_swaps,
    swaps_text as swaps_text,
)
