"""Linear algebra: the names of jax.numpy.linalg, and those of jax.scipy.linalg that go beside them.

Where both have a name (`cholesky`, `det`, `inv`, `norm`, `solve`) it is jax.numpy.linalg's. Matrices stand in the last
two axes; the axes before them are a batch.
"""

import operator

from tenon import _core, _repeated, _sizes
from tenon import numpy as tnp
from tenon._matrix_functions import *  # noqa: F403
from tenon._matrix_functions import __all__ as _matrix_functions
from tenon.numpy import _dtypes
from tenon.numpy import linalg as _numpy
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
    return _core.tn.linalg.cho_factor(tnp.asarray(a), lower=bool(lower)), lower


def cho_solve(c_and_lower, b, overwrite_b=False, check_finite=True):
    """x with a·x = b by the factor that cho_factor() made of a.

    >>> cho_solve(cho_factor([[4.0, 2.0], [2.0, 5.0]]), [8.0, 12.0]).tolist()
    [1.0, 2.0]
    """
    factor, lower = c_and_lower
    factor = tnp.asarray(factor)
    b, shaped = _columns(factor, b)
    return shaped(_core.tn.linalg.cho_solve(factor, b, lower=bool(lower)))


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
    f = _core.tn.linalg.pivoted_qr_multiply if pivoting else _core.tn.linalg.qr_multiply
    return f(tnp.asarray(a), tnp.asarray(c), left=mode == "left", conjugate=bool(conjugate))


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
    value, along = _core.tn.linalg.expm_frechet(tnp.asarray(A), tnp.asarray(E))
    return (value, along) if compute_expm else along


# --- matrices of one form ---


def block_diag(*arrs):
    """The matrices along a diagonal, zeros beside them.

    >>> block_diag([[1, 2]], 3).tolist()
    [[1, 2, 0], [0, 0, 3]]
    """
    return _core.tn.linalg.block_diag([tnp.asarray(a) for a in arrs or (tnp.zeros((1, 0)),)])


def toeplitz(c, r=None):
    """Constant diagonals: the first column c and the first row r (its first element is c's); without r conj(c).

    >>> toeplitz([1, 2, 3], [9, 4]).tolist()
    [[1, 4], [2, 1], [3, 2]]
    """
    return _core.tn.linalg.toeplitz(tnp.asarray(c), None if r is None else tnp.asarray(r))


def hankel(c, r=None):
    """Constant antidiagonals: the first column c and the last row r (its first element is c's last); without r zeros.

    >>> hankel([1, 2, 3], [3, 4]).tolist()
    [[1, 2], [2, 3], [3, 4]]
    """
    return _core.tn.linalg.hankel(tnp.asarray(c), None if r is None else tnp.asarray(r))


def circulant(c):
    """Each column is the one before, turned round by one; c is the first.

    >>> circulant([1, 2, 3]).tolist()
    [[1, 3, 2], [2, 1, 3], [3, 2, 1]]
    """
    return _core.tn.linalg.circulant(tnp.asarray(c))


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
    if mode not in ("full", "valid", "same"):
        raise _core.OptionError(f"mode must be one of ('full', 'valid', 'same'), but got {mode!r}")
    return _core.tn.linalg.convolution_matrix(tnp.asarray(a), _sizes.size(n), "largest" if mode == "same" else mode)


def leslie(f, s):
    """How a population of ages goes on: fertilities f in the first row, rates of survival s below the diagonal.

    >>> leslie([0.5, 2.0], [0.25]).tolist()
    [[0.5, 2.0], [0.25, 0.0]]
    """
    return _core.tn.linalg.leslie(tnp.asarray(f), tnp.asarray(s))


def fiedler(a):
    """The distances |a[i] - a[j]|.

    >>> fiedler([1, 4, 6]).tolist()
    [[0, 3, 5], [3, 0, 2], [5, 2, 0]]
    """
    return _core.tn.linalg.fiedler(tnp.asarray(a))


def fiedler_companion(a):
    """Companion matrices of five diagonals: their characteristic polynomials have the coefficients a [..., n + 1], the highest
    first.

    >>> fiedler_companion([1.0, -3.0, 2.0]).tolist()
    [[3.0, -2.0], [1.0, 0.0]]
    """
    return _core.tn.linalg.fiedler_companion(tnp.asarray(a))


def hilbert(n):
    """1 / (i + j + 1).

    >>> hilbert(2).tolist()
    [[1.0, 0.5], [0.5, 0.3333333333333333]]
    """
    return _core.tn.linalg.hilbert(_sizes.size(n), "float64")


def invhilbert(n):
    """The inverse of hilbert(n), of whole numbers.

    >>> invhilbert(2).tolist()
    [[4.0, -6.0], [-6.0, 12.0]]
    """
    return _core.tn.linalg.invhilbert(operator.index(n), "float64")


def pascal(n, kind=None):
    """Binomial coefficients: "symmetric" (where none is said), "lower" or "upper".

    >>> pascal(3).tolist()
    [[1.0, 1.0, 1.0], [1.0, 2.0, 3.0], [1.0, 3.0, 6.0]]
    """
    return _core.tn.linalg.pascal(operator.index(n), kind, "float64")


def invpascal(n, kind=None):
    """The inverse of pascal(n, kind), of whole numbers.

    >>> invpascal(2).tolist()
    [[2.0, -1.0], [-1.0, 1.0]]
    """
    return _core.tn.linalg.invpascal(operator.index(n), kind, "float64")


def hadamard(n, dtype=int):
    """Orthogonal rows of 1 and -1; n is a power of two.

    >>> hadamard(2).tolist()
    [[1, 1], [1, -1]]
    """
    return _core.tn.linalg.hadamard(operator.index(n), dtype)


def helmert(n, full=False):
    """Orthonormal contrasts of n values, a row each; with `full` a row of equal elements before them.

    >>> helmert(2, full=True).shape, helmert(3).shape
    ((2, 2), (2, 3))
    """
    return _core.tn.linalg.helmert(operator.index(n), "float64", full=bool(full))


def dft(n, scale=None, *, dtype=None):
    """The matrix of the discrete Fourier transform of n samples; scale "sqrtn" makes it unitary, "n" divides by n.

    >>> tnp.round(dft(2).real).tolist()
    [[1.0, 1.0], [1.0, -1.0]]
    """
    dtype = _dtypes.default("c") if dtype is None else tnp.dtype(dtype)
    if dtype.kind != "c":
        raise _core.OptionError(f"dft: dtype must be complex, not {dtype}.")
    return _core.tn.linalg.dft(operator.index(n), scale, dtype)

_repeated.public(globals())
