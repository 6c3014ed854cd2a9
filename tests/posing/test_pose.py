"""Poses from markers: the kernels equal the dense reference, and known motions come back."""

import numpy as np
import pytest

from conftest import assert_close, assert_rotations_close
from oracles.pose_oracle import marker_jacobian, solve_reference
from osteon import posing, synth
from osteon.errors import BadValue, NotEnoughData, ShapeError
from osteon.maths import quat
from osteon.posing._kernels import lanes, levenberg_marquardt as descent, normal_equations
from osteon.posing.first_pose import has_evidence, on_joints, start_frames
from osteon.posing.per_frame import BLOCK_FRAMES, PoseOptions, PoseProblem, Status, solve_frames
from osteon.posing.rig import Rig, build_tree, compile_rig
from osteon.values import Recording
from pose_rigs import ball_joints, figure, motion_of, performance, wave

EXACT = PoseOptions(tolerance=1e-9)


def solved_exactly(rig, markers):
    return solve_frames(PoseProblem(rig, markers, rest_weights=0.0), options=EXACT)


def filled_lanes(rig, rotations, root, observed, weights, rest, rest_weight):
    """Working memory with one of 64 frames in each lane, evaluated as the solver does it."""
    model = lanes.make_model(rig, rest_weight)
    memory = lanes.make_lanes(model)
    memory.rotations[:] = rotations.transpose(1, 2, 0).ravel()
    memory.rest[:] = rest.transpose(1, 2, 0).ravel()
    memory.root[:] = root.T.ravel()
    seen = np.concatenate([observed, weights[..., None]], axis=-1)
    memory.observed[:] = seen.transpose(1, 2, 0).ravel()
    lanes.forward(model, memory)
    normal_equations.place_markers(model, memory)
    normal_equations.pull_to_rest(model, memory)
    return model, memory


@pytest.fixture
def block(rng):
    """64 random poses of the figure with random observations, weights and rest pose."""
    rig, rotations, root, markers, _ = performance(lanes.LANES, rng, size=0.8)
    observed = markers + rng.normal(scale=0.05, size=markers.shape)
    rest, _ = motion_of(rig, lanes.LANES, rng)
    return rig, rotations, root, observed, rng.uniform(0, 2, markers.shape[:2]), rest


def dense_normal(tree, values):
    """(n_frames, n_dofs, n_dofs) of the rows along the paths."""
    full = np.zeros((lanes.LANES, tree.n_dofs, tree.n_dofs))
    for dof in range(tree.n_dofs):
        row = slice(tree.row_start[dof], tree.row_start[dof] + tree.dof_depth[dof] + 1)
        full[:, dof, tree.path[row]] = full[:, tree.path[row], dof] = values[row].T
    return full


def test_the_figure_has_37_freedoms_and_40_markers():
    assert (figure().tree.n_dofs, figure().tree.n_markers) == (37, 40)


def test_jacobian_is_the_slope_on_the_manifold(rng):
    rig, rotations, root, *_ = performance(3, rng)
    jacobian, small = marker_jacobian(rig, rotations, root), 1e-6
    for dof in range(rig.tree.n_dofs):
        step = small * np.eye(rig.tree.n_dofs)[dof]
        there = rig.markers(*rig.move(rotations, root, step))
        back = rig.markers(*rig.move(rotations, root, -step))
        assert_close(jacobian[..., dof], (there - back) / (2 * small), 1e-8)


def test_normal_matrix_and_gradient_equal_dense_ones(block):
    rig, rotations, root, observed, weights, rest = block
    model, memory = filled_lanes(*block[:5], rest, 0.0)
    normal_equations.gather_moments(model, memory)
    normal_equations.place_screws(model, memory)
    normal_equations.build_normal(model, memory)
    jacobian = marker_jacobian(rig, rotations, root)
    lack = observed - rig.markers(rotations, root)
    normal = np.einsum("fm,fmid,fmie->fde", weights, jacobian, jacobian)
    gradient = np.einsum("fm,fmid,fmi->fd", weights, jacobian, lack)
    rows = memory.normal.reshape(-1, lanes.LANES)
    assert_close(dense_normal(rig.tree, rows), normal, 1e-11)
    assert_close(memory.step.reshape(-1, lanes.LANES).T, gradient, 1e-11)


