"""skeleton.json: the contract's keys, every field back, errors that name their place."""

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from osteon.errors import BadValue, FormatError, OsteonError, WrongContent
from osteon.formats import read, write
from osteon.formats.own.skeleton_json import read_skeleton_json, skeleton_text, write_passport
from osteon.values import (
    Attachment,
    Body,
    GlidePath,
    Joint,
    Limits,
    Loop,
    Marker,
    Skeleton,
    Slip,
    Swap,
)
from osteon.values.take import Passport
from whole_values import assert_same, full_skeleton


@pytest.fixture
def skeleton() -> Skeleton:
    knee = Joint(
        "hinge", (0.0, 0.1, -0.42), (0.01, 1 / 3, 0.2), [(0, 1, 0)],
        Limits((-0.1, 2.4), (("x", -0.1, 2.4), ("y", 0.0, 0.1)), (0.6, 0.0, 0.8, 0.0)),
        0.0031, np.eye(3) / 3e6, gap=0.007, glide=0.004,
        glide_path=GlidePath((0, 1, 0), (0.6, 0, 0.8, 0), (0, 1, 2, 3), np.eye(4)[:, :3] / 300),
    )  # fmt: skip
    bodies = (
        Body("pelvis", None, Joint("free"), 0.2, (Marker("LASI", (0.1, 0.2, 0.3), 0.0029),)),
        Body("left_shin", "pelvis", knee, None, (), (0.0, 0.0, -0.4), skin=0.0035),
    )
    events = (
        Slip("pelvis", 1200, 0.021),
        Swap(("RWRA", "RWRB"), (120, 134), True),
        Attachment(("pelvis", "left_shin"), (3, 5), (0.0, 0.0, 1.0), (0.0, 1.0, 0.0), 0.01),
    )
    loop = Loop(("pelvis", "left_shin"), (1, 2, 3), (4, 5, 6), 0.004)
    return Skeleton(bodies, "TakeoMonday", (loop,), events, ("calibrated",))


def test_a_passport_is_no_skeleton_and_says_where_it_goes(tmp_path, skeleton):
    write_passport(tmp_path / "passport.json", Passport(skeleton, (), 0.003))
    with pytest.raises(WrongContent, match="osteon solve --passport"):
        read(tmp_path / "passport.json")


def test_every_field_comes_back(tmp_path, skeleton):
    write(skeleton, tmp_path / "skeleton.json")
    take = read(tmp_path / "skeleton.json")
    assert take.kinds == ("skeleton",)
    assert_same(take.skeletons, (skeleton,))


def test_an_empty_skeleton_comes_back(tmp_path):
    write(Skeleton(()), tmp_path / "skeleton.json")
    assert_same(read(tmp_path / "skeleton.json").skeletons, (Skeleton(()),))


def test_the_keys_are_the_contracts(skeleton):
    tree = json.loads(skeleton_text(skeleton))
    assert list(tree) == ["format", "version", "subject", "bodies", "loops", "events", "history"]
    assert (tree["format"], tree["version"]) == ("osteon.skeleton", 1)
    shin = tree["bodies"][1]
    assert {"name", "parent", "joint", "length", "markers"} <= set(shin)
    assert shin["joint"]["type"] == "hinge"
    assert shin["joint"]["limits"]["hinge"] == [-0.1, 2.4]
    assert (shin["skin"], shin["joint"]["gap"], shin["joint"]["glide"]) == (0.0035, 0.007, 0.004)
    assert tree["bodies"][0]["parent"] is None
    assert tree["bodies"][0]["markers"][0]["rms"] == 0.0029
    assert tree["loops"][0]["in_second"] == [4, 5, 6]
    assert tree["events"][0] == {"kind": "slip", "body": "pelvis", "frame": 1200, "size": 0.021}


def test_unknown_doubt_is_null_and_unknown_keys_are_passed_over(tmp_path, skeleton):
    doubt = Joint("ball", covariance=np.diag([1e-6, np.inf, np.nan]), rms=np.nan)
    text = skeleton_text(Skeleton((Body("a", None, doubt),)))
    tree = json.loads(text)
    assert tree["bodies"][0]["joint"]["covariance"][1][1] is None
    tree["bodies"][0]["of_later_versions"] = {"any": 1}
    (tmp_path / "s.json").write_text(json.dumps(tree))
    back = read(tmp_path / "s.json").skeleton().bodies[0].joint
    np.testing.assert_array_equal(back.covariance, np.diag([1e-6, np.nan, np.nan]))
    assert back.rms is None


def test_a_limit_that_is_none_is_null(tmp_path):
    limits = Limits((-np.inf, 1.0), (("x", 0.5, np.inf),))
    skeleton = Skeleton((Body("a", None), Body("b", "a", Joint("hinge", limits=limits))))
    assert b'"hinge":[null,1.0]' in skeleton_text(skeleton)
    write(skeleton, tmp_path / "s.json")
    assert_same(read(tmp_path / "s.json").skeleton(), skeleton)


def test_a_number_that_is_not_finite_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(BadValue, match=r"\$\.events\[0\]\.size"):
        write(full_skeleton(), tmp_path / "skeleton.json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"rms":0.0031', '"rms":"much"', r"\$\.bodies\[1\]\.joint\.rms: expected `float \| null`"),
        ('"type":"hinge"', '"type":"rope"', r"\$\.bodies\[1\]\.joint\.type: invalid enum value"),
        ('"position":[0.1,0.2,0.3]', '"position":[0.1,0.2]', r"markers\[0\]\.position"),
        ('"kind":"slip"', '"kind":"trip"', r"\$\.events\[0\]\.kind"),
        ('"parent":"pelvis"', '"parent":"pelvic"', "did you mean 'pelvis'"),
        ('"version": 1', '"version": 7', r"\$\.version: version must be 1 or lower, got 7"),
        ('"name":"left_shin"', '"name":"pelvis"', "unique"),
        ('"rms":0.0031', '"rms":1e999', "JSON|range"),
        ('"subject"', "subject", "is not valid JSON"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path, skeleton, old, new, message):
    text = skeleton_text(skeleton).decode()
    assert old in text
    (tmp_path / "s.json").write_text(text.replace(old, new, 1))
    with pytest.raises(FormatError, match=message):
        read(tmp_path / "s.json")


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_a_damaged_file_is_refused_or_read(tmp_path, skeleton, data):
    content = bytearray(skeleton_text(skeleton))
    tokens = [b"null", b"[", b"[" * 5000, b"{}", b"-1", b"1e999", b'"', b",", b"", b"\xff"]
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at : at + data.draw(st.integers(0, 9))] = data.draw(st.sampled_from(tokens))
    (tmp_path / "s.json").write_bytes(content)
    try:
        read_skeleton_json(tmp_path / "s.json")
    except OsteonError as error:
        assert "\n" not in str(error)
