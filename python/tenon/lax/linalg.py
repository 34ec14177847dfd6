"""Factors of matrices and systems, by the names of jax.lax.linalg."""

import operator

from tenon import _core, _repeated
from tenon import numpy as tnp
from tenon.numpy import linalg as _numpy

__all__ = ["cholesky", "cholesky_update", "eig", "eigh", "hessenberg", "householder_product", "lu",
           "lu_pivots_to_permutation", "ormqr", "qdwh", "qr", "schur", "svd", "symmetric_product", "triangular_solve", "tridiagonal",
           "tridiagonal_solve"]


def cholesky(x, *, symmetrize_input=True):
    """The lower triangular L with L·Lᴴ = x."""
    return _core.tn.cholesky(x, symmetrize=symmetrize_input)


def triangular_solve(a, b, *, left_side=False, lower=False, transpose_a=False, conjugate_a=False, unit_diagonal=False):
    """x with op(a)·x = b (left_side) or x·op(a) = b, a triangular; b may be a vector for each matrix."""
    a, b = tnp.asarray(a), tnp.asarray(b)
    along = -1 if left_side else -2   # the axis that vectors lack
    vectors = b.ndim == a.ndim - 1
    x = _core.tn.triangular_solve(a, tnp.expand_dims(b, along) if vectors else b, left_side=left_side, lower=lower,
                                  transpose_a=transpose_a, conjugate_a=conjugate_a, unit_diagonal=unit_diagonal)
    return tnp.squeeze(x, along) if vectors else x


def lu(x):
    """(lu, pivots, permutation) of matrices [..., m, n]: x[permutation] = L·U, with L (ones on its diagonal) below the
    diagonal of `lu` and U above. In step k row k and row pivots[k], that with the largest element, changed places.
    Derivatives where x has full rank.

    >>> factors, pivots, permutation = lu([[1.0, 2.0], [4.0, 4.0]])
    >>> factors.tolist(), permutation.tolist()
    ([[4.0, 4.0], [0.25, 1.0]], [1, 0])
    """
    return _core.tn.linalg.lu_factor(tnp.asarray(x))


def lu_pivots_to_permutation(pivots, permutation_size):
    """The permutation [..., permutation_size] of the rows exchanged with `pivots` [..., k], one after the other.

    >>> lu_pivots_to_permutation(tnp.array([2, 2]), 3).tolist()
    [2, 0, 1]
    """
    return _core.tn.linalg.lu_pivots_to_permutation(tnp.asarray(pivots), permutation_size)


def householder_product(a, taus):
    """The first n columns of the product of the reflections I - tau·v·vᴴ, v below the diagonals of a: [..., m, n].

    >>> householder_product(tnp.array([[1.0], [1.0]]), tnp.array([1.0])).tolist()
    [[0.0], [-1.0]]
    """
    return _core.tn.linalg.householder_product(tnp.asarray(a), tnp.asarray(taus))


def ormqr(a, taus, c, *, left=True, transpose=False):
    """Q·c of the product Q of those reflections, or c·Q where not `left`; with `transpose` of Qᴴ.

    >>> ormqr(tnp.array([[1.0], [1.0]]), tnp.array([1.0]), tnp.eye(2)).tolist()
    [[0.0, -1.0], [-1.0, 0.0]]
    """
    return _core.tn.linalg.ormqr(tnp.asarray(a), tnp.asarray(taus), tnp.asarray(c), left=bool(left), transpose=bool(transpose))


def qr(x, *, pivoting=False, full_matrices=True, use_magma=None):
    """(Q, R) with x = Q·R of matrices [..., m, n], the columns of Q orthonormal, R upper triangular: [..., m, m] and
    [..., m, n], or with `full_matrices` false [..., m, k] and [..., k, n] of k = min(m, n). With `pivoting` (Q, R,
    permutation [..., n]) with x[..., permutation] = Q·R and a diagonal of R that falls in size.

    Derivatives of any order where the first k columns of x, or those that come first by pivoting, are independent.

    >>> q, r = qr(tnp.array([[3.0], [4.0]]), full_matrices=False)
    >>> [round(float(v), 12) for v in q[:, 0]], r.tolist()
    ([-0.6, -0.8], [[-5.0]])
    """
    return (_core.tn.linalg.pivoted_qr if pivoting else _core.tn.linalg.qr)(tnp.asarray(x), full_matrices=bool(full_matrices))


def qdwh(x, *, is_hermitian=False, max_iterations=None, eps=None, dynamic_shape=None):
    """(u, h, how many iterations, whether they came to rest) of matrices [..., m, n], m >= n, of full rank: x = u·h, columns of
    u orthonormal, h Hermitian without negative eigenvalues. By Halley's iterations with weights (Nakatsukasa, Bai and Gygi
    2010), at most `max_iterations` (None: 10), as exact as the unit of rounding `eps` (None: the dtype's). Of
    `dynamic_shape` (rows, columns) that part alone, zeros beside it. `is_hermitian` has no effect.

    >>> u, h, _, converged = qdwh(tnp.array([[0.0, -2.0], [3.0, 0.0]]))
    >>> u.round(12).tolist(), h.round(12).tolist(), bool(converged)
    ([[0.0, -1.0], [1.0, 0.0]], [[3.0, 0.0], [0.0, 2.0]], True)
    """
    x = tnp.asarray(x)
    if dynamic_shape is not None:
        rows, columns = dynamic_shape
        there = (tnp.arange(x.shape[-2])[:, None] < rows) & (tnp.arange(x.shape[-1]) < columns)
        x = tnp.where(there, x, tnp.zeros_like(x))
    return _core.tn.linalg.qdwh(x, max_iterations=10 if max_iterations is None else operator.index(max_iterations), eps=eps)


