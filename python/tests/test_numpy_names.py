"""Histograms of several axes, sets, bits, quantiles, padding, polynomials, ufuncs and Bessel's functions, against NumPy's:
at once, compiled, in lanes, with derivatives."""

import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp
from tenon import lax


def same(got, wanted, dtypes=True):
    if isinstance(wanted, (tuple, list)):
        assert len(got) == len(wanted)
        for a, b in zip(got, wanted):
            same(a, b, dtypes)
        return
    got, wanted = np.asarray(got), np.asarray(wanted)
    assert got.shape == wanted.shape, (got.shape, wanted.shape)
    assert not dtypes or got.dtype == wanted.dtype, (got.dtype, wanted.dtype)
    assert np.allclose(got, wanted, 1e-6 if got.dtype == np.float32 else 1e-11, 1e-12, equal_nan=True), (got, wanted)


def compiled(name, *args, **options):
    """The function at once and compiled: arrays are arguments, all else is known."""
    arrays = [i for i, a in enumerate(args) if isinstance(a, np.ndarray)]

    def f(*given):
        full = list(args)
        for i, a in zip(arrays, given):
            full[i] = a
        return getattr(tnp, name)(*full, **options)

    given = [args[i] for i in arrays]
    return f(*map(tnp.asarray, given)), tn.jit(f)(*given)


def against_numpy(name, *args, dtypes=True, **options):
    wanted = getattr(np, name)(*args, **options)
    for got in compiled(name, *args, **options):
        same(got, wanted, dtypes)


RNG = np.random.default_rng(0)
POINTS = RNG.integers(0, 5, (40, 2)).astype(float)


@pytest.mark.parametrize("options", [
    {}, {"bins": 3}, {"bins": (2, 4)}, {"range": [(0, 3), (1, 4)]}, {"range": [None, (0, 9)], "bins": 4}, {"density": True},
    {"bins": [np.array([0.0, 1, 4]), np.array([0.0, 2, 3])]}, {"weights": np.arange(40.0)},
    {"bins": 2, "weights": np.arange(40.0), "density": True}])
def test_histograms(options):
    # Counts are integers, as in JAX.
    against_numpy("histogramdd", POINTS, **options, dtypes=False)
    against_numpy("histogram2d", POINTS[:, 0], POINTS[:, 1], **options, dtypes=False)
    if not {"weights", "density"} & {*options}:
        assert tnp.histogramdd(POINTS, **options)[0].dtype == np.int64


def test_histograms_elsewhere():
    against_numpy("histogram2d", POINTS[:, 0], POINTS[:, 1], [0.0, 1.0, 5.0], dtypes=False)
    against_numpy("histogramdd", POINTS[:, :1], 4, dtypes=False)
    against_numpy("histogramdd", np.concatenate([POINTS, POINTS[:, :1]], 1), (2, 3, 2), dtypes=False)
    against_numpy("histogramdd", np.zeros((0, 2)), 2, [(0, 1), (0, 1)], dtypes=False)
    lanes = tn.vmap(lambda p: tnp.histogramdd(p, 3, [(0, 4), (0, 4)])[0])(np.stack([POINTS, POINTS[::-1]]))
    same(lanes[0], lanes[1])
    with pytest.raises(ValueError, match="bin for each dimension"):
        tnp.histogramdd(POINTS, [1, 2, 3])
    with pytest.raises(ValueError, match=r"len\(range\) = 2"):
        tnp.histogramdd(POINTS, 2, [(0, 1)])


