"""The incomplete gamma and beta functions, their derivatives in every argument, and the derivative of gamma variates.

Each is a factor that has no cancellation, by Stirling's formula and what it leaves, times a series or a continued fraction,
which end where a term is less than rounding.
"""

import functools
import math

import numpy as np

from tenon import _core
from tenon import numpy as tnp
from tenon.lax import _loops
from tenon.lax._gamma import _BERNOULLI, _LARGE, _series, digamma, lgamma
from tenon.numpy._special import _in_single, _real, _with_slopes

__all__ = ["betainc", "igamma", "igamma_grad_a", "igammac", "random_gamma_grad"]

_MOST = 100_000  # terms


def _stirling_rest(x):
    """lgamma(x) - ((x - 1/2) log x - x + log(2π) / 2) for x > 0."""
    far = _core.greater_equal(x, _LARGE)
    terms = [b / (2 * k * (2 * k - 1)) for k, b in enumerate(_BERNOULLI, 1)]
    near = _core.where(far, 1.0, x)
    return _core.where(far, _series(_core.where(far, x, _LARGE), 1, terms),
                       lgamma(near) - ((near - 0.5) * _core.log(near) - near + 0.5 * math.log(2 * math.pi)))


def _until(going, step, first):
    """The carry (arrays) of a loop whose elements take part as long as `going` holds of them, at first and by step():
    carry, count -> (carry, going)."""
    def body(state):
        count, going, carry = state
        made, more = step(carry, count + 1)
        return count + 1, going & more, tuple(_core.where(going, new, old) for new, old in zip(made, carry))

    state = (_core.full((), 0, first[0].dtype), going, first)
    return _loops.while_loop(lambda s: _core.any(s[1], None, False) & _core.less(s[0], _MOST), body, state)[2]


def _rounding(x):
    return float(np.finfo(x.dtype).eps)


def _gamma_series(going, a, x):
    """Σ xⁿ / ((a + 1) … (a + n)), where `going`."""
    def step(carry, count):
        term, total = carry
        term = term * (x / (a + count))
        # Derivatives, whose terms are larger, shall end in rounding too.
        return (term, total + term), _core.greater(term, total * (_rounding(x) / 64))

    return _until(going, step, (tnp.ones_like(a), tnp.ones_like(a)))[1]


def _fraction(going, terms, p, *others, with_slope=False):
    """The continued fraction first + n₁ / (d₁ + n₂ / (d₂ + …)) of terms(p, …) -> first, k -> nₖ, k -> dₖ, by Lentz's and
    Thompson's recurrences.

    Of a natural number p a numerator is 0, and the fraction ends before its derivative in p does. `with_slope` it goes on
    as long as that of a number which is none.
    """
    if with_slope:
        apart = _core.floor(_core.stop_gradient(p)) + 0.5
        going, p, *others = (_core.stack([x, y], 0) for x, y in ((going, going), (p, apart), *((x, x) for x in others)))
    first, numerator, denominator = terms(p, *others)
    tiny = float(np.finfo(first.dtype).tiny) * 2 ** 20

    def off_zero(x):
        return _core.where(_core.less(_core.abs(x), tiny), tiny, x)

    def step(carry, count):
        c, d, made = carry
        n, b = numerator(count), denominator(count)
        d = 1 / off_zero(b + n * d)
        c = off_zero(b + n / c)
        more = _core.greater(_core.abs(c * d - 1), 4 * _rounding(first))
        return (c, d, made * (c * d)), _core.any(more, 0, True) if with_slope else more

    first = off_zero(first)
    made = _until(going, step, (first, tnp.zeros_like(first), first))[2]
    return made[0] if with_slope else made


def _log_of(ratio, away):
    """log(ratio) of ratio = 1 + away, which is exact near 0."""
    near = _core.less(_core.abs(away), 0.5)
    return _core.where(near, _core.log1p(_core.where(near, away, 0)), _core.log(_core.where(near, 1, ratio)))


