"""How functions are compiled: one decorator, whose cache may fail but never stops anybody."""

import hashlib
import io
import logging
import pickle
import re
from collections.abc import Callable
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from llvmlite import binding
from numba import config, njit
from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    IndexDataCacheFile,
    NullCache,
    _Cache,
)
from numba.core.codegen import JITCodeLibrary
from numba.core.environment import Environment, _rebuild_env
from numba.core.runtime import nrt

FAST_MATH = {"contract", "reassoc", "nsz", "arcp"}
"""Liberties for sums of products. Neither NaN nor infinity is ruled out: a marker that was not seen
is NaN, and a diverging step must still be seen as not finite."""

SHIPPED = Path(__file__).parents[1] / "machine_code"
"""Where a wheel carries machine code that was compiled when it was built."""
SHIPPED_CPU = "x86-64-v3"
"""The processor that such code is made for: what Intel has made since 2013, AMD since 2015."""
SHIPPED_FEATURES = (
    *("64bit", "avx", "avx2", "bmi", "bmi2", "cmov", "cx16", "cx8", "f16c", "fma", "fxsr", "lzcnt"),
    *(
        "mmx",
        "movbe",
        "popcnt",
        "sahf",
        "sse",
        "sse2",
        "sse3",
        "sse4.1",
        "sse4.2",
        "ssse3",
        "xsave",
    ),
)
"""What it can do, in LLVM's words."""

_PACKAGES = Path(__file__).parents[1]
_IMPORTED = re.compile(rb"^from osteon\.(\w+)", re.MULTILINE)
_DIGEST = hashlib.sha256().digest_size

_log = logging.getLogger("osteon")


def kernel(function: Callable | None = None, /, **options: Any) -> Any:
    """Compile a function on its first call, without Python's lock, and keep the machine code.

    The code is kept beside the source, else in the user's cache folder, else not at all; what a
    wheel carries is used where the processor can. ``options`` are numba's.
    """
    if function is None:
        return lambda late: kernel(late, **options)
    compiled: Any = njit(nogil=True, **options)(function)
    compiled._cache = _LateCache(function)
    return compiled


def read_only(array: np.ndarray) -> np.ndarray:
    """Return an array as kernels take what they only read: C order, and not to be written.

    Values are frozen, their copies are not: to numba these are two types, each compiled anew.
    """
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def is_ready(compiled: Any) -> bool:
    """Say whether machine code of a kernel is kept, or shipped and fit for this processor."""
    kept = compiled._cache._kept
    if not isinstance(kept, _ForgivingCache):
        return False
    with suppress(Exception):  # a damaged pickle may raise anything
        return bool(kept._cache_file._load_index()) or (
            _runs_shipped() and bool(kept._shipped._load_index())
        )
    return False


def compile_for_wheel(folder: Path) -> None:
    """From now on keep what is compiled in a folder, made for processors of any user.

    Called before any kernel is imported.
    """
    settings: Any = config
    settings.CACHE_DIR = str(folder)
    settings.CPU_NAME, settings.CPU_FEATURES = SHIPPED_CPU, _told(SHIPPED_FEATURES)


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
        return _KernelUnpickler(io.BytesIO(code)).load()


class _KernelUnpickler(pickle.Unpickler):
    """Leaves alone the modules of numba whose functions were compiled into a kernel.

    Each comes with an environment: constants, and the names of its module for code that Python
    runs. Ours never is such code, so an environment without constants needs no module loaded.
    """

    def find_class(self, module: str, name: str) -> Any:
        return _environment if name == "_rebuild_env" else super().find_class(module, name)


def _environment(module: str, constants: list, name: str) -> Any:
    if constants or name in Environment._memo:
        return _rebuild_env(module, constants, name)
    bare: Any = Environment({"__name__": module})
    bare.env_name = name
    Environment._memo[name] = bare
    return bare


class _LateCache(_Cache):
    """Looks for its folder when the kernel is first called: few of those imported ever are."""

    def __init__(self, function: Callable) -> None:
        self._function = function

    @cached_property
    def _kept(self) -> Any:
        try:
            return _ForgivingCache(self._function)
        except (RuntimeError, OSError):  # no folder can be written
            return NullCache()

    @property
    def cache_path(self) -> Any:
        return self._kept.cache_path

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        return self._kept.load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        self._kept.save_overload(sig, data)

    def enable(self) -> None:
        self._kept.enable()

    def disable(self) -> None:
        self._kept.disable()

    def flush(self) -> None:
        self._kept.flush()


