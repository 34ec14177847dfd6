"""tenon.numpy against NumPy: all dtypes, shapes with zeros, NaN and infinities."""

import warnings

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

import tenon as tn
import tenon.numpy as tnp

REAL, INTEGER, COMPLEX = ["float32", "float64"], ["int8", "int32", "int64", "uint8", "uint32"], ["complex64", "complex128"]
NUMBERS, ALL = REAL + INTEGER, ["bool"] + REAL + INTEGER + COMPLEX

# function: dtypes. The expectation is NumPy's function of that name.
OF_ONE = {
    **dict.fromkeys("abs negative positive square sqrt exp sin cos sinh cosh tanh".split(), REAL + COMPLEX),
    **dict.fromkeys("absolute sign".split(), NUMBERS),
    **dict.fromkeys("tan arctan arcsinh expm1 log1p floor ceil trunc rint log log2 log10 cbrt exp2 deg2rad rad2deg signbit "
                    "isposinf isneginf arcsin arccos arctanh arccosh fabs sinc".split(), REAL),
    **dict.fromkeys("isnan isinf isfinite real imag conj logical_not iscomplex isreal".split(), ALL),
    **dict.fromkeys("ravel flip transpose sum prod any all count_nonzero atleast_1d atleast_2d squeeze".split(), ALL),
    **dict.fromkeys("cumsum cumprod".split(), REAL + ["int64"]),  # small integers stay small, as in JAX
    **dict.fromkeys("invert".split(), ["bool"] + INTEGER),
    **dict.fromkeys("nan_to_num nansum nanprod".split(), REAL + INTEGER),
}
OF_TWO = {
    **dict.fromkeys("add multiply equal not_equal".split(), ALL),
    **dict.fromkeys("subtract divide".split(), REAL + INTEGER + COMPLEX),
    **dict.fromkeys("maximum minimum less less_equal greater greater_equal fmax fmin".split(), NUMBERS),
    **dict.fromkeys("floor_divide remainder fmod".split(), INTEGER),
    **dict.fromkeys("arctan2 copysign hypot logaddexp heaviside".split(), REAL),
    **dict.fromkeys("bitwise_and bitwise_or bitwise_xor".split(), ["bool"] + INTEGER),
    **dict.fromkeys("gcd lcm".split(), ["int32", "int64", "uint32"]),
    **dict.fromkeys("logical_and logical_or logical_xor".split(), ALL),
}
REDUCED = {
    **dict.fromkeys("sum prod any all".split(), ALL), **dict.fromkeys("mean var std".split(), REAL + COMPLEX),
    **dict.fromkeys("max min ptp".split(), NUMBERS), **dict.fromkeys("argmax argmin".split(), NUMBERS),
    **dict.fromkeys("nansum nanmax nanmin nanmean nanstd median nanmedian".split(), REAL),
}


def arrays(dtype, shape=None, most=3):
    dtype = np.dtype(dtype)
    shape = hnp.array_shapes(min_dims=0, max_dims=most, min_side=0, max_side=3) if shape is None else st.just(shape)
    if dtype.kind == "f":
        # Subnormal numbers are flushed to zero.
        elements = st.floats(width=8 * dtype.itemsize, allow_subnormal=False)
    elif dtype.kind == "c":
        elements = st.complex_numbers(max_magnitude=8, allow_nan=False, allow_infinity=False,
                                      width=8 * dtype.itemsize, allow_subnormal=False)
    else:
        elements = None
    return hnp.arrays(dtype, shape, elements=elements)


def expect(name, f, g, *args, **options):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        wanted = f(*args, **options)
    got = np.asarray(g(*map(tnp.asarray, args), **options))
    wanted = np.asarray(wanted)
    assert got.shape == wanted.shape, (name, got.shape, wanted.shape)
    if wanted.dtype.kind in "fc":
        single = min([a.dtype.itemsize // (2 if a.dtype.kind == "c" else 1) for a in map(np.asarray, args)
                      if a.dtype.kind in "fc"] or [4]) <= 4
        tolerance = 3e-5 if single else 1e-9
        assert np.allclose(got, wanted, tolerance, tolerance * 1e-3 if not single else 1e-5, equal_nan=True), (name, args, got, wanted)
    else:
        assert np.array_equal(got, wanted), (name, args, got, wanted)


def small(x, name=""):
    """Values whose functions do not overflow, nor products underflow in any order, but NaN and the infinities."""
    if "prod" in name and x.dtype.kind in "fc":
        some = np.isfinite(x) & (x != 0)
        size = np.abs(np.where(some, x, 1))
        return np.where(some, x / size * np.clip(size, 0.5, 2), x).astype(x.dtype)
    if x.dtype.kind != "f":
        return x
    finite = np.isfinite(x)
    return np.where(finite, np.clip(np.where(finite, x, 0), -30, 30), x).astype(x.dtype)


