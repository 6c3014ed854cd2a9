"""Many takes: whose they are, what is done, what is not done again."""

import csv
import os
import shutil
import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from msgspec.structs import replace as replaced

import osteon as ost
from archives import cut, person, sensor_takes, write_sensors
from deadly import work_or_die
from osteon import synth
from osteon.articulation.summed import Sums, joints_of_sums
from osteon.batch import BatchOptions, batch, watch
from osteon.batch.agenda import Agenda
from osteon.batch.batch_jobs import Job, subject_record
from osteon.batch.places import (
    BatchFolders,
    Quality,
    Survey,
    find_files,
    subject_of,
    subjects_of,
    whole_folder,
)
from osteon.batch.subject_takes import (
    FRAMES_PER_SUBJECT,
    FRAMES_PER_TAKE,
    join_samples,
    sample_frames,
    share_of,
    solve_bodies,
)
from osteon.batch.workers import Lost, Meter, Queue, duration, pool
from osteon.errors import BadValue, OsteonError
from osteon.formats.shared.whole_files import NAME_BYTES, file_name
from osteon.typing import Step
from osteon.values import Recording


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two subjects under sensors, three takes each, a damaged recording and other files."""
    folder = tmp_path_factory.mktemp("archive")
    write_sensors(folder, subjects=2, takes=3, frames=240)
    (folder / "notes.txt").write_text("Monday: all well")
    (folder / "P0" / "broken.c3d").write_bytes(b"no recording at all")
    (folder / ".hidden").write_text("nobody asks for this")
    return folder


@pytest.fixture(scope="module")
def solved(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The archive after one batch; its results are checked here once for all."""
    output = tmp_path_factory.mktemp("solved")
    said: list[Step] = []
    done = batch(archive, output, workers=2, progress=said.append)
    assert done.solved == 6
    assert [row.take for row in done.failed] == ["P0/broken.c3d"]
    assert [survey.take for survey in done.skipped] == ["notes.txt"]
    assert any("solving 6 of 6" in str(step) for step in said)
    assert any(" left" in str(step) for step in said)
    yield output


def test_every_take_has_a_whole_folder_and_every_subject_a_passport(solved: Path) -> None:
    for subject in ("P0", "P1"):
        own = {path.name for path in (solved / "subjects" / subject).iterdir()}
        assert own == {"skeleton.json", "passport.json", "record.json"}
        for take in range(3):
            folder = solved / "takes" / subject / f"take_0{take}.csv"
            names = {path.name for path in folder.iterdir()}
            assert names >= {"skeleton.json", "motion.bvh", "summary.json", "record.json"}
    assert not list((solved / ".batch" / "unfinished").iterdir())


