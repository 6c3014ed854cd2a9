"""Verbs about forces: forces."""

from pathlib import Path
from typing import Any

import click

from osteon.cli import options
from osteon.cli.solve_verbs import ask


@click.command()
@click.argument("file", type=options.FILE)
@options.output("forces.csv, moments.csv, powers.csv, skeleton.json and summary.json")
@options.choice(
    "--convention",
    ("isb", "pig", "opensim"),
    "Names and axes: of the ISB, of Plug-in Gait, or of OpenSim's coordinates.",
)
@click.option(
    "--mass", type=options.POSITIVE, metavar="KG", help="Of the person.  [default: weighed]"
)
@click.option(
    "--cutoff",
    type=options.POSITIVE,
    default=10.0,
    show_default=True,
    metavar="HZ",
    help="Low-pass of motion and forces.",
)
@options.solving
@options.known_before
@options.subject("markers")
@options.as_json
def forces(
    file: Path,
    output: Path,
    convention: str,
    mass: float | None,
    cutoff: float,
    skeleton: Path | None,
    passport: Path | None,
    static: tuple[Path, ...],
    subject: str | None,
    *,
    as_json: bool,
    **solving: Any,
) -> None:
    """Tell the forces on FILE's force plates, and what moments and powers the joints have.

    Solves FILE first, gives each plate's force to the foot that is on it, and goes up from the
    feet. Where a foot stands beside the plates, or both on one, moments are left empty.

    Example: osteon forces walk.c3d -o forces --mass 71.5
    """
    from osteon import delivery, pipeline
    from osteon.errors import BadValue
    from osteon.formats import read as read_file
    from osteon.kinetics import check_loaded

    read = (file, *static, skeleton, passport)
    names = ("forces.csv", "moments.csv", "powers.csv")
    options.spare(read, [output / name for name in names])
    check_loaded([each for one in read_file(file).recordings for each in one.ground_reactions()])
    asked = ask(solving, skeleton, passport, limited=False)
    with options.progress() as saying:
        whom = {"static": static, "subject": subject}
        one, *others = pipeline.solve(file, **whom, options=asked, progress=saying)
    if others:
        names = ", ".join(each.recording.subject for each in (one, *others))
        raise BadValue(f"{file.name} holds several people, {names}: choose one by `subject`")
    found = pipeline.moments(one, pipeline.angles(one, convention), mass, cutoff)
    with options.whole_results(output, (*read, solving["own_set"])) as scratch:
        delivery.deliver_forces(one, found, scratch)
    summary, text = delivery.forces_summary(one, found), delivery.forces_text(one, found)
    options.say_results(summary, text, as_json=as_json, folder=output)
