from .angles_files import (
    ANGLE_FILES as ANGLE_FILES,
    GAIT_FILES as GAIT_FILES,
    angles_summary as angles_summary,
    angles_text as angles_text,
    deliver_angles as deliver_angles,
    deliver_overview as deliver_overview,
)
from .clean_files import (
    check_holds_markers as check_holds_markers,
    clean_summary as clean_summary,
    clean_text as clean_text,
    write_cleaned as write_cleaned,
)
from .field_files import (
    FIELD_FILES as FIELD_FILES,
    field_summary as field_summary,
    field_text as field_text,
    write_field_files as write_field_files,
)
from .forces_files import (
    deliver_forces as deliver_forces,
    forces_summary as forces_summary,
    forces_text as forces_text,
)
from .gait_files import (
    NO_CYCLE as NO_CYCLE,
    deliver_gait as deliver_gait,
    gait_summary as gait_summary,
    gait_text as gait_text,
)
from .joints_files import (
    joints_summary as joints_summary,
    joints_text as joints_text,
    write_joints as write_joints,
)
from .label_files import (
    label_summary as label_summary,
    label_text as label_text,
    labelled_files as labelled_files,
    write_labelled as write_labelled,
)
from .motion_files import (
    axes_summary as axes_summary,
    axes_text as axes_text,
    deliver_axes as deliver_axes,
    deliver_frames as deliver_frames,
    frames_summary as frames_summary,
    frames_text as frames_text,
    limits_summary as limits_summary,
    limits_text as limits_text,
    write_limits as write_limits,
)
from .pages import (
    has_pages as has_pages,
    show as show,
    show_joints as show_joints,
    view as view,
)
from .report_of_solve import contact_spans as contact_spans, motion_spans as motion_spans
from .solve_files import (
    MOTION_FILES as MOTION_FILES,
    deliver as deliver,
    deliver_fit as deliver_fit,
    fit_text as fit_text,
    map_text as map_text,
    solve_text as solve_text,
    summary_of as summary_of,
    summary_of_fit as summary_of_fit,
    whole_results as whole_results,
)
