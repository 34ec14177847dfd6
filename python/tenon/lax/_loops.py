"""Loops and branches, traced once and compiled as native code."""

import builtins
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex

from tenon import _core, tree
from tenon._core import binomial, every
from tenon._transforms import vmap
from tenon.errors import DTypeError, ShapeError
from tenon.numpy._creation import arange, asarray
from tenon.numpy._dtypes import result_type

if TYPE_CHECKING:
    from tenon._core import Array, ArrayLike, Checkpoints

__all__ = ["associative_scan", "binomial", "cond", "custom_linear_solve", "custom_root", "every", "fori_loop", "map", "scan", "switch", "while_loop"]


def scan(f: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any = None, length: SupportsIndex | None = None,
         reverse: bool = False, unroll: int | bool = 1, *, checkpoint: "Checkpoints | None" = None) -> tuple[Any, Any]:
    """(carry, ys): f(carry, x) -> (carry, y) for each x along the first axis of the leaves of xs, ys stacked.

    A reference in xs is to a row of it in each step, and what is written there is written to that row. `unroll`: steps that
    one turn does (True: all). `checkpoint`: tn.every(k) or tn.binomial(n), which carries reverse
    mode keeps.

    >>> import tenon.numpy as tnp
    >>> scan(lambda c, x: (c + x, c * x), 0.0, tnp.arange(3.0))
    (Array(3., dtype=float64), Array([0., 0., 2.], dtype=float64))
    """
    if length is not None:
        length = length if isinstance(length, _core.Dim) else length.__index__()
        for leaf in tree.leaves(xs):
            if leaf.shape[:1] != (length,):
                raise ShapeError(f"scan got `length` argument of {length} which disagrees with leading axis sizes "
                                 f"{[x.shape[:1] for x in tree.leaves(xs)]}.")
    if _steps_a_turn("scan", unroll) == 0:
        unroll = 1
    elif unroll is True:
        unroll = builtins.max(1, _steps(xs, length))
    if any(isinstance(leaf, _core.Ref) for leaf in tree.leaves(xs)):
        f, xs = _along_references(f, xs)
    return _core.scan(f, init, xs, length, reverse, unroll, checkpoint)


def _along_references(f, xs):
    """(a function of a step, its xs) for a scan along references: each step gets one to a row, and what it writes there is
    written to the row."""
    leaves, structure = tree.flatten(xs)
    whole = [leaf if isinstance(leaf, _core.Ref) else None for leaf in leaves]
    steps = next(leaf.shape[0] for leaf in whole if leaf is not None)

    def step(carry, x):
        i, *rows = x
        before = [row if ref is None else ref[i] for ref, row in zip(whole, rows, strict=True)]
        parts = [value if ref is None else _core.new_ref(value) for ref, value in zip(whole, before, strict=True)]
        made = f(carry, structure.unflatten(parts))
        for ref, part, value in zip(whole, parts, before, strict=True):
            if ref is not None and not _core.same_value(part[...], value):
                ref[i] = part[...]
        return made

    return step, (arange(steps), *(leaf if ref is None else None for ref, leaf in zip(whole, leaves, strict=True)))


def _steps_a_turn(name, unroll):
    """`unroll` as an int; of none and False 0."""
    count = 0 if unroll is None else int(unroll) if isinstance(unroll, _core.Array) else operator.index(unroll)
    if count < 0:
        raise _core.OptionError(f"{name}: `unroll` is a bool or an int that is not negative, not {unroll}.")
    return count


def _steps(xs, length):
    leaves = tree.leaves(xs)
    return leaves[0].shape[0] if leaves else length


def while_loop(cond_fun: "Callable[[Any], ArrayLike]", body_fun: Callable[[Any], Any], init_val: Any, *,
               checkpoints: int | None = None) -> Any:
    """body_fun again and again while cond_fun holds; both take the value. `checkpoints`: how many values reverse mode
    keeps, however many steps there are."""
    return _core.while_loop(cond_fun, body_fun, init_val, checkpoints)


def fori_loop(lower: "ArrayLike", upper: "ArrayLike", body_fun: "Callable[[Array, Any], Any]", init_val: Any, *,
              unroll: int | bool | None = None, checkpoint: "Checkpoints | None" = None) -> Any:
    """body_fun(i, value) for i from lower in steps of 1, while it is below upper: numbers of one dtype, of floats too.
    `unroll` is taken where the bounds are no traced arrays, and has no effect. `checkpoint`: tn.every(k) or
    tn.binomial(n), which carries reverse mode keeps, of bounds that are integers; where one is an array, tn.binomial(n).

    >>> import tenon as tn
    >>> tn.grad(lambda x: fori_loop(0, 5, lambda i, y: y * x, 1.0, checkpoint=tn.every(2)))(2.0)
    Array(80., dtype=float64, weak_type=True)
    """
    kinds = _kinds_of_bounds(lower, upper)
    if _steps_a_turn("fori_loop", unroll) > 1 and any(builtins.map(_core.is_traced, (lower, upper))):
        raise _core.OptionError("fori_loop: Can only use `unroll` of bounds that are no traced arrays: how many steps there are is "
                                "not known.")
    if kinds != {"f"}:
        return _core.fori_loop(lower, upper, body_fun, init_val, checkpoint)
    if checkpoint is not None:
        raise _core.OptionError("fori_loop: `checkpoint` is of loops between integers.")
    lower, upper = _numbers_of_one_dtype(lower, upper)
    return while_loop(lambda at: _core.less(at[0], upper), lambda at: (at[0] + 1, body_fun(*at)), (lower, init_val))[1]


