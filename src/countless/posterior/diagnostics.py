"""Whether a fit has settled: R-hat and effective draws of label-free quantities, and how chains group rows.

R-hat (rank-normalised, split) and effective draws (bulk and tail) are those of Vehtari et al. (``core.convergence``).
They are computed for quantities that do not depend on the numbering of clusters. As chains may agree on all of these
and still join different rows, pairs of rows are followed too, the chains' similarity matrices are compared
(``chain_distance``), and run lengths are those of Raftery and Lewis (``raftery``).
"""

from __future__ import annotations

import html
import shlex
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtri

from ..chains.rounds import followed
from ..core.convergence import bulk_effective, effective, event_effective, rank_rhat, tail_effective
from ..core.warnings import ConvergenceWarning
from .partition.chain_distance import ChainDistance
from .raftery import RafteryLewis, raftery_lewis

if TYPE_CHECKING:
    import pandas as pd

    from .posterior import Posterior

FloatArray = NDArray[np.float64]

# What a run is called in files, which may be moved with it.
ANY_RUN = "RUN"
# What a verdict may be.
SETTLED, TOO_FEW, DISAGREE = "settled", "too few draws", "chains disagree"
# A fit has settled where no R-hat reaches the first and there are as many effective draws as the second: probabilities
# are known to 0.05 then, one standard error.
SETTLED_RHAT = 1.05
FEW = 100
# R-hat^2 - 1 is about (number of half chains) / (effective draws): 1.1 says that a half chain is worth five independent
# draws, 1.3 that it is worth hardly more than one. Beyond the first chains disagree; at the second, beyond all that was
# ever recommended, a fit says so without being asked.
LARGEST_RHAT = 1.1
ALARMING_RHAT = 1.3
# Chains are too far apart where chance gives their distance less than once in a hundred times, and where it is worth
# mentioning: one pair of rows in twenty. A fit says so without being asked at twice what chance gives.
SMALLEST_DISTANCE = 0.05
ALARMING_DISTANCE = 2.0
# Effective draws that Vehtari et al. ask for: what a longer run aims at.
ENOUGH = 400
# Rows that are compared, in a report and at the end of each fit.
ROWS = 500
ROWS_AT_FIT = 100