@pytest.mark.parametrize("name, dtype", [(n, d) for n, ds in OF_ONE.items() for d in ds])
def test_of_one(name, dtype):
    @given(arrays(dtype))
    def check(x):
        expect(name, getattr(np, name), getattr(tnp, name), small(x, name))

    check()


@pytest.mark.parametrize("name, dtype", [(n, d) for n, ds in OF_TWO.items() for d in ds])
def test_of_two(name, dtype):
    @given(st.data())
    def check(data):
        shapes = data.draw(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, min_side=0, max_side=3))
        x, y = (small(data.draw(arrays(dtype, s))) for s in shapes.input_shapes)
        if name in ("floor_divide", "remainder", "fmod"):
            y = np.where(y == 0, 1, y).astype(dtype)
        if name == "hypot" or dtype.startswith("complex") and name == "divide":
            x, y = np.nan_to_num(x), np.where(np.abs(y) < 0.1, 1, np.nan_to_num(y)).astype(dtype)
        if name == "lcm":
            x, y = (np.abs(a.astype("int64") % 1000).astype(dtype) for a in (x, y))
        if name in ("gcd",):
            x, y = (np.clip(a, -10**6 if a.dtype.kind == "i" else 0, 10**6) for a in (x, y))
        expect(name, getattr(np, name), getattr(tnp, name), x, y)

    check()


@pytest.mark.parametrize("name, dtype", [(n, d) for n, ds in REDUCED.items() for d in ds])
def test_reductions(name, dtype):
    @given(st.data())
    def check(data):
        shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4))
        x = small(data.draw(arrays(dtype, shape)), name)
        if name == "std" or name == "var" or name == "nanstd":
            x = np.nan_to_num(x, posinf=30, neginf=-30)
        if name not in ("argmax", "argmin") and data.draw(st.booleans()):
            axis = data.draw(st.sampled_from([None, *range(x.ndim), tuple(range(x.ndim))]))
        else:
            axis = data.draw(st.sampled_from([None, -1, 0]))
        options = {"axis": axis, "keepdims": data.draw(st.booleans())}
        expect(name, getattr(np, name), getattr(tnp, name), x, **options)

    check()


X = np.arange(24.0).reshape(2, 3, 4)
M = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, -1.0], [0.5, -1.0, 5.0]])
V = np.array([3.0, 1.0, 2.0, 1.0, 5.0])
I = np.array([2, 0, 1, 2])

