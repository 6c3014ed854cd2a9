from .capture import (
    Performance as Performance,
    Placement as Placement,
    SensorPerformance as SensorPerformance,
    Truth as Truth,
    act as act,
    markers as markers,
    perform as perform,
    placement as placement,
    sense as sense,
    sensors as sensors,
)
from .disturb import (
    Jump as Jump,
    Slipped as Slipped,
)
from .gloves import (
    glove as glove,
    grasps as grasps,
    with_gloves as with_gloves,
)
from .iron_nearby import (
    Iron as Iron,
    walked_bar as walked_bar,
)
from .joint_coordinates import (
    Dof as Dof,
    dofs as dofs,
    joint_angles as joint_angles,
)
from .motions import (
    Act as Act,
    Script as Script,
    TrueContact as TrueContact,
    exercise as exercise,
    sequence as sequence,
    swing_walk as swing_walk,
)
from .performers import (
    TABLE_1 as TABLE_1,
    ball as ball,
    hand as hand,
    hinge as hinge,
    human as human,
    linkage as linkage,
    quadruped as quadruped,
    scaled as scaled,
)
from .scenes import (
    PlayedScene as PlayedScene,
    crowd as crowd,
    in_clusters as in_clusters,
    partners as partners,
    perform_scene as perform_scene,
    racket as racket,
    sense_scene as sense_scene,
    with_racket as with_racket,
)
from .steps import (
    chicken_walk as chicken_walk,
    kicks as kicks,
    walk as walk,
)
