"""Primitives that move elements. Typed keys have a last axis of two more, which stays where it is."""

import numpy as np

from tenon import lax, numpy as tnp
from tenon.foreign._jaxprs import dtype_of, is_key, rule, shape_of


def _parts(equation, i=0):
    """1 where the operand's elements are keys: how many axes it has more than JAX says."""
    return int(is_key(equation.invars[i].aval))


@rule("broadcast_in_dim")
def _broadcast_in_dim(equation, x, *_):
    shape = shape_of(equation.outvars[0].aval)
    last = [len(shape) - 1] * _parts(equation)
    return lax.broadcast_in_dim(x, shape, (*equation.params["broadcast_dimensions"], *last))


@rule("reshape")
def _reshape(equation, x, *_):
    if equation.params.get("dimensions") is not None:
        x = tnp.transpose(x, equation.params["dimensions"])
    return tnp.reshape(x, shape_of(equation.outvars[0].aval))


@rule("squeeze")
def _squeeze(equation, x):
    return tnp.reshape(x, shape_of(equation.outvars[0].aval))


@rule("transpose")
def _transpose(equation, x):
    axes = tuple(equation.params["permutation"])
    return tnp.transpose(x, axes + (len(axes),) * _parts(equation))


@rule("rev")
def _rev(equation, x):
    return lax.rev(x, equation.params["dimensions"])


@rule("iota")
def _iota(equation, *_):
    p = equation.params
    return lax.broadcasted_iota(dtype_of(equation.outvars[0].aval), tuple(p["shape"]), p["dimension"])


@rule("concatenate")
def _concatenate(equation, *arrays):
    return lax.concatenate(arrays, equation.params["dimension"])


@rule("pad")
def _pad(equation, x, value):
    return lax.pad(x, value, equation.params["padding_config"])


@rule("slice")
def _slice(equation, x):
    p, more = equation.params, _parts(equation)
    strides = p["strides"]
    return lax.slice(x, (*p["start_indices"], *[0] * more), (*p["limit_indices"], *[2] * more),
                     None if strides is None else (*strides, *[1] * more))


@rule("dynamic_slice")
def _dynamic_slice(equation, x, *starts):
    more = _parts(equation)
    starts = starts[:len(equation.invars[0].aval.shape)]
    zero = [tnp.zeros((), starts[0].dtype if starts else np.int32)] * more
    return lax.dynamic_slice(x, (*starts, *zero), (*equation.params["slice_sizes"], *[2] * more))


@rule("dynamic_update_slice")
def _dynamic_update_slice(equation, x, update, *starts):
    zero = [tnp.zeros((), starts[0].dtype if starts else np.int32)] * _parts(equation)
    return lax.dynamic_update_slice(x, update, (*starts, *zero))


@rule("split")
def _split(equation, x):
    return list(lax.split(x, equation.params["sizes"], equation.params["axis"]))


@rule("stack")
def _stack(equation, *arrays):
    return tnp.stack(arrays, axis=equation.params["axis"])


@rule("unstack")
def _unstack(equation, x):
    return list(tnp.unstack(x, axis=equation.params["axis"]))


@rule("tile")
def _tile(equation, x):
    return tnp.tile(x, (*equation.params["reps"], *[1] * _parts(equation)))


@rule("empty", "empty2")
def _empty(equation, *_):
    aval = equation.outvars[0].aval
    return tnp.zeros(shape_of(aval), dtype_of(aval))


@rule("create_token", "after_all")
def _token(equation, *_):
    return tnp.zeros(0, np.bool_)


@rule("platform_index")
def _platform_index(equation):
    platforms = equation.params["platforms"]
    return tnp.asarray(np.int32(next(i for i, p in enumerate(platforms) if p is None or "cpu" in p)))
