from .cycles import (
    CYCLE_POINTS as CYCLE_POINTS,
    Cycle as Cycle,
    cycles_of as cycles_of,
    over_cycle as over_cycle,
)
from .feet_on_plates import (
    FootLoads as FootLoads,
    PlateStep as PlateStep,
    at_frames as at_frames,
    foot_loads as foot_loads,
    loads_of as loads_of,
)
from .foot_events import (
    SIDES as SIDES,
    FootEvent as FootEvent,
    FootPaths as FootPaths,
    Load as Load,
    Side as Side,
    find_events as find_events,
    foot_paths as foot_paths,
    load_times as load_times,
)
from .gait_numbers import (
    UNITS as UNITS,
    numbers_of as numbers_of,
)
from .trials import (
    FEWEST_CYCLES as FEWEST_CYCLES,
    Band as Band,
    CurveDifference as CurveDifference,
    GaitTake as GaitTake,
    NumberSpread as NumberSpread,
    bands_of as bands_of,
    between_takes as between_takes,
    comparable_sides as comparable_sides,
    control_bands as control_bands,
    control_spreads as control_spreads,
    differences_between as differences_between,
    gait_of as gait_of,
    meaning_of as meaning_of,
    spreads_of as spreads_of,
)