class _ReadyLibrary(JITCodeLibrary):
    """Machine code as it was kept; the form that LLVM could link with new code waits to be asked.

    Reading that form takes longer than all else that a kept kernel needs to run.
    """

    _bitcode: bytes | None = None
    _parsed: Any = None

    @property
    def _shared_module(self) -> Any:
        if self._parsed is None and self._bitcode is not None:
            self._parsed = binding.parse_bitcode(self._bitcode)
        return self._parsed

    @_shared_module.setter
    def _shared_module(self, module: Any) -> None:
        self._parsed = module

    @classmethod
    def _unserialize(cls, codegen: Any, state: Any) -> Any:
        name, kind, data = state
        if kind != "object":
            return JITCodeLibrary._unserialize(codegen, state)
        self = cls(codegen, name)
        self.enable_object_caching()
        code, self._bitcode = data
        self._set_compiled_object(code)
        self._finalize_final_module()
        return self


class _Ready(CompileResultCacheImpl):
    """Makes a kept kernel ready to be called."""

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        codegen, described = target_context.codegen(), payload[1]
        codegen._engine._defined_symbols |= {
            described.llvm_func_name,
            described.llvm_cpython_wrapper_name,
            described.llvm_cfunc_wrapper_name,
        }
        codegen._library_class = _ReadyLibrary  # numba holds its lock here
        try:
            return super().rebuild(target_context, payload)
        finally:
            del codegen._library_class


class _ForgivingCache(FunctionCache):
    """Whatever is wrong with what was kept, or hinders keeping it, costs a compilation only."""

    _impl_class = _Ready

    def __init__(self, function: Callable) -> None:
        super().__init__(function)
        base, stamp = self._impl.filename_base, _stamp(function) or self._cache_file._source_stamp
        self._cache_file = _CheckedFile(self._cache_path, base, stamp)
        self._shipped = _CheckedFile(str(SHIPPED), base, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """As numba does, but without loading its compiler, which machine code does not need."""
        try:
            _name_runtime()
            with self._guard_against_spurious_io_errors():
                found = self._load_overload(sig, target_context)
            return found if found is not None else self._load_shipped(sig, target_context)
        except Exception as error:  # a damaged pickle may raise anything
            _log.warning("compiling again what was kept of %s: %s", self._name, error)
            with suppress(OSError):
                self.flush()
            return None

    def _load_shipped(self, sig: Any, target_context: Any) -> Any:
        if not _runs_shipped():
            return None
        _, (system, *_), code = self._index_key(sig, target_context.codegen())
        key = (sig, (system, SHIPPED_CPU, _told(SHIPPED_FEATURES)), code)
        data = self._shipped.load(key)
        return None if data is None else self._impl.rebuild(target_context, data)

    def save_overload(self, sig: Any, data: Any) -> None:
        with suppress(OSError):
            super().save_overload(sig, data)


@cache
def _name_runtime() -> None:
    """Tell LLVM where numba's runtime is, which machine code calls by name."""
    runtime: Any = nrt
    for name, address in runtime._nrt.c_helpers.items():
        binding.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)


def _told(features: tuple[str, ...]) -> str:
    return ",".join(f"+{feature}" for feature in features)


@cache
def _runs_shipped() -> bool:
    """There is shipped code, and the processor can all that it asks for."""
    has = binding.get_host_cpu_features()
    return SHIPPED.is_dir() and all(has.get(name, name == "64bit") for name in SHIPPED_FEATURES)


def _stamp(function: Callable) -> bytes | None:
    """Return a digest of all kernels that a kernel of ours may call; None for other people's.

    A change in any of them must compile it anew, and a copy of the same source need not.
    """
    root, _, rest = function.__module__.partition(".")
    return _digest(rest.partition(".")[0]) if root == "osteon" else None


@cache
def _digest(package: str) -> bytes:
    """Return a digest of the files with kernels of a package and of those that they import."""
    found, names = {}, [package]
    while names:
        name = names.pop()
        if name not in found:
            found[name] = _sources(name)
            names.extend(
                other.decode() for text in found[name] for other in _IMPORTED.findall(text)
            )
    return hashlib.sha256(b"".join(text for name in sorted(found) for text in found[name])).digest()


def _sources(package: str) -> list[bytes]:
    texts = (path.read_bytes() for path in sorted((_PACKAGES / package).rglob("*.py")))
    return [text for text in texts if b"\n@kernel" in text]
