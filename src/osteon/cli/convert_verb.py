"""The verb between formats, and what can be done with a motion or markers on the way: convert."""

from dataclasses import dataclass, replace
from pathlib import Path

import click

from osteon.cli import options

FASTEST_RATE = 1e4
"""Hz that a motion can be asked for; chosen: no camera is as fast, and memory holds it."""
LARGEST_FACTOR = 1e6
"""Ratio by which lengths can be mended; derived: from micrometres to metres."""


@dataclass(frozen=True)
class Changes:
    """What becomes of a motion, or of markers, on the way; in the order in which it is done."""

    frames: tuple[int, int] | None
    mirror: bool
    root_bone: bool
    in_place: bool
    loop: float | None
    rate: float | None
    swap_sides: str | None
    upright: bool
    scale: float | None

    @property
    def of_motion(self) -> bool:
        """Whether something is asked for that only a motion can be."""
        return bool(self.mirror or self.root_bone or self.in_place or self.loop or self.rate)

    @property
    def of_markers(self) -> bool:
        """Whether markers are to be mended."""
        return bool(self.mirror or self.swap_sides or self.upright or self.scale)


CHANGES = (
    click.option(
        "--frames",
        type=options.FRAMES,
        metavar="FIRST:LAST",
        help="Cut these frames out, counted from 0.",
    ),
    click.option(
        "--root-bone",
        is_flag=True,
        help="Put a bone on the ground above all others, for root motion.",
    ),
    click.option("--in-place", is_flag=True, help="Keep a motion above one place of the floor."),
    click.option(
        "--loop",
        metavar="SECONDS",
        type=options.POSITIVE,
        help="Let a motion's end go over into its start in this time.",
    ),
    click.option(
        "--rate",
        metavar="HZ",
        type=options.Number(min=0.0, min_open=True, max=FASTEST_RATE),
        help="Frames per second of a motion.",
    ),
    click.option(
        "--mirror",
        is_flag=True,
        help="Exchange left and right of a motion; mend markers whose axes are left-handed.",
    ),
    click.option(
        "--swap-sides",
        type=click.Choice(["all", "legs", "arms"]),
        help="Mend markers whose labels of left and right are exchanged.",
    ),
    click.option("--upright", is_flag=True, help="Mend markers that lie or stand on their head."),
    click.option(
        "--scale",
        type=options.Number(min=1.0 / LARGEST_FACTOR, max=LARGEST_FACTOR),
        metavar="FACTOR",
        help="Mend markers whose lengths are in another unit.",
    ),
)


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
@options.names
@options.gathered("changes", Changes, *CHANGES)
@options.field
def convert(
    source: Path,
    target: Path,
    unit: str | None,
    up: str | None,
    only: str | None,
    names: str | None,
    field: Path | None,
    changes: Changes,
) -> None:
    """Turn SOURCE into TARGET; the ending of TARGET picks the format.

    SOURCE is anything that inspect reads; osteon info lists the formats. Coordinates stay as they
    are in SOURCE unless the format or an option asks otherwise.

    Example: osteon convert walk.c3d walk.trc
    """
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
        read_field,
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
    if field is not None:
        from osteon.cleaning import without_field

        take = without_field(take, read_field(field))
    take = _changed(take, changes)
    if names is not None:
        take = _called(take, names)
    held = as_held(take, form, up)
    write(held, target, unit=unit, up=up)
    lost = left_out(take, held, form)
    if lost:
        click.echo(f"{form.name} cannot hold {', '.join(lost)}: left out", err=True)
    click.echo(target)


def _called(take, names: str):
    """Return the take with other bone names; say what has none."""
    from osteon.human import rename_take

    take, notes = rename_take(take, names)
    for note in notes:
        click.echo(f"names: {note}", err=True)
    return take


def _changed(take, asked: Changes):
    """Return the take with its motions cut and changed, and its markers mended."""
    if take.recordings:  # their mirror image is a fault to be mended
        motions, markers = replace(asked, mirror=False), asked
    else:
        motions, markers = asked, replace(asked, mirror=False)
    if motions.frames or motions.of_motion:
        take = _cut(take, motions)
    if not markers.of_markers:
        return take
    from osteon.cleaning import mend

    return mend(
        take,
        mirror=markers.mirror,
        swap_sides=markers.swap_sides or "",
        upright=markers.upright,
        scale=markers.scale or 1.0,
    )


def _cut(take, asked: Changes):
    """Return the take's frames and motions as asked."""
    from osteon import clips
    from osteon.errors import NotEnoughData

    if asked.of_motion and (not (take.motions or take.compacts) or take.recordings or take.bodies):
        held = " and ".join(take.kinds) or "nothing"
        raise NotEnoughData(
            f"only a motion can be looped, mirrored or resampled, or get a root bone; the file "
            f"holds {held}"
            + (" (--only motion takes it out)" if "motion" in take.kinds else "; --frames cuts it")
        )
    if asked.frames:
        take = replace(
            take,
            recordings=tuple(clips.trim(each, *asked.frames) for each in take.recordings),
            bodies=tuple(clips.trim(each, *asked.frames) for each in take.bodies),
        )
    motions = (*take.motions, *(compact.motion() for compact in take.compacts))
    return replace(take, motions=tuple(_clip(each, asked) for each in motions), compacts=())


def _clip(motion, asked: Changes):
    """Return a motion as asked; say how far apart the ends of a loop were."""
    from osteon import clips

    motion = clips.trim(motion, *asked.frames) if asked.frames else motion
    motion = clips.mirrored(motion) if asked.mirror else motion
    motion = clips.with_root_bone(motion) if asked.root_bone else motion
    motion = clips.in_place(motion) if asked.in_place else motion
    if asked.loop:
        motion, ends = clips.loop(motion, asked.loop)
        click.echo(f"loop: {ends.sentence}", err=True)
    return clips.resample(motion, asked.rate) if asked.rate else motion
