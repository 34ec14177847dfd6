"""Floats of 8 bits: conversions beside ml_dtypes' and correct rounding, promotion and arithmetic beside JAX's, products, files,
other libraries' arrays."""

import itertools
import os

import ml_dtypes
import numpy as np
import pytest

import tenon
from tenon import export, files, grad, jit, lax, nn, random, vmap
from tenon import numpy as tnp
from tenon.errors import DTypeError

NAMES = ("float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz")
SCALE = "float8_e8m0fnu"   # powers of two: no arithmetic
ALL = (*NAMES, SCALE)
FLOATS = ("float16", "bfloat16", "float32", "float64")
CODES = np.arange(256, dtype=np.uint8)


def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, name, None) or name)


def all_of(name):
    return CODES.view(dtype_of(name))


def same(got, want):
    """The same numbers with the same signs, and NaN where it is wanted, with its sign too."""
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape
    wide = np.float64
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(got.astype(wide), want.astype(wide))
        np.testing.assert_array_equal(np.signbit(got.astype(wide)), np.signbit(want.astype(wide)))


def converted(x, dtype):
    """By ml_dtypes; of float64 correctly rounded, where ml_dtypes goes through float32: by the nearest of all numbers."""
    if x.dtype != np.float64 or not dtype.name.startswith("float8"):
        with np.errstate(all="ignore"):
            return x.astype(dtype)
    with np.errstate(all="ignore"):  # rounded to odd, from which 8 bits are rounded right
        kept = np.array(x, np.float32)
        away = np.abs(kept.astype(np.float64)) > np.abs(x)
    bits = kept.view(np.uint32).copy()
    bits[away] -= 1
    bits[(kept != x) & ~np.isnan(x)] |= 1
    with np.errstate(all="ignore"):
        return bits.view(np.float32).astype(dtype)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("to", FLOATS)
def test_every_code_is_ml_dtypes_number(name, to):
    x, dtype = all_of(name), dtype_of(to)
    for f in (lambda a: a.astype(dtype), jit(lambda a: a.astype(dtype))):
        wide = f(x)
        same(wide, converted(x, dtype))
        back = np.asarray(wide.astype(name))
        assert back.dtype == dtype_of(name)
        np.testing.assert_array_equal(back.view(np.uint8), np.asarray(wide).astype(dtype_of(name)).view(np.uint8))


@pytest.mark.parametrize("name", ALL)
def test_numbers_become_the_codes_of_ml_dtypes(name):
    dtype = dtype_of(name)
    rng = np.random.default_rng(5)
    halves = [np.arange(0x10000, dtype=np.uint16).view(d) for d in (np.float16, ml_dtypes.bfloat16)]
    finite = all_of(name).astype(np.float64)
    finite = np.unique(finite[np.isfinite(finite)])
    ties = (finite[1:] + finite[:-1]) / 2
    beyond = finite[-1] + (finite[-1] - finite[-2]) / 2
    ends = np.array([beyond, -beyond, np.inf, -np.inf, np.nan, -np.nan, 0.0, -0.0, 1e30, 1e-30, -1e-30])
    bits = rng.integers(0, 2**32, 50000, dtype=np.uint32)
    wide = [np.concatenate([v, np.nextafter(v, np.inf), np.nextafter(v, -np.inf)]) for v in (ties, ends)]
    single = [np.concatenate([v, np.nextafter(v, np.float32(np.inf)), np.nextafter(v, np.float32(-np.inf))])
              for v in (ties.astype(np.float32), ends.astype(np.float32))]
    drawn = rng.normal(size=50000) * 2.0 ** rng.integers(-20, 20, 50000)
    values = [*halves, *wide, *single, bits.view(np.float32), rng.integers(0, 2**64, 50000, dtype=np.uint64).view(np.float64),
              drawn, drawn.astype(np.float32)]
    for x in values:
        want = converted(x, dtype).view(np.uint8)
        for f in (lambda a: tnp.asarray(a).astype(name), jit(lambda a: a.astype(name))):
            got = np.asarray(f(x))
            assert got.dtype == dtype
            np.testing.assert_array_equal(got.view(np.uint8), want, err_msg=f"{x.dtype}")


