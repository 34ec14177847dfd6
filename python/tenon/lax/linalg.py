"""Factors of matrices and systems, by the names of jax.lax.linalg."""

import functools
import math

import numpy as np

from tenon import _core, _sizes, tree
from tenon.errors import ShapeError
from tenon import numpy as tnp
from tenon.lax._loops import every, fori_loop
from tenon.numpy._shapes import _adjoint, _zeros_behind

__all__ = ["cholesky", "cholesky_update", "eig", "eigh", "householder_product", "lu", "lu_pivots_to_permutation", "qr",
           "schur", "svd", "symmetric_product", "triangular_solve"]


def cholesky(x, *, symmetrize_input=True):
    """The lower triangular L with L·Lᴴ = x."""
    return _core.cholesky(x, symmetrize_input)


def triangular_solve(a, b, *, left_side=False, lower=False, transpose_a=False, conjugate_a=False, unit_diagonal=False):
    """x with op(a)·x = b (left_side) or x·op(a) = b, a triangular; b may be a vector for each matrix."""
    a, b = tnp.asarray(a), tnp.asarray(b)
    along = -1 if left_side else -2   # the axis that vectors lack
    vectors = b.ndim == a.ndim - 1
    x = _core.triangular_solve(a, tnp.expand_dims(b, along) if vectors else b, left_side, lower, transpose_a, conjugate_a,
                               unit_diagonal)
    return tnp.squeeze(x, along) if vectors else x


def in_single(function):
    """The function, which matrices of 16-bit floats run through in f32; results are rounded once."""

    @functools.wraps(function)
    def widened(x, *args, **kwargs):
        x = _core.to_inexact(tnp.asarray(x))
        if x.dtype.itemsize != 2:
            return function(x, *args, **kwargs)
        made = function(_core.convert(x, "float32"), *args, **kwargs)
        return tree.map(lambda part: _core.convert(part, x.dtype) if part.dtype == np.float32 else part, made)

    return widened


@in_single
def lu(x):
    """(lu, pivots, permutation) of matrices [..., m, n]: x[permutation] = L·U, with L (ones on its diagonal) below the
    diagonal of `lu` and U above. In step k row k and row pivots[k], that with the largest element, changed places.

    Derivatives of any order; reverse mode keeps 2·√n of the n matrices that the elimination goes through.

    >>> factors, pivots, permutation = lu([[1.0, 2.0], [4.0, 4.0]])
    >>> factors.tolist(), permutation.tolist()
    ([[4.0, 4.0], [0.25, 1.0]], [1, 0])
    """
    if x.ndim < 2:
        raise ShapeError(f"lu: an array of matrices, not of shape {x.shape}.")
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

    return fori_loop(0, steps, eliminate, (x, pivots, permutation), checkpoint=every(_steps_between(steps)))


def _steps_between(steps):
    """After how many steps a loop keeps its carry: the root of all; of a size that a trace takes for any, that of 1,000."""
    return max(1, math.isqrt(steps)) if _sizes.known(steps) else 32


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


def reflections(x, pivoting=False):
    """(h, taus, permutation) of matrices [..., m, n]: R with, below its diagonal, the vectors v (their first element, 1,
    left out) of the reflections I - tau·v·vᴴ whose product is Q; LAPACK's geqrf. With `pivoting` each step takes the
    column that has most left, as geqp3 does: h is of x[..., permutation]."""
    x = _core.to_inexact(tnp.asarray(x))
    if x.ndim < 2:
        raise ShapeError(f"qr: an array of matrices, not of shape {x.shape}.")
    *batch, m, n = x.shape
    steps = min(m, n)
    rows, columns = _core.iota("int32", (m,), 0), _core.iota("int32", (n,), 0)
    taus, order = tnp.zeros((*batch, steps), x.dtype), _core.broadcast_to(columns, (*batch, n))
    if x.size == 0:
        return x, taus, order

    def reflect(k, state):
        a, taus, order = state
        k = _core.convert(k, "int32")
        below, here = _core.greater(rows, k), _core.equal(rows, k)
        if pivoting:
            a, order = _with_longest_column(a, order, k, rows, columns)
        column = _row(a, k, -1)
        first, rest = _row(column, k, -1), _core.where(below, column, 0)
        length = _length(first, rest)
        done = _core.equal(length, 0)  # nothing to reflect
        end = _core.where(done, _core.real(first), _core.where(_core.less(_core.real(first), 0), length, -length))
        tau = _core.where(done, 0, (end - first) / _core.where(done, 1, end))
        v = rest / _core.where(done, 1, first - end)[..., None] + _core.convert(here, a.dtype)
        seen = _core.sum(_core.conj(v)[..., None] * a, [a.ndim - 2], True)
        a = a - (_core.conj(tau)[..., None] * v)[..., None] * _core.where(_core.greater(columns, k), seen, 0)
        of_column = _core.equal(columns, k)
        a = _core.where(below[:, None] & of_column, v[..., None], a)
        a = _core.where(here[:, None] & of_column, _core.convert(end, a.dtype)[..., None, None], a)
        return a, _core.where(_core.equal(_core.iota("int32", (steps,), 0), k), tau[..., None], taus), order

    return fori_loop(0, steps, reflect, (x, taus, order), checkpoint=every(_steps_between(steps)))


