"""What is asked of a solve, what comes of it, and what is told meanwhile."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from osteon.calibration import NextMarker
from osteon.cleaning import RightSamples
from osteon.human import Recognition
from osteon.identity import TakeFindings
from osteon.posing import Contact, FootSlide, rms_per_marker
from osteon.typing import Array, Progress, Share, Step
from osteon.values import Event, Motion, Passport, Recording, Skeleton

QUIET_SECONDS = 1.0
"""Seconds that nobody minds waiting without a word."""


@dataclass(frozen=True)
class SolveOptions:
    """What a user may ask of ``solve``, also through the command line, a batch or the studio."""

    template: str = "auto"
    """``auto`` recognises the marker set by its labels, ``none`` goes by motion alone, else the
    name of a set."""
    own_set: str | Path | None = None
    """A TOML file with the user's own marker set."""
    hips: str = "harrington"
    """Regression for the hip centres: ``harrington``, ``davis`` or ``seidel``."""
    skeleton: Skeleton | None = None
    """A subject calibrated before; then only the poses are solved."""
    passport: Passport | None = None
    """A performer known before: each take is held against it and solved with what it says."""
    limits: bool = False
    """Keep joints within the limits of ``skeleton``."""
    clean: bool = True
    """Repair exchanged labels and take out spikes before anything else."""
    right: tuple[RightSamples, ...] = ()
    """Samples that a person vouches for: ``clean`` leaves them as they are."""
    smooth: bool = False
    """Use time as well: one fit over the whole take, noise levels estimated from it."""


@dataclass(frozen=True, eq=False)
class Solved:
    """One subject of one take, solved."""

    recording: Recording
    """The markers as they were solved: cleaned, z up."""
    motion: Motion
    marker_error: Array
    """(n_frames, n_markers) distance from model to data in the recording's order, metres; NaN
    where not seen or not on the skeleton."""
    marker_set: str
    """Name of the set that was recognised; empty where there was none."""
    warnings: tuple[str, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)
    contacts: tuple[Contact, ...] = ()
    """Feet that stand on the ground."""
    findings: TakeFindings | None = None
    """What differs from the passport, where one was given."""
    riders: frozenset[str] = frozenset()
    """Markers that no set knows and that ride on a body: they did not shape the rig."""
    path: Path | None = None
    """Where the recording was read from; None where no file was given."""
    by_hand: Skeleton | None = None
    """Where kinds and limits of joints were found: the skeleton without them, with those alone that
    were said by hand."""
    keypoints: bool = False
    """Whether ``recording`` holds joints as a markerless system found them."""
    recognition: Recognition | None = None
    """Which marker was taken to sit where, where labels did not say it."""
    landmarks: dict[str, str] = field(default_factory=dict)
    """Label → the template's landmark, of markers on landmarks; also of a standing trial's."""
    next_markers: tuple[NextMarker, ...] = ()
    """Markers that nobody wears and that would tell most of joints left open, best first."""
    slides: tuple[FootSlide, ...] = ()
    """Steps in which a foot that was to be mended does not stay where it is."""

    @property
    def skeleton(self) -> Skeleton:
        return self.motion.skeleton

    @property
    def events(self) -> tuple[Event, ...]:
        return self.skeleton.events

    @property
    def points(self) -> str:
        """What ``recording`` holds: ``markers``, ``keypoints``, or ``joints`` that stand in their
        place."""
        if self.keypoints:
            return "keypoints"
        return "joints" if self.recording.names == self.skeleton.names else "markers"

    @property
    def fit_error(self) -> Array:
        """``marker_error`` of the markers that shaped the rig; NaN for those that ride along."""
        riding = [name in self.riders for name in self.recording.names]
        return np.where(riding, np.nan, self.marker_error)

    @property
    def rms(self) -> float:
        """Over all markers that shaped the rig and all frames, metres."""
        return float(np.sqrt(np.nanmean(self.fit_error**2)))

    def rms_per_marker(self) -> dict[str, float]:
        """Of those that shaped the rig, metres, worst first."""
        return rms_per_marker(self.recording.names, self.fit_error)


class Stopwatch:
    """Seconds by step, and a word to whoever watches."""

    def __init__(self, progress: Progress) -> None:
        self.seconds: dict[str, float] = {}
        self._progress = progress

    def _tenths(self, name: str, saying: str) -> Share:
        """Say how far a step is, at every tenth of those that take their time."""
        told, start = 0, time.perf_counter()

        def tell(share: float) -> None:
            nonlocal told
            if told < int(10.0 * share) < 10 and time.perf_counter() - start > QUIET_SECONDS:
                told = int(10.0 * share)
                self._progress(Step(name, saying, told / 10))

        return tell

    @contextmanager
    def stage(self, name: str, saying: str = "") -> Iterator[Share]:
        """Time a step; who does it may say how far it is."""
        if saying:
            self._progress(Step(name, saying))
        start = time.perf_counter()
        try:
            yield self._tenths(name, saying)
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start
