"""Names of people and takes as names of files."""

import hashlib
import unicodedata
from urllib.parse import quote

PLAIN = " ()+,=@[]"
"""Kept as they are, besides letters, digits and ``_.-~``; all else becomes ``%`` and its bytes."""
LONGEST = 160
"""Bytes of a name: file systems take 255, and others may put something before and behind."""


def file_name(text: str) -> str:
    """Any text as the name of one file in the folder at hand, two texts never the same one."""
    # file systems take letters composed in other ways for the same: only one way is kept
    letters = unicodedata.is_normalized("NFC", text)
    parts = [c if letters and c.isalnum() else quote(c, safe=PLAIN) for c in text] or ["%"]
    parts[0] = "%2E" if parts[0] == "." else parts[0]
    name = "".join(parts)
    return name if len(name.encode()) <= LONGEST else _shortened(parts, text)


def _shortened(parts: list[str], text: str) -> str:
    """The beginning, and what tells the whole from all others with the same beginning."""
    tail = "%~" + hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:32]
    while len("".join(parts).encode()) > LONGEST - len(tail):
        parts = parts[:-1]
    return "".join(parts) + tail
