"""The gamma function and its kin: lgamma, digamma, polygamma, and Hurwitz's zeta."""

import functools
import math

from tenon import _core
from tenon._checks import whole
from tenon import numpy as tnp
from tenon.numpy._special import _chebyshev, _exact_to, _in_single, _real, _with_slopes

__all__ = ["digamma", "lgamma", "polygamma", "zeta"]

# For 1 ≤ x ≤ 3 in Chebyshev's polynomials of x - 2: log Γ(x) / ((x - 1)(x - 2)), and ψ(x) / (x - its zero); the terms
# above 2e-18, from values at the polynomials' zeros to 40 digits.
_LOG_GAMMA = [
    0.44148902545501423, -0.11119580321752523, 0.01951044826068884, -0.003922461463025264, 0.0008478989895953857,
    -0.00019153855341365593, 4.454470184975607e-05, -1.05728743735943e-05, 2.5474336873408417e-06,
    -6.208535880776316e-07, 1.5268677399071546e-07, -3.782637660291326e-08, 9.428100823624284e-09,
    -2.361999702184645e-09, 5.943541905817546e-10, -1.501312977072867e-10, 3.8050196458110534e-11,
    -9.672485299656325e-12, 2.465348198355661e-12, -6.298868140791711e-13, 1.6128460030283787e-13,
    -4.137949206814042e-14, 1.0635701227757898e-14, -2.7382420786652826e-15, 7.060670507214892e-16,
    -1.8232177141662118e-16, 4.714169006756272e-17, -1.2204107319639856e-17, 3.1630451661790255e-18,
]
_DIGAMMA = [
    0.8508141002274594, -0.30691795316595705, 0.06960086856205178, -0.01712297234345182, 0.004374961886424303,
    -0.0011401796377915106, 0.00030046127392236794, -7.969172661686522e-05, 2.1218853925722328e-05,
    -5.6631596935365925e-06, 1.5136717505341737e-06, -4.0495026233355134e-07, 1.083979923064392e-07,
    -2.9026750711369042e-08, 7.774554697983642e-09, -2.082649195692377e-09, 5.579524084715322e-10,
    -1.4948718863979587e-10, 4.005228073341035e-11, -1.0731515178725395e-11, 2.8754217843517632e-12,
    -7.704533926086572e-13, 2.0644004026236004e-13, -5.53150434659318e-14, 1.482155285389004e-14,
    -3.971411389284323e-15, 1.0641344625722717e-15, -2.8513362471718133e-16, 7.640126526131413e-17,
    -2.047164716811876e-17, 5.485359583436558e-18,
]
_ZERO_OF_DIGAMMA = (1.4616321449683622, 9.549995429965697e-17)

# Bernoulli's numbers B₂, B₄, …: of the series for large x.
_BERNOULLI = [1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510]
_LARGE = 10.0


def _brought_near(x):
    """(y, the numbers y, y + 1, … below x) for 0 < x < 10: y in [1, 3), x itself or 1 more where it is smaller. Those
    that there are not are 1, and False beside them."""
    y, passed = _core.where(_core.less(x, 1), x + 1, x), []
    for _ in range(int(_LARGE) - 3 + 1):
        far = _core.greater_equal(y, 3)
        y = _core.where(far, y - 1, y)
        passed.append((_core.where(far, y, 1), far))
    return y, passed


def _series(x, power, weights):
    """Σ weights[k] / x^(2k + power), the last term first."""
    inverse, made = 1 / (x * x), 0.0
    for w in reversed(weights):
        made = made * inverse + w
    return made * (inverse if power == 2 else 1 / x)


def _of_kinds(x, positive, near, beyond):
    """The argument for each formula: positive numbers near and far, and 1 minus negative ones."""
    size = _core.where(positive, x, 1 - x)
    far = _core.greater_equal(size, _LARGE)
    return far, near(_core.where(far, 1.0, size)), beyond(_core.where(far, size, _LARGE))


def _angle(x):
    """π times the distance to the nearest integer."""
    return math.pi * (x - _core.rint(x))


