"""Functions of Python's called while compiled functions run, and values printed there."""

import functools
import subprocess
import sys
import threading

import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp
from tenon import lax

X = np.array([3.0, 1.0, 2.0])
modes = pytest.mark.parametrize("mode", [lambda f: f, tn.jit], ids=["eager", "jit"])


# --- pure_callback ---


@modes
def test_trees_in_and_out(mode):
    def on_host(tree, k, *, name):
        assert isinstance(tree["x"], tn.Array) and tree["x"].dtype == np.float64 and name.shape == ()
        return {"sorted": np.sort(tree["x"]) * k, "n": (np.int32(len(tree["x"])), 2.5)}

    like = {"sorted": tn.ShapeDtypeStruct((3,), np.float64), "n": (tn.ShapeDtypeStruct((), np.int32), tn.ShapeDtypeStruct((), np.float32))}
    f = mode(lambda x: tn.pure_callback(on_host, like, {"x": x}, 2.0, name=1))
    for _ in range(3):
        out = f(X)
        assert out["sorted"].tolist() == [2, 4, 6] and int(out["n"][0]) == 3
        assert out["n"][1].dtype == np.float32 and float(out["n"][1]) == 2.5


def test_called_as_often_as_needed():
    calls = []
    f = tn.jit(lambda x: (tn.pure_callback(lambda v: calls.append("unused") or v, x, x), x + 1)[1])
    f(X), f(X)
    assert not calls
    g = tn.jit(lambda x: lax.fori_loop(0, 4, lambda i, c: tn.pure_callback(lambda v: (calls.append(float(v)), v * 2)[1], c, c), x))
    assert float(g(1.0)) == 16 and calls == [1, 2, 4, 8]


# --- sizes that the host decides ---


def unique(x):
    sizes = tn.HostSizes(lambda v: len(np.unique(v)), lambda n: tn.ShapeDtypeStruct((n,), x.dtype))
    return tn.pure_callback(np.unique, sizes, x)


@modes
def test_sizes_that_the_host_decides(mode):
    f = mode(lambda x: (unique(x) * 2, unique(x).sum()))
    for x in (X, np.array([1.0, 1.0, 1.0]), np.array([2.0, 1.0, 2.0])):
        doubled, total = f(x)
        assert doubled.tolist() == (np.unique(x) * 2).tolist() and float(total) == np.unique(x).sum()
    assert f(np.zeros(0))[0].shape == (0,)


@modes
def test_several_sizes_that_the_host_decides(mode):
    like = tn.HostSizes(lambda k, *, m: (k, m), lambda a, b: {"both": tn.ShapeDtypeStruct((a, b), np.float32), "first": tn.ShapeDtypeStruct((2, a), np.int32)})

    def on_host(k, *, m):
        return {"both": np.ones((int(k), int(m)), np.float32), "first": np.zeros((2, int(k)), np.int32)}

    f = mode(lambda k, m: tn.pure_callback(on_host, like, k, m=m))
    for k, m in ((2, 3), (0, 1), (4, 4)):
        out = f(np.int32(k), np.int32(m))
        assert out["both"].shape == (k, m) and out["first"].shape == (2, k)


def test_sizes_that_the_host_decides_in_loops():
    def step(c, x):
        return c + unique(x * c).sum(), unique(x).sum()

    xs = np.array([[1.0, 1.0], [2.0, 3.0], [0.0, 5.0]])
    c, want = 1.0, []
    for x in xs:
        want.append(np.unique(x).sum())
        c = c + np.unique(x * c).sum()
    last, sums = tn.jit(lambda xs: lax.scan(step, 1.0, xs))(xs)
    assert float(last) == pytest.approx(c) and sums.tolist() == want


def test_sizes_that_the_host_decides_are_held():
    def f(said, made):
        like = tn.HostSizes(lambda v: said, lambda n: tn.ShapeDtypeStruct((n,), np.float64))
        return tn.jit(lambda x: tn.pure_callback(lambda v: np.zeros(made), like, x))(X)

    assert f(4, 4).shape == (4,)
    with pytest.raises(ValueError, match="a size is -1"):
        f(-1, 1)
    with pytest.raises(RuntimeError, match="3"):
        f(2, 3)
    with pytest.raises(RuntimeError, match="2"):
        f((2, 2), 2)
    with pytest.raises(ValueError, match="differs from lane to lane"):
        tn.vmap(unique)(np.ones((2, 3)))


