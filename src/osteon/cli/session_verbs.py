"""Verbs that go on until somebody ends them: live, studio."""

import sys
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import click

from osteon.cli import options


@dataclass(frozen=True)
class Outlets:
    """Where a stream's poses go, and in whose body."""

    onto: Path | None
    vmc: str | None
    angles: str | None
    watch: Path | None
    studio: bool
    no_browser: bool


OUTLETS = (
    options.file("--onto", "A character that is led by the performer; --vmc and --studio show it."),
    click.option(
        "--vmc", metavar="HOST:PORT", help="Send poses by the VMC protocol (OSC over UDP)."
    ),
    click.option(
        "--angles",
        metavar="HOST:PORT",
        help="Send joint angles by OSC: /osteon/angles, the frame's number, then name, degrees.",
    ),
    options.file(
        "--watch", "A clean motion of this person: tell when a limb stands as never in it."
    ),
    click.option("--studio", is_flag=True, help="Show the performer in the browser."),
    click.option("--no-browser", is_flag=True, help="Only print the studio's address."),
)


@click.command()
@click.argument("source")
@options.output("the skeleton and the summary, written at the end", required=False)
@options.file("--skeleton", "A subject calibrated before: skeleton.json.")
@options.gathered("outlets", Outlets, *OUTLETS)
@click.option(
    "--rate",
    type=options.POSITIVE,
    default=120.0,
    metavar="HZ",
    help="Frames per second of udp://.",
)
@click.option(
    "--silence",
    type=options.POSITIVE,
    default=10.0,
    metavar="SECONDS",
    help="A stream that says nothing for this long has ended.",
)
@options.subject("markers to replay")
@options.as_json
def live(
    source: str,
    output: Path | None,
    skeleton: Path | None,
    outlets: Outlets,
    rate: float,
    silence: float,
    subject: str | None,
    *,
    as_json: bool,
) -> None:
    """Pose a stream while it comes in, calibrating as the performer moves.

    SOURCE is a recording, replayed at its own rate; udp://HOST:PORT for markers or bodies over
    OSC; or qtm://HOST for Qualisys Track Manager. Ends with the stream or with Ctrl+C.

    Example: osteon live walk.c3d --vmc 127.0.0.1:39539

    Example: osteon live walk.c3d --onto hero.glb --studio
    """
    if "://" not in source:
        options.refuse_idle("a recording is replayed at its own rate", "rate", "silence")
    if not outlets.studio:
        options.refuse_idle("no browser is opened without --studio", "no_browser")
    if outlets.onto is not None and outlets.vmc is None and not outlets.studio:
        raise click.UsageError("--onto leads a character that nobody sees; add --vmc or --studio")
    from osteon.formats import read, write, write_readable
    from osteon.live import open_stream

    known = None if skeleton is None else read(skeleton).skeleton()
    stream = open_stream(source, rate=rate, silence=silence, subject=subject)
    found, summary = _run(stream, known, outlets)
    if summary["poses"] == 0:
        click.echo(_why_nothing(summary), err=True)
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
        if found is not None:
            write(found, output / "skeleton.json")
        write_readable(summary, output / "summary.json")
    text = _summary_text(summary)
    options.say_results(summary, text, as_json=as_json, folder=output)
    if summary["frames"] == 0:
        sys.exit(1)


