"""A character led by a performer's poses while they come in: ``map``'s model, a frame at a time.

Every body is pulled to the pose that ``carry`` gives it, soles are pinned while the performer's
stand, the ground pushes out what is below it, and limits are held.
"""

import numpy as np

from osteon.human import StandingFigure, figure_at_rest
from osteon.joint_limits import hold_inside, make_bounds
from osteon.maths import forward_pose, quat
from osteon.posing import FEET, PulledPose, Sole, find_soles, on_joints, rig_on
from osteon.retargeting.attach import size_ratio
from osteon.retargeting.carry import Carrier, pose_points
from osteon.retargeting.pins import GROUND_TOLERANCE
from osteon.retargeting.stream_feet import FootWatch, SolePins, StreamGround, push_out
from osteon.typing import Array
from osteon.values import Skeleton

ROUNDS = 3
"""Count of pushes of the ground in a frame, each harder where the one before was not enough.
Chosen: bounds the time."""


class StreamCharacter:
    """A character that follows a performer, frame by frame."""

    def __init__(self, character: Skeleton, rate: float) -> None:
        self.skeleton, self._rate = character, rate
        self._figure = figure_at_rest(character)
        self._parents = np.array(character.parents, dtype=np.int64)
        self._offsets = np.array(character.offsets)
        led = pose_points(character)
        self._n_led, self._soles = len(led.bodies), find_soles(self._figure)
        bodies, places = _points_of(self._soles)
        self._bodies = np.concatenate([led.bodies, bodies])
        self._places = np.concatenate([led.places, places])
        self._pose = PulledPose(rig_on(character, self._bodies, self._places))
        self._pulls = led.weights
        self._bounds = make_bounds(character)
        tree = self._pose.rig.tree
        self._jointed = tree.n_dofs < 3 + 3 * tree.n_bodies
        self._of: Skeleton | None = None
        self._warm_up()

    def _warm_up(self) -> None:
        """Have the kernels ready: the first frame of a stream must not wait for a compiler."""
        self.learn(self.skeleton)
        for number in range(3):  # in the second it stands, and is pulled
            self.follow(number, self._figure.rotations, self._figure.joints)
        self._of = None

    def _begin(self) -> None:
        self._watch, self._ground = FootWatch(self._rate), StreamGround(self._rate)
        self._pins = SolePins(len(self._bodies) - self._n_led, self._rate)
        self._shown: Array | None = None

    def learn(self, performer: Skeleton) -> None:
        """Be led by this performer from now on; it takes as long as several frames."""
        own, known = figure_at_rest(performer), self.knows(performer)
        self._of, self._scale = performer, size_ratio(own, self._figure)
        if not known:
            self._begin()
            self._pins.lift = _hips_above_soles(self._figure) - self._scale * _hips_above_soles(own)
        self._carrier = Carrier(own, self._figure, scale=self._scale)
        steps = _soles_by_part(own)
        self._steps = [steps.get(part) for part in _soles_by_part(self._figure)]

    def knows(self, performer: Skeleton) -> bool:
        """Return whether poses of this performer, or of an earlier calibration, can be carried."""
        return self._of is not None and self._of.names == performer.names

    def follow(self, number: int, turned: Array, joints: Array) -> tuple[Array, Array]:
        """Return local rotations (n_bodies, 4) and root (3,) of the character.

        Parameters
        ----------
        number
            Of the frame in the stream.
        turned, joints : (n_bodies, 4), (n_bodies, 3)
            The performer's, in the world.
        """
        local, root = self._carrier.carry(turned[None], joints[None])
        if self._jointed:
            local = on_joints(self._pose.rig.tree, local)
        rotations, root = local[0], root[0]
        hold_inside(self._bounds, rotations[None])
        targets, weights = self._pulled(number, turned, joints, rotations, root)
        self._settle(rotations, root, targets, weights)
        return rotations, root

    def _pulled(
        self, number: int, turned: Array, joints: Array, rotations: Array, root: Array
    ) -> tuple[Array, Array]:
        """Targets and weights of all points of a frame; the root is raised to the ground."""
        steps = self._performers_soles(turned, joints)
        stands = self._watch.look(number, steps)
        bears = self._ground.bears(stands, steps[:, 2])
        ground = self._scale * self._ground.height
        own = self._points(rotations, root)[self._n_led :]
        root[2] += self._pins.raise_by(bears, ground - own[:, 2])
        led = self._points(rotations, root)
        soles = led[self._n_led :]
        shown = soles if self._shown is None else self._shown
        targets, weights = self._pins.pins(self._watch, bears, soles, shown, ground)
        self._level = ground
        return np.concatenate([led[: self._n_led], targets]), np.concatenate([self._pulls, weights])

    def _settle(self, rotations: Array, root: Array, targets: Array, weights: Array) -> None:
        """Bring the pose to rest; what the ground's push left below it is added to the push."""
        soles, level = slice(self._n_led, None), self._level
        pins, firm, lift = targets[soles].copy(), weights[soles].copy(), 0.0
        for _ in range(ROUNDS):
            if not weights[soles].any():
                break
            self._pose.pull(rotations, root, targets, weights)
            hold_inside(self._bounds, rotations[None])
            points = self._points(rotations, root)[soles]
            below = level - points[:, 2]
            if not (below > GROUND_TOLERANCE).any():
                break
            targets[soles], weights[soles] = push_out(pins, firm, points, level)
            lift = np.maximum(lift + below, 0.0)
            targets[soles, 2] += lift
        self._shown = self._points(rotations, root)[soles]

    def _performers_soles(self, turned: Array, joints: Array) -> Array:
        """(n_points, 3) of the performer's soles; NaN where a foot is not known."""
        points = [
            np.full(own.points.shape, np.nan)
            if sole is None
            else joints[sole.carriers] + quat.rotate(turned[sole.carriers], sole.points)
            for sole, own in zip(self._steps, self._soles, strict=True)
        ]
        return np.concatenate([np.zeros((0, 3)), *points])

    def _points(self, rotations: Array, root: Array) -> Array:
        """(n_points, 3) of the character, in the world."""
        turned, joints = forward_pose(rotations, root, self._offsets, self._parents)
        return joints[self._bodies] + quat.rotate(turned[self._bodies], self._places)


def _points_of(soles: tuple[Sole, ...]) -> tuple[np.ndarray, Array]:
    bodies = np.concatenate([np.zeros(0, dtype=int), *(sole.carriers for sole in soles)])
    return bodies, np.concatenate([np.zeros((0, 3)), *(sole.points for sole in soles)])


def _soles_by_part(figure: StandingFigure) -> dict[str, Sole]:
    parts = {
        figure.skeleton.index(figure.parts[part]): part for part in FEET if part in figure.parts
    }
    return {parts[sole.body]: sole for sole in find_soles(figure)}


def _hips_above_soles(figure: StandingFigure) -> float:
    """Metres from the ground to the hips of a figure at rest; 0 where it has no feet."""
    hips, up = figure.middle("thigh"), figure.axes()[:, 2]
    heights = [
        (figure.joints[sole.carriers] + quat.rotate(figure.rotations[sole.carriers], sole.points))
        @ up
        for sole in find_soles(figure)
    ]
    return 0.0 if hips is None or not heights else float(hips @ up - np.min(heights))