ROWS = {
    "int64": RNG.integers(0, 3, (9, 2)), "float32": RNG.integers(0, 2, (6, 3)).astype("float32"),
    "bool": RNG.integers(0, 2, (7, 2)).astype(bool), "int8": np.array([[1, -128], [1, 127], [1, -128]], "int8"),
    "float64": np.array([[np.nan, 1], [0, 2], [np.nan, 1], [np.inf, -np.inf]]), "complex128": np.array([[1j, 1], [1j, 1], [0, 1j]]),
}


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("dtype", list(ROWS))
def test_unique(dtype, axis):
    x = ROWS[dtype]
    got = tnp.unique(x, True, True, True, axis)
    if dtype == "float64" and axis is not None:  # NumPy tells every NaN in rows from the others
        assert got[0].shape == ((3, 2) if axis == 0 else (4, 2))
        assert np.array_equal(np.take(np.asarray(got[0]), np.asarray(got[2]), axis), x, equal_nan=True)
        return
    wanted = np.unique(x, True, True, True, axis)
    same(got, wanted)
    n = wanted[0].shape[axis or 0] + 2

    def padded(x):
        return tnp.unique(x, True, True, True, axis, size=n, fill_value=1)

    for made in (padded(x), tn.jit(padded)(x), tn.tree.map(lambda y: y[1], tn.vmap(padded)(np.stack([x, x])))):
        front = (slice(None),) * ((axis or 0) % x.ndim)
        same(made[0][(*front, slice(None, n - 2))], wanted[0])
        assert (np.asarray(made[0][(*front, slice(n - 2, None))]) == 1).all()
        same((made[1][:n - 2], made[2], made[3][:n - 2]), wanted[1:])
        assert not np.asarray(made[3][n - 2:]).any()
    fewer = tnp.unique(x, axis=axis, size=1)
    same(fewer, np.take(wanted[0], [0], axis or 0))


def test_unique_elsewhere():
    for shape, axis in (((0,), None), ((3, 0), 0), ((0, 3), 0), ((0, 3), None)):
        same(tnp.unique(np.zeros(shape), True, True, True, axis), np.unique(np.zeros(shape), True, True, True, axis))
    with pytest.raises(ValueError, match="fill_value must be specified"):
        tnp.unique(np.zeros(0), size=2)
    assert tnp.unique(np.zeros(0), size=2, fill_value=7).tolist() == [7, 7]
    x = np.array([[3, np.nan], [np.nan, 3]])
    for name in ("unique_all", "unique_counts", "unique_inverse"):
        got, wanted = getattr(tnp, name)(x), getattr(np, name)(x)
        same(tuple(got), tuple(wanted))
        assert got._fields == wanted._fields
    assert tn.jit(lambda x: tnp.unique_counts(x, size=3))(np.array([2, 1, 2])).counts.tolist() == [1, 2, 0]
    slope = tn.grad(lambda x: tnp.sum(tnp.unique(x, size=2) * np.array([1.0, 10.0])))(np.array([5.0, 4.0, 5.0]))
    assert slope.tolist() == [10, 1, 0]


@pytest.mark.parametrize("order", ["big", "little"])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_bits(axis, order):
    for dtype in ("bool", "uint8", "int64"):
        x = RNG.integers(-1, 2, (11, 3)).astype(dtype)
        against_numpy("packbits", x, axis, order)
    y = RNG.integers(0, 256, (3, 2)).astype("uint8")
    for count in (None, 0, 5, 11, 60, -3):
        against_numpy("unpackbits", y, axis, count, order)
    lanes = tn.vmap(lambda y: tnp.packbits(tnp.unpackbits(y, bitorder=order), bitorder=order))(y)
    assert np.array_equal(lanes, y)


def test_bits_elsewhere():
    against_numpy("packbits", np.zeros(0, bool)), against_numpy("unpackbits", np.zeros((0, 2), "uint8"), 1)
    with pytest.raises(TypeError, match="integer or boolean"):
        tnp.packbits(np.ones(3))
    with pytest.raises(TypeError, match="unsigned byte"):
        tnp.unpackbits(np.ones(3, int))
    with pytest.raises(ValueError, match="'little' or 'big'"):
        tnp.packbits(np.ones(3, bool), bitorder="middle")


METHODS = ("inverted_cdf averaged_inverted_cdf closest_observation interpolated_inverted_cdf hazen weibull linear "
           "median_unbiased normal_unbiased lower higher midpoint nearest").split()


