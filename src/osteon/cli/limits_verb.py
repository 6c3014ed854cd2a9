"""osteon limits"""

from dataclasses import replace
from pathlib import Path

import click

from osteon.cli import options


@click.command()
@click.argument("files", nargs=-1, required=True, type=options.FILE)
@options.output("skeleton.json, limits.toml, summary.json and report.html")
@click.option(
    "--threshold",
    type=click.Choice(["noise", "variance95", "absolute"]),
    default="noise",
    show_default=True,
    help="What counts as movement of a joint.",
)
@click.option(
    "--minimum",
    metavar="DEGREES",
    type=click.FloatRange(min=0.0),
    default=0.5,
    show_default=True,
    help="Spread below which nothing counts as movement.",
)
@click.option(
    "--samples",
    metavar="N",
    type=click.IntRange(min=4),
    help="Poses looked at in each motion.  [default: 50 a second]",
)
@click.option(
    "--quantile", default=1.0, show_default=True, help="Share of the samples that limits keep."
)
@click.option(
    "--margin", metavar="DEGREES", default=0.0, show_default=True, help="Added to every limit."
)
@click.option(
    "--combine",
    type=click.Choice(["general", "specific"]),
    default="general",
    show_default=True,
    help="Of several FILES: what any of them does, or only what all do.",
)
@click.option("--raw", is_flag=True, help="Measure ranges with the noise left in the motion.")
@click.option("--zyz", is_flag=True, help="Also write boxes of ZYZ angles.")
@click.option(
    "--bind",
    type=click.Choice(["mid-range", "circular mean", "nearest sample"]),
    default="mid-range",
    show_default=True,
    help="What replaces a bind pose outside the limits.",
)
@click.option(
    "--edits",
    type=options.FILE,
    help="A limits.toml, changed by hand, whose values replace those found.",
)
@click.option(
    "--exclude", metavar="FIRST:LAST", multiple=True, help="Frames to leave out, may be repeated."
)
@options.subject()
@options.as_json
def limits(
    files: tuple[Path, ...],
    output: Path,
    threshold: str,
    minimum: float,
    samples: int | None,
    quantile: float,
    margin: float,
    combine: str,
    bind: str,
    edits: Path | None,
    exclude: tuple[str, ...],
    subject: str | None,
    *,
    raw: bool,
    zyz: bool,
    as_json: bool,
) -> None:
    """Types and limits of the joints of the moving skeleton in FILES.

    FILES hold motions: BVH, ASF/AMC, GLB, or what solve has written; several of one skeleton are
    judged together.

    Example: osteon limits walk.amc run.amc -o rig --margin 5
    """
    from osteon.delivery import limits_summary, limits_text, show, write_limits
    from osteon.joint_limits import (
        KindOptions,
        LimitOptions,
        RangeOptions,
        apply_edits,
        limits as find_limits,
        read_edits,
    )

    asked = LimitOptions(
        KindOptions(threshold, minimum),
        RangeOptions(quantile, margin, combine),
        samples=samples,
        denoise=not raw,
        zyz=zyz,
        bind=bind,
    )
    motions = [options.motion_of(file, subject) for file in files]
    skeleton = find_limits(motions, options=asked, exclude=[_frames(text) for text in exclude])
    if edits:
        skeleton = apply_edits(skeleton, read_edits(edits))
    summary = limits_summary(motions, skeleton)
    with options.whole_results(output, (*files, edits)) as scratch:
        write_limits(skeleton, summary, scratch)
        show(replace(motions[0], skeleton=skeleton), scratch)
    click.echo(options.json_line(summary) if as_json else limits_text(summary))
    click.echo(output, err=True)


def _frames(text: str) -> tuple[int, int]:
    first, _, last = text.partition(":")
    if not (first.isdigit() and last.isdigit()):
        raise click.BadParameter(f"expected FIRST:LAST, as 120:180, got {text!r}")
    return int(first), int(last)
