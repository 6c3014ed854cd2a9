"""The report in a real browser, opened from disk."""

import base64
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from osteon import delivery, pipeline, synth
from osteon.cli import osteon
from osteon.formats import write
from osteon.values import Recording, Take

pytest_plugins = ["browser"]

READY = "body[data-ready]"
FEET = ("left_foot", "right_foot")
GREEN = """async (png) => {
  const picture = new Image();
  picture.src = "data:image/png;base64," + png;
  await picture.decode();
  const canvas = new OffscreenCanvas(picture.width, picture.height);
  const pen = canvas.getContext("2d");
  pen.drawImage(picture, 0, 0);
  const { data } = pen.getImageData(0, 0, picture.width, picture.height);
  let count = 0;
  for (let i = 0; i < data.length; i += 4) if (data[i + 1] > data[i] + 30) count++;
  return (4 * count) / data.length;
}"""
"""The share of a picture that is green, as markers are."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A short take with gaps and swaps, solved."""
    folder = tmp_path_factory.mktemp("report")
    script = synth.sequence(synth.walk(seconds=2), synth.exercise(seconds=6))
    take = synth.perform(synth.human(), script, noise=0.001, gaps=0.03, swaps=2, seed=3)
    solved = pipeline.solve(Take(recordings=(take.recording,)))[0]
    delivery.deliver(solved, folder, measured={"left_shin": 0.41})
    return folder


@pytest.fixture(scope="module")
def window(stay, folder):
    # the page's policy would stop the tests' own scripts as well
    seen = stay(folder / "report.html", bypass_csp=True)
    seen.page.wait_for_selector(READY)
    return seen


@pytest.fixture
def report(window):
    """The same page for all, back at its first frame."""
    window.page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
    window.page.keyboard.press("Home")
    window.page.keyboard.press("f")
    return window


def frame_of(page) -> int:
    """The frame the page says it shows."""
    return int(page.locator(".clock").inner_text().split()[1])


