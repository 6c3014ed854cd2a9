"""Takes the pictures of the studio that the docs show: light and dark, desk and phone.

    python docs/tools/make_studio_screenshots.py

Needs playwright (dev group) and a Chromium. The take is generated: anybody can take them again.
"""

import tempfile
from pathlib import Path
from typing import Any

from make_screenshots import DESK, PHONE, PICTURES, chrome
from playwright.sync_api import sync_playwright

import osteon as ost
from osteon import synth
from osteon.values import Take

PATIENCE = 300_000
FRAME = 150
"""A step in mid-walk."""
HANDLE = (
    "() => { const {view} = window.osteonStudio;"
    " return view.onScreen(view.handles.object.children[0].position) }"
)


def make_take(folder: Path) -> Path:
    script = synth.sequence(synth.walk(seconds=3), synth.exercise(seconds=10))
    take = synth.perform(synth.human(), script, noise=0.001, gaps=0.02, seed=3).recording
    path = folder / "walk.c3d"
    ost.write(Take(recordings=(take,)), path)
    return path


def visit(browser: Any, address: str, size: tuple[int, int], scheme: str) -> Any:
    window = {"width": size[0], "height": size[1]}
    page = browser.new_context(viewport=window, color_scheme=scheme).new_page()
    page.goto(address)
    page.wait_for_selector("body[data-ready]", timeout=PATIENCE)
    return page


def show(page: Any, marker: str, body: str) -> None:
    """The frame, a marker's curves and a body's handles, camera on the figure."""
    page.get_by_role("slider", name="Frame").fill(str(FRAME))
    page.get_by_role("tab", name="Markers").click()
    page.locator(f"#panel-markers li[data-name='{marker}']").click()
    page.get_by_role("tab", name="Bodies").click()
    page.locator(f"[data-body={body}]").click()
    page.locator(".over").focus()
    page.keyboard.press("f")
    page.wait_for_timeout(1500)


def shoot(page: Any, name: str) -> None:
    page.wait_for_timeout(5000)  # the last word at the foot of the page has gone
    page.screenshot(path=PICTURES / f"{name}.png")


def edit(page: Any) -> None:
    """Cut and fill a stretch, solve with limits and axes."""
    page.locator("#panel-markers li[data-name='RKNE']").click()
    area = page.locator(".over").bounding_box()
    page.mouse.move(area["x"] + 0.06 * area["width"], area["y"] + 40)
    page.mouse.down()
    page.mouse.move(area["x"] + 0.16 * area["width"], area["y"] + 40, steps=4)
    page.mouse.up()
    page.keyboard.press("Delete")
    page.locator(".edits li").nth(0).wait_for()
    page.get_by_role("button", name="Solve settings").click()
    page.get_by_label("find joint types and limits").check()
    page.get_by_label("find movement axes").check()
    page.locator("dialog footer button").click()
    page.get_by_role("button", name="Solve again").wait_for(timeout=PATIENCE)


def pull(page: Any) -> None:
    """Lift the left hand."""
    at = page.evaluate(HANDLE)
    page.mouse.move(at["x"], at["y"])
    page.mouse.down()
    page.mouse.move(at["x"] - 20, at["y"] - 60, steps=4)
    page.mouse.up()
    page.locator(".edits li").nth(1).wait_for()


def answer(page: Any) -> None:
    """Fill the first gap of the list, with the model's markers beside the recorded ones."""
    page.get_by_role("tab", name="Findings").click()
    gap = page.locator(".finding-list li[data-kind=gap]").nth(3)
    gap.locator(".look").click()
    gap.get_by_role("button", name="Accept").click()
    page.locator(".finding-list li[data-state=accepted]").first.wait_for()
    page.get_by_label("model").check()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = chrome.launch(playwright)
        with chrome.studio(make_take(Path(folder))) as address:
            page = visit(browser, address, DESK, "light")
            edit(page)
            show(page, "RKNE", "left_hand")
            page.get_by_label("figure").check()
            pull(page)
            shoot(page, "studio")
            answer(page)
            shoot(page, "studio_findings")
            page = visit(browser, address, DESK, "dark")
            show(page, "LKNE", "left_thigh")
            page.get_by_label("limits").check()
            shoot(page, "studio_dark")
            for scheme in ("light", "dark"):
                page = visit(browser, address, PHONE, scheme)
                page.get_by_role("slider", name="Frame").fill(str(FRAME))
                page.locator(".over").focus()
                page.keyboard.press("f")
                page.evaluate("window.scrollTo(0, 0)")
                shoot(page, "studio_phone" if scheme == "light" else "studio_phone_dark")
        browser.close()


if __name__ == "__main__":
    main()