def test_step_solves_the_damped_system(block, rng):
    rig = block[0]
    model, memory = filled_lanes(*block, 0.01)
    memory.damping[:] = rng.uniform(1e-4, 1, lanes.LANES)
    normal_equations.gather_moments(model, memory)
    normal_equations.place_screws(model, memory)
    normal_equations.build_normal(model, memory)
    descent.damp(model, memory)
    normal = dense_normal(rig.tree, memory.normal.reshape(-1, lanes.LANES))
    gradient = memory.step.reshape(-1, lanes.LANES).T.copy()
    descent.factor(model, memory)
    descent.substitute(model, memory)
    expected = np.linalg.solve(normal, gradient[..., None])[..., 0]
    assert_close(memory.step.reshape(-1, lanes.LANES).T, expected, 1e-9)


@pytest.mark.parametrize("loss", ["squared", "huber", "geman-mcclure"])
def test_gradient_is_the_slope_of_the_cost(block, loss):
    """Rest prior and robust losses included; central differences on the manifold."""
    rig, rotations, root, *others = block

    def cost(turned, place):
        model, memory = filled_lanes(rig, turned, place, *others, 0.3)
        if loss != "squared":
            normal_equations.reweight(memory, {"huber": 1, "geman-mcclure": 2}[loss], 0.06)
        total = np.zeros(lanes.LANES)
        normal_equations.total_cost(memory, total)
        return total, model, memory

    _, model, memory = cost(rotations, root)
    normal_equations.gather_moments(model, memory)
    normal_equations.place_screws(model, memory)
    normal_equations.build_normal(model, memory)
    gradient, small = memory.step.reshape(-1, lanes.LANES).copy(), 1e-5
    for dof in range(rig.tree.n_dofs):
        step = small * np.eye(rig.tree.n_dofs)[dof]
        up = cost(*rig.move(rotations, root, step))[0]
        down = cost(*rig.move(rotations, root, -step))[0]
        slope = (up - down) / (2 * small)
        np.testing.assert_allclose(-2.0 * gradient[dof], slope, rtol=1e-4, atol=1e-6)


def test_solution_equals_dense_gauss_newton(rng):
    rig, rotations, root, _, observed = performance(30, rng, noise=0.002)
    expected, place = solve_reference(rig, observed, rotations, root)
    found = solved_exactly(rig, observed)
    assert_rotations_close(found.rotations, expected, 1e-8)
    assert_close(found.root, place, 1e-8)
    assert set(found.status) == {Status.CONVERGED}


@pytest.mark.parametrize("n_frames", [1, 63, 64, 65, 700])
def test_truth_comes_back_without_noise(rng, n_frames):
    rig, rotations, root, markers, _ = performance(n_frames, rng, size=0.7)
    found = solved_exactly(rig, markers)
    assert_rotations_close(found.rotations, rotations, 1e-7)
    assert_close(found.root, root, 1e-7)
    assert found.rms < 1e-8 and found.held == ()


def test_full_turns_and_fast_arms_far_from_the_origin(rng):
    """A pirouette of three turns a second while both arms circle twice a second, 60 m away."""
    rig, n_frames = figure(), 360
    rotations, root = motion_of(rig, n_frames, rng, size=0.2)
    t = np.arange(n_frames) / 120.0
    spin = quat.from_axis_angle(np.array([0.0, 0.0, 1.0]), 6 * np.pi * t)
    rotations[:, 0] = quat.multiply(spin, rotations[:, 0])
    for arm in (3, 6):
        circle = quat.from_axis_angle(np.array([0.0, 1.0, 0.0]), 4 * np.pi * t)
        rotations[:, arm] = quat.multiply(circle, rotations[:, arm])
    root += (60.0, 0.0, 0.0)
    found = solved_exactly(rig, rig.markers(rotations, root))
    assert_rotations_close(found.rotations, rotations, 1e-6)
    assert np.abs(np.diff(found.rotations, axis=0)).max() < 0.2  # signs are continuous


