"""Reads damaged files under a memory and a time limit and reports all that escapes.

Run by test_formats_fuzz in a process of its own: python fuzz_worker.py JOBS COUNT SEED, where JOBS
is a JSON file with the files to damage. Prints one JSON line per failure.
"""

import json
import random
import resource
import signal
import sys
import traceback
from pathlib import Path

from osteon.errors import OsteonError
from osteon.formats import read

SPARE = 512 << 20
"""Bytes that reading may take beyond what the program itself has mapped."""
SECONDS = 5
NUMBERS = (b"0", b"-1", b"99999999", b"2147483648", b"9223372036854775808", b"1e308", b"nan", b"")


def damage(data: bytes, other: bytes, rng: random.Random) -> bytes:
    """One to four changes, of the sorts that disks, editors and mail programs make."""
    for _ in range(rng.randint(1, 4)):
        at, length = rng.randrange(len(data) + 1), rng.choice((1, 2, 4, 16, 200))
        change = rng.choice(
            ("cut", "flip", "insert", "delete", "repeat", "splice", "number", "max")
        )
        if change == "cut":
            data = data[:at]
        elif change == "flip":
            data = (
                data[:at]
                + bytes(rng.randrange(256) for _ in data[at : at + length])
                + (data[at + length :])
            )
        elif change == "insert":
            data = data[:at] + rng.randbytes(length) + data[at:]
        elif change == "delete":
            data = data[:at] + data[at + length :]
        elif change == "repeat":
            data = data[:at] + data[at : at + length] * rng.choice((2, 50)) + data[at + length :]
        elif change == "splice":
            data = data[:at] + other[rng.randrange(len(other)) :]
        elif change == "number":
            data = _other_number(data, at, rng)
        else:
            # counts and offsets in binary headers
            data = (
                data[:at]
                + rng.choice((b"\xff" * 4, b"\xff\xff\xff\x7f", b"\0" * 4))
                + (data[at + 4 :])
            )
    return data


def _other_number(data: bytes, at: int, rng: random.Random) -> bytes:
    start = next((i for i in range(at, len(data)) if data[i : i + 1].isdigit()), len(data))
    end = next((i for i in range(start, len(data)) if data[i] not in b"0123456789.eE+-"), start)
    return data[:start] + rng.choice(NUMBERS) + data[end:]


def limit_memory(spare: int = SPARE) -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + spare
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def too_slow(*_) -> None:
    raise TimeoutError("took too long")


def report(path: Path, case: int, what: str) -> None:
    sys.stdout.write(json.dumps([str(path), case, what]) + "\n")


def main(jobs: str, count: int, seed: int) -> None:
    paths = [Path(name) for name in json.loads(Path(jobs).read_text())]
    whole = {path: path.read_bytes() for path in paths}
    for path in paths:
        read(path)  # what is loaded or compiled on first use does not count
    limit_memory()
    signal.signal(signal.SIGALRM, too_slow)
    progress = Path(jobs).with_suffix(".progress")
    for path in paths:
        for case in range(count):
            rng = random.Random(f"{seed} {path.name} {case}")
            other = whole[rng.choice(paths)]
            path.write_bytes(damage(whole[path], other, rng))
            progress.write_text(f"{path} case {case}")
            signal.alarm(SECONDS)
            try:
                read(path)
            except OsteonError as error:
                if "\n" in str(error):
                    report(path, case, f"message of several lines: {error}")
            except BaseException:
                report(path, case, traceback.format_exc(limit=-4))
            finally:
                signal.alarm(0)
        path.write_bytes(whole[path])


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