@pytest.mark.parametrize("method", METHODS)
def test_quantiles(method):
    for n in (1, 2, 5, 8):
        x = RNG.normal(size=(n, 3))
        for q in (0.0, 0.25, 0.5, 1.0, 0.37, np.array([[0.1, 0.9]])):
            for options in ({"axis": 0}, {}, {"axis": (0, 1), "keepdims": True}):
                against_numpy("quantile", x, q, method=method, **options)
    x[1, 1] = np.nan
    against_numpy("quantile", x, 0.4, 0, method=method)
    against_numpy("nanquantile", x, 0.4, 0, method=method)
    against_numpy("percentile", x, 30.0, 1, method=method)
    same(tn.vmap(lambda x: tnp.quantile(x, 0.3, method=method))(x), np.quantile(x, 0.3, 1, method=method))
    slope = tn.grad(lambda x: tnp.quantile(x, 0.3, method=method))(np.array([3.0, 1.0, 2.0, 8.0]))
    assert np.isclose(float(tnp.sum(slope)), 1)


def test_weighted_quantiles():
    x, w = RNG.normal(size=(6, 3)), RNG.integers(0, 4, (6, 3)).astype(float) + np.eye(6, 3)
    for q in (0.0, 0.3, 1.0, np.array([0.2, 0.7])):
        for axis, weights in ((0, w), (None, w), (0, w[:, 0] + 1), ((0, 1), w)):
            against_numpy("quantile", x, q, axis, weights=weights, method="inverted_cdf")
    against_numpy("quantile", x, 0.5, 0, weights=w, method="inverted_cdf", keepdims=True)
    with pytest.raises(NotImplementedError, match="linear doesn't support weights"):
        tnp.quantile(x, 0.5, weights=w)
    with pytest.raises(ValueError, match="method is 'beta'; it is one of 'linear'"):
        tnp.quantile(x, 0.5, method="beta")


PADDED = [
    ("linear_ramp", {}), ("linear_ramp", {"end_values": 5}), ("linear_ramp", {"end_values": ((1, 2), (3, -4))}),
    ("mean", {}), ("mean", {"stat_length": 2}), ("median", {}), ("median", {"stat_length": ((1, 2), (3, 1))}),
    ("maximum", {"stat_length": 2}), ("minimum", {}), ("reflect", {"reflect_type": "odd"}), ("symmetric", {"reflect_type": "odd"}),
    ("reflect", {}), ("edge", {}), ("wrap", {}),
]


@pytest.mark.parametrize("mode, options", PADDED)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32"])
def test_pad(dtype, mode, options):
    x = RNG.integers(-5, 20, (4, 3)).astype(dtype)
    # Of integers NumPy rounds what rounding has changed: exact where widths are powers of two.
    for width in (1, ((2, 0), (0, 4)), ((0, 0), (8, 4)) if dtype == "int32" and mode == "linear_ramp" else ((0, 0), (9, 7))):
        against_numpy("pad", x, width, mode, **options)
    same(tn.vmap(lambda x: tnp.pad(x, 2, mode, **{k: 2 for k in options if k == "stat_length"}))(x)[0],
         np.pad(x[0], 2, mode, **{k: 2 for k in options if k == "stat_length"}))


def test_pad_elsewhere():
    x = np.arange(4.0)

    def ends(vector, width, axis, options):
        return vector.at[:width[0]].set(options["value"]).at[vector.shape[0] - width[1]:].set(10.0 * axis)

    assert tnp.pad(x, (2, 1), ends, value=-1).tolist() == [-1, -1, 0, 1, 2, 3, 0]
    two = tnp.pad(np.zeros((1, 1)), 1, ends, value=-1)
    assert two.tolist() == [[-1, -1, 10], [-1, 0, 10], [-1, 0, 10]]
    against_numpy("pad", np.array([7.0]), 2, "reflect", reflect_type="odd")
    slope = tn.grad(lambda x: tnp.sum(tnp.pad(x, (2, 1), "linear_ramp")))(x)
    assert slope.tolist() == [1.5, 1, 1, 1]
    with pytest.raises(ValueError, match="'round' is none of"):
        tnp.pad(x, 1, "round")