def test_frames_in_any_order_are_found_from_their_own_markers(rng):
    """Unrelated poses: no neighbour helps; every joint up to 80° from rest."""
    rig, n_frames = figure(), 300
    step = rng.uniform(-1.4, 1.4, (n_frames, rig.tree.n_dofs))
    step[:, 3:6] = rng.uniform(-3.0, 3.0, (n_frames, 3))
    rotations, root = rig.move(quat.identity((n_frames, 15)), np.zeros((n_frames, 3)), step)
    found = solved_exactly(rig, rig.markers(rotations, root))
    right = quat.angle(quat.between(found.rotations, rotations)).max(axis=1) < 1e-5
    # 10 draws of 300: all found
    assert right.mean() > 0.985
    bad = np.nanmax(found.marker_error, axis=1) > 1e-4
    assert not (bad & right).any()


def test_missing_markers(rng):
    rig, rotations, _, markers, _ = performance(400, rng)
    observed = markers.copy()
    observed[rng.random(observed.shape[:2]) < 0.1] = np.nan
    found = solve_frames(PoseProblem(rig, observed))
    assert_close(np.isnan(found.marker_error), np.isnan(observed[..., 0]))
    assert np.nanmax(found.marker_error) < 1e-4
    off = quat.angle(quat.between(found.rotations, rotations))
    assert np.median(off) < 1e-5


@pytest.mark.parametrize("n_markers", [0, 1, 2])
def test_bodies_with_few_markers_are_damped_not_wild(rng, n_markers):
    """The last of three links has 0, 1 or 2 markers: no more turn from rest than needed."""
    parents = [-1, 0, 1]
    bodies = [0] * 4 + [1] * 3 + [2] * n_markers
    places = rng.normal(scale=0.1, size=(len(bodies), 3))
    rig = Rig(
        build_tree(parents, *ball_joints(parents), bodies),
        np.array([[0, 0, 0], [0, 0, 0.4], [0, 0, 0.4]]),
        places,
    )
    rotations, root = motion_of(rig, 200, rng)
    found = solve_frames(PoseProblem(rig, rig.markers(rotations, root)))
    assert np.nanmax(found.marker_error) < 1e-5
    last = quat.angle(found.rotations[:, 2])
    truth = quat.angle(rotations[:, 2])
    if n_markers == 0:
        assert last.max() < 1e-9
    else:
        assert np.all(last < truth + 0.6)
    assert np.abs(np.diff(found.rotations, axis=0)).max() < 0.15


def test_joints_keep_to_their_kind(rng):
    rig, *_, observed = performance(200, rng, noise=0.01)
    found = solve_frames(PoseProblem(rig, observed))
    assert_rotations_close(on_joints(rig.tree, found.rotations), found.rotations, 1e-10)
    knee = found.rotations[:, 10]
    assert_close(knee[:, [1, 3]], 0.0, 1e-12)


def test_fixed_joints_do_not_move(rng):
    parents = [-1, 0, 1]
    rig = Rig(
        build_tree(parents, ["free", "fixed", "hinge"], [(), (), [(1, 0, 0)]], [0, 0, 0, 1, 2, 2]),
        rng.normal(size=(3, 3)),
        rng.normal(scale=0.1, size=(6, 3)),
    )
    rotations, root = motion_of(rig, 50, rng)
    found = solved_exactly(rig, rig.markers(rotations, root))
    assert_rotations_close(found.rotations, rotations, 1e-7)
    assert_close(found.rotations[:, 1], quat.identity((50,)))


def test_on_joints_is_a_projection(rng):
    tree = figure().tree
    anything = quat.normalise(rng.normal(size=(50, tree.n_bodies, 4)))
    once = on_joints(tree, anything)
    assert_rotations_close(on_joints(tree, once), once, 1e-12)


