from . import (
    _quat_kernel as _quat_kernel,
    chain as chain,
    circular as circular,
    euler as euler,
    quat as quat,
    rigid as rigid,
    robust as robust,
    rotations as rotations,
    swing_twist as swing_twist,
    two_axes as two_axes,
    zyz as zyz,
)
from ._chain_kernel import forward_pose as forward_pose
from ._quat_kernel import (
    between as between,
    cross as cross,
    dot as dot,
    exp as exp,
    inverse as inverse,
    multiply as multiply,
    rotate as rotate,
)
from .chain import (
    forward_kinematics as forward_kinematics,
    place_points as place_points,
    point_jacobian as point_jacobian,
)
from .circular import (
    TURN as TURN,
    unwrap as unwrap,
)
from .compiled import (
    FAST_MATH as FAST_MATH,
    kernel as kernel,
)
from .over_frames import runs as runs, solve_banded as solve_banded
from .procrustes import generalised_procrustes as generalised_procrustes
from .rigid import (
    AXIS as AXIS,
    FULL as FULL,
    RigidFit as RigidFit,
    fit_bodies as fit_bodies,
    fit_rigid as fit_rigid,
)
from .robust import (
    NORMAL as NORMAL,
    SMOOTH_ORDER as SMOOTH_ORDER,
    noise_gain as noise_gain,
    noise_of_differences as noise_of_differences,
    white_noise as white_noise,
)
from .rotations import Spread as Spread
