"""Takes without labels in an archive whose marker set is known."""

from osteon import synth
from osteon.batch import BatchOptions
from osteon.batch.subject_takes import SAMPLE, sample_markers
from osteon.formats import read
from osteon.pipeline import SolveOptions
from scattered_tracks import scattered


def test_a_batch_labels_its_samples_by_a_set(tmp_path) -> None:
    """Names of pieces would mean nothing to a subject's other takes."""
    walk = synth.perform(synth.human(), synth.walk(seconds=1.5), noise=0.001, seed=3).recording
    pieces, _ = scattered(walk, seed=2, longest=0.8)
    options = BatchOptions(solving=SolveOptions(template="CMU 41"))
    sample_markers([pieces], tmp_path, options)
    found = read(tmp_path / SAMPLE).recording()
    assert set(found.names) == set(walk.names)