@modes
@pytest.mark.parametrize("method, shapes", [
    ("sequential", [((2,), (2,))] * 3), ("sequential_unrolled", [((2,), (2,))] * 3), ("expand_dims", [((3, 2), (1, 2))]),
    ("broadcast_all", [((3, 2), (3, 2))]), ("legacy_vectorized", [((3, 2), (2,))]),
])
def test_vmap(mode, method, shapes):
    seen = []

    def on_host(x, y):
        seen.append((x.shape, y.shape))
        return np.asarray(x) + np.asarray(y)

    def f(x, y):
        return tn.pure_callback(on_host, tn.ShapeDtypeStruct(x.shape, x.dtype), x, y, vmap_method=method)

    x, y = np.arange(6.0).reshape(3, 2), np.array([10.0, 20.0])
    assert mode(tn.vmap(f, in_axes=(0, None)))(x, y).tolist() == (x + y).tolist() and seen == shapes


def test_vmap_without_a_method():
    f = tn.vmap(lambda x: tn.pure_callback(np.sin, x, x))
    with pytest.raises(NotImplementedError, match="sequential"):
        f(X)
    with pytest.raises(ValueError, match="vmap_method"):
        tn.pure_callback(np.sin, X, X, vmap_method="parallel")


def test_derivatives():
    def f(x):
        return tnp.sum(tn.pure_callback(np.sin, x, x))

    for g in (tn.grad(f), tn.jit(tn.grad(f)), lambda x: tn.jvp(f, (x,), (x,))):
        with pytest.raises(tn.errors.DifferentiationError, match="custom_jvp"):
            g(X)

    @tn.custom_jvp
    def sin(x):
        return tn.pure_callback(np.sin, tn.ShapeDtypeStruct(x.shape, x.dtype), x, vmap_method="expand_dims")

    @sin.defjvp
    def _(primals, tangents):
        return sin(*primals), tnp.cos(primals[0]) * tangents[0]

    for g in (tn.grad, lambda h: tn.jit(tn.grad(h))):
        assert np.allclose(g(lambda x: tnp.sum(sin(x) ** 2))(X), 2 * np.sin(X) * np.cos(X))
        assert np.allclose(g(lambda x: tnp.sum(x * sin(lax.stop_gradient(x))))(X), np.sin(X))
    assert np.allclose(tn.jit(tn.vmap(tn.grad(sin)))(X), np.cos(X))


class Mine(Exception):
    pass


@modes
def test_exceptions_come_out_as_they_are(mode):
    error = Mine("of mine")

    def on_host(x):
        if x > 1:
            raise error
        return x

    f = mode(lambda x: tn.pure_callback(on_host, x, x) + 1)
    g = tn.jit(lambda x: lax.while_loop(lambda c: c < 5, lambda c: tn.pure_callback(on_host, c, c) + 1, x))
    for _ in range(3):
        for call, bad in ((f, np.float64(2)), (g, 0.0)):
            with pytest.raises(Mine) as caught:
                call(bad)
            assert caught.value is error
            assert any(entry.name == "on_host" for entry in caught.traceback)
    assert float(f(np.float64(0.5))) == 1.5


@modes
@pytest.mark.parametrize("made, said", [
    (np.ones(2), r"gave f64\[2\] as result 0, f64\[3\] was announced"), (np.ones(3, np.int32), r"gave i32\[3\]"), ((X, X), "announced"), (1.0, r"gave f64\[\]")])
def test_wrong_results(mode, made, said):
    with pytest.raises(RuntimeError, match=said):
        mode(lambda x: tn.pure_callback(lambda v: made, tn.ShapeDtypeStruct((3,), np.float64), x))(X)


def test_what_is_announced():
    with pytest.raises(TypeError, match="shape and a dtype"):
        tn.pure_callback(np.sin, 3, X)
    try:
        tn.config.x64 = False
        with pytest.raises(ValueError, match="x64"):
            tn.pure_callback(np.sin, np.zeros(3), X)
    finally:
        tn.config.x64 = True


def test_the_library_within():
    inner = tn.jit(lambda v: tnp.sum(v * v))

    def on_host(x):
        return inner(x) + tn.grad(lambda k: k * 3.0)(1.0)

    f = tn.jit(lambda x: tn.pure_callback(on_host, tn.ShapeDtypeStruct((), np.float64), x * 2))
    assert float(f(X)) == 4 * 14 + 3


def test_complex_and_sizes_that_data_decide():
    f = tn.jit(lambda z: tn.pure_callback(np.conj, z, z) * 2)
    assert f(np.array([1 + 2j])).tolist() == [2 - 4j]
    g = tn.jit(lambda x: tnp.sum(tn.pure_callback(lambda v: np.asarray(v) * 2, tn.ShapeDtypeStruct(x[x > 1].shape, x.dtype), x[x > 1])))
    assert float(g(X)) == 10


