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
    """Do what ``solve`` does last: frames posed one by one, and the motion looked at.

    It comes there after calibration and poses of whole takes, which cost as much to compile.
    """
    from osteon import pipeline, posing, synth

    posing.warm_up()
    walk = synth.perform(synth.human(), synth.walk(seconds=1), noise=0.001, seed=5)
    pipeline.analyse(walk.truth.motion)


if __name__ == "__main__":
    import gc

    from osteon.cli import OBJECTS_BETWEEN_SWEEPS
    from osteon.threads import one_thread_for_this_process

    one_thread_for_this_process()
    gc.set_threshold(OBJECTS_BETWEEN_SWEEPS)
    compile_kernels()
