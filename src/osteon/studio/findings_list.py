"""What somebody should look at in the open take, and what was answered."""

from collections.abc import Iterable, Sequence
from typing import Literal

from osteon.edits import Cut, Ease, Edit, Fill, Finding, KeepFinding, SetPlant, SwapLabels
from osteon.report import Span
from osteon.studio.messages import FindingRow, FindingTable

MOST_FINDINGS = 500
"""Count of findings that are sent. Chosen: nobody looks through more at once."""
DRAWN = ("spike", "pop", "slide")
"""Kinds that the timeline learns from here; of gaps and swaps it knows already."""


class Findings:
    """What was found of a take by looking at its samples, and by solving it."""

    def __init__(self) -> None:
        self.samples: tuple[Finding, ...] = ()
        """Exchanged labels, and samples that fly off."""
        self.motion: tuple[Finding, ...] = ()
        """Joints that jump, and feet that slide."""

    def find_samples(self, found: Iterable[Finding], edits: Sequence[Edit]) -> None:
        """Take up another look at the samples; what was answered stays listed."""
        self.samples = _renewed(self.samples, found, edits)

    def find_motion(self, found: Iterable[Finding], edits: Sequence[Edit]) -> None:
        """Take up another look at the motion; what was answered stays listed."""
        self.motion = _renewed(self.motion, found, edits)

    def table(self, gaps: Sequence[Finding], edits: Sequence[Edit]) -> FindingTable:
        """Return all with their answers, in order of time; gaps are those that are open now."""
        said = [
            Finding(e.kind, e.names, e.first, e.last) for e in edits if isinstance(e, KeepFinding)
        ]
        filled = [Finding("gap", e.markers, e.first, e.last) for e in edits if isinstance(e, Fill)]
        found = _unlike([*gaps, *self.samples, *self.motion, *filled, *said])
        found.sort(key=lambda each: (each.first, each.last))
        still_open = set(gaps)  # one that was filled, and cut again
        rows = [_row(each, edits, is_open=each in still_open) for each in found[:MOST_FINDINGS]]
        return FindingTable(tuple(rows), max(0, len(found) - MOST_FINDINGS))

    def spans(self) -> list[Span]:
        """Return what the timeline draws besides gaps and exchanged labels."""
        found = [each for each in (*self.samples, *self.motion) if each.kind in DRAWN]
        return [Span(each.kind, each.sentence, each.first, each.last) for each in found]

    def swaps(self) -> list[Span]:
        """Return exchanged labels for the timeline of a take that is not solved."""
        found = [each for each in self.samples if each.kind == "swap"]
        return [Span("swap", each.sentence, each.first, each.last) for each in found]


def _renewed(
    before: Iterable[Finding], found: Iterable[Finding], edits: Sequence[Edit]
) -> tuple[Finding, ...]:
    answered = [each for each in before if each.answer(edits) is not None]
    return tuple(_unlike([*answered, *found]))


def _unlike(found: Iterable[Finding]) -> list[Finding]:
    """Return each finding once, as it was told first."""
    return list({each[:4]: each for each in reversed(list(found))}.values())


def _row(finding: Finding, edits: Sequence[Edit], *, is_open: bool) -> FindingRow:
    answer = finding.answer(edits)
    state: Literal["open", "mended", "accepted", "refused"] = "open"
    if isinstance(answer, KeepFinding):
        state = "refused"
    elif answer is not None and not is_open:
        state = "accepted"
    elif finding.mended:
        state = "mended"
    mends = finding.mending()
    assert isinstance(mends, Cut | Fill | SwapLabels | SetPlant | Ease)
    return FindingRow(
        finding.kind,
        finding.sentence,
        finding.first,
        finding.last,
        finding.names,
        state,
        mends,
        finding.keeping(),
    )
