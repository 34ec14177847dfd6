"""Functions of Python's that compiled functions call while they run, with the signatures of jax's."""

import functools
import inspect

import numpy as np

from tenon import _core, _extended, numpy as tnp
from tenon._config import config
from tenon.errors import DTypeError
from tenon.tree_util import tree_flatten, tree_unflatten

__all__ = ["HostSizes", "effects_barrier", "io_callback", "pure_callback"]

# What the core has a batch for; "sequential_unrolled" is a loop too.
_batches = {"sequential": "sequential", "sequential_unrolled": "sequential", "expand_dims": "expand_dims",
            "broadcast_all": "broadcast_all", "legacy_vectorized": "as_it_is", None: "refuse"}


def _by_key(make):
    """`make` of hashable arguments, remembered: programs that call one function are then one program."""
    remembered = functools.lru_cache(maxsize=512)(make)

    @functools.wraps(make)
    def made(*args):
        try:
            return remembered(*args)
        except TypeError:  # something in it is not hashable
            return make(*args)

    return made


@_by_key
def _flat_callback(name, callback, in_tree, out_tree, types):
    """A function of the leaves of (args, kwargs) that returns the leaves of its result."""

    def flat(*leaves):
        args, kwargs = tree_unflatten(in_tree, leaves)
        made = callback(*args, **kwargs)
        try:
            results = out_tree.flatten_up_to(made)
        except ValueError:
            raise RuntimeError(f"{name}: the function returned {tree_flatten(made)[1]}, {out_tree} was announced.") from None
        return [_result(name, x, *type_) for x, type_ in zip(results, types)]

    return _core.callback(name, flat)


def _result(name, x, dtype, shape):
    """Numbers of Python's take the dtype that was announced; other values have it. A container of one leaf is that, where
    a number was announced."""
    if shape == () and type(x) in (list, tuple, dict) and len(leaves := tree_flatten(x)[0]) == 1:
        x = leaves[0]
    try:
        return tnp.asarray(x, dtype if type(x) in (bool, int, float, complex, list, tuple) else None)
    except (TypeError, ValueError):
        raise RuntimeError(f"{name}: the function returned {x!r}, where an array of {dtype} and shape {shape} was announced.") from None


def _announced(name, leaf):
    if not hasattr(leaf, "shape") or not hasattr(leaf, "dtype"):
        raise DTypeError(f"{name}: result_shape_dtypes has leaves with a shape and a dtype, not {leaf!r}.")
    if not config.x64 and np.dtype(leaf.dtype) != _core.canonical_dtype(leaf.dtype):
        raise DTypeError(f"{name}: result_shape_dtypes names {leaf.dtype}, while tn.config.x64 is off.")
    return np.dtype(leaf.dtype), tuple(leaf.shape)


class HostSizes:
    """What `pure_callback` and `io_callback` take as `result_shape_dtypes` where the host decides sizes of the results.

    `sizes(*args, **kwargs)` gives them, an int or a sequence of ints, before the function is called; `results` gives a
    tree of shapes and dtypes for them, one argument each. While a function is traced its arguments are sizes, with which
    what follows computes on, compiled. A ValueError where a size is negative, or where there are more or fewer. Under vmap
    lanes would have results of different sizes: a ValueError, unless no argument differs among them.

    >>> import numpy as np, tenon as tn
    >>> x = np.array([3, 1, 3])
    >>> unique = tn.HostSizes(lambda x: len(np.unique(x)), lambda n: tn.ShapeDtypeStruct((n,), x.dtype))
    >>> tn.jit(lambda x: 2 * tn.pure_callback(np.unique, unique, x))(x)
    Array([2, 6], dtype=int64)
    """

    def __init__(self, sizes, results):
        self.sizes = sizes
        self.results = results

    def decide(self, name, leaves, in_tree):
        count = len(inspect.signature(self.results).parameters)
        sizes = _core.sizes_by(_flat_sizes(name, self.sizes, in_tree), count, leaves)
        return self.results(*sizes)


