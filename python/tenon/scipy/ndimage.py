"""Images of any rank between their elements, with the names of jax.scipy.ndimage."""

import operator

from tenon import _core, _repeated
from tenon.numpy import asarray

__all__ = ["map_coordinates"]


def map_coordinates(input, coordinates, order, mode="constant", cval=0.0):
    """input at coordinates, an array for each of its axes: the nearest element (order 0), or what straight lines between
    elements give (order 1). Outside stands what `mode` says: cval ("constant"), the "nearest" element, the axis again
    ("wrap"), or its mirror image about the middle of the end's element ("mirror") or about the end ("reflect").

    >>> map_coordinates([1.0, 3.0], [[0.5, 1.0]], order=1).tolist()
    [2.0, 3.0]
    """
    order = operator.index(order)
    if order not in (0, 1):
        raise NotImplementedError(f"map_coordinates: splines of order {order} are not here; orders 0 and 1 are.")
    return _core.tn.ndimage.map_coordinates(asarray(input), [asarray(c) for c in coordinates], order=order, mode=mode, fill=cval)

_repeated.public(globals())
