from .body_source import (
    PoseNoise as PoseNoise,
    bodies_of as bodies_of,
    cluster_noise as cluster_noise,
    read_clusters as read_clusters,
    scale_factor as scale_factor,
)
from .centre import Link as Link, fit_pairs as fit_pairs
from .closed_loops import close_loops as close_loops
from .find_joints import (
    GroupJoint as GroupJoint,
    joints as joints,
    joints_of_groups as joints_of_groups,
    solve as solve,
)
from .finish import FinishedJoint as FinishedJoint, finish_joints as finish_joints
from .found_skeleton import (
    Limb as Limb,
    limb_table as limb_table,
    play_back as play_back,
    play_back_together as play_back_together,
    table_text as table_text,
)
from .hierarchy import in_doubt as in_doubt
from .holds import holds_between as holds_between
from .requirements import advise_motion as advise_motion
from .segmentation import (
    segment as segment,
    tell_one_body as tell_one_body,
    track as track,
)
from .statistics import JointStatistics as JointStatistics
from .subjects import subjects_of as subjects_of
from .summed import (
    Sums as Sums,
    joints_of_sums as joints_of_sums,
    joints_of_take as joints_of_take,
)
