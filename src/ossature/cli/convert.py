"""ossature convert"""

from pathlib import Path

import click


@click.command()
@click.argument("source", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("target", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--unit", type=click.Choice(["m", "cm", "mm", "in"]), help="Unit in TARGET.")
@click.option("--up", type=click.Choice(["y", "z"]), help="Axis that points up in TARGET.")
def convert(source: Path, target: Path, unit: str | None, up: str | None) -> None:
    """Turn SOURCE into TARGET; the ending of TARGET picks the format.

    Coordinates stay as they are in SOURCE unless the format or an option asks otherwise.

    Example: ossature convert walk.c3d walk.trc
    """
    from ossature.formats import read, write

    write(read(source), target, unit=unit, up=up)
    click.echo(target)
