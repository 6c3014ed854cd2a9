"""What is found in a take, and the edits that mend it or keep it as it is."""

from dataclasses import replace

import numpy as np
import pytest

import osteon as ost
from osteon import synth
from osteon.edits import (
    Draft,
    Ease,
    Edits,
    Finding,
    KeepFinding,
    MotionDraft,
    RecordingId,
    SetPlant,
    SwapLabels,
    find_gaps,
    pops_and_slides,
    repaired_samples,
    solve_edited,
    suspicious_samples,
)
from osteon.edits.findings import right_samples
from osteon.maths import quat
from osteon.values import Motion, Recording, Swap, Take

SWAPPED, SPIKE = (60, 69), 120


@pytest.fixture(scope="module")
def actor():
    return synth.perform(synth.human(), synth.walk(seconds=2), noise=0.001, seed=4)


@pytest.fixture(scope="module")
def broken(actor) -> Recording:
    """Two labels exchanged for ten frames, and a sample 14 cm off."""
    recording = actor.recording
    positions = np.array(recording.positions)
    pair = [recording.index("LWRA"), recording.index("LWRB")]
    frames = slice(SWAPPED[0], SWAPPED[1] + 1)
    positions[frames, pair] = positions[frames, pair[::-1]]
    positions[SPIKE, recording.index("RKNE")] += [0.0, 0.1, 0.1]
    return Recording(positions, recording.names, recording.rate)


def test_what_is_wrong_is_found_and_mended_by_its_own_edits(broken, actor):
    swap, spike = suspicious_samples(broken)
    assert swap == Finding("swap", ("LWRA", "LWRB"), *SWAPPED)
    assert spike == Finding("spike", ("RKNE",), SPIKE, SPIKE)
    draft = Draft(broken, [swap.mending(), spike.mending()])  # type: ignore[list-item]
    assert suspicious_samples(draft.recording()) == []
    [gap] = find_gaps(broken.names, draft.recording().seen)
    assert gap == Finding("gap", ("RKNE",), SPIKE, SPIKE)
    draft.apply(gap.mending())  # type: ignore[arg-type]
    mended, truth = draft.recording(), actor.recording.positions
    # one frame of a smooth path between samples with 1 mm of noise
    np.testing.assert_allclose(mended.positions, truth, atol=0.01)
    assert not mended.measured[SPIKE, mended.index("RKNE")]


@pytest.mark.parametrize("kept", [(), ("swap", "spike")])
def test_a_solve_repairs_what_nobody_has_refused(broken, kept):
    refused = [f.keeping() for f in suspicious_samples(broken) if f.kind in kept]
    edits = Edits(RecordingId("", ""), tuple(refused))
    solved = solve_edited(Take(recordings=(broken,)), edits)
    found = repaired_samples(broken, solved)
    assert [each.kind for each in found] == [k for k in ("swap", "spike") if k not in kept]
    assert all(each.mended for each in found)
    swaps = [event.frames for event in solved.events if isinstance(event, Swap)]
    assert swaps == ([] if "swap" in kept else [SWAPPED])


def test_labels_exchanged_by_hand_are_not_put_back(actor):
    """A person may know better than a rule: the next solve leaves them."""
    swap = SwapLabels("LWRA", "LWRB", *SWAPPED)
    take = Take(recordings=(actor.recording,))
    solved = solve_edited(take, Edits(RecordingId("", ""), (swap,)))
    assert solved.events == ()
    assert right_samples([swap]) == ((("LWRA", "LWRB"), *SWAPPED),)
    assert right_samples([KeepFinding("gap", ("LTHI",), 3, 9)]) == ()


def test_the_last_answer_counts():
    swap = Finding("swap", ("A", "B"), 3, 9)
    assert swap.answer([]) is None
    assert swap.answer([swap.keeping()]) == swap.keeping()
    assert swap.answer([swap.keeping(), swap.mending()]) == swap.mending()
    slide = Finding("slide", ("foot",), 3, 9, 0.02)
    made = SetPlant("foot", 3, 9, on=True, found=False)
    assert slide.answer([made]) == slide.mending()
    assert slide.answer([SetPlant("foot", 3, 9, on=False)]) is None


def test_a_pop_is_found_and_turned_evenly(actor):
    truth = actor.truth.motion
    body = truth.skeleton.index("left_forearm")
    rotations = np.array(truth.rotations)
    jump = quat.exp(np.array([0.0, 0.0, np.radians(60.0)]))
    rotations[100:103, body] = quat.multiply(rotations[100:103, body], jump)
    popped = replace(truth, rotations=rotations)
    assert pops_of(truth) == []
    [pop] = pops_of(popped)
    assert pop[:4] == ("pop", ("left_forearm",), 100, 103)  # the frames that it has jumped to
    assert np.degrees(pop.size or 0.0) == pytest.approx(60.0, abs=5.0)  # an arm swings meanwhile
    draft = MotionDraft(popped)
    patch = draft.apply(pop.mending())  # type: ignore[arg-type]
    assert (patch.first, patch.last) == (94, 109)
    assert pops_of(draft.motion()) == []
    off = quat.angle(quat.between(truth.rotations[:, body], draft.motion().rotations[:, body]))
    # a walking forearm turns by 100° a second at most, and hardly bends its course in an eighth
    assert np.degrees(off).max() < 3.0
    others = np.delete(draft.motion().rotations, body, axis=1)
    assert np.array_equal(others, np.delete(rotations, body, axis=1))


def pops_of(motion: Motion) -> list[Finding]:
    return [each for each in pops_and_slides(motion) if each.kind == "pop"]


def test_a_foot_that_slides_is_found_and_planted(actor):
    """The root goes 15 % farther than the legs do: every step slides."""
    truth = actor.truth.motion
    stretched = replace(truth, root=truth.root * [1.15, 1.15, 1.0])
    slides = [each for each in pops_and_slides(stretched) if each.kind == "slide"]
    assert [each for each in pops_and_slides(truth) if each.kind == "slide"] == []
    assert {name for each in slides for name in each.names} == {"left_foot", "right_foot"}
    worst = max(slides, key=lambda each: each.size or 0.0)
    draft = MotionDraft(stretched)
    draft.apply(worst.mending())  # type: ignore[arg-type]
    left = [
        each.size or 0.0
        for each in pops_and_slides(draft.motion())
        if each.names == worst.names and each.first < worst.last and worst.first < each.last
    ]
    assert max(left, default=0.0) < 0.5 * (worst.size or 0.0)


def test_an_even_turn_is_refused_where_there_are_no_frames(actor):
    with pytest.raises(ost.errors.BadValue, match="frames must lie in"):
        MotionDraft(actor.truth.motion).apply(Ease("left_hand", 3, 10_000))
