"""Functions made by jit, traced, lowered and compiled ahead of calls."""

import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp

X = np.arange(3.0)
SHAPE = tn.ShapeDtypeStruct((3,), np.float64)


@pytest.fixture
def counted():
    """(a compiled function, how often its Python is called)."""
    count = [0]

    def f(t, power, *, shift=0.0):
        count[0] += 1
        return {"y": t["a"] ** power + shift, "n": [t["b"].sum()]}

    return tn.jit(f, static_argnums=1), count


@pytest.mark.parametrize("a", [X, SHAPE])
def test_stages(counted, a):
    f, count = counted
    traced = f.trace({"a": a, "b": a}, 2, shift=tn.ShapeDtypeStruct((), np.float64))
    assert count[0] == 1 and traced.fun_name == "f"
    assert traced.out_info == {"y": SHAPE, "n": [tn.ShapeDtypeStruct((), np.float64)]}
    assert traced.args_info == (({"a": SHAPE, "b": SHAPE},), {"shift": tn.ShapeDtypeStruct((), np.float64)})
    assert traced.in_tree == tn.tree.structure((({"a": 0, "b": 0},), {"shift": 0}))
    assert traced.out_tree == tn.tree.structure(traced.out_info)
    lowered = traced.lower()
    assert lowered.as_text() == traced.jaxpr.text() and "return" in lowered.as_text()
    compiled = lowered.compile()
    out = compiled({"a": X, "b": X + 1}, shift=tnp.array(0.5, np.float64))
    np.testing.assert_allclose(out["y"], X ** 2 + 0.5)
    np.testing.assert_allclose(out["n"][0], 6.0)
    f({"a": tnp.asarray(X), "b": tnp.asarray(X)}, 2, shift=tnp.array(1.0, np.float64))
    assert count[0] == 1


def test_what_compiled_functions_refuse(counted):
    f, count = counted
    compiled = f.lower({"a": SHAPE, "b": SHAPE}, 2).compile()
    for args in (({"a": X[:2], "b": X},), ({"a": X.astype(np.float32), "b": X},), ({"a": X},), ({"a": X, "b": X}, 2)):
        with pytest.raises(TypeError, match="was compiled for"):
            compiled(*args)
    assert count[0] == 1


def test_shapes_of_results(counted):
    f, count = counted
    assert f.eval_shape({"a": SHAPE, "b": X}, 3)["y"] == SHAPE
    assert tn.jit(lambda x: x * 2).eval_shape(tn.ShapeDtypeStruct((2, 0), np.float32)).dtype == np.float32
    with pytest.raises(TypeError):
        f.eval_shape({"a": SHAPE, "b": SHAPE}, [2])


def test_nothing_is_run():
    called = []
    f = tn.jit(lambda x: tn.pure_callback(lambda v: called.append(1) or v, SHAPE, x))
    compiled = f.lower(SHAPE).compile()
    assert not called
    np.testing.assert_allclose(compiled(X), X)
    assert called == [1]


def test_methods_and_captures():
    for captured in (tnp.asarray(X), 2.0):
        np.testing.assert_allclose(tn.jit(lambda x: x * captured).lower(X).compile()(X), X * np.asarray(captured))
    assert tn.jit(tn.grad(lambda x: x ** 2)).lower(3.0).compile()(3.0) == 6.0


def test_what_is_only_traced_may_be_larger_than_memory():
    huge = tn.ShapeDtypeStruct((10 ** 6, 10 ** 6), "float64")
    assert tn.eval_shape(lambda x: x @ x[0], huge).shape == (10 ** 6,)
    f = tn.jit(lambda x: tnp.sum(x * 2))
    assert f.eval_shape(huge).shape == ()
    assert f.lower(huge).out_info.shape == ()
    for dtype in ("bool", "int32", "complex128", "bfloat16"):
        assert tn.eval_shape(lambda x: x, tn.ShapeDtypeStruct((3, 4000), dtype)).dtype == tnp.dtype(dtype)
