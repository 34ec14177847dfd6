"""tn.from_jax: a function of JAX as one of tenon."""

import functools

import jax  # type: ignore
import numpy as np

from tenon import _core, _transforms, tree_util
from tenon._surroundings import enable_x64
from tenon.foreign._jaxprs import call, dtype_of


@tree_util.register_pytree_node_class
class _Keys:
    """Typed keys among the arguments of a compiled function: their numbers."""

    def __init__(self, data):
        self.data = data

    def tree_flatten(self):
        return (self.data,), None

    @classmethod
    def tree_unflatten(cls, _, children):
        return cls(*children)


_key_classes: dict = {}


def _is_typed_key(x):
    of = _key_classes.get(type(x))
    if of is None and not isinstance(x, jax.core.Tracer):  # arrays of keys are of a class of their own
        of = _key_classes[type(x)] = isinstance(x, jax.Array) and jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key)
    return bool(of)


def _numbers(key):
    held = getattr(key, "_base_array", None)  # key_data() is a jitted call of JAX's
    return np.asarray(jax.random.key_data(key) if held is None else held)


def _without_typed_keys(args):
    leaves, structure = jax.tree.flatten(args)
    return structure.unflatten([_Keys(_numbers(x)) if _is_typed_key(x) else x for x in leaves])


def _holds_keys(leaf):
    return isinstance(leaf, _Keys)


def _abstract(leaf):
    """What JAX traces in the place of an argument."""
    if isinstance(leaf, _Keys):
        return jax.eval_shape(jax.random.wrap_key_data, jax.ShapeDtypeStruct(leaf.data.shape, np.uint32))
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
        operands = [leaf.data if isinstance(leaf, _Keys) else _core.convert(leaf, dtype_of(v.aval))
                    for leaf, v in zip(leaves, jaxpr.invars)]
        made = call(self.jaxpr, *operands)
        made = [_core.with_weak(x, bool(getattr(v.aval, "weak_type", False))) for x, v in zip(made, jaxpr.outvars)]
        return jax.tree.unflatten(self.structure, made)


def from_jax(fun):
    """What tn.from_jax says."""
    if not callable(fun):
        raise TypeError(f"from_jax: {fun!r} is not callable.")
    traces = {}

    def bound(*args, **kwargs):
        leaves, structure = jax.tree.flatten((args, kwargs), is_leaf=_holds_keys)
        avals = tuple(map(_abstract, leaves))
        kind = structure, tuple((a.shape, a.dtype, a.weak_type) for a in avals), bool(jax.config.jax_enable_x64)
        if kind not in traces:
            traces[kind] = _Traced(fun, structure, avals)
        with enable_x64(True):
            return traces[kind](leaves)

    functools.update_wrapper(bound, fun, ("__name__", "__qualname__", "__doc__"))
    compiled = _transforms.jit(bound)
    takes_keys = False

    @functools.wraps(bound)
    def function(*args, **kwargs):
        nonlocal takes_keys
        if not takes_keys:
            try:
                return compiled(*args, **kwargs)
            except TypeError:
                if not any(map(_is_typed_key, jax.tree.leaves((args, kwargs)))):
                    raise
            takes_keys = True
        args, kwargs = _without_typed_keys((args, kwargs))
        return compiled(*args, **kwargs)

    return function
