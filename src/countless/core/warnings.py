"""Warnings of the library, each with a class of its own so that it can be silenced or turned into an error."""

from __future__ import annotations

from sklearn.exceptions import ConvergenceWarning as _SklearnConvergenceWarning


class InterruptedFit(UserWarning):
    """A fit that was interrupted and kept what it had."""


class ConvergenceWarning(_SklearnConvergenceWarning):
    """Chains that have not met: the draws do not stand for the posterior yet.

    Also a ``sklearn.exceptions.ConvergenceWarning``, and so a ``UserWarning``: what silences that one silences this.

    Examples
    --------
    >>> import warnings
    >>> import countless as cl
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", cl.ConvergenceWarning)
    ...     model = cl.DPMixture(random_state=0).fit([[0.0], [0.1], [9.0], [9.1]])
    """
