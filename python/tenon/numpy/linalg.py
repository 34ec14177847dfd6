"""Linear algebra of matrices in the last two axes; the axes before them are a batch."""

import builtins
import functools
import math
from typing import Any, NamedTuple

from tenon import _core, _sizes
from tenon.numpy._creation import asarray, eye
from tenon.numpy import _dtypes, _indexing, _products
from tenon.numpy._products import cross, matmul, outer, tensordot, vecdot  # noqa: F401
from tenon.numpy._shapes import _axes, matrix_transpose  # noqa: F401

__all__ = ["cholesky", "cond", "cross", "det", "diagonal", "inv", "matmul", "matrix_norm", "matrix_power",
           "matrix_transpose", "multi_dot", "norm", "outer", "qr", "slogdet", "solve", "tensordot", "tensorinv",
           "tensorsolve", "trace", "vecdot", "vector_norm"]


def cholesky(a, *, upper=False, symmetrize_input=True):
    """The triangular L with L·Lᴴ = a, or with `upper` the U with Uᴴ·U = a. NaN where a is not positive definite."""
    made = _core.cholesky(a, symmetrize_input)
    return _core.conj(matrix_transpose(made)) if upper else made


def solve(a, b):
    """x with a·x = b; b is a vector or matrices of columns."""
    return _core.solve(a, b)


def inv(a):
    """The inverse matrix. solve(a, b) is faster and more accurate than inv(a) @ b."""
    return _core.inv(a)


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
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"Argument to {name}() must have shape [..., n, n], got {a.shape}")
    return a


def det(a):
    """The determinants of matrices [..., n, n]. Derivatives of any order, of singular matrices too.

    >>> det([[1.0, 2.0], [3.0, 4.0]])
    Array(-2., dtype=float64)
    """
    a = _square(a, "det")
    n = a.shape[-1]
    if _sizes.known(n) and 0 < n <= 3:
        return _det_written_out(a, n)
    pivots, sign = _pivots(a)
    return sign * _core.prod(pivots, [a.ndim - 2], False)


def _det_written_out(a, n):
    rows = [[a[..., i, j] for j in range(n)] for i in range(n)]
    if n == 1:
        return rows[0][0]
    if n == 2:
        (a, b), (c, d) = rows
        return a * d - b * c
    (a, b, c), (d, e, f), (g, h, i) = rows
    return a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)


def _pivots(a):
    """(the pivots of elimination, the sign of its permutation)."""
    from tenon.lax import linalg

    factors, exchanged, _ = linalg.lu(a)
    moved = _core.not_equal(exchanged, _core.iota("int32", (a.shape[-1],), 0))
    odd = _core.remainder(_core.sum(_core.convert(moved, "int32"), [a.ndim - 2], False), 2)
    return diagonal(factors), _core.convert(1 - 2 * odd, a.dtype)


class SlogdetResult(NamedTuple):
    """What slogdet() returns."""

    sign: Any
    logabsdet: Any


def _slogdet(a):
    pivots, sign = _pivots(a)
    size = _core.abs(pivots)
    along = [a.ndim - 2]
    unit = _core.where(_core.equal(size, 0), 0, pivots / _core.where(_core.equal(size, 0), 1, size))
    return sign * _core.prod(unit, along, False), _core.sum(_core.log(size), along, False)


def _slogdet_tangent(primals, tangents):
    # d log det a = tr(a⁻¹ · da); its imaginary part turns the sign.
    sign, size = _slogdet(*primals)
    turn = trace(_core.solve(primals[0], tangents[0]))
    if sign.dtype.kind != "c":
        return (sign, size), (_core.multiply(sign, 0), turn)
    return (sign, size), ((turn - _core.real(turn)) * sign, _core.real(turn))


@functools.cache
def _slogdet_with_rule():
    from tenon import custom_jvp

    rule = custom_jvp(_slogdet)
    rule.defjvp(_slogdet_tangent)
    return rule


