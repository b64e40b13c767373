"""Whether chains have met: R-hat and effective draws of label-free quantities, and how chains group rows.

R-hat (rank-normalised, split) and effective draws (bulk and tail) are ArviZ's: Vehtari, Gelman, Simpson, Carpenter and
Buerkner (2021), *Rank-normalization, folding, and localization*. They are computed for quantities that do not depend on
the numbering of clusters. As chains may agree on all of these and still join different rows, the chains' similarity
matrices are compared too (``chain_distance``), and run lengths are those of Raftery and Lewis (``raftery``).
"""

from __future__ import annotations

import html
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtri

from ..core.warnings import ConvergenceWarning
from .partition.chain_distance import ChainDistance
from .raftery import RafteryLewis, raftery_lewis

if TYPE_CHECKING:
    import pandas as pd

    from .posterior import Posterior

FloatArray = NDArray[np.float64]

# R-hat^2 - 1 is about (number of half chains) / (effective draws): 1.1 says that a half chain is worth five independent
# draws, 1.3 that it is worth hardly more than one. The first is too few to rely on, and a matter of the length of the
# run; at the second, beyond all that was ever recommended, a fit says so without being asked.
LARGEST_RHAT = 1.1
ALARMING_RHAT = 1.3
# Chains are too far apart where chance gives their distance less than once in a hundred times, and where it is worth
# mentioning: one pair of rows in twenty. A fit says so without being asked at twice what chance gives.
SMALLEST_DISTANCE = 0.05
ALARMING_DISTANCE = 2.0
# Effective draws that Vehtari et al. ask for, and so few that probabilities are known to a tenth only.
ENOUGH = 400
FEW = 100
# Rows that are compared, in a report and at the end of each fit.
ROWS = 500
ROWS_AT_FIT = 100


