from .finger_joints import (
    HandTake as HandTake,
    add_fingers as add_fingers,
)
from .finger_poses import (
    pose_fingers as pose_fingers,
    without_fingers as without_fingers,
)
