"""Windows of axes: as many elements as are known, from a place on that need not be."""

import dataclasses
import operator
from typing import Any

from tenon import _core, _sizes, tree_util
from tenon.errors import ShapeError

__all__ = ["ds"]


@tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Slice:
    """`size` elements from `start` on, every stride-th."""

    start: Any
    size: int = dataclasses.field(metadata={"static": True})
    stride: int = dataclasses.field(default=1, metadata={"static": True})

    def __tenon_window__(self):
        return self.start, self.size, self.stride


def ds(start, size=None, stride=None):
    """An index: `size` elements from `start` on, every stride-th. The start may be an array whose value a trace does not
    know, the size is an int; with one number alone that is the size, and ds(None) is all. What would lie outside of the
    axis is moved inside when it is read, and left out when it is written.

    >>> import tenon as tn, tenon.numpy as tnp
    >>> tn.jit(lambda x, i: x[tn.ds(i, 2)])(tnp.arange(10), 4).tolist()
    [4, 5]
    >>> tnp.zeros(4).at[tn.ds(1, 2)].set(1.0).tolist()
    [0.0, 1.0, 1.0, 0.0]
    """
    if start is None and size is None:
        return slice(None, None, stride)
    start, size = (0, start) if size is None else (0 if start is None else start, size)
    size, stride = _sizes.size(size), 1 if stride is None else operator.index(stride)
    if _core.less_size(size, 0) or stride < 1:
        raise ShapeError(f"ds: {size} elements, every {stride}: a size from 0 on, and a stride from 1 on.")
    return Slice(start, size, stride)
