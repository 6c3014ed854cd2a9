"""What ``osteon clean`` writes and prints."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from osteon.delivery.beside_markers import beside_markers
from osteon.errors import BadValue, counted
from osteon.formats import FORMATS, format_for_writing, write
from osteon.pipeline import Solved
from osteon.values import Recording, Swap


def check_holds_markers(path: Path) -> None:
    """Refuse a file whose format has no place for markers, before any work is done."""
    form = format_for_writing(path, FORMATS)
    if "markers" not in form.holds:
        raise BadValue(f"{path.name}: {form.name} holds no markers; write C3D, TRC or CSV")


def write_cleaned(cleaned: Sequence[Recording], file: Path, path: Path) -> None:
    """Write the cleaned markers of all subjects in ``file``, and what else it held, to ``path``."""
    write(beside_markers(cleaned, file, path), path)


def clean_summary(solved: Solved, cleaned: Recording) -> dict[str, Any]:
    """Return what was done to one subject's markers."""
    before = solved.recording
    own = cleaned.seen[:, : before.n_markers]
    swaps = [event for event in solved.events if isinstance(event, Swap)]
    return {
        "subject": before.subject,
        "frames": before.n_frames,
        "markers": before.n_markers,
        "points_of_the_rig": cleaned.n_markers - before.n_markers,
        "swaps_put_back": sum(swap.repaired for swap in swaps),
        "filled": int(np.sum(own & ~before.seen)),
        "still_missing": int(np.sum(~own)),
        "marker_rms_mm": 1e3 * solved.rms,
        "done": list(cleaned.history),
        "warnings": list(solved.warnings),
    }


def clean_text(solved: Solved, cleaned: Recording) -> str:
    """Tell in a few lines what was done to one subject's markers."""
    facts = clean_summary(solved, cleaned)
    samples = counted(facts["filled"], "sample")
    lines = [
        f"{facts['subject'] or solved.recording.source.file}: "
        f"{counted(facts['markers'], 'marker')}, {counted(facts['frames'], 'frame')}; "
        f"{counted(facts['swaps_put_back'], 'swap')} put back, {samples} filled, "
        f"{facts['still_missing']} still missing",
        f"beside them {counted(facts['points_of_the_rig'], 'point')} of the rig, "
        f"{1e3 * solved.rms:.2f} mm rms from the markers",
    ]
    return "\n".join([*lines, *(f"note: {warning}" for warning in solved.warnings)])
