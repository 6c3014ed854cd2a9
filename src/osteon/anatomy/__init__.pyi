from .anatomical_frames import find_segments as find_segments
from .angle_axes import joint_axes as joint_axes
from .anomalies import (
    AnomalyFindings as AnomalyFindings,
    learn as learn,
)
from .clinical_angles import (
    CONVENTIONS as CONVENTIONS,
    AngleChannel as AngleChannel,
    ClinicalAngles as ClinicalAngles,
    angles_between as angles_between,
    find_angles as find_angles,
)
from .default_pose import (
    body_size as body_size,
    bone_lengths as bone_lengths,
    other_side as other_side,
)
from .fewer_numbers import (
    FewerAngles as FewerAngles,
    fewer_angles as fewer_angles,
)
from .frame_recipes import Segment as Segment, WornMarkers as WornMarkers
from .limb_frames import (
    Normalised as Normalised,
    limb_reaches as limb_reaches,
    normalise as normalise,
)
from .movement_axes import (
    MovementAxes as MovementAxes,
    axes as axes,
    main_directions as main_directions,
    movement_of as movement_of,
)
from .parameters import (
    edited as edited,
    limb_points as limb_points,
    parameterise as parameterise,
)
