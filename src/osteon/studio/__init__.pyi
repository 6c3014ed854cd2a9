from .document import OpenTake as OpenTake
from .fetched import (
    Asked as Asked,
    answer as answer,
)
from .messages import (
    Live as Live,
    Pose as Pose,
    Problem as Problem,
)
from .replies import (
    say_changed as say_changed,
    say_opened as say_opened,
)
from .revisions import Revisions as Revisions
from .rig_messages import rig_row as rig_row
from .server import (
    Studio as Studio,
    address as address,
    bind as bind,
    open_in_browser as open_in_browser,
    serve as serve,
    warm as warm,
)