class _Gamma:
    """What igamma and its kin have in common at a and x of one dtype and shape."""

    def __init__(self, a, x):
        self.wrong = _core.less(x, 0) | _core.less_equal(a, 0) | _core.isnan(a) | _core.isnan(x)
        # Beyond the last the fraction's terms leave the dtype, and nothing is left of the upper part.
        large = _core.greater(x, float(np.finfo(x.dtype).max) / 64) & _core.greater(x, a)
        self.nothing, self.everything = _core.equal(x, 0), _core.equal(x, math.inf) | large
        self.limit = _core.equal(a, 0) & _core.greater(x, 0)
        usable = ~(self.wrong | self.nothing | self.everything | _core.equal(a, math.inf))
        self.usable = usable
        self.a, self.x = _core.where(usable, a, 1.0), _core.where(usable, x, 1.0)
        self.upper = _core.greater(self.x, 1) & _core.greater(self.x, self.a)

    def factor(self):
        """x^a exp(-x) / Γ(a + 1)."""
        a, x = self.a, self.x
        near = _core.greater(a, 1)
        by_stirling = a * _log_of(x / a, (x - a) / a) - (x - a) - _stirling_rest(_core.where(near, a, 2.0)) - 0.5 * _core.log(2 * math.pi * a)
        return _core.exp(_core.where(near, by_stirling, a * _core.log(x) - x - lgamma(_core.where(near, 1.0, a) + 1)))

    def inner(self, a, with_slope=False):
        """P(a, x) / factor below, Q(a, x) / (a · factor) above, as a function of a."""
        x = self.x
        lower, upper = self.usable & ~self.upper, self.usable & self.upper
        of_series = _gamma_series(lower, _core.where(lower, a, 1.0), _core.where(lower, x, 0.5))
        p, y = _core.where(upper, a, 1.0), _core.where(upper, x, 2.0)

        def terms(p, y):
            return y + 1 - p, lambda n: n * (p - n), lambda n: y + (1 - p) + 2 * n

        return _core.where(self.upper, 1 / _fraction(upper, terms, p, y, with_slope=with_slope), of_series)

    def slope(self):
        """The derivative of log(factor) + log(inner) in a, times inner: of `a · factor` above."""
        from tenon import jvp

        inner, moved = jvp(functools.partial(self.inner, with_slope=True), (self.a,), (tnp.ones_like(self.a),))
        return moved + inner * (_core.log(self.x) - digamma(_core.where(self.upper, self.a, self.a + 1)))

    def finished(self, made, at_zero, at_infinity):
        made = _core.where(self.nothing, at_zero, _core.where(self.everything, at_infinity, made))
        return _core.where(self.wrong, math.nan, made)


def _part(a, x, above):
    """P(a, x), or with `above` Q(a, x)."""
    g = _Gamma(a, x)
    size = g.inner(g.a) * g.factor() * _core.where(g.upper, g.a, 1.0)
    made = g.finished(_core.where(g.upper if above else ~g.upper, size, 1 - size), float(above), float(not above))
    made = _core.where(_core.equal(a, math.inf) & _core.isfinite(x) & ~_core.less(x, 0), float(above), made)
    return _core.where(g.limit, float(not above), made)


def _slope_in_a(a, x):
    g = _Gamma(a, x)
    made = g.slope() * g.factor() * _core.where(g.upper, -g.a, 1.0)
    return g.finished(made, 0.0, 0.0)


def _slope_of_variate(a, x):
    g = _Gamma(a, x)
    return g.finished(g.slope() * g.x * _core.where(g.upper, 1.0, -1 / g.a), 0.0, math.nan)


def _density(a, x):
    """exp(-x) x^(a - 1) / Γ(a)."""
    g = _Gamma(a, x)
    at_zero = _core.where(_core.less(a, 1), math.inf, _core.where(_core.equal(a, 1), 1.0, 0.0))
    return _core.where(g.limit, 0.0, g.finished(g.factor() * g.a / g.x, at_zero, 0.0))


def _together(name, *operands):
    operands = [_real(x, name) for x in operands]
    kind = tnp.result_type(*operands)
    return tnp.broadcast_arrays(*(_core.convert(x, kind) for x in operands))


@functools.cache
def _functions():
    return {"igamma": _with_slopes(lambda a, x: _part(a, x, False), _slope_in_a, _density),
            "igammac": _with_slopes(lambda a, x: _part(a, x, True), lambda a, x: -_slope_in_a(a, x), lambda a, x: -_density(a, x)),
            "betainc": _with_slopes(functools.partial(_betainc, with_slope=False), *(functools.partial(_slope_of_betainc, i) for i in range(2)), _beta_density)}


def igamma(a, x):
    """The regularised lower incomplete gamma function P(a, x) = ∫₀ˣ exp(-t) t^(a-1) dt / Γ(a) of a > 0 and x ≥ 0; NaN
    elsewhere. In double precision, for a up to 1e4: within 3e-14 of the value where x ≤ a or x ≤ 1, and of 1 elsewhere.
    Derivatives of any order in both.

    >>> round(float(igamma(1.0, 2.0) + math.exp(-2.0)), 12)
    1.0
    """
    return _functions()["igamma"](*_together("igamma", a, x))


def igammac(a, x):
    """The regularised upper incomplete gamma function, 1 - igamma(a, x). In double precision, for a up to 1e4: within 1e-13
    of the value where x > a and x > 1, and of 1 elsewhere.

    >>> round(float(igammac(1.0, 50.0)) * math.exp(50.0), 12)
    1.0
    """
    return _functions()["igammac"](*_together("igammac", a, x))


