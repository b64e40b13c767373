"""Diagnostics of chains whose law is known: what must be called converged, and what must not."""

from __future__ import annotations

import dataclasses
import sys
import warnings

import numpy as np
import pytest
from scipy.spatial.distance import jaccard
from scipy.stats import binomtest, entropy, f, kstest

import countless as cl
from countless.chains import draws as chain_draws
from countless.posterior.diagnostics import rhat_limit, warn_if_unmixed
from countless.posterior.partition.chain_distance import chain_distance
from countless.posterior.partition.view import PartitionDraws

from .chains import independent_labels, posterior_of

arviz_stats = pytest.importorskip("arviz_stats.base").array_stats


def frozen(partitions, n_draws=100):
    """Chains that never move."""
    return np.repeat(np.asarray(partitions)[:, None, :], n_draws, axis=1)


TWO = [0] * 20 + [1] * 20
FIVE = [0] * 8 + [1] * 8 + [2] * 8 + [3] * 8 + [4] * 8
OTHER_TWO = [0] * 10 + [1] * 10 + [0] * 10 + [1] * 10


# --- quantities ----------------------------------------------------------------------------------------------------


def test_entropy_and_largest_share_of_each_draw(rng, monkeypatch):
    labels = independent_labels(rng, 2, 7, 30, groups=5, noise=0.3)
    monkeypatch.setattr(chain_draws, "BLOCK", 100)  # a few draws at a time
    found = PartitionDraws(labels).entropy_and_largest()
    counts = [np.bincount(draw) for draw in labels.reshape(-1, 30)]
    np.testing.assert_allclose(found[0].ravel(), [entropy(sizes) for sizes in counts], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found[1].ravel(), [sizes.max() / 30 for sizes in counts], rtol=1e-12)
    assert found[0].shape == (2, 7)
    renamed = (labels + rng.integers(9, size=(2, 7, 1))) % 9  # wider, and in another order: the same to the last bit
    np.testing.assert_array_equal(PartitionDraws(renamed).entropy_and_largest()[0], found[0])


def test_quantities_do_not_depend_on_names_of_clusters(rng):
    labels = independent_labels(rng, 2, 20, 30)
    renamed = (labels + rng.integers(3, size=(2, 20, 1))) % 3
    other = posterior_of(renamed).quantities()
    for name, values in posterior_of(labels).quantities().items():
        np.testing.assert_allclose(other[name], values, rtol=1e-12)
    assert chain_distance(renamed).largest == pytest.approx(chain_distance(labels).largest, rel=1e-9)


def test_concentration_and_hyperparameters_count_where_they_were_learned(rng):
    labels = independent_labels(rng, 2, 20, 30)
    fixed = posterior_of(labels)
    learned = posterior_of(
        labels, concentration=rng.gamma(1.0, size=(2, 20)), hyperparameters={"scale": rng.random((2, 20))}
    )
    assert "concentration" not in fixed.quantities()
    assert {"concentration", "scale"} <= set(learned.quantities())
    assert learned.diagnostics().table()["quantity"].tolist()[-2:] == ["concentration", "scale"]


# --- distances between chains --------------------------------------------------------------------------------------


def direct_distance(one, other):
    """From the two similarity matrices, with loops over draws and no shortcut."""
    pairs = np.triu_indices(one.shape[1], 1)
    a, b = (np.mean([np.equal.outer(draw, draw) for draw in chain], axis=0)[pairs] for chain in (one, other))
    return np.sum((a - b) ** 2) / (a @ a + b @ b - a @ b)


def test_distance_is_that_of_the_similarity_matrices(rng):
    labels = np.stack([independent_labels(rng, 1, 60, 25, noise=noise)[0] for noise in (0.1, 0.3, 0.6)])
    found = chain_distance(labels)
    for c in range(3):
        assert found.between[c, c] == pytest.approx(0.0, abs=1e-6)
        for e in range(c):
            assert found.between[c, e] == pytest.approx(direct_distance(labels[c], labels[e]), rel=1e-4)
    assert found.largest == found.between.max()
    assert found.furthest == (0, 2)


def test_distance_of_chains_that_stand_still_is_the_jaccard_distance_of_their_pairs():
    found = chain_distance(frozen([TWO, FIVE]))
    pairs = np.triu_indices(40, 1)
    joined = [np.equal.outer(np.array(each), np.array(each))[pairs] for each in (TWO, FIVE)]
    assert found.largest == pytest.approx(jaccard(*joined), rel=1e-5)
    assert found.p_value < 0.01


