"""The figure made for any rig: closed, round its bones, and moving with them."""

from dataclasses import replace

import numpy as np
import pytest

from osteon import synth
from osteon.maths import quat
from osteon.skinning.body_skin import MOST_TRIANGLES, make_skin, make_skin_for, natural_pose
from osteon.skinning.flesh_surface import surface_nets, triangles_of
from osteon.values import Body, Joint, Motion, Skeleton, SkinnedMesh

CHAIN = Skeleton(
    (
        Body("a", None, Joint("free")),
        Body("b", "a", Joint(in_parent=np.array([0.0, 0.0, 0.4]))),
        Body("c", "b", Joint(in_parent=np.array([0.3, 0.0, 0.0])), tip=np.array([0.2, 0.0, 0.0])),
    )
)
RIGS = {
    "human": synth.human(),
    "dog": synth.quadruped(),
    "hand": synth.hand(),
    "linkage": synth.linkage(),
    "chain": CHAIN,
    "lone": Skeleton((Body("a", None, Joint("free")),)),
    "two in one place": Skeleton((Body("a", None, Joint("free")), Body("b", None, Joint("free")))),
    "a bone of no length": Skeleton((Body("a", None, Joint("free")), Body("b", "a"))),
}


def windings(points, vertices, triangles):
    """How often a closed surface goes round each point (n, 3): 1 inside, 0 outside."""
    a, b, c = (vertices[triangles[:, k]] - points[:, None] for k in range(3))
    la, lb, lc = (np.linalg.norm(side, axis=-1) for side in (a, b, c))
    volume = np.einsum("nti,nti->nt", a, np.cross(b, c))
    flat = la * lb * lc
    for one, two, length in ((a, b, lc), (b, c, la), (c, a, lb)):
        flat = flat + np.einsum("nti,nti->nt", one, two) * length
    return 2.0 * np.arctan2(volume, flat).sum(axis=1) / (4.0 * np.pi)


def bone_middles(skeleton, joints):
    """Middles of the bones from limb to limb; those inside a branching body are not limbs."""
    parents = skeleton.parents
    bones = [(p, c) for c, p in enumerate(parents) if p >= 0 and parents.count(p) == 1]
    return np.array([0.5 * (joints[p] + joints[c]) for p, c in bones])


@pytest.mark.parametrize("name", RIGS)
def test_a_figure_is_closed_and_outside_in_is_outside(name):
    skin = make_skin(RIGS[name])
    assert 100 < len(skin.triangles) <= MOST_TRIANGLES
    edges = np.concatenate([skin.triangles[:, [a, b]] for a, b in ((0, 1), (1, 2), (2, 0))])
    there, back = (np.unique(side, axis=0, return_counts=True) for side in (edges, edges[:, ::-1]))
    np.testing.assert_array_equal(there[0], back[0])
    np.testing.assert_array_equal(there[1], back[1])
    a, b, c = (skin.vertices[skin.triangles[:, k]] for k in range(3))
    assert np.einsum("ti,ti->", a, np.cross(b, c)) > 0.0
    np.testing.assert_allclose(skin.weights.sum(axis=1), 1.0)


@pytest.mark.parametrize("name", ["human", "dog", "chain"])
def test_bones_lie_inside(name):
    skin = make_skin(RIGS[name])
    middles = bone_middles(RIGS[name], skin.joints)
    np.testing.assert_allclose(windings(middles, skin.vertices, skin.triangles), 1.0, atol=0.01)


@pytest.mark.parametrize("name", ["human", "dog"])
def test_limbs_stay_in_the_skin_when_they_move(name):
    motion = synth.act(RIGS[name], synth.exercise(5), seed=2).motion
    skin = make_skin_for(motion)
    rotations, joints = motion.world()
    for frame in range(0, motion.n_frames, 97):
        moved = skin.moved(rotations[frame], joints[frame])
        middles = bone_middles(motion.skeleton, joints[frame])
        assert (windings(middles, moved, skin.triangles) > 0.9).all()


