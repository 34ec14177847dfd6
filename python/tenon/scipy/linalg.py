"""Linear algebra with the arguments and the meaning of scipy.linalg, by the names of jax.scipy.linalg.

Matrices stand in the last two axes; the axes before them are a batch. `overwrite_a`, `overwrite_b`, `check_finite`, `debug`
and `lwork` are taken and have no effect.
"""

from tenon import _core, _repeated
from tenon import linalg as _both
from tenon import numpy as tnp
from tenon._matrix_functions import (  # noqa: F401
    eigh_tridiagonal, funm, logm, polar, rsf2csf, schur, solve_banded, solve_sylvester, solveh_banded, sqrtm)
from tenon.lax import linalg as _factors
from tenon.linalg import (  # noqa: F401
    block_diag, cho_factor, cho_solve, circulant, companion, convolution_matrix, dft, expm, expm_frechet, fiedler,
    fiedler_companion, hadamard, hankel, helmert, hessenberg, hilbert, invhilbert, invpascal, leslie, lu, lu_factor, lu_solve,
    pascal, qr_multiply, solve_triangular, toeplitz)

__all__ = [
    "block_diag", "cho_factor", "cho_solve", "cholesky", "circulant", "companion", "convolution_matrix", "det", "dft",
    "eigh", "eigh_tridiagonal", "expm", "expm_frechet", "fiedler", "fiedler_companion", "funm", "hadamard", "hankel", "helmert",
    "hessenberg", "hilbert", "inv", "invhilbert", "invpascal", "leslie", "logm", "lu", "lu_factor", "lu_solve", "pascal", "polar", "qr",
    "qr_multiply", "rsf2csf", "schur", "solve", "solve_banded", "solve_sylvester", "solve_triangular", "solveh_banded", "sqrtm", "svd", "toeplitz",
]


def cholesky(a, lower=False, overwrite_a=False, check_finite=True):
    """The upper triangular U with Uᴴ·U = a, or with `lower` the L with L·Lᴴ = a, of the upper or lower triangle of a
    alone. NaN where a is not positive definite.

    >>> cholesky([[4.0, 2.0], [2.0, 5.0]]).tolist()
    [[2.0, 1.0], [0.0, 2.0]]
    """
    return cho_factor(a, lower)[0]


def det(a, overwrite_a=False, check_finite=True):
    """The determinants of matrices [..., n, n].

    >>> det([[1.0, 2.0], [3.0, 4.0]])
    Array(-2., dtype=float64)
    """
    return _both.det(a)


def inv(a, overwrite_a=False, check_finite=True):
    """The inverse matrix. solve(a, b) is faster and more accurate than inv(a) @ b.

    >>> inv(tnp.array([[2.0, 0.0], [0.0, 4.0]])).tolist()
    [[0.5, 0.0], [0.0, 0.25]]
    """
    return _both.inv(a)


def qr(a, overwrite_a=False, lwork=None, mode="full", pivoting=False, check_finite=True):
    """(Q, R) with a = Q·R of matrices [..., m, n]; of `mode` "full", Q [..., m, m]; "economic", Q [..., m, k] of
    k = min(m, n); "r", (R,) alone. With `pivoting` a permutation behind them: a[..., permutation] = Q·R.

    >>> [part.shape for part in qr(tnp.eye(4, 2), mode="economic", pivoting=True)]
    [(4, 2), (2, 2), (2,)]
    """
    if mode not in ("full", "r", "economic"):
        raise _core.OptionError(f"Unsupported QR decomposition mode '{mode}'")
    made = _factors.qr(a, pivoting=pivoting, full_matrices=mode != "economic")
    return made[1:] if mode == "r" else made


def solve(a, b, lower=False, overwrite_a=False, overwrite_b=False, debug=False, check_finite=True, assume_a="gen"):
    """x with a·x = b. `assume_a`: "gen", "sym", "her", or of a positive definite "pos", which reads one triangle of a, the
    lower one or not.

    >>> solve([[4.0, 0.0], [2.0, 5.0]], [8.0, 12.0], lower=True, assume_a="pos").tolist()
    [1.0, 2.0]
    """
    if assume_a not in ("gen", "sym", "her", "pos"):
        raise _core.OptionError(f"solve: assume_a is 'gen', 'sym', 'her' or 'pos', not {assume_a!r}.")
    if assume_a != "pos":
        return _both.solve(a, b)
    a, b = tnp.asarray(a), tnp.asarray(b)
    met = _core.to_inexact(tnp.zeros((), tnp.result_type(a, b))).dtype
    return cho_solve(cho_factor(_core.convert(a, met), lower), _core.convert(b, met))


def eigh(a, b=None, lower=True, eigvals_only=False, overwrite_a=False, overwrite_b=False, turbo=True, eigvals=None, type=1,  # noqa: A002
         check_finite=True):
    """(eigenvalues, ascending; eigenvectors, columns) of Hermitian matrices [..., n, n], or the values alone: of the mean of a
    and aᴴ. With b, positive definite, of a·v = b·v·w, a·b·v = v·w or b·a·v = v·w, as `type` 1, 2 or 3 says.

    >>> eigh([[2.0, 1.0], [1.0, 2.0]], eigvals_only=True).tolist()
    [1.0, 3.0]
    """
    if eigvals is not None:
        raise NotImplementedError("eigh: `eigvals`: all are found.")
    if type not in (1, 2, 3):
        raise _core.OptionError(f"eigh: type is 1, 2 or 3, not {type!r}.")
    f = _core.tn.linalg.eigvalsh if eigvals_only else _core.tn.linalg.eigh
    a, lower = tnp.asarray(a), bool(lower)
    if b is not None:
        return f(a, tnp.asarray(b), type=type, lower=lower, symmetrize=True)
    if type != 1:
        raise NotImplementedError("eigh: of one matrix type is 1.")
    return f(a, lower=lower, symmetrize=True)


def svd(a, full_matrices=True, compute_uv=True, overwrite_a=False, check_finite=True, lapack_driver="gesdd"):
    """(U, s, Vh) with a = U·diag(s)·Vh of matrices [..., m, n], s descending: U [..., m, m] and Vh [..., n, n], or without
    `full_matrices` [..., m, k] and [..., k, n] of k = min(m, n); s alone without `compute_uv`.

    >>> svd([[3.0, 0.0], [0.0, -4.0]], compute_uv=False).tolist()
    [4.0, 3.0]
    """
    if lapack_driver not in ("gesdd", "gesvd"):
        raise _core.OptionError(f"svd: lapack_driver is 'gesdd' or 'gesvd', not {lapack_driver!r}.")
    a = tnp.asarray(a)
    return _core.tn.linalg.svd(a, full_matrices=bool(full_matrices)) if compute_uv else _core.tn.linalg.svdvals(a)

_repeated.public(globals())
