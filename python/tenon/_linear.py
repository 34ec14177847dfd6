"""Functions that are linear, and gradients that are written beside their function."""

import functools

from tenon import _core, numpy as tnp, tree, tree_util
from tenon._arguments import from_front, numbers_of, with_others
from tenon._custom_rules import custom_vjp
from tenon._symbolic_zeros import has_tangent
from tenon._transforms import jit, vjp
from tenon.errors import DTypeError, ShapeError, TreeError

__all__ = ["custom_gradient", "fwd_and_bwd", "linear_transpose"]  # linear_call is in tenon.custom_derivatives


def linear_transpose(fun, *primals, reduce_axes=()):
    """The transpose of a linear function: cotangents of its result to a tuple of those of its arguments. Of the primals
    shapes and dtypes alone count. That the function is linear is a promise: of another one this is its vjp at 0.

    >>> import numpy as np
    >>> from tenon import ShapeDtypeStruct
    >>> linear_transpose(lambda x, y: 0.5 * x - 2 * y, *[ShapeDtypeStruct((), np.float32)] * 2)(1.0)
    (Array(0.5, dtype=float32), Array(-2., dtype=float32))
    """

    def zeros(x):
        kind = tnp.result_type(x)
        if not has_tangent(kind):
            raise DTypeError(f"linear_transpose only supports [float and complex] inputs, but got {kind.name}.")
        return tnp.zeros(tnp.shape(x), kind)

    value, pull = vjp(fun, *tree.map(zeros, primals))
    leaves, structure = tree.flatten(value)
    return _Transposed(pull, structure, tuple((x.shape, x.dtype) for x in leaves))


class _Transposed:
    """What linear_transpose() returns: a node of trees, as what vjp() returns is, which it has."""

    def __init__(self, pull, structure, types):
        self.pull, self.structure, self.types = pull, structure, types

    def __call__(self, cotangent):
        leaves, given = tree.flatten(cotangent)
        if given != self.structure:
            raise TreeError(f"linear_transpose: the cotangent tree does not match: it is {given}, and the function returns "
                            f"{self.structure}.")
        for i, (leaf, (shape, dtype)) in enumerate(zip(leaves, self.types)):
            kind = tnp.result_type(leaf)
            if tnp.shape(leaf) != shape or (kind.kind == "c") != (dtype.kind == "c"):
                raise ShapeError(f"linear_transpose: the cotangent type does not match: leaf {i} is "
                                 f"{kind.name}{list(tnp.shape(leaf))}, and the function returns {dtype.name}{list(shape)}.")
        return self.pull(given.unflatten([tnp.asarray(x, dtype) for x, (_, dtype) in zip(leaves, self.types)]))


def custom_gradient(fun):
    """A function with a reverse mode of its own, from one that returns (result, pull): pull maps a cotangent of the
    result to a tuple of those of the arguments (to one alone of one argument).

    >>> import tenon as tn
    >>> @tn.custom_gradient
    ... def f(x):
    ...     return x ** 2, lambda g: (g * x,)
    >>> float(f(3.0)), float(tn.grad(f)(3.0))
    (9.0, 3.0)
    """

    @custom_vjp
    @functools.wraps(fun)
    def value(*args):
        return fun(*args)[0]

    def backward(args, cotangent):
        made = fun(*args)[1](cotangent)
        return made if isinstance(made, (tuple, list)) and (len(args) > 1 or len(made) == 1) else (made,)

    value.defvjp(lambda *args: (fun(*args)[0], args), backward)
    return value


def linear_call(fun, fun_transpose, residual_args, linear_args):
    """fun(residual_args, linear_args), which is linear in the second: reverse mode takes
    fun_transpose(residual_args, cotangent), a tree like linear_args, for its transpose. No derivative is taken in the
    first.

    >>> import tenon as tn
    >>> tn.grad(lambda x: linear_call(lambda r, x: x / r, lambda r, t: t / r, 4.0, x))(8.0)
    Array(0.25, dtype=float64, weak_type=True)
    """
    call = custom_vjp(fun)
    call.defvjp(lambda r, x: (fun(r, x), r), lambda r, ct: (None, fun_transpose(r, ct)))
    return call(residual_args, linear_args)