def _lgamma(x):
    def near(x):
        y, passed = _brought_near(x)
        product = functools.reduce(_core.multiply, [p for p, _ in passed])
        small = _core.less(x, 1)  # there y - 1 is x, exactly
        zeros = _core.where(small, x * (x - 1), (y - 1) * (y - 2))
        made = zeros * _chebyshev(y - 2, _exact_to(x.dtype, _LOG_GAMMA))
        return made + _core.where(small, -_core.log(_core.where(small, x, 1)), _core.log(product))

    def beyond(x):
        terms = [b / (2 * k * (2 * k - 1)) for k, b in enumerate(_BERNOULLI, 1)]
        return (x - 0.5) * _core.log(x) - x + 0.5 * math.log(2 * math.pi) + _series(x, 1, terms)

    positive = _core.greater(x, 0)
    far, small, large = _of_kinds(x, positive, near, beyond)
    made = _core.where(far, large, small)
    # log Γ(x) = log(π / |sin πx|) - log Γ(1 - x)
    sine = _core.abs(_core.sin(_angle(x)))
    pole = _core.equal(sine, 0) & ~positive  # as all large negative numbers, which are integers
    made = _core.where(positive, made, math.log(math.pi) - _core.log(sine) - made)
    return _core.where(pole | _core.equal(_core.abs(x), math.inf), math.inf, made)


def _digamma(x):
    def near(x):
        y, passed = _brought_near(x)
        high = float(x.dtype.type(_ZERO_OF_DIGAMMA[0]))
        low = (_ZERO_OF_DIGAMMA[0] - high) + _ZERO_OF_DIGAMMA[1]
        made = ((y - high) - low) * _chebyshev(y - 2, _exact_to(x.dtype, _DIGAMMA))
        small = _core.less(x, 1)
        made = made - _core.where(small, 1 / _core.where(small, x, 1), 0)
        return functools.reduce(_core.add, [_core.where(there, 1 / p, 0) for p, there in passed], made)

    def beyond(x):
        terms = [b / (2 * k) for k, b in enumerate(_BERNOULLI, 1)]
        return _core.log(x) - 0.5 / x - _series(x, 2, terms)

    positive = _core.greater(x, 0)
    far, small, large = _of_kinds(x, positive, near, beyond)
    made = _core.where(far, large, small)
    # ψ(x) = ψ(1 - x) - π / tan πx
    angle = _angle(x)
    pole = _core.equal(angle, 0) & ~positive
    reflected = made - math.pi / _core.tan(_core.where(pole | positive, 1.0, angle))
    return _core.where(pole | _core.equal(x, -math.inf), math.nan, _core.where(positive, made, reflected))


def _trigamma(x):
    """ψ′(x) = ζ(2, x); for x < 0 it is (π / sin πx)² - ψ′(1 - x)."""
    positive = _core.greater(x, 0)
    sine = _core.sin(_core.where(positive, 1.0, _angle(x)))
    made = _hurwitz(tnp.full_like(x, 2.0), _core.where(positive, x, 1 - x))
    return _core.where(positive, made, math.pi ** 2 / (sine * sine) - made)


@functools.cache
def _functions():
    trigamma = _with_slopes(_trigamma, lambda x: polygamma(2, x))
    digamma_ = _with_slopes(_digamma, trigamma)
    return _with_slopes(_lgamma, digamma_), digamma_


@whole
def lgamma(x):
    """log |Γ(x)|. Infinite at 0, -1, -2, …

    >>> float(lgamma(1.0)), round(float(lgamma(0.5)) * 2, 12) == round(math.log(math.pi), 12)
    (0.0, True)
    """
    return _functions()[0](_real(x, "lgamma"))


@whole
def digamma(x):
    """The derivative of lgamma. NaN at 0, -1, -2, …

    >>> round(float(digamma(1.0)), 12)
    -0.577215664902
    """
    return _functions()[1](_real(x, "digamma"))


