"""Files that appear whole: their rights, what a kill leaves behind, the longest names."""

import hashlib
import os
import signal
import stat
import subprocess
import sys
import time

import pytest

from osteon.batch.places import whole_folder
from osteon.errors import FormatError
from osteon.formats import write
from osteon.formats.shared.whole_files import (
    STALE_SECONDS,
    _remove_stale_once,
    content_hash,
    remove_unfinished,
    try_lock,
    whole_file,
)
from rigs import hinge_chain

KILLED = """
import os, signal, sys
from pathlib import Path
from osteon.formats.shared.whole_files import whole_file
with whole_file(Path(sys.argv[1])) as partial:
    partial.write_bytes(b"half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def rights(path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.skipif(os.name == "nt", reason="there is no umask")
@pytest.mark.parametrize("mask", [0o022, 0o002, 0o077])
def test_new_files_and_folders_have_the_rights_that_the_umask_leaves(mask, tmp_path):
    before = os.umask(mask)
    try:
        write(hinge_chain(), tmp_path / "rig.json")
        with whole_folder(tmp_path / "take", tmp_path / "unfinished") as folder:
            (folder / "a").write_text("a")
    finally:
        os.umask(before)
    assert rights(tmp_path / "rig.json") == 0o666 & ~mask
    assert rights(tmp_path / "take") == 0o777 & ~mask


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="nothing kills so here")
def test_what_a_kill_leaves_is_removed_later(tmp_path):
    (tmp_path / ".notes.unfinished").write_text("the user's own")
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "rig.json")], check=False)
    [left] = tmp_path.glob(".rig.json.*.unfinished")
    assert left.read_bytes() == b"half"
    _remove_stale_once.cache_clear()
    write(hinge_chain(), tmp_path / "other.json")
    assert left.exists()  # another program may still be at work on it
    long_ago = time.time() - STALE_SECONDS - 1.0
    os.utime(left, (long_ago, long_ago))
    os.utime(tmp_path / ".notes.unfinished", (long_ago, long_ago))
    _remove_stale_once.cache_clear()
    write(hinge_chain(), tmp_path / "other.json")
    assert {path.name for path in tmp_path.iterdir()} == {".notes.unfinished", "other.json"}


def test_a_folder_that_was_left_goes_when_nothing_in_it_is_new(tmp_path):
    left = tmp_path / ".results.0123456789ab.unfinished"
    (left / "take").mkdir(parents=True)
    (left / "take" / "motion.bvh").write_text("half")
    for path in (left, left / "take"):
        os.utime(path, (0.0, 0.0))
    remove_unfinished(tmp_path)
    assert left.exists()  # a file in it was written just now
    os.utime(left / "take" / "motion.bvh", (0.0, 0.0))
    remove_unfinished(tmp_path)
    assert not left.exists()


@pytest.mark.parametrize("letter", ["x", "각"])
def test_the_longest_name_is_written(letter, tmp_path):
    n_bytes = len(os.fsencode(letter))
    path = tmp_path / (letter * ((255 - 5) // n_bytes) + ".json")
    with whole_file(path) as partial:
        partial.write_text("whole")
    assert path.read_text() == "whole" and list(tmp_path.iterdir()) == [path]


def test_content_of_a_file_and_of_a_folder_that_stands_for_one(tmp_path):
    (tmp_path / "take").mkdir()
    for name, content in (("a", b"one "), ("b", b"two")):
        (tmp_path / "take" / name).write_bytes(content)
    assert content_hash(tmp_path / "take" / "b") == hashlib.sha256(b"two").hexdigest()
    assert content_hash(tmp_path / "take") == hashlib.sha256(b"one two").hexdigest()
    with pytest.raises(FormatError, match="cannot be read"):
        content_hash(tmp_path / "gone")


@pytest.mark.skipif(os.name == "nt", reason="there is no flock")
def test_a_lock_is_held_by_one(tmp_path):
    with (tmp_path / "lock").open("w") as first, (tmp_path / "lock").open("w") as second:
        assert try_lock(first)
        assert not try_lock(second)
    with (tmp_path / "lock").open("w") as third:
        assert try_lock(third)
