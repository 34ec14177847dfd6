"""Functions that vmap() batches by rules of the user's own: the names of jax.custom_batching."""

import functools

from tenon import _core, lax, tree
from tenon._arguments import positional
from tenon.errors import TreeError

__all__ = ["custom_vmap", "sequential_vmap"]


class custom_vmap:  # noqa: N801
    """A function with a batch rule: a decorator; then `@f.def_vmap` on rule(axis_size, in_batched, *args), which returns
    (a batch of results, out_batched). in_batched has a tree of bools for each argument: a leaf that is batched has the
    lanes as its first axis. out_batched is such a tree for the result. Without vmap() it is the function.

    The rule is run where a call is batched, of several batches for the innermost; a call of the function in it is for
    those around. In forward mode it is differentiated with the function. Where reverse mode has gone over the function
    before the batch is taken, as in vmap(grad(f)), the derivative that is batched is the function's.

    >>> import tenon as tn, tenon.numpy as tnp
    >>> @tn.custom_batching.custom_vmap
    ... def product(a, b):
    ...     return tnp.dot(a, b)
    >>> @product.def_vmap
    ... def rule(axis_size, in_batched, a, b):
    ...     return tnp.sum(a * b, axis=-1), True
    >>> tn.vmap(product)(tnp.ones((2, 3)), tnp.ones((2, 3)))
    Array([3., 3.], dtype=float64)
    """

    def __init__(self, fun):
        functools.update_wrapper(self, fun)
        self.fun, self.vmap_rule = fun, None

    def __get__(self, instance, owner=None):
        return self if instance is None else functools.partial(self, instance)

    def def_vmap(self, vmap_rule):
        """Gives the rule, and returns it."""
        self.vmap_rule = vmap_rule
        return vmap_rule

    @property
    def defjvp(self):
        """That of the function, where it is a custom_jvp; so is defjvps."""
        return self.fun.defjvp

    @property
    def defjvps(self):
        return self.fun.defjvps

    @property
    def defvjp(self):
        """That of the function, where it is a custom_vjp."""
        return self.fun.defvjp

    def __call__(self, *args, **kwargs):
        args = positional(self.fun, args, kwargs)
        if self.vmap_rule is None:
            raise AttributeError(f"custom_vmap: {self.__name__} has no rule: say {self.__name__}.def_vmap(rule). "
                                 f"No batching rule defined for custom_vmap function {self.__name__}.")
        if not _core.tracing():
            return self.fun(*args)
        return _core.custom_vmap(self.fun, self._by_rule, args)

    def _by_rule(self, axis_size, batched, args):
        made = self.vmap_rule(axis_size, list(tree.structure(args).unflatten(batched)), *args)
        name = getattr(self.vmap_rule, "__name__", "rule")
        if not isinstance(made, (tuple, list)) or len(made) != 2:
            raise TreeError(f"custom_vmap: the rule {name} returns a pair, (results, which are batched), not {made!r}.")
        result, out_batched = made
        leaves, structure = tree.flatten(out_batched)
        if structure != tree.structure(result):
            raise TreeError(f"custom_vmap: the rule {name} returns results of structure {tree.structure(result)}, and says "
                            f"by {structure} which of them are batched.")
        return result, [bool(b) for b in leaves]


def sequential_vmap(f):
    """A function whose lanes are taken one after the other, by lax.map(): a decorator.

    >>> import tenon as tn, tenon.numpy as tnp
    >>> tn.vmap(tn.custom_batching.sequential_vmap(lambda x: tnp.dot(x, x)))(tnp.ones((2, 3)))
    Array([3., 3.], dtype=float64)
    """
    f = custom_vmap(f)

    @f.def_vmap
    def one_by_one(axis_size, in_batched, *args):
        leaves, structure = tree.flatten(args)
        batched = tree.leaves(in_batched)

        def lane(rows):
            rows = iter(rows)
            return f(*structure.unflatten([next(rows) if of else leaf for leaf, of in zip(leaves, batched)]))

        result = lax.map(lane, [leaf for leaf, of in zip(leaves, batched) if of])
        return result, tree.map(lambda _: True, result)

    return f
