"""Zeros of polynomials, and polynomials near points: by eigenvalues and least squares."""

import operator

import numpy as np

from tenon import _core
from tenon.errors import ShapeError
from tenon.numpy import _dtypes
from tenon.numpy._creation import asarray

__all__ = ["polyfit", "roots"]


def roots(p, *, strip_zeros=True):
    """The zeros of a polynomial, complex, as eigenvalues of its companion matrix. Zeros in front of the coefficients are left
    out, for which their values must be known; without `strip_zeros` the result has NaN for each of them.

    >>> sorted(z.real for z in roots(asarray([1.0, -3.0, 2.0])).tolist())
    [1.0, 2.0]
    """
    p = _core.to_inexact(asarray(p))
    p = p if p.ndim else _core.tn.reshape(p, (1,))
    if p.ndim != 1:
        raise ShapeError(f"roots: Input must be a rank-1 array. Its shape is {p.shape}.")
    if strip_zeros:
        known = np.flatnonzero(np.asarray(p))
        p = p[int(known[0]):] if known.size else p[:0]
    if p.size < 2:
        return _core.convert(p[:0], _core.tn.linalg.eigvals(_core.tn.reshape(_core.convert(0, p.dtype), (1, 1))).dtype)
    if strip_zeros:
        return _of_leading(p)
    return _core.tn.roots(p)


def _of_leading(p):
    """Of a polynomial whose first coefficient is not 0."""
    return _core.tn.linalg.eigvals(_core.tn.companion(p))


def polyfit(x, y, deg, rcond=None, full=False, w=None, cov=False):
    """The polynomial of degree `deg`, the highest coefficient first, with the least squares of w·(p(x) - y): y: [m], or [m, k]
    for k of them. With `full` (p, the sums of squares, the rank, the singular values, rcond); with `cov` (p, its covariance),
    scaled by what is left over unless "unscaled".

    >>> [round(float(c), 9) for c in polyfit(asarray([0.0, 1.0, 2.0]), asarray([1.0, 3.0, 5.0]), 1)]
    [2.0, 1.0]
    """
    x, y = asarray(x), asarray(y)
    deg = operator.index(deg)
    if deg < 0:
        raise _core.OptionError(f"polyfit: expected deg >= 0, not {deg}.")
    if x.ndim != 1:
        raise ShapeError(f"polyfit: expected 1D vector for x. Its shape is {x.shape}.")
    if x.size == 0:
        raise ShapeError("polyfit: expected non-empty vector for x.")
    if y.ndim not in (1, 2):
        raise ShapeError(f"polyfit: expected 1D or 2D array for y. Its shape is {y.shape}.")
    if x.shape[0] != y.shape[0]:
        raise ShapeError(f"polyfit: expected x and y to have same length. Their shapes are {x.shape} and {y.shape}.")
    if w is not None:
        w = asarray(w)
        if w.ndim != 1:
            raise ShapeError(f"polyfit: expected a 1-d array for weights. Its shape is {w.shape}.")
        if w.shape[0] != y.shape[0]:
            raise ShapeError(f"polyfit: expected w and y to have the same length. Their shapes are {w.shape} and {y.shape}.")
    if cov and not full and cov != "unscaled" and x.shape[0] <= deg + 1:
        raise ShapeError("polyfit: the number of data points must exceed order to scale the covariance matrix. "
                         f"There are {x.shape[0]} points, and deg is {deg}.")
    c, residuals, rank, s, base = _core.tn.polyfit(x, y, deg, weights=w, rcond=rcond, covariance=bool(cov) and not full)
    if full:
        if rcond is None:
            rcond = x.shape[0] * float(_dtypes.finfo(_core.real(c).dtype).eps)
        return c, residuals, rank, s, rcond
    if not cov:
        return c
    factor = 1.0 if cov == "unscaled" else residuals / (x.shape[0] - deg - 1)
    return c, base * factor if y.ndim == 1 else base[:, :, None] * factor
