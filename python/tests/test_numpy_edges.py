"""Arguments at the edges of what functions of tenon.numpy and tenon.random take: what they give there, or which error."""

import io

import ml_dtypes
import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp
from tenon import random
from tenon.errors import ConcretizationError

DTYPES = ["bool", "int8", "uint16", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128"]


def test_python_integers_keep_their_value_or_are_refused():
    assert tnp.uint64(2 ** 64 - 1) == tnp.full((), 2 ** 64 - 1, "uint64") == tnp.array(2 ** 64 - 1, "uint64")
    for bad in (lambda: tnp.int8(300), lambda: tnp.uint8(-1), lambda: tnp.array(2 ** 40, "int32"), lambda: tnp.full(2, 300, "int8"),
                lambda: tnp.array([0, -2 ** 63 - 1])):
        with pytest.raises(OverflowError):
            bad()
    tn.config.x64 = False
    try:
        assert int(tnp.uint32(2 ** 32 - 1)) == int(tnp.full((), 2 ** 32 - 1, "uint32")) == 2 ** 32 - 1
        assert tnp.int_ == np.int64 and tnp.zeros(2, tnp.int_).dtype == np.int32
    finally:
        tn.config.x64 = True


def test_none_is_no_number():
    for f in (tnp.array, tnp.asarray):
        for bad in (None, [1.0, None]):
            with pytest.raises(ValueError, match="None"):
                f(bad)
    with pytest.raises(TypeError):
        tnp.sum(None)


@pytest.mark.parametrize("dtype", DTYPES)
def test_byteswap_and_in(dtype):
    for shape in ((3, 2), (0,), ()):
        a = np.asarray((np.arange(int(np.prod(shape))).reshape(shape) * 37 - 50)).astype(dtype)
        for f in (lambda x: x.byteswap(), tn.jit(lambda x: x.byteswap())):
            assert np.asarray(f(tnp.asarray(a))).tobytes() == a.byteswap().tobytes()
    vector = tnp.array([1, 0], dtype)
    assert 1 in vector and 7 not in vector


def test_in_is_of_numbers_and_vectors():
    for bad, kind in ((lambda: 1 in tnp.array(1), ValueError), (lambda: tnp.arange(2) in tnp.arange(2), ValueError),
                      (lambda: "abc" in tnp.arange(2), TypeError), (lambda: None in tnp.arange(2), TypeError)):
        with pytest.raises(kind):
            bad()


def test_files_hold_bfloat16():
    made = io.BytesIO()
    tnp.save(made, tnp.array([1.5, -2.0], "bfloat16"))
    made.seek(0)
    got = tnp.load(made)
    assert got.dtype == "bfloat16" and got.tolist() == [1.5, -2.0]


def test_functions_keep_bfloat16_and_weak_types():
    assert tnp.nan_to_num(np.array([np.nan, 1], ml_dtypes.bfloat16)).dtype == "bfloat16"
    for mode in ("constant", "edge", "linear_ramp", "maximum", "mean", "median", "minimum", "reflect", "symmetric", "wrap", "empty"):
        assert tnp.pad(tnp.array(1.0)[None], 0, mode).weak_type
    with pytest.raises(ValueError, match="unsupported keyword"):
        tnp.pad(tnp.arange(3), 1, "edge", constant_values=2)


def test_diagonals_far_outside():
    assert not tnp.any(tnp.eye(3, 2, k=2 ** 100)) and not tnp.any(tnp.eye(3, k=-2 ** 100))
    assert tnp.eye(2, 3, k=2).tolist() == np.eye(2, 3, k=2).tolist() and tnp.eye(3, 2, k=-2).tolist() == np.eye(3, 2, k=-2).tolist()


def test_indices_whose_values_must_be_known():
    i = tnp.array([1, 5, -7, 100])
    wanted = [[0, 1, 0, 1], [1, 2, 0, 2]]
    assert [x.tolist() for x in tnp.unravel_index(i, (2, 3))] == wanted
    assert [x.tolist() for x in tn.jit(tnp.unravel_index)(i, (2, 3))] == wanted  # a shape that is traced
    for f, args in ((lambda i: tnp.choose(i, [i, i]), (tnp.array([0, 1]),)),
                    (lambda i: tnp.ravel_multi_index((i, i), (2, 2)), (tnp.array([0, 1]),))):
        with pytest.raises(ConcretizationError, match="mode='wrap'"):
            tn.jit(f)(*args)
    small = tnp.array([0, 1], "int8")
    assert tnp.ravel_multi_index((small, small), (2, 3), mode="ignore").dtype == np.int8
    assert tnp.ravel_multi_index((small, small), (2, 3), dtype="int32").dtype == np.int32
    with pytest.raises(ValueError, match="invalid entry"):
        tnp.ravel_multi_index((small, small), (1, 3))


def test_take_along_axis_without_counting_from_the_end():
    x, i = tnp.array([10.0, 20, 30]), tnp.array([-1, 1], "int8")
    assert tnp.take_along_axis(x, i, mode="clip", wrap_negative_indices=False).tolist() == [10, 20]
    assert np.array_equal(tnp.take_along_axis(x, i, wrap_negative_indices=False), [np.nan, 20], equal_nan=True)
    assert tnp.take_along_axis(x, i, wrap_negative_indices=True).tolist() == [30, 20]
    assert tnp.take_along_axis(x, tnp.array([2, 9]), mode="one_hot").tolist() == [30, 0]
    with pytest.raises(IndexError):
        tnp.take(tnp.ones((2, 0, 4)), tnp.array([0]), axis=1)


def test_reductions_refuse_what_they_cannot_mean():
    x = tnp.ones((2, 3, 4))
    for name in ("sum", "prod", "max", "min", "nanmax"):
        with pytest.raises(ValueError, match="initial value must be a scalar"):
            getattr(tnp, name)(x, axis=-1, initial=tnp.zeros((1, 2, 3)))
    with pytest.raises(ValueError, match="boolean"):
        tnp.nanmin(x, where=tnp.ones(4, int), initial=0)
    with pytest.raises(ValueError, match="imaginary"):
        tnp.var(x * 1j, dtype="float32")
    with pytest.raises(ValueError, match="correction"):
        tnp.var(x, ddof=1, correction=1)
    assert tnp.var(tnp.array([1.0, 2.0]), dtype="complex64").dtype == np.complex64
    assert tnp.argsort(tnp.array([2.0, 1.0]), dtype="int16").dtype == np.int16


def test_statistics_with_dtypes_weights_and_no_data():
    x = tnp.arange(5)
    assert tnp.cov(x, dtype="bfloat16").dtype == tnp.corrcoef(x, x, dtype="bfloat16").dtype == "bfloat16"
    for f in (tnp.cov, tnp.corrcoef):
        with pytest.raises(ValueError, match="subclass of float or complex"):
            f(x, x, dtype=int)
    assert np.isnan(np.asarray(tnp.cov(tnp.zeros((2, 0))))).all()
    a, weights = np.array([1, 2.0, np.nan, 4]), np.array([1, 1, 5.0, 2])
    for f, g in ((tnp.nanquantile, np.nanquantile), (tnp.quantile, np.quantile)):
        for q in (0.25, 0.5, 0.9):
            options = dict(weights=weights, method="inverted_cdf")
            assert np.array_equal(f(tnp.asarray(a), q, **options), g(a, q, **options), equal_nan=True)


def test_polynomials_divided_by_zero_are_not_zero():
    for u in ([0.0, 1, 2], [1.0, 1, 2]):
        quotient, rest = tnp.polydiv(tnp.array(u), tnp.array([0.0]))
        assert not np.isfinite(np.asarray(quotient)).any() and not np.isfinite(np.asarray(rest)).any()
    assert np.allclose(tnp.poly(np.array([[2.0, 1], [1, 2]])), [1, -4, 3])


def test_errors_of_arguments():
    with pytest.raises(ValueError, match="no order"):
        tnp.arange(1 + 2j, 5)
    for axes in ("ab", "abc", ([0], [0, 1])):
        with pytest.raises(TypeError, match="axes"):
            tnp.tensordot(tnp.ones((3, 2, 2)), tnp.ones(2), axes=axes)
    for options in (dict(left="none"), dict(right="none"), dict(period=np.array([1.0]))):
        with pytest.raises(ValueError):
            tnp.interp(0.0, tnp.arange(3.0), tnp.arange(3.0), **options)
    with pytest.raises(ValueError, match="order"):
        tnp.interp(1j, 1j * np.arange(3.0), np.arange(3.0))
    assert [x.shape for x in tnp.split(tnp.zeros((12, 2)), tnp.float32(2))] == [(6, 2), (6, 2)]


def test_vectorize_says_what_does_not_fit():
    matmat = tnp.vectorize(tnp.dot, signature="(n,m),(m,k)->(n,k)")
    two = tnp.zeros((2, 2))
    for kind, text, f in (
            (TypeError, "positional arguments", lambda: matmat(two)),
            (ValueError, "enough dimensions", lambda: matmat(tnp.zeros(2), two)),
            (ValueError, "core dimension 'm'", lambda: matmat(tnp.zeros((2, 3)), tnp.zeros((4, 5)))),
            (TypeError, "a tuple", lambda: tnp.vectorize(tnp.dot, signature="(n,m),(m,k)->(n,k),()")(two, two)),
            (TypeError, "output arguments", lambda: tnp.vectorize(lambda *a: a, signature="(),()->(),(),()")(1, 2)),
            (ValueError, "does not match", lambda: tnp.vectorize(tnp.dot, signature="(n,m),(m,k)->(n)")(two, two)),
            (ValueError, "core dimension 'n'", lambda: tnp.vectorize(tnp.dot, signature="(n,m),(m,k)->(n,n)")(tnp.zeros((2, 3)), tnp.zeros((3, 4)))),
            (ValueError, "Cannot pass None", lambda: tnp.vectorize(lambda x, y: x, signature="(k),(k)->(k)")(tnp.arange(3), None)),
            (TypeError, "numbers or names", lambda: tnp.vectorize(lambda x: x, excluded={1.5})),
            (ValueError, "negative", lambda: tnp.vectorize(lambda x: x, excluded={-1})),
            (ValueError, "is none such as", lambda: tnp.vectorize(lambda x: x, signature="(n->(k)"))):
        with pytest.raises(kind, match=text):
            f()
    assert tnp.vectorize(lambda x, y: x if y is None else x + y)(tnp.arange(3), None).tolist() == [0, 1, 2]
    assert matmat(tnp.ones((4, 2, 3)), tnp.ones((3, 5))).shape == (4, 2, 5)


def test_einsum_along_a_path():
    a = [tnp.arange(6.0).reshape(2, 3), tnp.ones((2, 4)), tnp.ones((2, 5))]
    wanted = np.einsum("ij,ik,il->jkl", *a)
    for path in ([(0, 1, 2)], [(0, 1), (0, 1)], ["einsum_path", (1, 2), (0, 1)]):
        assert np.allclose(tnp.einsum("ij,ik,il->jkl", *a, optimize=path), wanted)


def test_what_a_ufunc_is_cannot_be_changed():
    f = tnp.frompyfunc(lambda x, y: x, 2, 1, identity=0)
    for name in ("nin", "nout", "nargs", "identity"):
        with pytest.raises(AttributeError):
            setattr(f, name, 1)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_signs_and_spacing_by_bits(dtype):
    bits = np.dtype(f"u{np.dtype(dtype).itemsize}")
    top = 1 << (8 * bits.itemsize - 1)
    x = np.concatenate([np.array([0, 1, 2, top + 1, top + 2], bits).view(dtype), np.array([1, -1], dtype)])
    assert np.array_equal(tnp.spacing(x), np.spacing(x))
    assert tnp.isnan(tnp.spacing(np.array(np.inf, dtype)))
    x = np.array([np.nan, -np.nan, 0.0, -0.0, -np.inf], dtype)
    for f in (tnp.signbit, tn.jit(tnp.signbit)):
        assert np.array_equal(f(x), np.signbit(x))


def test_random_arguments():
    k = random.key(0)
    for seed in (2 ** 63, -2 ** 63 - 1):
        with pytest.raises(OverflowError):
            random.key(seed)
    with pytest.raises(ValueError):
        random.permutation(k, 10, axis=3)
    with pytest.raises(TypeError):
        random.permutation(k, 10.0)
    assert np.array_equal(tn.jit(random.permutation)(k, np.array(10)), random.permutation(k, 10))


def test_many_random_numbers_are_drawn_by_one_program(monkeypatch):
    from tenon.random import _draws

    key = random.key(3)
    for draw in (lambda: random.uniform(key, [40], "float32", -1, 3), lambda: random.bits(key, (40,)), lambda: random.randint(key, (40,), 0, 9),
                 lambda: random.normal(key, shape=40), lambda: random.bernoulli(key, 0.3, (40,), mode="high"),
                 lambda: random.bernoulli(key, np.full(40, 0.3), mode="high"), lambda: random.gumbel(key, (40,), "float32", "high")):
        monkeypatch.setattr(_draws, "_MANY", 2 ** 20)
        few = draw()
        monkeypatch.setattr(_draws, "_MANY", 1)
        many = draw()
        # A logarithm of what is rounded once is as far off as that is, however small it is.
        assert many.dtype == few.dtype and many.weak_type == few.weak_type and np.allclose(many, few, 1e-6, 2e-7)
    with pytest.raises(TypeError):
        random.uniform(key, (40,), "int32")


def test_integers_beside_floats_in_powers():
    assert tnp.power(tnp.float16(2), tnp.int32(3)).dtype == np.float16 and (tnp.array([2.0], "bfloat16") ** tnp.array([3])).dtype == "bfloat16"
    made = tnp.power(0.5, tnp.array(6, "uint32"))
    assert made.dtype == np.float64 and made.weak_type and made == 0.5 ** 6
    slope = tn.grad(lambda x: tnp.power(x, tnp.array(3)))(2.0)
    assert slope == 12


def test_dtypes_of_what_is_computed():
    for made, wanted in (
            (tnp.linspace(0, tnp.array([1, 2], "int8"), 3), "float32"), (tnp.linspace(tnp.zeros(2, "bfloat16"), 1, 3), "bfloat16"),
            (tnp.linspace(0, 5, 3, dtype="uint8", retstep=True)[1], "float32"), (tnp.histogram(tnp.ones(3, "bfloat16"))[1], "bfloat16"),
            (tnp.mean(tnp.array([0.9 + 0.1j]), dtype="int32"), "int32"), (tnp.nanprod(tnp.array([32, 63], "int16"), dtype=bool, initial=1), "bool"),
            (tnp.cov(tnp.array([[1, 2, 3]], "float32"), y=np.array([[3, -3, 3]])), "float32"),
            (tnp.ediff1d(tnp.array([1, 2], "uint32"), to_end=2.5), "uint32"), (tnp.angle(tnp.array([1], "int8")), "float64"),
            (tnp.polydiv(np.array([-5, -3], "int32"), np.array([0.25], "float16"))[0], "float16"),
            (tn.nn.softplus(np.array([1], "int8")), "float32"), (tn.nn.relu6(np.array([1], "int8")), "float64"),
            (tn.nn.leaky_relu(np.array([1], "int8"), np.float32(0.5)), "float32"), (tn.nn.gelu(np.array([1], "int8")), "float32"),
            (tn.nn.squareplus(np.array([1], "int8")), "float32"), (tn.nn.squareplus(np.array([1], "int8"), 0.5), "float64")):
        assert made.dtype == wanted


def test_convolution_of_infinities_and_polynomials():
    for a, v in (([1.0, 2], [np.inf, 1]), ([1.0, 2, 3], [0, 1, 0.5]), ([1.0], [2.0, 3.0]), ([1.0, np.nan, 2], [1.0, 1.0])):
        for mode in ("full", "same", "valid"):
            assert np.array_equal(tnp.convolve(np.array(a), np.array(v), mode), np.convolve(a, v, mode), equal_nan=True)
    assert tnp.polymul(np.array([1.0, 2]), 3).tolist() == [3, 6] and tnp.poly([]).shape == ()
    assert tnp.geomspace(1, -8, num=1, endpoint=False).tolist() == [1] and tnp.array(range(3)).tolist() == [0, 1, 2]


def test_what_two_sets_have_in_common():
    a, b = np.array([5, 2, 1, 2]), np.array([2, 3, 5])
    wanted = np.intersect1d(a, b, return_indices=True)
    for f in (lambda a, b: tnp.intersect1d(a, b, return_indices=True), tn.jit(lambda a, b: tnp.intersect1d(a, b, return_indices=True))):
        for got, w in zip(f(a, b), wanted):
            assert np.array_equal(got, w)
    made = tnp.intersect1d(a, b, return_indices=True, size=4)
    assert [x.tolist() for x in made] == [[2, 5, 2, 2], [1, 0, 4, 4], [0, 2, 3, 3]]
    assert tnp.intersect1d(a, b, size=4, fill_value=7).tolist() == [2, 5, 7, 7] and tnp.setxor1d(a, b, size=3).tolist() == [1, 3, 1]
    assert tnp.intersect1d(np.array([1, 2], ml_dtypes.bfloat16), np.array([2], "uint32"), return_indices=True)[0].tolist() == [2]


def test_kinds_of_errors():
    for kind, f in ((ValueError, lambda: tnp.signbit(1 + 2j)), (ValueError, lambda: tnp.i0(1 + 2j)), (TypeError, lambda: tnp.finfo(3)),
                    (ValueError, lambda: tnp.ix_(tnp.ones(()))), (ValueError, lambda: tnp.compress(np.array([True]), 1.0, axis=-1))):
        with pytest.raises(kind):
            f()
    assert not tnp.iscomplexobj(None) and tnp.isrealobj(None)
    assert tn.nn.logsumexp(tnp.zeros((3, 0)), b=tnp.zeros((3, 0))) == -np.inf


def test_memory_that_is_read_only_goes_to_other_libraries():
    shared = np.arange(3.0)
    shared.setflags(write=False)
    x = tnp.asarray(shared)
    assert x.__dlpack__(max_version=(0, 8)) is not None and x.__dlpack__() is not None
    with pytest.raises(BufferError):
        x.__dlpack__(copy=False)
    assert tnp.array([1.0, 2.0]).__dlpack__(copy=False) is not None


def test_conjugates_and_remainders_at_infinity():
    from tenon import lax

    assert lax.conj(np.float32(np.inf)) == np.inf
    made = lax.rem(tnp.array([np.inf, 1, 5], "bfloat16"), tnp.array([0, 0, 3], "bfloat16"))
    assert np.isnan(np.asarray(made[:2], "float32")).all() and made[2] == 2


def test_zeta_at_its_poles():
    from tenon import lax

    assert lax.zeta(2.0, np.array([0.0, -1.0, -np.inf])).tolist() == [np.inf] * 3 and np.isnan(np.asarray(lax.zeta(2.5, -0.5)))
    assert lax.polygamma(1.0, np.array([0.0, np.inf])).tolist() == [np.inf, 0]


def test_numbers_written_to_small_integers_and_complex_arrays():
    assert tnp.array([0, 5, 1], "int8").at[tnp.array([1, 2])].multiply(300).tolist() == [0, -36, 44]
    assert tnp.zeros((3, 0), "complex64").at[()].max(2.5).shape == (3, 0)
    assert tnp.zeros(0, "complex64").at[np.array([0, 8])].max(True, mode="fill").shape == (0,)
    assert tnp.array([1 + 1j, 3], "complex64").at[tnp.array([0, 1])].max(2.5).tolist() == [2.5, 3]
    assert tn.ops.segment_min(tnp.array([1j]), tnp.array([1]), 2).tolist() == [np.inf, 1j]
    assert int(tnp.zeros(2, "uint64").at[0].set(2 ** 64 - 1)[0]) == 2 ** 64 - 1


def test_interpolation_is_in_the_dtype_of_the_result():
    x, xp, fp = np.array([0.27], "float32"), np.array([-1.1, -0.4, 1.3], "float32"), np.array([-1.7, -1.41, 1.71], ml_dtypes.bfloat16)
    assert np.allclose(tnp.interp(x, xp, fp), np.interp(x, xp, fp.astype(float)), 1e-6)
    assert tnp.interp(np.zeros(2, "float16"), np.arange(3, dtype="float16"), np.arange(3, dtype="uint32")).dtype == np.float32
    weights = np.array([0.5, 0.25], "float16")
    assert tnp.histogram(np.array([1, 2], "int16"), weights=weights)[1].dtype == np.float16


def test_derivatives_of_products_by_indices_that_meet():
    with pytest.raises(NotImplementedError, match="may meet"):
        tn.jvp(lambda z: tnp.ones(3).at[tnp.array([0, 0])].mul(z), (tnp.ones(2),), (tnp.ones(2),))


def test_numbers_alone_have_the_precision_of_the_mode():
    for f in (tn.nn.relu6, tn.nn.sparse_plus, tn.scipy.special.entr, tnp.sinc, tnp.deg2rad):
        tn.config.x64 = False
        try:
            assert f(1.0).dtype == tn.jit(f)(1.0).dtype == np.float32 and f(1.0).weak_type
            value, pull = tn.vjp(f, 1.0)
            assert np.shape(pull(np.float32(1.0))[0]) == ()
        finally:
            tn.config.x64 = True
        assert f(1.0).dtype == np.float64


def test_shapes_that_are_ints_and_axes_of_fewer():
    assert tnp.broadcast_shapes(1, (2,), (3, 1)) == np.broadcast_shapes(1, (2,), (3, 1))
    y, x = np.arange(60.0).reshape(2, 3, 10) ** 2, np.sqrt(np.arange(30.0).reshape(3, 10))
    for axis in (-1, -2):
        assert np.allclose(tnp.trapezoid(y, x, axis=axis), np.trapezoid(y, x, axis=axis))


def test_what_is_no_number_is_refused():
    for error, wrong in [(ValueError, lambda: tn.lax.pad(np.zeros(2), np.zeros(2), [(0, 0, 0)])),
                         (TypeError, lambda: tn.lax.reduce_window(np.ones(4), np.ones(1), tn.lax.add, (2,))),
                         (ValueError, lambda: tnp.linalg.matrix_rank(np.ones((3, 3)), rtol=0.1, tol=0.1))]:
        with pytest.raises(error):
            wrong()


def test_complex_logarithms_of_running_sums():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, 2)) + 1j * rng.normal(size=(3, 2))
    for dtype, near in (("complex64", 1e-6), ("complex128", 1e-14)):
        for axis in (0, 1):
            got = tn.lax.cumlogsumexp(x.astype(dtype), axis=axis)
            assert got.dtype == dtype and np.allclose(np.exp(got), np.cumsum(np.exp(x), axis), near * 10, near)
    moved = tn.jvp(lambda t: tn.lax.cumlogsumexp(t, axis=0), (x,), (np.ones_like(x),))[1]
    assert np.allclose(moved, 1)