class Quantity(NamedTuple):
    """One label-free quantity: its mean and deviation over all draws, and how well the chains know it.

    ``rhat`` is 1 for a quantity that is the same in all draws, and infinite where each chain holds another value;
    ``ess_bulk`` and ``ess_tail`` are NaN then. ``by_chain`` has the mean of each chain. ``effective`` is what counts:
    the fewer of both, and for a quantity that has one value nine times in ten those of an event
    (``core.convergence.event_effective``).
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
    effective: float = np.nan

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
    state : {"settled", "too few draws", "chains disagree"} or None
        Settled: R-hat below 1.05 and at least 100 effective draws of everything that is compared. The chains disagree:
        an R-hat above 1.1, or two chains too far apart. Too few draws: anything between. None where it cannot be
        judged: one chain, a handful of draws, a MAP or variational fit.
    converged : bool or None
        Whether it is settled; None where that cannot be judged.
    problems : list of str
        What speaks against it, one sentence each; empty otherwise.
    n_chains, n_draws : int
        Chains, and draws of each.
    quantities : tuple of Quantity
        Label-free quantities with their R-hat and effective draws, also as ``table()``.
    distance : ChainDistance or None
        How differently the chains put rows together, and how differently they would by chance.
    effective_pairs : float
        Fewest effective draws of whether two rows are together, over a random choice of pairs; NaN without a partition.
    suggested : dict
        Settings for a longer run, such as ``{"warmup": 1500, "draws": 3000}``; empty where none is needed.
    finding : str
        The verdict without the suggested settings, which end it.
    folder : str or None
        Folder of the run, where it is kept in one: there it can be continued.

    Examples
    --------
    >>> import countless as cl
    >>> model = cl.DPMixture(random_state=0).fit([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    >>> found = model.posterior_.diagnostics()
    >>> found.state, found.converged
    ('settled', True)
    >>> found.verdict[:23]
    'Settled: 4 chains agree'
    >>> found.table()["quantity"].tolist()[:2]
    ['n_clusters', 'log_joint']
    """

    finding: str
    state: str | None
    problems: list[str]
    n_chains: int
    n_draws: int
    quantities: tuple[Quantity, ...] = ()
    distance: ChainDistance | None = None
    suggested: Mapping[str, int] = field(default_factory=dict)
    effective_pairs: float = np.nan
    folder: str | None = None

    @property
    def converged(self) -> bool | None:
        """Whether the fit has settled."""
        return None if self.state is None else self.state == SETTLED

    @property
    def verdict(self) -> str:
        """One sentence, with how to go on in Python where the fit has not settled."""
        return self.sentence()

    def sentence(self, command_line: bool = False, run: str | None = None) -> str:
        """The verdict; where the fit has not settled, how to go on in Python or on the command line.

        A run that is kept in a folder goes on where it is; its warm-up stays. Otherwise settings of a longer run are
        suggested. ``run`` is what the folder is called, by default where it is.
        """
        if not self.suggested:
            return self.finding
        if self.folder is not None:
            n_draws = self.suggested["draws"]
            command = shlex.join(["countless", "resume", run or self.folder, "--draws", str(n_draws)])
            call = f"countless.io.resume({self.folder!r}, draws={n_draws})"
            return f"{self.finding}; go on with {command if command_line else call}."
        if command_line:
            settings = " ".join(f"--{name} {value}" for name, value in self.suggested.items())
        else:
            settings = ", ".join(f"{name}={value}" for name, value in self.suggested.items())
        return f"{self.finding}; run longer, for example {settings}."

    @property
    def disputed(self) -> str | None:
        """What the chains disagree on: which rows belong together, or else the quantity of largest R-hat."""
        if self.state != DISAGREE:
            return None
        if self.distance is not None and _too_far(self.distance):
            return "which rows belong together"
        return f"the {max(self.quantities, key=lambda each: each.rhat).words}"

    @property
    def largest_rhat(self) -> float:
        """The largest R-hat; NaN with one chain."""
        return max((each.rhat for each in self.quantities), default=np.nan)

    @property
    def fewest_effective(self) -> float:
        """Fewest effective draws over the quantities that vary and the pairs of rows; NaN where nothing varies."""
        found = [each.effective for each in self.quantities if not each.is_constant]
        return float(np.fmin(self.effective_pairs, min(found))) if found else np.nan

    def summary(self) -> dict[str, Any]:
        """What machines want to know: state, verdict, largest R-hat and fewest effective draws; None for unknown.

        Examples
        --------
        >>> import countless as cl
        >>> model = cl.DPMixture(inference="map", random_state=0).fit([[0.0], [0.1], [9.0], [9.1]])
        >>> model.posterior_.diagnostics().summary()["state"] is None
        True
        """
        rhat, effective = (
            value if np.isfinite(value) else None for value in (self.largest_rhat, self.fewest_effective)
        )
        return {
            "state": self.state,
            "converged": self.converged,
            "verdict": self.sentence(command_line=True, run=ANY_RUN),
            "rhat": rhat,
            "effective_draws": effective,
        }

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
            lines += ["", f"{'':30}{'mean':>11}{'R-hat':>8}{'bulk':>7}{'tail':>7}  draws for a 2.5% quantile to 0.005"]
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
    together = followed(posterior.draws.arrays, posterior.draws.fields).together
    pairs = min((event_effective(together[..., k]) for k in range(together.shape[-1])), default=np.nan)
    found = Diagnostics("", None, [], n_chains, n_draws, quantities, distance, effective_pairs=pairs)
    problems = _problems(found)
    state = DISAGREE if problems else SETTLED if _is_settled(found) else TOO_FEW
    say = {DISAGREE: _disagreement, SETTLED: _agreement, TOO_FEW: _shortage}[state]
    body, settings = say(found)
    made = max(posterior.draws.made, n_draws)
    suggested = {name: _round_number(times * made) for name, times in settings.items()}
    finding = f"{HEADS[state]}{SPENT.get(posterior.draws.spent, '')}: {body}"
    folder = None if posterior.folder is None else str(posterior.folder)
    return replace(found, finding=finding, state=state, problems=problems, suggested=suggested, folder=folder)


