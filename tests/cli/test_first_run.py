"""The process that compiles beside the first run."""

import os
import subprocess
from typing import Any

import pytest

from osteon import pipeline, synth
from osteon.cli.first_run import compile_kernels, compiling_beside
from osteon.joint_limits._kinds_kernel import find_spreads
from osteon.posing._kernels.single_frame import fit_frame
from osteon.skinning.flesh_surface import field_at
from osteon.values import Take


def test_the_helper_ends_with_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen] = []
    start = subprocess.Popen

    def remember(*args: Any, **options: Any) -> subprocess.Popen:
        started.append(start(*args, **options))
        return started[-1]

    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(subprocess, "Popen", remember)
    with compiling_beside():
        assert started[0].poll() is None
    assert started[0].poll() is not None


def test_one_processor_gets_no_helper(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    monkeypatch.delattr(subprocess, "Popen")
    with compiling_beside():
        pass


def test_the_helper_compiles_what_a_solve_asks_for() -> None:
    walk = synth.perform(synth.human(), synth.walk(seconds=1), noise=0.001, seed=5)
    solved = pipeline.solve(Take(recordings=(walk.recording,)))[0]
    pipeline.analyse(solved.motion)
    kernels = fit_frame, find_spreads, field_at
    asked = [set(kernel.signatures) for kernel in kernels]
    compile_kernels()
    assert [set(kernel.signatures) for kernel in kernels] == asked
    assert all(asked)
