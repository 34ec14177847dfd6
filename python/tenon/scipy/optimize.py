"""Minima of functions, by the names of jax.scipy.optimize."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tenon import _core

__all__ = ["OptimizeResults", "minimize"]


class OptimizeResults(NamedTuple):
    """What minimize() found.

    x: the place, a tree like x0; success: whether the gradient is small there; status: 0 where it is, 1 after `maxiter`
    steps, of BFGS 3 where no step satisfies Wolfe's conditions and 5 where none was bracketed, of L-BFGS 2 after `maxfun`
    values, 3 after `maxgrad` gradients, 4 where the function decreases by less than `ftol`, 5 where no step was found;
    fun: the value; jac: the gradient; hess_inv: the estimate of the inverse Hessian, None of L-BFGS; nfev, njev: how many
    values and gradients were taken; nit: how many steps.
    """

    x: Any
    success: Any
    status: Any
    fun: Any
    jac: Any
    hess_inv: Any
    nfev: Any
    njev: Any
    nit: Any


_METHODS = {"bfgs": True, "l-bfgs": False, "l-bfgs-experimental-do-not-rely-on-this": False}
_OPTIONS = {True: {"maxiter", "norm", "gtol", "line_search_maxiter"},
            False: {"maxiter", "norm", "maxcor", "ftol", "gtol", "maxfun", "maxgrad", "maxls"}}


def minimize(fun: Callable[..., Any], x0: Any, args: tuple[Any, ...] = (), *, method: str, tol: Any = None,
             options: Mapping[str, Any] | None = None) -> OptimizeResults:
    """A local minimum of fun(x, *args), one real number, near x0, a tree of real or complex arrays: one loop, compiled. Derivatives of x and
    fun, in args and what fun captures, are those of the equation that the gradient is zero.

    `method`: "BFGS", or "L-BFGS" (also by JAX's name "l-bfgs-experimental-do-not-rely-on-this"). `tol` stands for the option
    `gtol`, how small the gradient's norm is to be. Options of both: `maxiter`, `gtol` and `norm`, its order; of BFGS
    `line_search_maxiter`; of L-BFGS `maxcor` (steps that are kept), `ftol`, `maxfun`, `maxgrad` and `maxls`.

    >>> import tenon.numpy as tnp
    >>> found = minimize(lambda x: ((x - 3.0) ** 2).sum(), tnp.zeros(2), method="BFGS")
    >>> bool(found.success), found.x.round(4).tolist()
    (True, [3.0, 3.0])
    """
    if not isinstance(args, tuple):
        raise _core.OptionError(f"minimize: `args` of further arguments must be a tuple, not {type(args).__name__}.")
    bfgs = _METHODS.get(method.lower()) if isinstance(method, str) else None
    if bfgs is None:
        raise _core.OptionError(f"minimize: there is no method {method!r}; there are BFGS and L-BFGS.")
    given = dict(options or {})
    unknown = sorted(set(given) - _OPTIONS[bfgs])
    if unknown:
        raise _core.OptionError(f"minimize: {method} has no option {unknown[0]!r}; it has {', '.join(sorted(_OPTIONS[bfgs]))}.")
    if tol is not None:
        given.setdefault("gtol", tol)
    found = _core.minimize(lambda x: fun(x, *args), x0, bfgs, given.get("gtol", 1e-5), float(given.get("norm", float("inf"))),
                           _count(given.get("maxiter")), _count(given.get("line_search_maxiter" if bfgs else "maxls")),
                           int(given.get("maxcor", 10)), given.get("ftol", 2.220446049250313e-09),
                           _count(given.get("maxfun")), _count(given.get("maxgrad")))
    return OptimizeResults(*found)


def _count(given):
    """A number of steps; infinity and None are none."""
    return None if given is None or given == float("inf") else int(given)
