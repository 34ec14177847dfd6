"""Calls of one kind that come again and again are compiled: they give what they gave op by op, and their errors."""

import copy
import inspect
import pickle
import threading
import weakref

import numpy as np
import numpy_calls  # noqa: F401  it enters the calls
import pytest
import shape_calls  # noqa: F401
import tenon as tn
import tenon.numpy as tnp
from calls import CASES
from drawn import Draw, limits, real_part
from hypothesis import given, settings
from hypothesis import strategies as st

OFTEN = 70  # calls after which one is compiled


def compiled():
    return tn.cache_info()["repeated calls"].misses


def outcome(f, args, options):
    """The arrays that a call gives, or the class of its error."""
    try:
        return [np.asarray(x) for x in tn.tree_util.tree_leaves(f(*args, **options))]
    except (TypeError, ValueError, IndexError) as error:
        return type(error)


def assert_near(a, b):
    """The same, but for last bits of sums."""
    if isinstance(b, type):
        assert a is b
        return
    assert len(a) == len(b)
    for x, y in zip(a, b):
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        if x.dtype.kind in "biu":
            assert x.tobytes() == y.tobytes()
            continue
        least = float(limits(real_part(x.dtype)).eps)
        x, y = x.astype("complex128"), y.astype("complex128")
        size = np.max(np.abs(y), initial=0, where=np.isfinite(y))
        np.testing.assert_allclose(x, y, rtol=8 * least, atol=8 * least * size)


@pytest.mark.parametrize("name", [n for n in CASES if hasattr(tnp, n)])
@settings(max_examples=4, deadline=None)
@given(data=st.data())
def test_a_call_gives_the_same_the_hundredth_time(name, data):
    args, options = CASES[name].draw(Draw(data))
    f = getattr(tnp, name)
    first = outcome(f, args, options)
    for _ in range(OFTEN):
        outcome(f, args, options)
    assert_near(outcome(f, args, options), first)


def test_ops_of_elements_are_rounded_one_by_one():
    random = np.random.default_rng(0)
    for dtype in ("f4", "f8", "c8", "c16"):
        p, x, y = (tnp.asarray(random.standard_normal(n).astype(dtype)) for n in (6, 300, 300))
        for call in (lambda: tnp.polyval(p, x), lambda: tnp.cross(x.reshape(100, 3), y.reshape(100, 3)), lambda: tn.lax.mul(x, y),
                     lambda: tnp.gradient(x), lambda: tnp.roll(x, 7)):
            first = np.asarray(call())
            before = compiled()
            for _ in range(OFTEN):
                call()
            assert compiled() > before
            assert np.asarray(call()).tobytes() == first.tobytes()


def test_it_is_a_setting():
    x = tnp.asarray(np.arange(13, dtype="f4"))
    before = compiled()
    tn.config.update("compile_repeated_calls", False)
    try:
        for _ in range(OFTEN):
            tnp.median(x)
    finally:
        tn.config.update("compile_repeated_calls", True)
    assert compiled() == before


def test_calls_are_compiled():
    x = tnp.asarray(np.arange(11, dtype="f4"))
    before = compiled()
    for _ in range(OFTEN):
        tnp.median(x)
    assert compiled() == before + 1
    assert tn.cache_info()["repeated calls"].hits > 0
    tn.clear_caches()
    assert tn.cache_info()["repeated calls"].entries == 0
    assert tnp.median(x) == 5


def test_numbers_and_options_are_told_apart():
    x = tnp.asarray(np.arange(6, dtype="f4"))
    for _ in range(OFTEN):
        assert tnp.roll(x, 1).tolist() == [5, 0, 1, 2, 3, 4]
        assert tnp.roll(x, -1).tolist() == [1, 2, 3, 4, 5, 0]
        assert tnp.quantile(x, 0.5, method="lower") == 2
        assert tnp.quantile(x, 0.5, method="higher") == 3
        assert tnp.nanmedian(x.reshape(2, 3), axis=0).shape == (3,)
        assert tnp.nanmedian(x.reshape(2, 3), axis=0, keepdims=True).shape == (1, 3)
        assert tnp.logaddexp(x, 1).dtype == np.float32
        assert tnp.logaddexp(x, np.float64(1)).dtype == np.float64
        assert tnp.logaddexp(x.astype("f8"), 1).dtype == np.float64


def test_numbers_of_numpy_are_told_by_value():
    x = tnp.asarray(np.arange(6, dtype="f4"))
    before = compiled()
    for _ in range(OFTEN):
        assert tnp.ldexp(x, np.int32(2)).tolist() == [0, 4, 8, 12, 16, 20]
        assert tnp.ldexp(x, np.int32(3))[1] == 8
        assert tnp.maximum(x, np.float64(2.5)).dtype == np.float64
        assert tnp.maximum(x, np.float32(2.5)).dtype == np.float32
        assert tnp.flatnonzero(x).tolist() == [1, 2, 3, 4, 5]
    assert compiled() > before + 1


def test_errors_are_those_of_each_call():
    x = tnp.asarray(np.arange(6, dtype="f4"))
    p = tnp.asarray(np.array([1, 4], "i4"))
    for _ in range(OFTEN):
        assert tnp.delete(x, p).tolist() == [0, 2, 3, 5]
    with pytest.raises(IndexError):
        tnp.delete(x, tnp.asarray(np.array([1, 6], "i4")))


def test_traces_are_no_repeated_calls():
    x = tnp.asarray(np.arange(5, dtype="f4"))
    for _ in range(OFTEN):
        tnp.median(x)
    before = compiled()
    assert tn.jit(lambda x: tnp.median(x) * 2)(x) == 4
    assert tn.grad(tnp.median)(x).tolist() == [0, 0, 1, 0, 0]
    assert tn.vmap(tnp.median)(tnp.stack([x, x + 1])).tolist() == [2, 3]
    assert compiled() == before


def test_nan_is_found_in_what_was_compiled():
    x = tnp.asarray(np.array([1, 2, 3], "f4"))
    for _ in range(OFTEN):
        tnp.polyval(x, x)
    tn.config.update("debug_nans", True)
    try:
        with pytest.raises(FloatingPointError):
            tnp.polyval(x, tnp.asarray(np.array([np.inf, -np.inf, 0], "f4")))
    finally:
        tn.config.update("debug_nans", False)


def test_what_is_large_stays_a_view():
    before = compiled()
    for _ in range(OFTEN):
        tnp.zeros((300, 300))
    assert compiled() == before


def test_what_is_public_is_a_function():
    assert tnp.arccos is tnp.acos and tn.numpy.linalg.norm is tn.linalg.norm
    assert tnp.roll.__name__ == "roll" and "moved" in tnp.roll.__doc__ and list(inspect.signature(tnp.roll).parameters)[:2] == ["a", "shift"]
    for f in (tnp.roll, tn.linalg.norm, tn.nn.relu6, tnp.trapezoid):
        assert pickle.loads(pickle.dumps(f)) is f and copy.deepcopy(f) is f
        assert weakref.ref(f)() is f

    class Holder:
        shifted = tnp.roll

    with pytest.raises(TypeError):
        Holder().shifted(1)  # of the holder, as of any function


def test_threads_may_call_at_once():
    x = tnp.asarray(np.arange(9, dtype="f4"))
    failed = []

    def work(k):
        for i in range(3 * OFTEN):
            n = (i + k) % 5 + 1
            if float(tnp.percentile(x[:n], 100)) != n - 1:
                failed.append((i, k))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failed
