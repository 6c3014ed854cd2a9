"""The file of edits, written by several studios at once."""

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from osteon.edits.edits_json import Edit, Edits, RecordingId, read_edits
from osteon.edits.rig_edits import SetRoot
from osteon.formats import content_hash
from osteon.studio.folder import ChangedElsewhere, EditsFile


@pytest.fixture
def recording(tmp_path) -> Path:
    path = tmp_path / "walk.c3d"
    path.write_bytes(b"any bytes have a digest")
    return path


def edits_file(recording: Path) -> EditsFile:
    return EditsFile(recording.with_name("walk.edits.json"), recording)


def add(file: EditsFile, edit: Edit) -> None:
    """As a studio does: what was refused is made again on top of what is there."""
    while True:
        said = file.read() or Edits(RecordingId("walk.c3d", content_hash(file.recording)))
        try:
            file.write(Edits(said.recording, (*said.edits, edit)))
            return
        except ChangedElsewhere:
            pass


def test_nobody_writes_over_what_he_has_not_seen(recording):
    one, two = edits_file(recording), edits_file(recording)
    said = Edits(RecordingId("walk.c3d", content_hash(recording)))
    assert one.read() is None and two.read() is None
    one.write(said)
    assert two.changed() and not one.changed()
    with pytest.raises(ChangedElsewhere, match="another studio has changed the edits"):
        two.write(said)
    assert two.read() == said
    two.write(said)


def test_edits_of_many_writers_at_once_are_all_there(recording):
    names = [f"{writer} {number}" for writer in range(4) for number in range(25)]

    def work(writer: int) -> None:
        file = edits_file(recording)
        for name in names[writer::4]:
            add(file, SetRoot(name))

    threads = [threading.Thread(target=work, args=(writer,)) for writer in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    edits = read_edits(edits_file(recording).path, recording).edits
    assert sorted(edit.body for edit in edits if isinstance(edit, SetRoot)) == sorted(names)
    assert sorted(file.name for file in recording.parent.iterdir()) == [
        "walk.c3d",
        "walk.edits.json",
    ]


def test_a_studio_killed_while_it_writes_blocks_nobody(recording):
    file = edits_file(recording)
    script = (
        "import sys, time; from pathlib import Path; from osteon.studio import folder;"
        "path = Path(sys.argv[1])\n"
        "with folder._alone(path): print('in', flush=True); time.sleep(60)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, file.path], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == b"in\n"
        process.send_signal(signal.SIGKILL)
    assert file.path.with_name(".walk.edits.json.lock").exists()
    add(file, SetRoot("chest"))
    assert len(read_edits(file.path, recording).edits) == 1


def test_a_studio_that_is_writing_is_waited_for_and_not_for_ever(recording, monkeypatch):
    from osteon.errors import FormatError
    from osteon.studio import folder as module

    monkeypatch.setattr(module, "LOCK_SECONDS", 0.1)
    file = edits_file(recording)
    with module._alone(file.path), pytest.raises(FormatError, match="being written by another"):
        add(file, SetRoot("chest"))
    add(file, SetRoot("chest"))
