"""Histograms along one axis and several."""

import math
import operator

import numpy as np

from tenon import _core
from tenon.numpy._creation import asarray, full, linspace
from tenon.numpy._elementwise import _inexact_together
from tenon.numpy._reductions import bincount, max, min, sum  # noqa: A004
from tenon.numpy._sorting import searchsorted
from tenon.numpy._shapes import ndim, ravel

__all__ = ["histogram", "histogram2d", "histogram_bin_edges", "histogramdd"]


def histogram_bin_edges(a, bins=10, range=None, weights=None):  # noqa: A002
    """The borders of the bins of a histogram."""
    if ndim(bins) == 1:
        return _core.to_inexact(asarray(bins))
    a = ravel(asarray(a))
    low, high = (min(a), max(a)) if range is None else (asarray(range[0]), asarray(range[1]))
    kind = _core.to_inexact(a).dtype
    low, high = _core.convert(low, kind), _core.convert(high, kind)
    same = _core.equal(low, high)
    return linspace(_core.where(same, low - 0.5, low), _core.where(same, high + 0.5, high), bins + 1)


def histogram(a, bins=10, range=None, weights=None, density=None):  # noqa: A002
    """(how many elements lie in each bin, the bins' borders)."""
    a = ravel(asarray(a))
    if weights is not None:
        a, weights = _inexact_together(a, ravel(asarray(weights)))
    edges = histogram_bin_edges(a, bins, range)
    weights = full(a.shape, 1, _core.to_inexact(a).dtype) if weights is None else weights
    at = searchsorted(edges, a, "right")
    at = _core.where(_core.equal(a, edges[-1]), edges.shape[0] - 1, at)
    inside = _core.greater(at, 0) & _core.less(at, edges.shape[0])
    counts = bincount(_core.where(inside, at - 1, 0), _core.where(inside, weights, 0), length=edges.shape[0] - 1)
    if density:
        widths = edges[1:] - edges[:-1]
        counts = counts / widths / sum(counts)
    return counts, edges


def _bins_along_each(bins, count):
    try:
        return [operator.index(bins)] * count
    except TypeError:
        pass
    bins = list(bins)
    if len(bins) != count:
        raise ValueError("should be a bin for each dimension.")
    return bins


def histogramdd(sample, bins=10, range=None, weights=None, density=None):  # noqa: A002
    """(how many points lie in each bin, the borders along each axis) of points [n, axes]. `bins`: a number, or for each
    axis a number or borders; `range`: for each axis (least, greatest) or None.

    >>> counts, edges = histogramdd(asarray([[0.0, 0.0], [1.0, 3.0], [4.0, 3.5]]), bins=2)
    >>> counts.tolist(), edges[0].tolist()
    ([[1, 1], [0, 1]], [0.0, 2.0, 4.0])
    """
    sample = asarray(sample)
    if sample.ndim != 2:
        raise ValueError(f"histogramdd: points are an array [n, axes], not of shape {sample.shape}.")
    n, axes = sample.shape
    ranges = [None] * axes if range is None else list(range)
    if len(ranges) != axes:
        raise ValueError(f"Expected len(range) = {axes}, got {len(ranges)}")
    if weights is not None and np.shape(weights) != (n,):
        raise ValueError("should have one weight for each sample.")
    edges = [histogram_bin_edges(sample[:, i], b, r) for i, (b, r) in enumerate(zip(_bins_along_each(bins, axes), ranges))]
    sizes = [e.shape[0] - 1 for e in edges]
    number, inside = 0, True
    for i, (e, size) in enumerate(zip(edges, sizes)):
        x = sample[:, i]
        at = searchsorted(e, x, "right") - 1
        at = _core.where(_core.equal(x, e[-1]), size - 1, at)  # the last border belongs to the last bin
        inside = _core.greater_equal(at, 0) & _core.less(at, size) & inside
        number = number * size + at
    # What lies outside is counted behind all bins.
    counts = bincount(_core.where(inside, number, math.prod(sizes)), weights, length=math.prod(sizes) + 1)[:-1]
    counts = _core.reshape(counts, sizes)
    if density:
        counts = _core.convert(counts, _core.to_inexact(sample).dtype)
        counts = counts / _core.sum(counts, None, False)
        for i, e in enumerate(edges):
            counts = counts / _core.reshape(e[1:] - e[:-1], [-1 if k == i else 1 for k in np.arange(axes)])
    return counts, edges


def histogram2d(x, y, bins=10, range=None, weights=None, density=None):  # noqa: A002
    """(how many points lie in each bin, borders along x, borders along y). `bins`: a number or borders for both, or a
    pair of those.

    >>> histogram2d(asarray([0.0, 1, 4]), asarray([0.0, 3, 4]), bins=2)[0].tolist()
    [[1, 1], [0, 1]]
    """
    pair = bins if not hasattr(bins, "__len__") or len(bins) == 2 else [bins, bins]
    counts, edges = histogramdd(_core.stack([ravel(asarray(x)), ravel(asarray(y))], 1), pair, range, weights, density)
    return counts, *edges
