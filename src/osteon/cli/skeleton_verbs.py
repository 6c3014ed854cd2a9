"""Verbs that find a skeleton, or move one, and the tracker behind it: field, fit, joints, map."""

import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import click

from osteon.cli import options


@click.command()
@click.argument("file", metavar="BAR", type=options.FILE)
@click.option(
    "--distance",
    required=True,
    type=options.POSITIVE,
    metavar="METRES",
    help="Between both sensors of the bar, as measured.",
)
@click.option("--sensors", nargs=2, metavar="A B", help="Both sensors, where BAR has others too.")
@options.output("field.json, field.svg and summary.json")
@options.as_json
def field(
    file: Path, distance: float, sensors: tuple[str, str] | None, output: Path, *, as_json: bool
) -> None:
    """Find what a tracker does to places, from two sensors on a rigid bar.

    BAR is a recording of two sensors (or markers) at a known distance that somebody walks through
    the whole volume, turning the bar all ways, for a minute or longer. Tells the tracker's scale,
    its noise and its distortion over the volume; field.json takes them off a recording in joints
    and convert.

    Example: osteon field bar.csv --distance 0.565 -o tracker
    """
    from osteon.cleaning import field_of_bar
    from osteon.delivery import FIELD_FILES, field_summary, field_text, write_field_files
    from osteon.formats import read

    options.spare((file,), [output / name for name in FIELD_FILES])
    walk = field_of_bar(read(file), distance, sensors)
    with options.whole_results(output, (file,)) as scratch:
        write_field_files(walk, scratch)
    options.say_results(field_summary(walk), field_text(walk), as_json=as_json, folder=output)


@click.command()
@click.argument("file", type=options.FILE)
@options.output()
@options.file(
    "--tree",
    "What hangs on what: a skeleton file (BVH, ASF, GLB, skeleton.json) or a TOML file with "
    'a table [parents] of lines knee = "hip".',
)
@options.file(
    "--lengths",
    "Lengths to keep: a skeleton file, or what a tape measured, a CSV of limb,cm with the joint at "
    "each bone's far end.",
)
@options.subject("joints")
@click.option(
    "--noise",
    metavar="MM",
    type=options.Number(min=0.0),
    help="Noise of the joint positions, to correct the lengths by.  [default: estimated]",
)
@click.option(
    "--debias/--least-squares",
    default=True,
    help="Take joint noise out of the lengths, or fit them by least squares as Wen et al. 2006.",
)
@click.option("--dividing", is_flag=True, help="Solve chains apart, as Wen et al. 2006 do.")
@options.names
@options.bvh
@options.as_json
def fit(
    file: Path,
    output: Path,
    tree: Path | None,
    lengths: Path | None,
    subject: str | None,
    noise: float | None,
    names: str | None,
    unit: str | None,
    up: str | None,
    *,
    debias: bool,
    dividing: bool,
    as_json: bool,
) -> None:
    """Fit bones of fixed length to the joint positions in FILE.

    FILE holds joint centres as points (C3D, TRC, CSV), with --tree unless they are named like
    Plug-in Gait's origins, LHJC, LKJC, LAJC or a markerless system's keypoints; or a motion whose
    bones stretch (BVH, GLB). Writes skeleton.json, motion.bvh, motion.glb, summary.json and
    report.html.

    Example: osteon fit joints.trc --tree rig.bvh -o fitted
    """
    from osteon.delivery import deliver_fit, fit_text, summary_of_fit
    from osteon.fixed_lengths import fit as fit_joints, read_tree
    from osteon.formats import read

    options.spare((file, tree, lengths), options.motion_files(output, ()))
    start = time.perf_counter()
    take = read(file)
    source = take.recording(subject) if take.recordings else take.motion(subject)
    given = None if tree is None else read_tree(tree)
    known = None if lengths is None else _lengths(lengths)
    began = time.perf_counter()
    result = fit_joints(
        source,
        given,
        lengths=known,
        debias=debias,
        noise=None if noise is None else noise / 1e3,
        dividing=dividing,
    )
    seconds = {"read": began - start, "solve": time.perf_counter() - began}
    with options.whole_results(output, (file, tree, lengths)) as scratch:
        deliver_fit(result, scratch, seconds, unit=unit, up=up, names=names)
    options.say_results(
        summary_of_fit(result, seconds), fit_text(result), as_json=as_json, folder=output
    )
    options.tell_names(output)


def _lengths(file: Path) -> dict[str, float]:
    """Return lengths by the joint at the bone's far end, metres."""
    import numpy as np

    from osteon.formats import read, read_measured

    if file.suffix.lower() == ".csv":
        return read_measured(file)
    skeleton = read(file).skeleton()
    sizes = np.linalg.norm(skeleton.offsets, axis=-1).tolist()
    named = zip(skeleton.names, skeleton.parents, sizes, strict=True)
    return {name: size for name, parent, size in named if parent >= 0}


