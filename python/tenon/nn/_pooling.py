"""Pooling of images [batch…, places…, channels], as flax.linen has it."""

from tenon import _core
from tenon.lax._convolution import _integers, _padding

__all__ = ["avg_pool", "max_pool", "min_pool"]


def _options(window_shape, strides, padding):
    return {"window": _integers(window_shape), "strides": _integers(strides), "padding": _padding(padding)}


def max_pool(inputs, window_shape, strides=None, padding="VALID"):
    """The largest element of each window of window_shape over the axes before the last one; strides are 1 unless given. Padding is
    "VALID", "SAME" or a pair for each axis. The gradient goes to the first element that is the largest.

    >>> import tenon as tn
    >>> tn.nn.max_pool(tn.numpy.arange(6.0).reshape(1, 6, 1), (2,), (2,))[0, :, 0].tolist()
    [1.0, 3.0, 5.0]
    """
    return _core.tn.max_pool(inputs, **_options(window_shape, strides, padding))


def min_pool(inputs, window_shape, strides=None, padding="VALID"):
    """The smallest element of each window: as max_pool.

    >>> import tenon as tn
    >>> tn.nn.min_pool(tn.numpy.arange(6.0).reshape(1, 6, 1), (2,), (2,))[0, :, 0].tolist()
    [0.0, 2.0, 4.0]
    """
    return _core.tn.min_pool(inputs, **_options(window_shape, strides, padding))


def avg_pool(inputs, window_shape, strides=None, padding="VALID", count_include_pad=True):
    """The mean of each window, as max_pool; without count_include_pad that of the elements that are there.

    >>> import tenon as tn
    >>> tn.nn.avg_pool(tn.numpy.ones((1, 3, 1)), (2,), padding="SAME")[0, :, 0].tolist()
    [1.0, 1.0, 0.5]
    >>> tn.nn.avg_pool(tn.numpy.ones((1, 3, 1)), (2,), padding="SAME", count_include_pad=False)[0, :, 0].tolist()
    [1.0, 1.0, 1.0]
    """
    return _core.tn.avg_pool(inputs, **_options(window_shape, strides, padding), count_padding=bool(count_include_pad))