@pytest.mark.parametrize("name", ALL)
def test_integers_and_truths(name):
    for x in (np.arange(-128, 128, dtype=np.int8), np.arange(0, 70000, 37, dtype=np.int32), np.array([False, True])):
        same(tnp.asarray(x).astype(name), x.astype(np.float32).astype(dtype_of(name)))
        same(jit(lambda a: a.astype(name))(x), x.astype(np.float32).astype(dtype_of(name)))
    numbers = all_of(name).astype(np.float32)
    assert tnp.asarray(all_of(name)).astype(bool).tolist() == (numbers != 0).tolist()
    want = np.clip(np.nan_to_num(np.trunc(numbers), nan=0), -128, 127).astype(np.int8)
    np.testing.assert_array_equal(tnp.asarray(all_of(name)).astype("int8"), want)


@pytest.mark.parametrize("name", NAMES)
def test_arrays_go_in_and_out(name):
    dtype = dtype_of(name)
    x = all_of(name).reshape(2, 8, 16)
    for given in (x, x[:, ::2, ::-3], x[0, 0, 0], x[:0], x.T):
        array = tnp.asarray(given)
        assert array.dtype == dtype and array.dtype == getattr(tnp, name) and array.shape == given.shape
        out = np.asarray(array)
        assert out.dtype == dtype
        np.testing.assert_array_equal(out.view(np.uint8), np.ascontiguousarray(given).reshape(given.shape).view(np.uint8))
    assert tnp.zeros((2, 3), name).dtype == dtype and getattr(tnp, name)(1.5).item() == 1.5
    assert tnp.array([1.5, 0.25], name).tolist() == [1.5, 0.25]
    assert f"dtype={name}" in repr(tnp.array([1.5], name)) and "1.5" in repr(tnp.array([1.5], name))
    assert tnp.dtype(name) == dtype and lax.bitcast_convert_type(tnp.asarray(x), "uint8").dtype == np.uint8
    np.testing.assert_array_equal(lax.bitcast_convert_type(lax.bitcast_convert_type(x, "uint8"), name).view("uint8"), CODES.reshape(x.shape))
    with pytest.raises(BufferError, match=f"{name} has no format"):
        memoryview(tnp.asarray(x))


@pytest.mark.parametrize("name", ALL)
def test_limits_and_kinds(name):
    got, want = tnp.finfo(name), ml_dtypes.finfo(dtype_of(name))
    for field in ("bits", "eps", "epsneg", "max", "min", "tiny", "smallest_normal", "smallest_subnormal", "resolution", "precision",
                  "machep", "nmant", "nexp", "maxexp", "minexp"):
        assert getattr(got, field) == float(getattr(want, field)), field
    assert tnp.issubdtype(getattr(tnp, name), tnp.floating) and tnp.issubdtype(name, tnp.inexact)
    assert not tnp.issubdtype(name, tnp.integer) and not tnp.issubdtype(name, tnp.float32)
    assert tnp.isdtype(name, "real floating") and not tnp.isdtype(name, "integral")
    for other in ("bool", "int8", "float16", "float32", "float64", "bfloat16", "complex64", *ALL):
        assert tnp.can_cast(name, other) == np.can_cast(dtype_of(name), dtype_of(other)), other
        assert tnp.can_cast(other, name) == np.can_cast(dtype_of(other), dtype_of(name)), other


OTHERS = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", *FLOATS, "complex64", "complex128")


def test_promotion_is_jax():
    jax = pytest.importorskip("jax")
    with jax.experimental.enable_x64() if not hasattr(jax, "enable_x64") else jax.enable_x64(True):
        for a, b in itertools.product(ALL, (*OTHERS, *ALL, int, float, complex)):
            for pair in ((a, b), (b, a)):
                try:
                    want = jax.numpy.promote_types(*pair)
                except (ValueError, TypeError):
                    with pytest.raises(DTypeError, match="have no dtype in which they meet"):
                        tnp.promote_types(*pair)
                    with pytest.raises(DTypeError):
                        tnp.result_type(*pair)
                else:
                    assert tnp.promote_types(*pair) == want == tnp.result_type(*pair), pair