def test_threads():
    f = tn.jit(lambda x: lax.fori_loop(0, 50, lambda i, c: tn.pure_callback(lambda v: v + 1, c, c), x))
    f(0.0)
    made = {}
    threads = [threading.Thread(target=lambda k=k: made.update({k: float(f(float(k)))})) for k in range(6)]
    [t.start() for t in threads], [t.join(60) for t in threads]
    assert made == {k: k + 50 for k in range(6)}


def test_programs_tell():
    program = tn.make_program(lambda x: tn.pure_callback(np.sin, x, x))(X)
    assert "host_call" in str(program)


# --- io_callback ---


@modes
def test_io_in_order(mode):
    seen = []

    def next_number(x):
        seen.append(float(x))
        return np.float64(len(seen))

    like = tn.ShapeDtypeStruct((), np.float64)
    f = mode(lambda x: (tn.io_callback(next_number, like, x, ordered=True), tn.io_callback(next_number, like, x + 1)))
    assert [float(v) for v in f(1.0)] == [1, 2] and seen == [1, 2]
    assert [float(v) for v in f(5.0)] == [3, 4] and seen == [1, 2, 5, 6]


def test_io_under_vmap_and_grad():
    seen = []
    like = tn.ShapeDtypeStruct((), np.float64)

    def f(x, **options):
        return tn.io_callback(lambda v: (seen.append(float(v)), v)[1], like, x, **options)

    assert tn.jit(tn.vmap(f))(X).tolist() == X.tolist() and seen == X.tolist()
    with pytest.raises(ValueError):
        tn.vmap(functools.partial(f, ordered=True))(X)
    with pytest.raises(tn.errors.DifferentiationError):
        tn.grad(f)(1.0)


# --- debug ---


@modes
def test_print(mode, capsys):
    mode(lambda x, n: tn.debug.print("x = {x:.2f} {} {}", n, "text", x=x))(1.5, 3)
    mode(lambda x: tn.debug.print("{}", x))(X)
    mode(lambda x: tn.debug.print("plain", ordered=True))(X)
    mode(lambda t: tn.debug.print("{t}", t=t))({"a": 1.0, "b": (2,)})
    tn.effects_barrier()
    assert capsys.readouterr().out == "x = 1.50 3 text\n[3. 1. 2.]\nplain\n{'a': Array(1., dtype=float64), 'b': (Array(2, dtype=int64),)}\n"


def test_print_in_loops_branches_and_batches(capsys):
    def body(i, c):
        tn.debug.print("step {}", i)
        return lax.cond(c > 2, lambda v: (tn.debug.print("over {}", v), v)[1], lambda v: v, c) + 1

    assert float(tn.jit(lambda x: lax.fori_loop(0, 3, body, x))(1.0)) == 4
    assert capsys.readouterr().out == "step 0\nstep 1\nstep 2\nover 3.0\n"
    _, ys = tn.jit(lambda x: lax.scan(lambda c, a: (tn.debug.print("{} {}", c, a), (c + a, c))[1], 0.0, x))(X)
    assert capsys.readouterr().out == "0.0 3.0\n3.0 1.0\n4.0 2.0\n" and ys.tolist() == [0, 3, 4]
    for f in (tn.vmap, lambda g: tn.jit(tn.vmap(g))):
        f(lambda x: tn.debug.print("lane {}", x))(X)
        assert capsys.readouterr().out == "lane 3.0\nlane 1.0\nlane 2.0\n"
        f(lambda x: lax.cond(x > 1, lambda v: (tn.debug.print("lane {}", v), v)[1], lambda v: v, x))(X)
        assert capsys.readouterr().out == "lane 3.0\nlane 2.0\n"  # lanes that take the branch


def test_print_under_derivatives(capsys):
    def f(x):
        y = tnp.sin(x)
        tn.debug.print("y = {:.3f}", y)
        return y * y

    want = "y = 0.479\n"
    for g in (tn.grad(f), tn.jit(tn.grad(f)), tn.value_and_grad(f), lambda x: tn.jvp(f, (x,), (1.0,)), lambda x: tn.vjp(f, x),
              lambda x: tn.linearize(f, x)[1](1.0), tn.jit(tn.hessian(f))):
        g(0.5)
        assert capsys.readouterr().out == want
    tn.jit(tn.grad(lambda x: lax.fori_loop(0, 3, lambda i, c: f(c), x)))(0.5)
    assert capsys.readouterr().out.count("y = ") == 3
    tn.grad(tn.checkpoint(f))(0.5)
    assert set(capsys.readouterr().out.split("\n")) == {want.strip(), ""}


