"""Products of vectors, matrices and tensors; polynomials."""

import builtins
import operator

import numpy as np

from tenon import _core, _sizes
from tenon.errors import DTypeError, ShapeError
from tenon.numpy import _dtypes, _reductions
from tenon.numpy._creation import asarray
from tenon.numpy._indexing import diagonal
from tenon.numpy._shapes import _axes, _axis, _of_one_dtype, moveaxis, ravel
from tenon.numpy._vectors import trim_zeros

__all__ = [
    "convolve", "corrcoef", "correlate", "cov", "cross", "dot", "einsum", "einsum_path", "inner", "kron", "matmul",
    "matvec", "outer", "poly", "polyadd", "polyder", "polydiv", "polyint", "polymul", "polysub", "polyval",
    "tensordot", "trace", "trapezoid", "vander", "vdot", "vecdot", "vecmat",
]


def _preferred(made, dtype):
    return made if dtype is None else _core.convert(made, dtype)


def _summed_in(function, dtype, operands):
    """Operands in the dtype in which their products are summed for a result that is to be of `dtype`."""
    if dtype is None:
        return operands
    operands = [asarray(x) for x in operands]
    wide = _core.tn.summed_in(function, _dtypes.result_type(*operands), dtype)
    return [_core.convert(x, wide) for x in operands]


def matmul(a, b, *, precision=None, preferred_element_type=None, out_sharding=None):
    """Products of matrices in the last two axes; the others broadcast."""
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        which = 0 if np.ndim(a) == 0 else 1
        raise ShapeError(f"matmul input operand {which} must have ndim at least 1, but it has ndim 0")
    return _core.tn.matmul(a, b, preferred_element_type)


def dot(a, b, *, precision=None, preferred_element_type=None, out_sharding=None):
    """The product along the last axis of a and the last but one of b."""
    a, b = asarray(a), asarray(b)
    if a.ndim == 0 or b.ndim == 0:
        return _preferred(_core.multiply(*_summed_in("dot", preferred_element_type, [a, b])), preferred_element_type)
    if builtins.max(a.ndim, b.ndim) <= 2:
        return _core.tn.matmul(a, b, preferred_element_type)
    _dtypes._meet((a, b))  # factors of lax.dot_general alone need not meet
    return _core.tn.dot_general(a, b, ([a.ndim - 1], [builtins.max(b.ndim - 2, 0)], [], []), preferred_element_type)


def vdot(a, b, *, precision=None, preferred_element_type=None):
    """The inner product of all elements, those of a conjugated."""
    return dot(_core.conj(ravel(a)), ravel(b), preferred_element_type=preferred_element_type)


def vecdot(x1, x2, /, *, axis=-1, precision=None, preferred_element_type=None):
    """Inner products along an axis, of x1 conjugated."""
    x1, x2 = moveaxis(x1, axis, -1), moveaxis(x2, axis, -1)
    if x1.shape[-1] != x2.shape[-1]:
        raise ShapeError(f"vecdot: axes of sizes {x1.shape[-1]} and {x2.shape[-1]}.")
    return _core.tn.matmul(_core.conj(x1)[..., None, :], x2[..., :, None], preferred_element_type)[..., 0, 0]


def matvec(x1, x2, /):
    """Matrices times vectors."""
    return _core.tn.matmul(x1, asarray(x2)[..., None])[..., 0]


def vecmat(x1, x2, /):
    """Vectors, conjugated, times matrices."""
    return _core.tn.matmul(_core.conj(x1)[..., None, :], x2)[..., 0, :]


def inner(a, b, *, precision=None, preferred_element_type=None):
    """The product along the last axes of both."""
    a, b = asarray(a), asarray(b)
    if a.ndim == 0 or b.ndim == 0:
        return _preferred(_core.multiply(*_summed_in("inner", preferred_element_type, [a, b])), preferred_element_type)
    return tensordot(a, b, (-1, -1), preferred_element_type=preferred_element_type)


def outer(a, b, out=None):
    """All products of an element of a with one of b."""
    return _core.multiply(ravel(a)[:, None], ravel(b)[None, :])


def tensordot(a, b, axes=2, *, precision=None, preferred_element_type=None, out_sharding=None):
    """The product along pairs of axes: the last of a with the first of b, or those named."""
    a, b = asarray(a), asarray(b)
    if isinstance(axes, (int, np.integer)):
        n = operator.index(axes)
        if builtins.max(a.ndim, b.ndim) < n or builtins.min(a.ndim, b.ndim) < n:
            raise ShapeError(f"tensordot: {n} axes of arrays of {a.ndim} and {b.ndim}.")
        of_a, of_b = list(range(a.ndim - n, a.ndim)), list(range(n))
    else:
        of_a, of_b = _pairs_of_axes(axes)
        of_a, of_b = _axes(of_a, a.ndim), _axes(of_b, b.ndim)
    _dtypes._meet((a, b))
    return _core.tn.dot_general(a, b, (of_a, of_b, [], []), preferred_element_type)