def test_what_does_not_meet_says_so():
    x, wide, other = tnp.ones(3, "float8_e4m3fn"), tnp.ones(3, "float32"), tnp.ones(3, "float8_e5m2")
    for f in (lambda: x + wide, lambda: x * other, lambda: tnp.where(True, x, wide), lambda: tnp.concatenate([x, wide]),
              lambda: tnp.maximum(x, other), lambda: x @ other, lambda: tnp.matmul(x, wide), lambda: x * 1j, lambda: tnp.dot(x, other),
              lambda: tnp.tensordot(x, other, 1), lambda: tnp.inner(x, other), lambda: tnp.outer(x, other), lambda: tnp.einsum("i,i->", x, other)):
        with pytest.raises(DTypeError, match="have no dtype in which they meet"):
            f()
    with pytest.raises(DTypeError, match=r"convert\(x, dtype\)"):
        x + wide
    assert (x + 1).dtype == (x * 1.5).dtype == (x + tnp.ones(3, "int32")).dtype == (x + (wide > 0)).dtype == tnp.float8_e4m3fn


ARITHMETIC = {
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "div": lambda x, y: x / y,
    "numbers": lambda x, y: x * 1.5 + 1, "maximum": lambda x, y: tnp.maximum(x, y), "neg": lambda x, y: -x, "abs": lambda x, y: abs(x),
    "floor": lambda x, y: tnp.floor(x), "less": lambda x, y: x < y, "equal": lambda x, y: x == y, "isnan": lambda x, y: tnp.isnan(x),
    "isinf": lambda x, y: tnp.isinf(x), "isfinite": lambda x, y: tnp.isfinite(x), "where": lambda x, y: tnp.where(x > y, x, y),
    "sort": lambda x, y: tnp.sort(x), "nextafter": lambda x, y: lax.nextafter(x, y),
    "concatenate": lambda x, y: tnp.concatenate([x, y]), "take": lambda x, y: tnp.take(x, tnp.array([255, 0, 127, 128])),
    "set": lambda x, y: x.at[3:7].set(y[:4]), "max": lambda x, y: tnp.max(tnp.where(tnp.isnan(x), 0, x)),
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("case", ARITHMETIC)
def test_arithmetic_is_jax(name, case):
    jax = pytest.importorskip("jax")
    x, y = all_of(name), np.roll(all_of(name)[::-1], 77)
    f = ARITHMETIC[case]
    globals_of = dict(f.__globals__, tnp=jax.numpy, lax=jax.lax)
    want = np.asarray(type(f)(f.__code__, globals_of)(jax.numpy.asarray(x), jax.numpy.asarray(y)))
    if case == "sort":   # JAX has the NaN of some formats, whose code is that of -0, in front
        want = np.sort(x.astype(np.float32)).astype(x.dtype)
    for got in (f(tnp.asarray(x), tnp.asarray(y)), jit(f)(x, y)):
        got = np.asarray(got)
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got.astype(np.float32), want.astype(np.float32))


@pytest.mark.parametrize("name", NAMES)
def test_functions_are_rounded_once(name):
    x = all_of(name)
    wide = x.astype(np.float32)
    with np.errstate(all="ignore"):
        for ours, numpys in ((tnp.sqrt, np.sqrt), (tnp.exp, np.exp), (tnp.tanh, np.tanh), (tnp.cbrt, np.cbrt), (tnp.log1p, np.log1p),
                             (tnp.rint, np.rint), (tnp.sin, np.sin)):
            for f in (ours, jit(ours)):
                same_numbers(f(tnp.asarray(x)), numpys(wide.astype(np.float64)).astype(np.float32).astype(dtype_of(name)))
        np.testing.assert_array_equal(tnp.signbit(tnp.asarray(x)), CODES >= 128)
        same_numbers(tnp.spacing(tnp.asarray(x)), np.spacing(np.where(x == 0, abs(x), x)))
        fraction, exponent = tnp.frexp(tnp.asarray(x))
        same_numbers(tnp.ldexp(fraction, exponent), x)
        same_numbers(tnp.ldexp(tnp.asarray(x), -3), np.ldexp(wide, -3).astype(dtype_of(name)))
        limit = float(ml_dtypes.finfo(dtype_of(name)).max)
        same_numbers(tnp.nan_to_num(tnp.asarray(x)), np.nan_to_num(wide, posinf=limit, neginf=-limit).astype(dtype_of(name)))


