"""tn.Array: values, arithmetic with NumPy's promotion, indexing, interchange."""

import copy
import pickle

import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp

DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e5m2",
          "float16", "bfloat16", "float32", "float64", "complex64", "complex128"]


def test_attributes():
    x = tnp.zeros((2, 3), tnp.float32)
    assert (x.shape, x.dtype, x.ndim, x.size, x.nbytes, x.itemsize) == ((2, 3), np.float32, 2, 6, 24, 4)
    assert isinstance(x, tn.Array) and x.T.shape == (3, 2) and len(x) == 2


@pytest.mark.parametrize("dtype", DTYPES)
def test_round_trip_through_numpy(dtype):
    x = tnp.asarray([[0, 1, 1], [1, 0, 1]], dtype)
    back = np.asarray(x)
    assert back.dtype == x.dtype and back.shape == (2, 3)
    assert tnp.array_equal(tnp.array(back), x) and back.tolist() == [[0, 1, 1], [1, 0, 1]]


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1, 1)])
def test_shapes_of_few_elements(shape):
    x = np.ones(shape, np.float32)
    assert np.array_equal(np.asarray(tnp.array(x)), x) and tnp.array(x).shape == shape
    assert repr(tnp.array(x)).startswith("Array(")


def test_numpy_shares_memory_and_cannot_write_it():
    x = tnp.arange(4.0)
    view = np.asarray(x)
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1
    y = np.arange(4.0)
    shared, copied = tnp.asarray(y), tnp.array(y)
    y[0] = 7
    assert shared[0] == 7 and copied[0] == 0


def test_layouts_of_numpy():
    x = np.arange(24.0).reshape(2, 3, 4)
    for view in (x.T, x[:, ::-1], x[..., 1:3], x[::-1, :, ::2]):
        assert np.array_equal(np.asarray(tnp.asarray(view)), view)
        assert np.array_equal(np.asarray(tnp.asarray(view) + 1), view + 1)
    swapped = x.astype(">f8")
    assert np.array_equal(np.asarray(tnp.array(swapped)), x)


def test_dlpack_shares_memory():
    x = tnp.arange(3.0)
    there = np.from_dlpack(x)
    assert np.shares_memory(there, np.asarray(x))
    back = tnp.from_dlpack(there)
    assert np.shares_memory(np.asarray(back), there)


def test_pickling_and_copying():
    x = tnp.arange(6, dtype=tnp.int16).reshape(2, 3)
    for again in (pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy(x)):
        assert again.dtype == x.dtype and tnp.array_equal(again, x)


def test_text():
    assert repr(tnp.array([1.0, 2.5])) == "Array([1. , 2.5], dtype=float64)"
    assert repr(tnp.float32(3)) == "Array(3., dtype=float32)"
    assert repr(tnp.asarray(2)) == "Array(2, dtype=int64, weak_type=True)"
    assert f"{tnp.array(2.5):.2f}" == "2.50"


def test_numbers_are_weak():
    x = tnp.ones(2, tnp.float32)
    assert (x + 1).dtype == (x * 2.0).dtype == np.float32
    assert (x + np.float64(1)).dtype == np.float64
    assert (tnp.ones(2, tnp.int8) + 1).dtype == np.int8
    assert (tnp.ones(2, tnp.int8) + 1.5).dtype == np.float64
    assert (np.ones(2) + x).dtype == np.float64 and isinstance(np.ones(2) + x, tn.Array)


def test_operators_against_numpy():
    a, b = np.array([7, -7, 3, -3], np.int32), np.array([2, 2, -2, -2], np.int32)
    x, y = tnp.array(a), tnp.array(b)
    for f in (lambda p, q: p + q, lambda p, q: p - q, lambda p, q: p * q, lambda p, q: p // q, lambda p, q: p % q,
              lambda p, q: p & q, lambda p, q: p | q, lambda p, q: p ^ q, lambda p, q: p < q, lambda p, q: p == q,
              lambda p, q: p >= q, lambda p, q: -p, lambda p, q: ~p, lambda p, q: abs(p), lambda p, q: p ** 3,
              lambda p, q: divmod(p, q)[1], lambda p, q: 5 - p, lambda p, q: 2 ** abs(q)):
        assert np.array_equal(np.asarray(f(x, y)), f(a, b))
    assert np.allclose(np.asarray(x / y), a / b)


def test_python_conversions():
    assert float(tnp.array(2.5)) == 2.5 and int(tnp.array(7)) == 7 and bool(tnp.array(True))
    assert complex(tnp.array(1 + 2j)) == 1 + 2j and [10, 20][tnp.array(1)] == 20
    assert tnp.arange(3).tolist() == [0, 1, 2] and tnp.arange(6).reshape(2, 3).item(1, 2) == 5
    with pytest.raises(ValueError, match="any"):
        bool(tnp.arange(3))
    with pytest.raises(TypeError):
        hash(tnp.arange(3))


