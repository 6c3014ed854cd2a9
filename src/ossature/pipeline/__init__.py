"""The order of the stages, and the files that come out at the end."""

from ossature.pipeline.deliver import deliver, summary_of, whole_results
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
    "set_of",
    "solve",
    "solve_edited",
    "summary_of",
    "whole_results",
    "write_passports",
]