def test_distance_by_row_names_the_rows_that_differ():
    moved = np.array(TWO)
    moved[:3] = 1
    found = chain_distance(frozen([TWO, moved]))
    np.testing.assert_array_equal(found.rows[found.by_row > 0.9], [0, 1, 2])


def test_distance_of_many_rows_is_that_of_a_sample_of_them(rng):
    labels = np.stack([independent_labels(rng, 1, 16, 3000, noise=noise)[0] for noise in (0.05, 0.4)])
    some = chain_distance(labels, most_rows=300)
    assert len(some.rows) == 300 == len(np.unique(some.rows))
    # Shares over 300 rows of 3000, seen through a smooth function of order one.
    assert some.largest == pytest.approx(chain_distance(labels, most_rows=1500).largest, abs=4 / np.sqrt(300) * 0.3)
    assert chain_distance(labels, most_rows=300).largest == some.largest


def test_chains_of_singletons_are_not_apart():
    found = chain_distance(frozen([np.arange(6), np.arange(6)]))
    assert found.largest == 0.0
    assert found.p_value == 1.0
    assert chain_distance(frozen([np.arange(6), np.zeros(6, int)])).largest == 1.0


def test_p_values_keep_their_level_for_independent_draws(rng):
    """Residuals are exchangeable: p <= 0.1 in one case of ten. Chains of two laws: always far below."""
    p_values = [chain_distance(independent_labels(rng, 4, 40, 12, noise=0.3)).p_value for _ in range(150)]
    assert binomtest(int(np.sum(np.array(p_values) <= 0.1)), 150, 0.1).pvalue > 1e-3
    for _ in range(10):
        one, other = independent_labels(rng, 2, 40, 12, noise=0.2), independent_labels(rng, 2, 40, 12, noise=0.6)
        assert chain_distance(np.concatenate([one, other])).p_value <= 0.01


# --- R-hat and effective draws -------------------------------------------------------------------------------------


def test_rhat_and_effective_draws_are_those_of_arviz(rng):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        arviz = pytest.importorskip("arviz")
    labels = independent_labels(rng, 4, 100, 30)
    slow = np.cumsum(rng.normal(size=(4, 100)), axis=1)
    table = posterior_of(labels, log_joint=slow).diagnostics().table().set_index("quantity")
    size = posterior_of(labels).quantities()["entropy"]
    for name, values in (("log_joint", slow), ("entropy", size)):
        assert table.loc[name, "rhat"] == pytest.approx(float(arviz.rhat(values, method="rank")), rel=1e-9)
        assert table.loc[name, "ess_bulk"] == pytest.approx(float(arviz.ess(values, method="bulk")), rel=1e-9)
        tail = float(arviz.ess(values, method="tail", prob=(0.05, 0.95)))
        assert table.loc[name, "ess_tail"] == pytest.approx(tail, rel=1e-9)
    assert table.loc["log_joint", "rhat"] > 1.2


def test_rhat_of_independent_draws_has_the_f_distribution(rng):
    m, n = 8, 25
    ratios = np.array([float(arviz_stats.rhat(rng.normal(size=(4, 2 * n)), method="split")) for _ in range(400)])
    assert kstest(n * (ratios**2 - 1.0) + 1.0, f(m - 1, m * (n - 1)).cdf).pvalue > 1e-3
    expected = np.sqrt(1.0 + (f.isf(1e-4, m - 1, m * 9) - 1.0) / 10)
    assert rhat_limit(4, 20, 1.0) == pytest.approx(expected, rel=1e-9)
    assert rhat_limit(4, 1000) == 1.1


# --- verdicts ------------------------------------------------------------------------------------------------------


def test_independent_chains_agree(rng):
    found = posterior_of(independent_labels(rng, 4, 250, 60), log_joint=rng.normal(size=(4, 250))).diagnostics()
    assert found.converged is True
    assert found.problems == []
    assert found.state == "settled"
    assert found.verdict.startswith("Settled: 4 chains agree, R-hat at most 1.0")
    assert found.verdict.endswith(f"at least {int(found.fewest_effective)} effective draws.")
    assert found.fewest_effective > 400


def test_constants_that_are_equal_have_converged(rng):
    found = posterior_of(frozen([TWO] * 4)).diagnostics()
    assert found.converged is True
    assert found.verdict == "Settled: 4 chains agree; all draws are alike."
    assert found.table()["rhat"].tolist() == [1.0] * 4
    varied = posterior_of(frozen([TWO] * 4), log_joint=rng.normal(size=(4, 100))).diagnostics()
    assert varied.converged is True
    assert "nan" not in str(varied)


