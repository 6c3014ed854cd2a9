"""osteon map"""

from functools import partial
from pathlib import Path

import click

from osteon.cli import options


@click.command()
@click.argument("file", type=options.FILE)
@click.option(
    "--skeleton",
    type=click.Path(path_type=Path),
    help="The character: skeleton.json, .asf, .bvh, .glb and others; or the word figure, for the "
    "average figure at the performer's height.",
)
@click.option("--height", type=float, metavar="M", help="Of the average figure, metres.")
@options.output()
@click.option(
    "--mode",
    type=click.Choice(["equilibrium", "dynamics"]),
    default="equilibrium",
    show_default=True,
    help="Solve for the rest of the physical model, or simulate until it rests.",
)
@click.option(
    "--follow",
    type=click.Choice(["auto", "markers", "poses"]),
    default="auto",
    show_default=True,
    help="What leads the character; poses suit other proportions than the performer's.",
)
@click.option("--no-contacts", is_flag=True, help="Leave feet and ground alone.")
@click.option("--feet-only", is_flag=True, help="FILE is a motion: mend its feet, keep the rest.")
@options.subject("markers or motion")
@click.option("--mapping", type=options.FILE, help="Bodies and markers named by hand: a TOML file.")
@click.option("--edits", type=options.FILE, help="What was edited in the studio: .edits.json.")
@options.own_set
@options.more_formats
@options.bvh_unit
@options.bvh_up
@options.as_json
def map(
    file: Path,
    skeleton: Path | None,
    height: float | None,
    output: Path,
    mode: str,
    follow: str,
    subject: str | None,
    mapping: Path | None,
    edits: Path | None,
    own_set: Path | None,
    formats: str,
    unit: str | None,
    up: str | None,
    *,
    no_contacts: bool,
    feet_only: bool,
    as_json: bool,
) -> None:
    """Move a given skeleton by the recording, or the motion, in FILE.

    The skeleton may be the performer's own or a character of other proportions. Writes
    skeleton.json, motion.bvh, motion.glb, summary.json and report.html.

    Example: osteon map walk.c3d --skeleton hero.bvh -o hero
    """
    from osteon import delivery, pipeline

    if (skeleton is None) != feet_only:
        raise click.UsageError("give --skeleton, or --feet-only for a motion on its own")
    onto, endings = _onto(skeleton, height), options.endings(formats)
    options.spare((file, skeleton), options.motion_files(output, endings))
    given = {"mode": mode, "follow": follow, "contacts": not no_contacts, "height": height}
    asked = pipeline.MapOptions(**given, corrections=_read_mapping(mapping))
    solving, source = pipeline.SolveOptions(own_set=own_set), file
    if edits is not None:
        if not isinstance(onto, Path):
            raise click.UsageError("--edits needs a character: --skeleton FILE")
        source, asked, solving = _apply_edits(file, edits, onto.name, asked, solving)

    progress = partial(click.echo, err=True)
    if onto is None:
        mapped = pipeline.fix_feet(file, options=asked, progress=progress)
        unit, up = _as_given(mapped.motion.source, unit, up)
    else:
        mapped = pipeline.map_to(
            source, onto, subject=subject, options=asked, solving=solving, progress=progress
        )
    inputs = (file, skeleton, mapping, edits, own_set)
    with options.whole_results(output, inputs) as scratch:
        delivery.deliver(mapped, scratch, formats=endings, unit=unit, up=up)
    if as_json:
        click.echo(options.json_line(delivery.summary_of(mapped)))
    else:
        _say(mapped, file, skeleton)
        click.echo(output)


def _say(mapped, file: Path, skeleton: Path | None) -> None:
    """Print what came of a map."""
    from osteon.delivery import map_text

    whom = "" if skeleton is None else mapped.skeleton.subject or skeleton.stem
    options.tell(map_text(mapped, file.stem, whom))


def _read_mapping(path: Path | None):
    from osteon.retargeting import Corrections, read_corrections

    return Corrections() if path is None else read_corrections(path)


def _as_given(source, unit: str | None, up: str | None) -> tuple[str | None, str | None]:
    """Return unit and axis of a mended file: as the file has them, unless asked otherwise."""
    kept = source.format == "BVH"
    return unit or (source.unit if kept else None), up or (source.up if kept else None)


def _onto(skeleton: Path | None, height: float | None):
    """Return the character, or the word for the average figure; refuse what is not there."""
    from osteon.pipeline import FIGURE

    onto = FIGURE if skeleton == Path(FIGURE) else skeleton
    if isinstance(onto, Path) and not onto.is_file():
        raise click.BadParameter(f"there is no file {onto}", param_hint="--skeleton")
    if height is not None and onto != FIGURE:
        raise click.UsageError("--height is for --skeleton figure; other skeletons have their own")
    return onto


def _apply_edits(file: Path, path: Path, character: str, asked, solving):
    """Return the take as edited, with the markers that were glued onto the character by hand."""
    from dataclasses import replace

    from osteon.edits import edit_take, glue_markers, options_of, read_edits

    edits = read_edits(path, file)
    solving = replace(options_of(edits.settings), own_set=solving.own_set)
    corrections = glue_markers(edits.edits, character, asked.corrections)
    return edit_take(file, edits, solving), replace(asked, corrections=corrections), solving
