"""Kinds of errors, ranges of integers, weak types and arguments that are checked: beside NumPy, or what JAX does, as literals."""

import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp
from tenon import lax, nn, random
from tenon.errors import (
    ConcretizationTypeError,
    JaxRuntimeError,
    KeyReuseError,
    LeakError,
    NonConcreteBooleanIndexError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
    UnexpectedTracerError,
)


@pytest.mark.parametrize("f, kind", [
    (lambda x: 1 if x > 0 else 2, TracerBoolConversionError),
    (lambda x: np.asarray(x), TracerArrayConversionError),
    (lambda x: np.sin(x), TracerArrayConversionError),
    (lambda x: [1, 2][x.astype(int)], TracerIntegerConversionError),
    (lambda x: range(x.astype(int)), TracerIntegerConversionError),
    (lambda x: tnp.sum(tnp.zeros((2, 2)), axis=x.astype(int)), TracerIntegerConversionError),
    (lambda x: float(x), ConcretizationTypeError),
])
def test_what_asks_for_a_traced_value_says_as_what(f, kind):
    with pytest.raises(kind) as caught:
        tn.jit(f)(1.0)
    assert isinstance(caught.value, TypeError) and isinstance(caught.value, tn.errors.ConcretizationError)


def test_kinds_by_the_names_of_jax():
    assert UnexpectedTracerError is LeakError and issubclass(LeakError, TypeError)
    assert issubclass(KeyReuseError, RuntimeError) and issubclass(JaxRuntimeError, RuntimeError)
    assert issubclass(tn.errors.MemoryError, JaxRuntimeError) and issubclass(tn.errors.MemoryError, MemoryError)
    with pytest.raises(NonConcreteBooleanIndexError) as caught:
        tn.vmap(lambda x: x[x > 0])(tnp.ones((2, 3)))
    assert isinstance(caught.value, IndexError) and isinstance(caught.value, ConcretizationTypeError)
    kept = []
    tn.jit(lambda x: kept.append(x))(1.0)
    with pytest.raises(UnexpectedTracerError):
        kept[0] + 1


@pytest.mark.parametrize("x, dtype", [
    ([300], "int8"), ([-1], "uint8"), ((1, [2, 300][1]), "int8"), ([[1, 2], [3, -129]], "int8"), ([np.int64(300)], "int8"),
    ([np.int64(300), 1], "int8"), ([True, 300], "int8"), (range(299, 301), "int8"), ([2 ** 31 + 5], "int32"), ([-1], "uint64"),
])
def test_integers_outside_a_dtype_in_sequences(x, dtype):
    for make in (tnp.array, tnp.asarray):
        with pytest.raises(OverflowError):
            make(x, dtype)


def test_elements_of_arrays_wrap_as_by_astype():
    given = np.array([300, -129])
    assert tnp.array(given, "int8").tolist() == given.astype("int8").tolist()
    assert tnp.array([given], "int8").tolist() == [given.astype("int8").tolist()]
    with pytest.raises(OverflowError):
        tnp.array([300, tnp.int8(1)], "int8")
    assert tnp.array([2 ** 63], "uint64").tolist() == [2 ** 63] and tnp.array([127, -128], "int8").tolist() == [127, -128]


def test_integers_outside_32_bits():
    with tn.enable_x64(False):
        for x in ([2 ** 31], [2 ** 40, 1], [-2 ** 40], [np.int64(2 ** 40)], (2 ** 31,)):
            with pytest.raises(OverflowError):
                tnp.array(x)
        assert tnp.array([2 ** 31], "uint32").tolist() == [2 ** 31]
        assert tnp.array([2 ** 40, tnp.float32(1)]).tolist() == [2.0 ** 40, 1.0]
        for made in (tnp.float32(2 ** 40), tnp.full((), 2 ** 40, "float32"), tnp.array(2 ** 40, "float32"),
                     tnp.array([2 ** 40], "float32")[0]):
            assert made.dtype == np.float32 and float(made) == 2.0 ** 40


def test_real_dtypes_take_any_integer():
    assert float(tnp.float64(2 ** 70)) == 2.0 ** 70 and tnp.full(2, 2 ** 70, "float64").tolist() == [2.0 ** 70] * 2
    assert tnp.array([2 ** 70, 1], "float64").tolist() == [2.0 ** 70, 1.0]
    assert complex(tnp.complex128(2 ** 70)) == 2.0 ** 70 and bool(tnp.bool_(2 ** 70))
    with pytest.raises(OverflowError):
        tnp.array([2 ** 70])


def test_weak_types_of_what_is_made_of_numbers():
    with tn.enable_x64(False):
        for made in (tnp.full((), 1.0), tnp.full_like(1.0, 2.0), tnp.stack([1.0, 2.0]), tnp.stack([1, 2.0]), tnp.hstack([1.0, 2.0]),
                     tnp.concatenate([tnp.full((1,), 2.0), tnp.full((1,), 2)]), tnp.einsum(",->", 1.0, 2.0), tnp.imag(1.0),
                     tnp.imag(1j), tnp.real(1j)):
            assert made.weak_type
        for made in (tnp.full((), 1.0, "float32"), tnp.full((), tnp.ones(())), tnp.full_like(tnp.ones(2), 2.0),
                     tnp.full_like(1.0, 2.0, dtype=float), tnp.stack([1.0, 2.0], dtype=float), tnp.array([1.0, 2.0]),
                     tnp.concatenate([tnp.ones(1), tnp.full((1,), 2.0)]), nn.gelu(1.0), nn.gelu(1.0, approximate=False)):
            assert not made.weak_type


