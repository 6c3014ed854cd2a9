"""Verbs about a motion that is there already: axes, limits, normalise."""

from dataclasses import dataclass, replace
from pathlib import Path

import click

from osteon.cli import options


@click.command()
@click.argument("file", type=options.FILE_OR_FOLDER)
@options.output("skeleton.json, summary.json, the compact motion and report.html")
@options.subject()
@options.choice("--method", ("joining", "pca", "em"), "How the main directions are found.")
@options.choice(
    "--source",
    ("orientations", "points"),
    "What to trust in FILE; points: only its joint positions were measured.",
)
@click.option(
    "--formats",
    default="csv",
    metavar="LIST",
    help="Of the compact motion: csv, osteon, parquet; others, as bvh, get the poses made of it.",
)
@click.option(
    "--clean",
    multiple=True,
    type=options.FILE_OR_FOLDER,
    help="A clean take to learn from, may be repeated: improbable frames of FILE are named.",
)
@options.file(
    "--recording", "With --clean: the markers FILE was solved from; swapped ones are named too."
)
@options.file(
    "--known",
    "skeleton.json of osteon axes, or a passport with axes: the person's axes are taken from it.",
)
@options.file("--passport", "A passport.json: written to the output with the axes found here.")
@options.names
@click.option("--mend", is_flag=True, help="With --clean: mend improbable frames before all else.")
@options.as_json
def axes(
    file: Path,
    output: Path,
    subject: str | None,
    method: str,
    source: str,
    formats: str,
    clean: tuple[Path, ...],
    recording: Path | None,
    known: Path | None,
    passport: Path | None,
    names: str | None,
    *,
    mend: bool,
    as_json: bool,
) -> None:
    """The axes along which each limb in FILE moves, and the motion as angles about them.

    FILE holds a moving skeleton: BVH, ASF/AMC, GLB, or what solve has written.

    Example: osteon axes walk/motion.glb -o axes
    """
    from osteon.anatomy import axes as find_axes, fewer_angles
    from osteon.delivery import axes_summary, axes_text, deliver_axes, show
    from osteon.formats import read
    from osteon.pipeline import keep_axes, person_with_axes

    if (mend or recording) and not clean:
        raise click.UsageError("--mend and --recording need --clean TAKE to learn from")
    asked = options.endings(formats, besides=("csv", "parquet"))
    made = [output / f"parameters.{ending}" for ending in asked]
    given = (file, *clean, recording, known, passport)
    options.spare(given, made)
    person = None if known is None else person_with_axes(known)
    motion, findings = options.motion_of(file, subject), None
    if clean:
        from osteon.anatomy import learn

        watch = learn([options.motion_of(take, subject) for take in clean])
        markers = None if recording is None else read(recording).recording(subject)
        findings = watch.check(motion, markers)
        motion = watch.mended(motion, findings) if mend else motion
    found = find_axes(motion, method=method, source=source, known=person)
    facts = axes_summary(found, findings, fewer_angles(found))
    with options.whole_results(output, given) as scratch:
        deliver_axes(found, scratch, asked, facts, names)
        if passport is not None:
            keep_axes(passport, found.compact.skeleton, scratch)
        show(found.motion, scratch, None if mend else findings)
    options.say_results(facts, axes_text(facts), as_json=as_json)
    click.echo(output, err=True)
    options.tell_names(output)


@dataclass(frozen=True)
class HowFar:
    """What counts as movement, and which of it limits keep."""

    threshold: str
    minimum: float
    samples: int | None
    quantile: float
    margin: float
    combine: str
    raw: bool
    zyz: bool
    bind: str

    def asked(self):
        from osteon.joint_limits import KindOptions, LimitOptions, RangeOptions

        return LimitOptions(
            KindOptions(self.threshold, self.minimum),
            RangeOptions(self.quantile, self.margin, self.combine),
            samples=self.samples,
            denoise=not self.raw,
            zyz=self.zyz,
            bind=self.bind,
        )


