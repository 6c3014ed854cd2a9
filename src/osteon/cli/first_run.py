"""The first run on a machine: what the end of a solve needs is compiled beside its beginning."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def compiling_beside() -> Iterator[None]:
    """Meanwhile another process compiles kernels and keeps them; whoever needs one finds it.

    Both may come to the same kernel: it is compiled twice then, and either is kept whole.
    """
    if (os.cpu_count() or 1) < 2:
        yield
        return
    nowhere = subprocess.DEVNULL
    helper = subprocess.Popen(
        [sys.executable, "-m", __name__], stdin=nowhere, stdout=nowhere, stderr=nowhere
    )
    try:
        yield
    finally:
        helper.kill()
        helper.wait()


def compile_kernels() -> None:
    """Pose and look at a performer as ``solve`` does after it has calibrated."""
    from osteon import pipeline, posing, synth

    walk = synth.perform(synth.human(), synth.walk(seconds=1), noise=0.001, gaps=0.02, seed=5)
    options = posing.PoseOptions(loss="geman-mcclure")
    solved = posing.solve(walk.recording, walk.truth.skeleton, options=options)
    pipeline.analyse(solved.motion)


if __name__ == "__main__":
    import gc

    from osteon.cli import OBJECTS_BETWEEN_SWEEPS
    from osteon.threads import one_thread_for_this_process

    one_thread_for_this_process()
    gc.set_threshold(OBJECTS_BETWEEN_SWEEPS)
    compile_kernels()
