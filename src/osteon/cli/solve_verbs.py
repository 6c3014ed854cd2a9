"""Verbs that turn recordings into rigs: solve, clean, angles, batch for a whole archive, demo."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from osteon.cli import options
from osteon.errors import counted


@click.command()
@click.argument("files", nargs=-1, required=True, type=options.FILE)
@options.output()
@options.solving
@options.file("--skeleton", "A subject calibrated before: skeleton.json.")
@options.file(
    "--limits", "As --skeleton, and keep joints within its limits: skeleton.json of osteon limits."
)
@options.file("--passport", "A performer known before: passport.json.")
@click.option(
    "--static",
    type=options.FILE,
    multiple=True,
    help="Take that only helps to calibrate, may be repeated.",
)
@click.option("--subject", metavar="NAME", help="Solve only this one, where a file holds several.")
@options.file("--measured", "Lengths measured by hand: a CSV of limb,cm.")
@options.file("--edits", "What was edited in the studio: .edits.json.")
@options.more_formats
@options.names
@options.bvh
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
    names: str | None,
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
    from osteon import delivery, pipeline
    from osteon.formats import read_measured

    if limits is not None and skeleton is not None:
        raise click.UsageError("--limits brings its own skeleton: leave out --skeleton")
    if edits is not None and (static or subject):
        raise click.UsageError("--edits knows no --static, and its own --subject: leave them out")
    known, endings = limits or skeleton, options.endings(formats, besides=("angles",))
    with_angles, endings = "angles" in endings, [word for word in endings if word != "angles"]
    read = (*files, *static, known)
    options.spare(read, options.motion_files(output, endings))
    asked = ask(solving, known, passport, limited=limits is not None)
    lengths = None if measured is None else read_measured(measured)
    with options.progress() as saying:
        if edits is not None:
            solved = (_solve_edited(files, edits, asked, saying),)
        else:
            whom = {"static": static, "subject": subject}
            solved = pipeline.solve(*files, **whom, options=asked, progress=saying)
        saying("analysing the motion")
        analyses = [pipeline.analyse(one.motion, advise=not one.keypoints) for one in solved]
    solved = tuple(_hold_against(one, lengths or {}) for one in solved)
    folders = [Path() if len(solved) == 1 else name for name in _folders(solved)]
    for name in folders:
        options.spare(read, options.motion_files(output / name, endings))
    written = {"formats": endings, "names": names, "unit": unit, "up": up, "measured": lengths}
    inputs = (*read, solving["own_set"], passport, measured, edits)
    with options.whole_results(output, inputs) as scratch:
        for one, shown, name in zip(solved, analyses, folders, strict=True):
            angles = pipeline.angles(one) if with_angles else None
            delivery.deliver(one, scratch / name, analyses=shown, angles=angles, **written)
        pipeline.write_passports(solved, scratch, analyses)
    for one, name in zip(solved, folders, strict=True):
        summary, text = delivery.summary_of(one), delivery.solve_text(one)
        options.say_results(summary, text, as_json=as_json, folder=output / name)
        options.tell_names(output / name)


@click.command()
@click.argument("file", type=options.FILE)
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="File for the cleaned recording; its ending picks the format.",
)
@options.solving
@options.file("--skeleton", "A subject calibrated before: skeleton.json.")
@options.file("--passport", "A performer known before: passport.json.")
@options.subject("markers")
@options.as_json
def clean(
    file: Path,
    output: Path,
    skeleton: Path | None,
    passport: Path | None,
    subject: str | None,
    *,
    as_json: bool,
    **solving: Any,
) -> None:
    """Write the recording in FILE cleaned: exchanged labels put back, spikes out, gaps filled.

    Beside the measured markers stand those of the rig (LTHI_model), which have no gaps and keep
    their distances, and the joint centres (left_knee_centre).

    Example: osteon clean walk.c3d -o walk_clean.c3d
    """
    from osteon import delivery, pipeline
    from osteon.formats import written_with

    delivery.check_holds_markers(output)
    options.spare((file, skeleton, passport), written_with(output))
    asked = ask(solving, skeleton, passport, limited=False)
    with options.progress() as saying:
        solved = pipeline.solve(file, subject=subject, options=asked, progress=saying)
    cleaned = [pipeline.clean_take(one) for one in solved]
    delivery.write_cleaned(cleaned, file, output)
    for one, found in zip(solved, cleaned, strict=True):
        summary, text = delivery.clean_summary(one, found), delivery.clean_text(one, found)
        options.say_results(summary, text, as_json=as_json)
    if not as_json:
        click.echo(output)


@click.command()
@click.argument("files", type=options.FILE, nargs=-1, required=True)
@options.output("angles.csv, .mot and .c3d, gait cycles, report.html, summary.json")
@options.choice(
    "--convention",
    ("isb", "pig", "opensim"),
    "Names, order and signs: of the ISB, of Plug-in Gait, or of OpenSim's coordinates.",
)
@click.option(
    "--against",
    type=options.FILE,
    multiple=True,
    help="Take of another session to compare gait with; may be repeated.",
)
@click.option(
    "--controls",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of takes of other people: what is usual.",
)
@options.solving
@options.known_before
@options.subject("angles")
@options.as_json
def angles(
    files: tuple[Path, ...],
    output: Path,
    convention: str,
    against: tuple[Path, ...],
    controls: Path | None,
    skeleton: Path | None,
    passport: Path | None,
    static: tuple[Path, ...],
    subject: str | None,
    *,
    as_json: bool,
    **solving: Any,
) -> None:
    """Tell the recordings in FILES as joint angles with clinical names and signs.

    Solves FILES first. Anatomical frames come from landmarks that were marked, from motion, or from
    the template; summary.json says which, and how uncertain each angle is. Where somebody walks or
    runs, the angles are told over gait cycles too, and report.html shows them; several takes of one
    person together. Where there are several takes or subjects each gets a folder of its own.

    Example: osteon angles walk_1.c3d walk_2.c3d -o angles --convention pig
    """
    from osteon import delivery, pipeline
    from osteon.formats import file_name

    read = (*files, *static, *against, skeleton, passport)
    options.spare(read, [output / name for name in delivery.ANGLE_FILES])
    asked = ask(solving, skeleton, passport, limited=False)
    with options.progress() as saying:
        whom = {"static": static, "subject": subject}
        solved = pipeline.solve(*files, **whom, options=asked, progress=saying)
        told = [pipeline.angles(one, convention) for one in solved]
        compared = pipeline.compare_with(against, controls, convention, asked, saying)
    folders = [Path() if len(solved) == 1 else name for name in _folders(solved)]
    steps = pipeline.gaits(solved, told)
    walks = {name: walk for name, walk in steps.items() if walk.has_cycles}
    homes = [Path(file_name(name)) if name else Path() for name in walks]
    with options.whole_results(output, (*read, solving["own_set"])) as scratch:
        for one, found, name in zip(solved, told, folders, strict=True):
            here = delivery.GAIT_FILES if name in homes else ()
            delivery.deliver_angles(one, found, scratch / name, here)
        for home in {Path(), *homes}.difference(folders):
            here = delivery.GAIT_FILES if home in homes else ()
            people = [Path(file_name(one.recording.subject or "-")) for one in solved]
            own = [name for name, who in zip(folders, people, strict=True) if home in (Path(), who)]
            delivery.deliver_overview(scratch / home, own, here)
        for home, walk in zip(homes, walks.values(), strict=True):
            delivery.deliver_gait(walk, scratch / home, compared)
    for one, found, name in zip(solved, told, folders, strict=True):
        summary, text = delivery.angles_summary(one, found), delivery.angles_text(one, found)
        options.say_results(summary, text, as_json=as_json, folder=output / name)
    for home, walk in zip(homes, walks.values(), strict=True):
        facts = delivery.gait_summary(walk.takes, compared)
        text = delivery.gait_text(walk.takes, compared)
        options.say_results(facts, text, as_json=as_json, folder=output / home / "report.html")
    if steps.keys() - walks.keys() and not as_json:
        options.tell(delivery.NO_CYCLE)


def ask(solving: dict[str, Any], known: Path | None, passport: Path | None, *, limited: bool):
    """Put together what is asked of the solve, with the files that were named."""
    from osteon.formats import read_passport
    from osteon.pipeline import SolveOptions

    check_solving(solving)
    if known is not None:
        options.refuse_idle("a skeleton that is given has its hips", "hips")
    return SolveOptions(
        **solving,
        skeleton=None if known is None else _read_subject(known, limited=limited),
        limits=limited,
        passport=None if passport is None else read_passport(passport),
    )


def check_solving(solving: dict[str, Any]) -> None:
    """Refuse what the options of a solve cannot be at once."""
    if solving["own_set"] is not None:
        options.refuse_idle("--own-set is the marker set", "template")


def _read_subject(path: Path, *, limited: bool):
    """Read a subject's skeleton; refuse one that could do nothing of what was asked."""
    from osteon.errors import WrongContent
    from osteon.formats import read

    skeleton = read(path).skeleton()
    if not any(body.markers for body in skeleton.bodies):
        raise WrongContent(
            path,
            "its skeleton carries no markers, so none can pose it; give the skeleton.json of a "
            "solve, or what a verb made of its motion.glb, which keeps them, and not of its "
            f"motion.bvh; or move it with: osteon map RECORDING --skeleton {path.name}",
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
    from osteon.errors import UnknownName

    names = solved.skeleton.names
    notes = [f"--measured: {UnknownName('bone', n, names)}" for n in lengths if n not in names]
    return replace(solved, warnings=(*solved.warnings, *notes))


def _solve_edited(files: tuple[Path, ...], path: Path, asked, saying):
    """Solve the take as edited; what was not asked for here is as it was set in the studio."""
    from osteon.edits import SOLVE_SETTINGS, options_of, read_edits, solve_edited

    if len(files) != 1:
        raise click.UsageError(f"--edits belongs to one FILE, got {len(files)}")
    edits, given = read_edits(path, files[0]), click.get_current_context().get_parameter_source
    set_there, default = options_of(edits.settings), click.core.ParameterSource.DEFAULT
    kept = {name: getattr(set_there, name) for name in SOLVE_SETTINGS if given(name) == default}
    asked = replace(asked, **kept)
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


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@options.output("the index, the subjects and a folder for every take")
@click.option("--workers", metavar="N", type=click.IntRange(min=1), help="Processes.  [cores]")
@click.option("--scheduler", metavar="URL", help="Dask scheduler to work on, as tcp://head:8786.")
@click.option("--watch", is_flag=True, help="Go on with files that arrive, until Ctrl-C.")
@click.option(
    "--subjects", metavar="REGEX", help="First group, found in a take's path, is its subject."
)
@click.option("--recalibrate", is_flag=True, help="Calibrate subjects anew that have new takes.")
@click.option("--retry", is_flag=True, help="Try takes again that failed before.")
@options.solving
@options.more_formats
@options.names
@options.bvh
@options.as_json
def batch(
    folder: Path,
    output: Path,
    workers: int | None,
    scheduler: str | None,
    subjects: str | None,
    formats: str,
    names: str | None,
    unit: str | None,
    up: str | None,
    *,
    watch: bool,
    recalibrate: bool,
    retry: bool,
    as_json: bool,
    **solving: Any,
) -> None:
    """Solve every take below FOLDER, each subject calibrated on all its takes.

    Run it again after it was stopped or killed: what is finished is not done again. Writes
    index.html, index.csv and a folder for every take.

    Example: osteon batch archive -o solved --workers 8
    """
    from osteon import batch as stage
    from osteon.pipeline import SolveOptions

    check_solving(solving)
    own_set = solving["own_set"]  # workers elsewhere have another working folder
    asked = stage.BatchOptions(
        solving=SolveOptions(**solving | {"own_set": own_set and own_set.resolve()}),
        formats=tuple(options.endings(formats)),
        unit=unit,
        up=up,
        names=names,
        subjects=subjects,
        recalibrate=recalibrate,
        retry=retry,
    )
    run: Any = stage.watch if watch else stage.batch
    try:
        with options.progress() as saying:
            done = run(
                folder, output, options=asked, workers=workers, scheduler=scheduler, progress=saying
            )
            for each in done if watch else [done]:
                options.say_results(_batch_summary(each), _batch_text(each), as_json=as_json)
                click.echo(output / "index.html", err=as_json)
            if not watch and (done.failed or not done.rows):
                sys.exit(1)
    except KeyboardInterrupt:
        click.echo("stopped; what is done is kept: run it again to go on", err=True)
        sys.exit(0 if watch else 1)


def _batch_text(done) -> str:
    """Tell in a few lines what came of a batch."""
    takes = len({row.take for row in done.rows})
    lines = [f"{counted(takes, 'take')}, {done.solved} done now, {len(done.failed)} failed"]
    if not takes:
        lines.append("no file below the folder holds markers or rigid bodies")
    lines += [f"failed: {row.take}: {row.problem}" for row in done.failed[:5]]
    good = [row for row in done.rows if not row.problem]
    lines += [
        f"worst: {_of_whom(row)}, {row.marker_rms_mm:.2f} mm rms, {row.worst_marker}"
        for row in good[:3]
    ]
    lines += [f"note: {_of_whom(row)}: {row.changed}" for row in good if row.changed][:5]
    if done.skipped:
        lines.append(f"{len(done.skipped)} files are no takes: see skipped.csv")
    return "\n".join(lines)


def _of_whom(row) -> str:
    """The take, and whose rig it is where the file's name does not tell."""
    return f"{row.take} ({row.subject})" if row.subject else row.take


def _batch_summary(done) -> dict[str, Any]:
    return {
        "solved": done.solved,
        "failed": len(done.failed),
        "takes": done.rows,
        "skipped": {survey.take: survey.skipped for survey in done.skipped},
    }


@click.command()
@options.output(required=False, default=Path("demo"), help="Folder to write to.")
@click.option(
    "--seed", type=click.IntRange(min=0), default=1, help="Another seed, another performance."
)
def demo(output: Path, seed: int) -> None:
    """Generate a performance whose truth is known, solve it, and say how close it came.

    A human walks and exercises every joint, with noise, sliding skin, gaps and swapped labels.
    Writes take.c3d, truth.bvh, and rig, motion and report as solve does.

    Example: osteon demo -o demo
    """
    import numpy as np

    from osteon import delivery, pipeline, synth
    from osteon.formats import read, write

    script = synth.sequence(synth.walk(seconds=8), synth.exercise(seconds=40))
    take = synth.perform(
        synth.human(), script, noise=0.001, skin=1.0, gaps=0.03, swaps=5, seed=seed
    )
    truth = take.truth
    write(take.recording, output / "take.c3d")
    write(truth.motion, output / "truth.bvh")
    missing = 1.0 - take.recording.seen.mean()
    click.echo(
        f"generated: {take.recording.n_markers} markers, {take.recording.n_frames} frames, "
        f"{100.0 * missing:.1f} % missing, {len(truth.swaps)} labels swapped"
    )
    with options.progress() as saying:
        solved = pipeline.solve(read(output / "take.c3d"), progress=saying)[0]
        delivery.deliver(solved, output)
    shared = [name for name in solved.skeleton.names if name in truth.skeleton.names]
    limbs = [name for name in shared if name.startswith(("left_", "right_"))]
    found = solved.motion.world()[1][:, [solved.skeleton.index(name) for name in limbs]]
    wanted = truth.joints[:, [truth.skeleton.index(name) for name in limbs]]
    apart = 1e3 * np.linalg.norm(found - wanted, axis=-1)
    click.echo(
        f"solved: {1e3 * solved.rms:.1f} mm from the markers, {np.median(apart):.1f} mm "
        f"(median) from the true joints of the limbs, {len(solved.events)} swaps repaired"
    )
    click.echo(output / "report.html")
