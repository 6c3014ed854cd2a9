from .adjustment import (
    Adjustment as Adjustment,
    FramePoses as FramePoses,
    adjust as adjust,
)
from .covariances import NextMarker as NextMarker
from .fit_subject import (
    Calibration as Calibration,
    align_frames as align_frames,
    calibrate as calibrate,
    calibrate_blind as calibrate_blind,
    skeleton_of as skeleton_of,
)
from .frame_choice import (
    count_different as count_different,
    farthest_frames as farthest_frames,
    spread_frames as spread_frames,
    varied_frames as varied_frames,
)
from .guess import Guess as Guess
from .joint_evidence import with_hinges as with_hinges
from .pose_start import start_poses as start_poses
from .priors import Beliefs as Beliefs
from .riders import add_riders as add_riders
from .scatter import (
    START_MARKER_SIGMA as START_MARKER_SIGMA,
    Scatter as Scatter,
)
from .soles import (
    FootSole as FootSole,
    find_soles as find_soles,
    still_markers as still_markers,
)
from .subject_model import SubjectModel as SubjectModel
from .template_guess import (
    guess_from_template as guess_from_template,
    rest_model as rest_model,
)