HOW_FAR = (
    options.choice(
        "--threshold", ("noise", "variance95", "absolute"), "What counts as movement of a joint."
    ),
    click.option(
        "--minimum",
        metavar="DEGREES",
        type=options.Number(min=0.0),
        default=0.5,
        help="Spread below which nothing counts as movement.",
    ),
    click.option(
        "--samples",
        metavar="N",
        type=click.IntRange(min=4),
        help="Poses looked at in each motion.  [default: 50 a second for types, all for limits]",
    ),
    click.option(
        "--quantile",
        metavar="SHARE",
        type=options.Number(0.0, 1.0, min_open=True),
        default=1.0,
        help="Share of the samples that limits keep.",
    ),
    click.option(
        "--margin",
        metavar="DEGREES",
        type=options.Number(min=0.0),
        default=0.0,
        help="Added to every limit.",
    ),
    options.choice(
        "--combine",
        ("general", "specific"),
        "Of several FILES: what any of them does, or only what all do.",
    ),
    click.option("--raw", is_flag=True, help="Measure ranges with the noise left in the motion."),
    click.option("--zyz", is_flag=True, help="Also write boxes of ZYZ angles."),
    options.choice(
        "--bind",
        ("mid-range", "circular mean", "nearest sample"),
        "What replaces a bind pose outside the limits.",
    ),
)


@click.command()
@click.argument("files", nargs=-1, required=True, type=options.FILE)
@options.output("skeleton.json, limits.toml, summary.json and report.html")
@options.gathered("how_far", HowFar, *HOW_FAR)
@options.file("--edits", "A limits.toml, changed by hand, whose values replace those found.")
@click.option(
    "--exclude",
    type=options.FRAMES,
    metavar="FIRST:LAST",
    multiple=True,
    help="Frames to leave out, may be repeated.",
)
@options.subject()
@options.as_json
def limits(
    files: tuple[Path, ...],
    output: Path,
    how_far: HowFar,
    edits: Path | None,
    exclude: tuple[tuple[int, int], ...],
    subject: str | None,
    *,
    as_json: bool,
) -> None:
    """Types and limits of the joints of the moving skeleton in FILES.

    FILES hold motions: BVH, ASF/AMC, GLB, or what solve has written; several of one skeleton are
    judged together.

    Example: osteon limits walk.amc run.amc -o rig --margin 5
    """
    from osteon.delivery import limits_summary, limits_text, show, write_limits
    from osteon.joint_limits import apply_edits, limits as find_limits, read_edits

    motions = [options.motion_of(file, subject) for file in files]
    skeleton = find_limits(motions, options=how_far.asked(), exclude=exclude)
    if edits:
        skeleton = apply_edits(skeleton, read_edits(edits))
    summary = limits_summary(motions, skeleton)
    with options.whole_results(output, (*files, edits)) as scratch:
        write_limits(skeleton, summary, scratch)
        show(replace(motions[0], skeleton=skeleton), scratch)
    options.say_results(summary, limits_text(summary), as_json=as_json)
    click.echo(output, err=True)


@click.command()
@click.argument("file", type=options.FILE_OR_FOLDER)
@options.output("skeleton.json, summary.json, the normalised rig and report.html")
@options.subject()
@click.option(
    "--formats",
    default="bvh",
    metavar="LIST",
    help="Formats of the normalised rig, such as bvh,glb,amc,osteon.",
)
@click.option(
    "--meshes",
    type=options.FILE_OR_FOLDER,
    help="Folder of <body>.obj or .glb, told in limb frames and limb lengths, or one skin over the "
    "whole body, .glb or .obj: writes dressed.glb.",
)
@options.choice("--mesh-up", ("y", "z"), "Upward axis of a skin given as OBJ.")
@options.names
@options.as_json
def normalise(
    file: Path,
    output: Path,
    subject: str | None,
    formats: str,
    meshes: Path | None,
    mesh_up: str,
    names: str | None,
    *,
    as_json: bool,
) -> None:
    """Frames of body and limbs that do not depend on how the motion in FILE was recorded.

    Finds the default pose, the body's planes, its front and a frame in the middle of every limb.
    FILE holds a moving skeleton: BVH, ASF/AMC, GLB, or what solve has written.

    Example: osteon normalise walk/motion.glb -o frames --formats bvh,glb
    """
    if meshes is None:
        options.refuse_idle("there is no skin without --meshes", "mesh_up")
    from osteon.anatomy import normalise as find_frames
    from osteon.delivery import deliver_frames, frames_summary, frames_text, show

    asked = options.endings(formats)
    options.spare((file,), [output / f"normalised.{ending}" for ending in asked])
    found = find_frames(options.motion_of(file, subject))
    with options.whole_results(output, (file, meshes)) as scratch:
        deliver_frames(found, scratch, asked, names)
        show(found.motion, scratch)
        if meshes is not None:
            from osteon.skinning import write_dressed

            write_dressed(found, scratch / "dressed.glb", meshes, mesh_up)
    options.say_results(frames_summary(found), frames_text(found), as_json=as_json)
    click.echo(output, err=True)
    options.tell_names(output)
