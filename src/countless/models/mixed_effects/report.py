"""Sections that the report of mixed effects has besides those of every model."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...report import bars, image, table
from ...report.sections import Section
from . import figures
from .tables import summary_in_words

# Subjects of the table.
MOST_SUBJECTS = 500


def sections(model: Any, most_rows: int) -> list[Section | None]:
    """Trajectories, clusters, coefficients, number of clusters, effects, and the subjects."""
    posterior = model.posterior_
    found: list[Section | None] = [
        image(
            "trajectories",
            "Who develops alike?",
            picture_of(figures.trajectories(model)),
            "Outcomes of the subjects, coloured by cluster, with the mean of each cluster.",
        ),
        _clusters(model),
        _coefficients(model),
    ]
    if posterior.is_sampled:
        pmf = posterior.n_clusters_pmf()
        found.append(bars("number", "How many clusters?", pmf, "clusters", chosen=model.n_clusters_))
    found.append(
        image(
            "effects",
            "The effects",
            picture_of(figures.effects(model)),
            "Posterior means of the effects of the subjects, coloured by cluster.",
        )
    )
    found.append(
        image(
            "density",
            "How is it distributed?",
            picture_of(figures.density(model)),
            "Density of an effect in the population, and the part of each cluster in it.",
        )
    )
    found.append(_subjects(model, min(most_rows, MOST_SUBJECTS)))
    return found


def picture_of(ax: Any) -> Any:
    """The figure of some axes."""
    return ax.figure


def _clusters(model: Any) -> Section:
    frame = model.cluster_effects_
    names = model.feature_names_
    header = ["cluster", "subjects", "sure"]
    for name in names:
        header += [name, "95% interval", "spread"]
    own = model.posterior_.data.cluster_noise
    header += ["noise", "95% interval"] if own else []
    rows = []
    for k in range(model.n_clusters_):
        line = frame.loc[k]
        sure = float(np.mean(model.certainty_.probability[model.labels_ == k]))
        row: list[Any] = [str(k), int(line["", "size"]), f"{sure:.2f}"]
        for name in names:
            interval = f"{line[name, '2.5%']:.3g} to {line[name, '97.5%']:.3g}"
            row += [f"{line[name, 'mean']:.4g}", interval, f"{line[name, 'spread']:.3g}"]
        if own:
            interval = f"{line['', 'noise 2.5%']:.3g} to {line['', 'noise 97.5%']:.3g}"
            row += [f"{line['', 'noise']:.4g}", interval]
        rows.append(row)
    note = "Mean of each effect over the subjects of a cluster, and the deviation of its subjects about it."
    if own:
        note += " Noise: the variance of outcomes about the trajectory of their subject."
    return table("clusters", "What distinguishes the clusters?", header, rows, note=note)


def _coefficients(model: Any) -> Section:
    head, rows = summary_in_words(model)
    note = "Over all subjects, whatever their cluster."
    return table("summary", "Means, fixed effects and deviations", head, rows, note=note)


def _subjects(model: Any, most: int) -> Section:
    frame, sure = model.effects_, model.certainty_.probability
    header = ["subject", "cluster", "probability"]
    for name in model.feature_names_:
        header += [name, f"sd of {name}"]
    rows = []
    for i, subject in enumerate(model.subjects_[:most].tolist()):
        line = frame.iloc[i]
        row: list[Any] = [str(subject), int(model.labels_[i]), round(float(sure[i]), 3)]
        for name in model.feature_names_:
            row += [float(f"{line[name, 'mean']:.4g}"), float(f"{line[name, 'sd']:.3g}")]
        rows.append(row)
    n = len(model.subjects_)
    remarks = () if n <= most else (f"The first {most:,} of {n:,} subjects.",)
    return table("subjects", "Each subject", header, rows, remarks=remarks)
