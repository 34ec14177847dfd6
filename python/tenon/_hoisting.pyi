"""Type of hoist_reductions()."""

from collections.abc import Callable, Sequence
from typing import ParamSpec, TypeVar

__all__ = ["hoist_reductions"]

_P = ParamSpec("_P")
_T = TypeVar("_T")

def hoist_reductions(fun: Callable[_P, _T], *, static_argnums: int | Sequence[int] = (),
                     static_argnames: str | Sequence[str] = ()) -> Callable[_P, _T]: ...
