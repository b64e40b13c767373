"""The report of a hidden Markov model: the sections of its page, and the picture that goes with it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.text import count
from ...plots import forecast, percent, render, states, transitions
from ...plots.parts.style import Picture, layout
from ...report import Page, Section, bars, chains, converged, fact, facts, heatmap, image, settings, table, unfinished

# Columns whose series are drawn, and sequences.
MOST_COLUMNS, MOST_SEQUENCES = 4, 3
FORECAST_STEPS = 30


def report_page(model: Any, title: str | None, command: str | None) -> Page:
    """The page of a fitted model: how many states and when, what they look like, what follows what, what comes next."""
    posterior = model.posterior_
    diagnostics = posterior.diagnostics()
    cards = [_how_many(model), _how_sure(model), converged(diagnostics), _how_long(model)]
    return Page(
        title or f"{count(len(model.labels_), 'step')}, {count(len(posterior.data.columns), 'column')}",
        f"{count(model.n_states_, 'state')} in {count(len(model.labels_), 'step')}",
        [
            facts(cards, [unfinished(posterior)]),
            _series(model),
            _state_table(model),
            _number(model),
            _matrix(model),
            _next(model),
            chains(posterior, diagnostics),
            settings(model, command),
        ],
    )


def _how_many(model: Any) -> dict[str, str]:
    posterior, k = model.posterior_, model.n_states_
    if not posterior.is_sampled:
        return fact("How many states?", str(k), f"A {posterior.kind.name}: other numbers were not weighed.", "plain")
    pmf = posterior.n_states_pmf()
    low, high = (int(np.quantile(posterior.n_states, q, method="inverted_cdf")) for q in (0.025, 0.975))
    span = f"{low}" if low == high else f"{low} to {high}"
    words = f"Probability {percent(pmf.get(k, 0.0))}; 95% of the draws have {span}."
    if model.bound_reached_:
        words += f" {percent(model.bound_reached_)} of the draws use every state that the engine allows."
    return fact("How many states?", str(k), words)


def _how_sure(model: Any) -> dict[str, str]:
    sure = np.asarray(model.certainty_.probability)
    share = float((sure >= 0.9).mean())
    return fact(
        "How sure is each step?", percent(float(sure.mean())), f"{percent(share)} of the steps are at least 90% sure."
    )


def _how_long(model: Any) -> dict[str, str]:
    lasts = np.asarray(model.expected_durations_)
    runs = np.sum(np.diff(model.labels_) != 0) + 1
    words = f"On average over states; {count(int(runs), 'visit')} in all."
    return fact("How long does a state last?", f"{float(lasts.mean()):,.1f} steps", words)


def pictures(model: Any) -> Any:
    """The series with their states, columns of the first sequence one under the other."""
    data = model.posterior_.data
    columns = min(len(data.names), MOST_COLUMNS)
    others = min(len(data.lengths), MOST_SEQUENCES) if columns == 1 else 1
    panels = [(j, s) for s in range(others) for j in range(columns)]
    figure = Picture(figsize=(8.8, 2.6 * len(panels) + 0.4), layout=layout())
    for at, (j, s) in enumerate(panels):
        states(model, j, s, figure.add_subplot(len(panels), 1, at + 1))
    return figure


def _series(model: Any) -> Section:
    data = model.posterior_.data
    note = (
        "The bands are states; the strip below each series shows how sure the steps are of them: full colour, certain; "
        "pale, not at all."
    )
    remarks = []
    if len(data.names) > MOST_COLUMNS:
        remarks.append(f"The first {MOST_COLUMNS} of {len(data.names)} columns.")
    if len(data.lengths) > 1:
        remarks.append(f"{count(len(data.lengths), 'sequence')} share these states.")
    if model.row_weight_ < 1.0:
        remarks.append(
            f"Rows are much like those before them, so each counts for {model.row_weight_:.3g} of a row (row_weight)."
        )
    words = f"Series with {count(model.n_states_, 'state')} as coloured bands."
    return image(
        "states", "Which state when?", render(pictures(model)), words, note=note, remarks=tuple(remarks), link="States"
    )


def state_rows(model: Any) -> tuple[list[str], list[list[Any]]]:
    """What each state is like, as a header and rows."""
    labels, sure = model.labels_, np.asarray(model.certainty_.probability)
    summaries = {each.label: each for each in model.posterior_.summaries(model.labels_, 3)}
    header = ["state", "steps", "share", "visits", "lasts (steps)", "sure", "what distinguishes it"]
    begins = np.append(True, np.diff(labels) != 0) | model.posterior_.data.problem().first
    rows = []
    for k in range(model.n_states_):
        mine = labels == k
        traits = "; ".join(trait.text for trait in summaries[k].traits)
        rows.append(
            [
                k,
                int(mine.sum()),
                percent(float(mine.mean())),
                int((begins & mine).sum()),
                round(float(model.expected_durations_[k]), 1),
                percent(float(sure[mine].mean())),
                traits,
            ]
        )
    return header, rows


def _state_table(model: Any) -> Section:
    header, rows = state_rows(model)
    return table("what", "What are the states like?", header, rows, link="Each state")


def _number(model: Any) -> Section | None:
    if not model.posterior_.is_sampled:
        return None
    pmf = model.posterior_.n_states_pmf()
    return bars("number", "How many states?", pmf, "states", model.n_states_, note="Posterior probabilities.")


def _matrix(model: Any) -> Section:
    names = [str(k) for k in range(model.n_states_)]
    return heatmap(
        "transitions",
        "What follows what?",
        model.transition_matrix_,
        names,
        [*names, "new"],
        "probability of the next state (columns) after each state (rows)",
        (0.0, 1.0),
        link="Transitions",
    )


def _next(model: Any) -> Section:
    picture: Any = forecast(model, FORECAST_STEPS).figure
    words = "The last steps and intervals for those to come."
    note = f"The next {FORECAST_STEPS} steps of {model.posterior_.data.names[0]!r}, from draws of the posterior."
    return image("next", "What comes next?", picture, words, note=note, link="Forecast")


def summary_figure(model: Any) -> Any:
    """One picture: the series of the first column, and what follows what."""
    figure = Picture(figsize=(9.0, 6.4), layout=layout())
    grid = figure.add_gridspec(2, 2, width_ratios=(1.0, 1.25))
    states(model, 0, 0, figure.add_subplot(grid[0, :]))
    transitions(model, figure.add_subplot(grid[1, 0]))
    forecast(model, FORECAST_STEPS, ax=figure.add_subplot(grid[1, 1]))
    return figure
