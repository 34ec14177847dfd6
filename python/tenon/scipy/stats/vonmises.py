"""The von Mises distribution of angles, of concentration `kappa`; by the names of jax.scipy.stats.vonmises."""

from tenon import _core

__all__ = ["logpdf", "pdf"]


def logpdf(x, kappa, loc=0, scale=1):
    """The logarithm of the density at x: -∞ outside of the support, NaN where a parameter is not one.

    >>> round(float(logpdf(0.5, 2.0)), 6)
    -0.906705
    """
    return _core.distribution("vonmises", "logpdf", x, kappa, loc, scale)


def pdf(x, kappa, loc=0, scale=1):
    """The density at x.

    >>> round(float(pdf(0.5, 2.0)), 6)
    0.403853
    """
    return _core.distribution("vonmises", "pdf", x, kappa, loc, scale)