def _numbers_of_one_dtype(*bounds):
    bounds = [asarray(b) for b in bounds]
    met = result_type(*bounds)
    return [b if b.dtype == met else _core.convert(b, met) for b in bounds]


def _kinds_of_bounds(lower, upper):
    """What numbers the bounds are, of which there is one kind and of arrays one dtype."""
    bounds = [asarray(b) for b in (lower, upper)]
    dtypes = {b.dtype for b in bounds if not b.weak_type}
    kinds = {"f" if b.dtype.kind == "V" else b.dtype.kind for b in bounds}
    if len(dtypes) > 1 or "f" in kinds and len(kinds) > 1:
        raise DTypeError(f"fori_loop: lower and upper arguments to fori_loop must have equal types, got {bounds[0].dtype} and "
                         f"{bounds[1].dtype}.")
    return kinds


def map(f: Callable[[Any], Any], xs: Any, *, batch_size: int | None = None) -> Any:  # noqa: A001
    """f of each element along the first axis, results stacked; `batch_size`: so many at once, by vmap."""
    if not batch_size:
        return scan(lambda _, x: ((), f(x)), (), xs)[1]
    n = tree.leaves(xs)[0].shape[0]
    turns, rest = divmod(n, batch_size)
    parts = []
    if turns:
        groups = tree.map(lambda x: _core.tn.reshape(x[:turns * batch_size], (turns, batch_size, *x.shape[1:])), xs)
        made = scan(lambda _, x: ((), vmap(f)(x)), (), groups)[1]
        parts.append(tree.map(lambda x: _core.tn.reshape(x, (turns * batch_size, *x.shape[2:])), made))
    if rest or not turns:
        parts.append(vmap(f)(tree.map(lambda x: x[turns * batch_size:], xs)))
    return parts[0] if len(parts) == 1 else tree.map(lambda *x: _core.tn.concatenate(list(x), 0), *parts)


_no_operand = object()


def cond(pred: "ArrayLike", true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any,
         operand: Any = _no_operand) -> Any:
    """true_fun(*operands) where the predicate, one bool, holds, else false_fun(*operands). Only one of them runs.

    By the older form, cond(pred, true_operand, true_fun, false_operand, false_fun), each function has an operand of its
    own.

    Under vmap with a predicate a lane both are computed in all lanes, and each lane takes its own. An infinite
    derivative of what a lane does not take does not reach its gradient. What is infinite or NaN there itself does, where
    a product (`@`, `dot`, `einsum`) sums it over the lanes: in the gradient of `w` by `vmap(lambda x: cond(x[0] > 0,
    lambda x: w @ log(x), lambda x: x, x))`, w shared by the lanes, it is NaN. Give the product what is finite in every
    lane (`log(where(x > 0, x, 1.0))`), or sum the gradients of the lanes, as `vmap(grad(f), in_axes=(None, 0))` has them.

    >>> cond(True, 3.0, lambda x: x + 1, 5.0, lambda x: x * 2)
    Array(4., dtype=float64, weak_type=True)
    """
    if operand is not _no_operand:
        if operands:
            raise _core.OptionError("lax.cond: there are operands and an `operand` by keyword.")
        operands = (operand,)
    if len(operands) == 2 and callable(false_fun) and callable(operands[1]) and not callable(true_fun):
        on_true, on_false, both = false_fun, operands[1], (true_fun, operands[0])
        return _core.cond(pred, lambda x: on_true(x[0]), lambda x: on_false(x[1]), both)
    if not callable(true_fun) or not callable(false_fun):
        raise _core.OptionError("lax.cond: true_fun and false_fun arguments should be callable.")
    return _core.cond(pred, true_fun, false_fun, *operands)


def switch(index: "ArrayLike", branches: Sequence[Callable[..., Any]], *operands: Any) -> Any:
    """branches[index](*operands); an index outside takes the nearest branch. Only one of them runs."""
    return _core.switch(index, list(branches), *operands)


def associative_scan(fn, elems, reverse=False, axis=0):
    """All prefixes x[0], fn(x[0], x[1]), fn(fn(x[0], x[1]), x[2]), …, of an associative fn of many elements at once."""
    return _core.associative_scan(fn, tree.map(asarray, elems), reverse, axis)


def custom_root(f, initial_guess, solve, tangent_solve, has_aux=False):
    """The root that solve(f, initial_guess) returns, with the derivatives of the equation f(root) = 0 in what f
    captures. tangent_solve(g, y) returns the x with g(x) = y for g, f linearised at the root. With `has_aux` solve
    returns (root, auxiliary), and so does this; what is auxiliary is not differentiated."""
    return _core.custom_root(f, initial_guess, solve, tangent_solve, has_aux)


def custom_linear_solve(matvec, b, solve, transpose_solve=None, symmetric=False, has_aux=False):
    """The x with matvec(x) = b that solve(matvec, b) returns, with the derivatives of the system. Reverse mode needs
    transpose_solve(vecmat, b), or a product that is its own transpose (symmetric). With `has_aux` the solvers return
    (x, auxiliary), and so does this; what is auxiliary is not differentiated."""
    if has_aux:
        return _solved_with_more(matvec, b, solve, transpose_solve, symmetric)
    return _core.custom_linear_solve(matvec, b, solve, transpose_solve, symmetric)


def _solved_with_more(matvec, b, solve, transpose_solve, symmetric):
    """The system as an equation, whose solver may tell more than the root."""

    def first(solver):
        return None if solver is None else lambda product, y: solver(product, y)[0]

    def difference(x):
        return tree.map(_core.subtract, matvec(x), b)

    return _core.custom_root(difference, b, lambda _, guess: solve(matvec, guess), lambda product, y: custom_linear_solve(
        product, y, first(solve), first(transpose_solve), symmetric), True)
