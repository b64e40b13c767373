"""Tables: every verb is the sum over the parts, missing cells have no effect, blocks of Gaussians condition.

The verbs are asked in plain Python, part by part against families of one column or of the block alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import pytest
from scipy import stats

import countless as cl
from countless.families import FAMILIES, Poisson, Table, localise, verbs

from .cases import EXAMPLES, filled, statistics_of

# Families whose columns are independent, with three columns of an example each.
SEPARATE = [name for name, cls in FAMILIES.items() if cls.missing == "integrated"]


def _example(name):
    case = EXAMPLES[name][-1]
    return case.resolved(), np.concatenate([case.rows, case.new])


def _with_missing(rows, seed):
    incomplete = rows.copy()
    incomplete[np.random.default_rng(seed).random(rows.shape) < 0.3] = np.nan
    return incomplete


@pytest.fixture(params=SEPARATE)
def separate(request):
    """A table of one such family, and its rows with missing cells."""
    family, rows = _example(request.param)
    incomplete = _with_missing(rows, 3)
    table, read = Table({tuple(range(rows.shape[1])): family}).read(incomplete)
    return family, table.resolve(read), read


def _column_evidences(family, rows):
    return [family.one_column(j).log_marginal(cells[~np.isnan(cells)][:, None]) for j, cells in enumerate(rows.T)]


def test_every_family_with_the_verb_column_is_taken_apart():
    for name, cls in FAMILIES.items():
        hyper = type(_example(name)[0].prepare())
        assert verbs.is_implemented(verbs.column, hyper) == (cls.missing == "integrated"), name


class _Plain(NamedTuple):
    """Hyperparameters that implement no verb."""

    shape: np.ndarray
    rate: np.ndarray


@dataclass(frozen=True, eq=False)
class _Stranger(Poisson):
    """A family as a stranger might write it; the tests set ``missing`` and the type of its hyperparameters."""

    hyper: ClassVar = _Plain

    def prepare(self):
        return self.hyper(*super().prepare())


@pytest.fixture
def stranger():
    """Makes a family known for the time of one test."""

    def make(**attributes):
        return FAMILIES.add("stranger")(type("Stranger", (_Stranger,), attributes))

    yield make
    FAMILIES.remove("stranger")


def test_a_family_that_integrates_missing_cells_must_say_what_a_column_is(stranger, rng):
    rows = rng.poisson(3.0, (20, 2)).astype(float)
    model = cl.DPMixture(family=Table({(0, 1): stranger(missing="integrated")()}), inference="map", random_state=0)
    with pytest.raises(
        ValueError, match=r"^Stranger\.missing is 'integrated', but _Plain does not implement .*'column'"
    ):
        model.fit(rows)


@pytest.mark.parametrize("missing", ["drawn", "integrate", None])
def test_other_words_for_missing_cells_are_refused(stranger, rng, missing):
    table, rows = Table([stranger(missing=missing)()]).read(rng.poisson(3.0, (20, 1)).astype(float))
    with pytest.raises(ValueError, match=r"^Stranger\.missing must be 'integrated' or 'refused'"):
        table.resolve(rows).layout()


def test_a_column_without_a_word_on_missing_cells_is_a_block_of_the_table(stranger, rng):
    """The verb alone changes nothing: complete rows have the same evidence, missing cells are refused."""
    family = stranger(missing="refused", hyper=type(Poisson(1.0, 1.0).prepare()))()
    rows = rng.poisson(3.0, (20, 2)).astype(float)
    table, read = Table({(0, 1): family}).read(rows)
    assert table.log_marginal(rows) == pytest.approx(Poisson().log_marginal(rows), rel=1e-12)
    read[0, 0] = np.nan
    with pytest.raises(ValueError, match="missing cells, for which the stranger family has no rule"):
        table.check(read)


def test_a_missing_cell_of_one_new_row_is_no_zero(stranger, rng):
    """A row whose cell is missing has nothing else in that column; a family without zeros must not be shown one."""

    def check(self, X):
        if np.any(X <= 0):
            raise ValueError(f"X: stranger data must be above 0, got {X.min():g}")

    family = stranger(check=check, missing="integrated", hyper=type(Poisson(1.0, 1.0).prepare()))()
    rows = 1.0 + rng.poisson(3.0, (20, 2))
    table, _ = Table({(0, 1): family}).read(rows)
    resolved, new = table.resolve(rows), np.array([[np.nan, 2.0]])
    one = resolved.blocks[0].family.one_column(1)
    assert resolved.log_predictive(new, rows)[0] == pytest.approx(one.log_predictive([[2.0]], rows[:, 1:])[0])
    for bad in ([[np.nan, 0.0]], [[0.0, 2.0]]):
        with pytest.raises(ValueError, match="must be above 0, got 0"):
            resolved.check(np.array(bad))


def test_a_family_that_is_not_registered_says_so():
    with pytest.raises(ValueError, match=r"^_Stranger has no short name; put @register\('name'\)"):
        _Stranger.short_name()


def test_one_column_is_the_family_of_that_column(separate):
    family, _, rows = separate
    complete = np.ascontiguousarray(rows[~np.isnan(rows).any(axis=1)])
    together = family.log_marginal(complete)
    assert sum(_column_evidences(family, complete)) == pytest.approx(together, rel=1e-10)


def test_missing_cells_have_no_effect(separate):
    family, table, rows = separate
    assert np.isnan(rows).any()
    assert table.log_marginal(rows) == pytest.approx(sum(_column_evidences(family, rows)), rel=1e-10)


def test_predictive_is_a_ratio_of_evidences(separate):
    family, table, rows = separate
    expected = np.sum(_column_evidences(family, rows)) - np.sum(_column_evidences(family, rows[:-1]))
    assert table.log_predictive(rows[-1:], rows[:-1])[0] == pytest.approx(expected, rel=1e-8)


def test_rows_leave_without_a_trace(separate):
    _, table, rows = separate
    local, kernel_rows, _ = localise(table, rows)
    hyper, clusters = filled(local, kernel_rows[:-1])
    statistics, evidence = clusters.statistics.copy(), verbs.log_marginal(hyper, clusters.statistics, clusters.cache, 0)
    row = kernel_rows[-1]
    ahead = verbs.log_predictive(hyper, *clusters[:2], 0, row, clusters.work)
    verbs.add(hyper, *clusters[:2], 0, row, clusters.work)
    whole = verbs.log_marginal(hyper, clusters.statistics, clusters.cache, 0)
    assert whole - evidence == pytest.approx(ahead, rel=1e-8)
    assert verbs.log_predictive_without(hyper, *clusters[:2], 0, row, clusters.work) == pytest.approx(ahead, rel=1e-8)
    verbs.remove(hyper, *clusters[:2], 0, row, clusters.work)
    np.testing.assert_allclose(clusters.statistics, statistics, atol=1e-9)


def test_scores_of_all_clusters_are_those_of_each(separate):
    _, table, rows = separate
    local, kernel_rows, _ = localise(table, rows)
    hyper, clusters = local.prepare(), local.allocate(2)
    board = np.zeros((local.layout().board, 2))
    for k, part in enumerate((kernel_rows[:5], kernel_rows[5:10])):
        clusters.statistics[k] = statistics_of(hyper, part, clusters.statistics.shape[1]).sum(axis=0)
        verbs.refresh(hyper, *clusters[:2], k, clusters.work)
        verbs.publish(hyper, *clusters[:2], board, k)
    scores = np.array([0.3, -0.7])
    expected = [
        score + verbs.log_predictive(hyper, *clusters[:2], k, kernel_rows[-1], clusters.work)
        for k, score in enumerate(scores)
    ]
    verbs.add_log_predictives(hyper, *clusters[:2], board, 2, kernel_rows[-1], clusters.work, -np.inf, scores)
    np.testing.assert_allclose(scores, expected, rtol=1e-10)


def test_natural_parameters_give_the_likelihood_of_what_is_there(separate, rng):
    """Statistics times natural parameter is the log density: for a row with missing cells, of its other cells."""
    _, table, rows = separate
    local, kernel_rows, _ = localise(table, rows)
    hyper, clusters = filled(local, kernel_rows)
    parameters = np.zeros((1, local.layout().parameters))
    verbs.draw_parameters(hyper, *clusters[:2], 0, rng, parameters)
    natural = np.zeros(local.layout().statistics)
    verbs.natural(hyper, parameters, 0, natural)
    segment = next(one for one in local._segments if one.n_columns)
    starts = segment.part.prepare().starts[2]
    for row in kernel_rows[:4]:
        shown = 0.0
        for j, column in enumerate(segment.part.columns):
            if not np.isnan(row[j]):
                alone = column.prepare()
                work = np.zeros(2 * column.layout().statistics)
                shown += verbs.log_likelihood(alone, parameters[:, starts[j] : starts[j + 1]], 0, row[j : j + 1], work)
        statistics = statistics_of(hyper, row[None], len(natural))[0]
        assert statistics @ natural == pytest.approx(shown, rel=1e-9, abs=1e-9)


# --- the Gaussian block --------------------------------------------------------------------------------------------


def _block(n_columns=4):
    rng = np.random.default_rng(8)
    mixing = rng.normal(size=(n_columns, n_columns))
    rows = rng.normal(size=(25, n_columns)) @ mixing + rng.normal(size=n_columns)
    family = FAMILIES["gaussian"]().resolve(rows)
    table = Table({tuple(range(n_columns)): family}).read(rows)[0].resolve(rows)
    return family, table, rows


def _student_t(family, rows):
    """Predictive of the block given rows: location, shape matrix, degrees of freedom (Murphy 2007, section 9)."""
    n, d = rows.shape
    c, v = family.mean_strength + n, family.dof + n
    mean = (family.mean_strength * family.mean + rows.sum(axis=0)) / c
    centred = rows - rows.mean(axis=0)
    off = rows.mean(axis=0) - family.mean
    scale = family.scale + centred.T @ centred + family.mean_strength * n / c * np.outer(off, off)
    dof = v - d + 1
    return mean, scale * (c + 1) / (c * dof), dof


@pytest.mark.parametrize("missing", [[0], [3], [1, 2], [0, 2, 3]], ids=str)
def test_the_block_predicts_the_cells_that_are_there(missing):
    family, table, rows = _block()
    new = rows[-1:].copy() + 0.3
    new[0, missing] = np.nan
    seen = np.flatnonzero(~np.isnan(new[0]))
    mean, shape, dof = _student_t(family, rows)
    expected = stats.multivariate_t.logpdf(new[0, seen], mean[seen], shape[np.ix_(seen, seen)], dof)
    assert table.log_predictive(new, rows)[0] == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("missing", [[0], [1, 3], [0, 1, 2, 3]], ids=str)
def test_missing_cells_are_drawn_from_their_conditional(missing):
    """Means and covariances of 4,000 draws against the conditional of a Student-t (Ding 2016)."""
    family, table, rows = _block()
    rng = np.random.default_rng(1)
    local, kernel_rows, _ = localise(table, rows)
    shift, scale = table.units(rows)
    hyper, clusters = filled(local, kernel_rows)
    new = rows[3] + 1.5
    incomplete = new.copy()
    incomplete[missing] = np.nan
    row = local.widen(local.arrange(((incomplete - shift) / scale)[None]))[0]
    assert verbs.has_missing(hyper, row)
    draws = np.empty((4000, len(missing)))
    for t in range(len(draws)):
        verbs.draw_missing(hyper, *clusters[:2], 0, row, rng, clusters.work)
        draws[t] = row[missing] * scale[missing] + shift[missing]
    mean, shape, dof = _student_t(family, rows)
    seen = [j for j in range(4) if j not in missing]
    gain = shape[np.ix_(missing, seen)] @ np.linalg.inv(shape[np.ix_(seen, seen)])
    off = new[seen] - mean[seen]
    expected = mean[missing] + gain @ off
    square = off @ np.linalg.inv(shape[np.ix_(seen, seen)]) @ off
    left = shape[np.ix_(missing, missing)] - gain @ shape[np.ix_(seen, missing)]
    after = dof + len(seen)
    covariance = (dof + square) / after * left * after / (after - 2)
    error = np.sqrt(np.diag(covariance) / len(draws))
    assert np.all(np.abs(draws.mean(axis=0) - expected) < 4.5 * error)
    # The variance of a sample variance is about 2 / n times its square, and more for heavy tails.
    spread = np.var(draws, axis=0)
    assert np.all(np.abs(spread / np.diag(covariance) - 1) < 5 * np.sqrt(3 / len(draws)))
    np.testing.assert_array_equal(row[seen], ((new - shift) / scale)[seen])


def test_a_block_with_missing_has_no_evidence_in_closed_form():
    _, table, rows = _block()
    incomplete = rows.copy()
    incomplete[0, 0] = np.nan
    with pytest.raises(ValueError, match="no closed form"):
        table.log_marginal(incomplete)


# --- parts side by side ----------------------------------------------------------------------------------------------


def _mixed(rng, n=30):
    rows = np.column_stack(
        [
            rng.poisson(3, n),
            rng.normal(5, 2, n),
            rng.integers(0, 3, n),
            rng.normal(0, 3, n),
            rng.exponential(2.0, n),
            rng.normal(size=n),
        ]
    )
    kinds = {
        0: "poisson",
        1: "gaussian",
        2: "categorical",
        3: "gaussian",
        4: "exponential",
        5: "diagonal-gaussian",
    }
    table, read = Table(kinds).read(rows)
    return table.resolve(read), read


def test_evidence_is_the_product_over_blocks(rng):
    table, rows = _mixed(rng)
    parts = sum(block.family.log_marginal(rows[:, block.columns]) for block in table.blocks)
    assert table.log_marginal(rows) == pytest.approx(parts, rel=1e-10)


def test_columns_come_back_in_their_order(rng):
    table, rows = _mixed(rng)
    np.testing.assert_array_equal(table.restore(table.arrange(rows)), rows)
    drawn = table.sample(2000, rng, rows)
    assert set(np.unique(drawn[:, 2])) <= {0.0, 1.0, 2.0}
    assert np.all(drawn[:, 0] == np.floor(drawn[:, 0]))
    assert np.all(drawn[:, 4] > 0)
    assert drawn[:, 1].mean() == pytest.approx(rows[:, 1].mean(), abs=2.5)


def test_parameters_are_described_by_column(rng):
    table, rows = _mixed(rng)
    local, kernel_rows, _ = localise(table, rows)
    hyper, clusters = filled(local, kernel_rows)
    parameters = np.zeros((1, local.layout().parameters))
    verbs.draw_parameters(hyper, *clusters[:2], 0, rng, parameters)
    shift, scale = (table.arrange(row[None])[0] for row in table.units(rows))
    described = local.describe(parameters, shift, scale)
    assert described["column 0.rate"].shape == (1, 1)
    assert described["column 2.probabilities"].shape == (1, 3)
    assert described["gaussian.mean"][0] == pytest.approx(rows[:, [1, 3]].mean(axis=0), abs=3.0)
    assert described["gaussian.covariance"].shape == (1, 2, 2)
    assert table.n_parameters() == 1 + 2 + 1 + 2 + 5


def test_hyperparameters_are_called_by_their_block(rng):
    table, _ = _mixed(rng)
    sizes = table.tunable()
    assert {"poisson.rate", "gaussian.scale", "exponential.shape"} <= set(sizes)
    doubled = table.with_tuned({"poisson.rate": np.log(2.0)})
    assert doubled.tunable()["poisson.rate"] == pytest.approx(2 * sizes["poisson.rate"])
    assert doubled.tunable()["gaussian.scale"] == sizes["gaussian.scale"]
    with pytest.raises(ValueError, match="not learnable"):
        table.with_tuned({"poisson.colour": 1.0})


def test_defaults_are_set_from_the_cells_that_are_there(rng):
    rows = rng.normal(size=(400, 2)) @ [[1.0, 0.9], [0.0, 0.4]]
    incomplete = rows.copy()
    incomplete[rng.random(rows.shape) < 0.2] = np.nan
    whole = Table({(0, 1): FAMILIES["gaussian"]()}).read(rows)[0].resolve(rows).blocks[0].family
    table, read = Table({(0, 1): FAMILIES["gaussian"]()}).read(incomplete)
    family = table.resolve(read).blocks[0].family
    np.testing.assert_allclose(family.scale, whole.scale, rtol=0.2)


def test_families_without_a_rule_refuse_missing_cells(rng):
    rows = rng.multinomial(9, [0.2, 0.3, 0.5], size=20).astype(float)
    table, read = Table({(0, 1, 2): FAMILIES["multinomial"]()}).read(rows)
    resolved = table.resolve(read)
    assert resolved.log_marginal(rows) == pytest.approx(FAMILIES["multinomial"]().log_marginal(rows))
    rows[0, 0] = np.nan
    with pytest.raises(ValueError, match="no rule"):
        resolved.check(rows)
