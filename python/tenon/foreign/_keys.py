"""Typed keys of JAX's: nodes of trees, and Keys while a function is traced here."""

import jax  # type: ignore
import numpy as np

from tenon import _core, errors, numpy as tnp, tree_util


class Keys:
    """An array of typed keys while a function is traced, by its numbers; it is an array u32[..., 2] where one is wanted. In
    trees it is a node of two arrays, the halves of all keys, so that axes of the one are axes of the other."""

    __slots__ = ("halves",)

    def __init__(self, halves):
        self.halves = tuple(halves)

    @property
    def numbers(self):
        return tnp.stack(self.halves, -1)

    shape = property(lambda self: np.shape(self.halves[0]))
    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: int(np.prod(self.shape)))

    def __len__(self):
        return len(self.halves[0])

    def __getitem__(self, index):
        return Keys(half[index] for half in self.halves)

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __repr__(self):
        return f"Keys({self.numbers!r})"

    def __tenon_array__(self):
        return self.numbers


def is_typed(x):
    """Whether an object is an array of keys of JAX's: those are of a class of their own."""
    return (isinstance(x, jax.Array) and not isinstance(x, jax.core.Tracer)
            and jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key))


def _halves(keys):
    if isinstance(keys, Keys):
        return keys.halves
    held = getattr(keys, "_base_array", None)  # key_data() is a jitted call of JAX's
    numbers = np.asarray(jax.random.key_data(keys) if held is None else held)
    if numbers.shape[-1] != 2:
        raise errors.UnsupportedError(f"from_jax: keys of {jax.random.key_impl(keys)}: tenon has those of threefry2x32.")
    return numbers[..., 0], numbers[..., 1]


def as_keys(x):
    """x, with Keys in the place of JAX's own."""
    return Keys(_halves(x)) if not isinstance(x, (Keys, _core.Array)) and is_typed(x) else x


def together(halves):
    """Keys of their halves: JAX's own where the numbers are known."""
    if all(isinstance(half, _core.Array) and not _core.is_traced(half) and not _core.is_donated(half) for half in halves):
        return jax.random.wrap_key_data(np.stack(list(map(np.asarray, halves)), -1), impl="threefry2x32")
    return Keys(halves)


def made(numbers):
    """Keys of an array u32[..., 2]."""
    return together((numbers[..., 0], numbers[..., 1]))


def abstract(keys):
    """What JAX traces in the place of keys."""
    return jax.eval_shape(lambda numbers: jax.random.wrap_key_data(numbers, impl="threefry2x32"),
                          jax.ShapeDtypeStruct((*keys.shape, 2), np.uint32))


tree_util.register_pytree_node(Keys, lambda keys: (_halves(keys), None), lambda _, halves: together(halves))
