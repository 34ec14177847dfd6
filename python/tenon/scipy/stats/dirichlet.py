"""Dirichlet's distribution of `alpha`, of vectors of positive numbers whose sum is 1; by the names of jax.scipy.stats.dirichlet."""

from tenon import _core
from tenon import numpy as tnp  # noqa: F401, of the examples

__all__ = ["logpdf", "pdf"]


def logpdf(x, alpha):
    """The logarithm of the density at x: x has its components along the first axis, all of them or all but the last, and `alpha` is a vector.

    >>> round(float(logpdf(tnp.array([0.25, 0.75]), tnp.array([1.5, 2.0]))), 6)
    0.340927
    """
    return _core.dirichlet_logpdf(x, alpha)


def pdf(x, alpha):
    """The density at x.

    >>> round(float(pdf(tnp.array([0.25, 0.75]), tnp.array([1.5, 2.0]))), 6)
    1.40625
    """
    return _core.exp(logpdf(x, alpha))