class Quantity(NamedTuple):
    """One label-free quantity: its mean and deviation over all draws, and how well the chains know it.

    ``rhat`` is 1 for a quantity that is the same in all draws, and infinite where each chain holds another value;
    ``ess_bulk`` and ``ess_tail`` are NaN then. ``by_chain`` has the mean of each chain.
    """

    name: str
    mean: float
    sd: float
    rhat: float
    ess_bulk: float
    ess_tail: float
    run_length: RafteryLewis
    by_chain: FloatArray
    words: str

    @property
    def is_constant(self) -> bool:
        """Whether every draw of every chain has the same value."""
        return self.sd == 0.0


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """What the chains of a fit say about each other.

    Attributes
    ----------
    verdict : str
        One sentence.
    converged : bool or None
        Whether the draws can be relied on: no R-hat above 1.1, and no two chains too far apart. None where that
        cannot be judged: one chain, a handful of draws, a MAP or variational fit.
    problems : list of str
        What speaks against it, one sentence each; empty otherwise.
    n_chains, n_draws : int
        Chains, and draws of each.
    quantities : tuple of Quantity
        Label-free quantities with their R-hat and effective draws, also as ``table()``.
    distance : ChainDistance or None
        How differently the chains put rows together, and how differently they would by chance.
    suggested : dict
        Settings for a longer run, such as ``{"warmup": 1500, "draws": 3000}``; empty where none is needed.
    finding : str
        The verdict without the suggested settings, which end it.

    Examples
    --------
    >>> import countless as cl
    >>> model = cl.DPMixture(random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    >>> found = model.posterior_.diagnostics()
    >>> found.converged
    True
    >>> found.verdict[:20]
    'The 4 chains agree: '
    >>> found.table()["quantity"].tolist()[:2]
    ['n_clusters', 'log_joint']
    """

    finding: str
    converged: bool | None
    problems: list[str]
    n_chains: int
    n_draws: int
    quantities: tuple[Quantity, ...] = ()
    distance: ChainDistance | None = None
    suggested: Mapping[str, int] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        """One sentence, with suggested settings as arguments of an engine."""
        return self.sentence()

    def sentence(self, command_line: bool = False) -> str:
        """The verdict, with suggested settings as arguments (``draws=3000``) or as options (``--draws 3000``)."""
        if not self.suggested:
            return self.finding
        if command_line:
            return f"{self.finding} {' '.join(f'--{name} {value}' for name, value in self.suggested.items())}."
        return f"{self.finding} {', '.join(f'{name}={value}' for name, value in self.suggested.items())}."

    @property
    def largest_rhat(self) -> float:
        """The largest R-hat; NaN with one chain."""
        return max((each.rhat for each in self.quantities), default=np.nan)

    @property
    def fewest_effective(self) -> float:
        """Fewest effective draws, of bulk or tail, over the quantities that vary; NaN where none does."""
        found = [min(each.ess_bulk, each.ess_tail) for each in self.quantities if np.isfinite(each.ess_bulk)]
        return min(found, default=np.nan)

    def table(self) -> pd.DataFrame:
        """One row per quantity.

        ``run_length`` is the number of draws that Raftery and Lewis ask for (2.5% quantile to 0.005 with probability
        0.95), ``dependence`` how many times more that is than independent draws would need.
        """
        import pandas as pd

        columns = ["quantity", "mean", "sd", "rhat", "ess_bulk", "ess_tail", "run_length", "dependence"]
        rows = [(*each[:6], each.run_length.total, each.run_length.dependence) for each in self.quantities]
        return pd.DataFrame(rows, columns=columns)

    def by_chain(self) -> pd.DataFrame:
        """Means of the quantities in each chain, one row per chain, and its distance from the other chains."""
        import pandas as pd

        frame = pd.DataFrame({each.name: each.by_chain for each in self.quantities})
        if self.distance is not None:
            frame["distance"] = self.distance.between.sum(axis=1) / (self.n_chains - 1)
        frame.index = pd.RangeIndex(1, len(frame) + 1, name="chain")
        return frame

    def __str__(self) -> str:
        lines = [self.verdict, *(f"  * {problem}" for problem in self.problems)]
        if self.quantities:
            lines += ["", f"{'':30}{'mean':>11}{'R-hat':>8}{'bulk':>7}{'tail':>7}  draws needed"]
        for each in self.quantities:
            needed = "-" if each.run_length.is_constant else f"{each.run_length.total:.0f}"
            ess = "".join(f"{value:>7.0f}" if np.isfinite(value) else f"{'-':>7}" for value in each[4:6])
            rhat = f"{each.rhat:>8.2f}" if np.isfinite(each.rhat) else f"{'-' if np.isnan(each.rhat) else 'inf':>8}"
            lines.append(f"{each.words:30}{each.mean:>11.5g}{rhat}{ess}  {needed}")
        if self.distance is not None:
            lines += ["", _distance_words(self.distance)]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        problems = "".join(f"<li>{html.escape(problem)}</li>" for problem in self.problems)
        parts = [f"<p><strong>{html.escape(self.verdict)}</strong></p>", f"<ul>{problems}</ul>" if problems else ""]
        if self.quantities:
            parts.append(self.table().to_html(index=False, float_format="{:.4g}".format, border=0, na_rep=""))
        if self.distance is not None:
            parts.append(f"<p>{html.escape(_distance_words(self.distance))}</p>")
        return "".join(parts)


def diagnose(posterior: Posterior, rows: int = ROWS) -> Diagnostics:
    """Diagnose the chains of a posterior; ``Posterior.diagnostics`` is the way in."""
    n_chains, n_draws = posterior.shape
    nothing = _nothing_to_compare(posterior)
    if nothing is not None:
        return Diagnostics(nothing, None, [], n_chains, n_draws)
    quantities = tuple(
        _quantity(name, values, posterior.words(name)) for name, values in posterior.quantities().items()
    )
    if n_chains == 1:
        verdict = "One chain: agreement cannot be judged; run at least 2 (better 4)."
        return Diagnostics(verdict, None, [], n_chains, n_draws, quantities)
    distance = _largest_distance(posterior, rows)
    found = Diagnostics("", None, [], n_chains, n_draws, quantities, distance)
    problems = _problems(found)
    finding, suggested = _agreement(found) if not problems else _disagreement(found, distance)
    return Diagnostics(finding, not problems, problems, n_chains, n_draws, quantities, distance, suggested)