@pytest.mark.parametrize("call, kind", [
    (lambda x: tn.debug.print("{}", x, x), ValueError), (lambda x: tn.debug.print("{a}", a=x, b=x), ValueError),
    (lambda x: tn.debug.print("{} {}", x), IndexError), (lambda x: tn.debug.print("{a}", b=x), KeyError), (lambda x: tn.debug.print(x), TypeError),
    (lambda x: tn.debug.callback(3, x), TypeError), (lambda x: tn.debug.print("no place", x=x), ValueError),
])
@modes
def test_wrong_formats(mode, call, kind):
    with pytest.raises(kind):
        mode(call)(1.0)


@modes
def test_callback(mode):
    seen = []
    mode(lambda x: tn.debug.callback(lambda v, *, k, name: seen.append((v.tolist(), float(k), name)), x, k=2, name="n"))(X)
    mode(lambda x: tn.debug.callback(ordered=True)(seen.append, x + 1))(1.0)
    assert seen[0] == (X.tolist(), 2, "n") and float(seen[1]) == 2
    with pytest.raises(Mine):
        mode(lambda x: tn.debug.callback(fails, x))(1.0)


def fails(x):
    raise Mine


def test_values_that_are_asked_for_in_between(capsys):
    def f(x):
        tn.debug.print("x {}", x)
        return x * 2 if float(x) > 1 else x  # looks at the value

    assert float(tn.grad(f)(3.0)) == 2
    assert capsys.readouterr().out == "x 3.0\n"


# --- Ctrl-C ---


def test_interrupts_come_out_of_a_callback():
    program = """
import signal, threading, time, os, numpy as np, tenon as tn
signal.signal(signal.SIGINT, signal.default_int_handler)
def wait(x):
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    time.sleep(30)
    return x
f = tn.jit(lambda x: tn.lax.fori_loop(0, 3, lambda i, c: tn.pure_callback(wait, c, c), x))
start = time.monotonic()
try:
    f(1.0)
except KeyboardInterrupt as e:
    assert type(e) is KeyboardInterrupt, type(e)
    assert time.monotonic() - start < 10
    print("interrupted", float(tn.jit(lambda x: x + 1)(1.0)))
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert run.stdout == "interrupted 2.0\n", run.stderr


def test_a_process_with_callbacks_ends_in_silence():
    program = ("import numpy as np, tenon as tn\n"
               "print(tn.jit(lambda x: tn.pure_callback(np.sort, x, x))(np.array([3.0, 1.0])))\n"
               "tn.jit(lambda x: tn.debug.print('{}', x))(1.0)")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[1. 3.]\n1.0\n", "")


def test_results_as_they_were_announced():
    # A list is a node of trees where one is announced, and a row of numbers where an array is.
    wanted = tn.ShapeDtypeStruct((2,), np.float32)
    assert tn.pure_callback(lambda x: {"y": [x]}, {"y": [wanted]}, np.ones(2, np.float32))["y"][0].shape == (2,)
    assert tn.jit(lambda x: tn.pure_callback(lambda x: [1.0, 2.0], wanted, x))(1.0).tolist() == [1, 2]
    with pytest.raises(RuntimeError, match="announced"):
        tn.pure_callback(lambda x: (x, x), {"y": wanted}, 1.0)


def test_results_are_flattened():
    number = tn.ShapeDtypeStruct((), np.float32)
    f = tn.jit(lambda x: tn.pure_callback(lambda y: {"y": y}, {"y": number}, [x]))
    assert f(np.float32(2.0))["y"] == 2
    with pytest.raises(RuntimeError, match="was announced"):
        tn.jit(lambda x: tn.pure_callback(lambda y: (y, np.ones(4)), number, x))(np.float32(2.0))


def test_no_derivative_is_a_value_error():
    for call in (tn.pure_callback, tn.io_callback):
        with pytest.raises(ValueError, match="host_call has no derivative"):
            tn.grad(lambda x: call(np.sin, x, x))(1.0)


@pytest.mark.parametrize("program", [
    "f = tn.jit(lambda x: tn.pure_callback(lambda y: np.asarray(f(y)), x, x))", "f = tn.jit(lambda x: f(x))",
    "f = lambda x: tn.grad(f)(x)", "f = lambda x: tn.lax.scan(lambda c, _: (f(c), None), x, None, length=2)[0]"])
def test_endless_recursion(program):
    text = f"""
import sys
import numpy as np, tenon as tn
{program}
for limit in (1000, 10**6):
    sys.setrecursionlimit(limit)
    try:
        f(1.0)
    except RecursionError:
        print("ended")
"""
    run = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120)
    assert run.stdout.split() == ["ended"] * 2, run.stderr[-500:]
