"""The functions of jax.scipy.special that are here, most of them by other names elsewhere too."""

import math  # noqa: F401, of the examples
import operator

import numpy as np

from tenon import _core
from tenon.lax import (  # noqa: F401
    bessel_i0e as i0e, bessel_i1e as i1e, betainc, digamma, erf, erf_inv as erfinv, erfc, igamma as gammainc,
    igammac as gammaincc, lgamma as gammaln, logistic as expit, polygamma, zeta)
from tenon.nn import log_softmax, logsumexp, softmax  # noqa: F401
from tenon.numpy import i0  # noqa: F401
from tenon.numpy._special import i1  # noqa: F401

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


def loggamma(x):
    """The principal branch of log Γ(x) of real or complex x, with its cut along the negative numbers; of real x < 0 it is NaN.

    >>> round(float(loggamma(5.0)), 6)
    3.178054
    """
    return _core.loggamma(x)


def comb(N, k, *, repetition=False):
    """The ways to choose k of N, N! / (k! (N - k)!): 0 where k or N - k is negative. With `repetition` those of N + k - 1.

    >>> float(comb(5, 2)), float(comb(5, 2, repetition=True))
    (10.0, 15.0)
    """
    return _core.comb(N, k, bool(repetition))


def boxcox(x, lmbda):
    """(x^λ - 1) / λ, and log x where λ is 0: Box's and Cox's transformation, NaN for x < 0.

    >>> round(float(boxcox(4.0, 0.5)), 6)
    2.0
    """
    return _core.boxcox(x, lmbda)


def boxcox1p(x, lmbda):
    """boxcox(1 + x, lmbda), exact near x = 0.

    >>> round(float(boxcox1p(3.0, 0.5)), 6)
    2.0
    """
    return _core.boxcox1p(x, lmbda)


def erfcx(x):
    """exp(x²) erfc(x), without underflow. In float64 within 1e-15 of the value.

    >>> round(float(erfcx(10.0)), 8)
    0.05614099
    """
    return _core.erfcx(x)


def dawsn(x):
    """Dawson's integral exp(-x²) ∫ exp(t²) dt from 0 to x. In float64 within 1e-15 of the value.

    >>> round(float(dawsn(1.0)), 7)
    0.5380795
    """
    return _core.dawsn(x)


def wofz(z):
    """Faddeeva's function exp(-z²) erfc(-iz), of real or complex z; complex. In complex128 within 1e-14 of the value but near its
    zeros, which lie below the real axis.

    >>> complex(wofz(0.0))
    (1+0j)
    """
    return _core.wofz(z)


def ndtr(x):
    """The probability that a standard normal number is at most x. In float64 within 2e-15 of the value, in the tail too.

    >>> float(ndtr(0.0))
    0.5
    """
    return _core.ndtr(x)


def log_ndtr(x, series_order=3):
    """log(ndtr(x)), without underflow. In float64 within 2e-15 of the value; `series_order` is not needed and has no effect.

    >>> round(float(log_ndtr(-100.0)), 3)
    -5005.524
    """
    return _core.log_ndtr(x)


def ndtri(p):
    """The x with ndtr(x) = p. In float64 within 2e-15 of the value; NaN outside of [0, 1].

    >>> round(float(ndtri(1e-10)), 6)
    -6.361341
    """
    return _core.ndtri(p)


def owens_t(h, a):
    """Owen's T: the probability of x > h and 0 < y < ax, of standard normal numbers x and y.

    >>> round(float(owens_t(1.0, 1.0)), 8)
    0.06674188
    """
    return _core.owens_t(h, a)


def exp1(x):
    """The exponential integral ∫ exp(-t) / t dt from x on: infinite at 0, NaN below. In float64 within 1e-15 of the value.

    >>> round(float(exp1(1.0)), 7)
    0.2193839
    """
    return _core.exp1(x)


def expi(x):
    """The exponential integral ∫ exp(t) / t dt up to x, Cauchy's principal value. In float64 within 1e-15 of the value.

    >>> round(float(expi(1.0)), 6)
    1.895118
    """
    return _core.expi(x)


