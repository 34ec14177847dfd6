"""First values of parameters, by the names of jax.nn.initializers: functions of (key, shape, dtype)."""

import math

from tenon import numpy as tnp
from tenon import random

__all__ = [
    "constant", "glorot_normal", "glorot_uniform", "he_normal", "he_uniform", "kaiming_normal", "kaiming_uniform",
    "lecun_normal", "lecun_uniform", "normal", "ones", "truncated_normal", "uniform", "variance_scaling",
    "xavier_normal", "xavier_uniform", "zeros",
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
    return lambda key, shape, dtype=dtype: random.uniform(key, shape, dtype) * scale


def normal(stddev=1e-2, dtype=None):
    """Normal with a standard deviation."""
    return lambda key, shape, dtype=dtype: random.normal(key, shape, dtype) * stddev


def truncated_normal(stddev=1e-2, dtype=None, lower=-2.0, upper=2.0):
    """Normal numbers between bounds, scaled."""
    return lambda key, shape, dtype=dtype: random.truncated_normal(key, lower, upper, shape, dtype) * stddev


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
