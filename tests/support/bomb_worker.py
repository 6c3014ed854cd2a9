"""Reads files under a memory and a time limit and tells what became of each.

Run by test_formats_bombs in a process of its own: python bomb_worker.py READER FILE… Prints one
JSON line per file: its name, how it ended, and the error.
"""

import json
import signal
import sys
import time
from pathlib import Path

import numpy as np

import fuzz_worker
from osteon.errors import OsteonError
from osteon.formats import read
from osteon.formats.glb.read import read_glb_mesh

READERS = {"take": read, "mesh": read_glb_mesh}
SPARE = 64 << 20
"""Bytes that reading may take beyond what the program itself has mapped."""
SECONDS = 3.0


def end_of(reader: str, path: Path) -> tuple[str, str]:
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    start = time.process_time()
    try:
        READERS[reader](path)
        return "read", f"{time.process_time() - start:.2f} s"
    except OsteonError as error:
        return "refused", str(error)
    except BaseException as error:
        return "escaped", repr(error)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)


def main(reader: str, *names: str) -> None:
    np.linalg.inv(np.eye(64))  # its library takes room for itself when it is first asked
    fuzz_worker.limit_memory(SPARE)
    signal.signal(signal.SIGPROF, fuzz_worker.too_slow)
    for path in map(Path, names):
        sys.stdout.write(json.dumps([path.name, *end_of(reader, path)]) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