@dataclass(frozen=True)
class Hints:
    """What somebody knows of the bodies."""

    root: str | None
    like: Path | None
    clusters: Path | None
    measured: Path | None
    known_distance: tuple[str, str, float] | None
    field: Path | None
    exclude: tuple[str, ...]


HINTS = (
    click.option(
        "--root", metavar="BODY", help="Body to start from.  [default: the most central one]"
    ),
    options.file("--like", "File with a skeleton whose hierarchy is kept; by default it is found."),
    options.file(
        "--clusters",
        'TOML file with a table [clusters] of lines thigh = ["T1", "T2", "T3"]: which markers are '
        "on which body; by default those that move together.",
    ),
    options.file(
        "--measured", "CSV of limb,cm: lengths measured by hand, shown beside those found."
    ),
    click.option(
        "--known-distance",
        nargs=3,
        type=(str, str, float),
        metavar="BODY BODY METRES",
        help="Two sensors fixed at this distance give the tracker's scale.",
    ),
    options.field,
    click.option(
        "--exclude", metavar="BODY", multiple=True, help="Body to leave out, may be repeated."
    ),
)


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=options.FILE)
@options.output("skeleton.json, summary.json, motion.bvh, residuals.svg and report.html")
@options.subject("bodies")
@options.gathered("hints", Hints, *HINTS)
@click.option("--robust", is_flag=True, help="Let outlying frames count less.")
@options.more_formats
@options.names
@options.as_json
def joints(
    files: tuple[Path, ...],
    output: Path,
    subject: str | None,
    hints: Hints,
    formats: str,
    names: str | None,
    *,
    robust: bool,
    as_json: bool,
) -> None:
    """Joints, hierarchy, loops and slips from the moving bodies or marker clusters in FILE.

    FILE holds sensors with place and orientation, markers in clusters of three and more, or a
    moving skeleton. Several files of one subject are taken together, their frames in a row. Where
    several subjects are in it each gets a folder of its own; a thing that somebody holds goes with
    them.

    Example: osteon joints sensors.csv -o rig --root pelvis
    """
    from osteon.articulation import limb_table, play_back_together, subjects_of
    from osteon.delivery import joints_summary, joints_text, show_joints, write_joints
    from osteon.formats import file_name, read, read_measured

    if hints.known_distance and hints.field:
        raise click.UsageError("--field has the scale; leave out --known-distance")
    endings = options.endings(formats)
    given = (*files, hints.like, hints.clusters, hints.field)
    options.spare(given, options.motion_files(output, endings))
    takes = [read(file) for file in files]
    bodies, found = _found(takes, subject, hints, robust=robust)
    lengths = read_measured(hints.measured) if hints.measured else None
    limbs = limb_table(found, lengths)
    subjects = subjects_of(found)
    motions = play_back_together(bodies, subjects)
    told = []
    with options.whole_results(output, (*given, hints.measured)) as scratch:
        for each, motion in zip(subjects, motions, strict=True):
            folder = Path() if len(subjects) == 1 else Path(file_name(each.subject))
            own = [limb for limb in limbs if limb.body in each.names]
            worn = bodies.select(motion.skeleton.names)
            summary = joints_summary(worn, each, own)
            if len(files) > 1:
                summary["takes"] = _frames_of(files, takes, subject)
            write_joints(motion, each, summary, scratch / folder, endings, names)
            show_joints(worn, motion, each, scratch / folder, lengths)
            told.append((summary, joints_text(each, own), folder))
    for summary, text, folder in told:
        options.say_results(summary, text, as_json=as_json)
        click.echo(output / folder, err=True)
        options.tell_names(output / folder)


def _found(takes, subject: str | None, hints: Hints, *, robust: bool):
    """Return the moving bodies of some takes, and the joints between them."""
    from osteon.articulation import bodies_of, joints as find_joints, read_clusters, scale_factor
    from osteon.formats import read, read_field
    from osteon.pipeline import takes_in_a_row

    named = None if hints.clusters is None else read_clusters(hints.clusters)
    whom = subject if len(takes) == 1 else None
    moving = bodies_of(takes_in_a_row(takes, subject), whom, named)
    if hints.field:
        moving = moving.in_field(read_field(hints.field))
    if hints.known_distance:
        moving = moving.rescaled(scale_factor(moving.bodies, *hints.known_distance))
    moving = moving.without(hints.exclude)
    known = {}
    if hints.like is not None:
        kept = read(hints.like).skeleton()
        parents = {body.name: body.parent for body in kept.bodies if body.parent is not None}
        known = {"parents": parents, "loops": kept.loops}
    asked = {"root": hints.root, "noise": moving.noise, "robust": robust}
    return moving.bodies, moving.told(find_joints(moving.bodies, **asked, **known))


