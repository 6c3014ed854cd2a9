"""osteon batch"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from osteon.cli import options
from osteon.errors import counted

QUIET_SECONDS = 5.0
"""Seconds between two lines of progress where no terminal shows one live line."""


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@options.output("the index, the subjects and a folder for every take")
@click.option("--workers", metavar="N", type=click.IntRange(min=1), help="Processes.  [cores]")
@click.option("--scheduler", metavar="URL", help="Dask scheduler to work on, as tcp://head:8786.")
@click.option("--watch", is_flag=True, help="Go on with files that arrive, until Ctrl-C.")
@click.option(
    "--subjects", metavar="REGEX", help="First group, found in a take's path, is its subject."
)
@click.option("--recalibrate", is_flag=True, help="Calibrate subjects anew that have new takes.")
@click.option("--retry", is_flag=True, help="Try takes again that failed before.")
@options.solving
@options.more_formats
@options.bvh_unit
@options.bvh_up
@options.as_json
def batch(
    folder: Path,
    output: Path,
    workers: int | None,
    scheduler: str | None,
    subjects: str | None,
    formats: str,
    unit: str | None,
    up: str | None,
    *,
    watch: bool,
    recalibrate: bool,
    retry: bool,
    as_json: bool,
    **solving: Any,
) -> None:
    """Solve every take below FOLDER, each subject calibrated on all its takes.

    Run it again after it was stopped or killed: what is finished is not done again. Writes
    index.html, index.csv and a folder for every take.

    Example: osteon batch archive -o solved --workers 8
    """
    from osteon import batch as stage
    from osteon.pipeline import SolveOptions

    own_set = solving["own_set"]  # workers elsewhere have another working folder
    asked = stage.BatchOptions(
        solving=SolveOptions(**solving | {"own_set": own_set and own_set.resolve()}),
        formats=tuple(options.endings(formats)),
        unit=unit,
        up=up,
        subjects=subjects,
        recalibrate=recalibrate,
        retry=retry,
    )
    run = stage.watch if watch else _once
    try:
        with now_and_then() as saying:
            for done in run(
                folder, output, options=asked, workers=workers, scheduler=scheduler, progress=saying
            ):
                if as_json:
                    click.echo(_batch_json(done))
                else:
                    options.tell(_batch_text(done))
                click.echo(output / "index.html", err=as_json)
    except KeyboardInterrupt:
        click.echo("stopped; what is done is kept: run it again to go on", err=True)
        sys.exit(0 if watch else 1)


def _once(folder: Path, output: Path, **asked) -> Iterator:
    from osteon import batch as stage

    yield stage.batch(folder, output, **asked)


@contextmanager
def now_and_then() -> Iterator[Callable[[str], None]]:
    """Show progress as ``options.progress`` shows it, but no line per take in a log."""
    last = 0.0

    def say(saying: str) -> None:
        nonlocal last
        if time.monotonic() - last >= QUIET_SECONDS:
            last = time.monotonic()
            plain(saying)

    with options.progress() as plain:
        yield say


def _batch_text(done) -> str:
    """Tell in a few lines what came of a batch."""
    takes = len({row.take for row in done.rows})
    lines = [f"{counted(takes, 'take')}, {done.solved} done now, {len(done.failed)} failed"]
    if not takes:
        lines.append("no file below the folder holds markers or rigid bodies")
    lines += [f"failed: {row.take}: {row.problem}" for row in done.failed[:5]]
    good = [row for row in done.rows if not row.problem]
    lines += [
        f"worst: {row.take}, {row.marker_rms_mm:.2f} mm rms, {row.worst_marker}" for row in good[:3]
    ]
    lines += [f"note: {row.take}: {row.changed}" for row in good if row.changed][:5]
    if done.skipped:
        lines.append(f"{len(done.skipped)} files are no takes: see skipped.csv")
    return "\n".join(lines)


def _batch_json(done) -> str:
    told = {
        "solved": done.solved,
        "failed": len(done.failed),
        "takes": done.rows,
        "skipped": {survey.take: survey.skipped for survey in done.skipped},
    }
    return options.json_line(told)
