from .edits_json import (
    SUFFIX as SUFFIX,
    decode_edits as decode_edits,
    digest as digest,
    edits_path as edits_path,
    read_edits as read_edits,
    write_edits as write_edits,
)
from .model import (
    Assign as Assign,
    Cut as Cut,
    Edit as Edit,
    Edits as Edits,
    Fill as Fill,
    Filter as Filter,
    Place as Place,
    Place3 as Place3,
    RecordingEdit as RecordingEdit,
    RecordingId as RecordingId,
    SetKind as SetKind,
    SetLimits as SetLimits,
    SetParent as SetParent,
    SetPlant as SetPlant,
    SetPose as SetPose,
    SetRoot as SetRoot,
    Settings as Settings,
    SwapLabels as SwapLabels,
    told as told,
)
from .motion_draft import MotionDraft as MotionDraft
from .motion_edits import MotionEdit as MotionEdit
from .pose_by_hand import (
    compact_of as compact_of,
    pose_at as pose_at,
)
from .recording_draft import Draft as Draft
from .replay import (
    SOLVE_SETTINGS as SOLVE_SETTINGS,
    as_solved as as_solved,
    edited_take as edited_take,
    glued as glued,
    options_of as options_of,
    posed_rig as posed_rig,
    solve_edited as solve_edited,
    told_motion as told_motion,
    told_rig as told_rig,
    turned_upright as turned_upright,
    with_motion_edits as with_motion_edits,
)
from .rig_edits import (
    RigEdit as RigEdit,
    check_parent as check_parent,
)