def same_numbers(got, want):
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got.astype(np.float32), want.astype(np.float32))


@pytest.mark.parametrize("name", NAMES)
def test_what_computes_beside_sizes_and_weights(name):
    dtype = dtype_of(name)
    x = tnp.array([0.25, 1.0, 0.5, np.nan, 2.0], name)
    numbers = x[tnp.array([0, 1, 2, 4])]
    same(tnp.linspace(0, 2, 5, dtype=name), np.linspace(0, 2, 5).astype(dtype))
    counts, edges = tnp.histogram(numbers, 4, (0, 2))
    assert edges.dtype == dtype and counts.tolist() == [1, 1, 1, 1]
    assert tnp.nanmedian(x).item() == 0.75 and tnp.median(numbers).dtype == dtype
    assert tnp.average(numbers, weights=tnp.array([1, 0, 1, 0], name)).item() == 0.375
    assert tnp.percentile(numbers, 50).item() == 0.75 and tnp.nanmax(x).item() == 2
    assert tnp.cumsum(numbers).dtype == tnp.var(numbers).dtype == tnp.interp(numbers, numbers, numbers).dtype == dtype


@pytest.mark.parametrize("name", NAMES)
def test_softmax_and_masks(name):
    rng = np.random.default_rng(8)
    x = rng.normal(size=(4, 9)).astype(dtype_of(name))
    mask = rng.random((4, 9)) < 0.7
    mask[:, 0] = True
    wide = np.where(mask, x.astype(np.float64), -np.inf)
    weights = np.exp(wide - wide.max(-1, keepdims=True))
    want = (weights / weights.sum(-1, keepdims=True)).astype(np.float32)
    got = nn.softmax(tnp.asarray(x), where=mask)
    assert got.dtype == dtype_of(name)
    eps = float(ml_dtypes.finfo(dtype_of(name)).eps)
    least = float(ml_dtypes.finfo(dtype_of(name)).smallest_subnormal)
    assert np.all(np.abs(np.asarray(got).astype(np.float32) - want) <= eps * want * 0.51 + least * 0.51 + 1e-6)
    total = nn.logsumexp(tnp.asarray(x), -1, where=mask)
    assert np.all(np.abs(np.asarray(total).astype(np.float32) - (wide.max(-1) + np.log(weights.sum(-1)))) <= 4 * eps)


@pytest.mark.parametrize("name", NAMES)
def test_sums_and_scans(name):
    x = tnp.array([0.5, 1.0, -2.0, 3.5, 0.25, 1.5], name)
    wide = np.asarray(x).astype(np.float32)
    assert tnp.sum(x).item() == np.asarray(wide.sum()).astype(dtype_of(name)) and tnp.sum(x).dtype == dtype_of(name)
    assert tnp.sum(tnp.ones(1000, name), dtype="float32").item() == 1000
    steps, last = [], np.zeros((), dtype_of(name))
    for e in np.asarray(x):
        last = (last + e).astype(dtype_of(name))
        steps.append(float(last))

    def step(c, e):
        return c + e, c + e

    assert lax.scan(step, tnp.zeros((), name), x)[1].tolist() == steps == jit(lambda a: lax.scan(step, a[0] * 0, a)[1])(x).tolist()
    got = vmap(lambda a, b: a * b + 1)(x, x)
    np.testing.assert_array_equal(np.asarray(got), np.asarray(x * x + 1))