@pytest.mark.parametrize("x", [
    np.array([5e-324, -5e-324, 2.5e-310, 2.2250738585072014e-308, 0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -6.0, 1.7e308]),
    np.array([1e-45, 1e-40, -1e-40, 1.1754944e-38, 0.0, np.inf, np.nan, 3.0, 3.4e38], np.float32),
    np.array([6e-8, 1.0, -0.75, 65504.0], np.float16),
])
def test_frexp_and_ldexp_of_subnormal_numbers(x):
    m, n = np.frexp(x)
    back = np.array([1e-30, 4.0], x.dtype)
    for run in (lambda f: f, tn.jit):
        made = run(tnp.frexp)(x)
        assert np.array_equal(np.asarray(made[0]).view(f"u{x.itemsize}"), m.view(f"u{x.itemsize}"))
        assert np.array_equal(made[1], np.where(np.isfinite(x), n, 0))
        up = 60 if x.itemsize > 2 else 5
        small = x[np.abs(x) < 1]
        assert np.array_equal(run(tnp.ldexp)(small, up), np.ldexp(small, up))
        assert np.array_equal(run(tnp.ldexp)(*run(tnp.frexp)(back)), back)
    slope = tn.grad(lambda x: tnp.frexp(x)[0])(x.dtype.type(6.0))
    assert float(slope) == 0.125


@pytest.mark.parametrize("call, kind", [
    (lambda: random.choice(random.key(0), 3, p=tnp.ones(2)), ValueError),
    (lambda: random.choice(random.key(0), 3, (2,), p=tnp.ones(5) / 5), ValueError),
    (lambda: random.choice(random.key(0), tnp.zeros((2, 3)), (2,), axis=1, p=tnp.ones(2)), ValueError),
    (lambda: random.choice(random.key(0), 0), ValueError),
    (lambda: random.choice(random.key(0), -2), ValueError),
    (lambda: random.choice(random.key(0), 3, (5,), replace=False, p=tnp.ones(3) / 3), ValueError),
    (lambda: tnp.compress(tnp.array([True, False, True]), tnp.array([5.0, 6.0])), ValueError),
    (lambda: lax.polygamma(tnp.ones(3), tnp.ones(2)), TypeError),
    (lambda: lax.zeta(tnp.ones(3) + 1, tnp.ones(2)), TypeError),
    (lambda: tnp.std(tnp.arange(3.0), dtype=int), ValueError),
    (lambda: random.PRNGKey(1.5), TypeError),
    (lambda: random.key("a"), TypeError),
    (lambda: tnp.where(tnp.ones(2) > 0, tnp.ones(2)), TypeError),
    (lambda: tnp.delete(tnp.arange(3), 9), ValueError),
    (lambda: tnp.delete(tnp.arange(3), 9), IndexError),
    (lambda: lax.stack([tnp.ones((2, 3)), tnp.ones(2)]), ValueError),
    (lambda: tnp.fill_diagonal(tnp.ones((2, 2)), 1.0), NotImplementedError),
    (lambda: tnp.linalg.norm(tnp.ones((2, 2)), ord="z"), ValueError),
    (lambda: tnp.sort(tnp.ones(2), kind="zz"), TypeError),
    (lambda: tnp.argsort(tnp.ones(2), kind="zz"), TypeError),
    (lambda: tnp.ldexp(1, 1.5), ValueError),
    (lambda: tnp.ldexp(1j, 1), ValueError),
    (lambda: tnp.meshgrid(tnp.ones((2, 2))), ValueError),
    (lambda: tnp.cov(tnp.ones((2, 2, 2))), ValueError),
    (lambda: tnp.cov(tnp.ones((2, 2)), tnp.ones((2, 2, 2))), ValueError),
    (lambda: tn.jvp(lambda x: x, (1.0,), (1,)), TypeError),
    (lambda: tn.jvp(lambda x: x, (1.0,), (1j,)), TypeError),
    (lambda: tn.vjp(lambda x: x, 1.0)[1](1), ValueError),
    (lambda: tn.vjp(lambda x: x, 1.0)[1](1j), ValueError),
])
def test_kinds_of_errors_are_those_of_jax(call, kind):
    with pytest.raises(kind):
        call()


def test_what_is_allowed_beside_those():
    assert random.choice(random.key(0), 0, (0,)).shape == (0,)
    assert tnp.compress(tnp.array([True, False, False]), tnp.array([5.0, 6.0])).tolist() == [5.0]
    assert tnp.compress(tnp.array([True, False, True]), tnp.array([5.0, 6.0]), size=2, fill_value=7).tolist() == [5.0, 7.0]
    assert tnp.sort(tnp.array([2, 1]), kind="stable").tolist() == [1, 2]
    assert float(tnp.ldexp(1.0, True)) == 2.0


@pytest.mark.parametrize("axes", [([1, 0],), (1, 0), (np.array([1, 0]),), (np.int64(1), np.int64(0)), ()])
def test_axes_of_the_method_transpose(axes):
    x = tnp.zeros((2, 3))
    assert x.transpose(*axes).shape == (3, 2)
    if len(axes) == 1:
        assert x.transpose(tnp.array([1, 0])).shape == (3, 2)
    assert x.transpose(None).shape == (3, 2) and tnp.float32(1).transpose().shape == ()


def test_bools_are_numbers_of_the_default_dtype():
    for f in (nn.softplus, nn.mish, nn.elu):
        assert f(tnp.array([True])).dtype == np.float64
    with tn.enable_x64(False):
        assert nn.softplus(tnp.array([True])).dtype == np.float32


def test_attributes_of_arrays_and_limits():
    assert [tnp.finfo(d).machep for d in ("float16", "float32", "float64")] == [-10, -23, -52]
    assert tnp.ones(2).is_fully_addressable is True and tnp.ones(2).copy_to_host_async() is None
