"""The command line: verbs, a few lines each over the library, in one file per subject."""

import atexit
import ctypes
import errno
import gc
import sys
from contextlib import suppress
from difflib import get_close_matches
from importlib import import_module

import click

from osteon.errors import OsteonError

VERBS = {
    "angles": "Tell a recording as joint angles with clinical names.",
    "axes": "Find along which axes limbs move; tell the motion by angles about them.",
    "batch": "Solve all takes of an archive, on one machine or many.",
    "clean": "Write a recording cleaned, with joint centres and the rig's own markers.",
    "convert": "Turn one file format into another.",
    "demo": "Generate a performance whose truth is known, and solve it.",
    "field": "Find a tracker's scale, noise and distortion from a bar walked through its volume.",
    "fit": "Fit bones of fixed length to joint positions.",
    "forces": "Tell forces on plates, and moments and powers of joints.",
    "info": "Versions, formats, marker sets, and which optional parts are installed.",
    "inspect": "Say what is in a file.",
    "joints": "Find joints and hierarchy from moving bodies.",
    "label": "Give labels to tracks that have none, break, or are exchanged.",
    "limits": "Find what kind each joint is and how far it goes.",
    "live": "Pose a stream while it comes in.",
    "map": "Move a given skeleton by a recording or a motion.",
    "normalise": "Find frames of body and limbs that no recording set-up changes.",
    "solve": "Turn recordings into a rig with clean motion.",
    "studio": "Look at a take and edit it in the browser.",
    "view": "Show any file in the browser.",
}
HOMES = {
    "convert_verb": ("convert",),
    "file_verbs": ("info", "inspect", "label", "view"),
    "force_verbs": ("forces",),
    "motion_verbs": ("axes", "limits", "normalise"),
    "session_verbs": ("live", "studio"),
    "skeleton_verbs": ("field", "fit", "joints", "map"),
    "solve_verbs": ("angles", "batch", "clean", "demo", "solve"),
}
"""Module → its verbs."""

OBJECTS_BETWEEN_SWEEPS = 100_000
"""Count of new objects after which Python looks for rings of dead ones. Chosen: a verb makes few
rings, and `inspect` none before so many; its own 700 cost a tenth of a short verb, and of all
compilation."""

OWN_MAPPING_BYTES = 16 << 20
"""Bytes from which an array has memory of its own, which goes back when it is done with. Measured:
20 minutes of 41 markers take 1.23 GB where the C library keeps such memory, 0.99 so."""
MAPPING_THRESHOLD, TRIM_THRESHOLD = -3, -1
"""Codes of what ``mallopt`` sets, defined by glibc: setting the first stops it from learning the
second, and all that is freed would go back at once."""


DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Codes, defined by the operating system, of a disk that is full or broken: they name no file."""


class Verbs(click.Group):
    """Loads a verb's module when it is called, so that ``--help`` answers at once."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        home = next(module for module, verbs in HOMES.items() if cmd_name in verbs)
        return getattr(import_module(f"osteon.cli.{home}"), cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        near = [] if args[0] in VERBS else get_close_matches(args[0], VERBS, n=1)
        if near:
            ctx.fail(f"No such command {args[0]!r}. Did you mean {near[0]!r}?")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run a verb; what the library says of its parameters is said of the verb's flags."""
        try:
            return super().invoke(ctx)
        except OsteonError as error:
            from osteon.cli.options import in_flags

            verb = self.get_command(ctx, ctx.invoked_subcommand or "")
            told = str(error) if verb is None else in_flags(str(error), verb)
            if told == str(error):
                raise
            raise OsteonError(told) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))


@click.command(
    cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "show_default": True}
)
@click.version_option(package_name="osteon", message="%(prog)s %(version)s")
def osteon() -> None:
    """From a motion-capture recording to a rig.

    Example: osteon inspect walk.c3d
    """


def _give_large_memory_back() -> None:
    """Keep the C library from raising the size from which memory goes back; others than glibc do
    not know the call and need none."""
    with suppress(AttributeError, OSError, TypeError):
        library = ctypes.CDLL(None)
        library.mallopt(MAPPING_THRESHOLD, OWN_MAPPING_BYTES)
        library.mallopt(TRIM_THRESHOLD, 2 * OWN_MAPPING_BYTES)


def main() -> None:
    """Run the command line; an error the user can mend is one line and exit code 1."""
    from osteon.threads import one_thread_for_this_process

    one_thread_for_this_process()
    gc.set_threshold(OBJECTS_BETWEEN_SWEEPS)
    _give_large_memory_back()
    atexit.register(gc.freeze)  # the last sweep of all would find nothing that matters any more
    try:
        osteon(standalone_mode=True)
        return
    except OsteonError as error:
        told = str(error)
    except OSError as error:
        if error.filename is None and error.errno not in DISK_ERRORS:
            raise
        told = f"{error.filename or 'writing failed'}: {error.strerror}"
    except MemoryError:
        told = "not enough memory for this file"
    click.echo(f"osteon: {told}", err=True)
    sys.exit(1)
