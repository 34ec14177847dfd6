"""Codes of observations, with the names of jax.scipy.cluster.vq."""

from tenon import _core
from tenon.numpy import asarray

__all__ = ["vq"]


def vq(obs, code_book, check_finite=True):
    """The number of the nearest row of the code book for each row of obs, and the distance to it.

    >>> [a.tolist() for a in vq([[0.0, 1.0]], [[5.0, 5.0], [0.0, 0.0]])]
    [[1], [1.0]]
    """
    return _core.tn.cluster.vq(asarray(obs), asarray(code_book))
