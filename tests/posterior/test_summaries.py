"""Summaries of clusters against direct computation: sizes over draws, effects on one scale, words."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ttest_ind
from scipy.stats.contingency import odds_ratio

import countless as cl
from countless.families.columns import Column
from countless.posterior.data import Data
from countless.posterior.partition.certainty import row_certainty
from countless.posterior.partition.summaries import DEVIATIONS, sizes_in_draws, summaries_frame, summarise, traits

from .chains import independent_labels, posterior_of

NUMBER = Column("length", "diagonal-gaussian")


def one_column(column, cells, codes):
    """The traits of each cluster that one column gives."""
    return traits(np.asarray(cells, dtype=float)[:, None], (column,), np.asarray(codes))


def with_rows(rows, columns, labels):
    data = Data(np.asarray(rows, dtype=float), tuple(columns), cl.families.Gaussian(), cl.priors.CRP(1.0))
    return posterior_of(labels, data=data)


# --- sizes and probabilities ---------------------------------------------------------------------------------------


def test_sizes_are_those_of_the_clusters_that_hold_most_rows(rng):
    draws = independent_labels(rng, 1, 40, 30, groups=4, noise=0.4)[0]
    codes = np.arange(30) % 3
    low, high, probability = sizes_in_draws(codes, draws)
    for k in range(3):
        mine = np.flatnonzero(codes == k)
        sizes = []
        for draw in draws:
            held = {label: np.sum(draw[mine] == label) for label in np.unique(draw)}
            most = [label for label, count in held.items() if count == max(held.values())]
            sizes.append(min(np.sum(draw == label) for label in most))
        assert (low[k], high[k]) == (sorted(sizes)[0], sorted(sizes)[38])  # the first of 40 is 2.5%, the 39th 97.5%
        shares = []
        for draw in draws:
            for i in mine:
                companions = np.flatnonzero((draw == draw[i]) & (np.arange(30) != i))
                shares.append(np.mean(codes[companions] == k) if len(companions) else 0.0)
        assert probability[k] == pytest.approx(np.mean(shares), rel=1e-12)


def test_probability_is_the_mean_certainty_of_the_rows(rng):
    draws = independent_labels(rng, 1, 50, 30, groups=4, noise=0.4)[0]
    codes = np.repeat([0, 1, 2, 3], [12, 10, 7, 1])
    sure = row_certainty(codes, draws).probability
    expected = [sure[codes == k].mean() for k in range(4)]
    np.testing.assert_allclose(sizes_in_draws(codes, draws)[2], expected, rtol=1e-9, atol=1e-12)


def test_a_single_row_is_as_probable_as_it_is_alone():
    codes = np.array([0, 0, 0, 1])
    draws = np.array([[0, 0, 0, 1], [0, 0, 0, 0], [0, 0, 0, 1], [0, 1, 1, 1]])
    low, high, probability = sizes_in_draws(codes, draws)
    assert probability[1] == 0.5
    assert (low[1], high[1]) == (1, 4)


def test_merged_and_split_draws_widen_the_interval():
    codes = np.repeat([0, 1], 10)
    draws = np.array([codes] * 80 + [np.zeros(20, int)] * 10 + [np.repeat([0, 1, 2, 3], 5)] * 10)
    low, high, probability = sizes_in_draws(codes, draws)
    assert low.tolist() == [5, 5]
    assert high.tolist() == [20, 20]
    assert probability[0] == pytest.approx(0.8 + 0.1 * 9 / 19 + 0.1)


def test_a_single_partition_has_no_interval():
    posterior = with_rows(np.arange(6.0)[:, None], [NUMBER], np.zeros((1, 1, 6), int))
    first, second = summarise(posterior.data, posterior.flat_labels(), [0, 0, 0, 1, 1, 1])
    assert (first.size, first.size_low, first.size_high) == (3, 3, 3)
    assert second.label == 1


# --- numbers -------------------------------------------------------------------------------------------------------


def test_standardised_difference_of_two_clusters_is_that_of_the_t_test(rng):
    """With two clusters the pooled deviation is the t test's: t = d / sqrt(1 / n + 1 / m)."""
    cells = np.concatenate([rng.normal(0.0, 2.0, 30), rng.normal(3.0, 2.0, 50)])
    codes = np.repeat([0, 1], [30, 50])
    ((first,), (second,)) = one_column(NUMBER, cells, codes)
    t = ttest_ind(cells[:30], cells[30:]).statistic
    assert first.effect / first.error == pytest.approx(t, rel=1e-9)
    assert first.error == pytest.approx(np.sqrt(1 / 30 + 1 / 50), rel=1e-12)
    assert second.effect == pytest.approx(-first.effect, rel=1e-12)
    assert first.value == pytest.approx(cells[:30].mean(), rel=1e-12)
    assert first.others == pytest.approx(cells[30:].mean(), rel=1e-12)
    assert first.overall == pytest.approx(cells.mean(), rel=1e-12)