def _pairs_of_axes(axes):
    if not isinstance(axes, (tuple, list, np.ndarray)) or len(axes) != 2:
        raise _core.OptionError(f"tensordot: axes are an int, a pair of ints, or a pair of lists of ints, not {axes!r}.")
    pairs = [list(x) if isinstance(x, (tuple, list, np.ndarray)) else [x] for x in axes]
    if len(pairs[0]) != len(pairs[1]):
        raise ShapeError(f"tensordot: {len(pairs[0])} axes of a and {len(pairs[1])} of b.")
    return pairs


def cross(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    """The vector product."""
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = asarray(a), asarray(b)
    axisa, axisb = _axis(axisa, a.ndim), _axis(axisb, b.ndim)
    if a.shape[axisa] not in (2, 3) or b.shape[axisb] not in (2, 3):
        raise ShapeError("Dimension must be either 2 or 3 for cross product. "
                         f"The sizes are {a.shape[axisa]} and {b.shape[axisb]}.")
    return _core.tn.cross(a, b, axisa=axisa, axisb=axisb, axisc=axisc)


def kron(a, b):
    """The product of Kronecker."""
    return _core.tn.kron(asarray(a), asarray(b))


def einsum(subscripts, /, *operands, out=None, optimize="auto", precision=None, preferred_element_type=None):
    """Sums of products by letters of axes: einsum("ij,jk->ik", a, b). Of more than two operands, two at a time: up to
    twelve in the order of the fewest operations, or along a path that `optimize` holds. Axes of one letter have one
    size, or 1, which broadcasts.

    >>> from tenon.numpy import ones
    >>> einsum("ij,j->i", ones((2, 3)), ones(3))
    Array([3., 3.], dtype=float64)
    """
    if not isinstance(subscripts, str):
        subscripts, operands = _by_numbers(subscripts, operands)
    weak = bool(operands) and _dtypes._meet(operands)[1]
    path = [] if isinstance(optimize, (str, bool)) else [step for step in optimize if step != "einsum_path"]
    made = _core.tn.einsum(subscripts, _of_one_dtype(operands), preferred=preferred_element_type, path=path)
    return made if preferred_element_type else _core.with_weak(made, weak)


def _by_numbers(first, operands):
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    every = [first, *operands]
    text = [",".join("".join("..." if n is Ellipsis else letters[n] for n in axes) for axes in every[1::2][:len(every) // 2])]
    if len(every) % 2:
        text.append("".join("..." if n is Ellipsis else letters[n] for n in every[-1]))
    return "->".join(text), every[0:len(every) // 2 * 2:2]


def einsum_path(subscripts, /, *operands, optimize="auto"):
    """The path that einsum takes, after the word "einsum_path", and NumPy's description of it.

    >>> from tenon.numpy import ones
    >>> einsum_path("ij,jk,k->i", ones((2, 3)), ones((3, 4)), ones(4))[0]
    ['einsum_path', (1, 2), (0, 1)]
    """
    if not isinstance(subscripts, str):
        subscripts, operands = _by_numbers(subscripts, operands)
    if isinstance(optimize, (str, bool)):
        steps = map(sorted, _core.tn.einsum_path(subscripts, [asarray(x) for x in operands]))
    else:
        steps = (step for step in optimize if step != "einsum_path")
    path = ["einsum_path", *map(tuple, steps)]
    return np.einsum_path(subscripts, *(np.broadcast_to(np.float32(0), np.shape(x)) for x in operands), optimize=path)


def trace(a, offset=0, axis1=0, axis2=1, dtype=None, out=None):
    """The sum of a diagonal."""
    return _reductions.sum(diagonal(a, offset, axis1, axis2), -1, dtype)


# --- polynomials ---


def polyval(p, x, *, unroll=16):
    """The polynomial with these coefficients, the highest first, at x."""
    return _core.tn.polyval(asarray(p), asarray(x))


def polyadd(a1, a2):
    """The sum of two polynomials."""
    return _core.tn.polyadd(asarray(a1), asarray(a2))


def polysub(a1, a2):
    """The difference of two polynomials."""
    return _core.tn.polysub(asarray(a1), asarray(a2))


def polymul(a1, a2, *, trim_leading_zeros=False):
    """The product of two polynomials. Zeros in front stay, unless `trim_leading_zeros` says otherwise of operands whose
    values are known."""
    if trim_leading_zeros:
        a1, a2 = _without_leading_zeros(a1), _without_leading_zeros(a2)
    return _core.tn.polymul(asarray(a1), asarray(a2))


def _without_leading_zeros(p):
    p = asarray(p)
    trimmed = trim_zeros(p, "f")
    return trimmed if trimmed.shape[0] else p[-1:]


def polydiv(u, v, *, trim_leading_zeros=False):
    """(quotient, remainder) of two polynomials. Zeros in front of the remainder stay, unless `trim_leading_zeros` says
    otherwise where its values are known.

    >>> [p.tolist() for p in polydiv(asarray([1.0, 2, 3, 4]), asarray([1.0, 2]))]
    [[1.0, 0.0, 3.0], [0.0, 0.0, 0.0, -2.0]]
    """
    quotient, rest = _core.tn.polydiv(asarray(u), asarray(v))
    if trim_leading_zeros:
        rest = trim_zeros(rest, "f")
    return quotient, rest


def _order(m):
    m = operator.index(m)
    if m < 0:
        raise _core.OptionError("Order of a derivative or an integral must be positive or zero.")
    return m


def polyder(p, m=1):
    """The derivative of a polynomial."""
    return _core.tn.polyder(asarray(p), _order(m))


def polyint(p, m=1, k=None):
    """The integral of a polynomial."""
    return _core.tn.polyint(asarray(p), _order(m), None if k is None else asarray(k))


def poly(seq_of_zeros):
    """The polynomial with these zeros, or of a square matrix with its eigenvalues as zeros."""
    return _core.tn.poly(asarray(seq_of_zeros))


def vander(x, N=None, increasing=False):
    """The powers of x as columns."""
    return _core.tn.vander(asarray(x), None if N is None else _sizes.size(N), increasing=bool(increasing))


# --- convolution of vectors ---


def convolve(a, v, mode="full", *, precision=None, preferred_element_type=None):
    """The convolution of two vectors: the sums along the diagonals of the products of each element with each."""
    a, v = map(_core.to_inexact, _summed_in("convolve", preferred_element_type, _of_one_dtype([a, v])))
    if a.ndim != 1 or v.ndim != 1 or _core.same_size(a.shape[0], 0) or _core.same_size(v.shape[0], 0):
        raise ShapeError(f"convolve: both are vectors with elements. Their shapes are {a.shape} and {v.shape}.")
    if mode not in ("full", "same", "valid"):
        raise _core.OptionError("mode must be one of ['full', 'same', 'valid']")
    made = _core.tn.signal.convolve(a, v, mode="largest" if mode == "same" else mode, method="direct")
    return _preferred(made, preferred_element_type)


def correlate(a, v, mode="valid", *, precision=None, preferred_element_type=None):
    """The cross-correlation of two vectors."""
    if (mode == "same" or _sizes.known(*np.shape(a), *np.shape(v))) and np.shape(a) < np.shape(v):
        made = correlate(v, a, mode, preferred_element_type=preferred_element_type)
        return _core.conj(_core.tn.reverse(made, [0]))
    return convolve(a, _core.conj(_core.tn.reverse(asarray(v), [0])), mode, preferred_element_type=preferred_element_type)


# --- statistics of rows ---


def cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, dtype=None):
    """The covariances of variables, a row each, in a real or complex dtype. Observations count as often as `fweights` says
    (integers), and as much as `aweights`; NaN where `ddof` leaves none.

    >>> cov(asarray([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]), fweights=asarray([1, 2, 1])).tolist()[0]
    [0.6666666666666666, -0.6666666666666666]
    """
    _need_inexact("cov", dtype)
    x = asarray(m, dtype)
    if x.ndim > 2 or np.ndim(y) > 2:
        raise ShapeError(f"cov: of arrays of two axes at most, not of shapes {x.shape} and {np.shape(y)}.")
    for name, given in (("fweights", fweights), ("aweights", aweights)):
        _need_weights(x if rowvar or x.ndim != 2 else x.T, name, given)
    ddof = (0 if bias else 1) if ddof is None else ddof
    fweights, aweights = (None if w is None else asarray(w) for w in (fweights, aweights))
    variables = (x,) if y is None else (x, asarray(y, dtype))
    return _core.tn.cov(*variables, columns=not rowvar, ddof=ddof, frequencies=fweights, weights=aweights)


def _need_inexact(name, dtype):
    if dtype is not None and not _dtypes.issubdtype(_core.canonical_dtype(dtype), np.inexact):
        raise _core.OptionError(f"{name}: dtype must be a subclass of float or complex, not {_core.canonical_dtype(dtype)}.")


def _need_weights(x, name, given):
    if given is None:
        return
    given = asarray(given)
    if given.ndim != 1:
        raise RuntimeError("cannot handle multidimensional " + name)
    if given.shape[0] != x.shape[-1]:
        raise RuntimeError("incompatible numbers of samples and " + name)
    if name == "fweights" and given.dtype.kind not in "iu":
        raise DTypeError(f"cov: fweights must be integer. They are {given.dtype}.")


def corrcoef(x, y=None, rowvar=True, dtype=None):
    """The correlations of variables, a row each, in a real or complex dtype."""
    _need_inexact("corrcoef", dtype)
    x, y = asarray(x, dtype), None if y is None else asarray(y, dtype)
    if x.ndim > 2 or (y is not None and y.ndim > 2):
        raise ShapeError(f"corrcoef: of arrays of two axes at most, not of shapes {x.shape} and {np.shape(y)}.")
    return _core.tn.corrcoef(*((x,) if y is None else (x, y)), columns=not rowvar)


def trapezoid(y, x=None, dx=1.0, axis=-1):
    """The integral by the trapezoidal rule."""
    # An axis is counted in x as it is given, which may have fewer than y.
    return _core.tn.trapezoid(asarray(y), x=None if x is None else asarray(x), dx=asarray(dx), axis=operator.index(axis))
