"""Types of noinline() and inline_()."""

from collections.abc import Callable, Sequence
from typing import ParamSpec, TypeVar

__all__ = ["inline_", "noinline"]

_P = ParamSpec("_P")
_T = TypeVar("_T")

def noinline(fun: Callable[_P, _T], *, static_argnums: int | Sequence[int] = (),
             static_argnames: str | Sequence[str] = ()) -> Callable[_P, _T]: ...
def inline_(fun: Callable[_P, _T], *, static_argnums: int | Sequence[int] = (),
            static_argnames: str | Sequence[str] = ()) -> Callable[_P, _T]: ...