CASES = [
    ("reshape", (X, (4, 6))), ("reshape", (X, -1)), ("moveaxis", (X, 0, 2)), ("swapaxes", (X, 0, 1)), ("rollaxis", (X, 2)),
    ("expand_dims", (X, (0, 2))), ("squeeze", (X[:, :1],)), ("broadcast_to", (V, (2, 5))), ("concatenate", ([X, X], 1)),
    ("concatenate", ([X, X], None)), ("stack", ([V, V], 1)), ("vstack", ([V, V],)), ("hstack", ([V, V],)), ("dstack", ([V, V],)),
    ("column_stack", ([V, V],)), ("split", (X, 2, 2)), ("split", (V, [1, 3])), ("array_split", (V, 3)), ("flip", (X, 1)),
    ("rot90", (M,)), ("rot90", (M, 3)), ("roll", (V, 2)), ("roll", (X, (1, -1), (0, 2))), ("tile", (M, (2, 1, 2))),
    ("repeat", (V, 2)), ("repeat", (M, [1, 0, 2], 1)), ("pad", (M, 1)), ("pad", (V, (2, 1), "edge")), ("pad", (V, 2, "reflect")),
    ("pad", (V, 2, "wrap")), ("pad", (V, 2, "symmetric")), ("append", (V, V)), ("resize", (V, (3, 4))),
    ("arange", (2, 9, 3)), ("arange", (0.0, 1.0, 0.3)), ("linspace", (0, 1, 7)), ("linspace", (0, 1, 7, False)), ("logspace", (0, 2, 3)),
    ("geomspace", (1, 100, 3)), ("eye", (3, 4, 1)), ("identity", (3,)), ("tri", (3, 4, -1)), ("full", ((2, 3), 7)),
    ("meshgrid", (V, I)), ("indices", ((2, 3),)), ("diag", (V, 1)), ("diag", (M, -1)), ("diagonal", (X, 1, 0, 2)), ("diagflat", (M,)),
    ("tril", (M, 1)), ("triu", (X, 1)), ("trace", (X, 1)), ("matmul", (X, X.transpose(0, 2, 1))), ("dot", (M, V[:3])), ("dot", (X, M[:1].T.repeat(4, 0)[:4])),
    ("vdot", (M, M)), ("inner", (X, V[:4])), ("outer", (V, I)), ("tensordot", (X, X, ([1, 2], [1, 2]))), ("tensordot", (M, M, 1)), ("kron", (M, V)),
    ("cross", (M, M[::-1])), ("einsum", ("ij,jk->ki", M, M)), ("einsum", ("...ij->...j", X)), ("einsum", ("ii", M)), ("einsum", ("ij,jk,kl->il", M, M, M)),
    ("take", (V, I)), ("take", (X, I[:3], 1)), ("take_along_axis", (M, np.argsort(M, 1), 1)), ("where", (M > 1, M, 0.0)), ("nonzero", (M > 1,)),
    ("argwhere", (M > 1,)), ("flatnonzero", (V > 1,)), ("compress", ([True, False, True], M, 1)), ("extract", (M > 1, M)),
    ("choose", (I, [np.zeros(4), np.ones(4), np.full(4, 2.0)])), ("select", ([V > 2, V > 1], [V, -V], 9.0)), ("clip", (V, 1.5, 3)),
    ("unravel_index", (np.array([5, 11]), (3, 4))), ("ravel_multi_index", ((np.array([1, 2]), np.array([3, 0])), (3, 4))),
    ("diff", (V,)), ("diff", (X, 2, 1)), ("ediff1d", (V,)), ("gradient", (V,)), ("gradient", (M, 0.5)), ("interp", (np.array([0.5, 2.5, 9]), np.arange(5.0), V)),
    ("delete", (V, [1, 3])), ("insert", (V, 2, 9.0)), ("insert", (M, 1, 0.0, 1)), ("trim_zeros", (np.array([0, 0, 1, 2, 0]),)), ("unwrap", (np.array([0, 3, 6, 9.5, 0.1]),)),
    ("isin", (V, [1, 5])), ("unique", (V,)), ("union1d", (V, I)), ("setdiff1d", (V, I)), ("intersect1d", (V, I)), ("setxor1d", (V, I)),
    ("sort", (M, 0)), ("argsort", (V,)), ("lexsort", ((I, np.array([1, 1, 0, 0])),)), ("searchsorted", (np.sort(V), np.array([0, 1.5, 5, 9]), "right")),
    ("digitize", (V, [1, 2, 3])), ("bincount", (I,)), ("bincount", (I, V[:4])), ("histogram", (V, 3)), ("quantile", (X, 0.3, 1)), ("percentile", (V, [10, 50])),
    ("median", (X, (0, 2))), ("average", (M, 1, np.array([1.0, 2.0, 3.0]))), ("cov", (M,)), ("corrcoef", (M,)), ("cumprod", (M, 1)),
    ("nancumsum", (np.array([1, np.nan, 2]),)), ("nanquantile", (np.array([1, np.nan, 2, 5]), 0.5)), ("polyval", (V, np.array([0.5, 2.0]))), ("polyadd", (V, V[:2])),
    ("polymul", (V, V[:2])), ("polyder", (V,)), ("polyint", (V,)), ("poly", (V,)), ("vander", (V, 3)), ("convolve", (V, V[:3])), ("convolve", (V, V[:3], "same")),
    ("correlate", (V, V[:3], "full")), ("trapezoid", (V,)), ("trapezoid", (V, np.cumsum(V))), ("round", (V / 3, 2)), ("around", (V * 7, -1)),
    ("allclose", (V, V + 1e-12)), ("isclose", (V, V + 1e-3)), ("array_equal", (V, V)), ("array_equiv", (V, V)), ("nan_to_num", (np.array([np.nan, np.inf, 1]),)),
    ("piecewise", (V, [V < 2, V >= 2], [0.0, 1.0])), ("block", ([[M, M], [M, M]],)), ("ptp", (M, 0)), ("angle", (np.array([1 + 1j, -1]),)), ("kaiser", (5, 3.0)),
    ("hamming", (5,)), ("divmod", (V, 2.0)), ("modf", (V / 2,)), ("ldexp", (V, I[:1])), ("apply_along_axis", (np.sum, 1, M)), ("atleast_3d", (V,)),
    ("matrix_transpose", (X,)), ("vecdot", (M, M)), ("unstack", (M,)), ("cumulative_sum", (V,)), ("broadcast_arrays", (V, M[:, :1])), ("tril_indices", (3,)),
    ("diag_indices", (3,)), ("mask_indices", (3, np.triu)), ("ix_", (I, I)), ("bitwise_count", (I,)), ("count_nonzero", (M > 1, 0)),
]