def test_cost_never_rises_from_any_start(rng):
    """Wild starts and wild markers: every frame ends, none above where it began."""
    rig, *_, observed = performance(128, rng)
    observed += rng.normal(scale=0.5, size=observed.shape)
    rotations = on_joints(rig.tree, quat.normalise(rng.normal(size=(128, 15, 4))))
    root = rng.normal(scale=3.0, size=(128, 3))
    began = np.sum((observed - rig.markers(rotations, root)) ** 2, axis=(1, 2))
    found = solve_frames(PoseProblem(rig, observed, rest_weights=0.0), start=(rotations, root))
    assert np.isfinite(found.rotations).all()
    assert np.all(found.cost <= began)
    assert_close(found.cost, np.sum(found.marker_error**2, axis=1), 1e-10)


def test_frames_without_evidence_are_held(rng):
    rig, *_, markers, _ = performance(100, rng)
    observed = markers.copy()
    observed[:5] = np.nan
    observed[40:50, 2:] = np.nan
    found = solve_frames(PoseProblem(rig, observed))
    assert found.held == (*range(5), *range(40, 50))
    assert_close(found.root[:5], np.tile(found.root[5], (5, 1)))
    assert_rotations_close(found.rotations[44], found.rotations[39])
    assert_rotations_close(found.rotations[46], found.rotations[50])
    assert np.nanmax(found.marker_error) < 1e-4


def test_three_markers_in_a_line_are_no_evidence(rng):
    observed = np.full((2, 40, 3), np.nan)
    observed[0, :3] = np.outer([0.0, 0.1, 0.3], [1.0, 2.0, 0.5])
    observed[1, :3] = rng.normal(size=(3, 3))
    assert has_evidence(observed, np.ones((1, 40))).tolist() == [False, True]


def test_robust_loss_ignores_a_thrown_marker(rng):
    rig, _, _, markers, observed = performance(60, rng, noise=0.001)
    observed[:, 2] += (0.15, 0.0, 0.1)

    def off(options):
        found = solve_frames(PoseProblem(rig, observed), options=options)
        error = rig.markers(found.rotations, found.root) - markers
        return np.median(np.abs(np.delete(error, 2, axis=1)).max(axis=(1, 2)))

    # 10 draws: squared 25–37 mm, robust 1.7–2.0 mm
    assert off(PoseOptions()) > 0.015
    assert off(PoseOptions(loss="geman-mcclure")) < 0.004


def test_weight_zero_is_the_same_as_not_seen(rng):
    rig, *_, observed = performance(40, rng, noise=0.002)
    blind = observed.copy()
    blind[:, 7] = np.nan
    weights = np.ones(40)
    weights[7] = 0.0
    a = solve_frames(PoseProblem(rig, observed, weights))
    b = solve_frames(PoseProblem(rig, blind))
    assert_rotations_close(a.rotations, b.rotations, 1e-10)


def test_threads_change_nothing(rng):
    rig, *_, observed = performance(2 * 64 * 64 + 10, rng, noise=0.002)
    one = solve_frames(PoseProblem(rig, observed))
    two = solve_frames(PoseProblem(rig, observed), options=PoseOptions(threads=2))
    np.testing.assert_array_equal(one.rotations, two.rotations)


def test_start_is_near_where_markers_fix_the_bodies(rng):
    rig, rotations, root, markers, _ = performance(50, rng)
    q, place = start_frames(rig, markers, weights=np.ones((1, 40)), rest=quat.identity((1, 15)))
    off = quat.angle(quat.between(q, rotations))
    # every body of the figure has two markers and a joint, so only the markers further out disturb
    # 10 draws: 0.10–0.29°, 0.05 mm at most
    assert np.degrees(off).max() < 0.6
    assert np.abs(place - root).max() < 0.0002


