"""The gamma function and its kin, the incomplete ones and their derivatives, by the names of JAX."""

from tenon import _core
from tenon._library.special import (
    betainc, digamma, gammainc as igamma, gammainc_grad_a as igamma_grad_a, gammaincc as igammac, lgamma, polygamma, zeta)

__all__ = ["betainc", "digamma", "igamma", "igamma_grad_a", "igammac", "lgamma", "polygamma", "random_gamma_grad", "zeta"]


def random_gamma_grad(a, x, *, dtype=None):
    """The derivative in a of a variate x of the gamma distribution of shape a, whose P(a, x) stays what it is.

    >>> round(float(random_gamma_grad(1.0, 1.0)), 6)
    1.173563
    """
    made = _core.tn.special.gamma_variate_grad(a, x)
    return made if dtype is None else _core.convert(made, dtype)
