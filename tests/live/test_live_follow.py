"""One frame alone: the same poses as whole takes, in bounded time."""

import numpy as np
import pytest

from osteon.maths import quat
from osteon.posing import stream as follow
from osteon.posing._kernels.lanes import make_model
from osteon.posing._kernels.single_frame import fit_frame, make_work
from osteon.posing.per_frame import REST_WEIGHT, PoseOptions, PoseProblem, solve_frames
from osteon.posing.stream import LIMITS, Follower
from osteon.values import Body, Joint, Marker, Skeleton
from pose_rigs import performance


class Frames:
    """A figure with every kind of joint, followed frame by frame."""

    def __init__(self, n_frames: int = 60, noise: float = 0.002) -> None:
        rng = np.random.default_rng(3)
        self.rig, self.rotations, self.root, _, self.seen = performance(n_frames, rng, noise)
        self.model, self.work = make_model(self.rig, REST_WEIGHT), make_work(self.rig.tree)

    def fit(self, observed, rotations, root, *, velocity=None, **limits):
        rotations, root = rotations.copy(), root.copy()
        velocity = np.zeros(self.rig.tree.n_dofs) if velocity is None else velocity
        rules = LIMITS._replace(**limits)
        steps, self.errors = fit_frame(
            self.model, self.work, observed, rotations, root, velocity, rules
        )
        return steps, rotations, root


@pytest.fixture(scope="module")
def frames() -> Frames:
    return Frames()


def apart(a, b) -> float:
    """The largest angle between rotations (…, 4), radians."""
    return float(2.0 * np.linalg.norm(quat.between(a, b)[..., 1:], axis=-1).max())


class TestOneFrame:
    def test_it_finds_what_the_kernel_of_takes_finds(self, frames):
        """Both end within their tolerance of the same minimum, 1e-4 and 1e-5 radians."""
        options = PoseOptions(loss="geman-mcclure", loss_scale=LIMITS.scale)
        seen = frames.seen.copy()
        seen[:, ::7] = np.nan
        seen[20, 3] += 0.5
        whole = solve_frames(PoseProblem(frames.rig, seen), options=options)
        rotations, root = whole.rotations[0], whole.root[0]
        velocity = np.zeros(frames.rig.tree.n_dofs)
        for frame, observed in enumerate(seen):
            steps, rotations, root = frames.fit(
                observed, rotations, root, velocity=velocity, gain=0.0, hold=0.0
            )
            assert steps <= LIMITS.evaluations
            assert apart(rotations, whole.rotations[frame]) < 5e-4
            np.testing.assert_allclose(root, whole.root[frame], atol=2e-4)
            errors = np.sort(whole.marker_error[frame])[: len(frames.errors)]
            np.testing.assert_allclose(frames.errors, errors, atol=3e-4)
            assert len(frames.errors) == np.isfinite(observed[:, 0]).sum()

    def test_the_truth_stays_where_it_is(self, frames):
        exact = Frames(n_frames=5, noise=0.0)
        for observed, rotations, root in zip(exact.seen, exact.rotations, exact.root, strict=True):
            steps, found, _ = exact.fit(observed, rotations, root)
            assert steps <= 2
            assert apart(found, rotations) < 1e-4

    def test_motion_that_goes_on_takes_fewer_steps(self, frames):
        """The frame after two others starts where they lead."""
        exact, still, moving = Frames(n_frames=40, noise=0.0), 0, 0
        velocity = np.zeros(exact.rig.tree.n_dofs)
        rotations, root = exact.rotations[0], exact.root[0]
        for observed in exact.seen[1:]:
            still += exact.fit(observed, rotations, root)[0]
            steps, rotations, root = exact.fit(observed, rotations, root, velocity=velocity)
            moving += steps
        assert moving < 0.8 * still

    def test_a_bound_of_steps_is_kept_and_told(self, frames):
        """What two steps do not end, further frames do; the cost never rises meanwhile."""
        rotations, root, worst = frames.rotations[40], frames.root[40], np.inf
        wide = {"scale": 1.0, "evaluations": 2}
        steps, rotations, root = frames.fit(frames.seen[0], rotations, root, **wide)
        assert steps == 3
        for _ in range(20):
            steps, rotations, root = frames.fit(frames.seen[0], rotations, root, **wide)
            error = float(np.sqrt(np.mean(frames.errors**2)))
            assert error <= worst + 1e-9
            worst = error
        assert steps <= 2 and worst < 0.006


def chain() -> tuple[Skeleton, tuple[str, ...]]:
    corners = 0.1 * np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [-1, 0, 0]])
    bodies, above = [], None
    for name in ("root", "upper", "lower"):
        markers = tuple(Marker(f"{name}{i}", place) for i, place in enumerate(corners))
        joint = Joint("free") if above is None else Joint(in_parent=np.array([0.0, 0.0, 0.3]))
        bodies.append(Body(name, above, joint, markers=markers))
        above = name
    return Skeleton(tuple(bodies)), tuple(m.name for body in bodies for m in body.markers)


def placed(skeleton: Skeleton, turn: float) -> np.ndarray:
    """The chain's markers, both joints bent by ``turn`` about y."""
    rows, origin, world = [], np.zeros(3), quat.identity()
    bend = quat.from_axis_angle(np.eye(3)[1], np.array(turn))
    for body in skeleton.bodies:
        if body.parent is not None:
            origin = origin + quat.rotate(world, body.joint.in_parent)
            world = quat.multiply(world, bend)
        rows += [origin + quat.rotate(world, marker.position) for marker in body.markers]
    return np.array(rows)


class TestFollower:
    def test_a_limb_that_comes_back_elsewhere_is_found(self):
        skeleton, names = chain()
        follower = Follower(skeleton, names)
        for turn in (0.0, 0.02, 0.04):
            follower.follow(placed(skeleton, turn))
        hidden = placed(skeleton, 0.1)
        hidden[8:] = np.nan
        follower.follow(hidden)
        found = follower.follow(placed(skeleton, 0.9))
        assert found is not None and found.errors[-1] < 1e-3

    def test_nothing_is_started_anew_in_every_frame(self, monkeypatch):
        """Where no pose fits, frames must not pile up behind starts from nothing."""
        skeleton, names = chain()
        follower, starts = Follower(skeleton, names), []
        begin = follow.start_frames
        monkeypatch.setattr(
            follow, "start_frames", lambda *a, **k: starts.append(1) or begin(*a, **k)
        )
        rng = np.random.default_rng(0)
        for _ in range(2 * follow.AGAIN_FRAMES):
            follower.follow(rng.normal(size=(12, 3)))
        assert len(starts) == 2
