"""The studio's page as a window onto the stage: poses over its WebSocket while they happen."""

import math
import threading
from pathlib import Path

import numpy as np

from osteon.live.performance import LivePose
from osteon.live.stream_frames import StreamFrame
from osteon.studio import (
    Live,
    Pose,
    Problem,
    Studio,
    address,
    bind,
    open_in_browser,
    rig_row,
    serve,
)
from osteon.values import Motion, Skeleton

FASTEST_RATE = 60.0
"""Poses a second that a page is sent. Chosen: usual screens show no more."""


class Stage:
    """Serves the studio beside a live stream."""

    def __init__(self, rate: float) -> None:
        self._studio, self._rate = Studio(Path.cwd()), rate
        bound = bind(0)
        self.address = address(self._studio, bound)
        self._every = max(1, round(rate / FASTEST_RATE))
        self._skeleton: Skeleton | None = None
        self._names: tuple[str, ...] = ()
        threading.Thread(target=serve, args=(self._studio, bound), daemon=True).start()

    def open_in_browser(self) -> None:
        open_in_browser(self.address, self._studio.entered)

    def say(self, sentence: str) -> None:
        self._studio.session.hub.tell(Problem(sentence, about="live"))

    def show(self, frame: StreamFrame, pose: LivePose) -> None:
        hub = self._studio.session.hub
        if pose.skeleton is not self._skeleton or frame.names != self._names:
            self._skeleton, self._names = pose.skeleton, frame.names
            still = Motion(pose.skeleton, pose.rotations[None], pose.joints[None, 0], self._rate)
            hub.tell(Live(rig_row(still), self._rate, frame.names))
        if frame.number % self._every == 0:
            hub.tell(_told(frame, pose))


def _told(frame: StreamFrame, pose: LivePose) -> Pose:
    points = [_place(row) for row in frame.positions.tolist()]
    return Pose(
        frame=frame.number,
        joints=tuple(map(tuple, np.round(pose.joints, 5).tolist())),
        turned=tuple(map(tuple, np.round(pose.world, 6).tolist())),
        live=True,
        points=tuple(points),
    )


def _place(row: list[float]) -> tuple[float, float, float] | None:
    x, y, z = row
    return (round(x, 5), round(y, 5), round(z, 5)) if math.isfinite(x + y + z) else None
