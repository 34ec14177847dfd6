"""jit: what is traced when, static and donated arguments, closures, errors."""

import collections
import gc
import html
import re
import threading
import weakref

import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp
from tenon import lax


def counted(f, **options):
    count = [0]

    def traced(*args, **kwargs):
        count[0] += 1
        return f(*args, **kwargs)

    return tn.jit(traced, **options), count


def test_traced_once_for_each_kind():
    f, count = counted(lambda x: x * 2)
    for x in (tnp.ones(3), tnp.zeros(3), np.ones(3), tnp.ones(3)):
        assert tnp.array_equal(f(x), np.asarray(x) * 2)
    assert count[0] == 1
    f(tnp.ones(4)), f(tnp.ones(3, tnp.float32)), f(1.0), f(2.0)
    assert count[0] == 4
    f(tnp.ones(3)), f(tnp.ones(4)), f(tnp.ones(3, tnp.float32)), f(3.0)
    assert count[0] == 4
    f(3), f(np.float64(1))
    assert count[0] == 6


def test_inner_functions_are_traced_once():
    inner, count = counted(lambda x: tnp.sin(x) * 1.5 + 0.5)

    def outer(x):
        for _ in range(10):
            x = inner(x)
        return tnp.sum(x)

    x = np.linspace(0.0, 1.0, 5)
    expected = x
    for _ in range(10):
        expected = np.sin(expected) * 1.5 + 0.5
    traces = [tn.jit(outer), outer, tn.grad(outer), tn.jit(tn.grad(outer)), tn.vmap(outer), tn.make_program(outer)]
    results = [f(x[None]) if f is traces[4] else f(x) for f in traces]
    assert count[0] == 1
    np.testing.assert_allclose([np.asarray(results[i]).sum() for i in (0, 1, 4)], expected.sum(), rtol=1e-12)
    assert repr(results[5]).count("call") == 10
    loop = tn.jit(lambda x: lax.fori_loop(0, 3, lambda i, x: inner(inner(x)), x))
    loop(x), inner(x), tn.jit(outer)(x[:2])
    assert count[0] == 2


def test_structures():
    f, count = counted(lambda t: {"sum": t["a"] + t["b"][0], "none": None, "t": (t["a"],)})
    out = f({"a": tnp.ones(2), "b": [2.0]})
    assert out["none"] is None and out["sum"].tolist() == [3, 3] and isinstance(out["t"], tuple)
    f({"b": [1.0], "a": tnp.zeros(2)})
    assert count[0] == 1
    with pytest.raises(TypeError):
        f({"a": tnp.ones(2), "b": 2.0})
    f({"a": tnp.ones(2), "b": (2.0,)})
    assert count[0] == 3


def test_keywords():
    f, count = counted(lambda x, *, a, b=1: x * a + b)
    assert f(2.0, a=3.0, b=4.0) == 10 and f(2.0, b=5.0, a=3.0) == 11
    assert count[0] == 1
    assert f(2.0, a=1.0) == 3 and count[0] == 2


def test_static_arguments():
    f, count = counted(lambda x, n, mode="a": x * n if mode == "a" else x, static_argnums=1, static_argnames="mode")
    assert f(2.0, 3) == 6 and f(2.0, 3) == 6 and count[0] == 1
    assert f(2.0, 4) == 8 and f(2.0, 4, mode="b") == 2 and count[0] == 3
    g = tn.jit(lambda x, n: x * len(n), static_argnames=("n",))
    assert g(1.0, (1, 2)) == 2 and g(1.0, n=(1, 2, 3)) == 3
    with pytest.raises(ValueError, match="not hashable"):
        g(1.0, [1])
    with pytest.raises(ValueError, match="names"):
        tn.jit(lambda x: x, static_argnames="y")
    with pytest.raises(ValueError):
        tn.jit(lambda x: x, static_argnums=3)


def test_donation():
    f = tn.jit(lambda x, y: x + y, donate_argnums=0)
    x = tnp.ones(1000)
    at = np.asarray(x).ctypes.data
    y = f(x, 1.0)
    assert np.asarray(y).ctypes.data == at and x.is_deleted()
    with pytest.raises(RuntimeError, match="donate"):
        x + 1
    keep = tnp.ones(1000)
    view = np.asarray(keep)
    f(keep, 1.0)
    assert view[0] == 1  # shared memory is not taken


def test_strict_in_place():
    def f(x):
        y = x.at[0].set(1.0)
        return y, tnp.sum(x * y)

    x = tnp.ones(1000)
    assert float(tn.jit(f)(x)[1]) == 1000
    with pytest.raises(tn.errors.CompileError, match="copies") as caught:
        tn.jit(f, strict_in_place=True)(x)
    assert "test_jit.py" in str(caught.value)
    fill = tn.jit(lambda x: lax.fori_loop(0, 1000, lambda i, a: a.at[i].set(i * 2.0), x), donate_argnums=0, strict_in_place=True)
    assert fill(tnp.ones(1000)).tolist() == [2.0 * i for i in range(1000)]


def test_closures():
    scale = 2.0
    f = tn.jit(lambda x: x * scale)
    assert f(1.0) == 2
    scale = 3.0
    assert f(1.0) == 2  # a constant of the trace
    captured = np.ones(2)
    g = tn.jit(lambda x: x + captured)
    assert g(1.0).tolist() == [2, 2]
    captured[:] = 5
    assert g(1.0).tolist() == [2, 2]  # a snapshot


