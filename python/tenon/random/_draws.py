"""Keys, and random numbers that are made of uniform and normal ones."""

import functools
import inspect

import numpy as np

from tenon import _core, _sizes
from tenon import numpy as tnp
from tenon._transforms import jit
from tenon.errors import DTypeError, ShapeError
from tenon.numpy import _dtypes
from tenon.numpy._shapes import _axis

_random = _core.tn.random
__all__ = [
    "bernoulli", "bits", "categorical", "cauchy", "choice", "clone", "double_sided_maxwell", "exponential", "fold_in",
    "geometric", "gumbel", "key", "key_data", "key_impl", "laplace", "logistic", "lognormal", "maxwell",
    "multivariate_normal", "normal", "orthogonal", "pareto", "permutation", "PRNGKey", "rademacher", "randint",
    "rayleigh", "split", "triangular", "truncated_normal", "uniform", "wald", "weibull_min", "wrap_key_data",
]


def key(seed, *, impl=None):
    """The key of a seed, an integer: its upper and its lower 32 bits. Of an array of fewer bits the upper ones are 0; so
    they are of every seed where 64-bit data becomes 32-bit data. `impl`: the generator of what is drawn of the key, and
    of keys that are split from it: "threefry2x32" (also None); "rbg", which is Philox, also by that name; or "pcg", PCG64 with
    the output function DXSM, of which the key of a seed is numpy.random.PCG64DXSM(seed), and bits(key, (n,), "uint64") what its random_raw(n) gives;
    negative seeds count as seed + 2^64.

    >>> import tenon as tn, tenon.numpy as tnp
    >>> tn.vmap(key)(tnp.arange(2)).tolist()
    [[0, 0], [0, 1]]
    """
    impl = _generator(impl)
    if hasattr(seed, "dtype"):
        seed = tnp.asarray(seed)
        if seed.ndim:
            raise ShapeError(f"random.key: the seed is one integer, not an array of shape {seed.shape}: say vmap(key)(seeds).")
        return _random.key(seed, impl)
    if not hasattr(seed, "__index__"):
        raise DTypeError(f"random.key: the seed is an integer, not {seed!r}.")
    seed = seed.__index__()
    if not -2 ** 63 <= seed < 2 ** 63:
        raise OverflowError(f"random.key: the seed {seed} has more than 64 bits.")
    return _random.key(seed if _core.x64() else seed % 2 ** 32, impl)


# How many words a key has, by its generator.
_WORDS = {"threefry2x32": 2, "rbg": 4, "pcg": 8}
# By what other names they go.
_ALSO = {None: "threefry2x32", "philox": "rbg"}


def _generator(impl):
    name = _ALSO.get(impl, impl)
    if name not in _WORDS:
        raise _core.OptionError(f"random: the generators are threefry2x32, rbg (also philox) and pcg, not {impl!r}.")
    return name


PRNGKey = key


def key_data(keys):
    """The numbers of a key."""
    return keys


def wrap_key_data(key_bits_array, *, impl=None):
    """The key of these numbers: two of Threefry, four of Philox; of PCG eight, the words of a state of 128 bits and of an
    increment, which counts as odd, the upper ones first."""
    made, words = tnp.asarray(key_bits_array, dtype="uint32"), _WORDS[_generator(impl)]
    if impl is not None and made.shape[-1:] != (words,):
        raise ShapeError(f"random.wrap_key_data: keys of {impl} have {words} numbers, and the shape is {made.shape}.")
    return made


def key_impl(keys):
    """The name of the generator."""
    words = tnp.shape(keys)[-1:]
    return next((name for name, count in _WORDS.items() if words == (count,)), "threefry2x32")


def clone(key):
    """The same key."""
    return key


def split(key, num=2):
    """New keys: as many as `num` says, or in this shape."""
    if not _sizes.is_shape(num):
        return _random.split(key, num)
    shape = _sizes.shape(num)
    return _core.tn.reshape(_random.split(key, _sizes.elements(shape)), (*shape, tnp.shape(key)[-1]))


def fold_in(key, data):
    """A new key for each number."""
    return _random.fold_in(key, np.uint32(data % 2 ** 32) if type(data) is int else data)


_MANY = 2 ** 20  # numbers from which on it takes less time to compile one program than to run its ops one after another


