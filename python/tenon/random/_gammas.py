"""Random numbers of the gamma distribution and of those that are made of it, and counts: the algorithms of jax.random."""

import functools
import math

import numpy as np

from tenon import _core, _sizes, lax
from tenon._checks import whole
from tenon import numpy as tnp
from tenon.numpy import _dtypes
from tenon.random import _draws

__all__ = ["ball", "beta", "binomial", "chisquare", "dirichlet", "f", "gamma", "generalized_normal", "loggamma",
           "multinomial", "poisson", "t"]


def _real(name, dtype):
    dtype = _draws._real(dtype)
    if not _dtypes.issubdtype(dtype, np.floating):
        raise ValueError(f"dtype argument to `{name}` must be a float dtype, got {dtype}")
    return dtype


def _wide(name, shape, *parameters):
    """The shape of the result: the one that is asked for, to which the parameters' shapes broadcast, or where they meet."""
    met = _draws._met(None, *parameters)
    if shape is None:
        return met
    shape = _draws._shape(shape)
    if not _sizes.agree(_sizes.broadcast(shape, met), shape):
        raise ValueError(f"{name} parameter shapes must be broadcast-compatible with shape argument, and the result of "
                         f"broadcasting the shapes must equal the shape argument, but got {met} and {shape}.")
    return shape


def _spread(name, shape, dtype, *parameters, safe=False):
    """The parameters in a dtype and the result's shape; with `safe` only if the dtype can hold theirs."""
    shape = _wide(name, shape, *parameters)
    parameters = _draws._parameters(name, dtype, *parameters) if safe else parameters
    return [_core.broadcast_to(_core.convert(p, dtype), shape) for p in parameters]


# --- gamma ---


def _trial(dtype, d, c, key):
    """(x², (1 + c·x)³, a uniform number) of a normal x that makes the second positive: of Marsaglia's and Tsang's method."""
    key, of_normal, of_uniform = _draws.split(key, 3)

    def draw(state):
        key, one = _draws.split(state[0])
        x = _draws.normal(one, (), dtype)
        return key, x, x * c + 1

    zero = _core.full((), 0, dtype)
    _, x, v = lax.while_loop(lambda state: _core.less_equal(state[2], 0), draw, (of_normal, zero, zero - 1))
    return key, x * x, v * v * v, _draws.uniform(of_uniform, (), dtype)


def _one(log_space, key, alpha):
    """A variate: of alpha + 1 where alpha < 1, and then times a uniform number to the power 1 / alpha."""
    dtype, enough = alpha.dtype, _core.greater_equal(alpha, 1)
    d = _core.where(enough, alpha, alpha + 1) - 1 / 3
    c = 1 / 3 / _core.sqrt(d)
    key, last = _draws.split(key)

    def again(state):
        _, x, v, u = state
        return (_core.greater_equal(u, 1 - 0.0331 * (x * x))
                & _core.greater_equal(_core.log(u), x * 0.5 + d * ((1 - v) + _core.log(v))))

    first = [_core.full((), value, dtype) for value in (0, 1, 2)]
    v = lax.while_loop(again, lambda state: _trial(dtype, d, c, state[0]), (key, *first))[2]
    if log_space:
        log_uniform = -_draws.exponential(last, (), dtype)
        boost = _core.where(enough | _core.equal(log_uniform, 0), 0, log_uniform * (1 / alpha))
        return _core.log(d) + _core.log(v) + boost
    return d * v * _core.where(enough, 1, _core.power(1 - _draws.uniform(last, (), dtype), 1 / alpha))


def _slope(log_space, made, alpha):
    if not log_space:
        return lax.random_gamma_grad(alpha, made)
    size = _core.maximum(_core.exp(made), float(np.finfo(made.dtype).tiny))
    return lax.random_gamma_grad(alpha, size) / size


@functools.cache
def _sampler(log_space):
    """Variates of keys [n, 2] and shapes alpha [n], with the derivative in alpha of the variate whose probability stays."""
    from tenon import custom_jvp, jit, vmap

    drawn = jit(vmap(functools.partial(_one, log_space)))

    @custom_jvp
    def sample(alpha, keys):
        return drawn(keys, alpha)

    @sample.defjvp
    def rule(primals, tangents):
        made = sample(*primals)
        return made, _slope(log_space, made, primals[0]) * tangents[0]

    return sample