@_by_key
def _flat_sizes(name, sizes, in_tree):
    def flat(*leaves):
        args, kwargs = tree_unflatten(in_tree, leaves)
        return [np.atleast_1d(np.asarray(sizes(*args, **kwargs), np.int64))]

    return _core.callback(name, flat)


def _call(name, callback, announced, args, kwargs, batch, effect):
    leaves, in_tree = tree_flatten((args, kwargs))
    if isinstance(announced, HostSizes):
        announced = announced.decide(name, leaves, in_tree)
    outs, out_tree = tree_flatten(announced)
    types = tuple(_announced(name, leaf) for leaf in outs)
    # Sizes that data decide are others in each trace.
    known = tuple((dtype, tuple(size if isinstance(size, int) else None for size in shape)) for dtype, shape in types)
    flat = _flat_callback(name, callback, in_tree, out_tree, known)
    return tree_unflatten(out_tree, _core.call_back(flat, types, leaves, batch, effect))


def pure_callback(callback, result_shape_dtypes, *args, sharding=None, vmap_method=None, **kwargs):
    """callback(*args, **kwargs), where it is a function of Python's that no trace sees.

    In compiled functions it is called with concrete Arrays while they run; it returns a tree of arrays like
    `result_shape_dtypes`, whose leaves have a `shape` and a `dtype`. It may be called more or fewer times than the
    program says, and not where nothing needs its results. What it raises comes out of the call; other shapes or dtypes
    than announced are a RuntimeError. Under vmap: "sequential" calls it lane by lane; "expand_dims" once, with the batch
    as axis 0, of size 1 where an argument has no batch; "broadcast_all" once, with the batch in every argument;
    "legacy_vectorized" once, with arguments that have no batch as they are; None is an error. It has no derivative: give
    one with custom_jvp or custom_vjp. Where the function decides sizes of its results, `result_shape_dtypes` is a
    `tn.HostSizes`.

    >>> import numpy as np, tenon as tn
    >>> tn.jit(lambda x: tn.pure_callback(np.sort, x, x))(np.array([3.0, 1.0, 2.0]))
    Array([1., 2., 3.], dtype=float64)
    """
    del sharding  # there is one device
    if vmap_method not in _batches:
        raise _core.OptionError(f"pure_callback: vmap_method is one of {list(_batches)}, not {vmap_method!r}.")
    return _call("pure_callback", callback, result_shape_dtypes, args, kwargs, _batches[vmap_method], False)


def io_callback(callback, result_shape_dtypes, *args, sharding=None, ordered=False, **kwargs):
    """The same of a function that does something beside giving its results: it is called as often as the program says,
    in the order of the program. Under vmap lane by lane, unless it is `ordered`: then that is an error."""
    del sharding
    return _call("io_callback", callback, result_shape_dtypes, args, kwargs, "refuse" if ordered else "sequential", True)


def effects_barrier():
    """Nothing: what a function does is done when it returns."""


def call_for_effect(name, callback, args, kwargs):
    """callback(*args, **kwargs) each time the program comes by. Leaves that are no arrays are kept as they are."""
    leaves, in_tree = tree_flatten((args, kwargs))
    traced = [_is_operand(leaf) for leaf in leaves]
    fixed = tuple(None if of else leaf for leaf, of in zip(leaves, traced))
    flat = _effect_callback(name, callback, in_tree, fixed, tuple(traced))
    _core.call_back(flat, (), [leaf for leaf, of in zip(leaves, traced) if of], "sequential", True)


def _is_operand(leaf):
    return isinstance(leaf, (_core.Array, bool, int, float, complex, np.generic, np.ndarray)) and (
        not isinstance(leaf, (np.generic, np.ndarray)) or leaf.dtype.kind not in "OSUMmV" or _extended.is_extended(leaf.dtype))


@_by_key
def _effect_callback(name, callback, in_tree, fixed, traced):
    def flat(*arrays):
        arrays = iter(arrays)
        args, kwargs = tree_unflatten(in_tree, [next(arrays) if of else leaf for leaf, of in zip(fixed, traced)])
        callback(*args, **kwargs)
        return ()

    return _core.callback(name, flat)