def test_cov_with_weights():
    x, y = RNG.normal(size=(3, 7)), RNG.normal(size=(2, 7))
    f, a = RNG.integers(1, 4, 7), RNG.uniform(size=7)
    for options in ({"fweights": f}, {"aweights": a}, {"fweights": f, "aweights": a}, {"aweights": a, "ddof": 0},
                    {"fweights": f, "bias": True}, {"fweights": f, "aweights": a, "ddof": 3}, {}):
        against_numpy("cov", x, **options)
        against_numpy("cov", x, y, **options)
        against_numpy("cov", x[0], **options)
        against_numpy("cov", x.T, None, False, **options)
    against_numpy("cov", x + 1j * x[::-1], fweights=f)
    assert tnp.cov(x.astype("float32"), dtype=tnp.float64).dtype == np.float64
    with pytest.raises(TypeError, match="fweights must be integer"):
        tnp.cov(x, fweights=a)
    with pytest.raises(RuntimeError, match="incompatible numbers of samples and aweights"):
        tnp.cov(x, aweights=a[1:])
    with pytest.raises(RuntimeError, match="multidimensional fweights"):
        tnp.cov(x, fweights=f[None])


@pytest.mark.parametrize("u, v", [([1.0, 2, 3, 4], [1.0, 2]), ([1.0, 2], [1.0, 2, 3]), ([2.0, 0, 1, 5, 7], [4.0, 0, 3]), ([6], [3]),
                                  ([1 + 1j, 2, 3], [2j, 1])])
def test_polydiv(u, v):
    u, v = np.array(u), np.array(v)
    for q, r in compiled("polydiv", u, v):
        same(q, np.polydiv(u, v)[0], dtypes=False)
        same(tnp.polyadd(tnp.polymul(q, v), r)[-len(u):], u.astype(q.dtype))
        assert r.shape == u.shape
    same(tnp.polydiv(np.array([1.0, 2, 1, 0]), np.array([1.0, 2, 1]), trim_leading_zeros=True)[1], np.zeros(0))


def test_polymul():
    a, b = np.array([0.0, 0, 1, 2]), np.array([0.0, 3])
    assert tnp.polymul(a, b).tolist() == [0, 0, 0, 3, 6]
    assert tnp.polymul(a, b, trim_leading_zeros=True).tolist() == [3, 6]
    assert tnp.polymul(np.zeros(2), b, trim_leading_zeros=True).tolist() == [0]


def test_iterable():
    for x in (1, [1], "ab", None, np.zeros(()), np.zeros(2), {}):
        assert tnp.iterable(x) == np.iterable(x)
    assert tnp.iterable(tnp.zeros(2)) and not tnp.iterable(tnp.zeros(()))


def test_ufuncs():
    f, g = tnp.frompyfunc(lambda x, y: x + 2 * y, nin=2, nout=1), lambda x, y: x + 2 * y
    x = RNG.normal(size=(3, 4))
    same(f(x, x[0]), g(x, x[0])), same(tn.jit(f)(x, 3.0), g(x, 3.0))
    assert (f.nin, f.nout, f.nargs, f.identity) == (2, 1, 2, None) and "ufunc" in repr(f)
    for axis in (0, 1, -1):
        rows = np.moveaxis(x, axis, 0)
        sums = [rows[0]]
        for row in rows[1:]:
            sums.append(g(sums[-1], row))
        for reduce in (f.reduce, tn.jit(f.reduce, static_argnames="axis")):
            same(reduce(x, axis=axis), sums[-1])
        same(f.accumulate(x, axis), np.moveaxis(np.stack(sums), 0, axis))
    same(f.reduce(x, axis=None), f.reduce(x.ravel())), same(f.reduce(x, keepdims=True), np.asarray(f.reduce(x))[None])
    same(f.reduce(x, initial=5.0), f.reduce(np.concatenate([np.full((1, 4), 5.0), x])))
    same(f.reduce(x[0], initial=0.0, where=x[0] > 0), f.reduce(x[0][x[0] > 0], initial=0.0))
    same(f.outer(x[0], x), g(x[0][:, None, None], x))
    same(f.reduceat(np.arange(5), np.array([0, 3, 1])), np.array([6, 3, 19]))
    same(f.reduceat(x, np.array([0, 2]), axis=1)[:, 1], g(x[:, 2], x[:, 3]))
    assert f.at(np.zeros(3), np.array([0, 2, 0]), 1.0, inplace=False).tolist() == [4, 0, 2]
    negate = tnp.frompyfunc(lambda x: -x, 1, 1)
    assert negate.at(np.ones(3), np.array([1, 1, 2]), inplace=False).tolist() == [1, 1, -1]
    assert tn.grad(lambda x: f.reduce(x))(np.ones(3)).tolist() == [1, 2, 2]
    empty = tnp.frompyfunc(lambda x, y: x + y, 2, 1, identity=0)
    assert empty.reduce(np.zeros((0, 2))).tolist() == [0, 0] and empty.accumulate(np.zeros((0, 2))).shape == (0, 2)
    with pytest.raises(ValueError, match="no identity"):
        f.reduce(np.zeros(0))
    with pytest.raises(ValueError, match="two elements"):
        negate.reduce(x)
    with pytest.raises(NotImplementedError, match="inplace=False"):
        f.at(np.zeros(3), 0, 1.0)
    with pytest.raises(TypeError, match="takes 2 arguments"):
        f(x)


