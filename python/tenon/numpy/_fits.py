"""Zeros of polynomials, and polynomials near points: by eigenvalues and least squares."""

import operator

import numpy as np

from tenon import _core
from tenon.numpy import _dtypes, linalg
from tenon.numpy._creation import asarray
from tenon.numpy._elementwise import _inexact_together
from tenon.numpy._products import vander
from tenon.numpy._sorting import argsort

__all__ = ["polyfit", "roots"]


def roots(p, *, strip_zeros=True):
    """The zeros of a polynomial, complex, as eigenvalues of its companion matrix. Zeros in front of the coefficients are left
    out, for which their values must be known; without `strip_zeros` the result has NaN for each of them.

    >>> sorted(z.real for z in roots(asarray([1.0, -3.0, 2.0])).tolist())
    [1.0, 2.0]
    """
    p = _core.to_inexact(asarray(p))
    p = p if p.ndim else _core.reshape(p, (1,))
    if p.ndim != 1:
        raise ValueError("Input must be a rank-1 array.")
    if strip_zeros:
        known = np.flatnonzero(np.asarray(p))
        p = p[int(known[0]):] if known.size else p[:0]
    if p.size < 2:
        return _core.convert(p[:0], _core.eigvals(_core.reshape(_core.convert(0, p.dtype), (1, 1))).dtype)
    if strip_zeros:
        return _of_leading(p)
    n = p.shape[0]
    places = _core.iota("int32", (n,), 0)
    zero = _core.equal(p, 0)
    first = _core.min(_core.where(zero, n, places), [0], False)  # n: all are 0
    # Turned around, so that the zeros stand behind: each of them is one more zero of the polynomial, at 0.
    order = _core.remainder(places + first, n)
    turned = _core.take(_core.where(_core.equal(first, n), 1, p), order, 0, "clip", None, False, False)
    made = _of_leading(turned)
    made = _core.take(made, argsort(_core.equal(made, 0)), 0, "clip", None, False, False)
    return _core.where(_core.less(places[:-1], n - 1 - first), made, complex(np.nan, np.nan))


def _of_leading(p):
    """Of a polynomial whose first coefficient is not 0."""
    from tenon.linalg import companion

    return _core.eigvals(companion(p))


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
        raise ValueError("expected deg >= 0")
    if x.ndim != 1:
        raise TypeError("expected 1D vector for x")
    if x.size == 0:
        raise TypeError("expected non-empty vector for x")
    if y.ndim not in (1, 2):
        raise TypeError("expected 1D or 2D array for y")
    if x.shape[0] != y.shape[0]:
        raise TypeError("expected x and y to have same length")
    x, y = _inexact_together(x, y)
    if rcond is None:
        rcond = x.shape[0] * float(_dtypes.finfo(x.dtype).eps)
    powers = vander(x, deg + 1)
    if w is not None:
        w = asarray(w)
        if w.ndim != 1:
            raise TypeError("expected a 1-d array for weights")
        if w.shape[0] != y.shape[0]:
            raise TypeError("expected w and y to have the same length")
        w = _core.convert(w, x.dtype)
        powers, y = powers * w[:, None], y * (w if y.ndim == 1 else w[:, None])
    scale = _core.norm(powers, [0], False)  # columns of one length: the system is better conditioned
    powers = powers / scale
    c, residuals, rank, s = linalg.lstsq(powers, y, rcond)
    c = c / (scale if y.ndim == 1 else scale[:, None])
    if full:
        return c, residuals, rank, s, rcond
    if not cov:
        return c
    base = linalg.inv(_core.matmul(linalg.matrix_transpose(powers), powers)) / (scale[:, None] * scale)
    if cov == "unscaled":
        factor = 1.0
    else:
        if x.shape[0] <= deg + 1:
            raise ValueError("the number of data points must exceed order to scale the covariance matrix")
        factor = residuals / (x.shape[0] - deg - 1)
    return c, base * factor if y.ndim == 1 else base[:, :, None] * factor
