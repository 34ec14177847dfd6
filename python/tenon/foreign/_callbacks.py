"""Calls of Python from a program: what JAX would call is called with NumPy's arrays."""

import jax  # type: ignore
import numpy as np

from tenon import debug
from tenon._callbacks import io_callback, pure_callback
from tenon._shape_dtype import ShapeDtypeStruct
from tenon.foreign._jaxprs import dtype_of, rule, shape_of


def _results(equation):
    return tuple(ShapeDtypeStruct(shape_of(v.aval), dtype_of(v.aval)) for v in equation.outvars)


def _caller(callback):
    def called(*operands):
        return tuple(np.asarray(made) for made in callback(*operands))

    return called


@rule("pure_callback")
def _pure_callback(equation, *operands):
    p = equation.params
    return list(pure_callback(_caller(p["callback"]), _results(equation), *operands,
                              vmap_method=p["vmap_method"] or "sequential"))


@rule("io_callback")
def _io_callback(equation, *operands):
    p = equation.params
    return list(io_callback(_caller(p["callback"]), _results(equation), *operands, ordered=p["ordered"]))


@rule("debug_callback", "debug_print")
def _debug_callback(equation, *operands):
    def called(*operands):
        equation.primitive.impl(*map(jax.numpy.asarray, operands), **equation.params)

    debug.callback(called, *operands)
    return []