def warn_if_unmixed(posterior: Posterior, stacklevel: int = 2) -> None:
    """Warn, in one sentence, where the chains of a fit have plainly not met.

    That is where two chains group rows twice as differently as chance would have it, or where an R-hat exceeds 1.3:
    less strict than ``diagnostics``, as a fit should not call for attention where its chains agree and are merely
    short. Ranks are compared first; ArviZ is loaded where these look suspicious.

    Parameters
    ----------
    posterior : Posterior
    stacklevel : int
        As in ``warnings.warn``: 1 is the line that calls this function.

    Examples
    --------
    >>> import countless as cl
    >>> from countless.posterior.diagnostics import warn_if_unmixed
    >>> model = cl.DPMixture(random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    >>> warn_if_unmixed(model.posterior_)
    """
    n_chains, n_draws = posterior.shape
    if n_chains == 1 or _nothing_to_compare(posterior) is not None:
        return
    limit = rhat_limit(n_chains, n_draws, ALARMING_RHAT)
    distance = _largest_distance(posterior, ROWS_AT_FIT)
    apart = distance is not None and _too_far(distance, ALARMING_DISTANCE)
    if apart or any(_rank_ratio(values) > LARGEST_RHAT for values in posterior.quantities().values()):
        found = diagnose(posterior)
        if apart or found.largest_rhat > limit:
            warnings.warn(found.verdict, ConvergenceWarning, stacklevel=stacklevel + 1)


def rhat_limit(n_chains: int, n_draws: int, limit: float = LARGEST_RHAT) -> float:
    """``limit``, or what independent draws give once in ten thousand times where chains are so short that it is larger.

    With m half chains of n independent draws, n (R-hat^2 - 1) + 1 has the F distribution with m - 1 and m (n - 1)
    degrees of freedom.

    Examples
    --------
    >>> from countless.posterior.diagnostics import rhat_limit
    >>> rhat_limit(4, 250), round(rhat_limit(4, 10), 2)
    (1.1, 1.44)
    """
    m, n = 2 * n_chains, n_draws // 2
    chance = float(fdtri(m - 1, m * (n - 1), 1.0 - 1e-4))
    return max(limit, float(np.sqrt(1.0 + (chance - 1.0) / n)))


def _nothing_to_compare(posterior: Posterior) -> str | None:
    """Why there are no chains to judge, if there are none."""
    if not posterior.kind.has_chains:
        return posterior.kind.unable
    if posterior.n_draws == 1:
        return "A single draw: there are no chains to compare."
    n_draws = posterior.shape[1]
    return f"{n_draws} draws in each chain are too few to judge; run at least 100." if n_draws < 4 else None


def _largest_distance(posterior: Posterior, items: int) -> ChainDistance | None:
    """How differently chains group items, on the axis where they do so most; None where nothing is grouped."""
    found = [posterior.partition(axis).distance(items) for axis in posterior.partition_axes]
    return max(found, key=lambda each: each.largest - each.limit, default=None)


def _quantity(name: str, values: FloatArray, words: str) -> Quantity:
    """R-hat and effective draws by ArviZ, where there is something to compute them from."""
    from arviz_stats.base import array_stats

    constant = bool(np.ptp(values) == 0.0)
    rhat, bulk, tail = 1.0 if constant else np.inf, np.nan, np.nan
    # Halves of chains that stand still divide by zero on the way.
    with np.errstate(all="ignore"):
        if np.ptp(values, axis=1).any():
            bulk = float(array_stats.ess(values, method="bulk"))
            tail = float(array_stats.ess(values, method="tail", prob=(0.05, 0.95)))
            rhat = float(array_stats.rhat(values, method="rank"))
    if len(values) == 1:
        rhat = np.nan
    mean, sd = (values[0, 0], 0.0) if constant else (values.mean(), values.std(ddof=1))
    return Quantity(name, float(mean), float(sd), rhat, bulk, tail, raftery_lewis(values), values.mean(axis=1), words)


def _rank_ratio(values: FloatArray) -> float:
    """Split R-hat of plain ranks and of folded ranks: close to ArviZ's, without loading it."""
    return max(_split_ratio(_ranks(values)), _split_ratio(_ranks(np.abs(values - np.median(values)))))


def _ranks(values: FloatArray) -> FloatArray:
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - 0.5 * counts)[inverse.reshape(-1)].reshape(values.shape)


