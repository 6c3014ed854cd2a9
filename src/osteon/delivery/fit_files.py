"""What ``fit`` leaves in its folder: as ``solve`` does, with the joints in the markers' place."""

from pathlib import Path
from typing import Any

from osteon.delivery.solve_files import deliver, summary_of
from osteon.fixed_lengths import FitResult
from osteon.pipeline import Solved


def deliver_fit(result: FitResult, folder: Path, seconds: dict[str, float], **options: Any) -> None:
    """Write skeleton.json, the motion, summary.json and report.html.

    ``options`` as in :func:`osteon.delivery.solve_files.deliver`.
    """
    deliver(_as_solved(result, seconds), folder, facts=facts_of_fit(result), **options)


def summary_of_fit(result: FitResult, seconds: dict[str, float]) -> dict[str, Any]:
    """The contract's summary.json, and what is known about the lengths."""
    return summary_of(_as_solved(result, seconds)) | facts_of_fit(result)


def facts_of_fit(result: FitResult) -> dict[str, Any]:
    """Lengths and how they were found, millimetres."""
    errors = result.standard_errors
    return {
        "status": result.status.value,
        "iterations": result.fit.iterations,
        "joint_rms_mm": 1e3 * result.rms,
        "fixed_length_rms_mm": 1e3 * result.fit.rms,
        "lengths_mm": {
            name: {
                "length": 1e3 * length,
                "error": 1e3 * errors[name] if errors[name] == errors[name] else None,
            }
            for name, length in result.lengths.items()
        },
    }


def _as_solved(result: FitResult, seconds: dict[str, float]) -> Solved:
    return Solved(
        result.joints,
        result.motion,
        result.joint_error,
        marker_set="joint positions",
        warnings=result.warnings,
        seconds=seconds,
    )