@pytest.mark.parametrize("name", NAMES)
def test_derivatives(name):
    x = tnp.array([0.5, -1.0, 1.5], name)
    for f in (lambda a: (a.astype("float32") ** 2).sum(), lambda a: (a * a).sum()):
        for slope in (grad(f)(x), jit(grad(f))(x), vmap(grad(f))(x[:, None])[:, 0]):
            assert slope.dtype == dtype_of(name) and slope.tolist() == [1.0, -2.0, 3.0]
    stored = grad(lambda a: (a.astype(name).astype("float32") ** 2).sum())(tnp.array([0.5, -1.0], "float32"))
    assert stored.dtype == np.float32 and stored.tolist() == [1.0, -2.0]


@pytest.mark.parametrize("a, b", [(n, n) for n in NAMES] + [("float8_e4m3fn", "float8_e5m2"), ("float8_e5m2", "float8_e4m3fn"),
                                                            ("float8_e4m3fn", "bfloat16"), ("float8_e5m2", "float32")])
@pytest.mark.parametrize("preferred", [None, "float32", "bfloat16"])
def test_products(a, b, preferred):
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(40, 70)).astype(dtype_of(a)), rng.normal(size=(70, 50)).astype(dtype_of(b))
    want = x.astype(np.float64) @ y.astype(np.float64)
    dims = (((1,), (0,)), ((), ()))

    def f(x, y):
        return lax.dot_general(x, y, dims, preferred_element_type=preferred)

    for got in (f(x, y), jit(f)(x, y), vmap(f)(x[None], y[None])[0]):
        if preferred is not None:
            assert got.dtype == dtype_of(preferred)
        elif a == b:
            assert got.dtype == dtype_of(a)
        info = ml_dtypes.finfo(np.asarray(got).dtype)
        wide = np.clip(want, float(info.min), float(info.max))
        # A rounding of the result, where that is normal; of the sum in float32.
        slack = float(info.eps) * np.maximum(np.abs(wide), float(info.tiny)) * 0.5001 + 1e-4
        fits = np.abs(want) < float(info.max)
        assert np.all(np.abs(np.asarray(got).astype(np.float64) - want)[fits] <= slack[fits])


def test_products_have_the_dtype_of_jax():
    jax = pytest.importorskip("jax")
    dims = (((0,), (0,)), ((), ()))
    for a, b in itertools.product(NAMES, (*NAMES, "bfloat16", "float16", "float32")):
        x, y = np.ones(3, dtype_of(a)), np.ones(3, dtype_of(b))
        for pair in ((x, y), (y, x)):
            try:
                want = jax.lax.dot_general(*pair, dims).dtype
            except TypeError:
                with pytest.raises(DTypeError):
                    lax.dot_general(*pair, dims)
            else:
                assert lax.dot_general(*pair, dims).dtype == want, (a, b)


@pytest.mark.parametrize("a, b", [("float8_e4m3fn", "float8_e4m3fn"), ("float8_e5m2", "float8_e4m3fn")])
def test_scaled_products(a, b):
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(2, 4, 32)).astype(dtype_of(a)), rng.normal(size=(2, 5, 32)).astype(dtype_of(b))
    of_x, of_y = (2.0 ** rng.integers(-2, 3, (2, n, 2)).astype(np.float32) for n in (4, 5))
    wide = [v.astype(np.float64) * np.repeat(s, 16, -1) for v, s in ((x, of_x), (y, of_y))]
    want = np.einsum("bmk,bnk->bmn", *wide)
    for f in (nn.scaled_matmul, jit(lambda *of: nn.scaled_matmul(*of))):
        np.testing.assert_allclose(f(x, y, of_x, of_y), want, rtol=1e-5, atol=1e-5)
        # Scales of 8 bits.
        np.testing.assert_allclose(f(x, y, *(s.astype(ml_dtypes.float8_e5m2) for s in (of_x, of_y))), want, rtol=1e-5, atol=1e-5)
    plain = lax.scaled_dot(x, y.swapaxes(1, 2), preferred_element_type="float32")
    np.testing.assert_allclose(plain, np.einsum("bmk,bnk->bmn", x.astype(np.float64), y.astype(np.float64)), rtol=1e-5, atol=1e-5)


