"""Comparison of arrays by dtype, and derivatives against differences."""

import functools

import numpy as np
import tenon as tn
import tenon.dtypes as td
import tenon.tree_util as tree
from dtype_table import canonicalize, dtype_of
from inputs import bfloat16, rand_like

INTEGERS = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64".split()
TOLERANCE = {np.dtype(d): 0.0 for d in INTEGERS} | {
    bfloat16: 1e-2, np.dtype("float16"): 1e-3, np.dtype("float32"): 1e-6, np.dtype("float64"): 1e-15,
    np.dtype("complex64"): 1e-6, np.dtype("complex128"): 1e-15}
GRADIENT_TOLERANCE = {
    bfloat16: 1e-1, np.dtype("float16"): 1e-2, np.dtype("float32"): 2e-3, np.dtype("float64"): 1e-5,
    np.dtype("complex64"): 1e-3, np.dtype("complex128"): 1e-5}
STEPS = (1e-3, 1e-2, 3e-2, 1e-1)   # of differences, in 32 bits mostly: one of them has to agree, for each number of a jvp


def by_dtype(given):
    return {np.dtype(d): v for d, v in given.items()} if isinstance(given, dict) else {}


def tolerance(dtype, given=None):
    if given is not None and not isinstance(given, dict):
        return given
    try:
        dtype = canonicalize(np.dtype(dtype))
    except TypeError:
        return 0
    return by_dtype(given).get(dtype, TOLERANCE.get(dtype, 0))


def join_tolerance(a, b):
    a, b = (by_dtype(t) if isinstance(t, dict) else dict.fromkeys(TOLERANCE, t or 0) for t in (a, b))
    return {d: max(a.get(d, 0), b.get(d, 0)) for d in {*a, *b}}


def widened(x):
    x = np.asarray(x)
    return x.astype(np.float32) if x.dtype == bfloat16 or x.dtype.name.startswith("float8") else x


def close(a, b, atol, rtol, message=""):
    a, b = widened(a), widened(b)
    if td.float0 in (a.dtype, b.dtype):
        assert a.dtype == b.dtype, f"{a.dtype} {b.dtype}"
        return
    with np.errstate(invalid="ignore", over="ignore"):
        if atol or rtol:
            np.testing.assert_allclose(a, b, atol=atol, rtol=rtol, err_msg=message)
        else:
            np.testing.assert_array_equal(a, b, err_msg=message)


def close_by_dtype(a, b, atol, rtol, message=""):
    da, db = dtype_of(a), dtype_of(b)
    close(a, b, max(tolerance(da, atol), tolerance(db, atol)), max(tolerance(da, rtol), tolerance(db, rtol)), message)


def check_eq(a, b, err_msg=""):
    tree.tree_map(lambda x, y: close(x, y, 0, 1e-7, err_msg), a, b)   # as NumPy's assert_allclose


def check_close(a, b, atol=None, rtol=None, err_msg=""):
    tree.tree_map(lambda x, y: close_by_dtype(x, y, atol, rtol, err_msg), a, b)


# ---- derivatives

_rng = np.random.RandomState(0)


def is_float0(x):
    return np.asarray(x).dtype == td.float0


def random_tangent(values):
    def one(x):
        dtype = np.dtype(dtype_of(x))
        return rand_like(_rng, x) if dtype.kind in "fc" or dtype == bfloat16 else np.zeros(np.shape(x), td.float0)
    return tree.tree_map(one, values)


def product(a, b):
    pairs = zip(tree.tree_leaves(a), tree.tree_leaves(b))
    return sum(float(np.sum(np.real(np.asarray(x, np.complex128) * np.asarray(y, np.complex128)))) for x, y in pairs)


def central_difference(f, args, tangents, step):
    def moved(by):
        def one(x, v):
            return x if is_float0(v) else np.asarray(np.asarray(x) + np.asarray(by, v.real.dtype) * v).astype(v.dtype)
        return f(*tree.tree_map(one, args, tangents))

    def wide(x):
        return np.asarray(x).astype(np.complex128 if np.asarray(x).dtype.kind == "c" else np.float64)
    def difference(a, b):
        return np.where(a == b, 0, a - b) / (2 * step)  # of infinities, too
    return tree.tree_map(lambda a, b: difference(wide(a), wide(b)), moved(step), moved(-step))


