from .capture import (
    Performance as Performance,
    SensorPerformance as SensorPerformance,
    Truth as Truth,
    act as act,
    perform as perform,
    sense as sense,
)
from .disturb import (
    Jump as Jump,
    Slipped as Slipped,
)
from .human_performer import human as human
from .instruments import (
    Placement as Placement,
    markers as markers,
    placement as placement,
    sensors as sensors,
)
from .joint_coordinates import (
    Dof as Dof,
    dofs as dofs,
    joint_angles as joint_angles,
    n_dofs as n_dofs,
)
from .motions import (
    Act as Act,
    Script as Script,
    TrueContact as TrueContact,
    exercise as exercise,
    sequence as sequence,
    swing_walk as swing_walk,
)
from .other_performers import (
    TABLE_1 as TABLE_1,
    ball as ball,
    hand as hand,
    hinge as hinge,
    linkage as linkage,
    quadruped as quadruped,
)
from .performers import scaled as scaled
from .steps import (
    chicken_walk as chicken_walk,
    kicks as kicks,
    walk as walk,
)