def test_scaled_dot_is_jax():
    jax = pytest.importorskip("jax")
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(4, 32)).astype(ml_dtypes.float8_e4m3fn), rng.normal(size=(32, 5)).astype(ml_dtypes.float8_e4m3fn)
    scales = (2.0 ** rng.integers(-2, 3, (4, 1))).astype(np.float32), (2.0 ** rng.integers(-2, 3, (1, 5))).astype(np.float32)
    try:
        want = jax.lax.scaled_dot(x, y, lhs_scale=scales[0].astype(ml_dtypes.bfloat16), rhs_scale=scales[1].astype(ml_dtypes.bfloat16),
                                  preferred_element_type="float32")
    except (NotImplementedError, TypeError, ValueError) as why:
        pytest.skip(f"JAX: {why}")
    got = lax.scaled_dot(x, y, lhs_scale=scales[0], rhs_scale=scales[1], preferred_element_type="float32")
    np.testing.assert_allclose(got, want, rtol=1e-2, atol=1e-2)


def test_random_numbers_are_jax():
    jax = pytest.importorskip("jax")
    if jax.random.bits(jax.random.key(0), (), "uint8") != random.bits(random.key(0), (), "uint8"):
        pytest.skip("JAX draws other bits")
    for name in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz"):
        want = np.asarray(jax.random.uniform(jax.random.key(3), (200,), name))
        np.testing.assert_array_equal(np.asarray(random.uniform(random.key(3), (200,), name)).view(np.uint8), want.view(np.uint8))
        assert random.normal(random.key(3), (5,), name).dtype == dtype_of(name)


@pytest.mark.parametrize("name", NAMES)
def test_files_and_programs(name, tmp_path):
    x = tnp.asarray(all_of(name))
    if name in ("float8_e4m3fn", "float8_e5m2"):
        files.save(tmp_path / "x.safetensors", {"a": x})
        back = files.load(tmp_path / "x.safetensors")["a"]
        np.testing.assert_array_equal(np.asarray(back).view(np.uint8), CODES)
    else:
        with pytest.raises(ValueError, match=name):
            files.save(tmp_path / "x.safetensors", {"a": x})
    made = export.export(jit(lambda a: a * x + 1))(tenon.ShapeDtypeStruct((256,), name))
    again = export.deserialize(made.serialize())
    np.testing.assert_array_equal(np.asarray(again.call(x)).view(np.uint8), np.asarray(jit(lambda a: a * x + 1)(x)).view(np.uint8))


@pytest.mark.parametrize("name", ALL)
def test_dlpack(name):
    x = tnp.asarray(all_of(name))
    np.testing.assert_array_equal(np.asarray(tnp.from_dlpack(x)).view(np.uint8), CODES)
    with pytest.raises((BufferError, RuntimeError, TypeError)):
        np.from_dlpack(x)   # NumPy itself has no such dtype
    jax = pytest.importorskip("jax")
    back = tnp.from_dlpack(jax.numpy.asarray(all_of(name)))
    assert back.dtype == dtype_of(name)
    np.testing.assert_array_equal(np.asarray(back).view(np.uint8), CODES)
    there = jax.dlpack.from_dlpack(x)
    np.testing.assert_array_equal(np.asarray(there).view(np.uint8), CODES)


STORED = {
    "where": lambda x: tnp.where(x > x[::-1], x, x[::-1]), "less": lambda x: x <= x[::-1], "equal": lambda x: x == x, "isnan": lambda x: tnp.isnan(x),
    "take": lambda x: tnp.take(x, tnp.array([255, 3, 0, 128])), "set": lambda x: x.at[3:5].set(x[100:102]), "sort": lambda x: tnp.sort(x),
    "concatenate": lambda x: tnp.concatenate([x, x[:0], x]), "reshape": lambda x: tnp.reshape(x, (16, 16)).T, "argsort": lambda x: tnp.argsort(x),
    "scaled": lambda x: (x.astype("float32") * 3).astype("float8_e8m0fnu"), "bytes": lambda x: x.view("uint8"),
}


