"""First values of parameters, by the names of jax.nn.initializers: functions of (key, shape, dtype)."""

import math

from tenon import _core, random
from tenon import numpy as tnp

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


def _in_disk(key, shape, dtype, radius_squared):
    """Complex numbers whose angle is uniform; `radius_squared` makes the square of their size of a uniform number."""
    real = tnp.zeros((), dtype).real.dtype
    of_size, of_angle = random.split(key)
    size = tnp.sqrt(radius_squared(random.uniform(of_size, shape, real)))
    angle = 2 * math.pi * random.uniform(of_angle, shape, real)
    return _core.convert(_core.complex(size * tnp.cos(angle), size * tnp.sin(angle)), dtype)


def _of_variance_one(distribution, key, shape, dtype):
    """Numbers of a distribution, of variance 1."""
    if distribution == "normal":
        return random.normal(key, shape, dtype)
    of_complex = dtype is not None and tnp.dtype(dtype).kind == "c"
    if distribution == "truncated_normal":
        if of_complex:  # of size at most 2, of a normal distribution of variance 1 and not cut
            made = _in_disk(key, shape, dtype, lambda u: -tnp.log1p(-u * (1 - math.exp(-4.0))))
            return made * (1 / .95311164380491208)
        return random.truncated_normal(key, -2, 2, shape, dtype) * (1 / .87962566103423978)
    if distribution == "uniform":
        if of_complex:
            return _in_disk(key, shape, dtype, lambda u: 2 * u)
        return random.uniform(key, shape, dtype, -1) * math.sqrt(3)
    raise ValueError(f"invalid distribution for variance scaling initializer: {distribution}")


def variance_scaling(scale, mode, distribution, in_axis=-2, out_axis=-1, batch_axis=(), dtype=None):
    """Numbers whose variance is scale / n, n being the number of inputs ("fan_in"), outputs ("fan_out"), their mean
    ("fan_avg") or geometric mean ("fan_geo_avg"); "truncated_normal", "normal" or "uniform". Complex ones are uniform, or
    cut, in a disk."""

    def axes(axis, rank):
        return [a % rank for a in (axis if isinstance(axis, (tuple, list)) else (axis,))]

    def init(key, shape, dtype=dtype):
        rank = len(shape)
        if rank < 2 and (in_axis, out_axis) == (-2, -1):
            raise ValueError(f"Can't compute input and output sizes of a {rank}-dimensional weights tensor with default "
                             "in_axis. Must be at least 2D or specify in_axis explicitly.")
        ins, outs, batch = axes(in_axis, rank), axes(out_axis, rank), axes(batch_axis, rank)
        of_in, of_out = math.prod(shape[a] for a in ins), math.prod(shape[a] for a in outs)
        others = of_in * of_out * math.prod(shape[a] for a in batch)
        field = math.prod(shape) / others if others else 0
        fans = {"fan_in": of_in * field, "fan_out": of_out * field, "fan_avg": (of_in + of_out) * field / 2,
                "fan_geo_avg": math.sqrt(of_in * of_out) * field}
        if mode not in fans:
            raise ValueError(f"invalid mode for variance scaling initializer: {mode}")
        return _of_variance_one(distribution, key, shape, dtype) * math.sqrt(scale / fans[mode])

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
