from .looping import (
    LoopEnds as LoopEnds,
    in_place as in_place,
    loop as loop,
)
from .mirror_image import mirrored as mirrored
from .root_bone import (
    root_on_ground as root_on_ground,
    with_root_bone as with_root_bone,
)
from .timing import (
    resample as resample,
    trim as trim,
)