def _gamma(name, key, a, shape, dtype, log_space):
    (a,) = _spread(name, shape, _real(name, dtype), a)
    if a.size == 0:
        return a
    wide = "float32" if a.dtype.itemsize < 4 else a.dtype
    made = _sampler(log_space)(_core.convert(a.reshape(-1), wide), _draws.split(key, a.size))
    return _core.convert(made.reshape(a.shape), a.dtype)


def gamma(key, a, shape=None, dtype=None):
    """Numbers of density x^(a-1) exp(-x) / Γ(a); derivatives in a move each so that its probability stays.

    >>> from tenon import random
    >>> random.gamma(random.key(0), 2.0, (3,)).shape
    (3,)
    """
    return _gamma("gamma", key, a, shape, dtype, False)


def loggamma(key, a, shape=None, dtype=None):
    """Logarithms of gamma(), which do not underflow where a is small."""
    return _gamma("loggamma", key, a, shape, dtype, True)


def beta(key, a, b, shape=None, dtype=None):
    """Numbers of density x^(a-1) (1-x)^(b-1) / B(a, b)."""
    a, b = _spread("beta", shape, _real("beta", dtype), a, b, safe=True)
    of_a, of_b = _draws.split(key)
    log_a, log_b = loggamma(of_a, a, a.shape, a.dtype), loggamma(of_b, b, b.shape, b.dtype)
    larger = _core.maximum(log_a, log_b)
    size_a, size_b = _core.exp(log_a - larger), _core.exp(log_b - larger)
    return size_a / (size_a + size_b)


def dirichlet(key, alpha, shape=None, dtype=None):
    """Vectors of positive numbers whose sum is 1, of density Π xₖ^(alphaₖ - 1) / B(alpha)."""
    if np.ndim(alpha) < 1:
        raise ValueError(f"dirichlet requires alpha.ndim >= 1, got alpha.ndim == {np.ndim(alpha)}")
    dtype, (*batch, n) = _real("dirichlet", dtype), np.shape(alpha)
    shape = tuple(batch) if shape is None else _wide("dirichlet", shape, np.zeros(batch))
    return _core.softmax(loggamma(key, alpha, (*shape, n), dtype), -1, False)


def chisquare(key, df, shape=None, dtype=None):
    """Sums of the squares of df normal numbers."""
    (df,) = _spread("chisquare", shape, _real("chisquare", dtype), df, safe=True)
    return _core.exp(loggamma(key, df / 2, df.shape, df.dtype)) * 2


def f(key, dfnum, dfden, shape=None, dtype=None):
    """Quotients of the means of dfnum and of dfden squares of normal numbers."""
    dfnum, dfden = _spread("f", shape, _real("f", dtype), dfnum, dfden, safe=True)
    of_den, of_num = _draws.split(key)
    return (chisquare(of_num, dfnum, dfnum.shape, dfnum.dtype) / dfnum) / (
        chisquare(of_den, dfden, dfden.shape, dfden.dtype) / dfden)


def t(key, df, shape=None, dtype=None):
    """Numbers of Student's distribution, of density (1 + x² / df)^(-(df + 1) / 2) up to a factor."""
    (df,) = _spread("t", shape, _real("t", dtype), df, safe=True)
    of_normal, of_gamma = _draws.split(key)
    half = df / 2
    return _draws.normal(of_normal, df.shape, df.dtype) * _core.sqrt(half / gamma(of_gamma, half, df.shape, df.dtype))


def generalized_normal(key, p, shape=(), dtype=None):
    """Numbers of density exp(-|x|^p) up to a factor."""
    dtype = _real("generalized_normal", dtype)
    of_gamma, of_sign = _draws.split(key)
    power = _core.convert(_core.true_divide(1, p), dtype)
    size = gamma(of_gamma, power, shape, dtype)
    return _draws.rademacher(of_sign, shape, dtype) * _core.power(size, power)


def ball(key, d, p=2, shape=(), dtype=None):
    """Points [*shape, d], uniform in the ball of radius 1 of the norm (Σ |xₖ|^p)^(1/p)."""
    d, dtype = d.__index__(), _real("ball", dtype)
    shape = _wide("ball", shape)
    of_points, of_radius = _draws.split(key)
    made = generalized_normal(of_points, p, (*shape, d), dtype)
    rest = _draws.exponential(of_radius, shape, dtype)
    p = _core.convert(p, dtype)
    norm = _core.sum(_core.power(_core.abs(made), p), -1, False) + rest
    return made / _core.power(norm, 1 / p)[..., None]