def test_three_clusters_share_the_deviation_within_them(rng):
    codes = np.repeat([0, 1, 2], [20, 30, 40])
    cells = rng.normal(np.array([0.0, 5.0, 50.0])[codes], 1.0)
    found = one_column(NUMBER, cells, codes)
    within = np.sqrt(sum(np.sum((cells[codes == k] - cells[codes == k].mean()) ** 2) for k in range(3)) / 87)
    for k in range(3):
        expected = (cells[codes == k].mean() - cells[codes != k].mean()) / within
        assert found[k][0].effect == pytest.approx(expected, rel=1e-9)


def test_effects_do_not_depend_on_units(rng):
    codes = rng.integers(3, size=60)
    cells = rng.normal(codes, 1.0)
    plain = [each[0].effect for each in one_column(NUMBER, cells, codes)]
    moved = [each[0].effect for each in one_column(NUMBER, 1e9 + 1e-3 * cells, codes)]
    np.testing.assert_allclose(moved, plain, rtol=1e-3)


def test_a_column_without_deviation_within_clusters_is_finite_and_first(rng):
    codes = np.repeat([0, 1], 20)
    rows = np.column_stack([rng.normal(codes, 1.0), 2.0 + 5.0 * codes])
    found = traits(rows, (NUMBER, Column("kind", "diagonal-gaussian")), codes)
    assert [trait.column for trait in found[0]] == ["kind", "length"]
    assert np.isfinite(found[0][0].effect)


def test_constant_columns_and_single_clusters_say_nothing():
    assert one_column(NUMBER, np.ones(6), [0, 0, 0, 1, 1, 1]) == [[], []]
    assert one_column(NUMBER, np.arange(6.0), np.zeros(6, int)) == [[]]
    assert one_column(NUMBER, np.full(6, np.nan), [0, 0, 0, 1, 1, 1]) == [[], []]


# --- counts, categories, shares ------------------------------------------------------------------------------------


def haldane(x, n, y, m):
    """Log odds ratio and its error from scipy, one half added to each count (doubled, as scipy takes whole numbers)."""
    table = 2 * np.array([[x, n - x], [y, m - y]]) + 1
    return float(np.log(odds_ratio(table, kind="sample").statistic)), float(np.sqrt(np.sum(2.0 / table)))


def test_categories_are_told_by_their_log_odds():
    column = Column("sex", "categorical", ("female", "male"))
    cells = np.repeat([0, 1, 0, 1], [28, 2, 6, 44])
    codes = np.repeat([0, 0, 1, 1], [28, 2, 6, 44])
    ((first,), (second,)) = one_column(column, cells, codes)
    ratio, error = haldane(28, 30, 6, 50)
    assert (first.level, second.level) == ("female", "male")
    assert first.effect == pytest.approx(ratio * np.sqrt(3) / np.pi, rel=1e-12)
    assert first.error == pytest.approx(error * np.sqrt(3) / np.pi, rel=1e-12)
    assert first.text == "sex: female 93% (others 12%)"
    assert first.overall == pytest.approx(34 / 80)


def test_the_level_is_the_one_that_tells_most_not_the_rarest():
    column = Column("kind", "categorical", ("a", "b", "rare"))
    codes = np.repeat([0, 1], [40, 400])
    cells = np.concatenate([np.repeat([0, 1, 2], [35, 4, 1]), np.repeat([0, 1], [40, 360])])
    rare, common = haldane(1, 40, 0, 400), haldane(35, 40, 40, 400)
    assert rare[0] > 0.7 * common[0]
    assert rare[0] - rare[1] < common[0] - common[1]
    assert one_column(column, cells, codes)[0][0].level == "a"
    absent = np.concatenate([np.repeat([0, 1], [20, 20]), np.repeat([0, 1, 2], [60, 60, 280])])
    found = one_column(column, absent, codes)[0][0]
    assert found.level == "rare"
    assert found.text == "kind: not rare 100% (others 30%)"
    assert found.effect < 0.0


def test_levels_of_a_few_rows_are_not_what_a_cluster_is_like():
    column = Column("kind", "categorical", ("a", "b", "few"))
    codes = np.repeat([0, 1], [20, 400])
    cells = np.concatenate([np.repeat([0, 1, 2], [14, 4, 2]), np.repeat([0, 1], [120, 280])])
    few, common = haldane(2, 20, 0, 400), haldane(14, 20, 120, 400)
    assert few[0] - few[1] > common[0] - common[1]
    assert one_column(column, cells, codes)[0][0].text == "kind: a 70% (others 30%)"


