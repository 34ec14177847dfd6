"""What jax._src.dtypes has, over Tenon's dtypes and NumPy's."""


import ml_dtypes
import numpy as np
import tenon as tn
import tenon.dtypes as td
from holes import Alias, Hole

NARROW = {np.dtype(a): np.dtype(b) for a, b in
          [("int64", "int32"), ("uint64", "uint32"), ("float64", "float32"), ("complex128", "complex64")]}
OF_PYTHON = {bool: np.dtype(bool), int: np.dtype("int64"), float: np.dtype("float64"), complex: np.dtype("complex128")}
SMALL = {n: getattr(ml_dtypes, n) for n in dir(ml_dtypes)
         if n.startswith(("float8", "float4", "float6", "int", "uint")) and n[-1].isalnum() and n != "iinfo"}


def canonicalize(dtype, allow_extended_dtype=False):
    """The dtype that arrays of `dtype` have in the present mode, of 32 or 64 bits."""
    if isinstance(dtype, Hole):
        return None
    dtype = np.dtype(dtype)
    return dtype if tn.config.x64 else NARROW.get(dtype, dtype)


def dtype_of(x, canonical=False, **kwargs):
    """The dtype of an array or of one of Python's numbers."""
    if hasattr(x, "dtype"):
        return np.dtype(x.dtype)
    found = OF_PYTHON.get(type(x)) or np.asarray(x).dtype
    return canonicalize(found)


def kind(dtype):
    return "f" if np.dtype(dtype) == ml_dtypes.bfloat16 else np.dtype(dtype).kind


def to_inexact(dtype):
    wide = {"int64": "float64", "uint64": "float64"}
    return np.dtype(dtype) if kind(dtype) in "fc" else canonicalize(wide.get(np.dtype(dtype).name, "float32"))


def to_complex(dtype):
    if kind(dtype) == "c":
        return np.dtype(dtype)
    return np.dtype("complex128" if to_inexact(dtype) == np.float64 else "complex64")


def is_weak(x):
    return type(x) in OF_PYTHON or bool(getattr(x, "weak_type", False))


def bits(dtype):
    return 4 if isinstance(dtype, Hole) else np.dtype(dtype).itemsize * 8


def install():
    inner = dict(
        bfloat16=ml_dtypes.bfloat16, float0=td.float0, canonicalize_dtype=canonicalize, issubdtype=td.issubdtype,
        result_type=td.result_type, finfo=td.finfo, iinfo=td.iinfo, is_weakly_typed=is_weak, to_inexact_dtype=to_inexact,
        to_complex_dtype=to_complex, to_numeric_dtype=lambda d: np.dtype("int32") if np.dtype(d) == bool else np.dtype(d),
        dtype=dtype_of, itemsize_bits=bits, default_float_dtype=lambda: canonicalize("float64"),
        default_int_dtype=lambda: canonicalize("int64"), default_uint_dtype=lambda: canonicalize("uint64"),
        default_complex_dtype=lambda: canonicalize("complex128"), float_=canonicalize("float64"), bool_=np.bool_,
        python_scalar_types_to_dtypes=OF_PYTHON, check_and_canonicalize_user_dtype=lambda d, *_: canonicalize(d),
        scalar_type_of=lambda x: {"b": bool, "i": int, "u": int, "f": float, "c": complex}[kind(dtype_of(x))],
        TypePromotionError=ValueError, prng_key=Hole("dtypes.prng_key", True), _float8_dtypes=[], _jax_types=[],
        _weak_types=[int, float, complex], **SMALL)
    Alias("jax._src.dtypes", inner)
    public = ("float0", "canonicalize_dtype", "issubdtype", "result_type", "finfo", "iinfo", "bfloat16", "prng_key", "itemsize_bits")
    Alias("jax.dtypes", {n: inner[n] for n in public}, [td])
