"""The page of gait cycles in a real browser, on screen and on paper."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from osteon import synth, write
from osteon.cli import osteon
from osteon.values import Take

pytest_plugins = ["browser"]

READY = "body[data-ready]"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("gait")
    performed = synth.perform(synth.human(), synth.walk(seconds=4), noise=0.0005, seed=3)
    write(Take(recordings=(performed.recording,)), folder / "walk.c3d")
    asked = ["angles", str(folder / "walk.c3d"), "-o", str(folder / "out")]
    assert CliRunner().invoke(osteon, asked).exit_code == 0
    return folder / "out"


@pytest.fixture(scope="module")
def window(stay, folder):
    # the page's policy would stop the tests' own scripts as well
    seen = stay(folder / "report.html", bypass_csp=True)
    seen.page.wait_for_selector(READY)
    return seen


def mean_of(folder: Path, column: str) -> list[float]:
    head, *rows = [line.split(",") for line in (folder / "gait_cycles.csv").read_text().split()]
    return [float(row[head.index(column)]) for row in rows]


def test_the_left_knee_is_found_at_the_top_of_the_page(window, folder):
    page = window.page
    page.set_viewport_size({"width": 1400, "height": 900})
    row = page.locator(".gait-top tr", has_text="Knee flexion, peak")
    assert row.bounding_box()["y"] < 450
    peak = max(mean_of(folder, "left_knee_flexion_mean"))
    assert row.locator("td").nth(1).inner_text() == f"{peak:.0f}"


def test_every_curve_says_its_peak_of_both_sides(window, folder):
    figure = window.page.locator("figure", has_text="Knee flexion")
    assert figure.locator("path.mean").count() == 2
    assert figure.locator("path.foot-off").count() == 2
    curve = mean_of(folder, "right_knee_flexion_mean")
    said = figure.locator(".extremes.right").inner_text()
    assert re.search(rf"peak {max(curve):.0f}° at {curve.index(max(curve))} %", said)


def test_the_numbers_are_those_of_the_file(window, folder):
    facts = json.loads((folder / "gait.json").read_text())["numbers"]["left"]["stride_time"]
    row = window.page.locator(".gait-top tr", has_text="Stride time")
    assert row.locator("td").nth(1).inner_text().startswith(f"{facts['mean']:.2f}")


def test_the_view_shows_the_take_beside_it(window):
    page = window.page
    assert page.locator(".side-column .view canvas").count() == 1
    before = page.locator(".clock").inner_text()
    page.keyboard.press("End")
    assert page.locator(".clock").inner_text() != before


@pytest.mark.parametrize("width", [390, 1100, 1600])
def test_nothing_is_wider_than_the_page(window, width):
    page = window.page
    page.set_viewport_size({"width": width, "height": 900})
    # charts follow the window a picture later
    page.wait_for_function(f"document.documentElement.scrollWidth <= {width}", timeout=5000)


def test_it_asks_nobody_and_complains_of_nothing(window):
    assert window.strangers == [] and window.errors == []


def test_everybody_can_read_it(window):
    assert window.faults() == []


def test_paper_is_white_and_holds_what_is_read_first_on_one_sheet(window):
    page = window.page
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    page.emulate_media(media="print")
    # A4 between its margins, in CSS pixels
    page.set_viewport_size({"width": 703, "height": 1032})
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    ink = page.evaluate("getComputedStyle(document.body).color")
    assert max(map(int, re.findall(r"\d+", ink)[:3])) < 80
    legs = page.locator(".gait-curves").first.bounding_box()
    assert legs["y"] + legs["height"] + page.evaluate("scrollY") < 1032
    assert not page.locator(".view").is_visible()
    page.emulate_media(media="screen")
    page.evaluate("delete document.documentElement.dataset.theme")
