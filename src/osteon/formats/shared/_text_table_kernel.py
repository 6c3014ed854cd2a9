"""Compiled scanner of decimal numbers; imported only for large files."""

import numpy as np

from osteon.maths import kernel

EXACT_POWERS = 10.0 ** np.arange(23)
"""Ratios, powers of ten that a double holds exactly, derived: 5²² is below 2⁵³. With a whole number
below that, one product or quotient is then rounded correctly, as ``float`` would."""
MOST_WHOLE = 1 << 53
"""Count up to which doubles hold every whole number, derived from their 53 bits."""


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
                if whole > MOST_WHOLE:
                    return -1
            i += 1
        if digits == 0 or places > 22 or (i < n and text[i] > 32):
            return -1
        value = whole / EXACT_POWERS[places]
        values[count] = -value if negative else value
        count += 1
