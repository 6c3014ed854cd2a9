"""osteon solve"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from osteon.cli import options


@click.command()
@click.argument("files", nargs=-1, required=True, type=options.FILE)
@options.output()
@options.solving
@click.option("--skeleton", type=options.FILE, help="A subject calibrated before: skeleton.json.")
@click.option(
    "--limits",
    type=options.FILE,
    help="As --skeleton, and keep joints within its limits: skeleton.json of osteon limits.",
)
@click.option("--passport", type=options.FILE, help="A performer known before: passport.json.")
@click.option(
    "--static",
    type=options.FILE,
    multiple=True,
    help="Take that only helps to calibrate, may be repeated.",
)
@click.option("--subject", metavar="NAME", help="Solve only this one, where a file holds several.")
@click.option("--measured", type=options.FILE, help="Lengths measured by hand: a CSV of limb,cm.")
@click.option("--edits", type=options.FILE, help="What was edited in the studio: .edits.json.")
@options.more_formats
@options.bvh_unit
@options.bvh_up
@options.as_json
def solve(
    files: tuple[Path, ...],
    output: Path,
    skeleton: Path | None,
    limits: Path | None,
    passport: Path | None,
    static: tuple[Path, ...],
    subject: str | None,
    measured: Path | None,
    edits: Path | None,
    formats: str,
    unit: str | None,
    up: str | None,
    *,
    as_json: bool,
    **solving: Any,
) -> None:
    """Turn the recordings in FILES into a rig with clean motion.

    FILES hold markers (C3D, TRC, CSV …); several of one subject calibrate together. Where a file
    holds several subjects each gets a folder of its own. Writes skeleton.json, motion.bvh,
    motion.glb, summary.json, report.html and the subject's passport.json.

    Example: osteon solve walk.c3d -o walk
    """
    from osteon import pipeline
    from osteon.formats import read_measured
    from osteon.typing import Step

    if limits is not None and skeleton is not None:
        raise click.UsageError("--limits brings its own skeleton: leave out --skeleton")
    if edits is not None and (static or subject):
        raise click.UsageError("--edits knows no --static, and its own --subject: leave them out")
    known, endings = limits or skeleton, options.endings(formats)
    options.spare((*files, *static, known), options.motion_files(output, endings))
    asked = _ask(solving, known, passport, limited=limits is not None)
    lengths = None if measured is None else read_measured(measured)
    with options.progress() as saying:
        if edits is None:
            whom = {"static": static, "subject": subject}
            solved = pipeline.solve(*files, **whom, options=asked, progress=saying)
        else:
            solved = (_solve_edited(files, edits, asked, saying),)
        saying(Step("analyse", "analysing the motion"))
        analyses = [pipeline.analyse(one.motion, advise=not one.keypoints) for one in solved]
    solved = tuple(_hold_against(one, lengths or {}) for one in solved)
    folders = [Path() if len(solved) == 1 else name for name in _folders(solved)]
    for name in folders:
        options.spare((*files, *static, known), options.motion_files(output / name, endings))
    inputs = (*files, *static, solving["own_set"], known, passport, measured, edits)
    written = {"formats": endings, "unit": unit, "up": up, "measured": lengths}
    with options.whole_results(output, inputs) as scratch:
        _write(solved, analyses, [scratch / name for name in folders], written)
        pipeline.write_passports(solved, scratch, analyses)
    for one, name in zip(solved, folders, strict=True):
        _say(one, output / name, as_json=as_json)


def _ask(solving: dict[str, Any], known: Path | None, passport: Path | None, *, limited: bool):
    """Put together what is asked of the solve, with the files that were named."""
    from osteon.formats import read_passport
    from osteon.pipeline import SolveOptions

    return SolveOptions(
        **solving,
        skeleton=None if known is None else _read_subject(known, limited=limited),
        limits=limited,
        passport=None if passport is None else read_passport(passport),
    )


def _write(solved, analyses, folders: list[Path], written: dict[str, Any]) -> None:
    from osteon.delivery import deliver

    for one, shown, folder in zip(solved, analyses, folders, strict=True):
        deliver(one, folder, analyses=shown, **written)


def _say(solved, folder: Path, *, as_json: bool) -> None:
    """Print what came of a take, and where it is."""
    from osteon import delivery

    if as_json:
        click.echo(options.json_line(delivery.summary_of(solved)))
    else:
        options.tell(delivery.solve_text(solved))
        click.echo(folder)


def _read_subject(path: Path, *, limited: bool):
    """Read a subject's skeleton; refuse one that could do nothing of what was asked."""
    from dataclasses import replace

    from osteon.errors import WrongContent
    from osteon.formats import read

    skeleton = read(path).skeleton()
    if not any(body.markers for body in skeleton.bodies):
        raise WrongContent(
            path,
            "its skeleton carries no markers, so none can pose it; give the skeleton.json of a "
            f"solve, or move it with: osteon map RECORDING --skeleton {path.name}",
        )
    if limited and not any(body.joint.limits for body in skeleton.bodies):
        raise WrongContent(
            path,
            "none of its joints has limits; find them with osteon limits, or give the file as "
            "--skeleton",
        )
    return replace(skeleton, events=())  # what happened in the take that it was made from


def _hold_against(solved, lengths: dict[str, float]):
    """Note what was measured of bones that the rig does not have."""
    from dataclasses import replace

    from osteon.errors import UnknownName

    names = solved.skeleton.names
    notes = [f"--measured: {UnknownName('bone', n, names)}" for n in lengths if n not in names]
    return replace(solved, warnings=(*solved.warnings, *notes))


def _solve_edited(files: tuple[Path, ...], path: Path, asked, saying):
    """Solve the take as edited; what was not asked for here is as it was set in the studio."""
    import dataclasses

    from osteon.edits import SOLVE_SETTINGS, options_of, read_edits, solve_edited

    if len(files) != 1:
        raise click.UsageError(f"--edits belongs to one FILE, got {len(files)}")
    edits, given = read_edits(path, files[0]), click.get_current_context().get_parameter_source
    set_there, default = options_of(edits.settings), click.core.ParameterSource.DEFAULT
    kept = {name: getattr(set_there, name) for name in SOLVE_SETTINGS if given(name) == default}
    asked = dataclasses.replace(asked, **kept)
    return solve_edited(files[0], edits, options=asked, progress=saying)


def _folders(solved) -> list[Path]:
    """A folder for each take, by the shortest name that tells all of them apart."""
    takes = [(one.recording.subject, one.path.parent.resolve() / one.path.name) for one in solved]
    for names in _spellings(takes):
        if len(set(names)) == len(names):
            return names
    return [Path(f"{path.stem} {number}") for number, (_, path) in enumerate(takes, 1)]


def _spellings(takes: list[tuple[str, Path]]) -> Iterator[list[Path]]:
    """By the subject, the file, both; then with the file's ending and the folders it lies in."""
    from osteon.formats import file_name

    yield [Path(file_name(subject) if subject else path.stem) for subject, path in takes]
    for above in range(max(len(path.parents) for _, path in takes)):
        named = [path.relative_to(path.parents[: above + 1][-1]) for _, path in takes]
        for files in ([file.with_suffix("") for file in named], named):
            yield files
            whose = [f" {file_name(subject)}" if subject else "" for subject, _ in takes]
            yield [Path(f"{file}{own}") for file, own in zip(files, whose, strict=True)]
