"""Linear algebra: the names of jax.numpy.linalg, and those of jax.scipy.linalg that go beside them.

Where both have a name (`cholesky`, `det`, `inv`, `norm`, `solve`) it is jax.numpy.linalg's. Matrices stand in the last
two axes; the axes before them are a batch.
"""

import math
import operator

import numpy as np

from tenon import _core, _repeated, _sizes, _transforms
from tenon import numpy as tnp
from tenon._matrix_functions import *  # noqa: F403
from tenon._matrix_functions import __all__ as _matrix_functions
from tenon.errors import ShapeError
from tenon.numpy import _dtypes
from tenon.numpy import linalg as _numpy
from tenon.numpy._elementwise import _inexact_together
from tenon.numpy._shapes import _adjoint, _of_one_dtype
from tenon.numpy.linalg import *  # noqa: F403
from tenon.numpy.linalg import _square

__all__ = _numpy.__all__ + _matrix_functions + [
    "block_diag", "cho_factor", "cho_solve", "circulant", "companion", "convolution_matrix", "dft", "expm", "expm_frechet", "fiedler",
    "fiedler_companion", "hadamard", "hankel", "helmert", "hessenberg", "hilbert", "invhilbert", "invpascal", "leslie", "lu",
    "lu_factor", "lu_solve", "pascal", "qr_multiply", "solve_triangular", "toeplitz",
]

# --- systems by their factors ---


def _columns(a, b):
    """(b as columns, what makes the result of b's form again). A vector, or vectors of a batch that has as many axes as
    that of a, are columns of their own."""
    b = tnp.asarray(b)
    vectors = b.ndim == 1 or b.ndim == a.ndim - 1 and b.shape[-1] == a.shape[-1]
    return (b[..., None], lambda x: x[..., 0]) if vectors else (b, lambda x: x)


def solve_triangular(a, b, trans=0, lower=False, unit_diagonal=False, overwrite_b=False, debug=None, check_finite=True):
    """x with op(a)·x = b, a triangular: a itself (trans 0, "N"), its transpose (1, "T") or the conjugate of that (2, "C").

    >>> solve_triangular([[2.0, 1.0], [0.0, 4.0]], [4.0, 8.0]).tolist()
    [1.0, 2.0]
    """
    if trans not in (0, 1, 2, "N", "T", "C"):
        raise _core.OptionError(f"Invalid 'trans' value {trans}")
    a = tnp.asarray(a)
    b, shaped = _columns(a, b)
    return shaped(_core.tn.triangular_solve(a, b, left_side=True, lower=bool(lower), transpose_a=trans not in (0, "N"),
                                            conjugate_a=trans in (2, "C"), unit_diagonal=bool(unit_diagonal)))


def cho_factor(a, lower=False, overwrite_a=False, check_finite=True):
    """(the factor of Cholesky, `lower`), as cho_solve() takes them: of the lower or upper triangle of a alone.

    >>> cho_factor([[4.0, 2.0], [2.0, 5.0]], lower=True)[0].tolist()
    [[2.0, 0.0], [1.0, 2.0]]
    """
    return triangular_factor(a, lower), lower


def triangular_factor(a, lower):
    """The factor of Cholesky, lower or upper triangular, of which that triangle of a is read."""
    a = tnp.asarray(a)
    made = _core.tn.cholesky(a if lower else _adjoint(a), symmetrize=False)
    return made if lower else _adjoint(made)


def cho_solve(c_and_lower, b, overwrite_b=False, check_finite=True):
    """x with a·x = b by the factor that cho_factor() made of a.

    >>> cho_solve(cho_factor([[4.0, 2.0], [2.0, 5.0]]), [8.0, 12.0]).tolist()
    [1.0, 2.0]
    """
    factor, lower = c_and_lower
    first, second = (0, 2) if lower else (2, 0)
    return solve_triangular(factor, solve_triangular(factor, b, first, lower), second, lower)


