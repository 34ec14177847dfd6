"""Histograms along one axis and several."""

import operator

import numpy as np

from tenon import _core
from tenon.errors import ShapeError
from tenon.numpy import _dtypes
from tenon.numpy._creation import asarray
from tenon.numpy._shapes import ndim, ravel

__all__ = ["histogram", "histogram2d", "histogram_bin_edges", "histogramdd"]


def _bins(bins):
    return asarray(bins) if ndim(bins) == 1 else bins


def histogram_bin_edges(a, bins=10, range=None, weights=None):  # noqa: A002
    """The borders of the bins of a histogram."""
    return _core.tn.histogram_bin_edges(asarray(a), _bins(bins), range)


def histogram(a, bins=10, range=None, weights=None, density=None):  # noqa: A002
    """(how many elements lie in each bin, the bins' borders)."""
    return _core.tn.histogram(asarray(a), _bins(bins), range=range, weights=None if weights is None else asarray(weights), density=bool(density))


def _bins_along_each(bins, count):
    try:
        return [operator.index(bins)] * count
    except TypeError:
        pass
    bins = list(bins)
    if len(bins) != count:
        raise ShapeError(f"histogramdd: should be a bin for each dimension. There are {len(bins)} for {count} dimensions.")
    return [_bins(b) for b in bins]


def histogramdd(sample, bins=10, range=None, weights=None, density=None):  # noqa: A002
    """(how many points lie in each bin, the borders along each axis) of points [n, axes]. `bins`: a number, or for each
    axis a number or borders; `range`: for each axis (least, greatest) or None.

    >>> counts, edges = histogramdd(asarray([[0.0, 0.0], [1.0, 3.0], [4.0, 3.5]]), bins=2)
    >>> counts.tolist(), edges[0].tolist()
    ([[1, 1], [0, 1]], [0.0, 2.0, 4.0])
    """
    sample = asarray(sample)
    if sample.ndim != 2:
        raise ShapeError(f"histogramdd: points are an array [n, axes], not of shape {sample.shape}.")
    n, axes = sample.shape
    ranges = [None] * axes if range is None else list(range)
    if len(ranges) != axes:
        raise ShapeError(f"histogramdd: Expected len(range) = {axes}, got {len(ranges)}")
    if weights is not None and np.shape(weights) != (n,):
        raise ShapeError("histogramdd: should have one weight for each sample. "
                         f"There are {n} samples, and weights of shape {np.shape(weights)}.")
    counts, edges = _core.tn.histogramdd(sample, _bins_along_each(bins, axes), ranges=ranges, density=bool(density),
                                         weights=None if weights is None else asarray(weights))
    return _core.convert(counts, _dtypes.default("i")) if weights is None and not density else counts, edges


def histogram2d(x, y, bins=10, range=None, weights=None, density=None):  # noqa: A002
    """(how many points lie in each bin, borders along x, borders along y). `bins`: a number or borders for both, or a
    pair of those.

    >>> histogram2d(asarray([0.0, 1, 4]), asarray([0.0, 3, 4]), bins=2)[0].tolist()
    [[1, 1], [0, 1]]
    """
    pair = bins if not hasattr(bins, "__len__") or len(bins) == 2 else [bins, bins]
    counts, edges = histogramdd(_core.tn.stack([ravel(asarray(x)), ravel(asarray(y))], 1), pair, range, weights, density)
    return counts, *edges