def test_a_skin_moves_as_one_with_a_turned_world(rng):
    skin = make_skin(RIGS["human"])
    turn, shift = quat.normalise(rng.normal(size=4)), rng.normal(size=3)
    moved = skin.moved(quat.multiply(turn, skin.rotations), quat.rotate(turn, skin.joints) + shift)
    np.testing.assert_allclose(moved, quat.rotate(turn, skin.vertices) + shift, atol=1e-12)


def test_twice_the_rig_is_twice_the_figure():
    small, large = make_skin(synth.human(1.0)), make_skin(synth.human(2.0))
    np.testing.assert_array_equal(small.triangles, large.triangles)
    np.testing.assert_allclose(2.0 * small.vertices, large.vertices, atol=1e-6)


def test_frames_of_sensors_are_given_a_pose_to_stand_in(rng):
    """Every body's frame turned at random: the rest pose is a jumble, the figure is the same."""
    motion = synth.act(synth.human(), synth.exercise(3), seed=1).motion
    assert natural_pose(motion) is None
    skeleton = motion.skeleton
    turns = quat.normalise(rng.normal(size=(len(skeleton.bodies), 4)))
    above = [turns[p] if p >= 0 else quat.identity() for p in skeleton.parents]
    bodies = [
        replace(
            body,
            joint=Joint(
                body.joint.kind,
                quat.rotate(quat.inverse(above[i]), body.joint.in_parent),
                quat.rotate(quat.inverse(turns[i]), body.joint.in_body),
            ),
            tip=None if body.tip is None else quat.rotate(quat.inverse(turns[i]), body.tip),
            markers=(),
        )
        for i, body in enumerate(skeleton.bodies)
    ]
    rotations = quat.multiply(quat.multiply(quat.inverse(np.array(above)), motion.rotations), turns)
    jumbled = Motion(Skeleton(tuple(bodies)), rotations, motion.root, motion.rate)
    skin = make_skin_for(jumbled)
    rotations, joints = jumbled.world()
    moved = skin.moved(rotations[50], joints[50])
    middles = bone_middles(skeleton, joints[50])
    assert (windings(middles, moved, skin.triangles) > 0.9).all()


def test_surface_nets_find_a_ball():
    """Radius 7.3 cells: vertices of cells that the surface cuts lie within a cell of it."""
    grid = np.moveaxis(np.indices((20, 21, 22)), 0, -1)
    vertices, quads = surface_nets(np.linalg.norm(grid - 10.0, axis=-1) - 7.3)
    away = np.linalg.norm(vertices - 10.0, axis=-1) - 7.3
    assert np.abs(away).max() < 0.2
    triangles = triangles_of(vertices, quads)
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    volume = np.einsum("ti,ti->", a, np.cross(b, c)) / 6.0
    assert volume == pytest.approx(4.0 / 3.0 * np.pi * 7.3**3, rel=0.02)


def test_a_skin_refuses_what_is_none():
    vertices, triangle = np.zeros((3, 3)), np.array([[0, 1, 2]])
    bodies, weights = np.zeros((3, 4), int), np.eye(4)[[0, 0, 0]]
    one = (quat.identity((1,)), np.zeros((1, 3)))
    SkinnedMesh(vertices, triangle, bodies, weights, *one)
    with pytest.raises(ValueError, match="add up to 1"):
        SkinnedMesh(vertices, triangle, bodies, 0.5 * weights, *one)
    with pytest.raises(ValueError, match="triangles must be indices from 0 to 2"):
        SkinnedMesh(vertices, triangle + 1, bodies, weights, *one)
    with pytest.raises(ValueError, match="bodies must be indices from 0 to 0"):
        SkinnedMesh(vertices, triangle, bodies + 1, weights, *one)
    with pytest.raises(ValueError, match="shape"):
        SkinnedMesh(vertices, triangle, bodies[:2], weights, *one)