def warn_if_unmixed(posterior: Posterior, stacklevel: int = 2) -> None:
    """Warn, in one sentence, where the chains of a fit have plainly not met.

    That is where two chains group rows twice as differently as chance would have it, or where an R-hat exceeds 1.3:
    less strict than ``diagnostics``, as a fit should not call for attention where its chains agree and are merely
    short.

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
    if apart or any(rank_rhat(values) > limit for values in posterior.quantities().values()):
        found = diagnose(posterior)
        if found.state == DISAGREE:
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
    """R-hat and effective draws, where there is something to compute them from."""
    constant = bool(np.ptp(values) == 0.0)
    rhat = rank_rhat(values) if len(values) > 1 else np.nan
    bulk, tail = np.nan, np.nan
    if np.ptp(values, axis=1).any():
        bulk, tail = bulk_effective(values), tail_effective(values)
    mean, sd = (values[0, 0], 0.0) if constant else (values.mean(), values.std(ddof=1))
    length, by_chain = raftery_lewis(values), values.mean(axis=1)
    return Quantity(name, float(mean), float(sd), rhat, bulk, tail, length, by_chain, words, effective(values))


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


HEADS = {SETTLED: "Settled", TOO_FEW: "Too few draws", DISAGREE: "The chains disagree"}
SPENT = {"time": " (stopped by max_seconds)", "work": " (the budget of work is spent)"}


def _is_settled(found: Diagnostics) -> bool:
    fewest = found.fewest_effective
    enough = found.n_chains * found.n_draws >= FEW and (np.isnan(fewest) or fewest >= FEW)
    return bool(enough and found.largest_rhat < SETTLED_RHAT)


def _agreement(found: Diagnostics) -> tuple[str, dict[str, float]]:
    """What is said where the fit has settled."""
    chains = f"{found.n_chains} chains agree"
    if np.isnan(found.fewest_effective):
        return f"{chains}; all draws are alike.", {}
    return (
        f"{chains}, R-hat at most {found.largest_rhat:.2f}, at least {int(found.fewest_effective)} effective draws.",
        {},
    )


def _shortage(found: Diagnostics) -> tuple[str, dict[str, float]]:
    """What is said where chains do not disagree and are too short, and how much longer a run should be."""
    fewest = found.fewest_effective
    held = (
        f"{found.n_chains * found.n_draws} draws, all alike," if np.isnan(fewest) else f"{int(fewest)} effective draws,"
    )
    have = f"{found.n_chains} chains hold {held} R-hat at most {found.largest_rhat:.2f}"
    return f"{have} (at least {FEW} and below {SETTLED_RHAT} are needed)", {"draws": _times(found)}


def _disagreement(found: Diagnostics) -> tuple[str, dict[str, float]]:
    """On what chains disagree, and how much longer a run should be."""
    distance = found.distance
    worst = max(found.quantities, key=lambda each: each.rhat)
    rhat = f"R-hat {worst.rhat:.2f}" if np.isfinite(worst.rhat) else "each holds another value"
    times = _times(found)
    settings = {"warmup": times / 2.0} if worst.rhat > ALARMING_RHAT else {}
    settings["draws"] = times
    apart = distance is not None and distance.largest >= SMALLEST_DISTANCE
    if distance is not None and (_too_far(distance) or (apart and worst.rhat > ALARMING_RHAT)):
        one, other = (chain + 1 for chain in distance.furthest)
        clusters = next((each.by_chain for each in found.quantities if each.name == "n_clusters"), None)
        counts = (
            "" if clusters is None else f"; {clusters[one - 1]:.3g} and {clusters[other - 1]:.3g} clusters on average"
        )
        return (
            f"on how row groups join ({distance.largest:.0%} of the pairs that chain {one} or {other} joins are not "
            f"joined by both{counts})"
        ), settings
    grouped = "they group rows alike, but do not agree on" if distance is not None and not apart else "on"
    return f"{grouped} the {worst.words} ({rhat})", settings


def _times(found: Diagnostics) -> float:
    """How many times longer a run should be to have enough effective draws; two to ten times."""
    fewest = found.fewest_effective
    return float(np.clip(ENOUGH / fewest, 2.0, 10.0)) if np.isfinite(fewest) else 10.0


def _round_number(draws: float) -> int:
    """A number to one digit, at least 100."""
    digits = 10.0 ** np.floor(np.log10(draws))
    return max(100, int(np.ceil(draws / digits) * digits))