def gradient_tolerance(x, given):
    if given is not None and not isinstance(given, dict):
        return given
    dtype = np.dtype(dtype_of(x))
    return by_dtype(given).get(dtype, GRADIENT_TOLERANCE.get(dtype, 1e-3))


def holds_for_a_step(f, args, tangents, first, test):
    error = None
    for step in (first or 1e-4, *STEPS):
        try:
            return test(central_difference(f, args, tangents, step))
        except AssertionError as e:
            error = error or e
    raise error


def nearest(made, numerics):
    """Of the differences by several steps, number by number, that which is nearest to what was made."""
    def one(a, *each):
        if is_float0(a):
            return each[0]
        each = np.stack(each)
        far = np.abs(each - np.asarray(a).astype(each.dtype))
        return np.take_along_axis(each, np.argmin(np.where(np.isnan(far), np.inf, far), 0)[None], 0)[0]
    return tree.tree_map(one, made, *numerics)


def check_jvp(f, f_jvp, args, atol=None, rtol=None, eps=None, err_msg=""):
    args = tuple(args)
    tangents = random_tangent(args)
    out, out_tangents = f_jvp(args, tangents)

    def same_value(a, b):
        close(a, b, max(gradient_tolerance(a, atol), 1e-6), max(gradient_tolerance(a, rtol), 1e-6), "jvp: value")

    def same_tangent(a, o, b):
        if not is_float0(a):
            close(np.asarray(a).astype(b.dtype), b, gradient_tolerance(o, atol), gradient_tolerance(o, rtol), "jvp: tangent")
    tree.tree_map(same_value, out, f(*args))
    numerics = [central_difference(f, args, tangents, step) for step in (eps or 1e-4, *STEPS)]
    tree.tree_map(same_tangent, out_tangents, out, nearest(out_tangents, numerics))


def check_vjp(f, f_vjp, args, atol=None, rtol=None, eps=None, err_msg=""):
    args = tuple(args)
    out, pull = f_vjp(*args)

    def same_value(a, b):
        close(a, b, max(gradient_tolerance(a, atol), 1e-6), max(gradient_tolerance(a, rtol), 1e-6), "vjp: value")
    tree.tree_map(same_value, out, f(*args))
    tangents, cotangents = random_tangent(args), random_tangent(out)
    pairs = zip(tree.tree_leaves(pull(cotangents)), tree.tree_leaves(tangents))
    pulled = sum(product(g, v) for g, v in pairs if not is_float0(v))
    leaves = tree.tree_leaves(out)
    absolute = max([gradient_tolerance(x, atol) for x in leaves] or [1e-3])
    relative = max([gradient_tolerance(x, rtol) for x in leaves] or [1e-3])

    def same_product(numeric):
        pairs = zip(tree.tree_leaves(numeric), tree.tree_leaves(cotangents))
        pushed = sum(product(a, c) for a, c in pairs if not is_float0(c))
        np.testing.assert_allclose(pulled, pushed, atol=absolute, rtol=relative, err_msg="vjp: product with the cotangent")
    holds_for_a_step(f, args, tangents, eps, same_product)


def check_grads(f, args, order, modes=("fwd", "rev"), atol=None, rtol=None, eps=None):
    """Derivatives of f up to `order`, in each order of the modes."""
    args = tuple(args)
    if "fwd" in modes:
        check_jvp(f, functools.partial(tn.jvp, f), args, atol, rtol, eps)
        if order > 1:
            tangents = random_tangent(args)
            check_grads(lambda *a: tn.jvp(f, a, tangents)[1], args, order - 1, modes, atol, rtol, eps)
    if "rev" in modes:
        check_vjp(f, functools.partial(tn.vjp, f), args, atol, rtol, eps)
        if order > 1:
            cotangents = random_tangent(f(*args))
            check_grads(lambda *a: tn.vjp(f, *a)[1](cotangents), args, order - 1, modes, atol, rtol, eps)
