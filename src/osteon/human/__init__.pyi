from .anthropometry import (
    BODY_MASS_INDEX as BODY_MASS_INDEX,
    MARKER_RADIUS as MARKER_RADIUS,
    MARKER_STANDOFF as MARKER_STANDOFF,
    body_masses as body_masses,
    bone_lengths as bone_lengths,
    davis_hip as davis_hip,
    hip_centres as hip_centres,
    standing_height as standing_height,
)
from .bone_names import (
    OWN as OWN,
    BoneNames as BoneNames,
    known_names as known_names,
    load_names as load_names,
    plain_name as plain_name,
    recognise_names as recognise_names,
)
from .finger_bones import (
    ABOVE_JOINTS as ABOVE_JOINTS,
    BONE_COUNT as BONE_COUNT,
    FINGERS as FINGERS,
    Finger as Finger,
    is_finger as is_finger,
)
from .joint_words import (
    JointWords as JointWords,
    direction_word as direction_word,
    is_along_axis as is_along_axis,
    is_flanked as is_flanked,
    split_side as split_side,
    words_for_joint as words_for_joint,
    words_for_spot as words_for_spot,
)
from .knee_device import (
    DEVICE_LABELS as DEVICE_LABELS,
    with_knee_markers as with_knee_markers,
)
from .marker_sets import (
    MarkerSet as MarkerSet,
    another_fits_better as another_fits_better,
    explain_misfit as explain_misfit,
    explain_unrecognised as explain_unrecognised,
    known_sets as known_sets,
    landmark_names as landmark_names,
    load_set as load_set,
    parse_set as parse_set,
    recognise as recognise,
    scale_of as scale_of,
    with_hands as with_hands,
)
from .parts import (
    chain_between as chain_between,
    find_parts as find_parts,
    name_parts as name_parts,
)
from .recognised_set import (
    Recognition as Recognition,
    Unlike as Unlike,
    recognise_shape as recognise_shape,
)
from .renaming import (
    Naming as Naming,
    naming_of as naming_of,
    own_names as own_names,
    rename as rename,
    rename_bodies as rename_bodies,
    rename_take as rename_take,
)
from .standing_figure import (
    NEXT as NEXT,
    StandingFigure as StandingFigure,
    figure_at_rest as figure_at_rest,
)
from .template import (
    Human as Human,
    Landmark as Landmark,
    TemplateBody as TemplateBody,
    human as human,
)