# --- counts ---


def _until_all(accepted, draw, first, key, most):
    """What `draw`, of a key, makes where it is accepted first: draw(key) -> (key, value, accepted)."""
    def step(state):
        count, made, there, key = state
        key, value, accept = draw(key)
        return count + 1, _core.where(accept, value, made), there | accept, key

    def unfinished(state):
        return _core.any(~state[2], None, False) & _core.less(state[0], most)

    return lax.while_loop(unfinished, step, (_core.full((), 0, "int32"), first, accepted, key))[1]


def _hat(key, like, b):
    """Of Hörmann's transformed rejection: (key, u - 1/2, v, 1/2 - |u - 1/2|) of uniform u, v."""
    key, first, second = _draws.split(key, 3)
    u = _draws.uniform(first, like.shape, like.dtype) - 0.5
    return key, u, _draws.uniform(second, like.shape, like.dtype), 0.5 - _core.abs(u)


_MOST = 2 ** 31 - 1


def _poisson_few(key, rate, dtype):
    """How many uniform numbers there are before their product falls below exp(-rate)."""
    def step(state):
        count, k, key, logs = state
        key, one = _draws.split(key)
        k = k + _core.convert(_core.greater(logs, -rate), dtype)
        return count + 1, k, key, logs + _core.log(_draws.uniform(one, rate.shape, "float32"))

    def unfinished(state):
        return _core.any(_core.greater(state[3], -rate), None, False) & _core.less(state[0], _MOST)

    start = (_core.full((), 0, "int32"), _core.full(rate.shape, 0, dtype), key, tnp.zeros_like(rate))
    return lax.while_loop(unfinished, step, start)[1] - 1


def _poisson_many(key, rate):
    log_rate = _core.log(rate)
    b = 0.931 + 2.53 * _core.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse, enough = 1.1239 + 1.1328 / (b - 3.4), 0.9277 - 3.6224 / (b - 2)

    def draw(key):
        key, u, v, away = _hat(key, rate, b)
        k = _core.floor((2 * a / away + b) * u + rate + 0.43)
        s = _core.log(v * inverse / (a / (away * away) + b))
        density = -rate + k * log_rate - lax.lgamma(k + 1)
        at_once = _core.greater_equal(away, 0.07) & _core.less_equal(v, enough)
        never = _core.less(k, 0) | (_core.less(away, 0.013) & _core.greater(v, away))
        return key, k, at_once | (~never & _core.less_equal(s, density))

    return _until_all(_core.full(rate.shape, False, "bool"), draw, tnp.full_like(rate, -1), key, _MOST)


def poisson(key, lam, shape=None, dtype=None):
    """How many events there are where lam are expected.

    >>> from tenon import random
    >>> int(random.poisson(random.key(0), 0.0))
    0
    """
    dtype = _dtypes.default("i") if dtype in (None, int) else _core.canonical_dtype(dtype)
    if not _dtypes.issubdtype(dtype, np.integer):
        raise ValueError(f"dtype argument to `poisson` must be an integer dtype, got {dtype}")
    rate = _core.broadcast_to(_core.convert(lam, "float32"), _wide("poisson", shape, lam))
    few = _core.isnan(rate) | _core.less(rate, 10)
    made = _core.where(few, _poisson_few(key, _core.where(few, rate, 0), dtype),
                       _core.convert(_poisson_many(key, _core.where(few, 1e5, rate)), dtype))
    return _core.where(_core.equal(rate, 0), 0, made)


# What Stirling's formula leaves of log k!, for k = 0 … 9.
_RESTS = [0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509, 0.0166446911898211, 0.0138761288230707,
          0.0118967099458917, 0.0104112652619720, 0.00925546218271273, 0.00833056343336287]


