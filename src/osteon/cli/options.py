"""Options that several verbs share, so that they read and behave alike."""

import math
import os
import re
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import fields
from functools import reduce, wraps
from pathlib import Path
from typing import Any

import click

LOGGED_SECONDS = 5.0
"""Seconds between two lines of one step in a log. Chosen: that of an archive stays short enough to
read."""
Decorator = Callable[[Any], Any]
FILE_OR_FOLDER = click.Path(exists=True, path_type=Path)


class InputFile(click.Path):
    """A file that is there; who gives a folder that a verb has written is told what to take."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = Path(os.fsdecode(value))
        if path.is_dir():
            from osteon.formats import file_in

            self.fail(f"'{path}' is a folder; {file_in(path)}.", param, ctx)
        return Path(os.fsdecode(super().convert(value, param, ctx)))


FILE = InputFile(exists=True, dir_okay=False, path_type=Path)


class WritableFolder(click.Path):
    """A folder to write to; refused at once, not after minutes of work, where that cannot be."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        folder = Path(os.fsdecode(super().convert(value, param, ctx)))
        if not os.fspath(value):
            self.fail("no folder is named.", param, ctx)
        there = next(above for above in (folder, *folder.absolute().parents) if above.exists())
        if not there.is_dir():
            self.fail(f"'{folder}' cannot be made: '{there}' is a file.", param, ctx)
        try:  # rights alone do not tell: some places take no new files from anybody
            tempfile.TemporaryDirectory(dir=there).cleanup()
        except OSError as error:
            why = f"'{there}' takes no files ({error.strerror})"
            self.fail(f"'{folder}' cannot be written: {why}.", param, ctx)
        return folder


class Number(click.FloatRange):
    """A number within bounds; neither infinite nor ``nan``, which no bounds keep out."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is no number.", param, ctx)
        return number


POSITIVE = Number(min=0.0, min_open=True)
FOLDER = WritableFolder(file_okay=False, path_type=Path)

as_json = click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
facts_as_json = click.option("--json", "as_json", is_flag=True, help="Print facts as JSON.")
more_formats = click.option(
    "--formats",
    default="",
    show_default=False,
    metavar="LIST",
    help="More motion files, such as amc,osteon.",
)


@contextmanager
def _wrong_usage(flag: str | None = None) -> Iterator[None]:
    """Tell what the library refuses of an option's value as wrong usage, before the work."""
    from osteon.errors import OsteonError

    try:
        yield
    except OsteonError as error:
        raise click.BadParameter(f"{error}.", param_hint=flag) from None


def _known_names(_ctx: click.Context, _param: click.Parameter, scheme: str | None) -> str | None:
    """Refuse names that nobody knows, before the work."""
    from osteon.human import load_names

    with _wrong_usage():
        return None if scheme is None else load_names(scheme).name


names = click.option(
    "--names",
    metavar="SCHEME",
    callback=_known_names,
    help="Bone names in motion files: mixamo, unreal, vrm and others that osteon info lists.",
)


def file(flag: str, about: str, **given: Any) -> Decorator:
    """Add the path of a file that is there; ``given`` as to ``click.option``."""
    return click.option(flag, type=FILE, help=about, **given)


own_set = file(
    "--own-set", 'Your own marker set: a TOML file, a table [markers] of lines LASI = "left_asis".'
)


field = file("--field", "Take the tracker's field off beforehand: the field.json of osteon field.")


def choice(flag: str, values: Sequence[str], about: str) -> Decorator:
    """Add one of some words, by default the first."""
    words = click.Choice(values)
    return click.option(flag, type=words, default=values[0], help=about)


def several(*options: Decorator) -> Decorator:
    """Add options that go together."""
    return lambda command: reduce(lambda so_far, option: option(so_far), reversed(options), command)


def gathered(name: str, kind: type, *options: Decorator) -> Decorator:
    """Add options that reach the verb as one value: a dataclass with a field for each."""

    def decorate(command: Any) -> Any:
        @wraps(command)
        def gather(**values: Any) -> Any:
            own = {field.name: values.pop(field.name) for field in fields(kind)}
            return command(**values, **{name: kind(**own)})

        return several(*options)(gather)

    return decorate


