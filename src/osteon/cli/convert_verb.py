"""osteon convert"""

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
@click.option("--mirror", is_flag=True, help="Mend markers whose axes are left-handed.")
@click.option(
    "--swap-sides",
    type=click.Choice(["all", "legs", "arms"]),
    help="Mend markers whose labels of left and right are exchanged.",
)
@click.option("--upright", is_flag=True, help="Mend markers that lie or stand on their head.")
@click.option(
    "--scale",
    type=click.FloatRange(min=0.0, min_open=True),
    metavar="FACTOR",
    help="Mend markers whose lengths are in another unit.",
)
def convert(
    source: Path,
    target: Path,
    unit: str | None,
    up: str | None,
    only: str | None,
    swap_sides: str | None,
    scale: float | None,
    *,
    mirror: bool,
    upright: bool,
) -> None:
    """Turn SOURCE into TARGET; the ending of TARGET picks the format.

    SOURCE is anything that inspect reads; osteon info lists the formats. Coordinates stay as they
    are in SOURCE unless the format or an option asks otherwise.

    Example: osteon convert walk.c3d walk.trc
    """
    from osteon.cli import options
    from osteon.formats import (
        AMC,
        FORMATS,
        as_held,
        describe,
        find_asf,
        find_format,
        format_for_writing,
        keep_only,
        left_out,
        read,
        write,
        written_with,
    )

    form = format_for_writing(target, FORMATS)
    skeletons = [find_asf(source)] if find_format(source, FORMATS) is AMC else []
    options.spare((source, *skeletons), written_with(target))
    take = read(source)
    for problem in describe(take, source)["problems"]:
        click.echo(f"{source.name}: {problem}", err=True)
    if only is not None:
        take = keep_only(take, only)
    if mirror or swap_sides or upright or scale:
        from osteon.cleaning import mend

        take = mend(
            take,
            mirror=mirror,
            swap_sides=swap_sides or "",
            upright=upright,
            scale=scale or 1.0,
        )
    held = as_held(take, form, up)
    write(held, target, unit=unit, up=up)
    lost = left_out(take, held, form)
    if lost:
        click.echo(f"{form.name} cannot hold {', '.join(lost)}: left out", err=True)
    click.echo(target)