def _together(place):
    """Of a function whose argument at this place is a shape: many numbers are drawn by one compiled program, which needs
    no memory for what lies between. Traces take the ops as they are."""

    def decorate(draw):
        @functools.cache
        def compiled():
            names = [n for n in inspect.signature(draw).parameters if n in ("shape", "dtype", "mode")]
            return jit(draw, static_argnames=names)

        @functools.wraps(draw)
        def drawn(*args, **kwargs):
            shape = args[place] if len(args) > place else kwargs.get("shape")
            if shape is None or _core.tracing() or _sizes.elements(shape := _shape(shape)) < _MANY:
                return draw(*args, **kwargs)
            args = (*args[:place], shape, *args[place + 1:]) if len(args) > place else args
            kwargs = kwargs if len(args) > place else {**kwargs, "shape": shape}
            return compiled()(*args, **kwargs)

        return drawn

    return decorate


_shape = _sizes.shape


@functools.cache
def _compiled(name):
    return jit(lambda key, *parameters, shape, dtype: getattr(_random, name)(key, *parameters, shape, dtype),
               static_argnames=("shape", "dtype"))


def _drawn(name, key, *parameters, shape, dtype, loops=False):
    """Numbers of the library's function of this name; many, and those that loops make, by one compiled program."""
    if _core.tracing() or not (loops or _sizes.elements(shape) >= _MANY):
        return getattr(_random, name)(key, *parameters, shape, dtype)
    return _compiled(name)(key, *parameters, shape=shape, dtype=dtype)


@functools.lru_cache(256)
def _compiled_function(f, options):
    return jit(lambda *arrays: f(*arrays, *options))


def of_many(f, count, arrays, *options):
    """A function of the library's, of arrays and then of what is known of them; of many numbers compiled."""
    if _core.tracing() or count < _MANY:
        return f(*arrays, *options)
    return _compiled_function(f, options)(*arrays)


def _real(dtype):
    return _dtypes.default("f") if dtype in (None, float) else _core.canonical_dtype(dtype)


def _of_mode(name, mode, *others):
    if mode not in ("low", "high", *others):
        raise _core.OptionError(f"{name}: mode is {mode!r}; it is one of 'low', 'high'.")
    return "low" if mode in (None, "low") else "high"


@_together(1)
def bits(key, shape=(), dtype=None):
    """Uniform bits, as unsigned integers."""
    return _random.bits(key, _shape(shape), _dtypes.default("u") if dtype is None else dtype)


@_together(1)
def uniform(key, shape=(), dtype=None, minval=0.0, maxval=1.0):
    """Numbers uniform in [minval, maxval)."""
    return _random.uniform(key, _shape(shape), _real(dtype), minval, maxval)


@_together(1)
def normal(key, shape=(), dtype=None):
    """Numbers of mean 0 and variance 1."""
    return _random.normal(key, _shape(shape), _real(dtype))


@_together(1)
def randint(key, shape, minval, maxval, dtype=None):
    """Integers in [minval, maxval)."""
    return _random.randint(key, _shape(shape), minval, maxval, _dtypes.default("i") if dtype in (None, int) else dtype)


def _converted(name, dtype, *parameters):
    """Parameters in a dtype of real numbers; complex ones are refused, of which a conversion keeps a part."""
    for p in parameters:
        if _dtypes.result_type(p).kind == "c":
            raise DTypeError(f"random.{name}: a parameter is of {_dtypes.result_type(p)}; parameters are real numbers.")
    return [_core.convert(p, dtype) for p in parameters]


def _parameters(name, dtype, *parameters):
    """Parameters in a dtype, which can hold theirs."""
    dtype = _real(dtype)
    for p in parameters:
        if _dtypes.result_type(p, dtype) != dtype:
            raise DTypeError(f"In arguments to {name}, cannot safely cast argument of type {_dtypes.result_type(p)} to {dtype}")
    return [_core.convert(p, dtype) for p in parameters]


def _met(shape, *parameters, of="random"):
    return _sizes.broadcast(*(np.shape(p) for p in parameters), of=of) if shape is None else _shape(shape)


@_together(2)
def bernoulli(key, p=0.5, shape=None, mode="low"):
    """True with probability p; with mode="high" of any size, for which numbers of twice the bits are drawn."""
    p = _core.with_weak(_core.to_inexact(tnp.asarray(p)), False)
    return _random.bernoulli(key, p, _met(shape, p), _of_mode("bernoulli", mode))