def test_skeleton_and_recording(rng):
    take = synth.perform(synth.human(), synth.walk(seconds=2), noise=0.0, seed=1)
    result = posing.solve(take.recording, take.truth.skeleton)
    truth = take.truth.motion
    assert result.rms < 1e-5
    assert np.abs(result.motion.world()[1] - truth.world()[1]).max() < 1e-3
    assert list(result.rms_per_marker().values()) == sorted(
        result.rms_per_marker().values(), reverse=True
    )
    assert "worst marker" in str(result) and "step below tolerance" in str(result)


def test_marker_places_are_measured_from_the_joint(rng):
    skeleton = synth.human()
    names = [marker.name for body in skeleton.bodies for marker in body.markers]
    rig = compile_rig(skeleton, names[::-1])
    body = skeleton.bodies[rig.tree.marker_bodies[0]]
    assert body.markers[-1].name == names[-1]
    assert_close(rig.places[0], body.markers[-1].position - body.joint.in_body)


def test_bad_requests_say_what_is_wrong(rng):
    rig = figure()
    with pytest.raises(ShapeError, match=r"\(n_frames, 40, 3\), got \(2, 3, 3\)"):
        PoseProblem(rig, np.zeros((2, 3, 3)))
    with pytest.raises(BadValue, match="loss must be one of"):
        PoseOptions(loss="cauchy")
    with pytest.raises(BadValue, match="one root is allowed"):
        build_tree([-1, -1], *ball_joints([-1, -1]), [])
    with pytest.raises(ShapeError, match="a universal needs 2 axes"):
        build_tree([-1, 0], ["free", "universal"], [(), [(1, 0, 0)]], [])
    with pytest.raises(NotEnoughData, match="shows 0 markers of the"):
        posing.solve(Recording(np.zeros((2, 1, 3)), ("x",), 100.0), synth.human())


def test_rest_prior_balances_as_documented(rng):
    """One hinge, one marker at 0.5 m, pulled 0.2 rad: turn = w r² / (w r² + rest) of it."""
    tree = build_tree([-1, 0], ["free", "hinge"], [(), [(0, 0, 1)]], [0, 0, 0, 1])
    places = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [0.5, 0, 0]])
    rig = Rig(tree, np.zeros((2, 3)), places)
    rotations = quat.identity((1, 2))
    rotations[:, 1] = quat.from_axis_angle(np.array([0.0, 0, 1]), np.array(0.02))
    observed = rig.markers(rotations, np.zeros((1, 3)))
    weights = np.array([1e9, 1e9, 1e9, 1.0])
    problem = PoseProblem(rig, observed, weights, rest_weights=0.25)
    found = solve_frames(problem, options=PoseOptions(tolerance=1e-10))
    assert_close(quat.angle(found.rotations[0, 1]), 0.01, 1e-5)


def test_waves_have_the_asked_shape(rng):
    assert wave(rng, 10, 3, 0.1).shape == (10, 3)


def test_progress_is_told_and_may_stop_the_work(rng):
    rig, *_, observed = performance(2 * BLOCK_FRAMES, rng)
    shares: list[float] = []
    options = PoseOptions(loss="geman-mcclure")
    solve_frames(PoseProblem(rig, observed), options=options, progress=shares.append)
    assert_close(shares, np.arange(1, 7) / 6)  # two blocks, three widths of the loss

    def stop(share: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve_frames(PoseProblem(rig, observed), progress=stop)


def test_frames_with_a_start_are_solved_alike_in_any_company(rng):
    """Lanes take them as they come: neither order nor neighbours may show in the answer."""
    rig, rotations, root, _, observed = performance(150, rng, noise=0.005)
    start = rig.move(rotations, root, rng.normal(scale=0.3, size=(150, rig.tree.n_dofs)))
    together = solve_frames(PoseProblem(rig, observed), start=start)
    order = rng.permutation(150)[:90]
    some = PoseProblem(rig, observed[order])
    apart = solve_frames(some, start=(start[0][order], start[1][order]))
    np.testing.assert_array_equal(np.abs(together.rotations[order]), np.abs(apart.rotations))
    np.testing.assert_array_equal(together.root[order], apart.root)
    np.testing.assert_array_equal(together.iterations[order], apart.iterations)
