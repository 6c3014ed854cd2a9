"""osteon solve"""

from collections.abc import Iterator
from pathlib import Path

import click

from osteon.cli import options
from osteon.errors import counted

_NAMED = 10
"""Exchanged labels that the terminal lists; all are in skeleton.json."""


@click.command()
@click.argument("files", nargs=-1, required=True, type=options.FILE)
@options.output()
@options.marker_set
@options.own_set
@options.hips
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
@click.option("--smooth", is_flag=True, help="Use time as well: one fit over the whole take.")
@click.option("--no-clean", is_flag=True, help="Leave swapped labels and spikes as they are.")
@options.more_formats
@options.bvh_unit
@options.bvh_up
@options.as_json
def solve(
    files: tuple[Path, ...],
    output: Path,
    template: str,
    own_set: Path | None,
    hips: str,
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
    smooth: bool,
    no_clean: bool,
    as_json: bool,
) -> None:
    """Turn the recordings in FILES into a rig with clean motion.

    FILES hold markers (C3D, TRC, CSV …); several of one subject calibrate together. Where a file
    holds several subjects each gets a folder of its own. Writes skeleton.json, motion.bvh,
    motion.glb, summary.json, report.html and the subject's passport.json.

    Example: osteon solve walk.c3d -o walk
    """
    from osteon import delivery, pipeline
    from osteon.formats import read_measured, read_passport
    from osteon.typing import Step

    if limits is not None and skeleton is not None:
        raise click.UsageError("--limits brings its own skeleton: leave out --skeleton")
    known, endings = limits or skeleton, options.endings(formats)
    options.spare((*files, *static, known), options.motion_files(output, endings))
    asked = pipeline.SolveOptions(
        template=template,
        own_set=own_set,
        hips=hips,
        skeleton=None if known is None else _calibrated(known, limited=limits is not None),
        limits=limits is not None,
        passport=None if passport is None else read_passport(passport),
        clean=not no_clean,
        smooth=smooth,
    )
    lengths = None if measured is None else read_measured(measured)
    if edits is not None and (static or subject):
        raise click.UsageError("--edits knows no --static, and its own --subject: leave them out")
    with options.progress() as saying:
        if edits is None:
            solved = pipeline.solve(
                *files, static=static, subject=subject, options=asked, progress=saying
            )
        else:
            solved = (_edited(files, edits, asked, saying),)
        saying(Step("analyse", "analysing the motion"))
        analyses = [pipeline.analyse(one.motion) for one in solved]
    if lengths is not None:
        solved = tuple(_against_measured(one, lengths) for one in solved)
    folders = [Path() if len(solved) == 1 else name for name in _folders(solved)]
    for name in folders:
        options.spare((*files, *static, known), options.motion_files(output / name, endings))
    inputs = (*files, *static, own_set, known, passport, measured, edits)
    with options.whole_results(output, inputs) as scratch:
        for one, shown, name in zip(solved, analyses, folders, strict=True):
            written = {"formats": endings, "unit": unit, "up": up, "measured": lengths}
            delivery.deliver(one, scratch / name, analyses=shown, **written)
        pipeline.write_passports(solved, scratch, analyses)
    for one, name in zip(solved, folders, strict=True):
        _say(one, output / name, as_json=as_json)


def _say(solved, folder: Path, *, as_json: bool) -> None:
    if not as_json:
        click.echo(_told(solved))
        click.echo(folder)
        return
    from osteon import delivery

    click.echo(options.json_line(delivery.summary_of(solved)))


def _calibrated(path: Path, *, limited: bool):
    """A subject's skeleton; refuses one that could do nothing of what was asked."""
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


def _against_measured(solved, lengths: dict[str, float]):
    """With a note about what was measured of bones that the rig does not have."""
    from dataclasses import replace

    from osteon.errors import UnknownName

    names = solved.skeleton.names
    notes = [f"--measured: {UnknownName('bone', n, names)}" for n in lengths if n not in names]
    return replace(solved, warnings=(*solved.warnings, *notes))


def _edited(files: tuple[Path, ...], path: Path, asked, saying):
    """The take as edited; what was not asked for here is as it was set in the studio."""
    import dataclasses

    from osteon.edits import options_of, read_edits, solve_edited

    if len(files) != 1:
        raise click.UsageError(f"--edits belongs to one FILE, got {len(files)}")
    edits, given = read_edits(path, files[0]), click.get_current_context().get_parameter_source
    default = click.core.ParameterSource.DEFAULT
    flags = {"template": "template", "hips": "hips", "smooth": "smooth", "no_clean": "clean"}
    set_there = options_of(edits.settings)
    kept = {
        name: getattr(set_there, name) for flag, name in flags.items() if given(flag) == default
    }
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


def _told(solved) -> str:
    """A few lines a person understands."""
    from osteon.cleaning import swaps_text
    from osteon.values import Swap

    worst = list(solved.rms_per_marker().items())[:3]
    lines = [
        f"{solved.recording.subject or solved.recording.source.file}: "
        f"{counted(len(solved.skeleton.bodies), 'body')}, "
        f"{counted(solved.recording.n_frames, 'frame')}, "
        f"markers {1e3 * solved.rms:.2f} mm rms from the model",
        "worst: " + ", ".join(f"{name} {1e3 * rms:.1f} mm" for name, rms in worst),
    ]
    missing = f"{100.0 - 100.0 * solved.recording.seen.mean():.1f} %"
    lines += [f"{missing} of samples missing"] if missing != "0.0 %" else []
    lines += [f"{counted(len(solved.events), 'event')} in skeleton.json"] if solved.events else []
    swaps = [event for event in solved.events if isinstance(event, Swap)]
    if swaps:
        more = f" and {len(swaps) - _NAMED} more" if len(swaps) > _NAMED else ""
        lines.append(f"exchanged labels put back: {swaps_text(swaps[:_NAMED])}{more}")
    known = [(body.joint.deviation or 0.0, body.name) for body in solved.skeleton.bodies]
    sigma, joint = max(known)
    if sigma:
        lines.append(f"least certain joint: {joint}, ± {1e3 * sigma:.0f} mm")
    if solved.motion.held:
        lines.append(f"{counted(len(solved.motion.held), 'frame')} held for want of markers")
    return "\n".join([*lines, *(f"note: {warning}" for warning in solved.warnings)])
