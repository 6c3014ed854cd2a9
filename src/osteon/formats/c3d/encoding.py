"""Numbers as the three kinds of processor stored them: Intel, DEC and MIPS."""

from dataclasses import dataclass

import numpy as np

BLOCK_BYTES = 512
"""Bytes of a block, defined by C3D: everything in a file begins at a whole number of them."""


@dataclass(frozen=True)
class Processor:
    """How a kind of machine writes numbers."""

    name: str
    order: str
    """``<`` when the low byte comes first, ``>`` when the high byte does."""
    dec_floats: bool = False

    def integers(self, data: bytes | memoryview, count: int = -1, offset: int = 0) -> np.ndarray:
        """Signed 16-bit integers."""
        return np.frombuffer(data, f"{self.order}i2", count, offset)

    def floats(self, data: bytes | memoryview, count: int = -1, offset: int = 0) -> np.ndarray:
        """32-bit floats."""
        if self.dec_floats:
            return dec_floats(np.frombuffer(data, "<u4", count, offset))
        return np.frombuffer(data, f"{self.order}f4", count, offset)


def dec_floats(words: np.ndarray) -> np.ndarray:
    """VAX F floats, read as little-endian 32-bit words, as IEEE floats.

    The 16-bit halves are exchanged and the exponent counts from 129 instead of 127, so exchanging
    the halves gives four times the number. An exponent of zero means zero.
    """
    swapped = (words >> np.uint32(16)) | (words << np.uint32(16))
    numbers = swapped.view(np.float32)
    # all exponent bits set is an ordinary number for DEC and infinity for IEEE: scale bits there
    huge = (swapped & np.uint32(0x7F800000)) == np.uint32(0x7F800000)
    zero = (swapped & np.uint32(0x7F800000)) == 0
    if huge.any():
        smaller = (swapped - np.uint32(2 << 23)).view(np.float32)
        return np.where(zero, np.float32(0), np.where(huge, smaller, _quarter(numbers, huge)))
    return np.where(zero, np.float32(0), numbers * np.float32(0.25))


def _quarter(numbers: np.ndarray, huge: np.ndarray) -> np.ndarray:
    return np.where(huge, np.float32(0), numbers) * np.float32(0.25)


INTEL = Processor("Intel", "<")
DEC = Processor("DEC", "<", dec_floats=True)
MIPS = Processor("MIPS", ">")
PROCESSORS = {84: INTEL, 85: DEC, 86: MIPS}
"""By the code in the fourth byte of the parameter section."""
