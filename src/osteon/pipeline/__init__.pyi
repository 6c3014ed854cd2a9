from .analyses import (
    Analyses as Analyses,
    analyse as analyse,
    angles as angles,
    moments as moments,
    watch_poses as watch_poses,
)
from .cleaned_markers import clean_take as clean_take
from .gait_takes import (
    GaitComparison as GaitComparison,
    Walks as Walks,
    compare_with as compare_with,
    feet_seen as feet_seen,
    gait as gait,
    gaits as gaits,
)
from .map_notes import SLIDE_MM as SLIDE_MM
from .map_take import (
    FIGURE as FIGURE,
    MapOptions as MapOptions,
    fix_feet as fix_feet,
    map_to as map_to,
    marker_errors as marker_errors,
)
from .missing_labels import (
    label_tracks as label_tracks,
    labelled_take as labelled_take,
    with_named_tracks as with_named_tracks,
)
from .passports import (
    MOST_FRAMES as MOST_FRAMES,
    keep_axes as keep_axes,
    make_passport as make_passport,
    passports_of as passports_of,
    person_with_axes as person_with_axes,
    write_passports as write_passports,
)
from .several_takes import takes_in_a_row as takes_in_a_row
from .solve_take import (
    calibrate_subject as calibrate_subject,
    prepare_take as prepare_take,
    set_of as set_of,
    solve as solve,
)
from .solved import (
    Solved as Solved,
    SolveOptions as SolveOptions,
)
