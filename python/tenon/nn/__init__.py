"""Functions of neural networks, by the names of jax.nn. Where one asks for an order of complex numbers, it is that of real
parts, then of imaginary ones."""

import math
import operator

from tenon import _core, _repeated, _sizes
from tenon._checks import whole
from tenon import numpy as tnp
from tenon._core import logistic as sigmoid, tanh
from tenon.errors import ShapeError
from tenon.nn import initializers
from tenon.nn._pooling import avg_pool, max_pool, min_pool
from tenon.numpy._creation import asarray
from tenon.numpy._elementwise import _inexact_together
from tenon.numpy._shapes import _axis

_nn = _core.tn.nn
__all__ = [
    "avg_pool", "celu", "dot_product_attention", "elu", "gelu", "glu", "hard_sigmoid", "hard_silu", "hard_swish", "hard_tanh",
    "identity", "initializers", "leaky_relu", "log1mexp", "log_sigmoid", "log_softmax", "logmeanexp", "logsumexp", "max_pool", "min_pool", "mish", "one_hot",
    "relu", "relu6", "scaled_matmul", "selu", "sigmoid", "silu", "soft_sign", "softmax", "softplus", "sparse_plus", "sparse_sigmoid",
    "squareplus", "standardize", "swish", "tanh",
]


def _inexact(x):
    """Numbers as real or complex ones: integers as those of Python's that are real, which take the dtype of others."""
    x = tnp.asarray(x)
    return _core.with_weak(_core.convert(x, tnp.float_), True) if x.dtype.kind in "biu" else x


def relu(x):
    """max(x, 0); its derivative at 0 is 0."""
    x = tnp.asarray(x)
    return _core.relu(_core.convert(x, tnp.int_) if x.dtype.kind == "b" else x)


def silu(x):
    """x · sigmoid(x)."""
    return _core.silu(_inexact(x))


def _real_or_complex(x):
    """Numbers as real or complex ones: bools as Python's are."""
    x = tnp.asarray(x)
    return _core.to_inexact(_inexact(x) if x.dtype.kind == "b" else x)


def softplus(x):
    """log(1 + exp(x)), without overflow."""
    return _core.softplus(_real_or_complex(x))


def log_sigmoid(x):
    """log(sigmoid(x)), without underflow."""
    return _core.log_sigmoid(_core.to_inexact(tnp.asarray(x)))


swish = silu


def identity(x):
    """x."""
    return asarray(x)


def elu(x, alpha=1.0):
    """x where it is positive, else alpha (exp(x) - 1)."""
    return _core.elu(_inexact(x), alpha)


def leaky_relu(x, negative_slope=0.01):
    """x where it is not negative, else negative_slope · x."""
    return _core.leaky_relu(_inexact(x), negative_slope)


def celu(x, alpha=1.0):
    """max(x, 0) + alpha min(exp(x / alpha) - 1, 0)."""
    return _nn.celu(_inexact(x), alpha)


def selu(x):
    """The self-normalising elu."""
    return _nn.selu(_inexact(x))


def gelu(x, approximate=True):
    """x · Φ(x), by tanh or by the error function."""
    return _core.with_weak(_core.gelu(_core.to_inexact(tnp.asarray(x)), approximate), False)


def glu(x, axis=-1):
    """The first half along an axis times sigmoid of the second."""
    return _nn.glu(tnp.asarray(x), axis)


def relu6(x):
    """x limited to [0, 6]; its derivative at both ends is 0."""
    return _nn.relu6(_inexact(x))


def hard_sigmoid(x):
    """relu6(x + 3) / 6."""
    return _nn.hard_sigmoid(_inexact(x))


def hard_silu(x):
    """x · hard_sigmoid(x)."""
    return _nn.hard_silu(_inexact(x))


hard_swish = hard_silu


def hard_tanh(x):
    """x limited to [-1, 1]."""
    x = tnp.asarray(x)
    return _nn.hard_tanh(_core.convert(x, tnp.int_) if x.dtype.kind == "b" else x)


def soft_sign(x):
    """x / (|x| + 1)."""
    return _nn.soft_sign(_real_or_complex(x))


def mish(x):
    """x · tanh(softplus(x))."""
    return _nn.mish(_real_or_complex(x))


def squareplus(x, b=4):
    """(x + sqrt(x² + b)) / 2."""
    return _nn.squareplus(*_inexact_together(tnp.asarray(x), b))


def sparse_plus(x):
    """0 up to -1, x from 1 on, (x + 1)² / 4 between."""
    return _nn.sparse_plus(_inexact(x))


def sparse_sigmoid(x):
    """0 up to -1, 1 from 1 on, a line between."""
    return _nn.sparse_sigmoid(_inexact(x))


def log1mexp(x):
    """log(1 - exp(-x)), without cancellation."""
    return _nn.log1mexp(_core.to_inexact(tnp.asarray(x)))


def _axes_of(axis, rank):
    return None if axis is None else [_axis(a, rank) for a in (axis if isinstance(axis, (tuple, list)) else (axis,))]


def _mask(where):
    return None if where is None else _core.convert(where, "bool")


def softmax(x, axis=-1, where=None, initial=-math.inf):
    """exp(x) / sum(exp(x)) along axes."""
    x = tnp.asarray(x)
    axes = _axes_of(axis, x.ndim)
    return _core.tn.softmax(x, axes) if where is None else _nn.softmax(x, axes, _mask(where))