def test_index_is_worst_first_and_links_every_page(solved: Path) -> None:
    with (solved / "index.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert rows[0]["take"] == "P0/broken.c3d" and rows[0]["problem"].startswith("not a format")
    assert rows[0]["marker_rms_mm"] == rows[0]["frames"] == ""
    rms = [float(row["marker_rms_mm"]) for row in rows[1:]]
    assert len(rms) == 6 and rms == sorted(rms, reverse=True)
    page = (solved / "index.html").read_text(encoding="utf-8")
    for row in rows[1:]:
        assert (solved / row["report"]).exists()
        assert f'href="{row["report"]}"' in page
    assert "<p>7 takes, " in page and " 2 subjects; 1 could not be solved" in page
    assert "http" not in page  # opens from disk, asks no network
    assert "notes.txt" in (solved / "skipped.csv").read_text(encoding="utf-8")


def test_parquet_says_what_the_csv_says(solved: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(solved / "index.parquet").to_pylist()
    with (solved / "index.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    shown = [
        {name: "" if each is None else str(each) for name, each in row.items()} for row in table
    ]
    assert shown == rows


def test_second_run_does_nothing_again(archive: Path, solved: Path) -> None:
    before = stamps(solved)
    assert batch(archive, solved, workers=1).solved == 0
    assert stamps(solved) == before


def test_only_what_changed_or_came_is_solved(archive: Path, solved: Path, tmp_path: Path) -> None:
    source, output = tmp_path / "in", tmp_path / "out"
    shutil.copytree(archive, source)
    shutil.copytree(solved, output)
    before = stamps(output)
    ost.write(sensor_takes(1, 200, seed=7)[0], source / "P1" / "take_01.csv")
    ost.write(sensor_takes(1, 240, seed=1)[0], source / "P1" / "take_09.csv")
    assert batch(source, output, workers=1).solved == 2
    after = stamps(output)
    # the subject stays as it is: the new takes wear what is known
    assert {name for name in after if before.get(name) != after[name]} == {
        "takes/P1/take_01.csv",
        "takes/P1/take_09.csv",
    }
    # calibrated anew on all its takes, all of them are to be solved anew
    done = batch(source, output, workers=1, options=BatchOptions(recalibrate=True))
    assert done.solved == 4
    assert (output / "subjects" / "P1" / "passport.json").exists()


def test_what_misfortune_did_to_an_output_is_healed(
    archive: Path, solved: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out"
    shutil.copytree(solved, output)
    whole = {path: path.read_bytes() for path in output.rglob("*") if path.is_file()}
    take = output / "takes" / "P0" / "take_00.csv"
    cut_files = [take / "motion.bvh", *(output / "subjects" / "P1").glob("[ps]*.json")]
    odd_bytes = [output / "takes" / "P0" / "take_01.csv" / "record.json"]
    odd_bytes += (output / ".batch" / "surveys").rglob("record.json")
    for file in cut_files:
        file.write_bytes(whole[file][:-100])
    for file in odd_bytes:
        file.write_bytes(whole[file].replace(b"take_0", b"t\xffke_0"))
    (output / "takes" / "P0" / "take_02.csv" / "skeleton.json").unlink()
    assert batch(archive, output, workers=1).solved == 3
    for path, data in whole.items():
        if path.relative_to(output).parts[0] in ("takes", "subjects"):
            assert path.read_bytes() == data, path


@pytest.mark.parametrize(
    "name",
    ["a" * 251 + ".csv", unicodedata.normalize("NFD", "한" * 20) + ".csv"],
    ids=["255 bytes", "letters in parts"],
)
def test_a_long_name_stops_nothing(name: str, archive: Path, tmp_path: Path) -> None:
    source = tmp_path / "in"
    source.mkdir()
    shutil.copy(archive / "P0" / "take_00.csv", source / name)
    shutil.copy(archive / "P0" / "take_01.csv", source / "P0.csv")
    done = batch(source, tmp_path / "out", workers=1)
    assert done.solved == 2 and not done.failed
    assert all((tmp_path / "out" / row.report).exists() for row in done.rows)


def test_watch_takes_up_what_arrives(archive: Path, solved: Path, tmp_path: Path) -> None:
    source, output = tmp_path / "in", tmp_path / "out"
    shutil.copytree(archive / "P0", source / "P0")
    shutil.copytree(solved, output)
    with_news = watch(source, output, workers=1, every=0.05)
    assert next(with_news).solved == 0
    late = source / "P0" / "late.csv"
    ost.write(sensor_takes(1, 240, seed=0)[0], late)
    long_ago = late.stat().st_mtime - 60.0  # as if nobody wrote to it any more
    os.utime(late, (long_ago, long_ago))
    assert next(with_news).solved == 1
    with_news.close()


def test_command_line_says_where_the_index_is(archive: Path, solved: Path) -> None:
    from osteon.cli import osteon

    run = CliRunner().invoke(osteon, ["batch", str(archive), "-o", str(solved)])
    assert run.exit_code == 1, run.output  # a script must not go on as if all were solved
    assert "7 takes, 0 done now, 1 failed" in run.output
    assert str(solved / "index.html") in run.output


def test_two_batches_never_share_an_output(archive: Path, tmp_path: Path) -> None:
    running = watch(archive, tmp_path, workers=1, options=BatchOptions(subjects="(nobody)"))
    # a generator holds the lock from its first result on; none is needed to see the second refused
    from osteon.batch.places import BatchFolders, only_one

    with (
        only_one(BatchFolders(archive, tmp_path)),
        pytest.raises(OsteonError, match="another batch"),
    ):
        next(running)


def stamps(output: Path) -> dict[str, tuple[int, int]]:
    """Inode and time of every finished take's and subject's record."""
    return {
        path.parent.relative_to(output).as_posix(): (path.stat().st_ino, path.stat().st_mtime_ns)
        for path in output.rglob("record.json")
        if ".batch" not in path.parts
    }


@pytest.mark.parametrize(
    ("take", "in_file", "pattern", "subject"),
    [
        ("02_01.c3d", "", None, "02"),
        ("walk-12.trc", "", None, "walk"),
        ("solo.c3d", "", None, "solo"),
        ("007.c3d", "", None, "007"),
        ("anna/day 1/jump.c3d", "", None, "anna/day 1"),
        ("anna/jump.c3d", "TakeoMonday", None, "TakeoMonday"),
        ("anna/jump.c3d", "TakeoMonday", "^([^/]+)/", "anna"),
        ("jump.c3d", "TakeoMonday", "^([^/]+)/", "TakeoMonday"),
    ],
)
def test_subject_of_a_take(take: str, in_file: str, pattern: str | None, subject: str) -> None:
    assert subject_of(take, in_file, pattern) == subject


def test_two_people_of_one_file_stay_apart_whatever_the_pattern() -> None:
    assert subjects_of("a/duo.c3d", ["Ann", "Bob"], "^([^/]+)/") == ("a Ann", "a Bob")
    assert len(set(subjects_of("a/duo.c3d", ["", ""], None))) == 2


@pytest.mark.parametrize("pattern", ["[", "[0-9]+_"])
def test_useless_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(BadValue, match="pattern"):
        BatchOptions(subjects=pattern)


def test_output_inside_the_archive_is_not_searched(tmp_path: Path) -> None:
    for name in ("b/2.csv", "a/1.csv", "out/takes/1.csv", ".git/x"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "b" / "round").symlink_to(tmp_path, target_is_directory=True)
    assert list(find_files(tmp_path, tmp_path / "out")) == ["a/1.csv", "b/2.csv"]


def test_output_must_not_be_the_archive(tmp_path: Path) -> None:
    with pytest.raises(BadValue, match="give another folder"):
        batch(tmp_path, tmp_path)
    with pytest.raises(BadValue, match="is no folder"):
        batch(tmp_path / "nowhere", tmp_path)
    assert not list(tmp_path.iterdir())


def test_names_of_files_never_meet() -> None:
    long = ["x" * 200, "x" * 201, "日" * 99, "/" * 99]
    texts = [
        *long,
        "a/b",
        "a%2Fb",
        "a b",
        "..",
        ".",
        "",
        "Über",
        "U\u0308ber",
        "a:b",
        "con?",
        "../evil",
    ]
    names = [file_name(text) for text in texts]
    assert len(set(names)) == len(texts)
    assert not any(set(name) & set('/\\:?*"<>|') or name.startswith(".") for name in names)
    assert all(len(name.encode()) <= NAME_BYTES for name in names)
    assert "Über" in names and not any("\u0308" in name for name in names)


def test_folder_is_whole_or_not_there(tmp_path: Path) -> None:
    target, unfinished = tmp_path / "x" / "y", tmp_path / "unfinished"
    with pytest.raises(RuntimeError), whole_folder(target, unfinished) as folder:
        (folder / "half").write_text("1")
        raise RuntimeError
    assert not target.exists() and not list(unfinished.iterdir())
    for text in ("first", "second"):
        with whole_folder(target, unfinished) as folder:
            (folder / "record.json").write_text(text)
    assert (target / "record.json").read_text() == "second" and not list(unfinished.iterdir())


def test_meter_tells_the_time_left() -> None:
    clock, said = iter([0.0, 10.0, 20.0, 30.0]), []
    meter = Meter("solving", 3, said.append, clock=lambda: next(clock))
    for left in (2, 0):  # one of them turned out to be done already
        meter.step(left)
    assert [str(step) for step in said] == [
        "solving 3",
        "solving 1 of 3, about 20 s left, 33 %",
        "solving 2 of 2, 100 %",
    ]
    assert [duration(s) for s in (0.2, 89, 600, 9000)] == ["1 s", "89 s", "10 min", "2.5 h"]


def test_deadly_job_is_told_from_its_neighbours() -> None:
    waiting = Queue[str]()
    for job in ("a", "b", "deadly", "c", "d"):
        waiting.put(job, (job,))
    with pool(2) as workers:
        outcomes = dict(workers.each(work_or_die, waiting))
    assert isinstance(outcomes.pop("deadly"), Lost)
    results = {job: done.result for job, done in outcomes.items() if not isinstance(done, Lost)}
    assert results == {"a": "A", "b": "B", "c": "C", "d": "D"}


def test_nobody_waits_for_the_takes_of_others(tmp_path: Path) -> None:
    """A subject's takes begin when it is calibrated, the longest first, its passport when they are
    solved; whoever works gets what others wait for before what is left of the rest."""
    takes = [
        Survey(take=take, size=1, modified_ns=1, subjects=(take[0],), frames=frames, rate=60.0)
        for take, frames in (("A1", 10), ("A2", 30), ("A3", 20), ("B1", 5))
    ]
    agenda = Agenda(BatchFolders(tmp_path, tmp_path / "out"), BatchOptions(), takes)

    def told(job: Job) -> tuple[str, str]:
        return job.verb, job.name

    first = agenda.queue.take()
    assert told(first) == ("calibrating", "A") and agenda.left(first) == 2
    agenda.settle(first, replaced(subject_record(first), skeleton="a"))
    assert told(agenda.queue.take()) == ("calibrating", "B")
    jobs = [agenda.queue.take() for _ in range(3)]
    assert [told(job) for job in jobs] == [("solving", name) for name in ("A2", "A3", "A1")]
    assert not agenda.queue and agenda.left(jobs[0]) == 4
    quality = Quality(subject="A", frames=10)
    for job in jobs:
        assert not agenda.queue
        agenda.settle(job, replaced(job.record, people=(quality,)))
    assert told(agenda.queue.take()) == ("passports", "A") and agenda.solved == 3


@pytest.mark.parametrize("n_takes", [1, 2, 31, 32, 33, 4096, 4097, 100_000])
def test_sample_of_a_subject_is_bounded(n_takes: int) -> None:
    stride, frames = share_of(n_takes)
    looked_at = -(-n_takes // stride)
    assert 1 <= frames <= FRAMES_PER_TAKE
    assert looked_at * frames <= FRAMES_PER_SUBJECT
    assert looked_at * frames >= min(FRAMES_PER_SUBJECT // 2, n_takes * FRAMES_PER_TAKE)


def test_sample_holds_the_rare_pose(rng: np.random.Generator) -> None:
    """A minute of one pose, one second of another: ten frames of the sample at least show it."""
    still = rng.normal(size=(1, 12, 3))
    positions = np.repeat(still, 7200, axis=0) + 1e-3 * rng.normal(size=(7200, 12, 3))
    positions[4000:4120, :4] += 0.5
    recording = Recording(positions, tuple(f"m{i}" for i in range(12)), 120.0)
    sample = sample_frames(recording, 64)
    assert sample.n_frames == 64
    rare = np.linalg.norm(sample.positions[:, 0] - still[0, 0], axis=-1) > 0.1
    # 120 of 7 200 frames: four candidates of 256 show it, and all are taken
    assert rare.sum() >= 4


def test_samples_join_with_markers_of_all_takes() -> None:
    first = Recording(np.zeros((2, 2, 3)), ("a", "b"), 120.0, "S")
    second = Recording(np.ones((3, 2, 3)), ("b", "c"), 120.0, "S")
    both = join_samples([first, second])
    assert both.names == ("a", "b", "c") and both.n_frames == 5
    assert both.seen.tolist() == [[True, True, False]] * 2 + [[False, True, True]] * 3


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_sums_over_takes_equal_the_sum_of_one_long_take(
    missing: float, rng: np.random.Generator
) -> None:
    """The Gram matrix adds: 6 bodies, 900 frames cut in three, also with poses missing."""
    [whole] = sensor_takes(1, 900)
    if missing:
        lost = rng.random(whole.seen.shape) < missing
        whole = replace(whole, positions=np.where(lost[..., None], np.nan, whole.positions))
    parts = [cut(whole, *ends) for ends in ((0, 100), (100, 650), (650, 900))]
    total = Sums.of(parts[0]) + Sums.of(parts[1]) + Sums.of(parts[2])
    single = Sums.of(whole)
    for name in ("gram", "own", "count"):
        added, at_once = getattr(total.statistics, name), getattr(single.statistics, name)
        # rounding grows as the root of the 900 terms: 30 · 1e-16
        assert np.abs(added - at_once).max() <= 1e-14 * np.abs(at_once).max()
    assert total.frames == single.frames


def test_joints_of_sums_are_the_linkage(rng: np.random.Generator) -> None:
    parts = sensor_takes(4, 400)
    total = sum((Sums.of(part) for part in parts[1:]), Sums.of(parts[0]))
    found = joints_of_sums(total, 60.0)
    truth = synth.linkage()
    assert found.root == "torso"
    assert {link.child: link.parent for link in found.connections} == {
        body.name: body.parent for body in truth.bodies if body.parent is not None
    }
    lengths = {body.name: body.length for body in found.skeleton().bodies if body.length}
    for name, length in lengths.items():
        true = truth.body(name).length
        # 30 seeds, the worst length of each: median 1.3 mm, 95 % 2.0 mm, at most 3.3 mm
        assert true is not None and abs(length - true) < 0.004


def test_doubts_about_a_subject_are_told_with_its_takes(solved: Path, tmp_path: Path) -> None:
    skeleton = ost.read(solved / "subjects" / "P0" / "skeleton.json").skeleton()
    [bodies] = sensor_takes(1, 120)
    found = solve_bodies(bodies, skeleton, ("the hip is a guess",), tmp_path, {})
    assert "the hip is a guess" in found.warnings
    for file in ("summary.json", found.report):
        assert "the hip is a guess" in (tmp_path / file).read_text(encoding="utf-8")


def test_person_is_not_one_size() -> None:
    """The generated archives hold people that differ, else grouping would not show."""
    sizes = [person(seed).body("left_thigh").length or 0.0 for seed in range(4)]
    assert np.ptp(sizes) > 0.02