def test_a_single_row_without_a_rare_level_is_no_news():
    """Halves added to one row make its share of anything at least a quarter."""
    column = Column("kind", "categorical", ("a", "rare"))
    found = one_column(column, np.concatenate([[0], np.repeat([0, 1], [95, 5])]), np.repeat([0, 1], [1, 100]))
    assert haldane(0, 1, 5, 100)[0] > 0.0
    assert found[0][0].effect == 0.0
    assert found[0][0].certain < 0.0


def test_a_level_that_is_everywhere_or_nowhere_is_finite():
    column = Column("kind", "categorical", ("a", "b", "never"))
    found = one_column(column, [0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 1])
    assert found[0][0].effect == pytest.approx(haldane(3, 3, 0, 3)[0] * DEVIATIONS, rel=1e-12)
    assert one_column(column, np.zeros(6), [0, 0, 0, 1, 1, 1]) == [[], []]


def test_zeros_and_ones_are_shares_whatever_the_family():
    codes = np.repeat([0, 1], [10, 30])
    cells = np.concatenate([np.repeat([1, 0], [9, 1]), np.repeat([1, 0], [6, 24])])
    found = one_column(Column("flies", "bernoulli"), cells, codes)[0][0]
    assert found.level is None
    assert found.text == "flies 90% (others 20%)"
    assert found.effect == pytest.approx(haldane(9, 10, 6, 30)[0] * DEVIATIONS, rel=1e-12)


def test_counts_are_told_by_the_ratio_of_their_rates(rng):
    codes = np.repeat([0, 1], [40, 60])
    cells = rng.poisson(np.where(codes == 0, 4.0, 1.0))
    found = one_column(Column("children", "poisson"), cells, codes)[0][0]
    a, b = cells[codes == 0].sum() + 0.5, cells[codes == 1].sum() + 0.5
    assert found.effect == pytest.approx(np.log((a / 40) / (b / 60)) * DEVIATIONS, rel=1e-12)
    assert found.error == pytest.approx(np.sqrt(1 / a + 1 / b) * DEVIATIONS, rel=1e-12)
    assert found.value == pytest.approx(cells[:40].mean())
    none = one_column(Column("children", "poisson"), np.repeat([3, 0], [40, 60]), codes)
    assert np.isfinite(none[1][0].effect)
    assert none[1][0].text == "children 0.0 (others 3.0)"


def test_words_are_told_by_their_share_of_all_words():
    """Twice as many words of every kind are no difference."""
    columns = (Column("goal", "multinomial"), Column("vote", "multinomial"), Column("the", "multinomial"))
    rows = np.array([[4.0, 0, 6], [8, 0, 12], [0, 3, 7], [0, 6, 14]])
    found = traits(rows, columns, np.array([0, 0, 1, 1]))
    assert {trait.column for trait in found[0][:2]} == {"goal", "vote"}
    by_name = {trait.column: trait for trait in found[0]}
    assert by_name["the"].value == pytest.approx(0.6)
    assert by_name["goal"].effect == pytest.approx(haldane(12, 30, 0, 30)[0] * DEVIATIONS, rel=1e-12)
    assert by_name["goal"].text == "goal 40% (others 0%)"
    longer = traits(np.array([[4.0, 4, 2], [8, 8, 4], [40, 40, 20]]), columns, np.array([0, 1, 1]))
    assert max(abs(trait.effect) for trait in longer[0]) < 0.1


# --- missing cells -------------------------------------------------------------------------------------------------


def test_missing_cells_are_left_out(rng):
    codes = np.repeat([0, 1], 30)
    cells = rng.normal(codes, 1.0)
    holes = np.where(rng.random(60) < 0.1, np.nan, cells)
    kept = ~np.isnan(holes)
    with_holes = [each[0] for each in one_column(NUMBER, holes, codes)]
    without = [each[0] for each in one_column(NUMBER, cells[kept], codes[kept])]
    assert with_holes == without
    column = Column("kind", "categorical", ("a", "b"))
    letters = np.array([0, 0, np.nan, 1, 1, np.nan])
    found = one_column(column, letters, [0, 0, 0, 1, 1, 1])
    assert found[0][0].value == 1.0
    assert found[0][0].effect == pytest.approx(haldane(2, 2, 0, 2)[0] * DEVIATIONS, rel=1e-12)


