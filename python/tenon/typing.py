"""Types for annotations: Array, ArrayLike, DTypeLike and Ufunc."""

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy.typing as npt

from tenon._core import Array as Array

if TYPE_CHECKING:
    from tenon._core import ArrayLike as ArrayLike, DTypeLike as DTypeLike
else:
    ArrayLike: TypeAlias = Array | npt.ArrayLike
    DTypeLike: TypeAlias = npt.DTypeLike

__all__ = ["Array", "ArrayLike", "DTypeLike", "Ufunc"]


class Ufunc(Protocol):
    """A function of each element, as tnp.add, with what it makes of many."""

    nin: int
    nout: int
    identity: Any

    def __call__(self, *args: ArrayLike) -> Array: ...
    def reduce(self, a: ArrayLike, axis: Any = 0, dtype: Any = None, out: None = None, keepdims: bool = False,
               initial: Any = None, where: Any = None) -> Array: ...
    def accumulate(self, a: ArrayLike, axis: int = 0, dtype: Any = None, out: None = None) -> Array: ...
    def outer(self, A: ArrayLike, B: ArrayLike, /) -> Array: ...
    def reduceat(self, a: ArrayLike, indices: ArrayLike, axis: int = 0, dtype: Any = None, out: None = None) -> Array: ...
    def at(self, a: ArrayLike, indices: Any, b: Any = None, /, *, inplace: bool = True) -> Array: ...
