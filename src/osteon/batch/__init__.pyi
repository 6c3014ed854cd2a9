from .batch_options import BatchOptions as BatchOptions
from .coordinator import (
    Done as Done,
    batch as batch,
    watch as watch,
)
from .marker_takes import (
    solve_person as solve_person,
    survey as survey,
)
