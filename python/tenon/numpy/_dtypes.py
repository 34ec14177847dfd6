"""dtypes: scalar types that make arrays, promotion, limits."""

from typing import Any

import numpy as np

from tenon import _core, _extended
from tenon._core import Array
from tenon.errors import DTypeError

__all__ = [
    "bfloat16", "bool", "bool_", "can_cast", "cdouble", "character", "complex128", "complex64", "complex_", "complexfloating",
    "csingle", "double", "dtype", "finfo", "flexible", "float16", "float32", "float64", "float8_e3m4", "float8_e4m3",
    "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float_", "floating",
    "generic", "iinfo", "inexact", "int16", "int32", "int64", "int8", "int_", "integer", "iscomplexobj", "isdtype",
    "isrealobj", "isscalar", "issubdtype", "number", "promote_types", "result_type", "signedinteger", "single",
    "uint", "uint16", "uint32", "uint64", "uint8", "unsignedinteger",
]


class _ScalarType(type):
    """tnp.float32 and its kin: a name for a dtype, and a function that makes an array of it."""

    def __call__(cls, x):
        return _as_array(x, cls.dtype)

    def __eq__(cls, other):
        return cls is other or (other is not None and (cls.dtype == other or getattr(other, "dtype", None) is cls.dtype))

    def __hash__(cls):
        return hash(cls.dtype)

    def __repr__(cls):
        return f"<class 'tenon.numpy.{cls.__name__}'>"


_as_array: Any = None  # asarray() of tenon.numpy._creation, which is made of what is here


def make_arrays_by(asarray):
    """Says by what scalar types make arrays, and lists whose dtype is asked for become arrays: tenon.numpy._creation does."""
    global _as_array
    _as_array = asarray


class _LazyDtype:
    """A np.dtype of the package ml_dtypes, made when it is first asked for."""

    def __init__(self, name):
        self.name = name

    def __get__(self, instance, owner):
        return _core.dtype(self.name)


def _scalar_type(name):
    dtype = _LazyDtype(name) if name in _extended.names else np.dtype(name)
    return _ScalarType(name, (), {"dtype": dtype, "__module__": "tenon.numpy"})


