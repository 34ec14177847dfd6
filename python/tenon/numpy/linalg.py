"""Linear algebra of matrices in the last two axes; the axes before them are a batch."""

import math
import operator
from typing import Any, NamedTuple

from tenon import _core, _repeated
from tenon.errors import ShapeError
from tenon.numpy._creation import asarray, eye
from tenon.numpy import _dtypes, _indexing, _products
from tenon.numpy._products import cross, matmul, outer, tensordot, vecdot  # noqa: F401
from tenon.numpy._shapes import _adjoint, _axes, matrix_transpose  # noqa: F401

__all__ = ["cholesky", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv", "lstsq", "matmul",
           "matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose", "multi_dot", "norm", "outer", "pinv", "qr",
           "slogdet", "solve", "svd", "svdvals", "tensordot", "tensorinv", "tensorsolve", "trace", "vecdot", "vector_norm"]


def cholesky(a, *, upper=False, symmetrize_input=True):
    """The triangular L with L·Lᴴ = a, or with `upper` the U with Uᴴ·U = a. NaN where a is not positive definite."""
    made = _core.tn.cholesky(a, symmetrize=symmetrize_input)
    return _adjoint(made) if upper else made


def solve(a, b):
    """x with a·x = b; b is a vector or matrices of columns."""
    return _core.tn.solve(a, b)


def inv(a):
    """The inverse matrix. solve(a, b) is faster and more accurate than inv(a) @ b."""
    return _core.tn.inv(a)


def diagonal(x, /, *, offset=0):
    """The diagonals of matrices [..., m, n].

    >>> diagonal(asarray([[[1, 2], [3, 4]]])).tolist()
    [[1, 4]]
    """
    return _indexing.diagonal(x, offset, -2, -1)


def trace(x, /, *, offset=0, dtype=None):
    """The sums of the diagonals of matrices [..., m, n].

    >>> trace(asarray([[[1, 2], [3, 4]]])).tolist()
    [5]
    """
    return _products.trace(x, offset, -2, -1, dtype)


def _square(a, name):
    a = _core.to_inexact(asarray(a))
    if a.ndim < 2 or _core.same_size(a.shape[-1], a.shape[-2]) is False:
        raise ShapeError(f"Argument to {name}() must have shape [..., n, n], got {a.shape}")
    return a


def det(a):
    """The determinants of matrices [..., n, n]. Derivatives of any order, of singular matrices too.

    >>> det([[1.0, 2.0], [3.0, 4.0]])
    Array(-2., dtype=float64)
    """
    return _core.tn.linalg.det(_square(a, "det"))


class SlogdetResult(NamedTuple):
    """What slogdet() returns."""

    sign: Any
    logabsdet: Any


def slogdet(a, *, method=None):
    """(the sign, the logarithm of the absolute value) of the determinants of matrices [..., n, n]: nothing overflows.
    Of a singular matrix 0 and -inf. By the LU factors, whether `method` is "lu" or "qr".

    >>> slogdet(1e200 * eye(2)).logabsdet / math.log(1e200)
    Array(2., dtype=float64)
    """
    if method not in (None, "lu", "qr"):
        raise _core.OptionError(f"Unknown slogdet method '{method}'. Supported methods are 'lu' (default), and 'qr'.")
    return SlogdetResult(*_core.tn.linalg.slogdet(_square(a, "slogdet")))


class QRResult(NamedTuple):
    """What qr() returns."""

    Q: Any
    R: Any


def qr(a, mode="reduced"):
    """(Q, R) with a = Q·R of matrices [..., m, n], the columns of Q orthonormal, R upper triangular. `mode`: "reduced",
    Q [..., m, k] of k = min(m, n); "complete", Q [..., m, m]; "r", R alone; "raw", LAPACK's reflections and their factors; "full" is "reduced".

    >>> [part.shape for part in qr(eye(4, 2))]
    [(4, 2), (2, 2)]
    """
    a = asarray(a)
    if mode == "raw":
        h, taus = _core.tn.linalg.geqrf(a)
        return QRResult(matrix_transpose(h), taus)
    if mode not in ("reduced", "r", "full", "complete"):
        raise _core.OptionError(f"Unsupported QR decomposition mode '{mode}'")
    q, r = _core.tn.linalg.qr(a, full_matrices=mode == "complete")
    return r if mode == "r" else QRResult(q, r)


class EighResult(NamedTuple):
    """What eigh() returns."""

    eigenvalues: Any
    eigenvectors: Any


def _lower(uplo):
    if uplo not in (None, "L", "U"):
        raise _core.OptionError(f"UPLO must be one of None, 'L', or 'U', got {uplo}")
    return uplo != "U"


def eigh(a, UPLO=None, symmetrize_input=True):
    """(eigenvalues [..., n], ascending; eigenvectors, the columns of [..., n, n]) of Hermitian matrices [..., n, n]: of the
    mean of a and aᴴ, or without `symmetrize_input` of the lower triangle (UPLO "L") or the upper one ("U").

    >>> eigh([[2.0, 1.0], [1.0, 2.0]]).eigenvalues.tolist()
    [1.0, 3.0]
    """
    return EighResult(*_core.tn.linalg.eigh(asarray(a), lower=_lower(UPLO), symmetrize=bool(symmetrize_input)))