def test_inside_of_others():
    f, count = counted(lambda x: tnp.sin(x))
    g = tn.jit(lambda x: f(x) + f(2 * x))
    assert np.isclose(float(g(0.5)), np.sin(0.5) + np.sin(1.0)) and count[0] == 1
    assert np.isclose(float(tn.grad(f)(0.5)), np.cos(0.5))
    assert np.allclose(np.asarray(tn.vmap(f)(tnp.arange(3.0))), np.sin(np.arange(3.0)))


def test_methods_and_names():
    class Model:
        def __init__(self, k):
            self.k = k

        @tn.jit
        def twice(x):
            """Doc."""
            return 2 * x

        def __call__(self, x):
            return tn.jit(lambda y: self.k * y)(x)

    assert Model(3)(2.0) == 6 and Model.twice(2.0) == 4
    assert Model.twice.__name__ == "twice" and Model.twice.__doc__ == "Doc."


def test_bad_results_and_arguments():
    with pytest.raises(TypeError, match="no array"):
        tn.jit(lambda x: "text")(1.0)
    with pytest.raises(TypeError, match=r"\['a'\]"):
        tn.jit(lambda x: x)({"a": "text"})
    with pytest.raises(TypeError, match="callable"):
        tn.jit(3)


def test_values_are_not_there():
    with pytest.raises(TypeError, match="where"):
        tn.jit(lambda x: 1.0 if x > 0 else 2.0)(1.0)
    with pytest.raises(TypeError, match="traced"):
        tn.jit(lambda x: np.sin(x))(1.0)
    with pytest.raises(TypeError):
        tn.jit(lambda n: tnp.sum(tnp.ones((2, 2)), axis=n))(np.array(1))


def test_leaks_are_caught():
    kept = []
    tn.jit(lambda x: kept.append(x) or x)(1.0)
    assert repr(kept[0]) == "Leaked<f64[]>"
    with pytest.raises(tn.LeakError):
        kept[0] + 1


def test_errors_name_the_line():
    def wrong(x):
        return x + tnp.ones(2)  # line of the error

    line = wrong.__code__.co_firstlineno + 1
    for f, x in ((wrong, tnp.ones(3)), (tn.jit(wrong), tnp.ones(3)), (tn.grad(wrong), tnp.ones(3)),
                 (tn.vmap(wrong), tnp.ones((2, 3)))):
        with pytest.raises(ValueError, match=f"test_jit.py:{line}"):
            f(x)


def test_many_specialisations_and_threads():
    f = tn.jit(lambda x: tnp.sum(x) * 2)
    wrong = []

    def work(k):
        for i in range(50):
            if float(f(np.ones(1 + (i * k) % 17))) != 2 * (1 + (i * k) % 17):
                wrong.append((i, k))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 5)]
    [t.start() for t in threads], [t.join() for t in threads]
    assert not wrong


def test_nothing_is_kept():
    f = tn.jit(lambda x: {"y": x + 1, "z": [x]})
    g = tn.grad(lambda x: tnp.sum(x * x))
    x = tnp.ones(3)
    for _ in range(10):
        f(x), g(x)
    results = [weakref.ref(r) for r in (f(x)["y"], f(x)["z"][0], g(x))]
    assert [r() for r in results] == [None] * 3
    gc.collect()
    before = collections.Counter(type(o).__name__ for o in gc.get_objects())
    for _ in range(1000):
        f(x), g(x)
    gc.collect()
    after = collections.Counter(type(o).__name__ for o in gc.get_objects())
    assert sum((after - before).values()) < 500


def test_x64_is_part_of_the_key():
    f, count = counted(lambda x: x + tnp.zeros(()))
    assert f(np.float32(1)).dtype == np.float64
    try:
        tn.config.x64 = False
        assert f(np.float32(1)).dtype == np.float32
    finally:
        tn.config.x64 = True
    assert f(np.float32(1)).dtype == np.float64 and count[0] == 2


def test_notebooks():
    def shown(html_text):
        assert html_text.startswith("<pre") and html_text.count("<span") == html_text.count("</span>") > 3
        return html.unescape(re.sub("<[^>]*>", "", html_text))

    program = tn.make_program(lambda x: lax.scan(lambda c, a: (c + a, tnp.where(a < 1, c, a)), 0.0, x))(tnp.ones(3))
    assert shown(program._repr_html_()) == program.text(lines=True)
    assert '">f64[3]</span>' in program._repr_html_() and '">loop</span>' in program._repr_html_()
    told = tn.explain(lambda x: tnp.sum(tnp.sin(x)))(tnp.ones(3))
    assert shown(told._repr_html_()) == told and '">native code</span>' in told._repr_html_()


def test_eval_shape_and_programs(capsys):
    shape = tn.eval_shape(lambda x: {"y": x @ x.T}, tn.ShapeDtypeStruct((2, 3), np.float32))
    assert shape == {"y": tn.ShapeDtypeStruct((2, 2), np.float32)}
    program = tn.make_program(lambda x: tnp.sin(x) * 2)(1.0)
    assert "sin %0" in str(program) and program.inputs == ("f64[]",) and len(program) == 3
    assert program == tn.make_program(lambda x: tnp.sin(x) * 2)(3.0)
    assert "kernel" in tn.explain(lambda x: tnp.sum(tnp.sin(x)))(tnp.ones(3))
    assert "sin at" in program.text(lines=True) or "test_jit.py" in program.text(lines=True)
    assert "kept" in tn.saved_residuals(lambda x: tnp.sum(tnp.exp(x)), tnp.ones(3))
    tn.print_saved_residuals(lambda x: tnp.sum(tnp.sin(tnp.exp(x))), tnp.ones(3))
    told = capsys.readouterr().out
    assert "for: " in told and "test_jit.py" in told
