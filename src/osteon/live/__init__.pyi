from .run_stream import run_live as run_live
from .sources import Replay as Replay, open_stream as open_stream
from .stage import Stage as Stage
from .udp import (
    UdpStream as UdpStream,
    packet_of as packet_of,
    split_address as split_address,
)
from .vmc import VmcSender as VmcSender
