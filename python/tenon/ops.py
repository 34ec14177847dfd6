"""Reductions of segments: elements along the first axis combined where they have the same number."""

import functools
import math

import numpy as np

from tenon import _core, _repeated, _sizes
from tenon import numpy as tnp

__all__ = ["segment_max", "segment_min", "segment_prod", "segment_sum"]


def _segments(name, update, start, text):
    def reduce(data, segment_ids, num_segments=None, indices_are_sorted=False, unique_indices=False, bucket_size=None,
               mode=None, out_sharding=None):
        data, ids = tnp.asarray(data), tnp.asarray(segment_ids)
        if num_segments is None:  # known outside of compiled functions alone
            num_segments = int(tnp.max(ids)) + 1 if ids.size else 0
        n = _sizes.size(num_segments)
        if _core.less_size(n, 0):
            raise _core.OptionError(f"{name}: num_segments must be non-negative. It is {num_segments}.")
        # A negative number is of no segment, or of the nearest, the first.
        clips = mode is not None and str(mode) == "clip"
        ids = _core.where(_core.less(ids, 0), 0 if clips else n, ids)
        made = tnp.full((n, *data.shape[ids.ndim:]), start(data.dtype), data.dtype)
        return getattr(made.at[ids], update)(data, indices_are_sorted=indices_are_sorted, unique_indices=unique_indices,
                                             mode=None if mode is None else str(mode))

    reduce.__name__ = reduce.__qualname__ = name
    reduce.__doc__ = f"""{text} of the elements along the first axes of each segment. `segment_ids` says of which segment
    they are, `num_segments` how many there are: in compiled functions it must be said. Elements of others are left out.

    >>> from tenon import ops, numpy as tnp
    >>> ops.{name}(tnp.array([2, 3, 4]), tnp.array([0, 2, 0]), 3).tolist()
    {_EXAMPLES[name]}
    """
    return reduce


def _start(dtype, above):
    """What no element is beyond; of complex numbers, whose order is that of their real parts first, a real number."""
    if dtype.kind == "b":
        return above
    if dtype.kind in "iu":
        return int(np.iinfo(dtype).max if above else np.iinfo(dtype).min)
    return math.inf if above else -math.inf


_EXAMPLES = {"segment_sum": [6, 0, 3], "segment_prod": [8, 1, 3], "segment_max": [4, -2 ** 63, 3],
             "segment_min": [2, 2 ** 63 - 1, 3]}
segment_sum = _segments("segment_sum", "add", lambda dtype: 0, "The sums")
segment_prod = _segments("segment_prod", "multiply", lambda dtype: 1, "The products")
segment_max = _segments("segment_max", "max", functools.partial(_start, above=False), "The largest")
segment_min = _segments("segment_min", "min", functools.partial(_start, above=True), "The smallest")

_repeated.public(globals())
