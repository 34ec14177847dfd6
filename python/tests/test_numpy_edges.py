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
    with pytest.raises(NotImplementedError, match="eigenvalues"):
        tnp.poly(tnp.ones((2, 2)))


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
    with pytest.raises(ConcretizationError):
        tn.jit(random.permutation)(k, 10)
