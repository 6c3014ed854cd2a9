from .cuts import (
    blank as blank,
    check_range as check_range,
    cut as cut,
)
from .filters import smooth as smooth
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
)
from .size import check_size as check_size
from .spikes import (
    find_spikes as find_spikes,
    remove_spikes as remove_spikes,
)
from .swaps import (
    find_swaps as find_swaps,
    repair_swaps as repair_swaps,
    swaps_text as swaps_text,
)
from .up_axis import upright as upright
