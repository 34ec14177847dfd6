"""Random numbers of the gamma distribution and of those that are made of it, and counts: the algorithms of jax.random."""


import numpy as np

from tenon import _core, _sizes
from tenon import numpy as tnp
from tenon._checks import whole
from tenon.errors import ShapeError
from tenon.numpy import _dtypes
from tenon.random import _draws

__all__ = ["ball", "beta", "binomial", "chisquare", "dirichlet", "f", "gamma", "generalized_normal", "loggamma",
           "multinomial", "poisson", "t"]


def _real(name, dtype):
    dtype = _draws._real(dtype)
    if not _dtypes.issubdtype(dtype, np.floating):
        raise _core.OptionError(f"dtype argument to `{name}` must be a float dtype, got {dtype}")
    return dtype


def _wide(name, shape, *parameters):
    """The shape of the result: the one that is asked for, to which the parameters' shapes broadcast, or where they meet."""
    met = _draws._met(None, *parameters, of=f"random.{name}")
    if shape is None:
        return met
    shape = _draws._shape(shape)
    if not _sizes.fits(met, shape):
        raise ShapeError(f"random.{name}: parameter shapes must be broadcast-compatible with shape argument, and the result of "
                         f"broadcasting the shapes must equal the shape argument, but got {met} and {shape}.")
    return shape


def _spread(name, shape, dtype, *parameters, safe=False):
    """The parameters in a dtype and the result's shape; with `safe` only if the dtype can hold theirs."""
    shape = _wide(name, shape, *parameters)
    parameters = (_draws._parameters if safe else _draws._converted)(name, dtype, *parameters)
    return [_core.broadcast_to(p, shape) for p in parameters]


# --- gamma ---


def _drawn(name, key, *parameters):
    """Numbers of the library's function of this name, in the shape and the dtype of the parameters."""
    like = parameters[0]
    return _draws._drawn(name, key, *parameters, shape=like.shape, dtype=like.dtype, loops=True)


def _by_loops(f, key, p, *options):
    """The same of one parameter and of what is known."""
    return _draws.of_many(f, _draws._MANY, (key, p), *options)


def gamma(key, a, shape=None, dtype=None):
    """Numbers of density x^(a-1) exp(-x) / Γ(a); derivatives in a move each so that its probability stays.

    >>> from tenon import random
    >>> random.gamma(random.key(0), 2.0, (3,)).shape
    (3,)
    """
    return _drawn("gamma", key, *_spread("gamma", shape, _real("gamma", dtype), a))


def loggamma(key, a, shape=None, dtype=None):
    """Logarithms of gamma(), which do not underflow where a is small."""
    return _drawn("loggamma", key, *_spread("loggamma", shape, _real("loggamma", dtype), a))


def beta(key, a, b, shape=None, dtype=None):
    """Numbers of density x^(a-1) (1-x)^(b-1) / B(a, b)."""
    return _drawn("beta", key, *_spread("beta", shape, _real("beta", dtype), a, b, safe=True))


def dirichlet(key, alpha, shape=None, dtype=None):
    """Vectors of positive numbers whose sum is 1, of density Π xₖ^(alphaₖ - 1) / B(alpha)."""
    if np.ndim(alpha) < 1:
        raise ShapeError(f"dirichlet requires alpha.ndim >= 1, got alpha.ndim == {np.ndim(alpha)}")
    dtype, (*batch, n) = _real("dirichlet", dtype), np.shape(alpha)
    shape = tuple(batch) if shape is None else _wide("dirichlet", shape, np.zeros(batch))
    alpha = _core.broadcast_to(*_draws._converted("dirichlet", dtype, alpha), (*shape, n))
    return _draws._drawn("dirichlet", key, alpha, shape=shape, dtype=dtype, loops=True)


def chisquare(key, df, shape=None, dtype=None):
    """Sums of the squares of df normal numbers."""
    return _drawn("chisquare", key, *_spread("chisquare", shape, _real("chisquare", dtype), df, safe=True))


def f(key, dfnum, dfden, shape=None, dtype=None):
    """Quotients of the means of dfnum and of dfden squares of normal numbers."""
    return _drawn("f", key, *_spread("f", shape, _real("f", dtype), dfnum, dfden, safe=True))


def t(key, df, shape=None, dtype=None):
    """Numbers of Student's distribution, of density (1 + x² / df)^(-(df + 1) / 2) up to a factor."""
    return _drawn("t", key, *_spread("t", shape, _real("t", dtype), df, safe=True))


def generalized_normal(key, p, shape=(), dtype=None):
    """Numbers of density exp(-|x|^p) up to a factor."""
    dtype = _real("generalized_normal", dtype)
    return _by_loops(_draws._random.generalized_normal, key, p, _wide("generalized_normal", shape, p), dtype, _dtypes.default("f"))


def ball(key, d, p=2, shape=(), dtype=None):
    """Points [*shape, d], uniform in the ball of radius 1 of the norm (Σ |xₖ|^p)^(1/p)."""
    d, dtype = d.__index__(), _real("ball", dtype)
    shape = _wide("ball", shape)
    return _by_loops(_draws._random.ball, key, d, p, shape, dtype, _dtypes.default("f"))


# --- counts ---


def poisson(key, lam, shape=None, dtype=None):
    """How many events there are where lam are expected.

    >>> from tenon import random
    >>> int(random.poisson(random.key(0), 0.0))
    0
    """
    dtype = _dtypes.default("i") if dtype in (None, int) else _core.canonical_dtype(dtype)
    if not _dtypes.issubdtype(dtype, np.integer):
        raise _core.OptionError(f"dtype argument to `poisson` must be an integer dtype, got {dtype}")
    rate = _core.broadcast_to(*_draws._converted("poisson", "float32", lam), _wide("poisson", shape, lam))
    return _draws._drawn("poisson", key, rate, shape=rate.shape, dtype=dtype, loops=True)


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
    return _draws._drawn("binomial", key, n, p, shape=n.shape, dtype=dtype, loops=True)


def multinomial(key, n, p, *, shape=None, dtype=None, unroll=1):
    """How many of n trials have each outcome of the last axis of p, its probabilities. `unroll` has no effect.

    >>> from tenon import random
    >>> float(random.multinomial(random.key(0), 7.0, tnp.asarray([0.2, 0.3, 0.5])).sum())
    7.0
    """
    dtype = _real("multinomial", dtype)
    met = _core.to_inexact(_core.full((), 0, _dtypes.result_type(n, p))).dtype
    shape = np.shape(p) if shape is None else tuple(shape)
    n, p = _draws._converted("multinomial", met, n, p)
    return _draws._drawn("multinomial", key, n, p, shape=shape, dtype=dtype, loops=True)
