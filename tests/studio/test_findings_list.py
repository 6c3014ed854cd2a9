"""Rows of what somebody should look at, and what was answered."""

from osteon.edits import Cut, Edit, Fill, Finding, KeepFinding, SwapLabels
from osteon.studio.findings_list import MOST_FINDINGS, Findings

GAP = Finding("gap", ("LTHI",), 5, 9)
SWAP = Finding("swap", ("LWRA", "LWRB"), 2, 3, mended=True)


def states(findings: Findings, gaps: list[Finding], edits: list[Edit]) -> list[tuple[str, str]]:
    return [(row.kind, row.state) for row in findings.table(gaps, edits).rows]


def test_an_open_gap_may_be_filled_and_cut_again():
    fill, cut = Fill(("LTHI",), 5, 9), Cut(("LTHI",), 5, 9)
    found = Findings()
    assert states(found, [GAP], []) == [("gap", "open")]
    assert states(found, [], [fill]) == [("gap", "accepted")]
    assert states(found, [GAP], [fill, cut]) == [("gap", "open")]
    assert states(found, [GAP], [KeepFinding("gap", ("LTHI",), 5, 9)]) == [("gap", "refused")]


def test_what_was_answered_stays_listed_though_it_is_found_no_more():
    found, refused = Findings(), [SWAP.keeping()]
    found.find_samples([SWAP], [])
    assert states(found, [], []) == [("swap", "mended")]
    found.find_samples([], refused)
    assert states(found, [], refused) == [("swap", "refused")]
    accepted: list[Edit] = [*refused, SwapLabels("LWRA", "LWRB", 2, 3)]
    assert states(found, [], accepted) == [("swap", "accepted")]
    found.find_samples([], [])  # all taken back, and looked at again
    assert states(found, [], []) == []


def test_more_than_anybody_reads_are_counted():
    gaps = [Finding("gap", ("LTHI",), 3 * k, 3 * k + 1) for k in range(MOST_FINDINGS + 7)]
    table = Findings().table(gaps, [])
    assert (len(table.rows), table.more) == (MOST_FINDINGS, 7)
    assert [row.first for row in table.rows] == sorted(row.first for row in table.rows)
