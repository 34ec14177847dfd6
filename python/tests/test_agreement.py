"""Numbers, dtypes and kinds of errors at the edges, beside JAX's and NumPy's, written down."""

import math

import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp
from tenon import lax, nn, ops, random


def same(x, wanted, dtype=None):
    assert np.array_equal(np.asarray(x), np.asarray(wanted), equal_nan=True), (x, wanted)
    assert dtype is None or x.dtype == dtype, x.dtype


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint32", "int64"])
def test_unravel_index(dtype):
    rows, columns = tnp.unravel_index(np.array([0, 5, 10, 11], dtype), (3, 4))
    same(rows, [0, 1, 2, 2], dtype)
    same(columns, [0, 1, 2, 3], dtype)


def test_indices_outside():
    rows = lax.GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,))
    x = tnp.array([[1.0, 2], [3, 4], [5, 6]])
    same(lax.gather(x, tnp.array([[-1], [9]]), rows, (1, 2)), [[1, 2], [5, 6]])
    same(lax.index_take(x, (tnp.array([-9, 9]), tnp.array([0, 0])), (0, 1)), [1, 1])
    same(ops.segment_sum(tnp.array([1.0, 2, 4]), tnp.array([-1, 0, 7]), 3, mode="clip"), [3, 0, 4])
    same(tnp.put(tnp.zeros(3), tnp.array([-1]), 1.0, mode="clip", inplace=False), [1, 0, 0])
    with pytest.raises(ValueError, match="nonnegative"):
        lax.split(tnp.arange(5), (-1, 6))


