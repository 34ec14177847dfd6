"""tn.from_jax: a function of JAX as one of tenon."""

import functools

import jax  # type: ignore
import numpy as np

from tenon import _core, _transforms
from tenon._surroundings import enable_x64
from tenon.foreign import _keys
from tenon.foreign._jaxprs import call, dtype_of, is_key
from tenon.foreign._keys import Keys


def _abstract(leaf):
    """What JAX traces in the place of an argument."""
    if isinstance(leaf, Keys):
        return _keys.abstract(leaf)
    x = leaf if isinstance(leaf, _core.Array) else _core.convert(leaf, np.asarray(leaf).dtype)
    return jax.ShapeDtypeStruct(x.shape, jax.dtypes.canonicalize_dtype(x.dtype), weak_type=x.weak_type)


class _Traced:
    """The jaxpr of a function at arguments of one kind, and the structure of its results."""

    def __init__(self, fun, structure, avals):
        def flat(*leaves):
            args, kwargs = jax.tree.unflatten(structure, leaves)
            return fun(*args, **kwargs)

        self.jaxpr, shapes = jax.make_jaxpr(flat, return_shape=True)(*avals)
        self.structure = jax.tree.structure(shapes)
        jaxpr = self.jaxpr.jaxpr
        self.consts = list(zip(self.jaxpr.consts, (v.aval for v in jaxpr.constvars)))

    def __call__(self, leaves):
        jaxpr = self.jaxpr.jaxpr
        operands = [leaf.numbers if isinstance(leaf, Keys) else _core.convert(leaf, dtype_of(v.aval))
                    for leaf, v in zip(leaves, jaxpr.invars)]
        made = call(self.jaxpr, *operands)
        made = [_keys.made(x) if is_key(v.aval) else _core.with_weak(x, bool(getattr(v.aval, "weak_type", False)))
                for x, v in zip(made, jaxpr.outvars)]
        return jax.tree.unflatten(self.structure, made)


def from_jax(fun):
    """What tn.from_jax says."""
    if not callable(fun):
        raise _core.OptionError(f"from_jax: {fun!r} is not callable.")
    traces = {}

    def bound(*args, **kwargs):
        leaves, structure = jax.tree.flatten((args, kwargs))
        leaves = list(map(_keys.as_keys, leaves))
        avals = tuple(map(_abstract, leaves))
        kind = structure, tuple((a.shape, a.dtype, a.weak_type) for a in avals), bool(jax.config.jax_enable_x64)
        if kind not in traces:
            traces[kind] = _Traced(fun, structure, avals)
        with enable_x64(True):
            return traces[kind](leaves)

    functools.update_wrapper(bound, fun, ("__name__", "__qualname__", "__doc__"))
    return functools.wraps(bound)(_transforms.jit(bound))