def _run(stream, known, outlets: Outlets):
    """Pose a stream into its outlets until it ends; return the skeleton and the summary."""
    from osteon.formats import read
    from osteon.live import (
        AngleSender,
        OntoCharacter,
        PoseWatch,
        VmcSender,
        run_live,
        split_address,
    )

    tellers: list[Callable[[str], None]] = [lambda said: click.echo(said, err=True)]

    def say(sentence: str) -> None:
        for tell in tellers:
            tell(sentence)

    with ExitStack() as stack:
        listeners: list[Callable[..., None]] = []
        if outlets.studio:
            stage = _stage(stream.rate, open_browser=not outlets.no_browser)
            listeners.append(stage.show)
            tellers.append(stage.say)
        senders: list[VmcSender | AngleSender] = []
        if outlets.vmc is not None:
            senders.append(VmcSender(*split_address(outlets.vmc), rate=stream.rate))
            listeners.append(_sending(senders[-1], stack, say))
        if outlets.onto is not None:
            character = read(outlets.onto).skeleton()
            listeners = [OntoCharacter(character, stream.rate, listeners, say)]
        if outlets.angles is not None:
            senders.append(AngleSender(*split_address(outlets.angles)))
            listeners.append(_sending(senders[-1], stack, say))
        clean = None if outlets.watch is None else read(outlets.watch).motion()
        guard = None if clean is None else PoseWatch(clean, stream.rate, say)
        if guard is not None:
            listeners.append(lambda frame, pose: guard.look(pose))
        found, summary = run_live(stream, listeners, skeleton=known, say=say)
    for sender in senders:
        summary["dropped"] = dict(Counter(summary["dropped"]) + sender.dropped.counts)
    if guard is not None:
        summary["improbable"] = guard.spans
    return found, summary


def _sending(sender, stack: ExitStack, say: Callable[[str], None]):
    """Make a listener that sends every pose, until the stack is left."""
    sender.dropped.say = say
    stack.callback(sender.close)
    return lambda frame, pose: sender.send(pose)


def _stage(rate: float, *, open_browser: bool):
    with options.needing("studio", "the studio"):
        from osteon.live import Stage
    stage = Stage(rate)
    click.echo(stage.address, err=True)
    if open_browser:
        stage.open_in_browser()
    return stage


def _why_nothing(summary: dict) -> str:
    if summary["frames"] == 0:
        return "no frame came; is the sender running, and does it send to this address?"
    return (
        f"no pose: {summary['frames']} frames were over before the performer was calibrated; "
        "let them move for longer, or give --skeleton from an earlier solve"
    )


def _summary_text(summary: dict) -> str:
    """Tell in a line what came of a stream."""
    nearly_all = summary["latency_ms"].get("99.9 %")
    line = (
        f"{summary['poses']} poses from {summary['frames']} frames, {summary['late']} late, "
        f"{summary['missing']} missing, {summary['calibrations']} calibrations"
    )
    line = line if nearly_all is None else f"{line}; 99.9 % of poses within {nearly_all:.1f} ms"
    unposed = summary["frames"] - summary["poses"] - summary["late"] - summary["overtaken"]
    why = {
        "overtaken by newer ones while this machine was busy": summary["overtaken"],
        "before a calibration, or with too few markers in place": unposed,
    }
    told = ", ".join(f"{n} {what}" for what, n in why.items() if n)
    line = f"{line}\nframes without a pose: {told}" if told else line
    lost = ", ".join(f"{count} {what}" for what, count in summary["dropped"].items())
    return f"{line}\nleft out: {lost}" if lost else line


@click.command()
@click.argument("file", required=False, type=options.FILE)
@options.output(required=False, help="Folder for exports.  [default: beside FILE, named after it]")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    show_default=False,
    metavar="N",
    help="Port to listen on.  [default: any]",
)
@click.option("--no-browser", is_flag=True, help="Only print the address.")
def studio(file: Path | None, output: Path | None, port: int, *, no_browser: bool) -> None:
    """Look at FILE and edit it in the browser.

    Cut, fill and filter curves, swap markers, say which body a marker is on, set joints, limits,
    plants and poses; every edit is kept in FILE's .edits.json, which solve --edits reads. Without
    FILE the studio opens in this folder. It answers only to this machine, and only to the address
    that it prints.

    Example: osteon studio walk.c3d
    """
    with options.needing("studio", "the studio"):
        from osteon.studio import Studio, address, bind, open_in_browser, serve
    opened = Studio(Path.cwd() if file is None else file.parent, output=output)
    if file is not None:
        opened.open(file.name)
    bound = bind(port)
    where = address(opened, bound)
    click.echo(where)
    if not no_browser:
        open_in_browser(where, opened.entered)
    with suppress(KeyboardInterrupt):  # the usual way to end it
        serve(opened, bound)
