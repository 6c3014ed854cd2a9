"""Takes the pictures of the report that the docs show: light and dark, desk and phone.

    python docs/tools/make_screenshots.py

Needs playwright (dev group) and a Chromium. The take is generated: anybody can take them again.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "support"))
import chrome
from osteon import delivery, pipeline, synth
from osteon.articulation import joints
from osteon.delivery import show_joints
from osteon.values import Take

PICTURES = Path(__file__).parents[1] / "pictures"
DESK, PHONE = (1280, 800), (390, 844)
SHOTS = {
    "report": (DESK, "light"),
    "report_dark": (DESK, "dark"),
    "report_phone": (PHONE, "light"),
    "report_phone_dark": (PHONE, "dark"),
}
FRAME = 395
"""A step in mid-walk."""


def make_report(folder: Path) -> Path:
    """A walk and exercises with gaps and swapped labels, solved."""
    script = synth.sequence(synth.walk(seconds=6), synth.exercise(seconds=20))
    take = synth.perform(synth.human(), script, noise=0.001, skin=1.0, gaps=0.02, swaps=3, seed=5)
    solved = pipeline.solve(Take(recordings=(take.recording,)))[0]
    delivery.deliver(solved, folder)
    return folder / "report.html"


def make_joints_report(folder: Path) -> Path:
    """Six sensors on a linkage: what is joined to what, and how clearly."""
    script = synth.exercise(seconds=20)
    bodies = synth.sense(
        synth.linkage(), script, noise=0.004, orientation_noise=0.017, seed=2
    ).bodies
    folder.mkdir()
    show_joints(bodies, joints(bodies), folder)
    return folder / "report.html"


def shoot(browser: Any, page: Path, name: str, size: tuple[int, int], scheme: str) -> None:
    window = {"width": size[0], "height": size[1]}
    context = browser.new_context(viewport=window, color_scheme=scheme)
    tab = context.new_page()
    tab.goto(page.as_uri())
    tab.wait_for_selector("body[data-ready]", timeout=120_000)
    tab.locator(".transport input").fill(str(FRAME))
    tab.keyboard.press("f")
    tab.get_by_label("joint ellipsoids").check()
    tab.evaluate("document.activeElement.blur()")
    tab.wait_for_timeout(1500)
    tab.screenshot(path=PICTURES / f"{name}.png")
    context.close()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page = make_report(Path(folder))
        browser = chrome.launch(playwright)
        for name, (size, scheme) in SHOTS.items():
            shoot(browser, page, name, size, scheme)
        shoot(browser, make_joints_report(Path(folder) / "joints"), "report_joints", DESK, "light")
        browser.close()


if __name__ == "__main__":
    main()
