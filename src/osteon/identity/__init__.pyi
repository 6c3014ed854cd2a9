from .moved_markers import (
    MarkerFindings as MarkerFindings,
    find_moved_markers as find_moved_markers,
)
from .same_person import (
    compare as compare,
    tell_apart as tell_apart,
)
from .same_places import (
    SAME_PLACES_RMS as SAME_PLACES_RMS,
    compare_places as compare_places,
)
from .take_check import (
    TakeFindings as TakeFindings,
    hold_against as hold_against,
)
