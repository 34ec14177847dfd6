"""The walk over a jaxpr: each equation is bound by the rule of its primitive, a function (equation, *operands)."""

import threading

import jax  # type: ignore
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal  # type: ignore

from tenon import _core, errors
from tenon._surroundings import enable_x64
from tenon.numpy import asarray

rules: dict = {}
by_default = "that has no rule"  # the primitive whose rule is that of all others


def rule(*primitives):
    """Makes a function the rule of these primitives."""

    def put(function):
        for name in primitives:
            rules[name] = function
        return function

    return put


def is_key(aval):
    """Whether elements are typed keys: here each is an axis of two u32 more, the last one."""
    return jax.dtypes.issubdtype(aval.dtype, jax.dtypes.prng_key)


def differentiable(aval):
    return not is_key(aval) and np.dtype(aval.dtype).kind in "fcV"


def shape_of(aval):
    return (*aval.shape, 2) if is_key(aval) else tuple(aval.shape)


def dtype_of(aval):
    if is_key(aval):
        return np.dtype(np.uint32)
    return np.dtype(bool if aval.dtype == jax.dtypes.float0 else aval.dtype)  # tangents that are none are never read


def constant(value, aval):
    """A literal or a constant of a jaxpr as an array."""
    if hasattr(aval, "inner_aval") or isinstance(value, _core.Ref):
        return value
    if is_key(aval):
        value = jax.random.key_data(value)
    if aval.dtype == jax.dtypes.float0:
        value = np.zeros(aval.shape, bool)
    value = np.asarray(value, dtype_of(aval))
    if value.ndim or value.dtype == np.uint64:
        return asarray(value)
    with enable_x64(True):
        return _core.convert(value.item(), value.dtype)  # a literal of the program: memory would be an input of it


class _Open(threading.local):
    """Equations whose rules are running, the innermost last, and which results of each are read."""

    def __init__(self):
        self.equations, self.read = [], []


_open = _Open()
_not_the_user = jax.__path__[0], __file__.rsplit("/", 2)[0]


def place_of(equation):
    """The user's line that made an equation, or the one around it: JAX keeps none in functions that it compiles itself."""
    for each in (equation, *reversed(_open.equations)):
        traceback = each.source_info.traceback
        for frame in traceback.frames if traceback is not None else ():
            if not frame.file_name.startswith(_not_the_user):
                return f"{frame.file_name}:{frame.line_num} ({frame.function_name})"
    return "an unknown line"


def results_that_are_read():
    """Of the equation whose rule runs: a flag a result."""
    return _open.read[-1]


def unsupported(equation, why):
    return errors.UnsupportedError(f"from_jax: the primitive {equation.primitive.name}, bound at {place_of(equation)}: {why}")


def _needed(jaxpr):
    """Equations whose results are used, or that have an effect: validation that nothing reads is not bound. With each, which
    results those are."""
    live = {v for v in jaxpr.outvars if not isinstance(v, Literal)}
    kept = []
    for equation in reversed(jaxpr.eqns):
        if equation.effects or not live.isdisjoint(equation.outvars):
            kept.append((equation, [v in live for v in equation.outvars]))
            live.update(v for v in equation.invars if not isinstance(v, Literal))
    return reversed(kept)


def evaluate(jaxpr, consts, operands):
    """The results of an open jaxpr."""
    values = dict(zip(jaxpr.constvars, consts))
    values.update(zip(jaxpr.invars, operands))

    def read(v):
        return constant(v.val, v.aval) if isinstance(v, Literal) else values[v]

    for equation, read_later in _needed(jaxpr):
        _open.equations.append(equation)
        _open.read.append(read_later)
        try:
            results = rules.get(equation.primitive.name, rules[by_default])(equation, *map(read, equation.invars))
        finally:
            _open.equations.pop()
            _open.read.pop()
        values.update(zip(equation.outvars, results if isinstance(results, (list, tuple)) else (results,)))
    return [read(v) for v in jaxpr.outvars]


def closed(jaxpr):
    """A parameter of a primitive that is a jaxpr, with its constants."""
    return ClosedJaxpr(jaxpr, ()) if isinstance(jaxpr, Jaxpr) else jaxpr


def call(jaxpr, *operands):
    """The results of a closed jaxpr."""
    jaxpr = closed(jaxpr)
    consts = [constant(c, v.aval) for c, v in zip(jaxpr.consts, jaxpr.jaxpr.constvars)]
    return evaluate(jaxpr.jaxpr, consts, operands)


# Primitives of JAX's that have no counterpart here, and what is missing.
missing: dict = {}


def lack(why, *primitives):
    for name in primitives:
        missing[name] = why
        rules[name] = _lacking


def needs_devices(equation):
    return unsupported(equation, _one_device)


def _lacking(equation, *_):
    raise unsupported(equation, missing[equation.primitive.name])


lack("columns that come first are not chosen.", "geqp3")
lack("this generator is none of tenon's, which has threefry.", "philox2x32", "philox4x32", "threefry4x32",
     "rng_uniform")
_one_device = "there is one device: write it without axis names and shardings."
lack(_one_device, "all_gather", "all_gather_invariant", "all_gather_reduced", "all_to_all", "axis_index", "pbroadcast",
     "ppermute", "precv", "psend", "psum_invariant", "ragged_all_to_all", "reduce_scatter", "shard_map")
lack("it is code for another machine or compiler.", "ffi_call", "buffer_callback", "pallas_call", "call_exported",
     "custom_partitioning")
lack("there are no products of scaled blocks yet.", "scaled_dot")
