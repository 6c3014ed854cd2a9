from ._kernels.levenberg_marquardt import Status as Status, sweep as sweep
from .contacts import (
    FEET as FEET,
    GROUND_DISTANCE as GROUND_DISTANCE,
    LOW_HEIGHT as LOW_HEIGHT,
    NEARBY_TIME as NEARBY_TIME,
    STANDING_SPEED as STANDING_SPEED,
    STANDSTILL_SPEED as STANDSTILL_SPEED,
    Contact as Contact,
    GroundPlane as GroundPlane,
    Plant as Plant,
    Sole as Sole,
    Standing as Standing,
    contacts_of as contacts_of,
    ends_on_ground as ends_on_ground,
    feet_without_length as feet_without_length,
    find_soles as find_soles,
    find_standing as find_standing,
    sole_paths as sole_paths,
    soles_off as soles_off,
    standing_of as standing_of,
)
from .first_pose import (
    has_evidence as has_evidence,
    on_joints as on_joints,
    universal_angles as universal_angles,
)
from .inverse_kinematics import (
    PulledPose as PulledPose,
    reach as reach,
)
from .per_frame import (
    PoseOptions as PoseOptions,
    PoseProblem as PoseProblem,
    PoseResult as PoseResult,
    repeat_nearest as repeat_nearest,
    solve_frames as solve_frames,
)
from .rig import (
    IN_BODY as IN_BODY,
    Rig as Rig,
    RigTree as RigTree,
    compile_rig as compile_rig,
    rig_on as rig_on,
)
from .solve_poses import (
    REFERENCE_RATE as REFERENCE_RATE,
    SUDDEN_TURN as SUDDEN_TURN,
    SolveResult as SolveResult,
    SuddenTurn as SuddenTurn,
    all_sudden_turns as all_sudden_turns,
    limbs_of as limbs_of,
    rms_of_seen as rms_of_seen,
    rms_per_marker as rms_per_marker,
    solve as solve,
    steady as steady,
    sudden_turns as sudden_turns,
)
from .stances import (
    FootSlide as FootSlide,
    Stance as Stance,
    farthest_slides as farthest_slides,
    find_stances as find_stances,
    slid_by as slid_by,
    slides_of as slides_of,
)
from .stream import (
    Follower as Follower,
    FramePose as FramePose,
    warm_up as warm_up,
)
from .toes_on_ground import bend_toes as bend_toes
from .whole_take import (
    SmoothResult as SmoothResult,
    smooth_frames as smooth_frames,
)