def lu_factor(a, overwrite_a=False, check_finite=True):
    """(L without its diagonal and U in one matrix, the row that each row changed places with), as lu_solve() takes them.

    >>> lu_factor([[1.0, 2.0], [4.0, 4.0]])[1].tolist()
    [1, 1]
    """
    return _core.tn.linalg.lu_factor(tnp.asarray(a))[:2]


def lu_solve(lu_and_piv, b, trans=0, overwrite_b=False, check_finite=True):
    """x with a·x = b (trans 0), aᵀ·x = b (1) or aᴴ·x = b (2), by the factors that lu_factor() made of a.

    >>> lu_solve(lu_factor([[1.0, 2.0], [4.0, 4.0]]), [5.0, 12.0]).tolist()
    [1.0, 2.0]
    """
    factors, pivots = lu_and_piv
    factors = tnp.asarray(factors)
    if trans not in (0, 1, 2):
        raise _core.OptionError(f"'trans' value must be 0, 1, or 2, got {trans}")
    b, shaped = _columns(factors, b)
    return shaped(_core.tn.linalg.lu_solve(factors, tnp.asarray(pivots), b, transpose=trans != 0, conjugate=trans == 2))


def lu(a, permute_l=False, overwrite_a=False, check_finite=True):
    """(P, L, U) with a = P·L·U, or with `permute_l` (P·L, U). a: [..., m, n].

    >>> p, l, u = lu([[1.0, 2.0], [4.0, 4.0]])
    >>> p.tolist(), u.tolist()
    ([[0.0, 1.0], [1.0, 0.0]], [[4.0, 4.0], [0.0, 1.0]])
    """
    p, lower, upper = _core.tn.linalg.lu(tnp.asarray(a))
    return (_core.tn.matmul(p, lower), upper) if permute_l else (p, lower, upper)


def qr_multiply(a, c, mode="right", pivoting=False, conjugate=False, overwrite_a=False, overwrite_c=False):
    """(c·Q, R) of a = Q·R, or with `mode` "left" (Q·c, R), Q: [..., m, k], R: [..., k, n] of k = min(m, n); c may be a vector.
    With `conjugate` the conjugate of Q is taken, with `pivoting` (…, R, permutation): a[..., permutation] = Q·R.

    >>> qr_multiply([[0.0], [2.0]], [[1.0, 3.0]])[0].tolist()
    [[-3.0]]
    """
    if mode not in ("right", "left"):
        raise _core.OptionError(f"qr_multiply: mode is 'right' or 'left', not {mode!r}.")
    q, *others = (_core.tn.linalg.pivoted_qr if pivoting else _core.tn.linalg.qr)(tnp.asarray(a), full_matrices=False)
    c = tnp.asarray(c)
    q = _core.conj(q) if conjugate else q
    return (_core.tn.matmul(c, q) if mode == "right" else _core.tn.matmul(q, c), *others)


def hessenberg(a, *, calc_q=False, overwrite_a=False, check_finite=True):
    """Hessenberg's form H of matrices [..., n, n], 0 below the diagonal under the main one; with `calc_q` (H, Q): a = Q·H·Qᴴ.
    No derivatives.

    >>> hessenberg([[1.0, 2.0], [3.0, 4.0]]).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    h, q = _core.tn.linalg.hessenberg(tnp.asarray(a))
    return (h, q) if calc_q else h


# --- the exponential ---

def expm(A, *, upper_triangular=False, max_squarings=16):
    """The exponential of matrices [..., n, n], by scaling and squaring. NaN where more than `max_squarings` squarings
    would be needed. `upper_triangular` is taken and has no effect.

    >>> expm([[0.0, 1.0], [0.0, 0.0]]).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    return _core.tn.linalg.expm(_square(A, "expm"), max_squarings=int(max_squarings))