@_together(1)
def exponential(key, shape=(), dtype=None):
    """Numbers of density exp(-x)."""
    return _random.exponential(key, _shape(shape), _real(dtype))


def geometric(key, p, shape=None, dtype=None):
    """How many trials there are up to the first that succeeds, each with probability p.

    >>> int(geometric(key(0), 1.0))
    1
    """
    p = _core.to_inexact(tnp.asarray(p))
    return _drawn("geometric", key, p, shape=_met(shape, p), dtype=_dtypes.default("i") if dtype in (None, int) else dtype)


@_together(1)
def gumbel(key, shape=(), dtype=None, mode=None):
    """-log(-log u) of uniform u. mode="high": u has twice the bits, so that large numbers are as likely as they should."""
    return _random.gumbel(key, _shape(shape), _real(dtype), _of_mode("gumbel", mode, None, "highest"))


def _categorical(key, logits, axis, shape, replace, resolution):
    return _random.categorical(key, logits, axis, shape=shape, replace=replace, resolution=resolution)


def categorical(key, logits, axis=-1, shape=None, replace=True, mode=None):
    """Indices along an axis, with the probabilities softmax(logits)."""
    logits = tnp.asarray(logits)
    axis = _axis(axis, logits.ndim)
    rest = logits.shape[:axis] + logits.shape[axis + 1:]
    shape = rest if shape is None else _shape(shape)
    count = logits.size if _core.tracing() or not replace else _sizes.elements(shape) * logits.shape[axis]
    made = of_many(_categorical, count, (key, logits), axis, shape, bool(replace), _of_mode("categorical", mode, None, "highest"))
    return _core.convert(made, _dtypes.default("i") if replace else "int32")  # as JAX's, of argmax and of top_k


def laplace(key, shape=(), dtype=None):
    """Numbers of density exp(-|x|) / 2."""
    return _drawn("laplace", key, shape=_shape(shape), dtype=_real(dtype))


def cauchy(key, shape=(), dtype=None):
    """Numbers of density 1 / (π (1 + x²))."""
    return _drawn("cauchy", key, shape=_shape(shape), dtype=_real(dtype))


def logistic(key, shape=(), dtype=None):
    """Numbers whose distribution is 1 / (1 + exp(-x))."""
    return _drawn("logistic", key, shape=_shape(shape), dtype=_real(dtype))


def pareto(key, b, shape=None, dtype=None):
    """Numbers of density b x^(-b-1), from 1 on."""
    (b,) = _parameters("pareto", dtype, b)
    return _drawn("pareto", key, b, shape=_met(shape, b), dtype=b.dtype)


def rayleigh(key, scale, shape=None, dtype=None):
    """Lengths of normal vectors in the plane."""
    (scale,) = _parameters("rayleigh", dtype, scale)
    return _drawn("rayleigh", key, scale, shape=_met(shape, scale), dtype=scale.dtype)


def weibull_min(key, scale, concentration, shape=(), dtype=None):
    """Numbers of the distribution of Weibull."""
    return _drawn("weibull_min", key, tnp.asarray(scale), tnp.asarray(concentration), shape=_shape(shape), dtype=_real(dtype))


def lognormal(key, sigma=1.0, shape=None, dtype=None):
    """exp(sigma · normal)."""
    (sigma,) = _parameters("lognormal", dtype, sigma)
    return _drawn("lognormal", key, sigma, shape=_met(shape, sigma), dtype=sigma.dtype)


def maxwell(key, shape=(), dtype=None):
    """Lengths of normal vectors in space."""
    return _drawn("maxwell", key, shape=_shape(shape), dtype=_real(dtype))


def double_sided_maxwell(key, loc, scale, shape=(), dtype=None):
    """loc ± scale · maxwell."""
    met = _sizes.broadcast(np.shape(loc), np.shape(scale), of="random.double_sided_maxwell")
    return _drawn("double_sided_maxwell", key, tnp.asarray(loc), tnp.asarray(scale), shape=(_shape(shape) or met) + met, dtype=_real(dtype))


def wald(key, mean, shape=None, dtype=None):
    """The time at which a Brownian motion with drift reaches 1, scaled to a mean."""
    (mean,) = _parameters("wald", dtype, mean)
    return _drawn("wald", key, mean, shape=_met(shape, mean), dtype=mean.dtype)


