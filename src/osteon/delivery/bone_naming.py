"""Motion files with the bone names of another program, and what is told of them."""

from typing import Any

from osteon.errors import NotEnoughData
from osteon.human import Naming, naming_of, rename
from osteon.values import Motion


def called_by(motion: Motion, scheme: str | None) -> tuple[Motion, dict[str, Any]]:
    """Return the motion with names of a scheme, and what summary.json says of it.

    A skeleton that is no human keeps its names: that may come out only when all work is done.
    """
    if scheme is None:
        return motion, {}
    try:
        naming = naming_of(motion.skeleton, scheme)
    except NotEnoughData as error:
        return motion, {"names": {"scheme": None, "notes": [str(error)]}}
    return with_names(motion, naming), {"names": naming_facts(naming)}


def with_names(motion: Motion, naming: Naming) -> Motion:
    """Return the motion with its bodies called so."""
    return rename(motion, naming.names, f"called by {naming.scheme} names")


def naming_facts(naming: Naming) -> dict[str, Any]:
    """Return the facts, as they stand in summary.json."""
    return {"scheme": naming.scheme, "notes": list(naming.sentences)}