bvh = several(
    click.option(
        "--unit", type=click.Choice(["m", "cm", "mm", "in"]), help="Unit of motion.bvh. [cm]"
    ),
    click.option("--up", type=click.Choice(["y", "z"]), help="Upward axis of motion.bvh. [y]"),
)


def _known_set(_ctx: click.Context, _param: click.Parameter, name: str) -> str:
    """Refuse marker sets that nobody knows, before the work."""
    from osteon.labelling import set_named

    with _wrong_usage():
        return name if name in ("auto", "none") else set_named(name).name


solving = several(
    click.option(
        "--template",
        default="auto",
        callback=_known_set,
        metavar="SET",
        help="Marker set: auto, none (by motion alone), or one that osteon info lists.",
    ),
    own_set,
    choice("--hips", ("harrington", "davis", "seidel"), "Regression for the hip centres."),
    click.option("--smooth", is_flag=True, help="Use time as well: one fit over the whole take."),
    click.option(
        "--no-clean",
        "clean",
        is_flag=True,
        callback=lambda ctx, param, asked: not asked,
        help="Leave swapped labels and spikes as they are.",
    ),
)
"""Those of a solve; they reach the verb by the names that ``SolveOptions`` has."""
known_before = several(
    file("--skeleton", "A subject calibrated before: skeleton.json."),
    file("--passport", "A performer known before: passport.json."),
    click.option(
        "--static",
        type=FILE,
        multiple=True,
        help="Take that only helps to calibrate, as one with medial markers; may be repeated.",
    ),
)
"""What tells of a subject beside the take itself."""


def output(holds: str = "the results", **given: Any) -> Decorator:
    """``-o DIR``: a folder for what ``holds`` says; ``given`` as to ``click.option``."""
    usual = {"required": True, "type": FOLDER, "help": f"Folder for {holds}."}
    return click.option("-o", "--output", **usual | given)


def spare(inputs: Iterable[Path | None], outputs: Iterable[Path]) -> None:
    """Refuse to write over what is read, however the two are spelled or linked; before the work."""
    from osteon.errors import BadValue

    there = [output for output in outputs if output.exists()]
    for path in inputs:
        if path is not None and path.exists() and any(path.samefile(each) for each in there):
            raise BadValue(f"{path} would be overwritten by what is made of it; write elsewhere")


def motion_files(folder: Path, formats: Iterable[str]) -> list[Path]:
    """List files of motion that ``solve``, ``map`` and ``fit`` write in these ``formats``."""
    from osteon.delivery import MOTION_FILES
    from osteon.formats import written_with

    files = [folder / f"motion.{ending}" for ending in (*MOTION_FILES, *formats)]
    return [each for file in files for each in written_with(file)]


@contextmanager
def whole_results(output: Path, inputs: Iterable[Path | None]) -> Iterator[Path]:
    """Give a folder to write to instead of ``output``, where the files appear when all are whole.

    What an earlier run has written there gives way then; ``inputs`` of this one stay.
    """
    from osteon.delivery import whole_results

    with whole_results(output, [path for path in inputs if path is not None]) as (scratch, gone):
        yield scratch
    if gone:
        files = ", ".join(map(str, gone))
        click.echo(f"removed what an earlier run had written: {files}", err=True)


def subject(whose: str = "motion") -> Decorator:
    """``--subject NAME``: one of several people in a file."""
    return click.option(
        "--subject", metavar="NAME", help=f"Whose {whose}, where a file holds several."
    )


@contextmanager
def needing(extra: str, purpose: str) -> Iterator[None]:
    """Tell a package that is missing inside with the extra that brings it."""
    from osteon.errors import MissingExtra

    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("osteon"):
            raise
        raise MissingExtra(error.name, purpose, extra) from None


def endings(formats: str, besides: Collection[str] = ()) -> list[str]:
    """Split the words of a ``--formats`` list; refuse those that no motion is written with."""
    from osteon.formats import check_endings

    words = [word.strip().lstrip(".").lower() for word in formats.split(",") if word.strip()]
    with _wrong_usage("--formats"):
        check_endings(words, besides)
    return words


