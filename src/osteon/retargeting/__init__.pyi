from .attach import (
    Attachments as Attachments,
    check_size as check_size,
    find_bends as find_bends,
    neck_and_head as neck_and_head,
    own_attachments as own_attachments,
    refine as refine,
    size_ratio as size_ratio,
    transfer as transfer,
)
from .carry import (
    alike as alike,
    carry_poses as carry_poses,
    pose_points as pose_points,
    proportions as proportions,
    without_partner as without_partner,
)
from .corrections import (
    Corrections as Corrections,
    read_corrections as read_corrections,
)
from .dynamics import (
    Simulated as Simulated,
    Simulation as Simulation,
)
from .flips import without_flips as without_flips
from .pins import (
    Keep as Keep,
    Pins as Pins,
    pin_holds as pin_holds,
    pin_keeps as pin_keeps,
    slide_and_depth as slide_and_depth,
    stand as stand,
    with_pins as with_pins,
)
from .springs import (
    Bends as Bends,
    Rest as Rest,
    Settle as Settle,
    bent_posture as bent_posture,
    equilibrium as equilibrium,
    firm_bounds as firm_bounds,
    let_go_and_settle as let_go_and_settle,
    posture_weights as posture_weights,
)
from .standard_figure import (
    average_figure as average_figure,
    checked_height as checked_height,
    estimated_height as estimated_height,
    height_by_legs as height_by_legs,
)
from .stream_character import StreamCharacter as StreamCharacter
from .unslid_feet import unslid as unslid