def igamma_grad_a(a, x):
    """The derivative of igamma(a, x) in a.

    >>> round(float(igamma_grad_a(1.0, 1.0)), 6)
    -0.43173
    """
    return _in_single(_slope_in_a, *_together("igamma_grad_a", a, x))


def random_gamma_grad(a, x, *, dtype=None):
    """The derivative in a of a variate x of the gamma distribution of shape a, whose P(a, x) stays what it is.

    >>> round(float(random_gamma_grad(1.0, 1.0)), 6)
    1.173563
    """
    made = _in_single(_slope_of_variate, *_together("random_gamma_grad", a, x))
    return made if dtype is None else _core.convert(made, dtype)


# --- beta ---


def _beta_factor(a, b, x, y):
    """x^a y^b / B(a, b), of x + y = 1."""
    away, whole = a * y - b * x, a + b
    rest = _stirling_rest(a) + _stirling_rest(b) - _stirling_rest(a + b)
    exponent = a * _log_of(x * (whole / a), -away / a) + b * _log_of(y * (whole / b), away / b) - rest
    return _core.exp(exponent) * _core.sqrt(a / whole * b / (2 * math.pi))


def _beta_fraction(going, a, b, x, with_slope):
    """Of I(a, b, x) = factor / a · fraction."""
    def terms(b, a, x):
        def numerator(n):
            even = _core.equal(_core.remainder(n, 2), 0)
            m = _core.floor(n / 2)
            high = (a + (n - 1)) * (a + n)
            return _core.where(even, m * (b - m) * x / high, -(a + m) * (a + b + m) * x / high)

        return tnp.ones_like(x), numerator, lambda n: 1.0

    return 1 / _fraction(going, terms, b, a, x, with_slope=with_slope)


def _beta_cases(a, b, x):
    wrong = ~(_core.greater_equal(a, 0) & _core.greater_equal(b, 0) & _core.greater_equal(x, 0) & _core.less_equal(x, 1))
    low = _core.equal(a, 0) | _core.equal(b, math.inf)  # all is at 0
    high = _core.equal(b, 0) | _core.equal(a, math.inf)
    zero = (_core.equal(x, 0) & ~low) | (high & _core.less(x, 1)) | (low & _core.equal(x, 0))
    return wrong | (low & high), zero, (low & _core.greater(x, 0)) | _core.equal(x, 1)


def _betainc(a, b, x, with_slope):
    nan, zero, one = _beta_cases(a, b, x)
    going = ~(nan | zero | one)
    p, q, u = (_core.where(going, v, usual) for v, usual in ((a, 1.0), (b, 1.0), (x, 0.25)))
    direct = _core.less_equal(u, (p + 1) / (p + q + 2))  # there the fraction converges fast
    first, second = _core.where(direct, p, q), _core.where(direct, q, p)
    near, far = _core.where(direct, u, 1 - u), _core.where(direct, 1 - u, u)
    made = _beta_factor(first, second, near, far) / first * _beta_fraction(going, first, second, near, with_slope)
    made = _core.where(direct, made, 1 - made)
    return _core.where(nan, math.nan, _core.where(zero, 0.0, _core.where(one, 1.0, made)))


def _slope_of_betainc(argument, a, b, x):
    from tenon import jvp

    tangents = [tnp.full_like(v, i == argument) for i, v in enumerate((a, b))]
    return jvp(lambda a, b: _betainc(a, b, x, with_slope=True), (a, b), tuple(tangents))[1]


def _beta_density(a, b, x):
    nan, zero, one = _beta_cases(a, b, x)
    inside = _core.greater(x, 0) & _core.less(x, 1) & ~(nan | zero | one)
    p, q, u = (_core.where(inside, v, usual) for v, usual in ((a, 1.0), (b, 1.0), (x, 0.25)))
    made = _beta_factor(p, q, u, 1 - u) / (u * (1 - u))
    near, far = _core.where(_core.equal(x, 0), a, b), _core.where(_core.equal(x, 0), b, a)
    edge = _core.where(_core.less(near, 1), math.inf, _core.where(_core.equal(near, 1), far, 0.0))
    return _core.where(nan, math.nan, _core.where(inside, made, edge))


def betainc(a, b, x):
    """The regularised incomplete beta function ∫₀ˣ t^(a-1) (1-t)^(b-1) dt / B(a, b) of a, b > 0 and 0 ≤ x ≤ 1; NaN
    elsewhere. In double precision, for a and b between 1e-4 and 1e4, within 2e-11 of 1, and commonly within 1e-13.
    Derivatives of any order in all three.

    >>> round(float(betainc(2.0, 1.0, 0.5)), 12)
    0.25
    """
    return _functions()["betainc"](*_together("betainc", a, b, x))
