"""What is written in Python of tenon.Array: its text, conversions and the methods that are functions of tenon.numpy."""

import operator

import numpy as np

from tenon import _core, _extended, numpy as tnp
from tenon._core import Array
from tenon._extended import float0 as float0  # which the compiled module takes from here
from tenon._shape_dtype import ShapeDtypeStruct
from tenon.errors import DTypeError, ShapeError
from tenon.numpy._devices import THE_DEVICE, check_device


def represented(x):
    values = np.asarray(x)
    dtype = x.dtype.name
    weak = ", weak_type=True" if x.weak_type else ""
    if _extended.is_extended(values.dtype):  # which NumPy cannot print by itself
        values = values.astype(np.float32)
    if values.size == 0:
        return f"Array([], shape={x.shape}, dtype={dtype}{weak})"
    prefix = "Array("
    body = np.array2string(values, separator=", ", prefix=prefix, suffix=f", dtype={dtype}{weak})")
    return f"{prefix}{body}, dtype={dtype}{weak})"


def _to_numpy(x, dtype=None, copy=None):
    values = _core.extended_as_numpy(x) if _extended.is_extended(x.dtype) else np.asarray(memoryview(x))
    if dtype is not None and values.dtype != dtype:
        if copy is False:
            raise DTypeError(f"__array__: Array is {values.dtype}: to have it as {dtype} takes a copy. It was asked for with copy=False.")
        return values.astype(dtype)
    return np.array(values) if copy else values


def _format(x, spec):
    if not spec:
        return str(x)
    return format(x.item() if x.ndim == 0 else np.asarray(x), spec)


def _str(x):
    return str(np.asarray(x)) if not _core.is_traced(x) else repr(x)


def _dlpack(x, *, stream=None, max_version=None, dl_device=None, copy=None):
    try:
        return _core.to_dlpack(x, stream, max_version, dl_device, copy)
    except RuntimeError as error:  # memory of others that is read only, which the form before version 1 cannot say
        if copy is False:
            raise BufferError(f"__dlpack__: {error}") from error
        return _core.to_dlpack(_core.from_memory(np.asarray(x), True), stream, max_version, dl_device, copy)


def _rebuilt(values):
    return _core.from_memory(values, True)


def _reduce(x):
    return _rebuilt, (np.asarray(x),)


def add_to_array():
    """Gives the class what is said above."""
    Array.__array__ = _to_numpy
    Array.__format__ = _format
    Array.__str__ = _str
    Array.__dlpack__ = _dlpack
    Array.__dlpack_device__ = lambda self: (1, 0)
    Array.__reduce__ = _reduce
    Array.__copy__ = lambda self: self
    Array.__deepcopy__ = lambda self, memo: self
    Array.__round__ = _round
    Array.tolist = lambda self: np.asarray(self).tolist()
    Array.tobytes = lambda self, order="C": np.asarray(self).tobytes(order)
    Array.block_until_ready = lambda self: self
    Array.copy_to_host_async = lambda self: None
    Array.is_fully_addressable = property(lambda self: True, doc="Whether this process has all of it.")
    Array.is_deleted = lambda self: _core.is_donated(self)
    Array.aval = property(_aval)
    Array.devices = lambda self: {getattr(self, "device", "cpu")}


def _aval(x):
    """The shape and the dtype, a ShapeDtypeStruct."""
    return ShapeDtypeStruct(x.shape, x.dtype, weak_type=x.weak_type)


def _round(x, digits=None):
    """Rounded to so many decimals; integers where none are said."""
    return tnp.round(x, digits) if digits is not None else tnp.astype(tnp.round(x), tnp.int_)


# Methods that are the function of tenon.numpy of that name.
_functions = (
    "all any argmax argmin argpartition argsort choose clip conj conjugate cumprod cumsum diagonal dot max "
    "mean min nonzero prod ptp ravel repeat round searchsorted sort squeeze std sum swapaxes take trace var astype"
).split()


def add_methods():
    """Gives the class the functions of tenon.numpy that are methods of it, and what is made of them."""
    for name in _functions:
        setattr(Array, name, _method(getattr(tnp, name)))
    Array.flatten = _method(tnp.ravel)
    Array.compress = lambda self, condition, axis=None, **options: tnp.compress(condition, self, axis, **options)
    Array.copy = Array.clone = lambda self: self
    Array.mT = property(tnp.matrix_transpose)
    Array.view, Array.byteswap, Array.__contains__ = _view, _byteswap, _contains
    Array.reshape = lambda self, *shape, order="C": tnp.reshape(
        self, shape[0] if len(shape) == 1 else shape, order)
    Array.transpose = lambda self, *axes: tnp.transpose(self, _axes_of(axes))
    Array.device = property(lambda self: THE_DEVICE, doc="The device that it is on.")
    Array.to_device = _to_device
    Array.__reversed__ = lambda self: iter(self[::-1])
    _core.AtIndex.subtract, _core.AtIndex.divide = _subtracted, _divided
    _core.AtIndex.power, _core.AtIndex.apply = _to_power, _applied
    Array.__array_namespace__ = lambda self, api_version=None: tnp