def slogdet(a, *, method=None):
    """(the sign, the logarithm of the absolute value) of the determinants of matrices [..., n, n]: nothing overflows.
    Of a singular matrix 0 and -inf.

    >>> slogdet(1e200 * eye(2)).logabsdet / math.log(1e200)
    Array(2., dtype=float64)
    """
    if method == "qr":
        raise NotImplementedError("slogdet: by 'qr': only 'lu' is there.")
    if method not in (None, "lu"):
        raise ValueError(f"Unknown slogdet method '{method}'. Supported methods are 'lu' (default), and 'qr'.")
    return SlogdetResult(*_slogdet_with_rule()(_square(a, "slogdet")))


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
    from tenon.lax import linalg

    a = _core.to_inexact(asarray(a))
    if mode == "raw":
        h, taus, _ = linalg.reflections(a)
        return QRResult(matrix_transpose(h), taus)
    if mode not in ("reduced", "r", "full", "complete"):
        raise ValueError(f"Unsupported QR decomposition mode '{mode}'")
    q, r = linalg.qr(a, full_matrices=mode == "complete")
    return r if mode == "r" else QRResult(q, r)


def cond(x, p=None):
    """How far a matrix [..., n, n] is from a singular one: norm(x, p) · norm(inv(x), p), of the orders "fro", 1, -1, inf
    and -inf. The others, and None, need singular values, which are not there.

    >>> cond([[2.0, 0.0], [0.0, 0.5]], 1)
    Array(4., dtype=float64)
    """
    x = _square(x, "cond")
    if p in (None, 2, -2, "nuc"):
        raise NotImplementedError(f"cond: of order {p!r}: singular values are not there.")
    return norm(x, p, (-2, -1)) * norm(inv(x), p, (-2, -1))


def tensorsolve(a, b, axes=None):
    """x with tensordot(a, x, x.ndim) = b; `axes` of a go to its end before.

    >>> tensorsolve(2.0 * eye(6).reshape(2, 3, 6), [[2.0, 4, 6], [8, 10, 12]]).tolist()
    [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    """
    a, b = asarray(a), asarray(b)
    if axes is not None:
        last = _axes(tuple(axes), a.ndim)
        a = _core.transpose(a, [i for i in range(a.ndim) if i not in last] + last)
    shape = a.shape[b.ndim:]
    n = math.prod(shape)
    if a.size != n * n or b.size != n:
        raise ValueError("Input arrays must satisfy the requirement prod(a.shape[b.ndim:]) == prod(a.shape[:b.ndim])")
    return _core.reshape(_core.solve(_core.reshape(a, (n, n)), _core.reshape(b, (-1,))), shape)


def tensorinv(a, ind=2):
    """The inverse of a as a map of arrays with the axes behind the first `ind` to arrays with those.

    >>> tensorinv(4.0 * eye(6).reshape(2, 3, 6)).shape
    (6, 2, 3)
    """
    a = asarray(a)
    if ind <= 0:
        raise ValueError(f"ind must be a positive integer; got {ind=}")
    outer_, inner_ = a.shape[:ind], a.shape[ind:]
    n = math.prod(inner_)
    if math.prod(outer_) != n:
        raise ValueError("product of axes before `ind` must equal the product of those behind it, not of "
                         f"{outer_} and {inner_}.")
    return _core.reshape(inv(_core.reshape(a, (n, n))), inner_ + outer_)


def matrix_power(a, n):
    """The matrix times itself, n times; of negative n its inverse."""
    a = asarray(a)
    if n < 0:
        a, n = inv(a), -n
    made = None
    while n:
        if n & 1:
            made = a if made is None else _core.matmul(made, a)
        n >>= 1
        if n:
            a = _core.matmul(a, a)
    return _core.broadcast_to(eye(a.shape[-1], dtype=a.dtype), a.shape) if made is None else made