def bessel(order, x):
    """exp(-|x|)·I(x) by the integral of its generating function, which the trapezoidal rule finds to rounding."""
    t = np.linspace(0, np.pi, 2001)
    made = np.exp(np.abs(x)[:, None] * (np.cos(t) - 1)) * np.cos(order * t)
    return (made.sum(1) - (made[:, 0] + made[:, -1]) / 2) / 2000 * np.sign(x) ** order


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_bessel(dtype):
    x = np.concatenate([np.linspace(-40, 40, 400), [1e-8, -1e-8, 7.999, 8.001, 600]]).astype(dtype)
    exact = x.astype(float)
    bound = 8 * np.finfo(dtype).eps
    for order, f in ((0, lax.bessel_i0e), (1, lax.bessel_i1e)):
        for got in (f(x), tn.jit(f)(x), tn.vmap(f)(x)):
            assert got.dtype == np.dtype(dtype)
            assert np.allclose(got, bessel(order, exact), 2 * bound, 4e-17)
    assert np.allclose(tnp.i0(x[:400]), np.i0(exact[:400]), bound * 2, 0)
    assert lax.bessel_i0e(np.inf) == 0 and lax.bessel_i1e(-np.inf) == 0 and np.isnan(lax.bessel_i1e(np.nan))
    assert tnp.i0(tnp.float16(2)).dtype == np.float16 and tnp.i0(3).dtype == np.float64
    assert lax.bessel_i0e(np.zeros((0, 2), dtype)).shape == (0, 2)


def test_derivatives_of_bessel():
    x = np.linspace(-12, 12, 41)
    zeroth, first = bessel(0, x), bessel(1, x)
    assert np.allclose(tn.vmap(tn.grad(tnp.i0))(x), first * np.exp(np.abs(x)), 1e-12)
    assert np.allclose(tn.vmap(tn.grad(lax.bessel_i0e))(x), first - np.sign(x) * zeroth, 1e-11, 1e-15)
    second = np.exp(np.abs(x)) * (zeroth + bessel(2, x)) / 2
    assert np.allclose(tn.jit(tn.vmap(tn.grad(tn.grad(tnp.i0))))(x), second, 1e-10)
    assert np.isclose(tn.grad(lax.bessel_i1e)(0.0), 0.5)
    with pytest.raises(TypeError, match="complex"):
        tnp.i0(1j)


def test_einsum_broadcasts_ones():
    x, y, z = RNG.normal(size=(2, 1)), RNG.normal(size=(3, 4)), RNG.normal(size=(1, 2))
    for text, *arrays in (("ij,jk->ik", x, y), ("ij,jk,kl->il", x, y, z), ("ij,ij->j", x, y[:2]), ("i,i,i->", x[:1, 0], y[0], x[1:, 0]),
                          ("...i,...i->...", x, y[:1]), ("ii,i->i", x[:1], y[0])):
        against_numpy("einsum", text, *arrays)
    slope = tn.grad(lambda x: tnp.sum(tnp.einsum("ij,jk->ik", x, y)))(x)
    same(slope, np.full((2, 1), y.sum()))
    for text, *arrays in (("ii->i", z), ("i,i->i", y[0], y[:, 0]), ("ij->i", y[0]), ("i,ii->", y[0], z)):
        with pytest.raises(ValueError):
            tnp.einsum(text, *arrays)