def test_constants_that_differ_have_not_converged(rng):
    found = posterior_of(frozen([TWO, TWO, TWO, FIVE]), log_joint=rng.normal(size=(4, 100))).diagnostics()
    assert found.state == "chains disagree"
    assert found.verdict.startswith("The chains disagree: on how row groups join")
    assert "2 and 5 clusters" in found.verdict
    table = found.table().set_index("quantity")
    assert table.loc["n_clusters", "rhat"] == np.inf
    # R-hat of one quantity alone would have let it pass.
    assert table.loc["log_joint", "rhat"] < 1.05
    assert found.by_chain()["n_clusters"].tolist() == [2.0, 2.0, 2.0, 5.0]
    assert any("number of clusters" in problem for problem in found.problems)


def test_equal_numbers_and_sizes_of_different_groups_are_found(rng):
    found = posterior_of(frozen([TWO, TWO, OTHER_TWO, OTHER_TWO]), log_joint=rng.normal(size=(4, 100))).diagnostics()
    assert found.largest_rhat < 1.05
    assert found.state == "chains disagree"
    assert "disagree: on how row groups join" in found.verdict
    assert len(found.problems) == 1


def test_a_count_that_wanders_while_groups_stay_is_told_so(rng):
    labels = frozen([TWO] * 4, 200)
    labels[0, 50:, 0] = 2  # one row alone, in three quarters of one chain
    found = posterior_of(labels, log_joint=rng.normal(size=(4, 200))).diagnostics()
    assert found.state == "chains disagree"
    assert "they group rows alike, but do not agree on the number of clusters" in found.verdict


def test_few_effective_draws_are_told(rng):
    slow = np.zeros((4, 2000))
    for t in range(1, 2000):
        slow[:, t] = 0.98 * slow[:, t - 1] + rng.normal(size=4)
    found = posterior_of(frozen([TWO] * 4, 2000), log_joint=slow).diagnostics()
    assert found.state == "too few draws"
    assert found.converged is False
    assert found.fewest_effective < 100
    assert found.verdict.startswith(f"Too few draws: 4 chains hold {int(found.fewest_effective)} effective draws")
    assert found.suggested["draws"] > 2000


def test_few_draws_are_never_called_settled(rng):
    for n_draws in (5, 10, 20, 24):
        found = posterior_of(frozen([TWO] * 4, n_draws), log_joint=rng.normal(size=(4, n_draws))).diagnostics()
        assert found.state == "too few draws"
        still = posterior_of(frozen([TWO] * 4, n_draws)).diagnostics()
        assert still.state == "too few draws"
        assert f"{4 * n_draws} draws, all alike" in still.verdict
    assert posterior_of(frozen([TWO] * 4, 25)).diagnostics().state == "settled"


def test_a_row_that_leaves_once_is_no_reason_to_go_on(rng):
    """Ten draws in a row, in one chain, put one row elsewhere: few effective draws of a probability that is small."""
    labels = frozen([TWO] * 4, 250)
    labels[2, 100:110, 0] = 2
    found = posterior_of(labels, log_joint=rng.normal(size=(4, 250))).diagnostics()
    count = next(each for each in found.quantities if each.name == "n_clusters")
    assert min(count.ess_bulk, count.ess_tail) < 150 < count.effective
    assert found.state == "settled"


def test_pairs_of_rows_that_change_slowly_keep_a_fit_from_being_settled():
    """Sizes and counts never change: only which rows are together does, three times in each chain."""
    labels = frozen([TWO] * 4, 400)
    for chain in range(4):
        for start in (50 + 10 * chain, 250 + 10 * chain):
            labels[chain, start : start + 100] = OTHER_TWO
    found = posterior_of(labels, log_joint=np.random.default_rng(0).normal(size=(4, 400))).diagnostics()
    assert found.fewest_effective == found.effective_pairs < 100
    assert found.state == "too few draws"


def test_what_ended_the_chains_is_told(rng):
    posterior = posterior_of(independent_labels(rng, 4, 250, 60), log_joint=rng.normal(size=(4, 250)))
    for spent, words in (("time", "stopped by max_seconds"), ("work", "the budget of work is spent")):
        posterior.draws = dataclasses.replace(posterior.draws, spent=spent)
        assert posterior.diagnostics().verdict.startswith(f"Settled ({words}): 4 chains agree")
    summary = posterior.diagnostics().summary()
    assert summary["state"] == "settled"
    assert summary["converged"] is True
    assert summary["effective_draws"] > 400


