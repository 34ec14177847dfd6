"""Systems of linear equations solved by iterations, by the names of jax.scipy.sparse.linalg.

A is a function of a tree like b, or a square matrix; b a tree of arrays, one vector together. Derivatives are those of the
system, in b and in what A holds, of any order: each solves one system more by the same method. What is not found in
`maxiter` steps is what was reached by then.
"""

import functools
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tenon import _core, numpy as tnp, tree
from tenon.numpy._creation import asarray

if TYPE_CHECKING:
    from tenon._core import Array, ArrayLike

__all__ = ["bicgstab", "cg", "gmres"]


def _operator(name, what, given):
    """A linear operator as a function; a matrix of A is left to the library, which says what is wrong with it."""
    if callable(given):
        return given
    if isinstance(given, (_core.Array, np.ndarray)):
        return asarray(given)
    if not hasattr(given, "__matmul__"):
        raise _core.OptionError(f"{name}: {what}, a linear operator must be either a function or ndarray, not a {type(given).__name__}.")
    return functools.partial(operator.matmul, given)


def _steps(name, what, given):
    if given is None:
        return None
    if given == float("inf"):
        return 2 ** 62
    try:
        return operator.index(given)
    except TypeError:
        raise _core.OptionError(f"{name}: `{what}` is an int, not {given!r}.") from None


def _solved(name, A, b, x0, tol, atol, maxiter, M, restart=0, incremental=False):
    A = _operator(name, "A", A)
    if M is not None and not callable(M):
        matrix = _operator(name, "M", M)
        M = lambda v: _core.tn.matmul(matrix, v)  # noqa: E731
    return _core.iterative_solve(name, A, b, x0, tol, atol, _steps(name, "maxiter", maxiter), M, restart, incremental)


def cg(A: "Callable[[Any], Any] | ArrayLike", b: Any, x0: Any = None, *, tol: "ArrayLike" = 1e-5, atol: "ArrayLike" = 0.0,
       maxiter: int | None = None, M: "Callable[[Any], Any] | ArrayLike | None" = None) -> tuple[Any, None]:
    """(x, None) with A·x = b, of an A that is symmetric (of complex numbers Hermitian) and positive definite, by conjugate
    gradients. It ends where |b - A·x| <= max(tol·|b|, atol), or after `maxiter` steps, 10 for each number in b. M: about
    the inverse of A, a function or a matrix as A is.

    >>> import tenon.numpy as tnp
    >>> cg(tnp.array([[4.0, 1.0], [1.0, 3.0]]), tnp.array([6.0, 7.0]))[0].round(6).tolist()
    [1.0, 2.0]
    """
    return _solved("cg", A, b, x0, tol, atol, maxiter, M), None


def bicgstab(A: "Callable[[Any], Any] | ArrayLike", b: Any, x0: Any = None, *, tol: "ArrayLike" = 1e-5, atol: "ArrayLike" = 0.0,
             maxiter: int | None = None, M: "Callable[[Any], Any] | ArrayLike | None" = None) -> tuple[Any, None]:
    """(x, None) with A·x = b, by stabilized biconjugate gradients; arguments are those of cg().

    >>> import tenon.numpy as tnp
    >>> bicgstab(tnp.array([[2.0, 1.0], [0.0, 3.0]]), tnp.array([4.0, 6.0]))[0].round(6).tolist()
    [1.0, 2.0]
    """
    return _solved("bicgstab", A, b, x0, tol, atol, maxiter, M), None


def gmres(A: "Callable[[Any], Any] | ArrayLike", b: Any, x0: Any = None, *, tol: "ArrayLike" = 1e-5, atol: "ArrayLike" = 0.0,
          restart: int = 20, maxiter: int | None = None, M: "Callable[[Any], Any] | ArrayLike | None" = None,
          solve_method: str = "batched") -> "tuple[Any, Array]":
    """(x, info) with A·x = b, by generalized minimal residuals: the best x among combinations of `restart` vectors, then
    again from there, `maxiter` times at most. With `solve_method` "incremental" it looks after each vector whether it has
    come near enough, else once a restart. M is applied before A. info: -1 where x has a NaN, else 0.

    >>> import tenon.numpy as tnp
    >>> gmres(tnp.array([[2.0, 1.0], [0.0, 3.0]]), tnp.array([4.0, 6.0]))[0].round(6).tolist()
    [1.0, 2.0]
    """
    if solve_method not in ("batched", "incremental"):
        raise _core.OptionError(f"gmres: `solve_method` is 'batched' or 'incremental', not {solve_method!r}.")
    x = _solved("gmres", A, b, x0, tol, atol, maxiter, M, _steps("gmres", "restart", restart), solve_method == "incremental")
    failed = [tnp.any(tnp.isnan(leaf)) for leaf in tree.leaves(x)]
    return x, tnp.where(tnp.any(tnp.stack(failed)), -1, 0) if failed else tnp.asarray(0)
