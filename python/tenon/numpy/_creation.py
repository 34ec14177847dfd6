"""Arrays from other data, and out of nothing."""

import builtins
import math
import operator

import numpy as np

from tenon import _core, _sizes
from tenon._core import Array
from tenon._extended import float0
from tenon.errors import ConcretizationError, DTypeError, ShapeError
from tenon.numpy import _dtypes
from tenon.numpy._devices import check_device

__all__ = [
    "arange", "array", "asarray", "astype", "copy", "empty", "empty_like", "eye", "from_dlpack", "frombuffer",
    "fromfile", "fromfunction", "fromiter", "fromstring", "full", "full_like", "geomspace", "identity", "indices",
    "linspace", "load", "logspace", "meshgrid", "ones", "ones_like", "tri", "zeros", "zeros_like",
]


def from_dlpack(external_array, /, *, device=None, copy=None):
    """The array of another library, by its __dlpack__(): its memory is shared, and must not be written any more, unless
    `copy` is true."""
    check_device(device)
    made = _core.from_dlpack(external_array)
    return array(np.array(made)) if copy else made


def _has_arrays(x):
    return isinstance(x, Array) or (isinstance(x, (list, tuple)) and builtins.any(map(_has_arrays, x)))


def _nested(x, dtype):
    """An array of nested sequences with Arrays inside."""
    if isinstance(x, np.integer) and dtype is not None:
        return array(int(x), dtype)
    if not isinstance(x, (list, tuple)):
        return array(x)
    parts = [e if type(e) is int else _nested(e, dtype) for e in x]
    if not parts:
        return array(np.zeros((0,)))
    met = _dtypes._meet([e if type(e) in (float, complex) else p for e, p in zip(x, parts)])[0] if dtype is None else dtype
    return _core.tn.stack([array(p, met) for p in parts], 0)


def array(object, dtype=None, copy=True, order="K", ndmin=0, *, device=None):  # noqa: A002
    """An array of numbers, nested sequences, NumPy's arrays: their elements copied.

    >>> array([[1, 2], [3, 4]]).shape
    (2, 2)
    """
    check_device(device)
    return _made(object, dtype, copy, ndmin)


def asarray(a, dtype=None, order=None, *, copy=None, device=None):
    """The array that a function is given: memory that others may write is copied."""
    check_device(device)
    return _made(a, dtype, copy, 0)


def shared(a, dtype=None, order=None, *, copy=None, device=None):
    """The same as array() without a copy where that can be: memory of others is shared, and must not be written any
    more."""
    check_device(device)
    return _made(a, dtype, bool(copy), 0)


_dtypes.make_arrays_by(asarray)
shared.__name__ = shared.__qualname__ = "asarray"  # of users: functions of this package take what they are given as a copy


def _made(x, dtype, copy, ndmin):
    """`copy`: whether memory is copied; None where others may write it."""
    weak = False
    if isinstance(x, Array):
        made, weak = x, x.weak_type
    elif isinstance(x, (np.ndarray, memoryview, bytearray)):
        x = np.frombuffer(x, np.uint8) if isinstance(x, bytearray) else x
        made = _core.with_weak(x, False) if copy is None else _core.from_memory(x, copy)
    elif isinstance(x, (list, tuple, range)):
        made = _nested(x, dtype) if _has_arrays(x) else _from_sequence(x, dtype)
    elif isinstance(x, (bool, int, float, complex, np.generic)):
        made, weak = _core.positive(_exact(x, dtype)), type(x) in (int, float, complex)
    elif hasattr(x, "__dlpack__") and not hasattr(x, "__tenon_array__"):
        made = _core.from_dlpack(x)
        made = array(np.array(made)) if copy else made
    elif x is None:
        raise DTypeError("array: None is no array and no number.")
    else:
        made = _core.with_weak(x, False)
    wanted = _core.canonical_dtype(made.dtype if dtype is None else dtype)
    if made.dtype != wanted:
        made = _core.convert(made, wanted)
    if dtype is not None or not weak:
        made = _core.with_weak(made, False)
    if made.ndim < ndmin:
        made = _core.tn.reshape(made, (1,) * (ndmin - made.ndim) + made.shape)
    return made