def _frames_of(files, takes, subject: str | None) -> list[dict[str, object]]:
    """Return the first and last frame of each file, counted through all."""
    found, first = [], 0
    for file, take in zip(files, takes, strict=True):
        own = take.body_poses(subject) if take.bodies else take.recording(subject)
        last = first + own.n_frames - 1
        found.append({"file": file.name, "frames": [first, last]})
        first = last + 1
    return found


@click.command()
@click.argument("file", type=options.FILE)
@click.option(
    "--skeleton",
    type=click.Path(path_type=Path),
    help="The character: skeleton.json, .asf, .bvh, .glb and others; or the word figure, for the "
    "average figure at the performer's height.",
)
@click.option("--height", type=options.POSITIVE, metavar="M", help="Of the average figure, metres.")
@options.output()
@options.choice(
    "--mode",
    ("equilibrium", "dynamics"),
    "Solve for the rest of the physical model, or simulate until it rests.",
)
@options.choice(
    "--follow",
    ("auto", "markers", "poses"),
    "What leads the character; poses suit other proportions than the performer's.",
)
@click.option("--no-contacts", is_flag=True, help="Leave feet and ground alone.")
@click.option("--feet-only", is_flag=True, help="FILE is a motion: mend its feet, keep the rest.")
@options.subject("markers or motion")
@options.file("--mapping", "Bodies and markers named by hand: a TOML file.")
@options.file("--edits", "What was edited in the studio: .edits.json.")
@options.own_set
@options.more_formats
@options.names
@options.bvh
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
    names: str | None,
    unit: str | None,
    up: str | None,
    *,
    no_contacts: bool,
    feet_only: bool,
    as_json: bool,
) -> None:
    """Move a given skeleton by the recording, or the motion, in FILE.

    The skeleton may be the performer's own or a character of other proportions. Writes
    skeleton.json, motion.bvh, motion.glb, summary.json and report.html. A skinned GLB or FBX comes
    out as motion.glb or motion.fbx, with all that it had and the take as one more animation.

    Example: osteon map walk.c3d --skeleton hero.bvh -o hero
    """
    from osteon import delivery, pipeline
    from osteon.retargeting import Corrections, read_corrections

    if (skeleton is None) != feet_only:
        raise click.UsageError("give --skeleton, or --feet-only for a motion on its own")
    if feet_only:
        about = ("follow", "no_contacts", "own_set")
        options.refuse_idle("--feet-only keeps all but the feet", *about)
    onto, endings = _onto(skeleton, height), options.endings(formats)
    options.spare((file, skeleton), options.motion_files(output, endings))
    given = {"mode": mode, "follow": follow, "contacts": not no_contacts, "height": height}
    corrections = Corrections() if mapping is None else read_corrections(mapping)
    asked = pipeline.MapOptions(**given, corrections=corrections)
    solving, source = pipeline.SolveOptions(own_set=own_set), file
    if edits is not None:
        if not isinstance(onto, Path):
            raise click.UsageError("--edits needs a character: --skeleton FILE")
        source, asked, solving = _apply_edits(file, edits, onto.name, asked, solving)

    progress = partial(click.echo, err=True)
    if onto is None:
        mapped = pipeline.fix_feet(file, subject=subject, options=asked, progress=progress)
        unit, up = _as_given(mapped.motion.source, unit, up)
    else:
        mapped = pipeline.map_to(
            source, onto, subject=subject, options=asked, solving=solving, progress=progress
        )
    inputs = (file, skeleton, mapping, edits, own_set)
    character = file if onto is None else onto if isinstance(onto, Path) else None
    with options.whole_results(output, inputs) as scratch:
        delivery.deliver(
            mapped,
            scratch,
            formats=endings,
            names=names,
            unit=unit,
            up=up,
            character=character,
        )
    whom = "" if skeleton is None else mapped.skeleton.subject or skeleton.stem
    text = delivery.map_text(mapped, file.stem, whom)
    options.say_results(delivery.summary_of(mapped), text, as_json=as_json, folder=output)
    options.tell_names(output)


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
    from osteon.edits import edit_take, glue_markers, options_of, read_edits, right_samples

    edits = read_edits(path, file)
    kept = {"own_set": solving.own_set, "right": right_samples(edits.edits)}
    solving = replace(options_of(edits.settings), **kept)
    corrections = glue_markers(edits.edits, character, asked.corrections)
    return edit_take(file, edits, solving), replace(asked, corrections=corrections), solving
