"""MVNX: segment poses from a file made after the public schema."""

import numpy as np
import pytest

from conftest import assert_rotations_close
from osteon.errors import FormatError
from osteon.formats import read
from osteon.maths import quat
from samples import mvnx_text

NAMES = ("Pelvis", "L5", "Head")


@pytest.fixture
def truth(rng):
    """Positions and rotations of three segments over 20 frames, turning smoothly."""
    axis = rng.normal(size=(3, 3))
    rotations = quat.exp(axis * np.linspace(0, 2, 20)[:, None, None])
    return rng.normal(size=(20, 3, 3)), rotations


@pytest.fixture
def put(tmp_path):
    def write(text: str | bytes):
        path = tmp_path / "a.mvnx"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return write


def test_poses_are_read_and_calibration_frames_are_not(truth, put):
    positions, rotations = truth
    bodies = read(put(mvnx_text(positions, rotations, NAMES))).body_poses()
    assert bodies.names == NAMES and bodies.rate == 60.0 and bodies.n_frames == 20
    np.testing.assert_allclose(bodies.positions, positions, atol=1e-9)
    assert_rotations_close(bodies.rotations, rotations, 1e-8)
    assert bodies.source.up_known and bodies.source.software == "MVN 2021.2"
    assert bodies.source.problems == ("4 calibration frames passed over",)


def test_signs_that_flip_are_made_continuous(truth, put, rng):
    positions, rotations = truth
    flipped = rotations * rng.choice([-1.0, 1.0], size=(20, 3, 1))
    assert (np.sum(flipped[1:] * flipped[:-1], axis=-1) < 0).any()
    bodies = read(put(mvnx_text(positions, flipped, NAMES))).body_poses()
    assert (np.sum(bodies.rotations[1:] * bodies.rotations[:-1], axis=-1) > 0).all()


def test_a_lost_segment_is_missing(truth, put):
    positions, rotations = truth
    positions[4, 1] = np.nan
    bodies = read(put(mvnx_text(positions, rotations, NAMES))).body_poses()
    assert not bodies.seen[4, 1] and bodies.seen.sum() == 59


def test_several_subjects_are_several_sets_of_bodies(truth, put):
    text = mvnx_text(*truth, NAMES)
    subject = text[text.index("<subject") : text.index("</mvnx>")]
    both = text.replace("</mvnx>", subject.replace("Ann", "Bob") + "</mvnx>")
    take = read(put(both))
    assert [bodies.subject for bodies in take.bodies] == ["Ann", "Bob"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('frameRate="60"', 'frameRate="0"', "line 4: frameRate must be above zero, got '0'"),
        ('frameRate="60"', "", "line 4: frameRate must be above zero"),
        ('type="normal"', 'type="npose"', "no frame of type 'normal'"),
        ('label="L5"', 'label="Head"', "segments must have labels, each its own"),
        ("</frames>", "</frame>", "not well-formed XML: mismatched tag"),
        ("<position>", "<position>1 2 ", "<position> has 11 numbers, expected 9 for 3 segments"),
        ("<position>", "<position>x ", "<position> holds something that is no number"),
        ('encoding="UTF-8"', 'encoding="klingon"', "a.mvnx: .*encoding"),
        ("<mvnx ", "<x><mvnx ", "line 2: expected <mvnx>, got <x>"),
    ],
)
def test_what_is_wrong_is_said(old, new, message, truth, put):
    text = mvnx_text(*truth, NAMES)
    assert old in text
    start = text.index('type="normal"') if old == "<position>" else 0
    text = text[:start] + text[start:].replace(old, new)
    with pytest.raises(FormatError, match=message):
        read(put(text))


@pytest.mark.parametrize("part", ["position", "orientation"])
def test_half_poses_are_refused(part, truth, put):
    with pytest.raises(FormatError, match=f"no {part}s of segments; export .* with {part}"):
        read(put(mvnx_text(*truth, NAMES, skip=(part,))))


def test_a_file_cut_short_is_refused(truth, put):
    text = mvnx_text(*truth, NAMES)
    with pytest.raises(FormatError, match=r"line .*not well-formed XML: no element found"):
        read(put(text[: len(text) // 2].rpartition("<frame")[0]))


def test_a_frame_that_lacks_a_part_is_refused(truth, put):
    text = mvnx_text(*truth, NAMES)
    head, _, tail = text.rpartition("<position>")
    with pytest.raises(FormatError, match=r"line \d+: this frame has no <position>"):
        read(put(head + tail.partition("</position>")[2]))


def test_entity_bombs_are_refused(truth, put):
    levels = "".join(f'<!ENTITY e{i + 1} "{f"&e{i};" * 10}">' for i in range(12))
    bomb = f'<!DOCTYPE mvnx [<!ENTITY e0 "lol">{levels}]>\n<mvnx'
    text = mvnx_text(*truth, NAMES).replace("<mvnx", bomb).replace("Ann", "&e12;")
    with pytest.raises(FormatError, match="document type declaration"):
        read(put(text))