def _with_longest_column(a, order, k, rows, columns):
    """(a with columns exchanged, so that of those from k on column k is the longest below row k; the order of them)."""
    left = _core.where(_core.less(rows, k)[:, None], 0, _core.stop_gradient(a))
    lengths = _core.where(_core.less(columns, k), -1.0, _core.norm(left, [a.ndim - 2], False))
    found = _core.argmax(lengths, [lengths.ndim - 1], True)
    return (_exchanged(a, k, found[..., None], columns, -1), _exchanged(order, k, found, columns, -1))


def _length(first, rest):
    """√(|first|² + Σ|rest|²), and 0 where rest is 0 and first real; scaled, so that nothing overflows."""
    of_rest = _core.max(_core.abs(rest), [rest.ndim - 1], False)
    largest = _core.stop_gradient(_core.maximum(of_rest, _core.abs(first)))
    reflects = _core.greater(of_rest, 0) | _core.not_equal(_core.imag(first), 0) | _core.isnan(of_rest)
    scale = _core.where(_core.greater(largest, 0), largest, 1)
    parts = _squared(first / scale) + _core.sum(_squared(rest / scale[..., None]), [rest.ndim - 1], False)
    return _core.where(reflects, scale * _core.sqrt(_core.where(reflects, parts, 1)), 0)


def _squared(x):
    return _core.real(x) ** 2 + _core.imag(x) ** 2 if x.dtype.kind == "c" else x * x


def householder_product(a, taus):
    """The first n columns of the product of the reflections I - tau·v·vᴴ, v below the diagonals of a: [..., m, n].

    >>> householder_product(tnp.array([[1.0], [0.0]]), tnp.array([2.0])).tolist()
    [[-1.0], [0.0]]
    """
    a, taus = tnp.asarray(a), tnp.asarray(taus)
    m, n = a.shape[-2:]
    made = _core.broadcast_to(tnp.eye(m, n, dtype=a.dtype), a.shape)
    steps = taus.shape[-1]
    rows = _core.iota("int32", (m,), 0)

    def reflect(i, made):
        k = steps - 1 - _core.convert(i, "int32")
        v = _core.where(_core.greater(rows, k), _row(a, k, -1), 0) + _core.convert(_core.equal(rows, k), a.dtype)
        seen = _core.sum(_core.conj(v)[..., None] * made, [made.ndim - 2], True)
        return made - (_row(taus, k, -1)[..., None] * v)[..., None] * seen

    return fori_loop(0, steps, reflect, made, checkpoint=every(_steps_between(steps))) if made.size and steps else made


@in_single
def qr(x, *, pivoting=False, full_matrices=True, use_magma=None):
    """(Q, R) with x = Q·R of matrices [..., m, n], the columns of Q orthonormal, R upper triangular: [..., m, m] and
    [..., m, n], or with `full_matrices` false [..., m, k] and [..., k, n] of k = min(m, n). With `pivoting` (Q, R,
    permutation [..., n]) with x[..., permutation] = Q·R and a diagonal of R that falls in size.

    Derivatives of any order where the first k columns of x, or those that come first by pivoting, are independent.

    >>> q, r = qr(tnp.array([[3.0], [4.0]]), full_matrices=False)
    >>> [round(float(v), 12) for v in q[:, 0]], r.tolist()
    ([-0.6, -0.8], [[-5.0]])
    """
    if x.ndim < 2:
        raise ShapeError(f"qr: an array of matrices, not of shape {x.shape}.")
    more_columns = full_matrices and x.shape[-2] > x.shape[-1]
    q, r, order = _by_reflections(x, pivoting, True) if more_columns else _qr_with_slope(pivoting)(x)
    return (q, r, order) if pivoting else (q, r)


def _by_reflections(x, pivoting, full_matrices):
    h, taus, order = reflections(x, pivoting)
    *_, m, n = h.shape
    wide = m if full_matrices else min(m, n)
    vectors = h[..., :min(wide, n)]
    if wide > n:
        vectors = _zeros_behind(vectors, wide - n)
    return householder_product(vectors, taus), tnp.triu(h[..., :wide, :]), order