def expn(n, x):
    """∫ exp(-xt) / t^n dt from 1 on, of n = 0, 1, 2, … and x ≥ 0; NaN elsewhere. In float64 within 5e-15 of the value.
    Derivatives are in x.

    >>> round(float(expn(2, 1.0)), 7)
    0.1484955
    """
    return _core.expn(n, x)


def sici(x):
    """The sine and the cosine integral, ∫ sin(t) / t dt from 0 to x and -∫ cos(t) / t dt from |x| on. In float64 within 1e-15
    of 1, and the first of the value.

    >>> [round(float(y), 7) for y in sici(1.0)]
    [0.9460831, 0.3374039]
    """
    return _core.sici(x)


def fresnel(x):
    """Fresnel's integrals of sin(πt²/2) and cos(πt²/2) from 0 to x. In float64 within 1e-15 of the values.

    >>> [round(float(y), 7) for y in fresnel(1.0)]
    [0.4382591, 0.7798934]
    """
    return _core.fresnel(x)


def spence(x):
    """∫ log(t) / (1 - t) dt from 1 to x, the dilogarithm of 1 - x: NaN for x < 0. In float64 within 1e-15 of the value.

    >>> round(float(spence(0.0)) * 6, 12) == round(math.pi**2, 12)
    True
    """
    return _core.spence(x)


def bernoulli(n):
    """Bernoulli's numbers B₀, …, B_n, where B₁ is -1/2; float64.

    >>> bernoulli(2).round(6).tolist()
    [1.0, -0.5, 0.166667]
    """
    n = operator.index(n)
    if n < 0:
        raise ValueError(f"bernoulli: n is {n}; it is 0 at least.")
    return _core.bernoulli(n)


def hyp1f1(a, b, x):
    """Kummer's function ₁F₁(a; b; x), infinite where b is 0, -1, … before a ends the sum. In float64 within 1e-12 of the value
    where a and b are positive and below 10; digits are lost where b - a or a is large and negative.

    >>> round(float(hyp1f1(1.0, 2.0, 1.0)), 6)
    1.718282
    """
    return _core.hyp1f1(a, b, x)


def hyp2f1(a, b, c, x):
    """Gauss's function ₂F₁(a, b; c; x) of x < 1, and of x > 1 where a or b ends the sum; infinite elsewhere. In float64 within
    1e-13 of the value where parameters are positive and below 10; digits are lost near x = 1 where c - a - b is near to an
    integer and is none.

    >>> round(float(hyp2f1(1.0, 1.0, 2.0, 0.5)), 6)
    1.386294
    """
    return _core.hyp2f1(a, b, c, x)


def bessel_jn(z, *, v, n_iter=50):
    """Bessel's functions of the first kind J₀(z) … J_v(z), along a new first axis: by a recurrence from the order `n_iter` down,
    which is to be beyond |z| by some 25.

    >>> bessel_jn(2.0, v=1).round(6).tolist()
    [0.223891, 0.576725]
    """
    return _core.bessel_jn(z, operator.index(v), operator.index(n_iter))


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
            raise TypeError("sph_harm_y: n is traced and its largest value not known; give n_max, the largest degree.")
        n_max = max(int(np.max(np.asarray(n), initial=0)), 0)
    return _core.sph_harm_y(n, m, theta, phi, operator.index(n_max))


__all__ = [
    "bernoulli", "bessel_jn", "beta", "betainc", "betaln", "boxcox", "boxcox1p", "comb", "dawsn", "digamma",
    "entr", "erf", "erfc", "erfcx", "erfinv", "exp1", "expi", "expit", "expn", "factorial", "fresnel",
    "gamma", "gammainc", "gammaincc", "gammaln", "gammasgn", "hyp1f1", "hyp2f1", "i0", "i0e", "i1", "i1e",
    "kl_div", "log_ndtr", "log_softmax", "loggamma", "logit", "logsumexp", "multigammaln", "ndtr", "ndtri",
    "owens_t", "poch", "polygamma", "psi", "rel_entr", "sici", "softmax", "spence", "sph_harm_y", "wofz",
    "xlog1py", "xlogy", "zeta",
]
