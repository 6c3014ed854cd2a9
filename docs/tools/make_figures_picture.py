"""Takes the picture of skins that docs/guide/axes.md shows: people, a dog, a rig found blind.

    python docs/tools/make_figures_picture.py

Needs playwright (dev group) and a Chromium. The takes are generated: anybody can take it again.
"""

import base64
import tempfile
from pathlib import Path
from typing import Any

from make_screenshots import PICTURES, chrome
from playwright.sync_api import sync_playwright

from osteon import pipeline, synth
from osteon.delivery import show
from osteon.pipeline import SolveOptions
from osteon.synth import Script
from osteon.values import Motion, Skeleton, Take

LAYERS = ("floor", "markers", "skeleton", "contacts", "joint ellipsoids", "limit cones")
SIZE = (300, 360)
MID_STEP = 130


def solved(who: Skeleton, script: Script, template: str = "auto") -> Motion:
    take = synth.perform(who, script, noise=0.001, skin=1.0, seed=1).recording
    options = SolveOptions(template=template)
    return pipeline.solve(Take(recordings=(take,)), options=options)[0].motion


def skin_picture(browser: Any, motion: Motion, folder: Path) -> bytes:
    """The skin alone, out of the motion's own report."""
    folder.mkdir()
    show(motion, folder)
    page = browser.new_page(viewport={"width": 1100, "height": 800})
    page.goto((folder / "report.html").as_uri())
    page.wait_for_selector("body[data-ready]")
    for name in LAYERS:
        switch = page.get_by_label(name)
        if switch.count():
            switch.first.uncheck()
    page.locator(".transport input").fill(str(MID_STEP))
    page.keyboard.press("f")
    page.wait_for_timeout(1000)
    return page.locator(".view canvas").screenshot()


def main() -> None:
    motions = [
        solved(synth.human(), synth.walk(seconds=4)),
        solved(synth.human(1.2, variation=0.05, seed=4), synth.kicks(seconds=4)),
        synth.perform(synth.quadruped(), synth.swing_walk(seconds=4, off_axis=0.05)).truth.motion,
        solved(synth.quadruped(), synth.exercise(seconds=8), "none"),
    ]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = chrome.launch(playwright)
        shots = [
            skin_picture(browser, motion, Path(folder) / str(number))
            for number, motion in enumerate(motions)
        ]
        width, height = SIZE
        page = browser.new_page(viewport={"width": width * len(shots), "height": height})
        style = f"width:{width}px;height:{height}px;object-fit:cover"
        images = (
            f'<img style="{style}" src="data:image/png;base64,{base64.b64encode(shot).decode()}">'
            for shot in shots
        )
        page.set_content(f'<body style="margin:0;display:flex">{"".join(images)}</body>')
        page.wait_for_timeout(500)
        page.screenshot(path=PICTURES / "figures.png")
        browser.close()


if __name__ == "__main__":
    main()
