from .coordinator import (
    Done as Done,
    batch as batch,
    watch as watch,
)
from .places import BatchOptions as BatchOptions
from .subject_takes import (
    sample_markers as sample_markers,
    solve_markers as solve_markers,
)