def triangular(key, left, mode, right, shape=None, dtype=None):
    """Numbers whose density is a triangle."""
    left, mode, right = _parameters("triangular", dtype, left, mode, right)
    return _drawn("triangular", key, left, mode, right, shape=_met(shape, left, mode, right, of="random.triangular"), dtype=left.dtype)


def rademacher(key, shape=(), dtype=None):
    """-1 or 1."""
    return _random.rademacher(key, _shape(shape), _dtypes.default("i") if dtype in (None, int) else dtype, _dtypes.default("f"))


def truncated_normal(key, lower, upper, shape=None, dtype=None):
    """Normal numbers, given that they lie in (lower, upper)."""
    dtype = _real(dtype)
    lower, upper = _converted("truncated_normal", dtype, lower, upper)
    return _drawn("truncated_normal", key, lower, upper, shape=_met(shape, lower, upper), dtype=dtype)


def _multivariate_normal(key, mean, cov, shape, dtype, factor):
    return _random.multivariate_normal(key, mean, cov, shape=shape, dtype=dtype, factor=factor)


def multivariate_normal(key, mean, cov, shape=None, dtype=None, method="cholesky"):
    """Normal vectors with a mean and covariances."""
    dtype = _core.to_inexact(_core.full((), 0, _dtypes.result_type(mean, cov))).dtype if dtype is None else _real(dtype)
    mean, cov = _core.convert(mean, dtype), _core.convert(cov, dtype)
    shape = _sizes.broadcast(mean.shape[:-1], cov.shape[:-2], of="random.multivariate_normal") if shape is None else _shape(shape)
    count = _sizes.elements((*shape, *mean.shape[-1:]))
    return of_many(_multivariate_normal, count, (key, mean, cov), shape, dtype, method)


def orthogonal(key, n, shape=(), dtype=None, m=None):
    """Matrices [*shape, n, m] (m is n where it is not said) with orthonormal columns, or rows where m is larger: every
    rotation of one is as likely.

    >>> q = orthogonal(key(0), 3, dtype="float64")
    >>> bool(tnp.allclose(q @ q.T, tnp.eye(3)))
    True
    """
    m = n if m is None else m
    shape = _shape(shape)
    return of_many(_random.orthogonal, _sizes.elements((*shape, n, m)), (key,), n, m, shape, _real(dtype))


def _permuted(key, x, axis, independent):
    return _random.detail.permuted(key, x, axis=axis, independent=independent)


def permutation(key, x, axis=0, independent=False):
    """The elements along an axis in another order; of an int, its range."""
    if not isinstance(x, _core.Dim) and np.ndim(x) == 0 and _dtypes._operand_type(x)[0].kind not in "iu":
        raise DTypeError(f"permutation: x is an integer, or has an axis at least, not {x!r}.")
    if isinstance(x, _core.Dim) or np.ndim(x) == 0:
        n, _ = _sizes.size(x), _axis(axis, 1)
        return of_many(_random.permutation, n, (key,), n, _dtypes.default("i"))
    x = tnp.asarray(x)
    return of_many(_permuted, x.size, (key, x), _axis(axis, x.ndim), bool(independent))


def _chosen_of_range(key, p, n, shape, replace, index, resolution):
    return _random.choice(key, n, shape, replace=replace, p=p, index=index, resolution=resolution)


def _chosen(key, x, p, shape, replace, axis, index, resolution):
    return _random.detail.chosen(key, x, shape, replace=replace, p=p, axis=axis, index=index, resolution=resolution)


def choice(key, a, shape=(), replace=True, p=None, axis=0, mode=None):
    """Elements along an axis, or of a range, with or without replacement, with probabilities p. `mode` is that of the gumbel
    numbers by which elements with probabilities are drawn without replacement."""
    shape = _shape(shape)
    of_range = isinstance(a, _core.Dim) or np.ndim(a) == 0
    a = _sizes.size(a) if of_range else tnp.asarray(a)
    axis = 0 if of_range else _axis(axis, a.ndim)
    resolution = _of_mode("choice", mode, None, "highest")
    p = None if p is None else _core.with_weak(_core.to_inexact(tnp.asarray(p)), False)
    count = _sizes.elements(shape) if replace else a if of_range else a.shape[axis]
    if of_range:
        return of_many(_chosen_of_range, count, (key, p), a, shape, bool(replace), _dtypes.default("i"), resolution)
    return of_many(_chosen, count, (key, a, p), shape, bool(replace), axis, _dtypes.default("i"), resolution)
