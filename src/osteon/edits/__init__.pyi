from .edits_json import (
    SUFFIX as SUFFIX,
    Edit as Edit,
    Edits as Edits,
    RecordingId as RecordingId,
    Settings as Settings,
    by_stage as by_stage,
    decode_edits as decode_edits,
    digest as digest,
    edits_path as edits_path,
    placed_on as placed_on,
    read_edits as read_edits,
    write_edits as write_edits,
)
from .limit_edits import (
    SetKind as SetKind,
    SetLimits as SetLimits,
)
from .model import Place3 as Place3
from .motion_draft import MotionDraft as MotionDraft
from .motion_edits import (
    MotionEdit as MotionEdit,
    SetPlant as SetPlant,
    SetPose as SetPose,
    compact_of as compact_of,
    pose_at as pose_at,
)
from .recording_edits import (
    Cut as Cut,
    Draft as Draft,
    Fill as Fill,
    Filter as Filter,
    RecordingEdit as RecordingEdit,
    SwapLabels as SwapLabels,
)
from .replay import (
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
    Assign as Assign,
    Place as Place,
    SetParent as SetParent,
    SetRoot as SetRoot,
)
