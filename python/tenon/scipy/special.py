"""The functions of jax.scipy.special that are here, most of them by other names elsewhere too."""

import operator

import numpy as np

from tenon import _core, _repeated, nn
from tenon._library.special import (  # noqa: F401
    bernoulli, beta, betainc, betaln, boxcox, boxcox1p, dawsn, digamma, digamma as psi, entr, erfcx, exp1, expi, expn, fresnel, gamma,
    gammainc, gammaincc, gammasgn, hyp1f1, hyp2f1, i0, i0e, i1, i1e, kl_div, lgamma as gammaln, loggamma, logit, multigammaln, ndtr,
    ndtri, owens_t, poch, polygamma, rel_entr, sici, spence, wofz, xlog1py, xlogy, zeta)
from tenon.errors import ConcretizationError
from tenon.lax import erf, erf_inv as erfinv, erfc, logistic as expit  # noqa: F401
from tenon.nn import logsumexp  # noqa: F401


def softmax(x, axis=None):
    """exp(x) / sum(exp(x)) over axes, or all elements.

    >>> softmax([[0.0, 0.0], [0.0, 0.0]]).tolist()
    [[0.25, 0.25], [0.25, 0.25]]
    """
    return nn.softmax(x, axis)


def log_softmax(x, axis=None):
    """log(softmax(x, axis)), without overflow.

    >>> log_softmax([0.0, 1e4]).tolist()
    [-10000.0, 0.0]
    """
    return nn.log_softmax(x, axis)


def factorial(n, exact=False):
    """n! = Γ(n + 1), 0 of negative numbers.

    >>> round(float(factorial(4)), 12)
    24.0
    """
    if exact:
        raise NotImplementedError("factorial: exact=True is not here; factorial(n) is the nearest real number.")
    return _core.tn.special.factorial(n)


def comb(N, k, *, repetition=False):
    """The ways to choose k of N, N! / (k! (N - k)!): 0 where k or N - k is negative. With `repetition` those of N + k - 1.

    >>> float(comb(5, 2)), float(comb(5, 2, repetition=True))
    (10.0, 15.0)
    """
    return _core.tn.special.comb(N, k, repetition)


def log_ndtr(x, series_order=3):
    """log(ndtr(x)), without underflow. In float64 within 2e-15 of the value; `series_order` is not needed and has no effect.

    >>> round(float(log_ndtr(-100.0)), 3)
    -5005.524
    """
    return _core.tn.special.log_ndtr(x)


def bessel_jn(z, *, v, n_iter=50):
    """Bessel's functions of the first kind J₀(z) … J_v(z), along a new first axis: by a recurrence from the order `n_iter` down,
    which is to be beyond |z| by some 25.

    >>> bessel_jn(2.0, v=1).round(6).tolist()
    [0.223891, 0.576725]
    """
    return _core.tn.special.bessel_jn(z, v, n_iter)


def sph_harm_y(n, m, theta, phi, diff_n=None, n_max=None):
    """The spherical harmonic of degree n and order m, integers, at the colatitude `theta` and the longitude `phi`; complex. It
    is 0 where |m| > n. `n_max` is the largest degree, which a trace cannot look up: larger ones become it.

    >>> round(float(sph_harm_y(1, 0, 0.0, 0.0).real), 7)
    0.4886025
    """
    if diff_n is not None:
        raise NotImplementedError("sph_harm_y: diff_n is not here; take the derivative with tenon.jvp or tenon.jacfwd.")
    if n_max is None:
        if isinstance(n, _core.Array) and _core.is_traced(n):
            raise ConcretizationError("sph_harm_y: n is traced and its largest value not known; give n_max, the largest degree.")
        n_max = max(int(np.max(np.asarray(n), initial=0)), 0)
    return _core.tn.special.sph_harm_y(n, m, theta, phi, operator.index(n_max))


__all__ = [
    "bernoulli", "bessel_jn", "beta", "betainc", "betaln", "boxcox", "boxcox1p", "comb", "dawsn", "digamma",
    "entr", "erf", "erfc", "erfcx", "erfinv", "exp1", "expi", "expit", "expn", "factorial", "fresnel",
    "gamma", "gammainc", "gammaincc", "gammaln", "gammasgn", "hyp1f1", "hyp2f1", "i0", "i0e", "i1", "i1e",
    "kl_div", "log_ndtr", "log_softmax", "loggamma", "logit", "logsumexp", "multigammaln", "ndtr", "ndtri",
    "owens_t", "poch", "polygamma", "psi", "rel_entr", "sici", "softmax", "spence", "sph_harm_y", "wofz",
    "xlog1py", "xlogy", "zeta",
]

_repeated.public(globals())
