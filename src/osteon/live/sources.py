"""Which source a word on the command line names."""

from pathlib import Path

from osteon.errors import BadValue
from osteon.live.file_source import Replay
from osteon.live.frame_source import Stream
from osteon.live.udp import UdpStream, split_address


def open_stream(
    source: str, *, rate: float = 120.0, silence: float = 10.0, subject: str | None = None
) -> Stream:
    """A stream from ``udp://HOST:PORT``, ``qtm://HOST[:PORT]`` or a file."""
    scheme, found, address = source.partition("://")
    if not found:
        if not Path(source).exists():
            raise BadValue(
                f"{source!r} is no file; a stream is a file, udp://HOST:PORT or qtm://HOST"
            )
        return Replay(source, subject=subject)
    if scheme == "udp":
        return UdpStream(*split_address(address), rate=rate, silence=silence)
    if scheme == "qtm":
        from osteon.live.qtm import PORT, QtmStream

        host, port = split_address(address) if ":" in address else (address, PORT)
        return QtmStream(host, port, silence=silence)
    raise BadValue(f"{scheme}:// is unknown; a stream is a file, udp://HOST:PORT or qtm://HOST")
