"""Functions of matrices by their spectral factors: what jax.scipy.linalg has beside factors."""

import operator

from tenon import _core
from tenon import numpy as tnp
from tenon.errors import DTypeError

__all__ = ["eigh_tridiagonal", "funm", "logm", "polar", "rsf2csf", "schur", "solve_banded", "solve_sylvester", "solveh_banded", "sqrtm"]


def schur(a, output="real"):
    """(T, Z) with a = Z·T·Zᴴ of matrices [..., n, n], T upper triangular; of real matrices with blocks of two rows for
    conjugate pairs, unless `output` is "complex". No derivatives.

    >>> schur([[2.0, 1.0], [0.0, 3.0]])[0].tolist()
    [[2.0, 1.0], [0.0, 3.0]]
    """
    if output not in ("real", "complex"):
        raise _core.OptionError(f"schur: output is 'real' or 'complex', not {output!r}.")
    return _core.tn.linalg.schur(tnp.asarray(a), complex=output == "complex")


def rsf2csf(T, Z, check_finite=True):
    """(T, Z) of the complex Schur form, of those of the real one, matrices [..., n, n]. Batches broadcast.

    >>> [part.dtype.name for part in rsf2csf(*schur([[0.0, 1.0], [-1.0, 0.0]]))]
    ['complex128', 'complex128']
    """
    return _core.tn.linalg.rsf2csf(tnp.asarray(T), tnp.asarray(Z))


def polar(a, side="right", *, method="qdwh", eps=None, max_iterations=None):
    """(u, p) with a = u·p, or p·u of `side` "left", of matrices [..., m, n]: p Hermitian without negative eigenvalues, rows or
    columns of u orthonormal. By singular values, whatever the other arguments say.

    >>> polar([[0.0, -2.0], [3.0, 0.0]])[1].round(12).tolist()
    [[3.0, 0.0], [0.0, 2.0]]
    """
    if side not in ("right", "left"):
        raise _core.OptionError(f"polar: side is 'right' or 'left', not {side!r}.")
    if method not in ("qdwh", "svd"):
        raise _core.OptionError(f"polar: method is 'qdwh' or 'svd', not {method!r}.")
    return _core.tn.linalg.polar(tnp.asarray(a), left=side == "left")


def sqrtm(A, blocksize=1):
    """The x with x·x = A, complex, whose eigenvalues have no negative real parts, of matrices [..., n, n]. No derivatives.

    >>> sqrtm([[4.0, 0.0], [0.0, 9.0]]).real.tolist()
    [[2.0, 0.0], [0.0, 3.0]]
    """
    if blocksize > 1:
        raise NotImplementedError("sqrtm: blocks of more than one row are not there.")
    return _core.tn.linalg.sqrtm(tnp.asarray(A))


def logm(A):
    """The x with expm(x) = A, complex, also of real matrices [..., n, n]: dtypes do not depend on values. Imaginary parts of its
    eigenvalues are from -π to π. NaN where A is singular.

    >>> logm([[1.0, 1.0], [0.0, 1.0]]).real.round(12).tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    return _core.tn.linalg.logm(tnp.asarray(A))


def funm(A, func, disp=True):
    """The function of matrices [..., n, n] that is `func` of their eigenvalues, complex: by Schur's form and Parlett's
    recurrence, which wants eigenvalues that differ. Without `disp` (the matrix, about how large its error may be).

    >>> import math
    >>> made = funm([[1.0, 1.0], [0.0, 2.0]], tnp.exp).real
    >>> [round(float(v), 9) for v in made[0]] == [round(math.e, 9), round(math.e**2 - math.e, 9)]
    True
    """
    made, error = _core.tn.linalg.funm(tnp.asarray(A), func)
    return made if disp else (made, error)


def solve_banded(l_and_u, ab, b, overwrite_ab=False, overwrite_b=False, check_finite=True):
    """x with a·x = b of a matrix with l diagonals below its main one and u above it: ab[u + i - j, j] = a[i, j], of shape
    [..., l + u + 1, n]. b: [n], or [..., n, k]. By reflections, in time that grows as n.

    >>> solve_banded((1, 0), [[2.0, 2.0], [1.0, 0.0]], [2.0, 5.0]).round(12).tolist()
    [1.0, 2.0]
    """
    below, above = l_and_u
    return _core.tn.linalg.solve_banded(int(below), int(above), tnp.asarray(ab), tnp.asarray(b))


def solveh_banded(ab, b, overwrite_ab=False, overwrite_b=False, lower=False, check_finite=True):
    """x with a·x = b of a Hermitian matrix: ab[u + i - j, j] = a[i, j] has its main diagonal and those above it, or with
    `lower` ab[i - j, j] = a[i, j] those below it. It need not be positive definite.

    >>> solveh_banded([[0.0, 1.0], [2.0, 2.0]], [3.0, 3.0]).round(12).tolist()
    [1.0, 1.0]
    """
    return _core.tn.linalg.solveh_banded(tnp.asarray(ab), tnp.asarray(b), lower=bool(lower))


def solve_sylvester(A, B, C, *, method="schur", tol=1e-8):
    """X with A·X + X·B = C, of matrices [..., m, m], [..., n, n] and [..., m, n]: by Schur's forms (Bartels and Stewart), or of
    `method` "eigen" by eigenvectors, which has derivatives. NaN where eigenvalues of A and -B come nearer than `tol`.

    >>> solve_sylvester([[1.0]], [[2.0]], [[6.0]]).tolist()
    [[2.0]]
    """
    if method not in ("schur", "eigen"):
        raise _core.OptionError(f"solve_sylvester: method is 'schur' or 'eigen', not {method!r}.")
    return _core.tn.linalg.solve_sylvester(*(tnp.asarray(x) for x in (A, B, C)), by_eigenvectors=method == "eigen", tolerance=float(tol))


def eigh_tridiagonal(d, e, *, eigvals_only=False, select="a", select_range=None, tol=None, key=None):
    """Eigenvalues of the Hermitian matrix with diagonal d: [n] and e: [n - 1] below it, ascending, or (values, vectors); of
    `select` "i" those with indices from select_range[0] to select_range[1]. By the whole matrix: `tol` and `key` have no
    effect.

    >>> eigh_tridiagonal(tnp.array([2.0, 2.0]), tnp.array([1.0]), eigvals_only=True).tolist()
    [1.0, 3.0]
    """
    d, e = tnp.asarray(d), tnp.asarray(e)
    if d.dtype != e.dtype:
        raise DTypeError(f"eigh_tridiagonal: d and e differ in dtype, {d.dtype} and {e.dtype}.")
    if d.dtype.name not in ("float32", "float64", "complex64", "complex128"):
        raise DTypeError(f"eigh_tridiagonal: of float32, float64, complex64 and complex128, not {d.dtype}.")
    if select not in ("a", "i", "v"):
        raise _core.OptionError(f"eigh_tridiagonal: select is 'a', 'i' or 'v', not {select!r}.")
    if select == "v":
        raise NotImplementedError("eigh_tridiagonal: select='v': data would decide a size.")
    if select == "i" and select_range is None:
        raise _core.OptionError("eigh_tridiagonal: select='i' wants a select_range.")
    first, last = (None, None) if select == "a" else map(operator.index, select_range)
    f = _core.tn.linalg.eigvalsh_tridiagonal if eigvals_only else _core.tn.linalg.eigh_tridiagonal
    return f(d, e, first=first, last=last)
