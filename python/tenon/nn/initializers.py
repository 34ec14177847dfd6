"""First values of parameters, by the names of jax.nn.initializers: functions of (key, shape, dtype)."""

from tenon import _core, _sizes, random  # noqa: F401, of the examples
from tenon import numpy as tnp
from tenon.random._draws import _real, of_many

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


def _drawn(name, arrays, shape, dtype, *options):
    """Numbers of the library's initializer of this name."""
    shape = _sizes.shape(shape)
    return of_many(getattr(_core.nn, name), _sizes.elements(shape), arrays, shape, _real(dtype), *options)


def uniform(scale=1e-2, dtype=None):
    """Uniform in [0, scale)."""
    return lambda key, shape, dtype=dtype: _drawn("initial_uniform", (key, scale), shape, dtype)


def normal(stddev=1e-2, dtype=None):
    """Normal with a standard deviation."""
    return lambda key, shape, dtype=dtype: _drawn("initial_normal", (key, stddev), shape, dtype)


def truncated_normal(stddev=1e-2, dtype=None, lower=-2.0, upper=2.0):
    """Normal numbers between bounds, scaled."""
    return lambda key, shape, dtype=dtype: _drawn("initial_truncated_normal", (key, stddev, lower, upper), shape, dtype)


def variance_scaling(scale, mode, distribution, in_axis=-2, out_axis=-1, batch_axis=(), dtype=None):
    """Numbers whose variance is scale / n, n being the number of inputs ("fan_in"), outputs ("fan_out"), their mean
    ("fan_avg") or geometric mean ("fan_geo_avg"); "truncated_normal", "normal" or "uniform". Complex ones are uniform, or
    cut, in a disk."""
    _core.nn.require_variance_scaling(mode, distribution)

    def axes(axis):
        return tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)

    def init(key, shape, dtype=dtype):
        return _drawn("initial_variance_scaling", (key,), shape, dtype, float(scale), mode, distribution, axes(in_axis), axes(out_axis),
                      axes(batch_axis))

    return init


def orthogonal(scale=1.0, column_axis=-1, dtype=None):
    """Orthonormal columns (rows, where there are fewer), times the scale; columns are along `column_axis`.

    >>> made = orthogonal(2.0)(random.key(0), (3, 3), "float64")
    >>> bool(tnp.allclose(made @ made.T, 4 * tnp.eye(3)))
    True
    """

    return lambda key, shape, dtype=dtype: _drawn("initial_orthogonal", (key, scale), shape, dtype, column_axis)


def delta_orthogonal(scale=1.0, column_axis=-1, dtype=None):
    """Kernels of convolutions, zero but in the middle, where they are orthogonal(): of shape (*sizes, inputs, outputs).

    >>> made = delta_orthogonal()(random.key(0), (3, 2, 2))
    >>> [bool(tnp.any(part)) for part in made]
    [False, True, False]
    """

    return lambda key, shape, dtype=dtype: _drawn("initial_delta_orthogonal", (key, scale), shape, dtype, column_axis)


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