def eigvalsh(a, UPLO="L", *, symmetrize_input=True):
    """The eigenvalues of Hermitian matrices, ascending. Their derivatives are finite where some are equal, too.

    >>> eigvalsh([[2.0, 1.0], [1.0, 2.0]]).tolist()
    [1.0, 3.0]
    """
    return _core.tn.linalg.eigvalsh(asarray(a), lower=_lower(UPLO), symmetrize=bool(symmetrize_input))


class EigResult(NamedTuple):
    """What eig() returns."""

    eigenvalues: Any
    eigenvectors: Any


def eig(a):
    """(eigenvalues [..., n], eigenvectors, the columns of [..., n, n]) of any matrices [..., n, n], complex.

    >>> eig([[0.0, 1.0], [-1.0, 0.0]]).eigenvalues.tolist()
    [1j, -1j]
    """
    return EigResult(*_core.tn.linalg.eig(asarray(a)))


def eigvals(a):
    """The eigenvalues of any matrices [..., n, n], complex.

    >>> eigvals([[0.0, 1.0], [-1.0, 0.0]]).tolist()
    [1j, -1j]
    """
    return _core.tn.linalg.eigvals(asarray(a))


class SVDResult(NamedTuple):
    """What svd() returns."""

    U: Any
    S: Any
    Vh: Any


def svd(a, full_matrices=True, compute_uv=True, hermitian=False, subset_by_index=None):
    """(U, S, Vh) with a = U·diag(S)·Vh of matrices [..., m, n], S descending: U [..., m, m] and Vh [..., n, n], or without
    `full_matrices` [..., m, k] and [..., k, n] of k = min(m, n). S alone without `compute_uv`. `hermitian`: by eigenvalues.
    `subset_by_index` (first, end): those values alone, of the factors without `full_matrices`.

    >>> svd([[3.0, 0.0], [0.0, -4.0]]).S.tolist()
    [4.0, 3.0]
    """
    a = asarray(a)
    if subset_by_index is not None and full_matrices and compute_uv:
        raise _core.OptionError("svd: subset_by_index goes with full_matrices=False.")
    if not compute_uv:
        return _subset(_core.tn.linalg.svdvals(a, hermitian=bool(hermitian)), subset_by_index, -1)
    u, s, vh = _core.tn.linalg.svd(a, full_matrices=bool(full_matrices), hermitian=bool(hermitian))
    return SVDResult(_subset(u, subset_by_index, -1), _subset(s, subset_by_index, -1), _subset(vh, subset_by_index, -2))


def _subset(x, bounds, axis):
    if bounds is None:
        return x
    first, end = bounds
    return x[..., first:end] if axis == -1 else x[..., first:end, :]


def svdvals(x, /):
    """The singular values of matrices [..., m, n], descending: [..., min(m, n)]. Their derivatives are finite where some are
    equal, too.

    >>> svdvals([[3.0, 0.0], [0.0, -4.0]]).tolist()
    [4.0, 3.0]
    """
    return _core.tn.linalg.svdvals(asarray(x))


def pinv(a, rtol=None, hermitian=False, *, rcond=None):
    """The pseudoinverse [..., n, m] of matrices [..., m, n]: singular values up to `rtol` (or `rcond`, its other name) times
    the largest count as 0. Derivatives where the rank stays as it is.

    >>> pinv([[2.0, 0.0], [0.0, 0.0]]).tolist()
    [[0.5, 0.0], [0.0, 0.0]]
    """
    if rcond is not None:
        if rtol is not None:
            raise _core.OptionError("pinv: only one of rtol and rcond may be specified.")
        rtol = rcond
    return _core.tn.linalg.pinv(asarray(a), rtol=rtol, hermitian=bool(hermitian))


def matrix_rank(M, rtol=None, *, hermitian=False, tol=None):
    """How many singular values of matrices [..., m, n] are more than `rtol` times the largest, or than `tol`.

    >>> matrix_rank([[1.0, 2.0], [2.0, 4.0]])
    Array(1, dtype=int64)
    """
    if rtol is not None and tol is not None:
        raise _core.OptionError("matrix_rank: only one of tol or rtol may be specified.")
    M = asarray(M)
    if M.ndim < 2:
        return _core.convert(_core.tn.any(_core.not_equal(M, 0)), _dtypes.default("i"))
    return _core.convert(_core.tn.linalg.matrix_rank(M, rtol=rtol, tol=tol, hermitian=bool(hermitian)), _dtypes.default("i"))