def test_one_chain_cannot_be_judged(rng):
    found = posterior_of(independent_labels(rng, 1, 200, 30)).diagnostics()
    assert found.converged is None
    assert found.verdict == "One chain: agreement cannot be judged; run at least 2 (better 4)."
    assert found.distance is None
    assert found.table().set_index("quantity").loc["entropy", "ess_bulk"] > 50
    assert np.isnan(found.table()["rhat"]).all()


def test_nothing_to_diagnose():
    single = posterior_of(frozen([TWO], 1)).diagnostics()
    assert (single.converged, single.verdict) == (None, "A single draw: there are no chains to compare.")
    assert str(single) == single.verdict
    assert single.table().empty
    for kind in ("optimum", "approximation"):
        found = posterior_of(frozen([TWO], 50), kind=kind).diagnostics()
        assert found.converged is None
        assert found.verdict.startswith("A single optimum" if kind == "optimum" else "An approximation")
    short = posterior_of(frozen([TWO, FIVE], 3)).diagnostics()
    assert short.converged is None
    assert short.verdict == "3 draws in each chain are too few to judge; run at least 100."


def test_shown_to_people(rng):
    awkward = posterior_of(
        independent_labels(rng, 2, 50, 30), hyperparameters={"<b>": rng.normal([[0.0], [3.0]], 1.0, size=(2, 50))}
    )
    found = awkward.diagnostics()
    assert "share of the largest cluster" in str(found)
    assert "<b>" not in found._repr_html_()
    assert "&lt;b&gt;" in found._repr_html_()
    assert list(found.table().columns[:1]) == ["quantity"]
    assert {"rhat", "ess_bulk", "ess_tail", "run_length", "dependence"} <= set(found.table().columns)
    told = posterior_of(frozen([TWO, FIVE])).diagnostics()
    assert "inf" in str(told)
    assert "<li>" in told._repr_html_()


# --- the warning of a fit ------------------------------------------------------------------------------------------


def test_chains_that_have_not_met_warn_where_they_were_fitted(rng):
    posterior = posterior_of(frozen([TWO, TWO, TWO, FIVE]))
    with pytest.warns(cl.ConvergenceWarning, match="^The chains disagree: on how row groups join") as caught:
        warn_if_unmixed(posterior, stacklevel=1)
    assert caught[0].filename == __file__
    assert issubclass(cl.ConvergenceWarning, UserWarning)
    with pytest.warns(cl.ConvergenceWarning, match="disagree: on how row groups join"):
        warn_if_unmixed(posterior_of(frozen([TWO, TWO, OTHER_TWO, OTHER_TWO])))
    with pytest.warns(cl.ConvergenceWarning, match=r"do not agree on the log joint \(R-hat"):
        warn_if_unmixed(posterior_of(frozen([TWO, TWO]), log_joint=rng.normal([[0.0], [2.0]], 1.0, size=(2, 100))))


def test_chains_that_agree_keep_quiet_and_load_nothing(rng, monkeypatch):
    for name in list(sys.modules):
        if name.partition(".")[0] in ("arviz", "arviz_stats"):
            monkeypatch.setitem(sys.modules, name, None)
    warn_if_unmixed(posterior_of(independent_labels(rng, 4, 250, 60), log_joint=rng.normal(size=(4, 250))))
    warn_if_unmixed(posterior_of(frozen([TWO] * 4)))
    warn_if_unmixed(posterior_of(frozen([TWO], 1)))
    warn_if_unmixed(posterior_of(frozen([TWO])))


def test_independent_draws_in_short_chains_do_not_warn(rng):
    for n_draws in (4, 5, 8, 20):
        for _ in range(25):
            log_joint = rng.standard_t(3, size=(4, n_draws))
            warn_if_unmixed(posterior_of(independent_labels(rng, 4, n_draws, 20, noise=0.02), log_joint=log_joint))


def test_fits(rng):
    X = np.concatenate([rng.normal(c, 1.0, (40, 2)) for c in (0.0, 12.0, 24.0)])
    good = cl.DPMixture(inference=cl.inference.CollapsedGibbs(draws=100, warmup=50), random_state=0).fit(X)
    assert good.posterior_.diagnostics().converged is True
    warn_if_unmixed(good.posterior_)
    stuck = cl.inference.CollapsedGibbs(draws=50, warmup=0, split_merge=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cl.ConvergenceWarning)
        bad = cl.DPMixture(inference=stuck, random_state=0).fit(X)
    assert bad.posterior_.diagnostics().converged is False
    with pytest.warns(cl.ConvergenceWarning):
        warn_if_unmixed(bad.posterior_)