@whole
def log_softmax(x, axis=-1, where=None, initial=-math.inf):
    """log(softmax(x)), without underflow."""
    x = tnp.asarray(x)
    axes = _axes_of(axis, x.ndim)
    return _core.tn.log_softmax(x, axes) if where is None else _nn.log_softmax(x, axes, _mask(where))


def _beside(x, where):
    """x in the shape in which it meets a mask."""
    return x if where is None else _core.broadcast_to(x, _sizes.broadcast(x.shape, tnp.shape(where)))


def logsumexp(a, axis=None, b=None, keepdims=False, return_sign=False, where=None):
    """log(sum(b · exp(a))), without overflow."""
    a = _beside(_core.to_inexact(tnp.asarray(a)), where)
    f = _nn.signed_logsumexp if return_sign else _nn.logsumexp
    return f(a, _axes_of(axis, a.ndim), keepdims=keepdims, weights=b, counted=_mask(where))


def logmeanexp(x, axis=None, where=None, keepdims=False):
    """log(mean(exp(x)))."""
    x = _beside(tnp.asarray(x), where)
    return _nn.logmeanexp(x, _axes_of(axis, x.ndim), _mask(where), keepdims=keepdims)


def standardize(x, axis=-1, mean=None, variance=None, epsilon=1e-5, where=None, *, algorithm="fast"):
    """(x - mean) / sqrt(variance + epsilon). `algorithm`: "fast" and "stable" are the same, of the squares of differences
    from the mean."""
    if algorithm not in ("fast", "stable"):
        raise _core.OptionError(f"standardize: algorithm is 'fast' or 'stable', not {algorithm!r}.")
    x = tnp.asarray(x)
    axes = _axes_of(axis, x.ndim)
    if mean is None and variance is None and where is None:
        return _core.tn.standardize(x, axes, epsilon)
    return _nn.standardize(x if mean is None else _inexact(x), axes, mean=mean, variance=variance, epsilon=epsilon, counted=_mask(where))


def one_hot(x, num_classes, *, dtype=None, axis=-1):
    """A last axis (or `axis`) of num_classes elements, 1 at the index and 0 elsewhere."""
    num_classes = _sizes.size(num_classes)
    x, dtype = tnp.asarray(x), tnp.zeros(()).dtype if dtype is None else dtype
    if x.dtype.kind in "iu":
        return _core.tn.one_hot(x, num_classes, dtype, axis)
    made = _core.convert(tnp.equal(x[..., None], tnp.arange(num_classes, dtype=x.dtype)), dtype)
    return tnp.moveaxis(made, -1, axis)


def scaled_matmul(lhs, rhs, lhs_scales, rhs_scales, preferred_element_type="float32"):
    """lhs · rhsᵀ of [batch, m, k] and [batch, n, k], both times their scales, [batch, m, blocks] and [batch, n, blocks], each
    of which counts for a block along k.

    >>> scaled_matmul(tnp.ones((1, 1, 4)), tnp.ones((1, 1, 4)), tnp.array([[[1.0, 2.0]]]), tnp.array([[[1.0, 1.0]]])).tolist()
    [[[6.0]]]
    """
    if not all(tnp.ndim(x) == 3 for x in (lhs, rhs, lhs_scales, rhs_scales)):
        raise ShapeError("scaled_matmul: operands and scales have three axes each. Their shapes are "
                         f"{', '.join(str(tnp.shape(x)) for x in (lhs, rhs, lhs_scales, rhs_scales))}.")
    return _core.tn.scaled_dot(lhs, rhs, a_scale=lhs_scales, b_scale=rhs_scales, axes=([2], [2], [0], [0]), dtype=preferred_element_type)


def dot_product_attention(query, key, value, bias=None, mask=None, *, scale=None, is_causal=False,
                          query_seq_lengths=None, key_value_seq_lengths=None, implementation=None,
                          local_window_size=None, return_residual=False):
    """softmax(query · keyᵀ · scale + bias) · value: [batch, time, heads, features] each, or without the batch. Queries see
    keys that the mask, `is_causal`, the lengths of the sequences of the batch and `local_window_size`, (how many before,
    how many behind), leave; those behind the length of their sequence give 0. Heads of queries may be a multiple of those
    of keys, which as many in a row share. `implementation`: None or "xla", of no effect. With `return_residual` (that,
    logsumexp of query · keyᵀ · scale + bias of the keys that are seen: [batch, time, heads])."""
    if implementation not in (None, "xla"):
        raise _core.OptionError(f"dot_product_attention: implementation {implementation!r}: there is one, None.")
    if local_window_size is not None and not isinstance(local_window_size, (tuple, list)):
        local_window_size = (local_window_size, local_window_size)
    if local_window_size is not None:
        local_window_size = tuple(map(operator.index, local_window_size))
    attention = _core.tn.dot_product_attention_sums if return_residual else _core.tn.dot_product_attention
    return attention(query, key, value, bias=bias, mask=mask, scale=scale, is_causal=is_causal, query_lengths=query_seq_lengths,
                     key_lengths=key_value_seq_lengths, window=local_window_size)

_repeated.public(globals())