def hessenberg(a):
    """(h, taus) of matrices [..., n, n]: Hessenberg's form Qᴴ·a·Q, and below it the vectors of the reflections whose product
    is Q. No derivatives.

    >>> [part.shape for part in hessenberg(tnp.eye(3))]
    [(3, 3), (2,)]
    """
    return _core.tn.linalg.gehrd(tnp.asarray(a))


def tridiagonal(a, *, lower=True):
    """(h, d, e, taus) of Hermitian matrices [..., n, n], by their lower or upper triangle: d [..., n] and e [..., n - 1] are the
    diagonals of Qᴴ·a·Q, which h has too, and beside them the vectors of the reflections whose product is Q. No derivatives.

    >>> tridiagonal(tnp.array([[2.0, 1.0], [1.0, 3.0]]))[1].tolist()
    [2.0, 3.0]
    """
    return _core.tn.linalg.tridiagonal(tnp.asarray(a), lower=bool(lower))


def tridiagonal_solve(dl, d, du, b, *, perturb_singular=False):
    """x with a·x = b of tridiagonal matrices a: [..., n] below the diagonal (the first is not read), on it, above it (the last
    is not read); b: [..., n, k]. Of a singular matrix x is Inf or NaN, and finite with `perturb_singular`: pivots that are less
    than rounding of the largest element are as large as that.

    >>> tridiagonal_solve(tnp.array([0.0, 1.0]), tnp.array([2.0, 2.0]), tnp.array([1.0, 0.0]), tnp.full((2, 1), 3.0)).round(12).tolist()
    [[1.0], [1.0]]
    """
    return _core.tn.linalg.tridiagonal_solve(*(tnp.asarray(x) for x in (dl, d, du, b)), perturb_singular=bool(perturb_singular))


def eigh(x, *, lower=True, symmetrize_input=True, sort_eigenvalues=True, subset_by_index=None, implementation=None):
    """(eigenvectors, the columns of [..., n, n]; eigenvalues [..., n]) of Hermitian matrices: of the mean of x and xᴴ, or
    without `symmetrize_input` of its lower or upper triangle. Values ascend, whatever `sort_eigenvalues` says;
    `subset_by_index` (first, end): those alone. LAPACK does it, whatever `implementation` says.

    >>> eigh(tnp.array([[2.0, 1.0], [1.0, 2.0]]))[1].tolist()
    [1.0, 3.0]
    """
    w, v = _core.tn.linalg.eigh(tnp.asarray(x), lower=bool(lower), symmetrize=bool(symmetrize_input))
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
        w, left, right = _core.tn.linalg.eig_of_both_sides(tnp.asarray(x))
        return [w, left, right] if compute_right_eigenvectors else [w, left]
    return list(_core.tn.linalg.eig(tnp.asarray(x))) if compute_right_eigenvectors else [_core.tn.linalg.eigvals(tnp.asarray(x))]


def svd(x, *, full_matrices=True, compute_uv=True, subset_by_index=None, algorithm=None):
    """(u, s, vh) with x = u·diag(s)·vh of matrices [..., m, n], s descending, or s alone; as numpy.linalg.svd. LAPACK does
    it, whatever `algorithm` says.

    >>> svd(tnp.array([[3.0, 0.0], [0.0, -4.0]]), compute_uv=False).tolist()
    [4.0, 3.0]
    """
    made = _numpy.svd(x, full_matrices, compute_uv, subset_by_index=subset_by_index)
    return tuple(made) if compute_uv else made


def schur(x, *, compute_schur_vectors=True, sort_eig_vals=False, select_callable=None):
    """(t, z) with x = z·t·zᴴ of matrices [..., n, n], t upper triangular, of real matrices with blocks of two rows for
    conjugate pairs; t alone without `compute_schur_vectors`. The order is LAPACK's. No derivatives.

    >>> schur(tnp.array([[2.0, 1.0], [0.0, 3.0]]))[0].tolist()
    [[2.0, 1.0], [0.0, 3.0]]
    """
    if sort_eig_vals or select_callable is not None:
        raise NotImplementedError("schur: eigenvalues are not sorted.")
    t, z = _core.tn.linalg.schur(tnp.asarray(x), complex=False)
    return (t, z) if compute_schur_vectors else t


def symmetric_product(a_matrix, c_matrix, *, alpha=1.0, beta=0.0, symmetrize_output=False):
    """alpha·a·aᵀ + beta·c of c symmetric. The whole product is made, whatever `symmetrize_output` says.

    >>> symmetric_product(tnp.ones((2, 3)), tnp.eye(2), beta=2.0).tolist()
    [[5.0, 3.0], [3.0, 5.0]]
    """
    a, c = tnp.asarray(a_matrix), tnp.asarray(c_matrix)
    return alpha * _core.tn.matmul(a, tnp.matrix_transpose(a)) + beta * c


def cholesky_update(r_matrix, w_vector):
    """The upper triangular R' with R'ᵀ·R' = Rᵀ·R + w·wᵀ, by rotations, a column each. R: [n, n]; w: [n].

    >>> cholesky_update(tnp.eye(2), tnp.array([0.0, 0.75])).tolist()
    [[1.0, 0.0], [0.0, 1.25]]
    """
    return _core.tn.linalg.cholesky_update(tnp.asarray(r_matrix), tnp.asarray(w_vector))

_repeated.public(globals())
