"""How functions are compiled: one decorator, whose cache may fail but never stops anybody."""

import hashlib
import logging
import pickle
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from numba import njit
from numba.core.caching import FunctionCache, IndexDataCacheFile, NullCache

FAST_MATH = {"contract", "reassoc", "nsz", "arcp"}
"""Liberties for sums of products. Neither NaN nor infinity is ruled out: a marker that was not seen
is NaN, and a diverging step must still be seen as not finite."""

_DIGEST = hashlib.sha256().digest_size

_log = logging.getLogger("osteon")


def kernel(function: Callable | None = None, /, **options: Any) -> Any:
    """Compile a function on its first call, without Python's lock, and keep the machine code.

    The code is kept beside the source, else in the user's cache folder, else not at all.
    ``options`` are numba's.
    """
    if function is None:
        return lambda late: kernel(late, **options)
    compiled: Any = njit(nogil=True, **options)(function)
    try:
        compiled._cache = _ForgivingCache(function)
    except (RuntimeError, OSError):  # no folder can be written
        compiled._cache = NullCache()
    return compiled


class _CheckedFile(IndexDataCacheFile):
    """Data with its checksum: machine code that was damaged would not fail, but do anything."""

    def _save_data(self, name: str, data: Any) -> None:
        code = self._dump(data)
        super()._save_data(name, hashlib.sha256(code).digest() + code)

    def _load_data(self, name: str) -> Any:
        data = super()._load_data(name)
        digest, code = data[:_DIGEST], data[_DIGEST:]
        if hashlib.sha256(code).digest() != digest:
            raise ValueError(f"{name} is not what was written")
        return pickle.loads(code)


class _ForgivingCache(FunctionCache):
    """Whatever is wrong with what was kept, or hinders keeping it, costs a compilation only."""

    def __init__(self, function: Callable) -> None:
        super().__init__(function)
        plain = self._cache_file
        self._cache_file = _CheckedFile(
            plain._cache_path, self._impl.filename_base, plain._source_stamp
        )

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception as error:  # a damaged pickle may raise anything
            _log.warning("compiling again what was kept of %s: %s", self._name, error)
            with suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        with suppress(OSError):
            super().save_overload(sig, data)
