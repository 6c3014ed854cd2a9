"""Bones called by other programs' names: written, read back, and known as what they are."""

from dataclasses import replace

import numpy as np
import pytest

from osteon.errors import BadValue, NotEnoughData
from osteon.formats import read, write
from osteon.human import (
    find_parts,
    human,
    known_names,
    load_names,
    name_parts,
    naming_of,
    own_names,
    recognise_names,
    rename,
    rename_take,
)
from osteon.maths import quat
from osteon.values import Body, Joint, Motion, Skeleton, Take

READ_ONLY = {  # legs, arms and trunk as programs write them; ours → theirs
    "vroid": {"left_thigh": "J_Bip_L_UpperLeg", "left_shin": "J_Bip_L_LowerLeg",
              "left_hand": "J_Bip_L_Hand", "pelvis": "J_Bip_C_Hips"},
    "humanik": {"left_thigh": "Character1_LeftUpLeg", "left_shin": "Character1_LeftLeg",
                "left_hand": "Character1_LeftHand", "pelvis": "Character1_Hips"},
    "daz": {"left_thigh": "lThighBend", "left_shin": "lShin", "left_hand": "lHand",
            "pelvis": "hip"},
    "character_creator": {"left_thigh": "CC_Base_L_Thigh", "left_shin": "CC_Base_L_Calf",
                          "left_hand": "CC_Base_L_Hand", "pelvis": "CC_Base_Hip"},
    "rigify": {"left_thigh": "DEF-thigh.L", "left_shin": "DEF-shin.L", "left_hand": "DEF-hand.L",
               "pelvis": "DEF-spine"},
}  # fmt: skip


def moving_human() -> Motion:
    """The template's bodies, fingers too, each turning in its own way."""
    template = human()
    places = {body.name: (body.parent, body.at) for body in template.bodies.values()}
    for finger in template.fingers.values():
        above, at = finger.hand, finger.at
        for body, length in zip(finger.bodies, finger.lengths, strict=True):
            places[body] = above, at
            above, at = body, at + length * finger.along
    bodies = [
        Body(name, parent, Joint(in_parent=at - places[parent][1] if parent else np.zeros(3)))
        for name, (parent, at) in places.items()
    ]
    rng = np.random.default_rng(7)
    turns = quat.exp(0.3 * rng.standard_normal((5, len(bodies), 3)))
    return Motion(Skeleton(tuple(bodies)), turns, rng.standard_normal((5, 3)), 50.0)


def _tree(motion: Motion) -> dict[str, str | None]:
    return {body.name: body.parent for body in motion.skeleton.bodies}


def called(scheme: str) -> Motion:
    motion = moving_human()
    return rename(motion, naming_of(motion.skeleton, scheme).names, "called otherwise")


@pytest.mark.parametrize("ending", ["bvh", "fbx", "glb"])
@pytest.mark.parametrize("scheme", known_names())
def test_names_come_back_from_files(scheme, ending, tmp_path):
    given = moving_human()
    file = tmp_path / f"motion.{ending}"
    write(called(scheme), file)
    found = read(file).motion()
    assert set(found.skeleton.names) == set(called(scheme).skeleton.names)
    ours = rename_take(Take(motions=(found,)), "osteon")[0].motion()
    assert _tree(ours) == _tree(given)
    where = [ours.skeleton.index(name) for name in given.skeleton.names]
    np.testing.assert_allclose(ours.world()[1][:, where], given.world()[1], atol=1e-5)


@pytest.mark.parametrize("scheme", known_names())
def test_a_scheme_is_recognised_and_its_parts_are_right(scheme):
    own, other = moving_human().skeleton, called(scheme).skeleton
    expected = {part: other.names[own.index(body)] for part, body in find_parts(own).items()}
    assert find_parts(other) == expected
    assert load_names(scheme).bones.keys() >= {"left_thigh", "right_hand", "pelvis"}


def test_schemes_name_no_two_bones_alike():
    for scheme in map(load_names, known_names()):
        written = [scheme.written(own) for own in scheme.bones]
        doubled = {name for name in written if written.count(name) > 1}
        assert not doubled - {"spine_03", "spine_04"}, scheme.name


