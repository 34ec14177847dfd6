"""What becomes of each gradient of a function that vjp() returned: the names of jax.ad.

`pull.with_refs(*targets)`, with a target for each leaf of the arguments, is the function that adds a gradient to the
reference that is its target, returns it where that is GradValue(), and does without where it is DontWant().
"""

from dataclasses import dataclass

from tenon import _core, tree, tree_util
from tenon._symbolic_zeros import float0, has_tangent
from tenon.errors import ShapeError, TreeError

__all__ = ["DidntWant", "DontWant", "GradRef", "GradValue", "NotNeeded"]


@dataclass(frozen=True)
class GradValue:
    """A target: the gradient is returned."""


@dataclass(frozen=True)
class DontWant:
    """A target: the gradient is not wanted."""


@dataclass(frozen=True)
class DidntWant:
    """What is returned in place of a gradient that was not wanted."""


@dataclass(frozen=True)
class GradRef:
    """What is returned in place of a gradient that was added to a reference."""


@dataclass(frozen=True)
class NotNeeded:
    """What args_res has in place of an argument that the function has not kept."""


for _made in (DidntWant, GradRef):
    tree_util.register_pytree_node(_made, lambda _: ((), None), lambda _, __, made=_made: made())


def with_refs(self, *targets):
    """The function that maps a cotangent to gradients, with these added to references. Of an argument that has no
    gradient, because it is of integers, any target will do.

    >>> import tenon as tn
    >>> _, pull = tn.vjp(lambda x, y: x * y, 2.0, 3.0)
    >>> total = tn.new_ref(10.0)
    >>> pull.with_refs(total, DontWant())(1.0), total[...]
    ((GradRef(), DidntWant()), Array(13., dtype=float64))
    """
    wanted, structure = tree.flatten(targets)
    wants = self._result(lambda shape, dtype: (shape, dtype))
    types, of_arguments = tree.flatten(wants, is_leaf=lambda x: isinstance(x, tuple) and len(x) == 2 and hasattr(x[1], "itemsize"))
    if structure != of_arguments:
        raise TreeError(f"with_refs: tree structures differ: the targets are {structure}, the arguments {of_arguments}; None "
                        "(NoneType) is an empty tree.")
    for target, (shape, dtype) in zip(wanted, types):
        if not has_tangent(dtype):
            continue
        if not isinstance(target, (_core.Ref, GradValue, DontWant)):
            raise _core.OptionError(f"with_refs: a target is a reference, GradValue() or DontWant(), not {target!r}.")
        if isinstance(target, _core.Ref) and (target.shape, target.dtype) != (shape, dtype):
            raise ShapeError(f"with_refs: the gradient requires a ref of type {dtype}{list(shape)}, not of "
                             f"{target.dtype}{list(target.shape)}.")

    def put(target, gradient):
        if isinstance(target, GradValue):
            return gradient
        if isinstance(target, DontWant) or gradient.dtype == float0:
            return DidntWant()
        target[...] = target[...] + gradient
        return GradRef()

    def pulled(cotangent):
        return structure.unflatten([put(t, g) for t, g in zip(wanted, tree.leaves(self(cotangent)), strict=True)])

    return pulled
