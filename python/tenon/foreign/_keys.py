"""Typed keys of JAX's. Among the arguments of a function that is traced here, and where they come out, they are Keys."""

import jax  # type: ignore
import numpy as np

from tenon import _core, errors, numpy as tnp, tree_util


class Keys:
    """An array of typed keys, by its numbers: a node of trees of two arrays, the halves of all keys, so that axes of the one
    are axes of the other. Where an array is wanted, it is u32[..., 2], which functions of keys take, tenon's and JAX's.

    >>> tn.from_jax(lambda key: jax.random.split(key, 3))(jax.random.key(0)).shape  # doctest: +SKIP
    (3,)
    """

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

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.numbers, dtype)

    def __jax_array__(self):
        return jax.numpy.asarray(np.asarray(self.numbers))


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


def made(numbers):
    """Keys of an array u32[..., 2]."""
    return Keys((numbers[..., 0], numbers[..., 1]))


def abstract(keys):
    """What JAX traces in the place of keys."""
    return jax.eval_shape(lambda numbers: jax.random.wrap_key_data(numbers, impl="threefry2x32"),
                          jax.ShapeDtypeStruct((*keys.shape, 2), np.uint32))


tree_util.register_pytree_node(Keys, lambda keys: (_halves(keys), None), lambda _, halves: Keys(halves))
