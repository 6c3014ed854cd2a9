from .edits_json import (
    SUFFIX as SUFFIX,
    Edit as Edit,
    Edits as Edits,
    RecordingId as RecordingId,
    Settings as Settings,
    by_stage as by_stage,
    decode_edits as decode_edits,
    edits_path as edits_path,
    placed_on as placed_on,
    read_edits as read_edits,
    write_edits as write_edits,
)
from .findings import (
    Finding as Finding,
    FindingKind as FindingKind,
    KeepFinding as KeepFinding,
    find_gaps as find_gaps,
    pops_and_slides as pops_and_slides,
    repaired_samples as repaired_samples,
    right_samples as right_samples,
    suspicious_samples as suspicious_samples,
)
from .label_edits import (
    SetLabel as SetLabel,
    said_labels as said_labels,
)
from .model import Place3 as Place3
from .motion_edits import (
    Ease as Ease,
    MotionDraft as MotionDraft,
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
    Patch as Patch,
    RecordingEdit as RecordingEdit,
    SwapLabels as SwapLabels,
)
from .replay import (
    SOLVE_SETTINGS as SOLVE_SETTINGS,
    as_solved as as_solved,
    describe_motion as describe_motion,
    describe_rig as describe_rig,
    edit_motion as edit_motion,
    edit_take as edit_take,
    give_labels as give_labels,
    glue_markers as glue_markers,
    options_of as options_of,
    pose_rig as pose_rig,
    solve_edited as solve_edited,
    turn_upright as turn_upright,
    wants_labels as wants_labels,
)
from .rig_edits import (
    Assign as Assign,
    Place as Place,
    SetKind as SetKind,
    SetLimits as SetLimits,
    SetParent as SetParent,
    SetRoot as SetRoot,
)
from .sensor_edits import (
    check_sensor_edit as check_sensor_edit,
    find_sensor_joints as find_sensor_joints,
    sensor_points as sensor_points,
    solve_sensors as solve_sensors,
)
