from . import (
    _quat_kernel as _quat_kernel,
    chain as chain,
    euler as euler,
    quat as quat,
    rigid as rigid,
    rotations as rotations,
)
from ._quat_kernel import (
    between as between,
    cross as cross,
    dot as dot,
    exp as exp,
    forward_pose as forward_pose,
    inverse as inverse,
    multiply as multiply,
    rotate as rotate,
)
from ._small_matrices import (
    invert_lower as invert_lower,
    times as times,
    turned as turned,
)
from .assignment import assign as assign
from .chain import (
    forward_kinematics as forward_kinematics,
    place_points as place_points,
    point_jacobian as point_jacobian,
    untwisted_joints as untwisted_joints,
)
from .chances import f_quantile as f_quantile
from .compiled import (
    FAST_MATH as FAST_MATH,
    is_ready as is_ready,
    kernel as kernel,
    read_only as read_only,
)
from .distances import distances_between as distances_between
from .least_squares import non_negative as non_negative
from .moving_windows import (
    moving_least as moving_least,
    moving_mean as moving_mean,
)
from .nearest import Nearest as Nearest
from .over_frames import (
    NORMAL_RATIO as NORMAL_RATIO,
    SMOOTH_ORDER as SMOOTH_ORDER,
    blocks as blocks,
    low_pass as low_pass,
    mad_scale as mad_scale,
    noise_gain as noise_gain,
    noise_of_differences as noise_of_differences,
    runs as runs,
    weighted_median as weighted_median,
    white_noise as white_noise,
)
from .rigid import (
    AXIS as AXIS,
    FULL as FULL,
    RigidFit as RigidFit,
    fit_bodies as fit_bodies,
    fit_rigid as fit_rigid,
    generalised_procrustes as generalised_procrustes,
)
from .rotations import (
    TURN as TURN,
    Spread as Spread,
    unwrap as unwrap,
)
