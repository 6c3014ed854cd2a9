from .cuts import (
    blank as blank,
    check_range as check_range,
    cut as cut,
)
from .gaps import (
    Gap as Gap,
    fill as fill,
    find_gaps as find_gaps,
)
from .odd_recordings import (
    mend as mend,
    oddities as oddities,
)
from .preparation import (
    clean as clean,
    prepare as prepare,
    smooth as smooth,
)
from .size_and_up import check_size as check_size, upright as upright
from .spikes import (
    find_spikes as find_spikes,
    remove_spikes as remove_spikes,
)
from .swaps import (
    find_swaps as find_swaps,
    repair_swaps as repair_swaps,
    swaps_text as swaps_text,
)
