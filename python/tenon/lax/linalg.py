"""Factors of matrices and systems, by the names of jax.lax.linalg."""

import math

from tenon import _core
from tenon import numpy as tnp
from tenon.lax._loops import every, fori_loop

__all__ = ["cholesky", "cholesky_update", "lu", "lu_pivots_to_permutation", "symmetric_product", "triangular_solve"]


def cholesky(x, *, symmetrize_input=True):
    """The lower triangular L with L·Lᴴ = x."""
    return _core.cholesky(x, symmetrize_input)


def triangular_solve(a, b, *, left_side=False, lower=False, transpose_a=False, conjugate_a=False, unit_diagonal=False):
    """x with op(a)·x = b (left_side) or x·op(a) = b, a triangular."""
    return _core.triangular_solve(a, b, left_side, lower, transpose_a, conjugate_a, unit_diagonal)


def lu(x):
    """(lu, pivots, permutation) of matrices [..., m, n]: x[permutation] = L·U, with L (ones on its diagonal) below the
    diagonal of `lu` and U above. In step k row k and row pivots[k], that with the largest element, changed places.

    Derivatives of any order; reverse mode keeps 2·√n of the n matrices that the elimination goes through.

    >>> factors, pivots, permutation = lu([[1.0, 2.0], [4.0, 4.0]])
    >>> factors.tolist(), permutation.tolist()
    ([[4.0, 4.0], [0.25, 1.0]], [1, 0])
    """
    x = _core.to_inexact(tnp.asarray(x))
    if x.ndim < 2:
        raise ValueError(f"lu: an array of matrices, not of shape {x.shape}.")
    *batch, m, n = x.shape
    steps = min(m, n)
    rows, columns = _core.iota("int32", (m,), 0), _core.iota("int32", (n,), 0)
    pivots = tnp.zeros((*batch, steps), "int32")
    permutation = _core.broadcast_to(rows, (*batch, m))
    if x.size == 0:
        return x, pivots, permutation

    def eliminate(k, state):
        a, pivots, permutation = state
        k = _core.convert(k, "int32")
        column = _row(a, k, -1)
        found = _core.argmax(_core.where(_core.greater_equal(rows, k), _core.abs(column), -1.0), [column.ndim - 1], True)
        a = _exchanged(a, k, found[..., None], rows[:, None], -2)
        column = _exchanged(column, k, found, rows, -1)
        row, pivot = _row(a, k, -2), _row(column, k, -1)
        # Where the pivot is 0, all below it is, and nothing is to be done.
        factors = column / _core.where(_core.equal(pivot, 0), 1, pivot)[..., None]
        factors = _core.where(_core.greater(rows, k), factors, 0)
        below = _core.greater(rows, k)[:, None] & _core.equal(columns, k)
        a = a - factors[..., None] * _core.where(_core.greater(columns, k), row, 0)[..., None, :]
        return (_core.where(below, factors[..., None], a),
                _core.where(_core.equal(_core.iota("int32", (steps,), 0), k), found, pivots),
                _exchanged(permutation, k, found, rows, -1))

    return fori_loop(0, steps, eliminate, (x, pivots, permutation), checkpoint=every(max(1, math.isqrt(steps))))


def _row(x, k, axis):
    """Element k of an axis, which it lacks."""
    return _core.take(x, k, x.ndim + axis, "clip", None, False, False)


def _exchanged(x, k, other, places, axis):
    """Elements k and `other` of an axis exchanged; `places` are the indices along it, `other` has it with size 1."""
    at_k = _core.expand_dims(_row(x, k, axis), x.ndim + axis)
    shape = list(x.shape)
    shape[axis] = 1
    at_other = _core.take_along_axis(x, _core.broadcast_to(other, shape), x.ndim + axis, "clip", None)
    return _core.where(_core.equal(places, k), at_other, _core.where(_core.equal(places, other), at_k, x))


def lu_pivots_to_permutation(pivots, permutation_size):
    """The permutation [..., permutation_size] of the rows exchanged with `pivots` [..., k], one after the other.

    >>> lu_pivots_to_permutation(tnp.array([2, 2]), 3).tolist()
    [2, 0, 1]
    """
    pivots = tnp.asarray(pivots)
    steps = pivots.shape[-1]
    if steps > permutation_size:
        raise ValueError(f"lu_pivots_to_permutation: {steps} pivots of {permutation_size} rows.")
    rows = _core.iota("int32", (permutation_size,), 0)
    start = _core.broadcast_to(rows, (*pivots.shape[:-1], permutation_size))

    def exchange(k, permutation):
        k = _core.convert(k, "int32")
        return _exchanged(permutation, k, _row(pivots, k, -1)[..., None], rows, -1)

    return fori_loop(0, steps, exchange, start) if start.size and steps else start


def symmetric_product(a_matrix, c_matrix, *, alpha=1.0, beta=0.0, symmetrize_output=False):
    """alpha·a·aᵀ + beta·c of c symmetric. The whole product is made, whatever `symmetrize_output` says.

    >>> symmetric_product(tnp.ones((2, 3)), tnp.eye(2), beta=2.0).tolist()
    [[5.0, 3.0], [3.0, 5.0]]
    """
    a, c = tnp.asarray(a_matrix), tnp.asarray(c_matrix)
    return alpha * _core.matmul(a, tnp.matrix_transpose(a)) + beta * c


def cholesky_update(r_matrix, w_vector):
    """The upper triangular R' with R'ᵀ·R' = Rᵀ·R + w·wᵀ, by rotations, a column each. R: [n, n]; w: [n].

    >>> cholesky_update(tnp.eye(2), tnp.array([0.0, 0.75])).tolist()
    [[1.0, 0.0], [0.0, 1.25]]
    """
    r, w = tnp.asarray(r_matrix), tnp.asarray(w_vector)
    n = w.shape[0]
    rows = _core.iota("int32", (n,), 0)

    def rotate(k, state):
        r, w = state
        row = _row(r, k, -2)
        a, b = _row(row, k, -1), _row(w, k, -1)
        length = tnp.hypot(a, b)
        safe = _core.where(_core.equal(length, 0), 1, length)
        cosine, sine = _core.where(_core.equal(length, 0), 1, a / safe), b / safe
        turned = cosine * row + sine * w
        return _core.where(_core.equal(rows[:, None], _core.convert(k, "int32")), turned, r), cosine * w - sine * row

    return tnp.triu(fori_loop(0, n, rotate, (r, w))[0]) if n else r