def _together(name, x, y):
    """Both of the dtype and the shape that they meet in."""
    kind = tnp.result_type(x, y)
    try:
        return tnp.broadcast_arrays(_core.convert(x, kind), _core.convert(y, kind))
    except ValueError:
        raise TypeError(f"lax.{name}: shapes {x.shape} and {y.shape} do not broadcast.") from None


@whole
def zeta(x, q):
    """Hurwitz's Σ 1 / (q + k)^x over k = 0, 1, 2, …, for x > 1 and q > 0, and for q < 0 where x is an integer: by Euler's
    and Maclaurin's formula. Infinite at x = 1, and where a term is: at q = 0, -1, -2, …; NaN elsewhere. Derivatives of any
    order in q, and for q > 0 in x.

    >>> round(float(zeta(2.0, 1.0)) * 6 / math.pi ** 2, 12)
    1.0
    >>> round(float(zeta(2.0, -0.5) - zeta(2.0, 0.5)), 12)
    4.0
    """
    s, q = _real(x, "zeta"), _real(q, "zeta")
    return _in_single(_zeta, *_together("zeta", s, q))


def _hurwitz(s, q):
    """ζ(s, q) of s > 1 and q > 0."""
    made, steps = 0.0, 10
    for k in range(steps):
        made = made + _core.power(q + k, -s)
    b = q + steps
    last = _core.power(b, -s)
    made = made + _core.power(b, 1 - s) / (s - 1) + 0.5 * last
    # s (s + 1) … (s + 2k - 2) / b^(2k - 1), which may overflow where the power beside it has vanished.
    rising = _core.where(_core.equal(last, 0), 0.0, s / b)
    for k, number in enumerate(_BERNOULLI, 1):
        made = made + number / math.factorial(2 * k) * rising * last
        rising = rising * ((s + (2 * k - 1)) / b) * ((s + 2 * k) / b)
    return made


def _below_zero(s, q):
    """ζ(s, q) of an integer s > 1 and q < 0, no integer. The terms are powers of r, which lies nearest to 0, of 1 + r, 2 + r, …
    and, up to their sign, of 1 - r, 2 - r, … -q."""
    from tenon import lax

    def of_negative(s, q):
        r = q - _core.rint(q)
        turned = _core.where(_core.equal(_core.remainder(s, 2), 0), 1.0, -1.0)
        nearest = _core.power(_core.abs(r), -s) * _core.where(_core.less(r, 0), turned, 1.0)
        return nearest + _hurwitz(s, 1 + r) + turned * (_hurwitz(s, 1 - r) - _hurwitz(s, 1 - q))

    there = _core.any(_core.less(q, 0), None, False)
    return lax.cond(there, of_negative, lambda s, q: q, s, _core.where(_core.less(q, 0), q, -0.5))


def _zeta(s, q):
    more, above = _core.greater(s, 1), _core.greater(q, 0)
    whole_ = _core.equal(_core.floor(q), q)
    below = more & _core.less(q, 0) & ~whole_ & _core.equal(_core.floor(s), s)
    p = _core.where(more, s, 2.0)
    made = _core.where(above, _hurwitz(p, _core.where(above, q, 1.0)),
                       _below_zero(_core.where(below, p, 2.0), _core.where(below, q, 0.5)))
    pole = _core.equal(s, 1) | (more & ~above & whole_)
    return _core.where(more & (above | below), made, _core.where(pole, math.inf, math.nan))


@whole
def polygamma(m, x):
    """The derivative of digamma of order m = 1, 2, …, and digamma itself of m = 0. Infinite at x = 0, -1, -2, …

    >>> round(float(polygamma(1, 1.0)) * 6 / math.pi ** 2, 12)
    1.0
    """
    m, x = _together("polygamma", _real(m, "polygamma"), _real(x, "polygamma"))
    first = _core.equal(m, 0)
    order = _core.where(first, 1.0, m)
    sign = _core.where(_core.equal(_core.remainder(order, 2), 0), -1.0, 1.0)
    made = sign * _core.exp(lgamma(order + 1)) * zeta(order + 1, x)
    return _core.where(first, digamma(x), made)