def fwd_and_bwd(fun, argnums, has_aux=False, jitted=True):
    """(forward, backward): forward(*args) -> (result, residuals), with `has_aux` (result, residuals, auxiliary), and
    backward(residuals, cotangent) -> a tuple of cotangents of the arguments `argnums`. The residuals are the arguments:
    backward computes again what it needs of the rest.

    >>> forward, backward = fwd_and_bwd(lambda x, y: x * y, (0, 1))
    >>> value, residuals = forward(2.0, 3.0)
    >>> float(value), [float(g) for g in backward(residuals, 1.0)]
    (6.0, [3.0, 2.0])
    """
    numbers = numbers_of(argnums, "fwd_and_bwd: argnums")[0]

    def forward(*args):
        made = fun(*args)
        return (made[0], args, made[1]) if has_aux else (made, args)

    def backward(residuals, cotangent):
        at = from_front(numbers, len(residuals))
        of_chosen = functools.partial(with_others, fun, at, residuals)
        return vjp(of_chosen, *(residuals[n] for n in at), has_aux=has_aux)[1](cotangent)

    return (jit(forward), jit(backward)) if jitted else (forward, backward)


class _Kept(list):
    """The entries of args_res: to set one is to give the function another argument."""

    def __init__(self, of, entries):
        super().__init__(entries)
        self._of = of

    def __setitem__(self, i, value):
        super().__setitem__(i, value)
        self._of.args_res = list(self)


def _args_res(linear):
    """What a function that vjp() returned has kept of the arguments, a list with an entry an argument: the argument, with
    tn.ad.NotNeeded() in place of leaves that it has not kept. An entry can be set to None, so that memory is freed, and to
    the argument again before the function is called.

    >>> import tenon as tn, tenon.numpy as tnp
    >>> w = tnp.ones(3)
    >>> _, pull = tn.vjp(lambda x, w: tnp.sum(x * w), tnp.zeros(3), w)
    >>> pull.args_res[1] = None
    >>> pull.args_res[1] = w
    >>> pull(1.0)[0].tolist()
    [1.0, 1.0, 1.0]
    """
    from tenon.ad import NotNeeded

    kept, structure = linear._kept_arguments(), linear._arguments
    return _Kept(linear, structure.unflatten([kept.get(i, NotNeeded()) for i in range(structure.num_leaves)]))


def _set_args_res(linear, entries):
    from tenon.ad import NotNeeded

    entries, parts, leaf = list(entries), linear._arguments.children(), 0
    if len(entries) != len(parts):
        raise TreeError(f"args_res: there are {len(parts)} arguments, and {len(entries)} entries are given.")
    for entry, part in zip(entries, parts):
        gone = entry is None or isinstance(entry, NotNeeded)
        for value in [None] * part.num_leaves if gone else part.flatten_up_to(entry):
            linear._keep_argument(leaf, None if isinstance(value, NotNeeded) else value)
            leaf += 1


def _keys_of_parts(linear):
    from tenon._keys import SequenceKey

    residuals, form = linear._parts()
    return [(SequenceKey(i), r) for i, r in enumerate(residuals)], form


def _with_refs(self, *targets):
    """tenon.ad.with_refs() of it."""
    from tenon.ad import with_refs

    return with_refs(self, *targets)


def add_to_trees():
    """Makes linear functions, what vjp() and linearize() return, nodes of trees: their leaves are what they have kept."""
    _core.LinearFunction.with_refs = _with_refs
    _core.LinearFunction.args_res = property(_args_res, _set_args_res)
    tree_util.register_pytree_node(_Transposed, lambda t: ((t.pull,), (t.structure, t.types)), lambda form, pull: _Transposed(*pull, *form))
    tree_util.register_pytree_node(_core.LinearFunction, _core.LinearFunction._parts, _core.linear_of, _keys_of_parts)
