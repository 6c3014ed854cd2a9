"""The studio in a real browser: the whole loop by mouse and keyboard, its result read in Python."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import osteon as ost
from chrome import serving, studio
from osteon import synth
from osteon.values import Mark, Take

pytest_plugins = ["browser"]

READY = "body[data-ready]"
PATIENCE = 120_000
"""Milliseconds for a solve on a busy machine that also has to compile its kernels."""


def performance(folder: Path, seconds: float = 4) -> Path:
    script = synth.sequence(synth.walk(seconds=2), synth.exercise(seconds=seconds))
    take = synth.perform(synth.human(), script, noise=0.001, seed=3).recording
    path = folder / "take.c3d"
    ost.write(Take(recordings=(take,)), path)
    return path


@pytest.fixture(scope="module")
def take(tmp_path_factory) -> Path:
    return performance(tmp_path_factory.mktemp("studio"))


@pytest.fixture(scope="module")
def address(take) -> Iterator[str]:
    with studio(take) as where:
        yield where


@pytest.fixture(scope="module")
def window(stay, address):
    seen = stay(address)
    seen.page.wait_for_selector(READY)
    return seen


def has_edits(page, count: int) -> None:
    """Waits until the page lists so many edits."""
    from playwright.sync_api import expect

    expect(page.locator(".edits li")).to_have_count(count, timeout=30_000)


def choose_marker(page, name: str) -> None:
    page.get_by_role("tab", name="Markers").click()
    page.get_by_label("Find a marker").fill(name)
    page.locator(f"#panel-markers li[data-name='{name}']").click()


def select_frames(page, start: float, end: float) -> tuple[int, int]:
    """Drags over the curves, from one share of their width to another; the frames selected."""
    area = page.locator(".over").bounding_box()
    y = area["y"] + area["height"] / 2
    page.mouse.move(area["x"] + start * area["width"], y)
    page.mouse.down()
    page.mouse.move(area["x"] + end * area["width"], y, steps=4)
    page.mouse.up()
    first, last = page.locator(".range").inner_text().split(" ")[0].split("–")
    return int(first), int(last)


def handle_on_screen(page, label: str) -> tuple[float, float]:
    """Where a handle of the chosen body is, by what it says when the mouse is over it."""
    at = page.evaluate(
        "(label) => { const {view} = window.osteonStudio, {handles, object} = view.handles;"
        " const index = handles.findIndex((handle) => handle.label.startsWith(label));"
        " return view.onScreen(object.children[index].position) }",
        label,
    )
    return at["x"], at["y"]


def pull(page, handle: str, right: float, down: float) -> None:
    x, y = handle_on_screen(page, handle)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + right / 2, y + down / 2)
    page.mouse.move(x + right, y + down)
    page.mouse.up()


def solve(page) -> None:
    page.get_by_role("button", name="Solve", exact=True).click()
    page.get_by_role("button", name="Solve again").wait_for(timeout=PATIENCE)
    page.locator(".work").wait_for(state="hidden", timeout=PATIENCE)


def drag_hand(page) -> dict[str, list[float]]:
    """Pulls the left hand up and to the side in the frame that is shown; what the edit says."""
    page.get_by_role("tab", name="Bodies").click()
    page.locator("[data-body=left_hand]").click()
    pull(page, "pull the left hand", 30, -30)
    has_edits(page, 3)
    return page.evaluate("() => window.osteonStudio.session.state.edits.at(-1).targets")


def test_the_whole_loop_by_mouse_and_keyboard(window, take):
    page = window.page
    choose_marker(page, "LFIN")
    first, last = select_frames(page, 0.30, 0.34)
    page.keyboard.press("Delete")
    has_edits(page, 1)
    page.get_by_label("How to fill").select_option("rigid")
    page.get_by_role("button", name="Fill").click()
    has_edits(page, 2)
    page.keyboard.press("Control+z")
    has_edits(page, 1)
    page.keyboard.press("Control+Shift+Z")
    has_edits(page, 2)
    solve(page)
    page.keyboard.press("Home")
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    targets = drag_hand(page)
    page.keyboard.press("Control+e")
    page.get_by_role("button", name="Write files").click()
    page.get_by_role("link", name="motion.bvh").wait_for(timeout=PATIENCE)
    page.keyboard.press("Escape")
    assert window.errors == [] and not window.strangers
    check_edits(take, first, last)
    check_motion(take, targets)


def check_edits(take: Path, first: int, last: int) -> None:
    """The file beside the recording says what was done, and the recording is untouched."""
    from osteon.edits.edits_json import edits_path, read_edits

    edits = read_edits(edits_path(take), take).edits
    assert [type(edit).__name__ for edit in edits] == ["Cut", "Fill", "SetPose"]
    assert (edits[0].first, edits[0].last) == (edits[1].first, edits[1].last) == (first, last)
    assert edits[0].markers == edits[1].markers == ("LFIN",)
    assert edits[1].method == "rigid" and edits[2].frame == 5


def check_motion(take: Path, targets: dict[str, list[float]]) -> None:
    """In the BVH the hand is where the mouse put it, at that frame alone."""
    motion = ost.read(take.with_name("take-rig") / "motion.bvh").motion()
    turned, joints = motion.world()
    index = motion.skeleton.names.index("left_hand")
    tip = motion.skeleton.bodies[index].tip
    assert tip is not None
    from osteon.maths import quat

    arm = tip - motion.skeleton.bodies[index].joint.in_body
    place = joints[:, index] + quat.rotate(turned[:, index], arm)
    (name, target), *_ = targets.items()
    assert name == "left_hand tip"
    away = np.linalg.norm(place - target, axis=-1)
    # the pose is solved to a millimetre, and BVH angles are written with six digits
    assert away[5] < 0.003
    assert away[:200].argmin() == 5


def test_the_page_has_no_serious_fault(window):
    assert window.faults() == []
    for name in ("Open", "Export", "Solve settings", "Keys"):
        window.page.get_by_role("button", name=name, exact=True).click()
        assert window.faults() == [], name
        window.page.keyboard.press("Escape")


def test_reloading_keeps_everything(window):
    page = window.page
    page.reload()
    page.wait_for_selector(READY)
    has_edits(page, 3)
    assert page.get_by_role("button", name="Solve again").is_visible()


def test_the_camera_goes_along_unless_it_is_told_not_to(window):
    page = window.page
    page.keyboard.press("Home")
    start, away = looked_at(page)
    page.keyboard.press("End")
    page.wait_for_function(ROOT_IS_THERE)
    end, still_away = looked_at(page)
    walked = np.hypot(*np.subtract(end, start))
    assert walked > 0.3  # by the performer
    np.testing.assert_allclose(still_away, away, atol=1e-3)
    page.get_by_label("follow").uncheck()
    page.keyboard.press("Home")
    page.wait_for_function(ROOT_IS_THERE)
    _, left_behind = looked_at(page)
    assert np.hypot(*np.subtract(left_behind, away)) == pytest.approx(walked, abs=1e-3)
    page.get_by_label("follow").check()
    page.evaluate("() => window.osteonStudio.view.lookAtAll()")


ROOT_IS_THERE = """() => { const {view} = window.osteonStudio;
  return view.poses.place(view.frame, 0, view.stage.controls.target.clone()) }"""


def looked_at(page) -> tuple[list[float], list[float]]:
    """Where the root is on the floor, and how far from it the camera looks."""
    root, target = page.evaluate(
        "() => { const {view} = window.osteonStudio, {target} = view.stage.controls;"
        " const root = target.clone(); view.poses.place(view.frame, 0, root);"
        " return [[root.x, root.y], [target.x, target.y]] }"
    )
    return root, np.subtract(target, root).tolist()


def test_two_pages_see_each_others_edits(window, visit, address):
    page, other = window.page, visit(address).page
    other.wait_for_selector(READY)
    choose_marker(other, "RFIN")
    select_frames(other, 0.6, 0.62)
    other.get_by_role("button", name="Cut").click()
    has_edits(page, 4)
    has_edits(other, 4)
    page.keyboard.press("Control+z")
    has_edits(page, 3)
    has_edits(other, 3)


def test_an_edit_made_while_the_socket_is_closed_is_not_lost(window):
    page = window.page
    choose_marker(page, "LANK")
    select_frames(page, 0.5, 0.52)
    page.evaluate("() => window.osteonStudio.session.link.socket.close()")
    page.keyboard.press("Delete")
    has_edits(page, 4)
    page.keyboard.press("Control+z")
    has_edits(page, 3)


def test_foot_plants_are_drawn_and_removed(window):
    page = window.page
    lane = page.locator(".lane.plants").first
    bars = lane.locator(".plant")
    before = bars.count()
    area = lane.bounding_box()
    y = area["y"] + area["height"] / 2
    taken = [bar.bounding_box() for bar in bars.all()]
    x = max(box["x"] + box["width"] for box in taken) if taken else area["x"]
    right = area["x"] + area["width"]
    page.mouse.move(x + 0.3 * (right - x), y)
    page.mouse.down()
    page.mouse.move(x + 0.6 * (right - x), y, steps=4)
    page.mouse.up()
    has_edits(page, 4)
    assert bars.count() == before + 1
    bars.last.focus()
    page.keyboard.press("Delete")
    has_edits(page, 5)
    assert bars.count() == before
    page.keyboard.press("Control+z")
    page.keyboard.press("Control+z")
    has_edits(page, 3)


def test_a_body_is_hung_on_another_by_dragging_it_in_the_tree(window):
    page = window.page
    page.get_by_role("tab", name="Bodies").click()
    hand = page.locator("[data-body=right_hand]").bounding_box()
    chest = page.locator("[data-body=chest]").bounding_box()
    page.mouse.move(hand["x"] + 30, hand["y"] + 8)
    page.mouse.down()
    page.mouse.move(hand["x"] + 30, hand["y"] - 20)
    page.mouse.move(chest["x"] + 30, chest["y"] + 8, steps=3)
    page.mouse.up()
    has_edits(page, 4)
    assert last_edit(page) == {"edit": "parent", "body": "right_hand", "parent": "chest"}
    under_chest = "[role=treeitem]:has(> [data-body=chest]) > ul > li > [data-body=right_hand]"
    page.locator(under_chest).wait_for(timeout=PATIENCE)  # solved again by itself
    page.keyboard.press("Control+z")
    has_edits(page, 3)
    page.locator(under_chest).wait_for(state="detached", timeout=PATIENCE)


def test_a_marker_is_assigned_by_clicking_it_and_then_a_body(window):
    page = window.page
    page.keyboard.press("a")
    choose_marker(page, "RFIN")
    page.get_by_role("tab", name="Bodies").click()
    page.locator("[data-body=right_forearm]").click()
    has_edits(page, 4)
    assert last_edit(page) == {"edit": "assign", "marker": "RFIN", "body": "right_forearm"}
    page.keyboard.press("Escape")
    page.keyboard.press("Control+z")
    has_edits(page, 3)


def test_filter_and_swap_change_what_they_say(window):
    page = window.page
    choose_marker(page, "LKNE")
    first, last = select_frames(page, 0.2, 0.3)
    before = samples(page, "LKNE", first, last)
    page.get_by_role("button", name="Filter").click()
    has_edits(page, 4)
    calm = samples(page, "LKNE", first, last)
    assert 0.0 < np.abs(calm - before).max() < 0.02  # 1 mm of noise and no more taken away
    partner = samples(page, "RKNE", first, last)
    page.get_by_label("swap with").select_option("RKNE")
    page.get_by_role("button", name="Swap").click()
    has_edits(page, 5)
    assert last_edit(page) == {"edit": "swap", "a": "LKNE", "b": "RKNE"} | {
        "first": first,
        "last": last,
    }
    assert np.array_equal(samples(page, "LKNE", first, last), partner)
    assert np.array_equal(samples(page, "RKNE", first, last), calm)
    for left in (4, 3):
        page.keyboard.press("Control+z")
        has_edits(page, left)
    assert np.array_equal(samples(page, "LKNE", first, last), before)


def samples(page, marker: str, first: int, last: int) -> np.ndarray:
    """(n, 3) What the page holds of a marker, once it holds what the server says."""
    page.wait_for_function("() => window.osteonStudio.session.side.points.complete")
    page.evaluate("() => window.osteonStudio.session.side.points.queue")
    return np.array(
        page.evaluate(
            "([marker, first, last]) => { const {points, markers} ="
            " window.osteonStudio.session.side;"
            " const at = 3 * markers.findIndex((each) => each.name === marker);"
            " const row = (frame) => [...points.at(frame).subarray(at, at + 3)];"
            " return Array.from({length: last - first + 1}, (_, i) => row(first + i)) }",
            [marker, first, last],
        )
    )


def test_a_pose_is_made_by_the_slider_of_a_movement_axis(window):
    page = window.page
    page.get_by_role("tab", name="Bodies").click()
    page.locator("[data-body=left_shin]").click()
    page.get_by_role("button", name="Find movement axes").click()
    slider = page.locator(".sliders input").first
    slider.wait_for(timeout=PATIENCE)
    page.keyboard.press("Home")
    # the slider shows the frame's own angle once that has come
    page.wait_for_function("() => document.querySelector('.sliders output').textContent")
    began = float(slider.input_value())
    slider.focus()
    for _ in range(10):
        page.keyboard.press("ArrowRight")
    has_edits(page, 4 + 9)  # each press of a key is an edit of its own
    edit = last_edit(page)
    (name, value), *rest = edit["parameters"].items()
    assert (edit["edit"], edit["frame"], rest) == ("pose", 0, [])
    assert name.startswith("left_shin.") and value > began
    for left in range(12, 2, -1):
        page.keyboard.press("Control+z")
        has_edits(page, left)


def test_the_door_of_the_studio_leads_to_its_page(visit, address, monkeypatch):
    from threading import Event

    from osteon.studio.server import open_in_browser

    started: list[str] = []
    monkeypatch.setattr("webbrowser.open", started.append)
    entered = Event()
    open_in_browser(address, entered)
    seen = visit(started[0])
    seen.page.wait_for_selector(READY)
    assert seen.page.url == address and seen.errors == []
    entered.set()


def test_a_dropped_file_opens(visit, take, tmp_path):
    """In a studio of its own: the others look at theirs."""
    import base64

    other = performance(tmp_path)
    with studio(other) as where:
        seen = visit(where)
        page = seen.page
        page.wait_for_selector(READY)
        page.evaluate(
            "([name, text]) => { const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));"
            " const moved = new DataTransfer(); moved.items.add(new File([bytes], name));"
            " const drop = new DragEvent('drop', {dataTransfer: moved, bubbles: true,"
            " cancelable: true}); document.body.dispatchEvent(drop) }",
            ["dropped.c3d", base64.b64encode(take.read_bytes()).decode()],
        )
        page.wait_for_function(
            "() => window.osteonStudio.session.take?.path === 'dropped.c3d'", timeout=30_000
        )
        assert seen.errors == []
    assert (tmp_path / "dropped.c3d").read_bytes() == take.read_bytes()


def test_limits_are_set_by_their_handles(window):
    page = window.page
    page.get_by_role("tab", name="Bodies").click()
    page.locator("[data-body=left_upper_arm]").click()
    page.get_by_role("button", name="Find limits").click()
    field = page.get_by_label("swing, first, degrees")
    field.wait_for(timeout=PATIENCE)
    found = float(field.input_value())
    page.get_by_label("limits").check()
    x, y = handle_on_screen(page, "first half axis")
    joint = handle_on_screen(page, "pull the left upper arm's joint")
    pull(page, "first half axis", 0.3 * (x - joint[0]), 0.3 * (y - joint[1]))
    has_edits(page, 4)
    edit = last_edit(page)
    assert edit["body"] == "left_upper_arm" and edit["twist"] is None
    assert edit["swing"][0] != pytest.approx(found, abs=0.5)
    page.keyboard.press("Control+z")
    has_edits(page, 3)


def test_another_solve_stands_beside(window):
    page = window.page
    page.get_by_role("button", name="Compare").click()
    page.get_by_label("with the edits made here").uncheck()
    page.locator("dialog").get_by_role("button", name="Compare").click()
    page.locator(".views.two .view").nth(1).wait_for(timeout=PATIENCE)
    page.get_by_role("button", name="Stop comparing").click()
    assert page.locator(".view").count() == 1
    assert window.errors == []


def test_a_marker_is_glued_onto_a_character_by_dragging_it_over_its_surface(window):
    page = window.page
    page.get_by_role("button", name="Character").click()
    page.locator("dialog").get_by_role("button", name="take-rig/motion.bvh").click()
    page.get_by_role("button", name="Move it", exact=True).wait_for()
    choose_marker(page, "LKNE")
    page.get_by_text("LKNE: drag it to its place").wait_for(timeout=PATIENCE)
    at = page.evaluate(
        "() => { const {glue} = window.osteonStudio.area;"
        " return glue.onScreen(glue.cloud.places[glue.chosen]) }"
    )
    page.mouse.move(at["x"], at["y"])
    page.mouse.down()
    page.mouse.move(at["x"] - 3, at["y"] + 6, steps=3)
    page.mouse.up()
    has_edits(page, 4)
    edit = last_edit(page)
    assert (edit["edit"], edit["marker"], edit["character"]) == ("place", "LKNE", "motion.bvh")
    assert edit["body"] in ("left_thigh", "left_shin")
    page.get_by_role("button", name="Close", exact=True).click()
    page.keyboard.press("Control+z")
    has_edits(page, 3)
    assert window.errors == []


def last_edit(page) -> dict:
    return page.evaluate("() => window.osteonStudio.session.state.edits.at(-1)")


def test_on_a_phone_nothing_sticks_out(visit, address):
    page = visit(address, width=390, height=844, scheme="dark").page
    page.wait_for_selector(READY)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390


@pytest.fixture(scope="module")
def narrow(stay, tmp_path_factory):
    """A small screen; a take with gaps and a mark, beside files that are no takes."""
    folder = tmp_path_factory.mktemp("narrow")
    actor = synth.perform(synth.human(), synth.walk(seconds=2), noise=0.001, gaps=0.02, seed=4)
    marks = (Mark("Foot Strike", 0.5, "Left"),)
    recording = replace(actor.recording, marks=marks)
    ost.write(Take(recordings=(recording,)), folder / "a-walk-with-a-long-name-07.c3d")
    ost.write(actor.truth.skeleton, folder / "hero.glb")
    (folder / "summary.json").write_text("{}")
    with studio(folder / "a-walk-with-a-long-name-07.c3d") as where:
        seen = stay(where, width=1024, height=768)
        seen.page.wait_for_selector(READY)
        yield seen


BUSY = """() => window.osteonStudio.session.tell("progress", {type: "progress", stage: "solve",
  saying: "calibrating the performer of this take", fraction: 0.3})"""


@pytest.mark.parametrize("busy", [False, True])
@pytest.mark.parametrize("width", [821, 1024, 1366])
def test_every_button_of_the_bar_is_on_the_page(narrow, width, busy):
    page = narrow.page
    page.set_viewport_size({"width": width, "height": 768})
    page.evaluate("() => window.osteonStudio.session.tell('progress', null)")
    if busy:
        page.evaluate(BUSY)
    for button in page.locator(".top-bar button:visible").all():
        box = button.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= width, button.inner_text()
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    page.evaluate("() => window.osteonStudio.session.tell('progress', null)")
    page.set_viewport_size({"width": 1024, "height": 768})


def test_a_double_click_on_the_selection_shows_it(narrow):
    page = narrow.page
    frames = "() => { const {first, last} = window.osteonStudio.frames; return [first, last] }"
    whole = page.evaluate(frames)
    first, last = select_frames(page, 0.4, 0.5)
    area = page.locator(".over").bounding_box()
    y = area["y"] + area["height"] / 2
    page.mouse.dblclick(area["x"] + 0.45 * area["width"], y)
    shown = page.evaluate(frames)
    assert whole[0] < shown[0] <= first and last <= shown[1] < whole[1]
    assert page.locator(".range").inner_text().startswith(f"{first}–{last} ")
    page.mouse.dblclick(area["x"] + 0.95 * area["width"], y)
    assert page.evaluate(frames) == whole
    assert page.locator(".range").inner_text() == "drag to select frames"


def test_every_event_has_a_name(narrow):
    page = narrow.page
    spans = page.evaluate("() => window.osteonStudio.session.spans")
    events = page.locator(".event-names .event")
    assert events.count() == len(spans) > 1
    names = [event.get_attribute("aria-label") for event in events.all()]
    assert "mark: Left Foot Strike, frame 60" in names
    gaps = [name for name in names if name.startswith("gap: ")]
    assert gaps and all(" not seen, frame" in name for name in gaps)
    strike = page.get_by_label("mark: Left Foot Strike, frame 60").bounding_box()
    lane = page.locator(".event-strip").bounding_box()
    # in the middle of its frame: 60 of 0 … 239
    at = (strike["x"] + strike["width"] / 2 - lane["x"]) / lane["width"]
    assert at == pytest.approx(60 / 239, abs=0.01)
    page.mouse.move(strike["x"] + 1, strike["y"] + 5)
    page.mouse.move(strike["x"] + 1, strike["y"] + 6)
    under = "([x, y]) => document.elementFromPoint(x, y).title"
    title = page.evaluate(under, [strike["x"] + 1, strike["y"] + 6])
    assert "mark: Left Foot Strike, frame 60" in title
    page.evaluate("() => window.osteonStudio.player.seek(59)")
    page.keyboard.press(".")
    assert "mark: Left Foot Strike, frame 60" in page.locator(".notices").inner_text()


def test_problems_hide_no_lane_and_are_not_said_twice(narrow):
    page = narrow.page
    for name in ("a", "b", "c", "d", "d", "d"):
        message = {"type": "open", "path": f"{name}.c3d", "subject": ""}
        page.evaluate("(message) => window.osteonStudio.session.send(message)", message)
    page.get_by_text("there is no file 'd.c3d' in the folder (3 times)").wait_for()
    problems = page.locator(".notice.problem")
    assert problems.count() == 3
    view = page.locator(".views").bounding_box()
    for problem in problems.all():
        box = problem.bounding_box()
        assert view["y"] <= box["y"] and box["y"] + box["height"] <= view["y"] + view["height"]
    for _ in range(3):
        problems.get_by_role("button", name="Close").first.click()
    assert problems.count() == 0


def test_open_lists_what_can_be_opened(narrow):
    page = narrow.page
    page.get_by_role("button", name="Open", exact=True).click()
    assert page.locator("dialog .files li").all_inner_texts() == ["a-walk-with-a-long-name-07.c3d"]
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Character").click()
    assert page.locator("dialog .files li").all_inner_texts() == ["hero.glb"]
    page.keyboard.press("Escape")


def test_a_performer_on_stage_is_seen_moving(visit, take, tmp_path):
    """A known performer, so that the figure is there from the first frame on."""
    rig = take.with_name("take-rig") / "skeleton.json"  # the whole loop has written it
    long = performance(tmp_path, seconds=60)
    with serving("live", long, "--studio", "--skeleton", rig) as where:
        seen = visit(where)
        place = "() => { const pose = window.osteonStudio.session.livePose; return pose?.joints }"
        seen.page.wait_for_function(place, timeout=PATIENCE)
        first = np.array(seen.page.evaluate(place))
        seen.page.wait_for_timeout(500)
        later = np.array(seen.page.evaluate(place))
        assert first.shape == (len(ost.read(rig).skeleton().bodies), 3)
        assert np.linalg.norm(later - first, axis=-1).max() > 0.01  # half a second of exercise
        assert seen.errors == []