def expm_frechet(A, E, *, method=None, compute_expm=True):
    """(expm(A), its derivative along E), or the derivative alone, of matrices [..., n, n].

    >>> expm_frechet([[0.0, 0.0], [0.0, 0.0]], [[0.0, 1.0], [2.0, 0.0]], compute_expm=False).tolist()
    [[0.0, 1.0], [2.0, 0.0]]
    """
    a, e = tnp.asarray(A), tnp.asarray(E)
    for name, x in (("A", a), ("E", e)):
        if x.ndim < 2 or _core.same_size(x.shape[-2], x.shape[-1]) is False:
            raise ShapeError(f"expm_frechet: {name} of shape {x.shape} has no square matrices.")
    if not _sizes.agree(a.shape, e.shape):
        raise ShapeError(f"expm_frechet: A and E differ in shape, {a.shape} and {e.shape}.")
    a, e = _inexact_together(a, e)
    value, along = _transforms.jvp(expm, (a,), (e,))
    return (value, along) if compute_expm else along


# --- matrices of one form ---


def _vectors(x):
    x = tnp.asarray(x)
    return x[None] if x.ndim == 0 else x


def block_diag(*arrs):
    """The matrices along a diagonal, zeros beside them.

    >>> block_diag([[1, 2]], 3).tolist()
    [[1, 2, 0], [0, 0, 3]]
    """
    blocks = [tnp.atleast_2d(a) for a in (arrs if arrs else (tnp.zeros((1, 0)),))]
    for i, block in enumerate(blocks):
        if block.ndim > 2:
            raise ShapeError(f"Arguments to block_diag must have at most 2 dimensions, got {block.shape} at argument {i}.")
    width, before, rows = sum(b.shape[1] for b in blocks), 0, []
    kind = tnp.result_type(*blocks)
    for block in blocks:
        n = block.shape[1]
        rows.append(tnp.pad(_core.convert(block, kind), ((0, 0), (before, width - before - n))))
        before += n
    return tnp.concatenate(rows, 0)


def toeplitz(c, r=None):
    """Constant diagonals: the first column c and the first row r (its first element is c's); without r conj(c).

    >>> toeplitz([1, 2, 3], [9, 4]).tolist()
    [[1, 4], [2, 1], [3, 2]]
    """
    c = _vectors(c)
    r = _core.conj(c) if r is None else _vectors(r)
    m, n = c.shape[-1], r.shape[-1]
    at = np.arange(n - 1, n - 1 + m)[:, None] - np.arange(n)  # into r backwards without its first, then c
    return _arranged([_core.tn.reverse(r[..., 1:], [r.ndim - 1]), c], at)


def _arranged(parts, at):
    """Vectors one behind the other, and elements of that by a matrix of indices."""
    batch = np.broadcast_shapes(*(p.shape[:-1] for p in parts))
    row = tnp.concatenate([_core.broadcast_to(p, (*batch, p.shape[-1])) for p in parts], -1)
    return tnp.take(row, at.astype("int32"), -1, mode="clip") if at.size else tnp.zeros((*batch, *at.shape), row.dtype)


def hankel(c, r=None):
    """Constant antidiagonals: the first column c and the last row r (its first element is c's last); without r zeros.

    >>> hankel([1, 2, 3], [3, 4]).tolist()
    [[1, 2], [2, 3], [3, 4]]
    """
    c = _vectors(c)
    r = tnp.zeros_like(c) if r is None else _vectors(r)
    return _arranged([c, r[..., 1:]], np.arange(c.shape[-1])[:, None] + np.arange(r.shape[-1]))


def circulant(c):
    """Each column is the one before, turned round by one; c is the first.

    >>> circulant([1, 2, 3]).tolist()
    [[1, 3, 2], [2, 1, 3], [3, 2, 1]]
    """
    c = _vectors(c)
    n = c.shape[-1]
    return _arranged([c], (np.arange(n)[:, None] - np.arange(n)) % max(n, 1))


def companion(a):
    """The matrix whose characteristic polynomial has these coefficients, the highest first.

    >>> companion([1.0, -3.0, 2.0]).tolist()
    [[3.0, -2.0], [1.0, 0.0]]
    """
    return _core.tn.companion(tnp.asarray(a))