def _split_ratio(values: FloatArray) -> float:
    half = values.shape[1] // 2
    halves = np.concatenate([values[:, :half], values[:, -half:]])
    within, between = halves.var(axis=1, ddof=1).mean(), halves.mean(axis=1).var(ddof=1)
    if within == 0.0:
        return 1.0 if between == 0.0 else np.inf
    return float(np.sqrt((half - 1) / half + between / within))


def _too_far(distance: ChainDistance, times: float = 1.0) -> bool:
    return distance.largest >= max(SMALLEST_DISTANCE, times * distance.limit)


def _problems(found: Diagnostics) -> list[str]:
    problems = []
    if found.distance is not None and _too_far(found.distance):
        problems.append(_distance_words(found.distance))
    limit = rhat_limit(found.n_chains, found.n_draws)
    for each in found.quantities:
        if each.rhat > limit:
            means = ", ".join(f"{mean:.4g}" for mean in each.by_chain)
            problems.append(f"The {each.words} has an R-hat of {each.rhat:.2f}; means by chain: {means}.")
    return problems


def _distance_words(distance: ChainDistance) -> str:
    one, other = (chain + 1 for chain in distance.furthest)
    share, chance = _percent(distance.largest), _percent(distance.limit)
    return (
        f"Of the pairs of rows that chain {one} or chain {other} joins, {share} are joined by only one of them "
        f"(by chance up to {chance})."
    )


def _percent(share: float) -> str:
    if share < 0.0005:
        return "0%" if share == 0.0 else "less than 0.1%"
    return f"{share:.1%}" if share < 0.1 else f"{share:.0%}"


def _agreement(found: Diagnostics) -> tuple[str, dict[str, int]]:
    """The finding where chains agree, and settings for a longer run, which end the sentence."""
    fewest, rhat = found.fewest_effective, f"R-hat at most {found.largest_rhat:.2f}"
    if not np.isfinite(fewest):
        return f"The {found.n_chains} chains agree: all draws are alike.", {}
    if fewest < FEW:
        few = f"The {found.n_chains} chains agree ({rhat}), but hold only {int(fewest)} effective draws"
        return f"{few}; run longer, for example", {"draws": _longer(found)}
    text = f"The {found.n_chains} chains agree: {rhat}, at least {int(fewest)} effective draws"
    return (f"{text}.", {}) if fewest >= ENOUGH else (f"{text}; for finer probabilities", {"draws": _longer(found)})


def _disagreement(found: Diagnostics, distance: ChainDistance | None) -> tuple[str, dict[str, int]]:
    """The finding where chains disagree, and settings for a longer run, which end the sentence."""
    worst = max(found.quantities, key=lambda each: each.rhat)
    rhat = f"R-hat {worst.rhat:.2f}" if np.isfinite(worst.rhat) else "each holds another value"
    draws = _longer(found)
    settings = {"warmup": max(draws // 2, 100)} if worst.rhat > ALARMING_RHAT else {}
    settings["draws"] = draws
    apart = distance is not None and distance.largest >= SMALLEST_DISTANCE
    if distance is not None and (_too_far(distance) or (apart and worst.rhat > ALARMING_RHAT)):
        one, other = (chain + 1 for chain in distance.furthest)
        clusters = next((each.by_chain for each in found.quantities if each.name == "n_clusters"), None)
        counts = (
            "" if clusters is None else f"; {clusters[one - 1]:.3g} and {clusters[other - 1]:.3g} clusters on average"
        )
        finding = (
            f"The {found.n_chains} chains disagree on how row groups join ({distance.largest:.0%} of the pairs "
            f"that chain {one} or {other} joins are not joined by both{counts}); run longer, for example"
        )
        return finding, settings
    grouped = distance is not None and not apart
    start = "agree on how rows are grouped, but not yet on the" if grouped else "do not agree yet on the"
    return f"The {found.n_chains} chains {start} {worst.words} ({rhat}); run longer, for example", settings


def _longer(found: Diagnostics) -> int:
    """Draws of each chain that would give enough effective ones, to one digit; two to ten times as many as now."""
    fewest = found.fewest_effective
    draws = found.n_draws * (float(np.clip(ENOUGH / fewest, 2.0, 10.0)) if np.isfinite(fewest) else 10.0)
    digits = 10.0 ** np.floor(np.log10(draws))
    return int(np.ceil(draws / digits) * digits)