def test_missing_cells_are_a_trait_where_they_are_striking(rng):
    codes = np.repeat([0, 1], 50)
    cells = rng.normal(size=100)
    cells[:30] = np.nan
    found = {trait.level: trait for trait in one_column(NUMBER, cells, codes)[0]}
    assert found["missing"].text == "length missing 60% (others 0%)"
    assert found["missing"].effect == pytest.approx(haldane(30, 50, 0, 50)[0] * DEVIATIONS, rel=1e-12)
    assert one_column(NUMBER, cells, codes)[0][0].level == "missing"
    few = rng.normal(size=100)
    few[[0, 1, 60]] = np.nan
    assert [trait.level for trait in one_column(NUMBER, few, codes)[0]] == [None]


def test_a_cluster_without_a_known_cell_has_no_trait_but_that():
    cells = np.concatenate([np.full(40, np.nan), np.linspace(0, 1, 40), np.linspace(2, 3, 40)])
    found = one_column(NUMBER, cells, np.repeat([0, 1, 2], 40))
    assert [trait.level for trait in found[0]] == ["missing"]
    assert found[1][-1].level is None or found[1][0].level is None


# --- order, words, ways in -----------------------------------------------------------------------------------------


def test_traits_are_ordered_by_what_is_certain_of_them(rng):
    codes = np.repeat([0, 1], [50, 150])
    strong, weak = rng.normal(3.0 * codes, 1.0), rng.normal(1.0 * codes, 1.0)
    rows = np.column_stack([weak, strong, rng.integers(2, size=200), rng.normal(size=200)])
    columns = (Column("weak", "g"), Column("strong", "g"), Column("level", "c", ("a", "b")), Column("noise", "g"))
    for found in traits(rows, columns, codes):
        assert [trait.column for trait in found[:2]] == ["strong", "weak"]
        rest = [trait.certain for trait in found]
        assert rest == sorted(rest, reverse=True)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([1.462, 4.906, 0.17], "length 1.46 (others 4.91)"),
        ([1985.2, 1990.9, 3.0], "length 1985.2 (others 1990.9)"),
        ([52012.0, 31871.0, 14000.0], "length 52012 (others 31871)"),
        ([0.0000123, 0.0000456, 0.000002], "length 1.23e-05 (others 4.56e-05)"),
    ],
)
def test_numbers_are_shown_with_the_digits_that_mean_something(values, text):
    mine, others, deviation = values
    z = np.linspace(-1.0, 1.0, 51)
    z *= deviation / np.sqrt(np.sum(z**2) / 50)
    found = one_column(NUMBER, np.concatenate([mine + z, others + z]), np.repeat([0, 1], 51))
    assert found[0][0].text == text


def test_labels_of_any_numbers_and_a_frame(rng):
    labels = np.where(np.arange(20) < 8, 7, -1)
    draws = np.tile(np.where(labels == 7, 0, 1), (2, 10, 1))
    posterior = with_rows(rng.normal(labels, 1.0)[:, None], [NUMBER], draws)
    found = posterior.summaries(labels)
    assert [(each.label, each.size, each.size_low, each.size_high, each.probability) for each in found] == [
        (-1, 12, 12, 12, 1.0),
        (7, 8, 8, 8, 1.0),
    ]
    frame = posterior.summaries_frame(labels)
    assert frame.columns.tolist() == ["label", "size", "size_low", "size_high", "probability", "traits"]
    assert frame["traits"][0] == found[0].traits[0].text
    assert summaries_frame(found).equals(frame)
    assert str(found[1]).startswith("cluster 7: 8 rows, probability 1.00: length ")
    assert posterior.summaries(labels, most_traits=0)[0].traits == []


def test_a_fit_is_summarised_by_its_consensus():
    model = cl.DPMixture("gaussian", random_state=0).fit(cl.datasets.load_faithful())
    found = model.posterior_.summaries()
    np.testing.assert_array_equal([each.size for each in found], np.bincount(model.labels_))
    assert {trait.column for trait in found[0].traits} == {"eruptions", "waiting"}
    for each in found:
        assert each.size_low <= each.size <= each.size_high
        assert 0.8 < each.probability <= 1.0


def test_errors_are_one_sentence(rng):
    bare = posterior_of(independent_labels(rng, 1, 3, 6))
    with pytest.raises(
        ValueError, match=r"^summaries: this posterior has no table of rows; use the posterior_ of a fitted model$"
    ):
        bare.summaries(np.zeros(6, int))
    posterior = with_rows(np.arange(6.0)[:, None], [NUMBER], np.zeros((1, 3, 6), int))
    for wrong in (np.zeros(5, int), np.zeros(6), np.zeros((6, 1), int)):
        with pytest.raises(ValueError, match=r"^labels must be 6 whole numbers, one per row, got shape"):
            posterior.summaries(wrong)