def convolution_matrix(a, n, mode="full"):
    """The matrix whose product with a vector of n elements is convolve(a, vector, mode).

    >>> convolution_matrix([1, 2], 2).tolist()
    [[1, 0], [2, 1], [0, 2]]
    """
    a, n = tnp.asarray(a), operator.index(n)
    if n <= 0:
        raise ShapeError(f"convolution_matrix: n must be a positive integer. It is {n}.")
    if a.ndim < 1 or a.shape[-1] == 0:
        raise ShapeError(f"convolution_matrix: len(a) must be at least 1. Its shape is {a.shape}.")
    if mode not in ("full", "valid", "same"):
        raise _core.OptionError(f"mode must be one of ('full', 'valid', 'same'), but got {mode!r}")
    m = a.shape[-1]
    zeros = tnp.zeros((*a.shape[:-1], n - 1), a.dtype)
    whole = toeplitz(tnp.concatenate([a, zeros], -1), tnp.concatenate([a[..., :1], zeros], -1))
    if mode == "full":
        return whole
    drop, most = min(m, n) - 1, max(m, n)
    first = drop // 2 if mode == "same" else drop
    return whole[..., first:first + (most if mode == "same" else most - drop), :]


def leslie(f, s):
    """How a population of ages goes on: fertilities f in the first row, rates of survival s below the diagonal.

    >>> leslie([0.5, 2.0], [0.25]).tolist()
    [[0.5, 2.0], [0.25, 0.0]]
    """
    f, s = _of_one_dtype([tnp.asarray(f), tnp.asarray(s)])
    n = f.shape[-1]
    if n < 2:
        raise ShapeError(f"leslie: the length of f along the last axis is {n}: there are at least two fertilities.")
    if s.shape[-1] != n - 1:
        raise ShapeError(f"leslie: {n} fertilities go with {n - 1} rates of survival, not {s.shape[-1]}.")
    below = tnp.concatenate([s[..., :, None] * tnp.eye(n - 1, dtype=s.dtype), tnp.zeros((*s.shape, 1), s.dtype)], -1)
    return tnp.concatenate([f[..., None, :], below], -2)


def fiedler(a):
    """The distances |a[i] - a[j]|.

    >>> fiedler([1, 4, 6]).tolist()
    [[0, 3, 5], [3, 0, 2], [5, 2, 0]]
    """
    a = _vectors(a)
    return _core.abs(a[..., :, None] - a[..., None, :])


def fiedler_companion(a):
    """Companion matrices of five diagonals: their characteristic polynomials have the coefficients a [..., n + 1], the highest
    first.

    >>> fiedler_companion([1.0, -3.0, 2.0]).tolist()
    [[3.0, -2.0], [1.0, 0.0]]
    """
    a = _core.to_inexact(tnp.asarray(a))
    if a.ndim == 0 or a.shape[-1] == 0:
        raise ShapeError(f"fiedler_companion: coefficients, the highest first. Their shape is {a.shape}.")
    a = a / a[..., :1]
    n = a.shape[-1] - 1
    made = tnp.zeros((*a.shape[:-1], n, n), a.dtype)
    if n == 0:
        return made
    # Coefficients beside the diagonal in every second row, and each 1 two places from it (Fiedler 2003).
    rows, columns, of, ones = [0], [0], [1], [(1, 0)] if n > 1 else []
    for i in range(0, n, 2):
        for column, k in ((i - 1, i + 1), (i + 1, i + 2)):
            if 0 < column < n:
                rows.append(i), columns.append(column), of.append(k)
    ones += [(i, i + 2) for i in range(0, n - 2, 2)] + [(i, i - 2) for i in range(3, n, 2)]
    made = made.at[..., np.array(rows), np.array(columns)].set(-a[..., np.array(of)])
    for i, k in ones:
        made = made.at[..., i, k].set(1)
    return made


def hilbert(n):
    """1 / (i + j + 1).

    >>> hilbert(2).tolist()
    [[1.0, 0.5], [0.5, 0.3333333333333333]]
    """
    at = np.arange(operator.index(n))
    return tnp.array(1.0 / (at[:, None] + at + 1))


