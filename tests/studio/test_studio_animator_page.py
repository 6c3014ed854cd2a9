"""What an animator does in the studio: findings answered, limbs pulled, pins, curves of joints,
characters in their own mesh, exports; by mouse and keyboard in a real browser."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import osteon as ost
from characters import mixamo_like
from chrome import studio
from glb_files import parts
from osteon import synth
from osteon.maths import quat
from osteon.values import Take

pytest_plugins = ["browser"]

READY = "body[data-ready]"
PATIENCE = 120_000
"""Milliseconds for a solve on a busy machine that also has to compile its kernels."""
SWAPPED, SPIKE, GAP = (60, 69), 120, (150, 159)
"""Frames of the walk in which labels are exchanged, one sample flies off, and some are missing."""


@pytest.fixture(scope="module")
def walk(tmp_path_factory) -> Path:
    """A walk with one swap, one spike and one gap; beside it a character with a mesh of its own."""
    folder = tmp_path_factory.mktemp("animator")
    actor = synth.perform(synth.human(), synth.walk(seconds=2), noise=0.001, seed=4)
    recording = actor.recording
    positions = np.array(recording.positions)
    pair = [recording.index("LWRA"), recording.index("LWRB")]
    frames = slice(SWAPPED[0], SWAPPED[1] + 1)
    positions[frames, pair] = positions[frames, pair[::-1]]
    positions[SPIKE, recording.index("RKNE")] += [0.0, 0.1, 0.1]
    positions[GAP[0] : GAP[1] + 1, recording.index("LTHI")] = np.nan
    broken = ost.Recording(positions, recording.names, recording.rate)
    ost.write(Take(recordings=(broken,)), folder / "walk.c3d")
    mixamo_like(folder / "hero.glb", spread=0.6)
    exercise = synth.exercise(seconds=4, rate=60)
    ost.write(synth.sense(synth.linkage(), exercise, seed=1).bodies, folder / "sensors.csv")
    return folder / "walk.c3d"


@pytest.fixture(scope="module")
def window(stay, walk) -> Iterator:
    with studio(walk) as address:
        seen = stay(address)
        seen.page.wait_for_selector(READY)
        yield seen


def rows(page, kind: str):
    page.get_by_role("tab", name="Findings").click()
    return page.locator(f".finding-list li[data-kind={kind}]")


def solve(page) -> None:
    page.get_by_role("button", name="Solve").first.click()
    page.wait_for_function(
        "() => { const {solved, stale} = window.osteonStudio.session.state;"
        " return solved && !stale }",
        timeout=PATIENCE,
    )


def edits(page) -> list[dict]:
    return page.evaluate("() => window.osteonStudio.session.state.edits")


def wait_for_edits(page, count: int) -> None:
    page.wait_for_function(
        "(n) => window.osteonStudio.session.state.edits.length === n", arg=count, timeout=30_000
    )


def test_swaps_spikes_and_gaps_are_rows_before_anything_is_solved(window):
    page = window.page
    page.get_by_role("tab", name="Findings").click()
    page.get_by_role("button", name="Look for problems").click()
    rows(page, "swap").first.wait_for(timeout=PATIENCE)
    assert rows(page, "swap").count() == rows(page, "spike").count() == 1
    assert rows(page, "gap").count() == 1
    assert "LWRA and LWRB exchanged" in rows(page, "swap").inner_text()
    rows(page, "swap").locator(".look").click()
    selected = page.evaluate("() => window.osteonStudio.frames.selection")
    assert selected == {"first": SWAPPED[0], "last": SWAPPED[1]}
    assert SWAPPED[0] <= page.evaluate("() => window.osteonStudio.player.frame") <= SWAPPED[1]
    shown = page.evaluate("() => window.osteonStudio.chosen.markers.map((i) =>"
                          " window.osteonStudio.session.side.markers[i].name)")  # fmt: skip
    assert sorted(shown) == ["LWRA", "LWRB"]


def test_a_refused_swap_stays_and_an_accepted_spike_is_cut(window):
    """The solve would exchange the labels and take the spike out by itself."""
    page = window.page
    rows(page, "swap").get_by_role("button", name="Refuse").click()
    page.locator(".finding-list li[data-kind=swap][data-state=refused]").wait_for()
    rows(page, "spike").get_by_role("button", name="Accept").click()
    page.locator(".finding-list li[data-kind=spike][data-state=accepted]").wait_for()
    assert [edit["edit"] for edit in edits(page)] == ["keep", "cut"]
    solve(page)
    refused = page.locator(".finding-list li[data-kind=swap][data-state=refused]")
    assert refused.count() == rows(page, "swap").count() == 1
    spans = page.evaluate("() => window.osteonStudio.session.spans.map((span) => span.kind)")
    assert "swap" not in spans
    refused.get_by_role("button", name="Accept").click()  # a second thought
    page.locator(".finding-list li[data-kind=swap][data-state=accepted]").wait_for()
    page.keyboard.press("Control+z")
    wait_for_edits(page, 2)
    page.locator(".finding-list li[data-kind=swap][data-state=refused]").wait_for()


def test_a_pop_is_turned_evenly_by_its_row(window):
    """The labels that stay exchanged turn the hand there and back at once."""
    page = window.page
    pop = rows(page, "pop").filter(has_text="left hand").first
    pop.get_by_role("button", name="Accept").click()
    wait_for_edits(page, 3)
    assert edits(page)[-1]["edit"] == "ease" and edits(page)[-1]["body"] == "left_hand"
    page.locator(".finding-list li[data-kind=pop][data-state=accepted]").wait_for()
    page.keyboard.press("Control+z")
    wait_for_edits(page, 2)


def test_a_gap_is_filled_by_its_row_and_drawn_unlike_what_was_measured(window):
    page = window.page
    rows(page, "gap").filter(has_text="LTHI").locator(".look").click()
    rows(page, "gap").filter(has_text="LTHI").get_by_role("button", name="Accept").click()
    wait_for_edits(page, 3)
    last = edits(page)[-1]
    assert (last["edit"], last["first"], last["last"]) == ("fill", *GAP)
    page.wait_for_function(DRAWN_FILLED)
    drawn = page.evaluate(DRAWN_FILLED)
    assert drawn == list(range(GAP[0] - 1, GAP[1] + 2))  # with a neighbour on either side
    index = page.evaluate("() => window.osteonStudio.chosen.markers[0]")
    filled = "([f, i]) => window.osteonStudio.session.side.isFilled(f, i)"
    page.wait_for_function(filled, arg=[GAP[0], index])
    assert not page.evaluate(filled, [GAP[0] - 1, index])
    page.get_by_role("tab", name="Markers").click()
    assert page.get_by_text("filled in").locator("..").inner_text().endswith("4.2 %")  # 10 of 240


DRAWN_FILLED = """() => { const {plots, window: shown} = window.osteonStudio.curves.plots;
  const [frames, , , filled] = plots[0].data; void shown;
  const drawn = frames.filter((_, k) => Number.isFinite(filled[k] ?? NaN));
  return drawn.length > 0 ? drawn : null }"""


def test_a_pulled_hand_takes_its_arm_along_and_not_the_trunk(window):
    page = window.page
    solve(page)
    page.get_by_role("slider", name="Frame").fill("100")
    before = turns(page)
    pull(page, "left_hand", "pull the left hand", 40, -60)
    wait_for_edits(page, 4)
    turned = turned_by(page, before)
    assert {"left_forearm", "left_upper_arm"} & turned
    assert turned <= {"left_clavicle", "left_upper_arm", "left_forearm", "left_hand"}
    page.locator(".inspector .field", has_text="turns").locator("select").select_option("body")
    pull(page, "left_hand", "pull the left hand", 40, -60)
    wait_for_edits(page, 5)
    assert turned_by(page, before) & {"spine", "chest"}
    page.locator(".inspector .field", has_text="turns").locator("select").select_option("limb")
    for left in (4, 3):
        page.keyboard.press("Control+z")
        wait_for_edits(page, left)


def test_pinned_feet_stay_while_the_pelvis_is_pulled_down(window):
    page = window.page
    page.get_by_role("slider", name="Frame").fill("100")
    for foot in ("left_foot", "right_foot"):
        choose(page, foot)
        page.keyboard.press("p")
    assert "left foot, right foot" in page.locator(".pins").inner_text()
    before = joints(page)
    pull(page, "pelvis", "pull the pelvis", 0, 25)
    wait_for_edits(page, 4)
    assert sorted(edits(page)[-1]["pins"]) == ["left_foot", "right_foot"]
    moved = {name: np.linalg.norm(np.subtract(now, before[name])) for name, now in
             joints(page).items()}  # fmt: skip
    assert moved["pelvis"] > 0.02
    # solved to a tenth of a millimetre, shown with single precision
    assert moved["left_foot"] < 1e-3 and moved["right_foot"] < 1e-3
    page.keyboard.press("Control+z")
    wait_for_edits(page, 3)
    for foot in ("left_foot", "right_foot"):
        choose(page, foot)
        page.get_by_role("button", name="Unpin").click()


def test_limits_found_later_leave_a_pose_edit_as_it_is(window):
    """Limits are found in the take as it was solved; poses made before stay as they were made."""
    page = window.page
    page.get_by_role("slider", name="Frame").fill("100")
    pull(page, "left_hand", "pull the left hand", 40, -60)
    wait_for_edits(page, 4)
    before, made = turns(page), edits(page)
    choose(page, "left_upper_arm")
    page.get_by_role("button", name="Find limits").click()
    page.get_by_label("swing, first, degrees").wait_for(timeout=PATIENCE)
    assert edits(page) == made
    assert turned_by(page, before) == set()
    page.keyboard.press("Control+z")
    wait_for_edits(page, 3)


def choose(page, body: str) -> None:
    page.get_by_role("tab", name="Bodies").click()
    page.locator(f".row[data-body={body}]").click()


def pull(page, body: str, label: str, right: float, down: float) -> None:
    choose(page, body)
    page.keyboard.press("f")
    at = page.evaluate(
        "(label) => { const {view} = window.osteonStudio, {handles, object} = view.handles;"
        " const index = handles.findIndex((handle) => handle.label.startsWith(label));"
        " return view.onScreen(object.children[index].position) }",
        label,
    )
    page.mouse.move(at["x"], at["y"])
    page.mouse.down()
    page.mouse.move(at["x"] + right / 2, at["y"] + down / 2)
    page.mouse.move(at["x"] + right, at["y"] + down)
    page.mouse.up()


POSE = """async (what) => { const {session, view} = window.osteonStudio, {side} = session;
  await side[what].queue; const depth = what === "turned" ? 4 : 3, row = side[what].at(view.frame);
  return Object.fromEntries(side.rig.bodies.map(({name}, i) =>
    [name, [...row.subarray(depth * i, depth * i + depth)]])) }"""


def joints(page) -> dict[str, list[float]]:
    page.wait_for_function("() => window.osteonStudio.session.posed === null")
    return page.evaluate(POSE, "joints")


def turns(page) -> dict[str, np.ndarray]:
    """Body → its turn to its parent, in the frame that is shown."""
    page.wait_for_function("() => window.osteonStudio.session.posed === null")
    world = {name: np.array(turn) for name, turn in page.evaluate(POSE, "turned").items()}
    bodies = page.evaluate("() => window.osteonStudio.session.side.rig.bodies")
    parents = {body["name"]: body["parent"] for body in bodies}
    names = [body["name"] for body in bodies]
    return {
        name: quat.multiply(quat.inverse(world[names[parents[name]]]), turn)
        if parents[name] >= 0
        else turn
        for name, turn in world.items()
    }


def turned_by(page, before: dict[str, np.ndarray]) -> set[str]:
    """Bodies that turn otherwise than before, by more than what single precision leaves."""
    return {
        name
        for name, turn in turns(page).items()
        if np.degrees(quat.angle(quat.between(before[name], turn))) > 0.1
    }


def test_a_joints_angles_stand_beside_the_markers_curves(window):
    page = window.page
    choose(page, "left_shin")
    page.wait_for_function("() => window.osteonStudio.curves.plots.angles?.values.length === 720")
    drawn = page.locator(".plot:visible").evaluate_all("all => all.map((p) => p.dataset.channel)")
    assert drawn == ["x", "y", "z", "joint"]
    told = page.evaluate("() => [...window.osteonStudio.curves.plots.angles.values]")
    side = "window.osteonStudio.session.side"
    bodies = page.evaluate(f"() => {side}.rig.bodies.map((body) => body.name)")
    answer = page.evaluate(
        "async () => { const token = new URL(location).searchParams.get('token') ?? '';"
        " const {session} = window.osteonStudio; void session;"
        " const reply = await fetch(`/api/arrays/rotations?token=${token}`);"
        " return [...new Float32Array(await reply.arrayBuffer())] }"
    )
    rotations = np.array(answer).reshape(240, len(bodies), 4)[:, bodies.index("left_shin")]
    rebuilt = ost.maths.euler.to_quat(np.array(told).reshape(240, 3), "xyz")
    assert np.degrees(quat.angle(quat.between(rotations, rebuilt))).max() < 0.01  # single precision
    page.get_by_label("joint", exact=True).uncheck()
    assert page.locator(".plot[data-channel=joint]").is_hidden()
    page.get_by_label("joint", exact=True).check()


def test_markers_of_the_model_stand_beside_the_recorded_ones(window):
    page = window.page
    page.get_by_label("model").check()
    away = page.evaluate(
        "() => { const {view, session} = window.osteonStudio;"
        " const {model, recorded} = view.stage.layers.get('virtual');"
        " const a = view.stage.controls.target.clone(), b = a.clone();"
        " return session.side.markers.map(({name}, i) => model.read(view.frame, i, a) &&"
        " recorded.read(view.frame, i, b) ? [name, a.distanceTo(b)] : [name, null]) }"
    )
    assert page.evaluate(
        "() => window.osteonStudio.view.stage.layers.get('virtual').object.visible"
    )
    known = [far for _, far in away if far is not None]
    assert len(known) > 35  # of 41; what is not seen in the frame has no line
    assert np.median(known) < 0.01  # noise of 1 mm, and joints that a walk shows vaguely
    page.get_by_label("model").uncheck()


def test_a_character_is_moved_in_its_own_mesh_and_comes_out_itself(window, walk):
    page = window.page
    own = len(ost.formats.read_glb_mesh(walk.with_name("hero.glb")).mesh.vertices)
    page.get_by_role("button", name="Character").click()
    page.locator("dialog").get_by_role("button", name="hero.glb").click()
    page.get_by_role("button", name="Move it", exact=True).click()
    page.wait_for_function(
        "(n) => { const {view} = window.osteonStudio, figure = view.stage.layers.get('figure');"
        " return figure?.object.visible &&"
        " figure.object.geometry.attributes.position.count === n }",
        arg=own,
        timeout=PATIENCE,
    )
    page.get_by_role("button", name="Close", exact=True).first.click()
    page.wait_for_function("() => window.osteonStudio.session.side.joints.complete")
    low, high = page.evaluate(
        "() => { const {view} = window.osteonStudio, figure = view.stage.layers.get('figure');"
        " const zs = []; figure.extend(view.frame, {expandByPoint: (at) =>"
        " zs.push(at.z)}); return [Math.min(...zs), Math.max(...zs)] }"
    )
    # the character is 1.76 m high, and walks; every 23rd corner of its mesh was looked at
    assert -0.1 < low < 0.3 and 1.2 < high - low < 1.8
    page.get_by_role("button", name="Export", exact=True).click()
    page.get_by_role("button", name="Write files").click()
    page.get_by_role("link", name="motion.glb").wait_for(timeout=PATIENCE)
    page.keyboard.press("Escape")
    given, _ = parts(walk.with_name("hero.glb"))
    written, _ = parts(walk.with_name("walk-rig") / "motion.glb")
    assert [animation["name"] for animation in written["animations"]] == ["walk"]
    assert written["meshes"] == given["meshes"] and written["skins"] == given["skins"]


def test_export_writes_names_fbx_angles_and_cleaned_markers(window, walk):
    page = window.page
    solve(page)
    page.get_by_role("button", name="Export", exact=True).click()
    page.get_by_label(".fbx").check()
    page.get_by_label("bone names").select_option("mixamo")
    page.get_by_label("BVH in").select_option("m")
    page.get_by_label("BVH with").select_option("z")
    page.get_by_label("joint angles").select_option("isb")
    page.get_by_label("cleaned markers").check()
    page.get_by_role("button", name="Write files").click()
    page.get_by_role("link", name="motion.fbx").wait_for(timeout=PATIENCE)
    page.keyboard.press("Escape")
    folder = walk.with_name("walk-rig")
    for file in ("motion.bvh", "motion.fbx", "motion.glb"):
        assert any("LeftForeArm" in name for name in ost.read(folder / file).skeleton().names), file
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["bvh"] == {"unit": "m", "up": "z"}
    assert (folder / "angles.csv").exists()
    assert "LTHI_model" in ost.read(folder / "markers.c3d").recording().names
    assert window.errors == [] and not window.strangers


def test_sensors_are_opened_and_their_joints_found(window):
    page = window.page
    page.get_by_role("button", name="Open", exact=True).click()
    page.locator("dialog").get_by_role("button", name="sensors.csv").click()
    page.get_by_role("tab", name="Sensors").wait_for()
    has = "(name) => window.osteonStudio.view.stage.has(name)"
    assert page.evaluate(has, "sensors") and not page.evaluate(has, "skeleton")
    assert page.get_by_role("button", name="Fill").is_disabled()
    solve(page)
    page.wait_for_function(has, arg="skeleton")
    names = page.evaluate("() => window.osteonStudio.session.side.markers.map((m) => m.name)")
    bodies = page.evaluate("() => window.osteonStudio.session.side.rig.bodies.map((b) => b.name)")
    assert sorted(names) == sorted(bodies)
    assert window.errors == []


def test_the_page_with_all_of_it_has_no_serious_fault(window):
    page = window.page
    page.get_by_role("tab", name="Findings").click()
    assert window.faults() == []