@pytest.mark.parametrize("index", [
    0, -1, slice(1, None), slice(None, None, -2), (slice(None), 1), (..., 2), None, (0, None, slice(1, 3)),
    np.array([0, 2, 1]), (np.array([[0], [1]]), np.array([1, 2])), (slice(None), np.array([2, 0])), (1, ..., np.array([0, 1])),
    np.array([True, False, True]), np.int64(1)])
def test_indexing_against_numpy(index):
    a = np.arange(36.0).reshape(3, 4, 3)
    assert np.array_equal(np.asarray(tnp.array(a)[index]), a[index])
    changed = a.copy()
    changed[index] = -1
    assert np.array_equal(np.asarray(tnp.array(a).at[index].set(-1)), changed)


def test_indices_outside():
    x = tnp.arange(3)
    assert x[10] == 2 and x[-10] == 0
    assert tnp.array_equal(x.at[10].set(5), x)
    assert tnp.array_equal(x[tnp.array([1, 7])], tnp.array([1, 2]))
    assert tnp.array_equal(x.at[tnp.array([1, 7])].get(mode="fill", fill_value=-1), tnp.array([1, -1]))
    with pytest.raises(IndexError):
        x[0, 0]
    with pytest.raises(TypeError, match="list"):
        x[[0, 1]]
    with pytest.raises(TypeError, match=r"\.at\["):
        x[0] = 1


def test_updates():
    x = tnp.arange(4.0)
    assert x.at[1].add(5).tolist() == [0, 6, 2, 3]
    assert x.at[tnp.array([1, 1])].add(1).tolist() == [0, 3, 2, 3]
    assert x.at[2:].multiply(2).tolist() == [0, 1, 4, 6]
    assert x.at[0].max(9).tolist() == [9, 1, 2, 3] and x.at[3].min(-1).tolist() == [0, 1, 2, -1]


def test_methods_of_an_array():
    x = tnp.arange(6.0).reshape(2, 3)
    assert x.sum() == 15 and x.mean(0).tolist() == [1.5, 2.5, 3.5] and x.reshape(3, 2).shape == (3, 2)
    assert x.reshape((6,)).shape == x.ravel().shape == (6,) and x.transpose(1, 0).shape == (3, 2)
    assert x.astype(tnp.int32).dtype == np.int32 and x.max(1).tolist() == [2, 5]


def test_not_an_array():
    with pytest.raises(TypeError, match="str"):
        tnp.add(tnp.ones(2), "a")
    with pytest.raises(TypeError, match="made by"):
        tn.Array()


def test_64_bits_can_be_off():
    try:
        tn.config.x64 = False
        assert tnp.arange(3).dtype == np.int32 and tnp.zeros(2).dtype == np.float32
        assert tnp.asarray(np.ones(2)).dtype == np.float32 and tnp.array(1.0).dtype == np.float32
    finally:
        tn.config.x64 = True
    assert tnp.arange(3).dtype == np.int64


V = np.array([[3.0, 1.0, 2.0], [6.0, 5.0, 4.0]])
METHODS = {
    "all": (), "any": (1,), "argmax": (1,), "argmin": (), "argsort": (0,), "clip": (2, 4), "compress": ([True, False, True], 1),
    "conj": (), "conjugate": (), "cumprod": (1,), "cumsum": (0,), "diagonal": (1,), "dot": (V.T,), "flatten": (), "max": (0,),
    "mean": (1,), "min": (), "prod": (), "ravel": (), "repeat": (2, 1), "reshape": (3, 2), "round": (1,), "squeeze": (),
    "std": (0,), "sum": (1,), "swapaxes": (0, 1), "take": ([1, 0], 1), "trace": (), "transpose": (1, 0), "var": (),
    "astype": (np.int32,), "tolist": (), "tobytes": (), "copy": (), "item": (4,),
}


@pytest.mark.parametrize("name", METHODS)
def test_methods_as_numpys(name):
    ours, expected = (getattr(x, name)(*METHODS[name]) for x in (tnp.asarray(V), V))
    assert type(expected) in (list, bytes, float) and ours == expected or np.allclose(np.asarray(ours), expected)
    assert np.asarray(ours).shape == np.asarray(expected).shape


def test_methods_of_rank_1():
    x, v = tnp.asarray(V[0]), V[0]
    assert int(x.searchsorted(2.5)) == np.searchsorted(v, 2.5)
    assert x.sort().tolist() == [1, 2, 3] and x.tolist() == [3, 1, 2]
    assert x.compress([False, True]).tolist() == v.compress([False, True]).tolist() == [1]
    assert tnp.array([0, 1, 1]).choose([x, 10 * x]).tolist() == [3, 10, 20]
    assert [a.tolist() for a in (x > 1).nonzero()] == [[0, 2]]
