"""What a report shows besides the poses is looked for once, and what fails is said."""

from dataclasses import replace

import numpy as np
import pytest

from osteon import delivery, pipeline, synth
from osteon.pipeline import analyses, passports
from osteon.values import Take


@pytest.fixture(scope="module")
def solved():
    take = synth.perform(synth.human(), synth.walk(seconds=1, rate=60), noise=0.0005)
    return pipeline.solve(Take(recordings=(take.recording,)))[0]


def first_frames(motion, n):
    return replace(motion, rotations=motion.rotations[:n], root=motion.root[:n])


def test_a_delivery_and_its_passport_look_once(solved, tmp_path, monkeypatch):
    calls = []
    for name in ("limits", "make_skin_for", "normalise", "learn", "advise_motion"):
        known = getattr(analyses, name)

        def counted(*args, _name=name, _known=known, **options):
            calls.append(_name)
            return _known(*args, **options)

        monkeypatch.setattr(analyses, name, counted)
        if name == "limits":
            monkeypatch.setattr(passports, name, counted)
    shown = pipeline.analyse(solved.motion)
    delivery.deliver(solved, tmp_path, analyses=shown)
    pipeline.write_passports([solved], tmp_path, [shown])
    assert sorted(calls) == ["advise_motion", "learn", "limits", "make_skin_for", "normalise"]


def test_a_passport_is_the_same_whether_limits_are_known_or_not(solved, tmp_path):
    shown = pipeline.analyse(solved.motion)
    assert shown.judged is not None
    pipeline.write_passports([solved], tmp_path / "known", [shown])
    pipeline.write_passports([solved], tmp_path / "alone")
    known, alone = (tmp_path / each / "passport.json" for each in ("known", "alone"))
    assert known.read_bytes() == alone.read_bytes()


def test_of_a_long_motion_a_passport_looks_itself(solved):
    motion = solved.motion
    n = analyses.ENOUGH_FRAMES // 2 + 1
    again = np.arange(n) % motion.n_frames
    long = replace(motion, rotations=motion.rotations[again], root=motion.root[again])
    shown = pipeline.analyse(long, advise=False)
    assert shown.judged is None and shown.seen.bodies[1].joint.limits is not None


def test_what_cannot_be_found_is_said_on_the_page(solved, tmp_path):
    short = first_frames(solved.motion, 3)
    shown = pipeline.analyse(short)
    (problem,) = shown.problems
    assert "limits of joints cannot be shown" in problem and "need 9 frames or more" in problem
    delivery.show(short, tmp_path)
    assert "limits of joints cannot be shown" in (tmp_path / "report.html").read_text("utf-8")
