"""What is slow the first time, done once beforehand so that no edit waits for it."""

import threading

import numpy as np

from osteon.edits import Cut, Draft, Fill, Filter
from osteon.posing import reach
from osteon.values import Body, Joint, Recording, Skeleton


def warm() -> None:
    """Load the libraries and compiled kernels that edits and drags need."""
    place = np.random.default_rng(1).normal(size=(6, 3))
    path = np.sin(np.linspace(0.0, 3.0, 240))[:, None, None] + place
    draft = Draft(Recording(path, tuple("abcdef"), 120.0))
    for method in ("lowrank", "spline"):
        draft.apply(Cut(("a",), 100, 130))
        draft.apply(Fill(("a",), 100, 130, method))
    draft.apply(Filter(("a",), 0, 239))
    bone = Body("bone", "root", Joint("ball", in_parent=np.array([0.0, 0.0, 1.0])))
    reach(Skeleton((Body("root", None, Joint("free")), bone)), {"bone": (0.0, 0.0, 1.0)})


def warm_beside() -> None:
    """The same in a thread; the first page is not kept waiting."""
    threading.Thread(target=warm, daemon=True).start()
