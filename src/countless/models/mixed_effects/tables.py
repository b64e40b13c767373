"""Tables of a fitted model: effects of subjects, fixed effects, clusters, and what is true of all subjects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

FloatArray = NDArray[np.float64]


def effects_table(model: Any) -> pd.DataFrame:
    """Effects of each subject: mean, deviation and 95% interval, with columns (effect, statistic)."""
    import pandas as pd

    mean, covariance = model._given.moments_of_effects()
    low, high = np.quantile(model._effect_draws, [0.025, 0.975], axis=0)
    parts: dict[Any, Any] = {}
    for j, name in enumerate(model.feature_names_):
        spread = np.sqrt(covariance[:, j, j])
        columns = {"mean": mean[:, j], "sd": spread, "2.5%": low[:, j], "97.5%": high[:, j]}
        parts |= {(name, statistic): values for statistic, values in columns.items()}
    return pd.DataFrame(parts, index=pd.Index(model.subjects_, name="subject"))


def fixed_table(model: Any) -> pd.DataFrame:
    """Fixed effects: mean, deviation and 95% interval."""
    import pandas as pd

    data = model.posterior_.data
    drawn = model.posterior_.fixed.reshape(model.posterior_.n_draws, len(data.fixed_names))
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    columns = {"mean": drawn.mean(axis=0), "sd": drawn.std(axis=0), "2.5%": low, "97.5%": high}
    return pd.DataFrame(columns, index=pd.Index(data.fixed_names, name="column"))


def cluster_table(model: Any) -> pd.DataFrame:
    """Size of each cluster, its own noise, and mean, 95% interval and spread of the effects of its subjects."""
    import pandas as pd

    drawn = model._effect_draws
    noise = model.posterior_.noise_of_subjects() if model.posterior_.data.cluster_noise else None
    rows = []
    for k in range(model.n_clusters_):
        members = drawn[:, model.labels_ == k]
        means = members.mean(axis=1)
        row: dict[tuple[str, str], float] = {("", "size"): members.shape[1]}
        if noise is not None:
            mine = noise[:, model.labels_ == k].mean(axis=1)
            low, high = np.quantile(mine, [0.025, 0.975])
            row |= {("", "noise"): float(mine.mean()), ("", "noise 2.5%"): low, ("", "noise 97.5%"): high}
        for j, name in enumerate(model.feature_names_):
            low, high = np.quantile(means[:, j], [0.025, 0.975])
            spread = float(np.mean(members[:, :, j].std(axis=1)))
            row |= {(name, "mean"): float(means[:, j].mean()), (name, "2.5%"): low, (name, "97.5%"): high}
            row[name, "spread"] = spread
        rows.append(row)
    frame = pd.DataFrame(rows, index=pd.Index(range(model.n_clusters_), name="cluster"))
    frame.columns = pd.MultiIndex.from_tuples(list(rows[0]))
    return frame


def summary_table(model: Any) -> pd.DataFrame:
    """Means of the effects over subjects, fixed effects, deviations of effects over subjects, and noise."""
    import pandas as pd

    drawn = model._effect_draws
    lines: dict[str, FloatArray] = {}
    for j, name in enumerate(model.feature_names_):
        lines[f"mean of {name}"] = drawn[:, :, j].mean(axis=1)
    for a, name in enumerate(model.posterior_.data.fixed_names):
        lines[name] = model.posterior_.fixed[..., a].reshape(-1)
    for j, name in enumerate(model.feature_names_):
        lines[f"sd of {name}"] = drawn[:, :, j].std(axis=1)
    lines["sd of noise"] = np.sqrt(model.posterior_.noise.reshape(-1))
    table = {
        name: {
            "mean": values.mean(),
            "sd": values.std(),
            "2.5%": np.quantile(values, 0.025),
            "97.5%": np.quantile(values, 0.975),
        }
        for name, values in lines.items()
    }
    return pd.DataFrame(table).T


def summary_in_words(model: Any) -> tuple[list[str], list[list[str]]]:
    """Header and rows of the summary, as people read it."""
    rows = [
        [str(name), f"{line['mean']:.4g}", f"{line['sd']:.3g}", f"{line['2.5%']:.4g} to {line['97.5%']:.4g}"]
        for name, line in model.summary().iterrows()
    ]
    return ["", "mean", "sd", "95% interval"], rows