bool_ = bool = _scalar_type("bool")  # noqa: A001
int8, int16, int32, int64 = (_scalar_type(f"int{n}") for n in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (_scalar_type(f"uint{n}") for n in (8, 16, 32, 64))
float16, float32, float64 = (_scalar_type(f"float{n}") for n in (16, 32, 64))
bfloat16 = _scalar_type("bfloat16")
float8_e3m4, float8_e4m3, float8_e4m3b11fnuz = (_scalar_type(f"float8_{x}") for x in ("e3m4", "e4m3", "e4m3b11fnuz"))
float8_e4m3fn, float8_e4m3fnuz = (_scalar_type(f"float8_{x}") for x in ("e4m3fn", "e4m3fnuz"))
float8_e5m2, float8_e5m2fnuz, float8_e8m0fnu = (_scalar_type(f"float8_{x}") for x in ("e5m2", "e5m2fnuz", "e8m0fnu"))
complex64, complex128 = _scalar_type("complex64"), _scalar_type("complex128")
single, double, csingle, cdouble = float32, float64, complex64, complex128
# The dtypes of Python's numbers; where config.x64 is off, arrays of these have 32 bits.
int_, uint, float_, complex_ = int64, uint64, float64, complex128

generic, number, integer, signedinteger, unsignedinteger = (
    np.generic, np.number, np.integer, np.signedinteger, np.unsignedinteger)
inexact, floating, complexfloating, flexible, character = (
    np.inexact, np.floating, np.complexfloating, np.flexible, np.character)

_defaults = {"f": "float64", "i": "int64", "u": "uint64", "c": "complex128"}


def default(kind):
    """The dtype of a kind where nothing says how wide: 64 bits, or 32 where config.x64 is off."""
    return _core.canonical_dtype(_defaults[kind])


def dtype(obj, align=False, copy=False):
    """The np.dtype that something names."""
    return _core.dtype(obj)


def _is_python_type(x):
    """Whether it is one of the types of Python's numbers itself, to which dtypes are equal as well."""
    return x is int or x is float or x is complex


def _operand_type(x):
    """(dtype, weak) of an array, a number, or something that names a dtype."""
    if isinstance(x, Array):
        return x.dtype, x.weak_type
    if x is True or x is False:
        return np.dtype("bool"), False
    if isinstance(x, _core.Dim):
        return default("i"), True
    if type(x) in (int, float, complex):
        return default({int: "i", float: "f", complex: "c"}[type(x)]), True
    if _is_python_type(x):
        return default({int: "i", float: "f", complex: "c"}[x]), True
    if isinstance(x, (list, tuple)):
        return _operand_type(_as_array(x))
    if isinstance(x, (np.ndarray, np.generic)) or (hasattr(x, "dtype") and not isinstance(x, type)):
        return _core.canonical_dtype(x.dtype), False
    return _core.canonical_dtype(x), False


def _meet(operands):
    """(dtype, weak) in which operands meet."""
    kinds = [_operand_type(x) for x in operands]
    if not kinds:
        raise DTypeError("result_type: at least one array or dtype is needed.")
    (met, weak), rest = kinds[0], kinds[1:]
    for d, w in rest:
        met, weak = _core.promote_types(met, weak, d, w)
    return met, weak


def result_type(*args, return_weak_type_flag=False):
    """The dtype in which arrays, numbers and dtypes meet."""
    met, weak = _meet(args)
    return (met, weak) if return_weak_type_flag else met


def promote_types(a, b):
    """The dtype in which two dtypes meet."""
    return _core.promote_types(a, _is_python_type(a), b, _is_python_type(b))[0]


def issubdtype(arg1, arg2):
    """Whether a dtype is of a kind: issubdtype(x.dtype, tnp.floating)."""
    if isinstance(arg2, _ScalarType):
        return _core.dtype(arg1) == arg2.dtype
    if isinstance(arg1, _ScalarType):
        arg1 = arg1.dtype
    elif isinstance(arg1, str):
        arg1 = _core.dtype(arg1)
    if getattr(arg1, "name", None) in _extended.names:
        return arg2 in (np.floating, np.inexact, np.number, np.generic)
    return np.issubdtype(arg1, arg2)


_kinds = {"bool": np.bool_, "signed integer": np.signedinteger, "unsigned integer": np.unsignedinteger,
          "integral": np.integer, "real floating": np.floating, "complex floating": np.complexfloating,
          "numeric": np.number}


def isdtype(dtype, kind):
    """Whether a dtype is of a kind by name ("real floating"), or one of several."""
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return any(issubdtype(_core.dtype(dtype), _kinds[k]) if isinstance(k, str) else _core.dtype(dtype) == _core.dtype(k)
               for k in kinds)


def can_cast(from_, to, casting="safe"):
    """Whether a dtype goes into another by NumPy's rules."""
    return np.can_cast(_named(from_), _core.dtype(to), casting)


def _named(x):
    """The dtype of an array or a number, or the one that something names."""
    if not isinstance(x, type) and (hasattr(x, "dtype") or isinstance(x, (int, float, complex))):
        return _operand_type(x)[0] if not hasattr(x, "dtype") else _core.dtype(x.dtype)
    return _core.dtype(x)


class _Limits:
    """Numbers that a dtype is told by, as Python's own."""

    def __init__(self, found, names):
        for name in names:
            value = getattr(found, name)
            setattr(self, name, int(value) if isinstance(value, (int, np.integer)) else float(value))
        self.dtype = np.dtype(found.dtype)

    def __repr__(self):
        values = ", ".join(f"{k}={v}" for k, v in vars(self).items() if k != "bits")
        return f"{type(self).__name__}({values})"


class iinfo(_Limits):  # noqa: N801
    """The limits of an integer dtype, or of that of an array or number: min, max, bits.

    >>> iinfo(int8).max
    127
    """

    def __init__(self, int_type):
        super().__init__(np.iinfo(_named(int_type)), ("min", "max", "bits"))


class finfo(_Limits):  # noqa: N801
    """The limits of a real dtype, or of that of an array or number; of complex ones those of their parts.

    >>> finfo(float32).eps
    1.1920928955078125e-07
    """

    def __init__(self, dtype):
        dtype = _named(dtype)
        if not issubdtype(dtype, np.inexact):
            raise DTypeError(f"finfo: {dtype} is no real or complex dtype; the limits of integers are those of iinfo().")
        if _extended.is_extended(dtype):
            import ml_dtypes

            found = ml_dtypes.finfo(dtype)
        else:
            found = np.finfo(dtype)
        super().__init__(found, ("bits", "eps", "epsneg", "max", "min", "tiny", "smallest_normal", "smallest_subnormal",
                                 "resolution", "precision", "machep", "nmant", "nexp", "maxexp", "minexp"))


def iscomplexobj(x):
    """Whether the dtype is complex."""
    return x is not None and issubdtype(_operand_type(x)[0], np.complexfloating)


def isrealobj(x):
    """Whether the dtype is not complex."""
    return not iscomplexobj(x)


def isscalar(element):
    """Whether it is a number, or an array of no axes."""
    return np.isscalar(element) or (hasattr(element, "ndim") and element.ndim == 0)
