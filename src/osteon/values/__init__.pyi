from .array_checks import (
    frozen as frozen,
    handed_over as handed_over,
    in_rows as in_rows,
    read_only as read_only,
    unit_quaternions as unit_quaternions,
    with_columns as with_columns,
)
from .force_plates import (
    STANDING_FORCE as STANDING_FORCE,
    ForcePlate as ForcePlate,
    GroundReaction as GroundReaction,
    plate_axes as plate_axes,
)
from .joints import (
    Advice as Advice,
    Connection as Connection,
    Joints as Joints,
)
from .limits import (
    Bind as Bind,
    Cone as Cone,
    Evidence as Evidence,
    Interval as Interval,
    Limits as Limits,
    Region as Region,
)
from .motion import (
    CompactMotion as CompactMotion,
    Motion as Motion,
    movement_parameters as movement_parameters,
)
from .recording import (
    Analog as Analog,
    Attachment as Attachment,
    Bodies as Bodies,
    Event as Event,
    Mark as Mark,
    Recording as Recording,
    Slip as Slip,
    Source as Source,
    Swap as Swap,
    event_sentence as event_sentence,
)
from .skeleton import (
    Body as Body,
    Frame as Frame,
    GlidePath as GlidePath,
    Joint as Joint,
    Loop as Loop,
    Marker as Marker,
    MarkerPlaces as MarkerPlaces,
    Movement as Movement,
    Skeleton as Skeleton,
    level_spline as level_spline,
    without_gaps as without_gaps,
)
from .skin import (
    CARRIERS as CARRIERS,
    SkinnedMesh as SkinnedMesh,
)
from .take import (
    KIND_FIELDS as KIND_FIELDS,
    Origin as Origin,
    Passport as Passport,
    Take as Take,
)
from .tracker_field import (
    TrackerField as TrackerField,
    smooth_terms as smooth_terms,
    term_degrees as term_degrees,
)
