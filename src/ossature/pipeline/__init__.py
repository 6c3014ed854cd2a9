"""The order of the stages, and the files that come out at the end."""

from ossature.pipeline.deliver import deliver, remove_earlier, summary_of
from ossature.pipeline.edited import solve_edited
from ossature.pipeline.mapping import MapOptions, map_to
from ossature.pipeline.passport import passports_of, write_passports
from ossature.pipeline.take import (
    Solved,
    SolveOptions,
    calibrate_subject,
    prepared,
    set_of,
    solve,
)

__all__ = [
    "MapOptions",
    "SolveOptions",
    "Solved",
    "calibrate_subject",
    "deliver",
    "map_to",
    "passports_of",
    "prepared",
    "remove_earlier",
    "set_of",
    "solve",
    "solve_edited",
    "summary_of",
    "write_passports",
]