def _rest(k):
    small = _core.clamp(0.0, k, 9.0)
    square = (small + 1) * (small + 1)
    series = (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (small + 1)
    known = tnp.take(_core.convert(tnp.asarray(_RESTS), k.dtype), _core.convert(_core.floor(small), "int32"))
    return _core.where(_core.less_equal(k, 9), known, series)


def _binomial_few(key, count, q):
    """How many geometric numbers there are before their sum exceeds the count."""
    slope = _core.convert(tnp.log1p(-q), q.dtype)

    def step(state):
        steps, k, total, key = state
        one, key = _draws.split(key)
        k = _core.where(_core.less_equal(total, count), k + 1, k)
        return steps + 1, k, total + _core.ceil(_core.log(_draws.uniform(one, q.shape, q.dtype)) / slope), key

    def unfinished(state):
        return _core.any(_core.less_equal(state[2], count), None, False) & _core.less(state[0], _MOST)

    start = (_core.full((), 0, "int32"), tnp.zeros_like(q), tnp.zeros_like(q), key)
    return lax.while_loop(unfinished, step, start)[1] - 1


def _binomial_many(key, count, q):
    spread = _core.sqrt(count * q * (1 - q))
    b = 1.15 + 2.53 * spread
    a, middle = -0.0873 + 0.0248 * b + 0.01 * q, count * q + 0.5
    enough, odds, alpha = 0.92 - 4.2 / b, q / (1 - q), (2.83 + 5.1 / b) * spread
    mode = _core.floor((count + 1) * q)

    def log_density(k):
        return ((mode + 0.5) * _core.log((mode + 1) / (odds * (count - mode + 1)))
                + (count + 1) * _core.log((count - mode + 1) / (count - k + 1))
                + (k + 0.5) * _core.log(odds * (count - k + 1) / (k + 1))
                + _rest(mode) + _rest(count - mode) - _rest(k) - _rest(count - k))

    def draw(key):
        key, u, v, away = _hat(key, q, b)
        k = _core.floor((2 * a / away + b) * u + middle)
        at_once = _core.greater_equal(away, 0.07) & _core.less_equal(v, enough)
        outside = _core.less(k, 0) | _core.greater(k, count)
        v = _core.log(v * alpha / (a / (away * away) + b))
        return key, k, at_once | (~outside & _core.less_equal(v, log_density(k)))

    return _until_all(_core.full(q.shape, False, "bool"), draw, tnp.full_like(q, -1), key, _MOST)


@whole
def binomial(key, n, p, shape=None, dtype=None):
    """How many of n trials succeed, each with probability p, as real numbers; NaN where n < 0 or p < 0.

    >>> from tenon import random
    >>> float(random.binomial(random.key(0), 5, 1.0))
    5.0
    """
    dtype = _real("binomial", dtype)
    p = _core.to_inexact(tnp.asarray(p))
    n, p = _spread("binomial", shape, p.dtype, n, p)
    seldom = _core.less(p, 0.5)
    q = _core.where(seldom, p, 1 - p)
    no_count, no_part, endless = _core.isnan(n) | _core.less(n, 0), _core.isnan(q) | _core.less(q, 0), tnp.isinf(n)
    q = _core.where(no_part, 0.01, q)
    few = no_count | _core.less_equal(n * q, 10)
    whole = _core.floor(n)
    made = _core.where(few, _binomial_few(key, _core.where(few, whole, 0), q),
                       _binomial_many(key, _core.where(few | endless, 1e4, whole), _core.where(few, 0.5, q)))
    made = _core.where(no_part | no_count, math.nan, _core.where(endless, math.inf, made))
    kept = seldom | no_count | _core.isnan(p) | endless
    return _core.convert(_core.where(kept, made, whole - made), dtype)


def multinomial(key, n, p, *, shape=None, dtype=None, unroll=1):
    """How many of n trials have each outcome of the last axis of p, its probabilities.

    >>> from tenon import random
    >>> float(random.multinomial(random.key(0), 7.0, tnp.asarray([0.2, 0.3, 0.5])).sum())
    7.0
    """
    dtype = _real("multinomial", dtype)
    met = _core.to_inexact(_core.full((), 0, _dtypes.result_type(n, p))).dtype
    shape = np.shape(p) if shape is None else tuple(shape)
    n = _core.broadcast_to(_core.convert(n, met), shape[:-1])
    p = tnp.moveaxis(_core.broadcast_to(_core.convert(p, met), shape), -1, 0)
    rest = lax.cumsum(p, 0, reverse=True)
    parts = tnp.clip(p / _core.where(_core.equal(rest, 0), 1, rest), 0, 1)

    def draw(left, given):
        part, key = given
        count = binomial(key, left, part, dtype=left.dtype)
        return left - count, count

    counts = lax.scan(draw, n, (parts, _draws.split(key, parts.shape[0])), unroll=unroll)[1]
    return _core.convert(tnp.moveaxis(counts, 0, -1), dtype)