def lstsq(a, b, rcond=None, *, numpy_resid=False):
    """(x, residuals, rank, s): the shortest x with the least |a·x - b|, the squares of those lengths, the rank and the singular
    values of a: [m, n]; b: [m] or [m, k]. Singular values less than `rcond` times the largest count as 0. With `numpy_resid`
    no residuals where a has not more rows than columns, or not full rank.

    >>> [round(float(v), 12) for v in lstsq([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]], [1.0, 3.0, 5.0])[0]]
    [1.0, 2.0]
    """
    a, b = asarray(a), asarray(b)
    if a.ndim != 2:
        raise ShapeError(f"lstsq: {a.ndim}-dimensional array given. Array must be two-dimensional")
    if b.ndim not in (1, 2):
        raise ShapeError(f"lstsq: {b.ndim}-dimensional array given. Array must be one or two-dimensional")
    if _core.same_size(a.shape[0], b.shape[0]) is False:
        raise ShapeError(f"lstsq: Leading dimensions of input arrays must match. Their shapes are {a.shape} and {b.shape}.")
    x, residuals, rank, s = _core.tn.linalg.lstsq(a, b, rcond=rcond)
    if numpy_resid and (a.shape[0] <= a.shape[1] or int(rank) < a.shape[1]):
        residuals = residuals[:0]
    return x, residuals, _core.convert(rank, _dtypes.default("i")), s


def cond(x, p=None):
    """How far a matrix is from a singular one: of [..., m, n] the largest singular value by the least (p None or 2), or the
    other way (-2); of [..., n, n] norm(x, p) · norm(inv(x), p), of the other orders of norm().

    >>> cond([[2.0, 0.0], [0.0, 0.5]], 1)
    Array(4., dtype=float64)
    """
    x = _core.to_inexact(asarray(x))
    if x.ndim < 2:
        raise ShapeError(f"cond: input array must be at least 2D; got {x.shape}")
    if 0 in x.shape[-2:]:
        raise ShapeError(f"cond: input array must not be empty; got {x.shape}")
    return _core.tn.linalg.cond(x if p in (None, 2, -2) else _square(x, "cond"), _order_of_matrices(2 if p is None else p))


def tensorsolve(a, b, axes=None):
    """x with tensordot(a, x, x.ndim) = b; `axes` of a go to its end before.

    >>> tensorsolve(2.0 * eye(6).reshape(2, 3, 6), [[2.0, 4, 6], [8, 10, 12]]).tolist()
    [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    """
    a = asarray(a)
    return _core.tn.linalg.tensorsolve(a, asarray(b), None if axes is None else _axes(tuple(axes), a.ndim))


def tensorinv(a, ind=2):
    """The inverse of a as a map of arrays with the axes behind the first `ind` to arrays with those.

    >>> tensorinv(4.0 * eye(6).reshape(2, 3, 6)).shape
    (6, 2, 3)
    """
    return _core.tn.linalg.tensorinv(asarray(a), operator.index(ind))


def matrix_power(a, n):
    """The matrix times itself, n times; of negative n its inverse."""
    return _core.tn.linalg.matrix_power(asarray(a), operator.index(n))


def multi_dot(arrays, *, precision=None):
    """The product of several matrices, in the order that takes the fewest multiplications."""
    return _core.tn.linalg.multi_dot([asarray(a) for a in arrays])


def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):  # noqa: A002
    """The norm of vectors along axes."""
    x = asarray(x)
    axes = list(range(x.ndim)) if axis is None else _axes(axis, x.ndim)
    x = _core.convert(x, _dtypes.default("f")) if x.dtype.kind in "biu" else x
    if isinstance(ord, str):
        raise _core.OptionError(f"Invalid order '{ord}' for vector norm.")
    return _core.tn.linalg.vector_norm(x, 2.0 if ord is None else float(ord), axes, keepdims=bool(keepdims))


def matrix_norm(x, /, *, keepdims=False, ord="fro"):  # noqa: A002
    """The norm of matrices: "fro", 1, -1, inf, -inf, and of singular values 2, -2 (the largest, the least), "nuc" (their sum)."""
    return norm(x, ord, (-2, -1), keepdims)


def norm(x, ord=None, axis=None, keepdims=False):  # noqa: A002
    """The norm of vectors, or with two axes of matrices: "fro", 1, -1, inf, -inf, and of singular values 2, -2 (the largest,
    the least), "nuc" (their sum)."""
    x = _core.to_inexact(asarray(x))
    if axis is None:
        if ord is None:
            return vector_norm(x, keepdims=keepdims)
        axis = tuple(range(x.ndim))
    axes = _axes(axis, x.ndim)
    if len(axes) == 1 or (ord is None and len(axes) != 2):
        return vector_norm(x, axis=axes, keepdims=keepdims, ord=2 if ord is None else ord)
    if len(axes) != 2:
        raise _core.OptionError(f"Improper number of axes for norm: {axes}")
    return _core.tn.linalg.matrix_norm(x, _order_of_matrices(ord), rows=axes[0], columns=axes[1], keepdims=bool(keepdims))


def _order_of_matrices(order):
    if order in (None, "fro", "f"):
        return "fro"
    if order == "nuc":
        return order
    if order not in (1, -1, 2, -2, math.inf, -math.inf):
        raise _core.OptionError(f"norm: {order!r} is no order of norms of matrices.")
    return str(order) if math.isinf(order) else str(int(order))

_repeated.public(globals())
