from .looping import (
    LoopEnds as LoopEnds,
    in_place as in_place,
    loop as loop,
)
from .mirror_image import mirrored as mirrored
from .timing import (
    resample as resample,
    trim as trim,
)
