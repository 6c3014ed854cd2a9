"""What ``fit`` leaves in its folder: as ``solve`` does, with the joints in the markers' place."""

from pathlib import Path
from typing import Any

from osteon.delivery.solve_files import deliver, summary_of
from osteon.errors import counted
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


def fit_text(result: FitResult) -> str:
    """Tell in a few lines what came of a fit."""
    worst = list(result.rms_per_joint().items())[:3]
    lines = [
        f"{counted(len(result.lengths), 'bone')}, {counted(result.motion.n_frames, 'frame')}, "
        f"{1e3 * result.rms:.2f} mm rms from the joints given; {result.status.value}",
        "worst: " + ", ".join(f"{name} {1e3 * rms:.1f} mm" for name, rms in worst),
    ]
    if result.motion.held:
        lines.append(f"{counted(len(result.motion.held), 'frame')} held for want of joints")
    return "\n".join([*lines, *(f"note: {warning}" for warning in result.warnings)])


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