@functools.cache
def _qr_with_slope(pivoting):
    """(Q, R, permutation) with min(m, n) columns in Q. No reflection changes a column that is 0 below its diagonal, and one
    beside it turns around: the derivative is that of the factors, not of the reflections."""
    from tenon import custom_jvp, float0

    factors = custom_jvp(functools.partial(_by_reflections, pivoting=pivoting, full_matrices=False))

    @factors.defjvp
    def rule(primals, tangents):
        (x,), (dx,) = primals, tangents
        q, r, order = factors(x)
        if pivoting:
            dx = _core.take_along_axis(dx, _core.broadcast_to(order[..., None, :], dx.shape), dx.ndim - 1, "clip", None)
        columns, back = q.shape[-1], _adjoint(q)
        of_q = triangular_solve(r[..., :columns], dx[..., :columns])  # dQ + Q·dR·R⁻¹ of these columns
        inner = _core.matmul(back, of_q)
        below = tnp.tril(inner, -1)
        turn = below - _adjoint(below)  # Qᴴ·dQ, whose Hermitian part is 0
        if q.dtype.kind == "c":
            turn = turn + tnp.eye(columns, dtype=q.dtype) * (1j * _core.imag(inner))  # the diagonal of R stays real
        dq = of_q + _core.matmul(q, turn - inner)
        dr = tnp.triu(_core.matmul(back, dx) - _core.matmul(turn, r))
        return (q, r, order), (dq, dr, np.zeros(order.shape, float0))

    return factors


def eigh(x, *, lower=True, symmetrize_input=True, sort_eigenvalues=True, subset_by_index=None, implementation=None):
    """(eigenvectors, the columns of [..., n, n]; eigenvalues [..., n]) of Hermitian matrices: of the mean of x and xᴴ, or
    without `symmetrize_input` of its lower or upper triangle. Values ascend, whatever `sort_eigenvalues` says;
    `subset_by_index` (first, end): those alone. LAPACK does it, whatever `implementation` says.

    >>> eigh(tnp.array([[2.0, 1.0], [1.0, 2.0]]))[1].tolist()
    [1.0, 3.0]
    """
    w, v = _core.eigh(tnp.asarray(x), bool(lower), bool(symmetrize_input))
    if subset_by_index is not None:
        first, end = subset_by_index
        w, v = w[..., first:end], v[..., first:end]
    return v, w


def eig(x, *, compute_left_eigenvectors=True, compute_right_eigenvectors=True, enable_eigvec_derivs=False,
        implementation=None, use_magma=None):
    """[eigenvalues [..., n], left and right eigenvectors [..., n, n], those that are asked for] of any matrices, complex:
    xᴴ·left = left·conj(w), x·right = right·w. Vectors have derivatives, whatever `enable_eigvec_derivs` says; LAPACK does
    it, whatever the other arguments say.

    >>> eig(tnp.array([[0.0, 1.0], [-1.0, 0.0]]))[0].tolist()
    [1j, -1j]
    """
    if compute_left_eigenvectors:
        w, left, right = _core.eig_of_both_sides(tnp.asarray(x))
        return [w, left, right] if compute_right_eigenvectors else [w, left]
    return list(_core.eig(tnp.asarray(x))) if compute_right_eigenvectors else [_core.eigvals(tnp.asarray(x))]


def svd(x, *, full_matrices=True, compute_uv=True, subset_by_index=None, algorithm=None):
    """(u, s, vh) with x = u·diag(s)·vh of matrices [..., m, n], s descending, or s alone; as numpy.linalg.svd. LAPACK does
    it, whatever `algorithm` says.

    >>> svd(tnp.array([[3.0, 0.0], [0.0, -4.0]]), compute_uv=False).tolist()
    [4.0, 3.0]
    """
    from tenon.numpy import linalg

    made = linalg.svd(x, full_matrices, compute_uv, subset_by_index=subset_by_index)
    return tuple(made) if compute_uv else made


def schur(x, *, compute_schur_vectors=True, sort_eig_vals=False, select_callable=None):
    """(t, z) with x = z·t·zᴴ of matrices [..., n, n], t upper triangular, of real matrices with blocks of two rows for
    conjugate pairs; t alone without `compute_schur_vectors`. The order is LAPACK's. No derivatives.

    >>> schur(tnp.array([[2.0, 1.0], [0.0, 3.0]]))[0].tolist()
    [[2.0, 1.0], [0.0, 3.0]]
    """
    if sort_eig_vals or select_callable is not None:
        raise NotImplementedError("schur: eigenvalues are not sorted.")
    t, z = _core.schur(tnp.asarray(x), False)
    return (t, z) if compute_schur_vectors else t


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
