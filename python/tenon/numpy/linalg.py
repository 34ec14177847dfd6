"""Linear algebra of matrices in the last two axes; the axes before them are a batch."""

import builtins
import math

from tenon import _core
from tenon.numpy._creation import asarray, eye
from tenon.numpy._products import cross, matmul, outer, tensordot, trace, vecdot  # noqa: F401
from tenon.numpy._indexing import diagonal  # noqa: F401
from tenon.numpy._shapes import _axes, matrix_transpose  # noqa: F401

__all__ = ["cholesky", "cross", "diagonal", "inv", "matmul", "matrix_norm", "matrix_power", "matrix_transpose",
           "multi_dot", "norm", "outer", "solve", "tensordot", "trace", "vecdot", "vector_norm"]


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
    size = _core.abs(_core.to_inexact(x))
    if ord is None or ord == 2:
        return _core.norm(_core.to_inexact(x), axes, keepdims)
    if ord == math.inf:
        return _core.max(size, axes, keepdims)
    if ord == -math.inf:
        return _core.min(size, axes, keepdims)
    if ord == 0:
        return _core.sum(_core.convert(_core.not_equal(size, 0), size.dtype), axes, keepdims)
    if ord == 1:
        return _core.sum(size, axes, keepdims)
    if isinstance(ord, str):
        raise ValueError(f"Invalid order '{ord}' for vector norm.")
    return _core.power(_core.sum(_core.power(size, ord), axes, keepdims), 1.0 / ord)


def matrix_norm(x, /, *, keepdims=False, ord="fro"):  # noqa: A002
    """The norm of matrices: "fro", 1, -1, inf, -inf."""
    return norm(x, ord, (-2, -1), keepdims)


def norm(x, ord=None, axis=None, keepdims=False):  # noqa: A002
    """The norm of vectors, or with two axes of matrices: "fro", 1, -1, inf, -inf."""
    x = asarray(x)
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
        raise NotImplementedError(f"norm: of order {ord!r}: singular values are not there.")
    along, over = axes if abs(ord) == 1 else axes[::-1]
    sums = _core.sum(_core.abs(_core.to_inexact(x)), along, True)
    made = (_core.max if ord > 0 else _core.min)(sums, over, True)
    return made if keepdims else _core.reshape(made, [n for i, n in enumerate(made.shape) if i not in axes])
