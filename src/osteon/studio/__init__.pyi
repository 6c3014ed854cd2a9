from .document import OpenTake as OpenTake, Revisions as Revisions, rig_row as rig_row
from .messages import (
    Live as Live,
    Pose as Pose,
    Problem as Problem,
)
from .replies import (
    Asked as Asked,
    answer as answer,
    say_changed as say_changed,
    say_opened as say_opened,
)
from .server import (
    Studio as Studio,
    address as address,
    bind as bind,
    open_in_browser as open_in_browser,
    serve as serve,
    warm as warm,
)
