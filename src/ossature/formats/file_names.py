"""Names of people and takes as names of files."""

import unicodedata
from urllib.parse import quote

PLAIN = " ()+,=@[]"
"""Kept as they are, besides letters, digits and ``_.-~``; all else becomes ``%`` and its bytes."""


def file_name(text: str) -> str:
    """Any text as the name of one file in the folder at hand, two texts never the same one."""
    # file systems take letters composed in other ways for the same: only one way is kept
    letters = unicodedata.is_normalized("NFC", text)
    name = "".join(c if letters and c.isalnum() else quote(c, safe=PLAIN) for c in text) or "%"
    return "%2E" + name[1:] if name.startswith(".") else name
