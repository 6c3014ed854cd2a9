from .person_from_keypoints import calibrate_keypoints as calibrate_keypoints
from .poses_from_keypoints import pose_keypoints as pose_keypoints
from .tracks import (
    Tracks as Tracks,
    steady_tracks as steady_tracks,
)
