"""Values on grids, with the names of jax.scipy.interpolate."""

import numpy as np

from tenon import _core
from tenon.errors import DTypeError, ShapeError
from tenon.numpy import asarray, broadcast_arrays, issubdtype, reshape, stack
from tenon.tree_util import register_pytree_node

__all__ = ["RegularGridInterpolator"]


def _require_method(method):
    if method not in ("linear", "nearest"):
        raise _core.OptionError(f"RegularGridInterpolator: method is {method!r}; it is 'linear' or 'nearest'.")
    return method


class RegularGridInterpolator:
    """values[i, j, …] at (points[0][i], points[1][j], …), each of `points` ascending; called at coordinates [..., axes]. A tree
    of the points, the values and `fill_value`, which stands outside of the grid (None: what the lines there give).

    >>> f = RegularGridInterpolator(([0.0, 1.0], [0.0, 2.0]), asarray([[0.0, 2.0], [10.0, 12.0]]))
    >>> f([0.5, 1.0]).tolist()
    [6.0]
    """

    def __init__(self, points, values, method="linear", bounds_error=False, fill_value=np.nan):
        self.method = _require_method(method)
        if bounds_error:
            raise NotImplementedError("RegularGridInterpolator: bounds_error=True is not here; look at the coordinates before.")
        self.bounds_error = bounds_error
        values = _core.to_inexact(asarray(values))
        if len(points) > values.ndim:
            raise ShapeError(f"RegularGridInterpolator: {len(points)} vectors of points, and values of {values.ndim} axes.")
        if fill_value is not None:
            fill_value = asarray(fill_value)
            if fill_value.dtype.kind == "c" and not issubdtype(values.dtype, np.complexfloating):
                raise DTypeError("RegularGridInterpolator: fill_value is complex, the values are not.")
        self.fill_value = fill_value
        self.grid = tuple(asarray(p) for p in points)
        self.values = values

    def __call__(self, xi, method=None):
        method = _require_method(self.method if method is None else method)
        if isinstance(xi, tuple):
            xi = stack(broadcast_arrays(*xi), -1) if len(xi) > 1 else xi[0]
        xi = asarray(xi)
        if xi.ndim == 1:
            xi = reshape(xi, (-1, len(self.grid)))
        return _core.interpolate_grid(list(self.grid), self.values, xi, method, self.fill_value)


def _rebuilt(static, children):
    made = object.__new__(RegularGridInterpolator)
    made.method, made.bounds_error = static
    made.grid, made.values, made.fill_value = children
    return made


register_pytree_node(RegularGridInterpolator, lambda f: ((f.grid, f.values, f.fill_value), (f.method, f.bounds_error)), _rebuilt)