def _axes_of(axes):
    """Axes that are given one by one, or as a sequence or an array; None for none."""
    if len(axes) == 1 and (axes[0] is None or np.ndim(axes[0])):
        axes = axes[0]
    return None if axes is None or len(axes) == 0 else tuple(map(operator.index, axes))


def _view(self, dtype=None, type=None):  # noqa: A002
    """The same bytes as another dtype, the last axis as much shorter or longer; bools as bytes that are 0 or not."""
    if type is not None:
        raise NotImplementedError("`type` argument of array.view() is not supported.")
    dtype = self.dtype if dtype is None else tnp.dtype(dtype)
    if dtype == self.dtype:
        return self
    if self.ndim == 0 and self.dtype.itemsize != dtype.itemsize:
        raise ShapeError("view() of a 0d array is only supported if the itemsize is unchanged. "
                         f"It is {self.dtype}, and {dtype} is asked for.")
    if self.ndim == 0:
        return _view(self.reshape(1), dtype).reshape(())
    if self.shape[-1] * self.dtype.itemsize % dtype.itemsize:
        raise ShapeError("view: When changing to a larger dtype, its size must be a divisor of the total size in bytes of the "
                         f"last axis of the array: {self.shape[-1]} of {self.dtype} are no whole number of {dtype}.")
    x = self.astype(np.uint8) if self.dtype == bool else self
    if x.dtype.kind == "c":
        x = _joined(tnp.stack([x.real, x.imag], axis=-1))
    if dtype == bool:
        return _with_bits(x, np.dtype(np.uint8)) != 0
    if dtype.kind == "c":
        parts = _with_bits(x, np.dtype(f"f{dtype.itemsize // 2}"))
        return _core.complex(parts[..., 0::2], parts[..., 1::2])
    return _with_bits(x, dtype)


def _byteswap(self):
    """The numbers with their bytes the other way round; of complex ones those of their parts."""
    if self.dtype.kind == "c":
        return _core.complex(_byteswap(self.real), _byteswap(self.imag))
    if self.dtype.itemsize == 1:
        return self
    parts = _with_bits(self[..., None], np.dtype(np.uint8))
    return tnp.squeeze(_with_bits(tnp.flip(parts, -1), self.dtype), -1)


def _contains(self, element):
    """Whether an element of a vector is that number."""
    if self.ndim != 1 or np.ndim(element):
        raise ShapeError(f"in: whether a number is in a vector, not {np.shape(element)} in {self.shape}; any(x == y) is of all arrays.")
    return bool(tnp.any(tnp.equal(self, element)))


def _joined(x):
    """The last two axes as one."""
    return x.reshape((*x.shape[:-2], x.shape[-2] * x.shape[-1]))


def _with_bits(x, dtype):
    """The bits of the last axis in another dtype."""
    if x.dtype.itemsize < dtype.itemsize:
        parts = dtype.itemsize // x.dtype.itemsize
        x = x.reshape((*x.shape[:-1], x.shape[-1] // parts, parts))
        return _core.bitcast(x, dtype)
    made = _core.bitcast(x, dtype)
    return made if made.ndim == x.ndim else _joined(made)


def _to_device(self, device, *, stream=None):
    """The array: there is one device."""
    check_device(device)
    return self


# --- x.at[i] ---


def _subtracted(self, values, **options):
    """The array less `values` there."""
    met = tnp.result_type(self._array, values)
    return self.add(tnp.negative(tnp.asarray(values, met)), **options)


def _factors(self, values, options):
    return tnp.ones_like(self._array).at[self._key].multiply(values, **options)


def _divided(self, values, **options):
    """The array divided by `values` there; of integers real."""
    return self._array / _factors(self, values, options)


def _to_power(self, values, **options):
    """The array to the power of `values` there."""
    return self._array ** _factors(self, values, options)


def _applied(self, func, **options):
    """The array with func(its elements) there, a function of each element by itself; elements that are named several
    times go through it so often."""
    from tenon.lax._slices import _applied as applied

    times = tnp.zeros(self._array.shape, "int32").at[self._key].add(1, **options)
    return applied(func, self._array, times, options.get("unique_indices", False))


def _method(function):
    def method(self, *args, **kwargs):
        return function(self, *args, **kwargs)

    method.__name__, method.__doc__ = function.__name__, function.__doc__
    return method