class Frames(click.ParamType):
    """FIRST:LAST, as two numbers."""

    name = "frames"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, int]:
        first, _, last = str(value).partition(":")
        if not (first.isdigit() and last.isdigit()):
            self.fail(f"expected FIRST:LAST, as 120:180, got {value!r}", param, ctx)
        return int(first), int(last)


FRAMES = Frames()


def motion_of(file: Path, subject: str | None):
    """Read the moving skeleton in a file; where there is none, how to come by one."""
    from osteon.errors import WrongContent
    from osteon.formats import read

    take = read(file)
    if not {"motion", "compact"} & set(take.kinds):
        raise WrongContent(
            file,
            f"holds {' and '.join(take.kinds)} but no moving skeleton; give a motion "
            "(BVH, AMC, GLB), or make one with: osteon solve",
        )
    return take.motion(subject)


def refuse_idle(because: str, *names: str) -> None:
    """Refuse options of these names that were given although they would do nothing, rather than
    pass them over without a word."""
    context, default = click.get_current_context(), click.core.ParameterSource.DEFAULT
    given = [
        param.opts[0]
        for param in context.command.params
        if param.name in names and context.get_parameter_source(param.name) != default
    ]
    if given:
        raise click.UsageError(f"{because}: leave out {' and '.join(given)}")


def in_flags(text: str, verb: click.Command) -> str:
    """Turn parameters that the library speaks of into a verb's flags: `template=none`."""
    flags = {param.name: param.opts[0] for param in verb.params if param.opts[0].startswith("-")}

    def flag(found: re.Match[str]) -> str:
        name, value = found[1], found[2]
        if name not in flags:
            return found[0]
        return flags[name] if value is None else f"{flags[name]} {value}"

    return re.sub(r"`(\w+)(?:=([^`]*))?`", flag, text)


def tell(text: str) -> None:
    """Print what the library says, its parameters as flags of the verb at work."""
    click.echo(in_flags(text, click.get_current_context().command))


def tell_names(folder: Path) -> None:
    """Say on stderr what summary.json tells of bone names that were asked for."""
    import msgspec

    told = msgspec.json.decode((folder / "summary.json").read_bytes()).get("names") or {}
    for note in told.get("notes", ()):
        click.echo(f"names: {note}", err=True)


def say_results(summary: Any, text: str, *, as_json: bool, folder: Path | None = None) -> None:
    """Print the summary, where JSON is asked for, else the text and the folder."""
    if as_json:
        click.echo(json_line(summary))
        return
    tell(text)
    if folder is not None:
        click.echo(folder)


def json_line(value: Any) -> str:
    """Write what ``--json`` prints: one line, so that several are told apart."""
    import msgspec

    return msgspec.json.encode(value).decode()


@contextmanager
def progress() -> Iterator[Callable[[object], None]]:
    """Say on stderr what is being done: a live line on a terminal, plain lines elsewhere."""
    from rich.console import Console

    with ExitStack() as meanwhile:
        if (told := _compiling(meanwhile)) is not None:
            click.echo(told, err=True)
        console = Console(stderr=True)
        if console.is_terminal:
            status = meanwhile.enter_context(console.status("starting"))
            yield lambda told: status.update(str(told))
        else:
            yield _in_a_log()


def _in_a_log() -> Callable[[object], None]:
    """Print lines one below the other; of steps that go on, one every few seconds at the most."""
    last = time.monotonic()

    def say(told: object) -> None:
        nonlocal last
        goes_on = getattr(told, "share", None) is not None
        if goes_on and time.monotonic() - last < LOGGED_SECONDS:
            return
        last = time.monotonic()
        click.echo(told, err=True)

    return say


def _compiling(meanwhile: ExitStack) -> str | None:
    """What to say where the largest kernel, and most likely all others, are yet to be compiled; a
    second process helps."""
    from osteon.cli.first_run import compiling_beside
    from osteon.maths import is_ready
    from osteon.posing import sweep

    if is_ready(sweep):
        return None
    if sweep.stats.cache_path is None:
        return (
            "compiling for this machine, a minute or two each time: no folder can be written where "
            "the result could be kept; name one in NUMBA_CACHE_DIR"
        )
    meanwhile.enter_context(compiling_beside())
    return "compiling for this machine, once: a minute or two"
