"""Compiled scanner of decimal numbers; imported only for large files."""

import numpy as np

from osteon.maths import kernel

POWERS = 10.0 ** np.arange(23)
"""Powers of ten that a double holds exactly; with a whole number below 2⁵³ one product or
quotient is then rounded correctly, as ``float`` would."""
MOST = 1 << 53


@kernel
def scan(text, values):  # pragma: no cover - compiled
    """Fill ``values`` from ``text``; how many, or −1 where anything but a plain decimal stands."""
    count, i, n = 0, 0, len(text)
    while True:
        while i < n and (text[i] == 32 or 9 <= text[i] <= 13):
            i += 1
        if i == n:
            return count
        negative = text[i] == 45
        if negative or text[i] == 43:
            i += 1
        whole, places, digits = 0, 0, 0
        point = False
        while i < n and (48 <= text[i] <= 57 or (text[i] == 46 and not point)):
            if text[i] == 46:
                point = True
            else:
                whole = whole * 10 + (text[i] - 48)
                digits += 1
                places += point
                if whole > MOST:
                    return -1
            i += 1
        if digits == 0 or places > 22 or (i < n and text[i] > 32):
            return -1
        value = whole / POWERS[places]
        values[count] = -value if negative else value
        count += 1