def _exact(x, dtype):
    """x, and of Python's integers one of NumPy's where the default dtype may not hold it; OverflowError where `dtype` does not."""
    if type(x) is not int or dtype is None:
        return x
    dtype = _core.canonical_dtype(dtype)
    if dtype.kind not in "iu":
        return x if -2 ** 31 <= x < 2 ** 31 else bool(x) if dtype.kind == "b" else np.float64(x)
    limits = np.iinfo(dtype)
    if not limits.min <= x <= limits.max:
        raise OverflowError(f"Python integer {x} out of bounds for {dtype}")
    return x if limits.bits < 32 or dtype.kind == "i" else np.array(x, dtype)[()]


def _holds_memory(x):
    """Whether an array of NumPy's, with axes, is in nested sequences."""
    return isinstance(x, np.ndarray) or (isinstance(x, (list, tuple)) and builtins.any(map(_holds_memory, x)))


def _require_in_range(x, values, dtype):
    """OverflowError where an integer of nested sequences is none of a dtype; elements of NumPy's arrays wrap, as by astype()."""
    if values.dtype.kind not in "iu":
        return
    wanted = _core.canonical_dtype(values.dtype if dtype is None else dtype)
    if wanted.kind not in "iu" or not values.size or np.can_cast(values.dtype, wanted):
        return
    limits = np.iinfo(wanted)
    for extreme in (int(values.min()), int(values.max())):
        if not limits.min <= extreme <= limits.max and not _holds_memory(x):
            raise OverflowError(f"Python integer {extreme} out of bounds for {wanted}")


def _from_sequence(x, dtype):
    if builtins.any(isinstance(e, np.generic) for e in x) and builtins.any(type(e) in (int, float, complex) for e in x):
        return _nested(x, dtype)  # numbers of Python's take the dtype of NumPy's beside them
    values = np.array(x)
    _require_in_range(x, values, dtype)
    if values.dtype == object:
        parts = list(values.flat)
        if builtins.any(p is None for p in parts):
            raise DTypeError(f"array: {x!r:.60} has None among its elements, which is no number.")
        if builtins.all(isinstance(p, (int, float, complex)) for p in parts):
            if dtype is not None and _core.canonical_dtype(dtype).kind not in "iu":
                return _core.from_memory(np.array(x, np.complex128 if builtins.any(map(np.iscomplexobj, parts)) else np.float64), True)
            raise OverflowError(f"array: {x!r:.60} has an integer among its elements that is too large for 64 bits.")
        raise DTypeError(f"array: {x!r:.60} is no array of numbers.")
    return _core.from_memory(values, True)


_shape = _sizes.shape


def full(shape, fill_value, dtype=None, *, device=None):
    """An array of one value."""
    check_device(device)
    weak = dtype is None and _dtypes._operand_type(fill_value)[1]
    dtype = _dtypes._operand_type(fill_value)[0] if dtype is None else dtype
    fill_value = _exact(fill_value, dtype)
    if np.ndim(fill_value) == 0:
        return _core.with_weak(_core.full(_shape(shape), fill_value, dtype), weak)
    return _core.broadcast_to(array(fill_value, dtype), _shape(shape))


def zeros(shape, dtype=None, *, device=None):
    """Zeros. Those of the dtype float0, which stand for tangents of integers, are NumPy's."""
    check_device(device)
    if dtype is float0:
        return np.zeros(shape, float0)
    return _core.full(_shape(shape), 0, _dtypes.default("f") if dtype is None else dtype)


def ones(shape, dtype=None, *, device=None):
    """Ones."""
    check_device(device)
    return _core.full(_shape(shape), 1, _dtypes.default("f") if dtype is None else dtype)


empty = zeros


def _like(a, dtype, shape):
    kind, weak = _dtypes._operand_type(a) if dtype is None else (dtype, False)
    return kind, np.shape(a) if shape is None else _shape(shape), weak


def full_like(a, fill_value, dtype=None, shape=None, *, device=None):
    """One value, in the shape and dtype of another array."""
    check_device(device)
    dtype, shape, weak = _like(a, dtype, shape)
    return _core.with_weak(full(shape, fill_value, dtype), weak)


def zeros_like(a, dtype=None, shape=None, *, device=None):
    """Zeros in the shape and dtype of another array."""
    check_device(device)
    if dtype is float0:
        return np.zeros(np.shape(a) if shape is None else shape, float0)
    dtype, shape, weak = _like(a, dtype, shape)
    made = _core.full(shape, 0, dtype)
    return _core.with_weak(made, True) if weak else made


