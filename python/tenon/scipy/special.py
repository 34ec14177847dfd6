"""The functions of jax.scipy.special that are here, most of them by other names elsewhere too."""

import math  # noqa: F401, of the examples
import operator

from tenon import _core
from tenon.lax import (  # noqa: F401
    bessel_i0e as i0e, bessel_i1e as i1e, betainc, digamma, erf, erf_inv as erfinv, erfc, igamma as gammainc,
    igammac as gammaincc, lgamma as gammaln, logistic as expit, polygamma, zeta)
from tenon.nn import log_softmax, logsumexp, softmax  # noqa: F401
from tenon.numpy import i0  # noqa: F401
from tenon.numpy._special import i1  # noqa: F401
from tenon.scipy._normal import log_ndtr, ndtr, ndtri  # noqa: F401

psi = digamma


def gamma(x):
    """Γ(x): infinite at 0, NaN at -1, -2, …

    >>> round(float(gamma(5.0)), 12)
    24.0
    """
    return _core.gamma(x)


def gammasgn(x):
    """The sign of Γ(x), NaN at -1, -2, …

    >>> float(gammasgn(-0.5))
    -1.0
    """
    return _core.gammasgn(x)


def factorial(n, exact=False):
    """n! = Γ(n + 1), 0 of negative numbers.

    >>> round(float(factorial(4)), 12)
    24.0
    """
    if exact:
        raise NotImplementedError("factorial: exact=True is not here; factorial(n) is the nearest real number.")
    return _core.factorial(n)


def poch(z, m):
    """Γ(z + m) / Γ(z), Pochhammer's symbol.

    >>> round(float(poch(3.0, 2.0)), 12)
    12.0
    """
    return _core.poch(z, m)


def multigammaln(a, d):
    """Σ log Γ(a - j/2) over j < d, and d (d - 1) / 4 · log π: the multivariate log-gamma function of d dimensions.

    >>> round(float(multigammaln(3.0, 2)), 6)
    1.550195
    """
    return _core.multigammaln(a, operator.index(d))


def beta(a, b):
    """Γ(a) Γ(b) / Γ(a + b).

    >>> round(float(beta(2.0, 3.0)) * 12, 12)
    1.0
    """
    return _core.beta(a, b)


def betaln(a, b):
    """log |B(a, b)|: of positive numbers without cancellation, however large.

    >>> round(float(betaln(1.0, 1e10)), 12) == round(-math.log(1e10), 12)
    True
    """
    return _core.betaln(a, b)


def xlogy(x, y):
    """x log y, and 0 where x is 0, whatever y is but NaN.

    >>> float(xlogy(0.0, 0.0))
    0.0
    """
    return _core.xlogy(x, y)


def xlog1py(x, y):
    """x log(1 + y), and 0 where x is 0, whatever y is but NaN.

    >>> float(xlog1py(0.0, -1.0))
    0.0
    """
    return _core.xlog1py(x, y)


def entr(x):
    """-x log x, and -∞ below 0.

    >>> round(float(entr(0.5)), 12) == round(math.log(2) / 2, 12)
    True
    """
    return _core.entr(x)


def rel_entr(p, q):
    """p log(p / q): 0 where p alone is 0, infinite where either is negative, or q alone is 0.

    >>> round(float(rel_entr(2.0, 1.0)), 12) == round(2 * math.log(2), 12)
    True
    """
    return _core.rel_entr(p, q)


def kl_div(p, q):
    """rel_entr(p, q) - p + q.

    >>> float(kl_div(1.0, 1.0))
    0.0
    """
    return _core.kl_div(p, q)


def logit(x):
    """log(x / (1 - x)), NaN outside of [0, 1].

    >>> float(logit(0.5))
    0.0
    """
    return _core.logit(x)


__all__ = [
    "beta", "betainc", "betaln", "digamma", "entr", "erf", "erfc", "erfinv", "expit", "factorial", "gamma",
    "gammainc", "gammaincc", "gammaln", "gammasgn", "i0", "i0e", "i1", "i1e", "kl_div", "log_ndtr",
    "log_softmax", "logit", "logsumexp", "multigammaln", "ndtr", "ndtri", "poch", "polygamma", "psi",
    "rel_entr", "softmax", "xlog1py", "xlogy", "zeta",
]
