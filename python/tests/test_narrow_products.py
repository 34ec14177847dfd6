"""Products of float16, bfloat16 and bytes: values beside NumPy's of float64 and int64, preferred dtypes, derivatives, batches."""

import ml_dtypes
import numpy as np
import pytest

import tenon
from tenon import jit, lax
from tenon import numpy as tnp

CASES = [  # dtype of a, of b, preferred
    ("bfloat16", "bfloat16", None), ("bfloat16", "bfloat16", "float32"), ("float16", "float16", None),
    ("float16", "float16", "float32"), ("int8", "int8", "int32"), ("uint8", "uint8", "int32"), ("int8", "uint8", "int32"),
    ("uint8", "uint8", "uint32"), ("int8", "int8", "float32"),
]
SPACING = {"bfloat16": 2.0**-8, "float16": 2.0**-11, "float32": 2.0**-23}


def drawn(shape, dtype, seed):
    rng = np.random.default_rng(seed)
    if dtype in ("int8", "uint8"):
        limits = np.iinfo(dtype)
        return rng.integers(limits.min, limits.max, shape, endpoint=True).astype(dtype)
    return rng.normal(size=shape).astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


def wide(x):
    return np.asarray(x).astype(np.float64)


def agree(got, wanted, terms):
    """Within a rounding of the result, and that of sums of so many terms in float32."""
    dtype = str(got.dtype)
    if dtype not in SPACING:
        np.testing.assert_array_equal(wide(got), wanted)
        return
    error = np.abs(wide(got) - wanted)
    assert np.all(error <= SPACING[dtype] * np.abs(wanted) + (terms + 8) * 2.0**-21), error.max()


@pytest.mark.parametrize("of_a, of_b, preferred", CASES)
@pytest.mark.parametrize("m, n, k", [(3, 4, 5), (65, 40, 130), (1, 300, 70), (300, 1, 70), (200, 96, 1500), (4, 0, 3), (4, 3, 0)])
def test_matmul(of_a, of_b, preferred, m, n, k):
    a, b = drawn((m, k), of_a, 0), drawn((k, n), of_b, 1)
    for f in (lambda a, b: tnp.matmul(a, b, preferred_element_type=preferred),
              lambda a, b: lax.dot_general(a, b, (((1,), (0,)), ((), ())), preferred_element_type=preferred),
              lambda a, b: tnp.einsum("ij,jk->ik", a, b, preferred_element_type=preferred)):
        for made in (f(a, b), jit(f)(a, b)):
            assert str(made.dtype) == (preferred or of_a)
            agree(made, wide(a) @ wide(b), k)


@pytest.mark.parametrize("of_a, of_b, preferred", CASES)
def test_batches_and_transposed_operands(of_a, of_b, preferred):
    a, b = drawn((3, 40, 24), of_a, 0), drawn((33, 3, 40), of_b, 1)
    wanted = np.einsum("bki,jbk->bij", wide(a), wide(b))
    f = jit(lambda a, b: lax.dot_general(a, b, (((1,), (2,)), ((0,), (1,))), preferred_element_type=preferred))
    agree(f(a, b), wanted, 40)
    lanes = jit(tenon.vmap(lambda a, b: tnp.dot(a.T, b.T, preferred_element_type=preferred), (0, 1)))
    agree(lanes(a, b), wanted, 40)
    agree(jit(lambda a, b: tnp.tensordot(a[0], b[:, 0], ((0,), (1,)), preferred_element_type=preferred))(a, b), wanted[0], 40)


def test_bytes_wrap_where_nothing_is_preferred():
    a, b = drawn((64, 128), "int8", 0), drawn((128, 48), "int8", 1)
    wanted = (a.astype(np.int64) @ b.astype(np.int64)).astype(np.int8)
    for made in (a @ tnp.asarray(b), jit(tnp.matmul)(a, b)):
        assert made.dtype == np.int8
        np.testing.assert_array_equal(made, wanted)


@pytest.mark.parametrize("dtype, preferred", [("bfloat16", None), ("bfloat16", "float32"), ("float16", "float32")])
def test_gradients(dtype, preferred):
    a, b, w = drawn((48, 80), dtype, 0), drawn((80, 64), dtype, 1), np.random.default_rng(2).normal(size=(48, 64)).astype("float32")

    def loss(a, b):
        return (tnp.matmul(a, b, preferred_element_type=preferred).astype("float32") * w).sum()

    da, db = jit(tenon.grad(loss, (0, 1)))(a, b)
    for got, wanted, terms in ((da, wide(w) @ wide(b).T, 64), (db, wide(a).T @ wide(w), 48)):
        assert str(got.dtype) == dtype
        # Where the product is rounded, so is its cotangent before it is multiplied.
        assert np.all(np.abs(wide(got) - wanted) <= SPACING[dtype] * (np.abs(wanted) + terms**0.5 * 4))
    second = jit(tenon.grad(lambda a: (tenon.grad(loss)(a, b).astype("float32") ** 2).sum()))(a)
    assert np.all(wide(second) == 0)  # linear


def test_of_sizes_that_vary():
    f = jit(lambda a, b: tnp.matmul(a, b, preferred_element_type="int32"), sizes="symbolic")
    for m, n, k in [(3, 4, 5), (64, 48, 100), (2, 0, 3), (5, 6, 0)]:
        a, b = drawn((m, k), "int8", m), drawn((k, n), "int8", n)
        np.testing.assert_array_equal(f(a, b), a.astype(np.int32) @ b.astype(np.int32))


def test_infinities_and_nan():
    for dtype in ("float16", "bfloat16"):
        a, b = drawn((40, 64), dtype, 0), drawn((64, 48), dtype, 1)
        a[3, 5], a[7, 9], b[2, 11] = np.inf, np.nan, -np.inf
        with np.errstate(invalid="ignore"):
            got, wanted = wide(jit(tnp.matmul)(a, b)), wide(a) @ wide(b)
        np.testing.assert_array_equal(np.isnan(got), np.isnan(wanted))
        infinite = np.isinf(wanted)
        np.testing.assert_array_equal(got[infinite], wanted[infinite])


def test_convolutions_sum_in_what_is_preferred():
    x, w = drawn((1, 4, 9), "int8", 0), drawn((2, 4, 3), "int8", 1)
    made = lax.conv(x, w, (1,), "VALID", preferred_element_type="int32")
    wanted = [[sum(int(x[0, c, p + q]) * int(w[o, c, q]) for c in range(4) for q in range(3)) for p in range(7)] for o in range(2)]
    np.testing.assert_array_equal(made[0], wanted)


def test_what_does_not_fit():
    f, z = tnp.ones((2, 2), "float32"), tnp.ones((2, 2), "complex64")
    for call in (lambda: tnp.matmul(f, f, preferred_element_type="int32"),
                 lambda: tnp.einsum("ij,jk", f, f, preferred_element_type="int32"),
                 lambda: lax.dot(z, z, preferred_element_type="float32")):
        with pytest.raises(TypeError, match="is preferred, which sums of (float32|f32|c64) do not fit in"):
            call()