def invhilbert(n):
    """The inverse of hilbert(n), of whole numbers.

    >>> invhilbert(2).tolist()
    [[4.0, -6.0], [-6.0, 12.0]]
    """
    n, c = operator.index(n), math.comb
    return tnp.array(np.array([[float((-1) ** (i + j) * (i + j + 1) * c(n + i, n - j - 1) * c(n + j, n - i - 1)
                                      * c(i + j, i) ** 2) for j in range(n)] for i in range(n)]).reshape(n, n))


def _pascal(n, kind, sign):
    n = operator.index(n)
    if kind not in (None, "symmetric", "lower", "upper"):
        raise _core.OptionError(f"kind must be 'symmetric', 'lower', or 'upper', not {kind!r}.")
    lower = np.array([[sign ** (i + j) * math.comb(i, j) for j in range(n)] for i in range(n)], float).reshape(n, n)
    return lower.T if kind == "upper" else lower, kind in (None, "symmetric")


def pascal(n, kind=None):
    """Binomial coefficients: "symmetric" (where none is said), "lower" or "upper".

    >>> pascal(3).tolist()
    [[1.0, 1.0, 1.0], [1.0, 2.0, 3.0], [1.0, 3.0, 6.0]]
    """
    made, symmetric = _pascal(n, kind, 1)
    return tnp.array(made @ made.T if symmetric else made)


def invpascal(n, kind=None):
    """The inverse of pascal(n, kind), of whole numbers.

    >>> invpascal(2).tolist()
    [[2.0, -1.0], [-1.0, 1.0]]
    """
    made, symmetric = _pascal(n, kind, -1)
    return tnp.array(made.T @ made if symmetric else made)


def hadamard(n, dtype=int):
    """Orthogonal rows of 1 and -1; n is a power of two.

    >>> hadamard(2).tolist()
    [[1, 1], [1, -1]]
    """
    n = operator.index(n)
    if n < 1 or n & (n - 1):
        raise ShapeError(f"hadamard: n is a positive power of 2, not {n}.")
    made = np.ones((1, 1))
    while made.shape[0] < n:
        made = np.block([[made, made], [made, -made]])
    return _core.convert(tnp.array(made.astype(np.int64)), dtype)   # -1 of unsigned ones: the largest


def helmert(n, full=False):
    """Orthonormal contrasts of n values, a row each; with `full` a row of equal elements before them.

    >>> helmert(2, full=True).shape, helmert(3).shape
    ((2, 2), (2, 3))
    """
    n = operator.index(n)
    if n < 1:
        raise ShapeError(f"helmert: n must be a positive integer, not {n}.")
    at = np.arange(n)
    made = np.tril(np.ones((n, n)), -1) - np.diag(at)
    made[:1] = 1
    lengths = np.where(at == 0, n, at * (at + 1))
    return tnp.array((made / np.sqrt(lengths)[:, None])[0 if full else 1:])


def dft(n, scale=None, *, dtype=None):
    """The matrix of the discrete Fourier transform of n samples; scale "sqrtn" makes it unitary, "n" divides by n.

    >>> tnp.round(dft(2).real).tolist()
    [[1.0, 1.0], [1.0, -1.0]]
    """
    n = operator.index(n)
    if scale not in (None, "sqrtn", "n"):
        raise _core.OptionError(f"scale must be None, 'sqrtn', or 'n'; {scale!r} is not valid.")
    dtype = _dtypes.default("c") if dtype is None else tnp.dtype(dtype)
    if dtype.kind != "c":
        raise _core.OptionError(f"dft: dtype must be complex, not {dtype}.")
    at = np.arange(n)
    made = np.exp(-2j * np.pi / max(n, 1) * (np.outer(at, at) % max(n, 1)))
    made = made / {None: 1.0, "sqrtn": math.sqrt(max(n, 1)), "n": max(n, 1)}[scale]
    return tnp.array(made, dtype)

_repeated.public(globals())
