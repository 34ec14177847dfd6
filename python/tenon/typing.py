"""Types for annotations: Array, ArrayLike and DTypeLike."""

from typing import TYPE_CHECKING, TypeAlias

import numpy.typing as npt

from tenon._core import Array as Array

if TYPE_CHECKING:
    from tenon._core import ArrayLike as ArrayLike, DTypeLike as DTypeLike
else:
    ArrayLike: TypeAlias = Array | npt.ArrayLike
    DTypeLike: TypeAlias = npt.DTypeLike

__all__ = ["Array", "ArrayLike", "DTypeLike"]
