from .onto_character import OntoCharacter as OntoCharacter
from .pose_watch import (
    AngleSender as AngleSender,
    PoseWatch as PoseWatch,
    angles_of as angles_of,
)
from .run_stream import run_live as run_live
from .sources import (
    Replay as Replay,
    UdpStream as UdpStream,
    open_stream as open_stream,
    packet_of as packet_of,
    split_address as split_address,
)
from .stage import Stage as Stage
from .vmc import VmcSender as VmcSender
