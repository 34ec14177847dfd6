"""Ordinary differential equations, by the names of jax.experimental.ode, and odeint_end()."""

from collections.abc import Callable
from typing import Any

from tenon import _core
from tenon.errors import DTypeError
from tenon.numpy._creation import asarray

__all__ = ["odeint", "odeint_end"]


def odeint(func: Callable[..., Any], y0: Any, t: Any, *args: Any, rtol: float = 1.4e-8, atol: float = 1.4e-8,
           mxstep: float = float("inf"), hmax: float = float("inf"), adjoint: bool = True) -> Any:
    """y at the times t, where dy/dt = func(y, t, *args) and y(t[0]) = y0: a tree like y0, with an axis of t's length in front.
    t ascends. By Dormand and Prince's pair of orders 5 and 4, with steps that adapt themselves: of each the errors over
    atol + rtol·|y| are at most 1 in the mean of squares.

    Reverse mode, of any order, solves the adjoint equation backwards: derivatives are in y0, t, the arguments and what func
    captures. There is no forward mode. Without `adjoint` derivatives are those of the steps, in both modes. NaN at a time
    that is not reached in `mxstep` steps, past which no step is short enough, or that does not ascend.

    >>> import tenon.numpy as tnp
    >>> odeint(lambda y, t: -y, tnp.array([1.0]), tnp.array([0.0, 1.0, 2.0]))[:, 0].round(6).tolist()
    [1.0, 0.367879, 0.135335]
    """
    t = asarray(t)
    if t.dtype.kind not in "fV":
        raise DTypeError(f"odeint: t is an array of floats, not {t.dtype}.")
    return _core.odeint(func, y0, t, args, *_options(rtol, atol, mxstep, hmax, adjoint))


def odeint_end(func: Callable[..., Any], y0: Any, t0: Any, t1: Any, *args: Any, rtol: float = 1.4e-8, atol: float = 1.4e-8,
               mxstep: float = float("inf"), hmax: float = float("inf"), adjoint: bool = True) -> tuple[Any, Any, Any]:
    """(y at t1, how many steps counted, how many were tried in vain), where dy/dt = func(y, t, *args) and y(t0) = y0, with
    options and derivatives as those of odeint(): the last step ends at t1, so that nothing is read off a polynomial. NaN
    where t1 is before t0.

    >>> y, accepted, rejected = odeint_end(lambda y, t: -2.0 * y, 1.0, 0.0, 1.0)
    >>> y.round(6).tolist(), bool(accepted > 10)
    (0.135335, True)
    """
    return _core.odeint_end(func, y0, t0, t1, args, *_options(rtol, atol, mxstep, hmax, adjoint))


def _options(rtol, atol, mxstep, hmax, adjoint):
    return float(rtol), float(atol), None if mxstep == float("inf") else int(mxstep), float(hmax), bool(adjoint)
