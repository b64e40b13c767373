"""Which shape of the columns is taken: the simplest as a whole mixture; frames and arrays agree."""

from __future__ import annotations

import numpy as np
import pytest

import countless as cl
from countless.models.mixture.shapes import Trial, Trials


def _chosen(*trials):
    """The words of the trial that is taken: words, mean score, clusters and numbers of a cluster of each."""
    noise = np.resize([-1.0, 1.0], 100)
    made = Trials.__new__(Trials)
    made.made = [
        Trial(words, None, [], score + noise * (at % 2), np.arange(n_clusters), n_sums)
        for at, (words, score, n_clusters, n_sums) in enumerate(trials)
    ]
    return made.chosen().words


def test_the_fewest_numbers_in_all_clusters_are_simple():
    independent, correlated = ("independent", -4.20, 3, 5), ("correlated", -4.18, 2, 6)
    assert _chosen(independent, correlated) == "correlated"
    assert _chosen(independent, ("correlated", -4.18, 3, 6)) == "independent"
    # What is worse by more than a standard error (0.1 here) is not taken, however simple it is.
    assert _chosen(("independent", -4.40, 1, 5), correlated) == "correlated"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_old_faithful_has_as_many_clusters_as_a_frame_as_it_has_as_an_array(seed):
    frame = cl.datasets.load_faithful()
    fits = [cl.DPMixture(random_state=seed).fit(X) for X in (frame, frame.to_numpy())]
    assert [fit.n_clusters_ for fit in fits] == [2, 2]
    assert "all correlated" in fits[0].family_.schema[0].note
