"""Functions of neural networks, by the names of jax.nn. Where one asks for an order of complex numbers, it is that of real
parts, then of imaginary ones."""

import math
import operator

from tenon import _core, _sizes
from tenon._checks import whole
from tenon import numpy as tnp
from tenon._core import logistic as sigmoid, tanh
from tenon.nn import _complex, initializers
from tenon.nn._pooling import avg_pool, max_pool, min_pool
from tenon.numpy._creation import asarray
from tenon.numpy._elementwise import _inexact_together
from tenon.numpy._shapes import _axis

__all__ = [
    "avg_pool", "celu", "dot_product_attention", "elu", "gelu", "glu", "hard_sigmoid", "hard_silu", "hard_swish", "hard_tanh",
    "identity", "initializers", "leaky_relu", "log1mexp", "log_sigmoid", "log_softmax", "logmeanexp", "logsumexp", "max_pool", "min_pool", "mish", "one_hot",
    "relu", "relu6", "selu", "sigmoid", "silu", "soft_sign", "softmax", "softplus", "sparse_plus", "sparse_sigmoid",
    "squareplus", "standardize", "swish", "tanh",
]



def _of(name, x, *args):
    """The function of the library's by this name; of complex arrays that of _complex."""
    return getattr(_complex if x.dtype.kind == "c" else _core, name)(x, *args)


def _inexact(x):
    """Numbers as real or complex ones: integers as those of Python's that are real, which take the dtype of others."""
    x = tnp.asarray(x)
    return _core.with_weak(_core.convert(x, tnp.float_), True) if x.dtype.kind in "biu" else x


def relu(x):
    """max(x, 0); its derivative at 0 is 0."""
    x = tnp.asarray(x)
    return _of("relu", _core.convert(x, tnp.int_) if x.dtype.kind == "b" else x)


def silu(x):
    """x · sigmoid(x)."""
    return _core.silu(_inexact(x))


def softplus(x):
    """log(1 + exp(x)), without overflow."""
    x = tnp.asarray(x)
    return _of("softplus", _core.to_inexact(_inexact(x) if x.dtype.kind == "b" else x))


def log_sigmoid(x):
    """log(sigmoid(x)), without underflow."""
    return _of("log_sigmoid", _core.to_inexact(tnp.asarray(x)))


swish = silu


def identity(x):
    """x."""
    return asarray(x)


def elu(x, alpha=1.0):
    """x where it is positive, else alpha (exp(x) - 1)."""
    return _of("elu", _inexact(x), alpha)


def leaky_relu(x, negative_slope=0.01):
    """x where it is not negative, else negative_slope · x."""
    return _of("leaky_relu", _inexact(x), negative_slope)


def celu(x, alpha=1.0):
    """max(x, 0) + alpha min(exp(x / alpha) - 1, 0)."""
    x = _inexact(x)
    return tnp.maximum(x, 0.0) + alpha * tnp.expm1(tnp.minimum(x, 0.0) / alpha)


def selu(x):
    """The self-normalising elu."""
    return 1.0507009873554804934193349852946 * elu(x, 1.6732632423543772848170429916717)


def gelu(x, approximate=True):
    """x · Φ(x), by tanh or by the error function."""
    return _core.with_weak(_core.gelu(_core.to_inexact(tnp.asarray(x)), approximate), False)


def glu(x, axis=-1):
    """The first half along an axis times sigmoid of the second."""
    x = tnp.asarray(x)
    if x.shape[axis] % 2:
        raise ValueError(f"axis size must be divisible by 2, got {x.shape[axis]}")
    a, b = tnp.split(x, 2, axis)
    return a * sigmoid(b)


def relu6(x):
    """x limited to [0, 6]; its derivative at both ends is 0."""
    x = _inexact(x)
    return tnp.where(x >= 6, 6, relu(tnp.where(x >= 6, 0, x)))


def hard_sigmoid(x):
    """relu6(x + 3) / 6."""
    return relu6(_inexact(x) + 3.0) / 6.0


def hard_silu(x):
    """x · hard_sigmoid(x)."""
    x = _inexact(x)
    return x * hard_sigmoid(x)


hard_swish = hard_silu


def hard_tanh(x):
    """x limited to [-1, 1]."""
    x = tnp.asarray(x)
    return tnp.where(x > 1, 1, tnp.where(x < -1, -1, x))


def soft_sign(x):
    """x / (|x| + 1)."""
    x = tnp.asarray(x)
    return x / (abs(x) + 1)


def mish(x):
    """x · tanh(softplus(x))."""
    x = tnp.asarray(x)
    return x * tnp.tanh(softplus(x))


def squareplus(x, b=4):
    """(x + sqrt(x² + b)) / 2."""
    x, b = _inexact_together(tnp.asarray(x), b)
    return (x + tnp.sqrt(tnp.square(x) + b)) / 2


def sparse_plus(x):
    """0 up to -1, x from 1 on, (x + 1)² / 4 between."""
    x = tnp.asarray(x)
    return tnp.where(x <= -1.0, 0.0, tnp.where(x >= 1.0, x, (x + 1.0) ** 2 / 4))


def sparse_sigmoid(x):
    """0 up to -1, 1 from 1 on, a line between."""
    return 0.5 * tnp.clip(x + 1.0, 0.0, 2.0)


def log1mexp(x):
    """log(1 - exp(-x)), without cancellation."""
    x = _core.to_inexact(tnp.asarray(x))
    small = x < math.log(2)
    return tnp.where(small, tnp.log(-tnp.expm1(-tnp.where(small, x, 1.0))), tnp.log1p(-tnp.exp(-tnp.where(small, 1.0, x))))


