"""Where a value came from: what a file said about itself, kept so that it can be written back."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Source:
    """A file's own conventions. Values never use them; writers may restore them."""

    file: str = ""
    """Name of the file, without folders."""
    format: str = ""
    """Name of the format, such as ``C3D``."""
    detail: str = ""
    """Variant of the format, such as ``Intel float`` or ``Motive 1.25``."""
    software: str = ""
    """Program that wrote the file, where it says so."""
    unit: str = "m"
    """Unit of length in the file."""
    up: str = "z"
    """Axis that points up in the file, ``x``, ``y`` or ``z``."""
    up_known: bool = False
    """Whether the file says which axis is up; else it was assumed or judged from the data."""
    first_frame: int = 0
    """Number the file gives to its first frame."""
    problems: tuple[str, ...] = ()
    """What was odd about the file and how it was read, one sentence each."""
    head: bytes = field(default=b"", repr=False)
    """The file's own head, which only the writer of its format understands: so it can put back what
    no value here has a place for."""
    beyond: tuple[str, ...] = ()
    """What only the head tells, in words."""
