"""Recording + Skeleton → Motion: the pose of a known rig in every frame."""

from ossature.pose.frames import PoseOptions, PoseResult, Status, solve_frames
from ossature.pose.smooth import SmoothResult, smooth_frames
from ossature.pose.solve import SolveResult, solve
from ossature.pose.start import start_frames
from ossature.pose.tree import Rig, Tree, ball_joints, build_tree, compile_rig

__all__ = [
    "PoseOptions",
    "PoseResult",
    "Rig",
    "SmoothResult",
    "SolveResult",
    "Status",
    "Tree",
    "ball_joints",
    "build_tree",
    "compile_rig",
    "smooth_frames",
    "solve",
    "solve_frames",
    "start_frames",
]