def same(name, got, wanted):
    if isinstance(wanted, (tuple, list)):
        assert len(got) == len(wanted), name
        for a, b in zip(got, wanted):
            same(name, a, b)
        return
    got, wanted = np.asarray(got), np.asarray(wanted)
    assert got.shape == wanted.shape, (name, got.shape, wanted.shape)
    assert np.allclose(got, wanted, 1e-9, 1e-9, equal_nan=True), (name, got, wanted)
    assert (got.dtype.kind in "iu") == (wanted.dtype.kind in "iu") and (got.dtype.kind == "b") == (wanted.dtype.kind == "b"), (
        name, got.dtype, wanted.dtype)


@pytest.mark.parametrize("name, args", CASES, ids=[f"{n}-{i}" for i, (n, _) in enumerate(CASES)])
def test_cases(name, args):
    f = getattr(np, name)
    ours = [tnp.sum if a is np.sum else tnp.triu if a is np.triu else a for a in args]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = f(*args)
    if name == "histogram":  # counts are real, as in JAX
        wanted = (wanted[0].astype(float), wanted[1])
    same(name, getattr(tnp, name)(*ours), wanted)


@pytest.mark.parametrize("dtype", ALL)
def test_sort(dtype):
    @given(st.data())
    def check(data):
        x = data.draw(arrays(dtype, data.draw(hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4))))
        expect("sort", np.sort, tnp.sort, x, axis=data.draw(st.integers(-x.ndim, x.ndim - 1)))

    check()


@pytest.mark.parametrize("name, args", [(n, a) for n, a in CASES if n in (
    "moveaxis roll pad dot einsum cumprod sort median cov interp gradient convolve where clip quantile polyval diff tile").split()])
def test_compiled_is_the_same(name, args):
    arrays = [i for i, a in enumerate(args) if isinstance(a, np.ndarray)]

    def f(*given):
        full = list(args)
        for i, a in zip(arrays, given):
            full[i] = a
        return getattr(tnp, name)(*full)

    same(name, tn.jit(f)(*(args[i] for i in arrays)), f(*(tnp.asarray(args[i]) for i in arrays)))


def test_linalg():
    b = np.array([1.0, 2.0, 3.0])
    for name, args in (("solve", (M, b)), ("inv", (M,)), ("cholesky", (M,)), ("matrix_power", (M, 3)), ("matrix_power", (M, -2)),
                       ("norm", (M,)), ("norm", (M, 1)), ("norm", (M, np.inf)), ("norm", (b, 3)), ("norm", (X, None, 1)),
                       ("multi_dot", ([M, M, b],)), ("vector_norm", (b,)), ("matrix_norm", (M,))):
        same(name, getattr(tnp.linalg, name)(*args), getattr(np.linalg, name)(*args))


def test_sizes_that_data_decide():
    x = tnp.array([3.0, -1.0, 2.0])
    assert tn.jit(lambda x: tnp.sum(x[x > 0]))(x) == 5
    assert tn.jit(lambda x: tnp.nonzero(x > 0, size=3, fill_value=-1)[0])(x).tolist() == [0, 2, -1]
    assert tnp.unique(tnp.array([2, 1, 2]), size=3, fill_value=9).tolist() == [1, 2, 9]


def test_dtypes_as_jax_has_them():
    i, f = tnp.arange(3, dtype=tnp.int32), tnp.ones(3, tnp.float32)
    assert tnp.mean(i).dtype == tnp.sin(i).dtype == (i / i).dtype == np.float32
    assert tnp.sum(i).dtype == tnp.argmax(f).dtype == tnp.argsort(f).dtype == tnp.arange(3).dtype == np.int64
    assert tnp.cumsum(i).dtype == tnp.floor(i).dtype == (i ** 2).dtype == np.int32
    assert tnp.concatenate([i, f]).dtype == tnp.dot(i, f).dtype == np.float32
    assert tnp.zeros(2).dtype == tnp.linspace(0, 1, 2).dtype == np.float64
    assert tnp.result_type(tnp.int8, tnp.uint8) == np.int16 and tnp.promote_types("int64", "float16") == np.float16
    assert (tnp.array([True]) + tnp.array([True])).dtype == np.bool_
    assert tnp.float32(3).dtype == np.float32 and np.dtype(tnp.float32) == np.float32 and tnp.float32 == np.float32
    assert tnp.issubdtype(f.dtype, tnp.floating) and tnp.finfo("float32").bits == 32 and tnp.iinfo(tnp.int8).max == 127