def multi_dot(arrays, *, precision=None):
    """The product of several matrices, in the order that takes the fewest multiplications."""
    arrays = [asarray(a) for a in arrays]
    row, column = arrays[0].ndim == 1, arrays[-1].ndim == 1
    arrays[0] = arrays[0][None, :] if row else arrays[0]
    arrays[-1] = arrays[-1][:, None] if column else arrays[-1]
    sizes = [a.shape[0] for a in arrays] + [arrays[-1].shape[1]]
    n = len(arrays)
    cost, cut = {}, {}
    for i in range(n):
        cost[i, i] = 0
    for width in range(1, n):
        for i in range(n - width):
            j = i + width
            cost[i, j], cut[i, j] = builtins.min(
                (cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j))

    def product(i, j):
        return arrays[i] if i == j else _core.matmul(product(i, cut[i, j]), product(cut[i, j] + 1, j))

    made = product(0, n - 1)
    made = made[0] if row else made
    return made[..., 0] if column else made


def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):  # noqa: A002
    """The norm of vectors along axes."""
    x = asarray(x)
    axes = list(range(x.ndim)) if axis is None else _axes(axis, x.ndim)
    x = _core.convert(x, _dtypes.default("f")) if x.dtype.kind in "biu" else x
    size = _core.abs(_core.to_inexact(x))
    if ord is None or ord == 2:
        return _core.norm(_core.to_inexact(x), axes, keepdims)
    if ord == math.inf:
        return _largest(size, axes, keepdims)
    if ord == -math.inf:
        return _core.min(size, axes, keepdims)
    if ord == 0:
        return _core.sum(_core.convert(_core.not_equal(size, 0), size.dtype), axes, keepdims)
    if ord == 1:
        return _core.sum(size, axes, keepdims)
    if isinstance(ord, str):
        raise ValueError(f"Invalid order '{ord}' for vector norm.")
    return _core.power(_core.sum(_core.power(size, ord), axes, keepdims), 1.0 / ord)


def _largest(sizes, axes, keepdims):
    """The largest of numbers that are not negative: of none 0."""
    empty = any(sizes.shape[axis] == 0 for axis in axes)
    return (_core.sum if empty else _core.max)(sizes, axes, keepdims)


def matrix_norm(x, /, *, keepdims=False, ord="fro"):  # noqa: A002
    """The norm of matrices: "fro", 1, -1, inf, -inf."""
    return norm(x, ord, (-2, -1), keepdims)


def norm(x, ord=None, axis=None, keepdims=False):  # noqa: A002
    """The norm of vectors, or with two axes of matrices: "fro", 1, -1, inf, -inf."""
    x = _core.to_inexact(asarray(x))
    if axis is None:
        if ord is None:
            return vector_norm(x, keepdims=keepdims)
        axis = tuple(range(x.ndim))
    axes = _axes(axis, x.ndim)
    if len(axes) == 1 or (ord is None and len(axes) != 2):
        return vector_norm(x, axis=axes, keepdims=keepdims, ord=2 if ord is None else ord)
    if len(axes) != 2:
        raise ValueError(f"Improper number of axes for norm: {axes}")
    if ord in (None, "fro", "f"):
        return vector_norm(x, axis=axes, keepdims=keepdims)
    if ord not in (1, -1, math.inf, -math.inf):
        if ord not in (2, -2, "nuc"):
            raise ValueError(f"norm: {ord!r} is no order of norms of matrices.")
        raise NotImplementedError(f"norm: of order {ord!r}: singular values are not there.")
    along, over = axes if abs(ord) == 1 else axes[::-1]
    sums = _core.sum(_core.abs(_core.to_inexact(x)), along, True)
    made = _largest(sums, [over], True) if ord > 0 else _core.min(sums, over, True)
    return made if keepdims else _core.reshape(made, [n for i, n in enumerate(made.shape) if i not in axes])