def ones_like(a, dtype=None, shape=None, *, device=None):
    """Ones in the shape and dtype of another array."""
    check_device(device)
    dtype, shape, weak = _like(a, dtype, shape)
    made = _core.full(shape, 1, dtype)
    return _core.with_weak(made, True) if weak else made


def empty_like(prototype, dtype=None, shape=None, *, device=None):
    """zeros_like(prototype)."""
    return zeros_like(prototype, dtype, shape, device=device)


def arange(start, stop=None, step=None, dtype=None, *, device=None):
    """start, start + step, … below stop.

    >>> arange(2, 8, 2)
    Array([2, 4, 6], dtype=int64)
    """
    check_device(device)
    step = 1 if step is None else step
    start, stop = (0, start) if stop is None else (start, stop)
    if isinstance(stop, Array) and _core.is_traced(stop) and stop.ndim == 0 and stop.dtype.kind in "iu":
        stop = _sizes.size(stop)
    for bound in (start, stop, step):
        if isinstance(bound, Array) and _core.is_traced(bound):
            _asked(bound)
            raise _concrete("arange", bound)
    start, stop, step = (b.item() if isinstance(b, (Array, np.generic, np.ndarray)) else b for b in (start, stop, step))
    if complex in map(type, (start, stop, step)):
        raise DTypeError(f"arange: from {start!r} to {stop!r} in steps of {step!r}: complex numbers have no order.")
    if dtype is None:
        dtype = _dtypes.default("f" if float in map(type, (start, stop, step)) else "i")
    dtype = _core.canonical_dtype(dtype)
    if not _sizes.known(start, stop, step):
        start, stop, step = map(_whole_bound, (start, stop, step))
        reach, step_size = (stop - start, step) if step > 0 else (start - stop, -step)
        n = _core.max_size(_sizes.ceil_div(reach, step_size), 0)
        if _core.same_size(start, 0) and _core.same_size(step, 1):
            return _core.tn.iota(dtype, (n,), 0)
        return _core.convert(_core.tn.iota(dtype, (n,), 0) * step + start, dtype)
    n = max(0, math.ceil((stop - start) / step))
    if start == 0 and step == 1:
        return _core.tn.iota(dtype, (n,), 0)
    if np.issubdtype(dtype, np.integer):
        return _core.add(_core.multiply(_core.tn.iota(dtype, (n,), 0), int(step)), int(start))
    return array(np.arange(start, stop, step, dtype=np.float64)[:n], dtype)


def _whole_bound(x):
    """A bound of arange() beside sizes that a trace takes for any: these are whole."""
    if isinstance(x, float) and not x.is_integer():
        raise ShapeError(f"arange: {x} beside a size that is not known while tracing: how many elements there are is not decided. "
                         "Take arange(n) of the size, and compute with that.")
    return int(x) if isinstance(x, float) else x


def _asked(x):
    """Asks for the value of what is traced: jit knows it then, where it is an int among its arguments."""
    if x.ndim == 0 and x.dtype.kind in "iu":
        operator.index(x)


def _concrete(op, x):
    return ConcretizationError(f"{op}: {x!r} is traced, and decides a size.\n  Sizes are known while a function is "
                               "traced: pass it by static_argnums of jit, or as a Python number.")


def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, *, device=None):
    """`num` numbers from start to stop, in equal steps."""
    check_device(device)
    met = _dtypes.result_type(start, stop) if dtype is None else dtype
    start, stop = _core.convert(start, _inexact(met)), _core.convert(stop, _inexact(met))
    made, step = _core.tn.linspace_and_step(start, stop, _sizes.size(num), endpoint=bool(endpoint), dtype=dtype, axis=axis)
    return (made, step) if retstep else made


def _inexact(dtype):
    return _core.to_inexact(full((), 0, dtype)).dtype


def logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0):
    """base ** linspace(start, stop)."""
    met = _inexact(_dtypes.result_type(start, stop))
    return _core.tn.logspace(_core.convert(start, met), _core.convert(stop, met), _sizes.size(num),
                             _core.convert(base, _dtypes.default("f")), endpoint=bool(endpoint), dtype=dtype, axis=axis)


def geomspace(start, stop, num=50, endpoint=True, dtype=None, axis=0):
    """`num` numbers from start to stop, each the same multiple of the one before."""
    return _core.tn.geomspace(start, stop, _sizes.size(num), endpoint=bool(endpoint), dtype=dtype, axis=axis)