def test_left_and_right_are_told_apart_in_every_scheme():
    for scheme in map(load_names, known_names()):
        for own, names in scheme.bones.items():
            if own.startswith("left_"):
                others = scheme.bones[own.replace("left_", "right_", 1)]
                assert not set(names) & set(others), (scheme.name, own)


@pytest.mark.parametrize("scheme", READ_ONLY)
def test_prefixes_of_characters_are_read(scheme):
    said = READ_ONLY[scheme]
    words = load_names(scheme)
    names = {own: words.written(own) for own in moving_human().skeleton.names} | said
    if scheme in ("humanik", "rigify"):  # a prefix on every bone
        before = said["pelvis"].removesuffix(words.written("pelvis"))
        names = {own: f"{before}{name}" for own, name in names.items() if own not in said} | said
    skeleton = rename(moving_human(), names, "called otherwise").skeleton
    found = own_names(skeleton)
    assert {own: found[own] for own in said} == said
    assert recognise_names(skeleton) == words


def test_names_of_a_hero_before_every_bone_are_no_hindrance():
    motion = called("vrm")
    names = {name: f"Hero_{name}" for name in motion.skeleton.names}
    skeleton = rename(motion, names, "a hero").skeleton
    assert find_parts(skeleton)["left_shin"] == "Hero_leftLowerLeg"


def test_the_bone_that_arms_hang_on_is_the_chest_where_a_spine_ends_early():
    motion = moving_human()
    names = naming_of(motion.skeleton, "mixamo").names | {"chest": "mixamorig:Spine1"}
    found = own_names(rename(motion, names, "a short spine").skeleton)
    assert found["chest"] == "mixamorig:Spine1" and "spine_2" not in found


def test_what_a_scheme_lacks_is_said():
    naming = naming_of(moving_human().skeleton, "rajagopal")
    assert {"head", "neck", "spine", "left_clavicle"} <= set(naming.kept)
    assert naming.names["head"] == "head"
    assert any("head" in sentence for sentence in naming.sentences)
    assert naming_of(moving_human().skeleton, "mixamo").absent == ("mixamorig:Spine1",)


def test_a_bone_that_keeps_its_name_is_not_taken_for_another():
    """CMU's wrist, which SMPL has no name for, is called as SMPL calls a hand."""
    motion = moving_human()
    bodies = list(motion.skeleton.bodies)
    bodies.insert(motion.skeleton.index("left_hand"), Body("lwrist", "left_forearm"))
    skeleton = Skeleton(tuple(bodies))
    names = naming_of(skeleton, "smpl").names
    called = skeleton.with_bodies(
        [replace(body, name=names[body.name], parent=body.parent and names[body.parent])
         for body in bodies], "called otherwise")  # fmt: skip
    assert own_names(called)["left_hand"] == names["left_hand"] == "left_wrist"


def test_unknown_schemes_are_refused():
    with pytest.raises(BadValue, match="mixamo"):
        load_names("mixmo")


def test_a_skeleton_that_is_not_understood_is_refused_with_what_was():
    motion = moving_human()
    names = {name: f"b{number}" for number, name in enumerate(motion.skeleton.names)}
    names |= {"head": "head", "left_hand": "left_hand"}
    odd = rename(motion, names, "called anyhow").skeleton
    for refused in (lambda: naming_of(odd, "mixamo"), lambda: name_parts(odd)):
        with pytest.raises(NotEnoughData, match="left_hand = left_hand"):
            refused()


def test_names_that_stay_never_collide_with_new_ones():
    mixamo = called("mixamo")
    extra = Body("Spine1", mixamo.skeleton.names[0], Joint(in_parent=np.array([0.0, 0.0, 0.1])))
    names = mixamo.skeleton.bodies
    skeleton = replace(mixamo.skeleton, bodies=(*names, replace(extra, name="Spine_extra")))
    assert len(set(naming_of(skeleton, "soma").names.values())) == len(skeleton.names)
