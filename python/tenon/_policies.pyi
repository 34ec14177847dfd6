"""Types of checkpoint() and its policies."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import ParamSpec, Protocol, TypeVar, overload

__all__ = ["checkpoint", "checkpoint_policies", "remat"]

_P = ParamSpec("_P")
_T = TypeVar("_T")
_Numbers = int | Sequence[int]
_Names = str | Sequence[str]

checkpoint_policies: SimpleNamespace

class _Same(Protocol):
    def __call__(self, fun: Callable[_P, _T], /) -> Callable[_P, _T]: ...

@overload
def checkpoint(fun: Callable[_P, _T], *, prevent_cse: bool | Sequence[bool] = True, policy: Callable[..., bool] | None = None,
               static_argnums: _Numbers = (), static_argnames: _Names = ()) -> Callable[_P, _T]: ...
@overload
def checkpoint(fun: None = None, *, prevent_cse: bool | Sequence[bool] = True, policy: Callable[..., bool] | None = None,
               static_argnums: _Numbers = (), static_argnames: _Names = ()) -> _Same: ...
@overload
def remat(fun: Callable[_P, _T], *, prevent_cse: bool | Sequence[bool] = True, policy: Callable[..., bool] | None = None,
          static_argnums: _Numbers = (), static_argnames: _Names = ()) -> Callable[_P, _T]: ...
@overload
def remat(fun: None = None, *, prevent_cse: bool | Sequence[bool] = True, policy: Callable[..., bool] | None = None,
          static_argnums: _Numbers = (), static_argnames: _Names = ()) -> _Same: ...
