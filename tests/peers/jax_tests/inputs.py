"""Random inputs of JAX's tests: shapes, lists of dtypes, and generators that take a RandomState and give a function of (shape, dtype)."""

import functools
import math

import ml_dtypes
import numpy as np
import tenon as tn
import tenon.dtypes as td
import tenon.tree_util as tree
from dtype_table import canonicalize, dtype_of, to_inexact

bfloat16 = np.dtype(ml_dtypes.bfloat16)
IN_32_BITS = [np.dtype(d) for d in (np.bool_, np.int8, np.int16, np.int32, np.uint8, np.uint16, np.uint32, bfloat16, np.float16,
                                    np.float32, np.complex64)]
IN_64_BITS = [np.dtype(d) for d in (np.int64, np.uint64, np.float64, np.complex128)]


class Dtypes:
    """jtu.dtypes: lists of the dtypes that the present mode has."""

    LISTS = dict(
        floating=[np.float32, np.float64], all_floating=[ml_dtypes.bfloat16, np.float16, np.float32, np.float64],
        integer=[np.int32, np.int64], all_integer=[np.int8, np.int16, np.int32, np.int64],
        unsigned=[np.uint32, np.uint64], all_unsigned=[np.uint8, np.uint16, np.uint32, np.uint64],
        complex=[np.complex64, np.complex128], boolean=[np.bool_])
    SUMS = dict(
        inexact=("floating", "complex"), all_inexact=("all_floating", "complex"),
        numeric=("floating", "integer", "unsigned", "complex"),
        all=("all_floating", "all_integer", "all_unsigned", "complex", "boolean"))
    custom_floats = [ml_dtypes.bfloat16]

    def supported(self, dtypes):
        there = IN_32_BITS + (IN_64_BITS if tn.config.x64 else [])

        def is_there(dtype):
            try:
                return np.dtype(dtype) in there
            except TypeError:
                return False
        return [d for d in dtypes if is_there(d)]

    def __getattr__(self, name):
        if name in self.LISTS:
            return self.supported(self.LISTS[name])
        if name in self.SUMS:
            return sum((getattr(self, part) for part in self.SUMS[name]), [])
        raise AttributeError(name)


dtypes = Dtypes()


# ---- dtypes as JAX gives them to NumPy's results

def num_float_bits(dtype):
    dtype = canonicalize(dtype)
    return np.dtype(dtype).itemsize * 8 // (2 if np.dtype(dtype).kind == "c" else 1)


def to_default_dtype(x):
    x = np.asarray(x)
    defaults = {"i": "int64", "u": "uint64", "f": "float64", "c": "complex128"}
    return x.astype(canonicalize(defaults[x.dtype.kind])) if x.dtype.kind in defaults and x.dtype != bfloat16 else x


def with_jax_dtype_defaults(f, use_defaults=True):
    @functools.wraps(f)
    def wrapped(*args, **kwargs):
        out = f(*args, **kwargs)
        if isinstance(use_defaults, bool):
            return tree.tree_map(to_default_dtype, out) if use_defaults else out
        return type(out)(to_default_dtype(x) if use else x for x, use in zip(out, use_defaults))
    return wrapped


def promote_like_jnp(f, inexact=False):
    def wrapped(*args, **kwargs):
        leaves, structure = tree.tree_flatten(args)
        dtype = np.dtype(td.result_type(*leaves))
        dtype = to_inexact(dtype) if inexact else dtype
        return f(*tree.tree_unflatten(structure, [np.asarray(x).astype(dtype) for x in leaves]), **kwargs)
    return wrapped


# ---- shapes that stand for numbers, not arrays

class ScalarShape:
    def __len__(self):
        return 0

    def __getitem__(self, i):
        raise IndexError(i)


class _NumPyScalar(ScalarShape):
    pass


class _PythonScalar(ScalarShape):
    pass


NUMPY_SCALAR_SHAPE, PYTHON_SCALAR_SHAPE = _NumPyScalar(), _PythonScalar()


def dims(shape):
    if isinstance(shape, ScalarShape):
        return ()
    return tuple(shape) if isinstance(shape, (list, tuple)) else (int(shape),)


def cast(value, shape, dtype):
    if shape is NUMPY_SCALAR_SHAPE:
        return np.dtype(dtype).type(value)
    return np.asarray(value).item() if shape is PYTHON_SCALAR_SHAPE else value


def is_valid_shape(shape, dtype):
    of_python = (np.dtype(type(np.array(0, dtype=dtype).item())), np.dtype(bool))
    return shape != PYTHON_SCALAR_SHAPE or np.dtype(dtype) in of_python


def format_shape_dtype_string(shape, dtype):
    return f"{np.dtype(dtype).name}[{shape if isinstance(shape, ScalarShape) else ','.join(map(str, dims(shape)))}]"


# ---- generators

