"""First values of parameters, by the names of jax.nn.initializers: functions of (key, shape, dtype)."""

import math

from tenon import numpy as tnp
from tenon import random

__all__ = [
    "constant", "delta_orthogonal", "glorot_normal", "glorot_uniform", "he_normal", "he_uniform", "kaiming_normal",
    "kaiming_uniform", "lecun_normal", "lecun_uniform", "normal", "ones", "orthogonal", "truncated_normal", "uniform",
    "variance_scaling", "xavier_normal", "xavier_uniform", "zeros",
]


def zeros(key, shape, dtype=None, out_sharding=None):
    """Zeros."""
    return tnp.zeros(shape, dtype)


def ones(key, shape, dtype=None, out_sharding=None):
    """Ones."""
    return tnp.ones(shape, dtype)


def constant(value, dtype=None):
    """One value."""
    return lambda key, shape, dtype=dtype: tnp.full(shape, value, tnp.zeros((), dtype).dtype)


def uniform(scale=1e-2, dtype=None):
    """Uniform in [0, scale)."""
    return lambda key, shape, dtype=dtype: _scaled(random.uniform(key, shape, dtype), scale)


def _scaled(drawn, scale):
    return drawn * tnp.asarray(scale, drawn.dtype)


def normal(stddev=1e-2, dtype=None):
    """Normal with a standard deviation."""
    return lambda key, shape, dtype=dtype: _scaled(random.normal(key, shape, dtype), stddev)


def truncated_normal(stddev=1e-2, dtype=None, lower=-2.0, upper=2.0):
    """Normal numbers between bounds, scaled."""
    return lambda key, shape, dtype=dtype: _scaled(random.truncated_normal(key, lower, upper, shape, dtype), stddev)


def variance_scaling(scale, mode, distribution, in_axis=-2, out_axis=-1, batch_axis=(), dtype=None):
    """Numbers whose variance is scale / n, n being the number of inputs ("fan_in"), outputs ("fan_out") or their mean
    ("fan_avg"); "truncated_normal", "normal" or "uniform"."""

    def axes(axis, rank):
        return [a % rank for a in (axis if isinstance(axis, (tuple, list)) else (axis,))]

    def init(key, shape, dtype=dtype):
        rank = len(shape)
        ins, outs, batch = axes(in_axis, rank), axes(out_axis, rank), axes(batch_axis, rank)
        of_in, of_out = math.prod(shape[a] for a in ins), math.prod(shape[a] for a in outs)
        field = math.prod(n for a, n in enumerate(shape) if a not in {*ins, *outs, *batch})
        fans = {"fan_in": of_in * field, "fan_out": of_out * field, "fan_avg": (of_in + of_out) * field / 2}
        if mode not in fans:
            raise ValueError(f"invalid mode for variance scaling initializer: {mode}")
        variance = scale / fans[mode]
        if distribution == "truncated_normal":
            return random.truncated_normal(key, -2, 2, shape, dtype) * (math.sqrt(variance) / .87962566103423978)
        if distribution == "normal":
            return random.normal(key, shape, dtype) * math.sqrt(variance)
        if distribution == "uniform":
            return random.uniform(key, shape, dtype, -1) * math.sqrt(3 * variance)
        raise ValueError(f"invalid distribution for variance scaling initializer: {distribution}")

    return init


def orthogonal(scale=1.0, column_axis=-1, dtype=None):
    """Orthonormal columns (rows, where there are fewer), times the scale; columns are along `column_axis`.

    >>> made = orthogonal(2.0)(random.key(0), (3, 3), "float64")
    >>> bool(tnp.allclose(made @ made.T, 4 * tnp.eye(3)))
    True
    """

    def init(key, shape, dtype=dtype):
        if len(shape) < 2:
            raise ValueError("orthogonal initializer requires at least a 2D shape")
        if 0 in shape:
            return tnp.zeros(shape, dtype)
        rest = list(shape)
        columns = rest.pop(column_axis)
        made = random.orthogonal(key, math.prod(rest), (), dtype, columns)
        return tnp.moveaxis(tnp.reshape(made, (*rest, columns)), -1, column_axis) * scale

    return init


def delta_orthogonal(scale=1.0, column_axis=-1, dtype=None):
    """Kernels of convolutions, zero but in the middle, where they are orthogonal(): of shape (*sizes, inputs, outputs).

    >>> made = delta_orthogonal()(random.key(0), (3, 2, 2))
    >>> [bool(tnp.any(part)) for part in made]
    [False, True, False]
    """

    def init(key, shape, dtype=dtype):
        if len(shape) not in (3, 4, 5):
            raise ValueError("Delta orthogonal initializer requires a 3D, 4D or 5D shape.")
        if shape[-1] < shape[-2]:
            raise ValueError("`fan_in` must be less or equal than `fan_out`. ")
        middle = tuple((n - 1) // 2 for n in shape[:-2])
        return tnp.zeros(shape, dtype).at[middle].set(orthogonal(scale, column_axis, dtype)(key, shape[-2:], dtype))

    return init


def _named(name, scale, mode, distribution):
    def make(in_axis=-2, out_axis=-1, batch_axis=(), dtype=None):
        return variance_scaling(scale, mode, distribution, in_axis, out_axis, batch_axis, dtype)

    make.__name__, make.__doc__ = name, f"variance_scaling({scale}, {mode!r}, {distribution!r})."
    return make


glorot_uniform = xavier_uniform = _named("glorot_uniform", 1.0, "fan_avg", "uniform")
glorot_normal = xavier_normal = _named("glorot_normal", 1.0, "fan_avg", "truncated_normal")
lecun_uniform, lecun_normal = (_named("lecun_uniform", 1.0, "fan_in", "uniform"),
                               _named("lecun_normal", 1.0, "fan_in", "truncated_normal"))
he_uniform = kaiming_uniform = _named("he_uniform", 2.0, "fan_in", "uniform")
he_normal = kaiming_normal = _named("he_normal", 2.0, "fan_in", "truncated_normal")