@pytest.mark.parametrize("case", STORED)
def test_scales_are_stored(case):
    jax = pytest.importorskip("jax")
    f, x = STORED[case], all_of(SCALE)
    want = np.asarray(type(f)(f.__code__, dict(f.__globals__, tnp=jax.numpy))(jax.numpy.asarray(x)))
    for got in (f(tnp.asarray(x)), jit(f)(x)):
        got = np.asarray(got)
        keep = slice(None) if case != "scaled" else slice(1, None)   # code of float32 has 0 for 2**-127
        assert got.dtype == want.dtype or case == "argsort"
        np.testing.assert_array_equal(got.astype(np.float64)[keep], want.astype(np.float64)[keep])


def test_scales_go_in_and_out(tmp_path):
    x = tnp.asarray(all_of(SCALE))
    np.testing.assert_array_equal(np.asarray(x[::-3].reshape(2, 43)).view(np.uint8), CODES[::-3].reshape(2, 43))
    assert tnp.array([1.0, 0.25, 3.0, 1.4], SCALE).tolist() == [1.0, 0.25, 4.0, 1.0] and tnp.float8_e8m0fnu(2).item() == 2
    assert np.isnan(np.asarray(tnp.array([0.0, -1.0, np.inf, 3e38], SCALE)).astype(np.float32)).all()
    assert tnp.asarray(1e-45, "float32").astype(SCALE).item() == 2.0**-127
    assert f"dtype={SCALE}" in repr(x[100:102]) and tnp.zeros(0, SCALE).shape == (0,) and x[5].shape == ()
    files.save(tmp_path / "x.safetensors", {"scales": x})
    np.testing.assert_array_equal(np.asarray(files.load(tmp_path / "x.safetensors")["scales"]).view(np.uint8), CODES)
    made = export.export(jit(lambda a: tnp.where(a > x, a, x)))(tenon.ShapeDtypeStruct((256,), SCALE))
    np.testing.assert_array_equal(np.asarray(export.deserialize(made.serialize()).call(x)).view(np.uint8), CODES)


def test_scales_have_no_arithmetic():
    x = tnp.array([1.0, 2.0], SCALE)
    for f in (lambda: x + x, lambda: -x, lambda: x * 2, lambda: tnp.sum(x), lambda: tnp.maximum(x, x), lambda: tnp.sqrt(x), lambda: tnp.max(x),
              lambda: random.normal(random.key(0), (2,), SCALE)):
        with pytest.raises(DTypeError):
            f()
    with pytest.raises(DTypeError, match=r"no sign and no zero: convert it to f32"):
        x * x
    with pytest.raises(DTypeError, match="have no dtype in which they meet"):
        tnp.where(True, x, tnp.ones(2, "float32"))
    with pytest.raises((DTypeError, TypeError, tenon.errors.DifferentiationError)):
        grad(lambda s: s.astype("float32").sum())(x)
    assert grad(lambda a: (a * x.astype("float32")).sum())(tnp.ones(2, "float32")).tolist() == [1.0, 2.0]


def test_products_of_blocks_with_scales():
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(8, 64)).astype(ml_dtypes.float8_e4m3fn), rng.normal(size=(64, 6)).astype(ml_dtypes.float8_e5m2)
    of_a, of_b = (2.0 ** rng.integers(-3, 4, shape) for shape in ((8, 2), (2, 6)))
    want = (a.astype(np.float64) * np.repeat(of_a, 32, 1)) @ (b.astype(np.float64) * np.repeat(of_b, 32, 0))
    for f in (lax.scaled_dot, jit(lax.scaled_dot, static_argnames="preferred_element_type")):
        got = f(a, b, lhs_scale=of_a.astype(dtype_of(SCALE)), rhs_scale=of_b.astype(dtype_of(SCALE)), preferred_element_type="float32")
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-4)


def test_nothing_else_has_8_bits():
    for name in ("float4_e2m1fn", "int4"):
        with pytest.raises(DTypeError):
            tnp.zeros(2, dtype_of(name))


def test_found_nans():
    with tenon.debug_nans(True), pytest.raises(FloatingPointError, match="nan"):
        x = tnp.asarray(np.array([0.0], ml_dtypes.float8_e4m3fnuz))
        np.asarray(x / x)
    assert os.environ.get("TENON_CACHE") == "off"
