"""Distributions of probability, each a module, and statistics of samples, by the names of jax.scipy.stats."""

from tenon import _repeated
from tenon.scipy.stats import (  # noqa: F401
    bernoulli, beta, betabinom, binom, cauchy, chi2, dirichlet, expon, gamma, gennorm, geom, gumbel_l,
    gumbel_r, laplace, logistic, multinomial, multivariate_normal, nbinom, norm, pareto, poisson, t,
    truncnorm, uniform, vonmises, wrapcauchy)
from tenon.scipy.stats._kde import gaussian_kde  # noqa: F401
from tenon.scipy.stats._samples import mode, rankdata, sem  # noqa: F401

__all__ = [
    "bernoulli", "beta", "betabinom", "binom", "cauchy", "chi2", "dirichlet", "expon", "gamma", "gaussian_kde", "gennorm",
    "geom", "gumbel_l", "gumbel_r", "laplace", "logistic", "mode", "multinomial", "multivariate_normal",
    "nbinom", "norm", "pareto", "poisson", "rankdata", "sem", "t", "truncnorm", "uniform", "vonmises",
    "wrapcauchy",
]

_repeated.public(globals())
