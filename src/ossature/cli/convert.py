"""ossature convert"""

from pathlib import Path

import click


@click.command()
@click.argument("source", type=click.Path(path_type=Path))
@click.argument("target", type=click.Path(path_type=Path))
@click.option("--unit", type=click.Choice(["m", "cm", "mm", "in"]), help="Unit in TARGET.")
@click.option("--up", type=click.Choice(["y", "z"]), help="Axis that points up in TARGET.")
@click.option(
    "--only",
    type=click.Choice(["markers", "bodies", "motion", "skeleton"]),
    help="Write this alone where SOURCE holds several things.",
)
def convert(source: Path, target: Path, unit: str | None, up: str | None, only: str | None) -> None:
    """Turn SOURCE into TARGET; the ending of TARGET picks the format.

    SOURCE is anything that inspect reads; ossature info lists the formats. Coordinates stay as they
    are in SOURCE unless the format or an option asks otherwise.

    Example: ossature convert walk.c3d walk.trc
    """
    from ossature.formats import FORMATS, read, write
    from ossature.formats.registry import as_held, format_for_writing, keep_only, left_out
    from ossature.formats.summary import describe

    form = format_for_writing(target, FORMATS)
    take = read(source)
    for problem in describe(take, source)["problems"]:
        click.echo(f"{source.name}: {problem}", err=True)
    if only is not None:
        take = keep_only(take, only)
    held = as_held(take, form, up)
    write(held, target, unit=unit, up=up)
    lost = left_out(take, held, form)
    if lost:
        click.echo(f"{form.name} cannot hold {', '.join(lost)}: left out", err=True)
    click.echo(target)