def test_small_integers_are_drawn_evenly():
    key = random.PRNGKey(0)
    same(random.randint(key, (5,), -5, 10, "int8"), [-1, -5, -3, 8, 6], "int8")
    same(random.randint(key, (5,), -5, 10, "uint8"), [9, 0, 2, 3, 1], "uint8")
    drawn = np.asarray(random.randint(random.PRNGKey(7), (30000,), -200, 100, "int8")).astype(int)
    assert np.bincount((drawn + 128) // 32).tolist() == [4174, 4179, 4139, 4279, 4156, 4352, 4193, 528]


def test_draws():
    key = random.PRNGKey(0)
    assert random.categorical(key, tnp.ones((10, 3, 1)), axis=0, shape=(3, 4)).shape == (3, 4)
    assert np.allclose(random.gumbel(key, (2,), "float32", mode="high"), [-1.0818486, -1.3463638], 1e-5)
    assert np.allclose(random.double_sided_maxwell(key, 1.0, 2.0, (2,)), [4.969224084752314, -3.9564147973766293])
    assert random.laplace(key, (2,), "bfloat16").dtype.name == "bfloat16"
    mean, cov = tnp.zeros(2, "float32"), tnp.eye(2, dtype="float32")
    assert random.multivariate_normal(key, mean, cov).dtype == np.float32
    same(tn.jit(random.PRNGKey)(3), random.PRNGKey(3))
    assert bool(random.bernoulli(key, np.float32(0.0), (100,), mode="high").any()) is False


def test_sets_of_fixed_size():
    a, b = tnp.array([1, 2, 3, 3], tnp.uint8), tnp.array([3, 9], tnp.uint8)
    same(tnp.setxor1d(a, b), [1, 2, 9])
    same(tnp.setxor1d(a, b, size=5, fill_value=99), [1, 2, 9, 99, 99])
    same(tn.jit(lambda a, b: tnp.setxor1d(a, b, size=2))(a, b), [1, 2])
    same(tn.jit(lambda a, b: tnp.setdiff1d(a, b, size=4))(a, b), [1, 2, 0, 0])
    same(tnp.setxor1d(tnp.array([1, 1, 2]), tnp.array([5]), True), np.setxor1d([1, 1, 2], [5], True))


def test_rounding():
    same(tnp.round(tnp.array([1.5, -2.25], tnp.float16), 6), [1.5, -2.25], "float16")
    same(tnp.round(tnp.array([4294967295, 1500, 2500], tnp.uint32), -3), [4294967000 % 2 ** 32, 2000, 2000], "uint32")
    same(tnp.round(tnp.array([-15, -25, 25, 14]), -1), np.round([-15, -25, 25, 14], -1))
    same(tnp.round(tnp.array([1.5]), 400), [1.5])


def test_zeros_and_infinities():
    same(tnp.angle(tnp.array([-0.0, 0.0, 2.0])), [math.pi, 0, 0])
    a = tnp.array([-0.0, 0.0, -0.0, 1.0, -1.0])
    b = tnp.array([1.0, -1.0, -1.0, np.inf, -np.inf])
    for ours, numpys in ((tnp.floor_divide, np.floor_divide), (tnp.remainder, np.remainder)):
        made, wanted = np.asarray(ours(a, b)), numpys(np.asarray(a), np.asarray(b))
        same(made, wanted)
        assert (np.signbit(made) == np.signbit(wanted)).all()
    same(lax.rem(np.int32(5), np.int32(0)), 5)
    same(lax.population_count(tnp.array([3, -1], tnp.int8)), [2, 8], "int8")
    same(nn.log_softmax(tnp.ones(2), where=tnp.zeros(2, bool)), [-np.inf, -np.inf])


def test_derivatives_at_kinks():
    wanted = {nn.relu6: [0, 0], nn.hard_sigmoid: [1 / 6, 0], nn.hard_swish: [0.5, 1]}
    for f, (at_zero, at_end) in wanted.items():
        assert np.isclose(tn.grad(f)(0.0), at_zero), f
        assert np.isclose(tn.grad(f)(6.0 if f is nn.relu6 else 3.0), at_end), f
    assert float(tn.grad(abs)(0.0)) == 1 and float(tn.grad(abs)(-2.0)) == -1
    assert float(tn.grad(lambda x: lax.clamp(0.0, x, 1.0))(1.0)) == 0
    assert float(tn.grad(tn.grad(lambda x, y: x ** y, 0), 1)(4.0, 0.0)) == 0.25
    f = tnp.sinc
    for _ in range(4):
        f = tn.grad(f)
    assert np.isclose(f(0.0), math.pi ** 4 / 5)


def test_narrow_promotion():
    with tn.enable_x64(False):
        u, i = tnp.ones(2, tnp.uint32), tnp.ones(2, tnp.int8)
        assert (u + i).dtype == np.int32 and tnp.arctan2(u, i).dtype == np.float32
        assert tnp.matmul(u, tnp.ones(2, tnp.int32)).dtype == np.int32
    assert (tnp.ones(2, tnp.uint32) + tnp.ones(2, tnp.int8)).dtype == np.int64


def test_dtypes_of_classes():
    assert tnp.promote_types(tnp.int64, tnp.int8) == np.int64 == tnp.promote_types(tnp.int32, tnp.int64)
    assert tnp.result_type(tnp.int64) == np.int64 and tnp.result_type(tnp.int32, tnp.float64) == np.float64
    assert (tnp.float64 == None) is False  # noqa: E711
    assert tnp.finfo(np.float32).bits == 32 and type(tnp.finfo(tnp.float32).eps) is float
    assert tnp.iinfo(3).bits == 64 and tnp.finfo(tnp.ones(1, "complex64")).eps == float(np.finfo("float32").eps)
    assert tnp.square(tnp.array([True])).dtype == np.int32 and nn.relu(tnp.array([True])).dtype == np.int64
    assert nn.elu(tnp.array([1, 2], tnp.int8)).dtype == np.float64
    assert lax.conj(tnp.ones(1, tnp.float32)).dtype == np.complex64
    assert round(tnp.array(2.5)).dtype == np.int64 and tnp.array([np.int16(1), 2]).dtype == np.int16


def test_weak_types_last():
    b = tnp.ones(2, tnp.bfloat16)
    weak = [tn.grad(tnp.sin)(1.0), lax.cond(True, lambda: 1.0, lambda: 2.0), lax.fori_loop(0, 2, lambda i, c: c * 2.0, 1.0),
            tn.vmap(lambda x: 2.0)(tnp.ones(2)), lax.full((2,), 1.0), tn.jvp(tnp.sin, (1.0,), (1.0,))[1],
            tn.vjp(tnp.sin, 1.0)[1](1.0)[0], lax.while_loop(lambda c: c < 9, lambda c: c * 2.0, 1.0)]
    for x in weak:
        assert x.weak_type and (b * x).dtype == b.dtype, x
    same(lax.fori_loop(0, 3, lambda i, c: c + i, tnp.array([1, 2], tnp.int32)), [4, 5], "int32")
    assert not lax.fori_loop(0, 3, lambda i, c: c + np.float64(1), 0.0).weak_type


def test_bools_and_lists_as_indices():
    x, n = tnp.arange(6).reshape(2, 3), np.arange(6).reshape(2, 3)
    for index in ((slice(None), [0, 2]), ([0, 1], [0, 2]), True, False, np.array(True), ([True, False], 1), (0, []), (True, 0)):
        same(x[index], n[index])
    same(x[tnp.array(True)], n[True])
    same(tn.jit(lambda x: x[True].sum())(x), 15)
    same(x.at[True].set(5), np.full((2, 3), 5))
    same(x.at[False].set(5), n)
    assert tnp.zeros((3, 4))[tnp.zeros((0,), bool)].shape == (0, 4)
    with pytest.raises(TypeError, match="list"):
        x[[0, 1]]
    same(tnp.arange(1000)[:, None][999, tnp.zeros(1, tnp.int8)], [999])


def test_updates():
    x = tnp.arange(6).reshape(2, 3)
    same(x.at[0].subtract(1), [[-1, 0, 1], [3, 4, 5]], x.dtype)
    same(tnp.ones(2).at[0].divide(2.0), [0.5, 1])
    same(x.at[1].power(2), [[0, 1, 2], [9, 16, 25]])
    same(x.at[0].multiply(2.5), [[0, 2, 5], [3, 4, 5]], x.dtype)
    same(tnp.arange(3).at[tnp.array([0, 0])].apply(lambda v: v + 1), [2, 1, 2])
    same(tnp.array([1, 2], tnp.int32).at[0].subtract(np.uint8(5)), [-4, 2])
    back = tnp.array([-1])
    same(tnp.arange(3).at[back].get(wrap_negative_indices=False, mode="fill", fill_value=7), [7])
    same(tnp.arange(3).at[back].get(wrap_negative_indices=False), [0])
    same(tnp.arange(3).at[-1].set(9, wrap_negative_indices=False), [0, 1, 2])


def test_ufuncs_of_the_module():
    x = tnp.arange(4)
    assert int(tnp.add.reduce(x)) == 6 and tnp.multiply.outer(x, x).shape == (4, 4)
    same(tnp.add.accumulate(x), [0, 1, 3, 6])
    same(tnp.add.at(tnp.zeros(3), tnp.array([0, 0]), 1.0, inplace=False), [2, 0, 0])
    same(tnp.add.reduceat(x, tnp.array([0, 2])), [1, 5])
    same(tnp.maximum.reduce(tnp.array([[1, 5], [7, 2]]), axis=1), [5, 7])
    assert tnp.add.nin == 2 and tnp.multiply.identity == 1


def test_array_api():
    info = tnp.__array_namespace_info__()
    assert info.devices() == (info.default_device(),) == ("cpu",)
    assert info.default_dtypes()["integral"] == np.int64 and set(info.dtypes(kind="signed integer")) == {
        "int8", "int16", "int32", "int64"}
    x = tnp.zeros(2, device="cpu")
    assert x.device == "cpu" and x.to_device(x.device) is x
    with pytest.raises(ValueError, match="device"):
        tnp.ones(2, device="gpu")
    with pytest.raises(IndexError):
        tnp.expand_dims(x, 3)
    assert isinstance(tnp.meshgrid(x, x), tuple) and isinstance(tnp.broadcast_arrays(x, x), tuple)
    assert tnp.can_cast(x, tnp.complex128) and not tnp.can_cast(tnp.float64, tnp.int8)


def test_what_is_taken():
    same(tnp.arange(5, step=2), [0, 2, 4])
    same(tnp.compress(tnp.array([True, False]), tnp.array([5.0])), [5])
    same(tnp.cumsum(tnp.array([1.0, 2.0]), dtype=bool), [True, True], "bool")
    same(tnp.diff(tnp.array([1.0, 2.0]), n=0, prepend=1.5), [1, 2])
    assert tnp.cov(tnp.ones((1, 3)), rowvar=False).shape == (3, 3)
    same(tnp.einsum("ba,b->", tnp.ones((2, 2), bool), tnp.ones(2, bool)), True, "bool")
    same(tnp.poly(tnp.array(2.0)), [1, -2])
    assert tnp.size(tnp.zeros((2, 3, 4)), (0, 2)) == 8
    same(tnp.roll(tnp.arange(4).reshape(2, 2), np.array([1, 1]), axis=(0, 1)), [[3, 2], [1, 0]])
    same(tnp.roll(tnp.arange(4), (1, 1), axis=(0, 0)), [2, 3, 0, 1])
    same(tnp.column_stack([1, 2]), [[1, 2]])
    same(tn.jit(lambda a, i: tnp.insert(a, i, 9))(tnp.arange(3), 1), [0, 9, 1, 2])
    same(tn.jit(lambda a, i: tnp.delete(a, i, assume_unique_indices=True))(tnp.arange(4), tnp.array([1])), [0, 2, 3])
    same(tnp.trim_zeros(tnp.array([[0, 1], [0, 0]])), [[1]])
    same(tnp.unwrap(tnp.array([0, 1, 7]), period=3), [0, 1, 1])
    same(tnp.average(tnp.arange(12.0).reshape(2, 3, 2), (0, 1), tnp.ones((2, 3))), [5, 6])
    same(tnp.vectorize(lambda x, y: x if y is None else x + y)(tnp.ones(2), None), [1, 1])
    same(tn.jit(lambda k: tnp.eye(3, k=k))(1), np.eye(3, k=1))
    same(nn.one_hot([0, 1], 3), np.eye(3)[:2])
    same(lax.reduce_or(tnp.array([1, 2]), (0,)), 3)
    same(lax.broadcast_in_dim(tnp.arange(6).reshape(2, 3), (3, 2), (1, 0)), np.arange(6).reshape(2, 3).T)
    assert lax.stop_gradient((tnp.ones(2), 3))[1] is not None
    same(tnp.bitwise_count(True), 1)
    same(tnp.left_shift(True, True), 2, "int32")


def test_memory_of_others_goes_on():
    owned = np.arange(3.0)
    owned.setflags(write=False)
    same(np.from_dlpack(tnp.asarray(owned)), owned)
    assert tnp.asarray(owned).__dlpack__() is not None
    same(tnp.full((2,), 2 ** 64 - 1, "uint64"), np.full(2, 2 ** 64 - 1, "uint64"), "uint64")


def test_kinds_of_errors():
    with pytest.raises(TypeError):
        tnp.transpose(tnp.zeros((2, 2)), (0, 0))
    with pytest.raises(ValueError):
        tnp.tril_indices_from(tnp.zeros(3))
    with pytest.raises(ValueError, match="boolean"):
        tnp.sum(tnp.arange(3.0), where=tnp.array([1, 0, 1]))
    with pytest.raises(ValueError, match="unsupported"):
        tnp.pad(tnp.ones(2), 1, bogus=3)


def test_attention_sees_what_windows_and_lengths_leave():
    q = random.normal(random.PRNGKey(0), (2, 4, 1, 3))
    k, v = q + 1, q * 2
    near = abs(np.arange(4)[:, None] - np.arange(4)) <= 1
    assert np.allclose(nn.dot_product_attention(q, k, v, local_window_size=1), nn.dot_product_attention(q, k, v, mask=near))
    short = nn.dot_product_attention(q, k, v, key_value_seq_lengths=tnp.array([2, 4]))
    assert np.allclose(short[0], nn.dot_product_attention(q[0], k[0, :2], v[0, :2]))
