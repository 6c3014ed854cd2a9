"""The order of the stages, and the files that come out at the end."""

from ossature.pipeline.deliver import deliver, summary_of
from ossature.pipeline.take import Solved, SolveOptions, solve

__all__ = ["SolveOptions", "Solved", "deliver", "solve", "summary_of"]
