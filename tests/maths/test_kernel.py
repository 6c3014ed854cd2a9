"""Compiled code is kept where it can be, and mended where it is damaged."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
from numba.core.registry import cpu_target

from osteon.maths import compiled

SOURCE = """
from osteon.maths.compiled import kernel

@kernel
def twice(x):
    return 2 * x
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module's own folder, and no home that could be written to."""
    monkeypatch.setenv("HOME", "/dev/null")
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    (tmp_path / "lib.py").write_text(SOURCE)
    return tmp_path


def load(folder: Path) -> Any:
    """The module as a new process would load it."""
    spec = spec_from_file_location("lib", folder / "lib.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def hits(folder: Path) -> int:
    """Call the kernel: how often kept code was found."""
    module = load(folder)
    assert module.twice(21) == 42
    return sum(module.twice.stats.cache_hits.values())


def test_code_is_kept_beside_the_source(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert [hits(folder), hits(folder)] == [0, 1]
    assert not caplog.records


def test_a_kernel_is_ready_once_its_code_is_kept(folder: Path) -> None:
    def ready() -> bool:
        return compiled.is_ready(load(folder).twice)

    assert not ready()
    hits(folder)
    assert ready()
    (folder / "lib.py").write_text(SOURCE.replace("2 * x", "x + x"))
    assert not ready()


def test_without_a_folder_that_can_be_written_it_is_compiled_each_time(folder: Path) -> None:
    (folder / "__pycache__").write_text("in the way, for root too")
    assert [hits(folder), hits(folder)] == [0, 0]


AT_ONCE = """
import sys, time
while time.time() < float(sys.argv[1]):
    pass
from lib import twice
assert twice(21) == 42
"""


def test_processes_that_start_at_once_all_get_their_answer_and_leave_sound_code(
    folder: Path,
) -> None:
    start = str(time.time() + 3.0)  # when all of them have Python running
    command = [sys.executable, "-c", f"import osteon.maths.compiled{AT_ONCE}", start]
    started = [subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE) for _ in range(3)]
    told = [process.communicate()[1].decode() for process in started]
    assert [process.returncode for process in started] == [0, 0, 0], told
    assert not any(told)  # a damaged file would be told
    assert hits(folder) == 1


CALLER = """
import numpy as np
from osteon.maths.compiled import kernel
from kept import inverse

@kernel
def inverse_of_all(stack):
    return [inverse(one) for one in stack]

assert inverse(2.0 * np.eye(3))[0, 0] == 0.5
assert inverse.stats.cache_hits
assert inverse_of_all(2.0 * np.ones((5, 1, 1)))[4][0, 0] == 0.5
"""


def test_new_code_is_linked_with_code_that_was_kept(tmp_path: Path) -> None:
    kept = "import numpy as np\n@kernel\ndef inverse(x):\n    return np.linalg.inv(x.copy())"
    imports = "from osteon.maths.compiled import kernel\n"
    (tmp_path / "kept.py").write_text(imports + kept)
    (tmp_path / "caller.py").write_text(CALLER)
    first = "import numpy as np; from kept import inverse; inverse(np.eye(3))"
    subprocess.run([sys.executable, "-c", first], cwd=tmp_path, check=True)
    subprocess.run([sys.executable, "caller.py"], cwd=tmp_path, check=True)


def odd_byte(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


@pytest.mark.parametrize(
    ("ending", "damage"),
    [
        ("*.nbi", lambda data: b""),
        ("*.nbi", lambda data: data[:-9]),
        ("*.nbc", lambda data: b""),
        ("*.nbc", lambda data: data[:-9]),
        ("*.nbc", odd_byte),
    ],
    ids=["empty index", "cut index", "empty code", "cut code", "odd byte in code"],
)
def test_damaged_code_is_compiled_again_and_said(
    folder: Path,
    ending: str,
    damage: Callable[[bytes], bytes],
    caplog: pytest.LogCaptureFixture,
) -> None:
    hits(folder)
    (kept,) = (folder / "__pycache__").glob(f"lib.twice{ending}")
    kept.write_bytes(damage(kept.read_bytes()))
    assert [hits(folder), hits(folder)] == [0, 1]
    (said,) = caplog.messages
    assert said.startswith("compiling again") and "twice" in said


@pytest.fixture
def shipped(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Code as a wheel brings it, made for a processor like this one; nothing is kept."""
    hits(folder)
    (folder / "__pycache__").rename(folder / "machine_code")
    context: Any = cpu_target.target_context
    _, cpu, features = context.codegen().magic_tuple()
    monkeypatch.setattr(compiled, "SHIPPED", folder / "machine_code")
    monkeypatch.setattr(compiled, "SHIPPED_CPU", cpu)
    monkeypatch.setattr(compiled, "_told", lambda _: features)
    compiled._runs_shipped.cache_clear()
    yield folder
    compiled._runs_shipped.cache_clear()


def test_code_that_a_wheel_brings_is_used(shipped: Path) -> None:
    assert hits(shipped) == 1


def test_code_for_a_better_processor_is_not_used(
    shipped: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled, "SHIPPED_FEATURES", ("second sight",))
    assert hits(shipped) == 0


def test_kernels_are_compiled_anew_when_one_that_they_call_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, imported in (("upper", "lower"), ("lower", "errors"), ("beside", "errors")):
        (tmp_path / name).mkdir()
        text = f"from osteon.{imported} import x\n@kernel\ndef {name}(x): ..."
        (tmp_path / name / "one.py").write_text(text)
    monkeypatch.setattr(compiled, "_PACKAGES", tmp_path)

    def digests() -> list[bytes]:
        compiled._digest.cache_clear()
        return [compiled._digest(name) for name in ("upper", "lower", "beside")]

    before = digests()
    (tmp_path / "lower" / "one.py").write_text("@kernel\ndef lower(x): return x")
    now = digests()
    compiled._digest.cache_clear()
    assert [a == b for a, b in zip(before, now, strict=True)] == [False, False, True]


LOAD_ALL = """
import pkgutil, sys
from importlib import import_module
from numba.core.dispatcher import Dispatcher
from numba.core.registry import cpu_target
import osteon

context, loaded = cpu_target.target_context, 0
for found in pkgutil.walk_packages(osteon.__path__, "osteon."):
    if "_kernel" not in found.name:
        continue
    for name, kernel in vars(import_module(found.name)).items():
        if isinstance(kernel, Dispatcher) and kernel.py_func.__module__ == found.name:
            for sig, *_ in kernel._cache._kept._cache_file._load_index():
                code = kernel._cache.load_overload(sig, context)
                loaded += code is not None and code.entry_point is not None
print(loaded, "numba.misc.cffiimpl" in sys.modules)
"""
"""In a process of its own: a name that the code wants and nobody brought would end it."""


def test_kept_code_of_all_kernels_runs_without_the_compiler() -> None:
    """They may need nothing that only numba's compiler loads, for it is not loaded with them."""
    run = subprocess.run([sys.executable, "-c", LOAD_ALL], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    loaded, compiler = run.stdout.split()
    if loaded == "0":
        pytest.skip("no kernel of ours has been compiled here")
    assert compiler == "False"