def generator(draw, after=lambda x: x, scale=1.0):
    """A function of (shape, dtype) that draws scale * draw(dims), converts it, and applies `after`."""
    def generate(shape, dtype, post=after):
        size, dtype = dims(shape), np.dtype(dtype)

        def part():
            return np.asarray(scale * draw(size))
        if dtype.kind == "c":
            x = np.asarray(part() + 1j * part()).astype(dtype)
        elif dtype.kind == "b":
            x = np.asarray(part() > 0)
        else:
            x = (np.abs(part()) if dtype.kind == "u" else part()).astype(dtype)
        return cast(np.asarray(post(x)).astype(dtype), shape, dtype)
    return generate


def normal(rng):
    return lambda size: np.asarray(rng.standard_normal(size))


def rand_default(rng, scale=3):
    return generator(normal(rng), scale=scale)


def rand_nonzero(rng):
    return generator(normal(rng), lambda x: np.where(x == 0, np.ones((), x.dtype), x), 3)


def rand_positive(rng):
    return generator(rng.random_sample, lambda x: x + np.ones((), x.dtype), 2)


def rand_small(rng):
    return generator(normal(rng), scale=1e-3)


def rand_not_small(rng, offset=10.0):
    return generator(normal(rng), lambda x: x + np.where(x > 0, offset, -offset).astype(x.dtype), 3)


def rand_small_positive(rng):
    return generator(rng.random_sample, scale=2e-5)


def rand_uniform(rng, low=0.0, high=1.0):
    return generator(rng.random_sample, lambda x: x * (high - low) + low)


def rand_some_equal(rng):
    def equal(x):
        return np.where(rng.random_sample(x.shape) < 0.5, x.ravel()[0], x) if x.size else x
    return generator(normal(rng), equal, 100)


def rand_some_zero(rng):
    return generator(normal(rng), lambda x: np.where(rng.random_sample(x.shape) < 0.5, np.zeros((), x.dtype), x), 3)


def with_some(*values):
    """A generator in whose arrays of floats each of `values` takes the place of a tenth of the elements."""
    def make(rng):
        plain = rand_default(rng)

        def generate(shape, dtype):
            dtype = np.dtype(dtype)
            if dtype.kind not in "fcV" and dtype != bfloat16:
                return plain(shape, dtype)
            x = np.asarray(plain(dims(shape), dtype))
            for value in values:
                x = np.where(rng.random_sample(x.shape) < 0.1, np.asarray(value).astype(dtype), x)
            return cast(np.asarray(x, dtype), shape, dtype)
        return generate
    return make


rand_some_inf = with_some(np.inf, -np.inf)
rand_some_nan = with_some(np.nan, -np.nan)
rand_some_inf_and_nan = with_some(np.inf, -np.inf, np.nan)


def rand_int(rng, low=0, high=None):
    def generate(shape, dtype):
        dtype = np.dtype(dtype)
        drawn = dtype if dtype.kind in "iu" else np.dtype("int64")
        top = np.iinfo(drawn).max if low == 0 and high is None else high
        return cast(np.asarray(rng.randint(low, high=top, size=dims(shape), dtype=drawn)).astype(dtype), shape, dtype)
    return generate


def rand_unique_int(rng, high=None):
    return lambda shape, dtype: rng.choice(np.arange(high or math.prod(shape)).astype(dtype), size=shape, replace=False)


def rand_indices_unique_along_axis(rng):
    def generate(dim, shape, axis, allow_negative=True):
        axis %= len(shape)
        order = rng.random_sample(shape[:axis] + (dim,) + shape[axis + 1:])
        index = np.take(np.argsort(order, axis), np.arange(shape[axis]), axis)
        return np.where(rng.random_sample(index.shape) < 0.5, index - dim, index) if allow_negative else index
    return generate


def rand_bool(rng):
    return lambda shape, dtype: cast(np.asarray(rng.random_sample(dims(shape)) < 0.5).astype(dtype), shape, dtype)


def rand_fullrange(rng, standardize_nans=False):
    def generate(shape, dtype, post=lambda x: x):
        dtype, size = np.dtype(dtype), dims(shape)
        x = rng.randint(0, 256, size=math.prod(size) * dtype.itemsize).astype(np.uint8)
        x = (x & 1).astype(bool).reshape(size) if dtype.kind == "b" else x.view(dtype).reshape(size)
        if standardize_nans and dtype.kind == "f":
            x = np.where(np.isnan(x), np.asarray(np.nan, dtype), x)
        return cast(post(x), shape, dtype)
    return generate


def rand_like(rng, x):
    dtype = np.dtype(dtype_of(x))

    def part():
        return np.asarray(rng.standard_normal(np.shape(x)))
    return np.asarray(part() + 1j * part() if dtype.kind == "c" else part()).astype(dtype)


def complex_plane_sample(dtype, size_re=10, size_im=None):
    """A grid over the complex plane, with zeros and infinities."""
    limits = np.finfo(np.float32 if np.dtype(dtype) == np.complex64 else np.float64)

    def axis(n):
        positive = np.logspace(np.log10(limits.tiny) / 2, np.log10(limits.max) / 2, n).astype(limits.dtype)
        return np.concatenate([[-np.inf], -positive[::-1], [0], positive, [np.inf]])
    x, y = np.meshgrid(axis(size_re), axis(size_im or size_re))
    z = np.empty(x.shape, dtype)
    z.real, z.imag = x, y
    return z
