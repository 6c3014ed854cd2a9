from . import limits_toml as limits_toml
from ._region_kernel import region_excess as region_excess
from .bind_poses import mid_ranges as mid_ranges
from .drawing import draw_poses as draw_poses
from .find_limits import (
    LimitOptions as LimitOptions,
    limits as limits,
)
from .kinds import (
    Degrees as Degrees,
    KindOptions as KindOptions,
    find_kinds as find_kinds,
)
from .limits_toml import (
    apply_edits as apply_edits,
    read_edits as read_edits,
    write_edits as write_edits,
)
from .ranges import (
    RangeOptions as RangeOptions,
    find_arc as find_arc,
    find_cones as find_cones,
)
from .sampling import denoise as denoise
from .within_limits import (
    HINGE as HINGE,
    REGION as REGION,
    ZYZ as ZYZ,
    Bounds as Bounds,
    beyond as beyond,
    clamp as clamp,
    hold_inside as hold_inside,
    hold_within as hold_within,
    make_bounds as make_bounds,
    nearest_in_ellipse as nearest_in_ellipse,
    nearest_in_polygon as nearest_in_polygon,
    no_bounds as no_bounds,
)