def pixels(page) -> bytes:
    """What the stage shows; waits for the next picture first."""
    page.evaluate(
        "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )
    return page.locator(".view canvas").screenshot()


def test_the_limb_table_needs_no_scrollbar(folder, visit):
    page = visit(folder / "report.html").page
    page.wait_for_selector(READY)
    for width in (1100, 1400, 1920):
        page.set_viewport_size({"width": width, "height": 900})
        box = page.locator(".limbs .scroller")
        hidden = "e => [e.scrollWidth - e.clientWidth, e.scrollHeight - e.clientHeight]"
        assert box.evaluate(hidden) == [0, 0]


def test_nothing_leaves_the_page_and_nothing_complains(folder, visit):
    seen = visit(folder / "report.html")
    seen.page.wait_for_selector(READY)
    seen.page.locator(".play").click()
    seen.page.wait_for_timeout(300)
    assert len(seen.requests) == 1 and not seen.strangers
    assert seen.errors == []
    # and could not if it wanted to
    seen.page.add_script_tag(content="setTimeout(() => fetch('http://127.0.0.1:9/'), 50)")
    seen.page.wait_for_event("console", lambda said: "Content Security Policy" in said.text)


def test_it_plays_and_pauses_and_the_picture_moves(report):
    page = report.page
    before = pixels(page)
    page.keyboard.press("Space")
    page.wait_for_function("document.querySelector('.play').textContent === 'Pause'")
    page.wait_for_function("Number(document.querySelector('.transport input').value) > 20")
    page.keyboard.press("Space")
    held = frame_of(page)
    assert held > 20
    assert pixels(page) != before
    page.wait_for_timeout(150)
    assert frame_of(page) == held


def test_keyboard_steps_and_jumps(report):
    page = report.page
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert frame_of(page) == 2
    page.keyboard.press("ArrowLeft")
    assert frame_of(page) == 1
    page.keyboard.press("Shift+ArrowRight")
    assert frame_of(page) == 11
    page.keyboard.press("End")
    last = frame_of(page)
    page.keyboard.press("ArrowRight")
    assert frame_of(page) == last


def test_markers_of_the_model_are_drawn_beside_the_recorded_ones(report):
    page = report.page
    switch = page.get_by_label("model", exact=True)
    assert not switch.is_checked()
    before = pixels(page)
    switch.check()
    assert pixels(page) != before
    switch.uncheck()
    assert pixels(page) == before


def test_slider_and_lanes_scrub(report):
    page = report.page
    n_frames = int(page.locator(".transport input").get_attribute("max")) + 1
    page.locator(".transport input").fill(str(n_frames // 2))
    assert frame_of(page) == n_frames // 2
    lanes = page.locator(".lanes svg")
    box = lanes.bounding_box()
    page.mouse.move(box["x"] + 0.25 * box["width"], box["y"] + box["height"] / 2)
    page.mouse.down()
    assert frame_of(page) == pytest.approx(0.25 * n_frames, abs=3)
    page.mouse.move(box["x"] + 0.75 * box["width"], box["y"] + box["height"] / 2)
    page.mouse.up()
    assert frame_of(page) == pytest.approx(0.75 * n_frames, abs=3)


def test_each_foot_has_its_own_lane(report, folder):
    contacts = json.loads((folder / "summary.json").read_text())["contacts"]
    counts = {body: sum(one["body"] == body for one in contacts) for body in FEET}
    labels = report.page.locator(".lane-labels span").all_inner_texts()
    assert all(counts.values())
    assert labels[:2] == [f"{body.replace('_', ' ')} {n}" for body, n in counts.items()]
    marks = report.page.locator(".lanes .kind-contact")
    heights = marks.evaluate_all("all => all.map(mark => mark.getAttribute('y'))")
    assert sorted(heights.count(y) for y in set(heights)) == sorted(counts.values())


def test_f_brings_everything_back_into_view(report):
    page = report.page
    page.get_by_label("follow").uncheck()
    framed = pixels(page)
    box = page.locator(".view canvas").bounding_box()
    page.mouse.move(box["x"] + 100, box["y"] + 100)
    page.mouse.wheel(0, -900)
    page.wait_for_timeout(200)
    assert pixels(page) != framed
    page.keyboard.press("f")
    assert pixels(page) == framed


@pytest.mark.parametrize(
    "part",
    [
        "markers",
        "skeleton",
        "skinned figure",
        "limb frames",
        "joint ellipsoids",
        "limit cones",
        "contacts",
        "floor",
    ],
)
def test_parts_can_be_shown_and_hidden(report, part):
    page = report.page
    before = pixels(page)
    page.locator(".switches label", has_text=part).locator("input").click()
    assert pixels(page) != before
    page.locator(".switches label", has_text=part).locator("input").click()
    assert pixels(page) == before


def test_numbers_are_those_of_the_summary(folder, report):
    summary = json.loads((folder / "summary.json").read_text())
    facts = dict(zip(*report.page.evaluate(FACTS), strict=True))
    assert facts["markers to model"] == f"{summary['marker_rms_mm']:.2f} mm rms"
    assert facts["largest distance"] == f"{summary['marker_max_mm']:.1f} mm"
    assert facts["frames"].startswith(f"{summary['frames']} at")
    rows = report.page.evaluate(ROWS)
    shown = {name: float(rms) for name, rms, *_ in rows if rms != "–"}
    known = {name: round(rms, 1) for name, rms in summary["per_marker_rms_mm"].items()}
    assert shown == pytest.approx(known, abs=0.051)
    assert [name for name, *_ in rows][:5] == list(summary["per_marker_rms_mm"])[:5]


FACTS = """() => ["dt", "dd"].map(tag =>
    [...document.querySelectorAll(".facts " + tag)].map(each => each.textContent))"""
ROWS = """() => [...document.querySelectorAll(".residuals .scroller tbody tr")].map(row =>
    [...row.cells].map(cell => cell.textContent))"""


def test_distributions_are_those_of_the_residuals(folder, report):
    """The largest distance of any marker is the summary's, after packing into 16 bits."""
    summary = json.loads((folder / "summary.json").read_text())
    most = max(float(row[4]) for row in report.page.evaluate(ROWS) if row[4] != "–")
    assert most == pytest.approx(summary["marker_max_mm"], abs=0.06)


def test_a_marker_can_be_chosen_by_keyboard(report):
    page = report.page
    row = page.locator(".residuals .scroller tbody tr").first
    name = row.locator("td").first.inner_text()
    row.focus()
    page.keyboard.press("Enter")
    assert page.locator(".residuals > p").inner_text().endswith(f": {name}")
    assert row.get_attribute("class") == "chosen"
    page.keyboard.press("Enter")
    assert "all" in page.locator(".residuals > p").inner_text()


SEARCH = """() => {
    const view = document.querySelector(".view"), area = view.getBoundingClientRect();
    for (let y = area.top + 20; y < area.bottom; y += 3)
        for (let x = area.left + area.width / 4; x < area.right - area.width / 4; x += 3) {
            view.dispatchEvent(new PointerEvent("pointermove", {clientX: x, clientY: y}));
            if (!document.querySelector(".pointed").hidden) return [x, y];
        }
}"""


def test_a_marker_can_be_pointed_at_and_chosen_in_space(report):
    page = report.page
    bones = page.locator(".switches label", has_text="skeleton").locator("input")
    bones.uncheck()
    place = page.evaluate(SEARCH)
    page.mouse.move(*place)
    name = page.locator(".pointed").inner_text()
    page.mouse.down()
    page.mouse.up()
    chosen = page.locator(".residuals .scroller tr.chosen")
    assert chosen.locator("td").first.inner_text() == name
    chosen.click()
    bones.check()


def test_a_browser_without_3d_still_shows_the_numbers(folder, chromium):
    context = chromium.new_context()
    page = context.new_page()
    page.add_init_script(
        "HTMLCanvasElement.prototype.getContext = ((own) => function (kind, ...more) {"
        " return kind.startsWith('webgl') ? null : own.call(this, kind, ...more); })"
        "(HTMLCanvasElement.prototype.getContext)"
    )
    page.goto((folder / "report.html").as_uri())
    page.wait_for_selector(READY)
    assert "WebGL" in page.locator(".view").inner_text()
    page.keyboard.press("ArrowRight")
    assert frame_of(page) == 1
    assert page.locator(".tree-row").count() > 10
    context.close()


def test_events_limbs_tree_and_history_are_told(folder, report):
    page = report.page
    skeleton = json.loads((folder / "skeleton.json").read_text())
    swaps = [event for event in skeleton["events"] if event["kind"] == "swap"]
    assert page.locator(".mark.kind-swap").count() == len(swaps) > 0
    assert page.locator(".mark.kind-gap").count() > 0
    contacts = json.loads((folder / "summary.json").read_text())["contacts"]
    assert page.locator(".mark.kind-contact").count() == len(contacts) > 0
    assert page.locator(".tree-row").count() == len(skeleton["bodies"])
    shin = page.locator(".limbs tr", has_text="left_shin").locator("td").all_inner_texts()
    assert "410.0" in shin
    told = next(body for body in skeleton["bodies"] if body["name"] == "left_shin")
    assert f"{1e3 * told['joint']['gap']:.1f}" in shin
    skin = page.locator(".skin tr", has_text="left_shin").locator("td").all_inner_texts()
    assert skin[1] == f"{1e3 * told['skin']:.1f}"
    assert all(marker["name"] in skin[2] for marker in told["markers"])
    assert page.locator(".history li").count() >= 2
    page.locator(".events summary").click()
    page.locator(".events li.kind-swap button").first.click()
    assert frame_of(page) == swaps[0]["frames"][0]


def test_theme_follows_the_machine_and_the_button(report):
    page = report.page
    paper = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(paper)
    page.emulate_media(color_scheme="dark")
    dark = page.evaluate(paper)
    assert dark != light
    page.get_by_role("button", name="Light").click()
    assert page.evaluate(paper) == light
    page.get_by_role("button", name="Dark").click()
    assert page.evaluate(paper) == dark
    page.get_by_role("button", name="Light").click()
    page.emulate_media(color_scheme="light")


@pytest.mark.parametrize("size", [(1280, 800), (390, 844)], ids=["desk", "phone"])
def test_no_serious_fault_and_nothing_to_scroll_sideways(report, size):
    page = report.page
    page.set_viewport_size({"width": size[0], "height": size[1]})
    for theme in ("Dark", "Light"):
        page.get_by_role("button", name=theme).click()
        assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
        assert report.faults() == [], theme


def test_view_shows_a_bare_motion(folder, tmp_path, visit):
    result = CliRunner().invoke(
        osteon, ["view", str(folder / "motion.bvh"), "-o", str(tmp_path), "--no-open"]
    )
    assert result.exit_code == 0
    seen = visit(Path(result.stdout.strip()))
    seen.page.wait_for_selector(READY)
    assert seen.errors == []
    assert seen.page.locator(".switches label", has_text="skinned figure").count() == 1
    assert seen.page.locator(".switches label", has_text="markers").count() == 0


def test_the_camera_finds_a_small_subject_that_comes_later(tmp_path, visit, rng):
    """Eight markers within 6 cm, not seen at first: in view and apart once they are there."""
    positions = np.repeat(0.03 * rng.uniform(-1.0, 1.0, (1, 8, 3)), 40, axis=0)
    positions[:20] = np.nan
    names = tuple(f"m{i}" for i in range(8))
    write(Recording(positions, names, 100.0), tmp_path / "mouse.csv")
    result = CliRunner().invoke(
        osteon, ["view", str(tmp_path / "mouse.csv"), "-o", str(tmp_path), "--no-open"]
    )
    seen = visit(Path(result.stdout.strip()), bypass_csp=True)
    seen.page.wait_for_selector(READY)
    before = pixels(seen.page)
    seen.page.keyboard.press("End")
    after = pixels(seen.page)
    seen.page.keyboard.press("f")
    assert before != after and pixels(seen.page) == after
    # eight balls that touch nowhere hide a small part of the picture only
    green = seen.page.evaluate(GREEN, base64.b64encode(after).decode())
    assert 0.0005 < green < 0.1
