"""Tables of numbers in text: what every reader of them has to say."""

import pytest

from osteon.formats import FORMATS, read
from osteon.formats.shared.text_table import perhaps_cut
from samples import make_seed

TABLES = {"TRC", "plain CSV", "Motive CSV", "QTM TSV", "compact CSV", "BVH", "ASF/AMC"}


def problems_of(path) -> str:
    take = read(path)
    held = (*take.recordings, *take.bodies, *take.motions, *take.compacts)
    return "; ".join(held[0].source.problems)


@pytest.mark.parametrize("name", sorted(TABLES))
def test_a_file_cut_within_its_last_number_says_so(name, tmp_path, rng):
    [form] = [form for form in FORMATS if form.name == name]
    path = make_seed(form, tmp_path, rng)
    whole = path.read_bytes().rstrip() + b"\n"
    path.write_bytes(whole)
    assert "does not end" not in problems_of(path)
    path.write_bytes(whole[:-3])
    said = problems_of(path)
    assert "the last line does not end: if the file was cut short, its last number" in said


def test_a_whole_number_needs_no_line_end_behind_it():
    assert not perhaps_cut(["2\t0.010\t12.50\t-3.75\t0.10\t7.00"])
    assert not perhaps_cut(["2\t0.01\t12.50\t-3.7", ""])
    assert not perhaps_cut([])
    for line in ("2\t0.01\t12.50\t-3.7", "2,LASI,100,200,30", "2 0.01 12.50 -3"):
        assert perhaps_cut(["1", line]), line
