"""Tables that come with the package: small, public, and well known in the literature on mixtures."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def load_galaxies() -> pd.DataFrame:
    """Velocities of 82 galaxies in the Corona Borealis region.

    Clusters of velocities are clusters of galaxies in space, with voids between them. Since Roeder (1990) the table
    has been used to compare methods that infer the number of clusters; answers range from 3 to 9.

    Returns
    -------
    DataFrame, 82 rows
        One column, ``velocity``, in 1000 km/s, in increasing order.

    Notes
    -----
    Value 78 is 26.690. Postman et al. print 26.960; the misprint is kept because the literature on mixtures
    uses it.

    References
    ----------
    Postman, Huchra and Geller 1986, *Probes of large-scale structure in the Corona Borealis region*,
    Astronomical Journal 92, 1238-1247.
    Roeder 1990, *Density estimation with confidence sets exemplified by superclusters and voids in the
    galaxies*, Journal of the American Statistical Association 85, 617-624.

    Examples
    --------
    >>> import countless as cl
    >>> cl.datasets.load_galaxies().shape
    (82, 1)
    """
    return _load("galaxies.csv")


def load_faithful() -> pd.DataFrame:
    """Eruptions of the Old Faithful geyser: their duration and the waiting time to the next.

    Returns
    -------
    DataFrame, 272 rows
        Two columns in minutes: ``eruptions`` (length of the eruption) and ``waiting`` (time to the next).

    References
    ----------
    Azzalini and Bowman 1990, *A look at some data on the Old Faithful geyser*, Applied Statistics 39,
    357-365.
    Härdle 1991, *Smoothing techniques with implementation in S*, Springer.

    Examples
    --------
    >>> import countless as cl
    >>> cl.datasets.load_faithful().columns.tolist()
    ['eruptions', 'waiting']
    """
    return _load("faithful.csv")


def _load(name: str) -> pd.DataFrame:
    import pandas as pd

    with resources.files(__package__).joinpath("data", name).open("rb") as file:
        return pd.read_csv(file)
