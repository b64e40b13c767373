"""Datasets: small tables that come with the package, and generators whose true clusters are known."""

from __future__ import annotations

from .gaussian_mixture import GaussianMixture, make_gaussian_mixture
from .generators import Sample, make_mixture
from .latent_attributes import LatentAttributesSample, make_latent_attributes
from .pletscher import PLETSCHER, Study, make_pletscher
from .raykov import make_raykov
from .tables import load_faithful, load_galaxies

__all__ = [
    "PLETSCHER",
    "GaussianMixture",
    "LatentAttributesSample",
    "Sample",
    "Study",
    "load_faithful",
    "load_galaxies",
    "make_gaussian_mixture",
    "make_latent_attributes",
    "make_mixture",
    "make_pletscher",
    "make_raykov",
]
