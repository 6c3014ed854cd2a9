from .joint_moments import (
    CUTOFF_RATE as CUTOFF_RATE,
    JointMoments as JointMoments,
    check_loaded as check_loaded,
    find_moments as find_moments,
)
from .newton_euler import (
    JointLoads as JointLoads,
    joint_loads as joint_loads,
)
from .segment_inertia import (
    Inertias as Inertias,
    segment_inertias as segment_inertias,
)