def _masked(name, x, axis, where):
    x = tnp.asarray(x)
    axes = None if axis is None else _axes_of(axis, x.ndim)
    return _of(name, x if where is None else tnp.where(where, x, -math.inf), axes, False)


def _axes_of(axis, rank):
    return [_axis(a, rank) for a in (axis if isinstance(axis, (tuple, list)) else (axis,))]


def softmax(x, axis=-1, where=None, initial=-math.inf):
    """exp(x) / sum(exp(x)) along axes."""
    made = _masked("softmax", x, axis, where)
    return made if where is None else tnp.where(where, made, 0)


@whole
def log_softmax(x, axis=-1, where=None, initial=-math.inf):
    """log(softmax(x)), without underflow."""
    made = _masked("log_softmax", x, axis, where)
    return made if where is None else tnp.where(where, made, -math.inf)


def logsumexp(a, axis=None, b=None, keepdims=False, return_sign=False, where=None):
    """log(sum(b · exp(a))), without overflow."""
    a = _core.to_inexact(tnp.asarray(a))
    if where is not None:
        a = tnp.where(where, a, -math.inf)
    axes = None if axis is None else _axes_of(axis, a.ndim)
    if b is None and not return_sign:
        return _of("logsumexp", a, axes, keepdims)
    b = tnp.ones((), a.dtype) if b is None else tnp.asarray(b)
    shift = _core.stop_gradient(tnp.max(_core.real(tnp.where(b == 0, -math.inf, a)), None if axes is None else tuple(axes),
                                        keepdims=True, initial=-math.inf))
    shift = tnp.where(tnp.isfinite(shift), shift, 0)
    total = _core.sum(tnp.broadcast_to(b * tnp.exp(a - shift), a.shape), axes, True)
    of_complex = total.dtype.kind == "c"
    sign, made = tnp.sign(total), tnp.log(total if of_complex and not return_sign else abs(total)) + shift
    if not keepdims:
        sign, made = (tnp.squeeze(x, tuple(range(a.ndim)) if axes is None else tuple(axes)) for x in (sign, made))
    if return_sign:
        return made, sign
    return made if of_complex else tnp.where(sign < 0, math.nan, made)


def logmeanexp(x, axis=None, where=None, keepdims=False):
    """log(mean(exp(x)))."""
    x = tnp.asarray(x)
    count = x.size if axis is None else math.prod(x.shape[a] for a in _axes_of(axis, x.ndim))
    if where is not None:
        count = tnp.sum(tnp.broadcast_to(where, x.shape), axis, keepdims=keepdims)
    made = logsumexp(x, axis, where=where, keepdims=keepdims)
    return made - tnp.log(_core.convert(count, made.dtype))


def standardize(x, axis=-1, mean=None, variance=None, epsilon=1e-5, where=None, *, algorithm="fast"):
    """(x - mean) / sqrt(variance + epsilon). `algorithm`: "fast" and "stable" are the same, of the squares of differences
    from the mean."""
    if algorithm not in ("fast", "stable"):
        raise ValueError(f"standardize: algorithm is 'fast' or 'stable', not {algorithm!r}.")
    x = tnp.asarray(x)
    if mean is None and variance is None and where is None:
        return _core.standardize(x, None if axis is None else _axes_of(axis, x.ndim), epsilon)
    mean = tnp.mean(x, axis, keepdims=True, where=where) if mean is None else mean
    variance = tnp.mean(tnp.square(x - mean), axis, keepdims=True, where=where) if variance is None else variance
    return (x - mean) / tnp.sqrt(variance + epsilon)


def one_hot(x, num_classes, *, dtype=None, axis=-1):
    """A last axis (or `axis`) of num_classes elements, 1 at the index and 0 elsewhere."""
    num_classes = _sizes.size(num_classes)
    x, dtype = tnp.asarray(x), tnp.zeros(()).dtype if dtype is None else dtype
    if x.dtype.kind in "iu":
        made = _core.one_hot(x, num_classes, dtype)
    else:
        made = _core.convert(tnp.equal(x[..., None], tnp.arange(num_classes, dtype=x.dtype)), dtype)
    return tnp.moveaxis(made, -1, axis)


def dot_product_attention(query, key, value, bias=None, mask=None, *, scale=None, is_causal=False,
                          query_seq_lengths=None, key_value_seq_lengths=None, implementation=None,
                          local_window_size=None, return_residual=False):
    """softmax(query · keyᵀ · scale + bias) · value: [batch, time, heads, features] each, or without the batch. Queries see
    keys that the mask, `is_causal`, the lengths of the sequences of the batch and `local_window_size`, (how many before,
    how many behind), leave; those behind the length of their sequence give 0. Heads of queries may be a multiple of those
    of keys, which as many in a row share. `implementation`: None or "xla", of no effect. With `return_residual` (that,
    logsumexp of query · keyᵀ · scale + bias of the keys that are seen: [batch, time, heads])."""
    if implementation not in (None, "xla"):
        raise ValueError(f"dot_product_attention: implementation {implementation!r}: there is one, None.")
    if local_window_size is not None and not isinstance(local_window_size, (tuple, list)):
        local_window_size = (local_window_size, local_window_size)
    if local_window_size is not None:
        local_window_size = tuple(map(operator.index, local_window_size))
    return _core.dot_product_attention(query, key, value, bias, mask, scale, is_causal, query_seq_lengths,
                                       key_value_seq_lengths, local_window_size, return_residual)
