from .moved_markers import (
    MarkerPlaces as MarkerPlaces,
    find_replaced as find_replaced,
)
from .same_person import compare as compare
from .take_check import (
    TakeFindings as TakeFindings,
    hold_against as hold_against,
)