def eye(N, M=None, k=0, dtype=None, *, device=None):
    """Ones on the diagonal that lies k above the main one, zeros elsewhere."""
    check_device(device)
    dtype = _dtypes.default("f") if dtype is None else dtype
    N = _sizes.size(N)
    M = N if M is None else _sizes.size(M)
    if _core.same_size(M, N) and isinstance(k, int) and k == 0:
        return _core.tn.eye(N, N, 0, dtype)
    return _core.convert(_core.equal(_rows(N, M) + _diagonal(N, M, k), _columns(N, M)), dtype)


def _diagonal(n, m, k):
    """The number of a diagonal: of those that lie outside, one that does."""
    return builtins.max(-n, builtins.min(m, k)) if builtins.all(isinstance(x, int) for x in (n, m, k)) else k


def identity(n, dtype=None):
    """The unit matrix."""
    return eye(n, dtype=dtype)


def _rows(n, m):
    return _core.tn.iota("int64" if _core.x64() else "int32", (n, m), 0)


def _columns(n, m):
    return _core.tn.iota("int64" if _core.x64() else "int32", (n, m), 1)


def tri(N, M=None, k=0, dtype=None):
    """Ones on and below the diagonal that lies k above the main one."""
    N = _sizes.size(N)
    M = N if M is None else _sizes.size(M)
    made = _core.greater_equal(_rows(N, M) + k, _columns(N, M))
    return _core.convert(made, "float32" if dtype is None else dtype)


def meshgrid(*xi, copy=True, sparse=False, indexing="xy"):
    """Vectors as the axes of a grid: a tuple of an array for each, of the grid's shape."""
    if indexing not in ("xy", "ij"):
        raise _core.OptionError(f"meshgrid: indexing is 'xy' or 'ij', not {indexing!r}.")
    xi = [asarray(x) for x in xi]
    if builtins.any(x.ndim > 1 for x in xi):
        raise ShapeError(f"meshgrid: of vectors, not of shapes {[x.shape for x in xi]}.")
    return tuple(_core.tn.meshgrid(xi, matrix_order=indexing == "ij", sparse=bool(sparse)))


def indices(dimensions, dtype=None, sparse=False):
    """The indices of a grid: an array for each axis."""
    dtype = _dtypes.default("i") if dtype is None else dtype
    dimensions = tuple(map(_sizes.size, dimensions))
    if sparse:
        return tuple(_core.tn.iota(dtype, tuple(n if k == i else 1 for k in range(len(dimensions))), i)
                     for i, n in enumerate(dimensions))
    if not dimensions:
        return zeros((0,), dtype)
    return _core.tn.stack([_core.tn.iota(dtype, dimensions, i) for i in range(len(dimensions))], 0)


def fromfunction(function, shape, *, dtype=float, **kwargs):
    """function(i, j, …) at all indices of a grid."""
    return function(*(_core.tn.iota(dtype, shape, i) for i in range(len(shape))), **kwargs)


def frombuffer(buffer, dtype=float, count=-1, offset=0):
    """The elements that bytes stand for."""
    return array(np.frombuffer(buffer, dtype=_core.dtype(dtype), count=count, offset=offset))


def fromiter(iterable, dtype, count=-1):
    """Elements of an iterable."""
    return array(np.fromiter(iterable, dtype=_core.dtype(dtype), count=count))


def fromstring(string, dtype=float, count=-1, *, sep):
    """Numbers in a text."""
    return array(np.fromstring(string, dtype=_core.dtype(dtype), count=count, sep=sep))


def fromfile(*args, **kwargs):
    """Numbers in a file, as NumPy reads them."""
    return array(np.fromfile(*args, **kwargs))


def load(file, *args, **kwargs):
    """An array, or arrays by name, of a file of NumPy's."""
    loaded = np.load(file, *args, **kwargs)
    if isinstance(loaded, np.ndarray) and loaded.dtype == np.dtype("V2"):  # bfloat16, which files of NumPy's do not name
        loaded = loaded.view(_core.dtype("bfloat16"))
    return array(loaded) if isinstance(loaded, np.ndarray) else loaded


def copy(a, order=None):
    """The array: it is immutable, so nothing is copied."""
    return array(a)


def astype(x, dtype, /, *, copy=False, device=None):
    """The values in another dtype."""
    check_device(device)
    return _core.convert(x, _dtypes.default("f") if dtype is None else dtype)
