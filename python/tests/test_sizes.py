"""Sizes that vary between calls of a jitted function: what becomes a variable, beside NumPy and calls that are not jitted."""

import os
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp
from tenon import lax, random

LENGTHS = (5, 2, 9, 33)


def counted(f, **options):
    count = [0]

    def traced(*args, **kwargs):
        count[0] += 1
        return f(*args, **kwargs)

    return tn.jit(traced, **options), count


def line(n):
    return np.arange(1, n + 1) * 0.37


def same(got, want):
    got, want = tn.tree.leaves(got), tn.tree.leaves(want)
    assert len(got) == len(want)
    for a, b in zip(got, want):
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-9, atol=1e-12)


# What has one trace for all lengths.
ANY = {
    "elementwise": lambda x: tnp.sin(x) * 2 + x,
    "sum": lambda x: (tnp.sum(x), tnp.prod(x), tnp.max(x), tnp.argmin(x)),
    "mean": lambda x: (tnp.mean(x), tnp.var(x), tnp.std(x)),
    "softmax": tn.nn.softmax,
    "norm": tnp.linalg.norm,
    "linspace": lambda x: tnp.linspace(0.0, 1.0, x.shape[0]) + x,
    "arange": lambda x: tnp.arange(x.shape[0]) * x + tnp.arange(1, x.shape[0] + 1),
    "zeros": lambda x: (tnp.zeros(x.shape) + x, tnp.ones((x.shape[0] * 2, 3)), tnp.full(x.shape[0] // 2, 3.0)),
    "eye": lambda x: tnp.eye(x.shape[0]) @ x,
    "reshape": lambda x: (x.reshape(x.shape[0], 1), tnp.outer(x, x).reshape(-1)),
    "broadcast_to": lambda x: tnp.broadcast_to(x, (3, x.shape[0])),
    "tile": lambda x: (tnp.tile(x, 3), tnp.repeat(x, 2)),
    "slices": lambda x: (x[1:], x[:-1] + x[1:], x[::-1], x[::2], x[:x.shape[0] // 2], x[-1]),
    "split": lambda x: tnp.split(tnp.concatenate([x, x]), 2),
    "concatenate": lambda x: (tnp.concatenate([x, x * 2]), tnp.stack([x, x]), tnp.pad(x, 2)),
    "roll": lambda x: (tnp.roll(x, 1), tnp.roll(x, -3)),
    "updates": lambda x: x.at[0].set(5.0).at[-1].add(2.0),
    "gather": lambda x: x[tnp.array([0, 1, 0])],
    "where": lambda x: tnp.where(x > 2, x, 0.0),
    "mask": lambda x: tnp.sum(x[x > 1]),
    "product under a mask": lambda x: x[x > 1] @ x[x > 1],
    "dot": lambda x: (x @ x, tnp.outer(x, x) @ x, tnp.einsum("i,j->ij", x, x)),
    "sort": lambda x: (tnp.sort(-x), tnp.argsort(-x), tnp.median(x), tnp.quantile(x, 0.3)),
    "cumulative": lambda x: (tnp.cumsum(x), tnp.cumprod(x), tnp.diff(x)),
    "scan": lambda x: lax.scan(lambda c, a: (c + a, c * a), 0.0, x),
    "scan of a length": lambda x: lax.scan(lambda c, _: (c * 0.5, c), 1.0, None, length=x.shape[0]),
    "fori_loop": lambda x: lax.fori_loop(0, x.shape[0], lambda i, a: a + x[i], 0.0),
    "while_loop": lambda x: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2), (0, x))[1],
    "cond": lambda x: lax.cond(x[0] > 1, lambda x: x, lambda x: -x, x),
    "product in cond": lambda x: lax.cond(x[0] > 1, lambda v: v @ x, lambda v: tnp.sum(v), x),
    "map": lambda x: lax.map(lambda a: a * 2, x),
    "random": lambda x: (random.normal(random.key(0), x.shape), random.uniform(random.key(1), (x.shape[0], 3))),
    "by the size": lambda x: x / x.shape[0] + x.size * 0.5 - tnp.sqrt(x.shape[0]) + x.shape[0] ** 2,
    "grad": tn.grad(lambda x: tnp.sum(tnp.sin(x) * x)),
    "value_and_grad": tn.value_and_grad(lambda x: tnp.mean(x**2)),
    "hvp": lambda x: tn.jvp(tn.grad(lambda x: tnp.sum(x**3)), (x,), (tnp.ones_like(x),)),
    "vmap": tn.vmap(lambda a: tnp.sin(a) * 2),
    "vmap of grad": tn.vmap(tn.grad(lambda a: tnp.sin(a) * 2)),
    "vmap of scan": lambda x: tn.vmap(lambda a: lax.scan(lambda c, b: (c + b * a, c), 0.0, x))(x),
    "grad of scan": tn.grad(lambda x: tnp.sum(lax.scan(lambda c, a: (tnp.sin(c) * a, c * a), 1.0, x)[1])),
    "grad of mask": tn.grad(lambda x: tnp.sum(x[x > 1] ** 2)),
    "grad of checkpoint": tn.grad(lambda x: tnp.sum(tn.checkpoint(lambda x: tnp.sin(x) * x)(x))),
    "inner jit": lambda x: tn.jit(lambda y: y * 2)(x),
    "diag": lambda x: (tnp.diag(x), tnp.tril(tnp.outer(x, x)), tnp.diag(tnp.outer(x, x))),
    "solve": lambda x: tnp.linalg.solve(tnp.eye(x.shape[0]) * 2 + tnp.outer(x, x) * 0.01, x),
    "search": lambda x: (tnp.searchsorted(x, x), tnp.interp(x, x, x * 2)),
    "jacobians": lambda x: (tn.jacrev(lambda x: x**2)(x), tn.jacfwd(lambda x: x**2)(x), tn.hessian(lambda x: tnp.sum(x**3))(x)),
    "top_k": lambda x: (lax.top_k(x, 2), lax.top_k(x, x.shape[0] // 2)),
    "convolve": lambda x: (tnp.convolve(x, x), tnp.convolve(x, tnp.ones(2), mode="same"), tnp.convolve(x, x[:1], mode="valid")),
    "permutation": lambda x: random.permutation(random.key(0), x),
    "factors": lambda x: (tnp.linalg.cholesky(tnp.eye(x.shape[0]) * 2 + tnp.outer(x, x) * 0.01), tnp.linalg.det(tnp.eye(x.shape[0]) * 2)),
    "grad of fori_loop": tn.grad(lambda x: lax.fori_loop(0, x.shape[0], lambda i, a: tnp.sin(a) + x[i], 0.0)),
}


@pytest.mark.parametrize("name", ANY)
@pytest.mark.parametrize("sizes", ["symbolic", "automatic"])
def test_one_trace_for_all_lengths(name, sizes):
    f, count = counted(ANY[name], sizes=sizes)
    for n in LENGTHS:
        same(f(line(n)), ANY[name](tnp.array(line(n))))
    assert count[0] == (1 if sizes == "symbolic" else 2)


SMOOTH = ["elementwise", "mean", "softmax", "slices", "concatenate", "roll", "updates", "where", "dot", "sort", "cumulative",
          "scan", "by the size", "product in cond"]


def scalar(f):
    return lambda x: sum(tnp.sum(leaf * 1.5) for leaf in tn.tree.leaves(f(x)) if leaf.dtype.kind == "f")


@pytest.mark.parametrize("name", SMOOTH)
def test_transformed(name):
    f = ANY[name]
    for transformed, rank in ((tn.grad(scalar(f)), 1), (lambda x: tn.jvp(scalar(f), (x,), (tnp.cos(x),)), 1), (tn.vmap(f), 2),
                              (tn.vmap(tn.grad(scalar(f))), 2), (tn.grad(lambda x: tnp.sum(tn.vmap(scalar(f))(x))), 2)):
        jitted, count = counted(transformed)
        for n in LENGTHS:
            x = np.stack([line(n), line(n)[::-1], np.cos(line(n))][:rank + 1]) if rank == 2 else line(n)
            same(jitted(x), transformed(tnp.array(x)))
        assert count[0] == 2


def test_a_thousand_lengths():
    f, count = counted(lambda x: (tnp.sin(x) * 2, x.sum()))
    for n in range(2, 300):
        y, total = f(line(n))
        np.testing.assert_allclose(y, np.sin(line(n)) * 2, rtol=1e-12)
        np.testing.assert_allclose(total, line(n).sum(), rtol=1e-12)
    assert count[0] == 2


@pytest.mark.parametrize("f", [
    lambda x: (tnp.sort(-x), tnp.cumsum(x)),
    tn.value_and_grad(lambda x: tnp.sum(tnp.sort(-x) * tnp.cumsum(x))),
    lambda x: tnp.linalg.solve(tnp.eye(x.shape[0]) * 2 + tnp.outer(x, x), x),
    tn.grad(lambda x: tnp.sum(tnp.linalg.solve(tnp.eye(x.shape[0]) * 2 + tnp.outer(x, x), x))),
], ids=["sort and cumsum", "with gradient", "solve", "gradient of solve"])
def test_many_lengths_in_one_code(f):
    g, count = counted(f)
    lengths = (2, 3, 17, 40, 41)
    wants = [f(tnp.array(line(n))) for n in lengths]
    before = tn.cache_info()["executables"].misses
    for n, want in zip(lengths, wants):
        same(g(line(n)), want)
    for n in range(5, 30):
        g(line(n))
    assert count[0] == 2
    assert tn.cache_info()["executables"].misses - before <= 3


def test_zero_and_one_are_other_programs():
    f, count = counted(lambda x, y: x + y)
    for n in (5, 7, 1, 0, 9, 1, 0, 2):
        same(f(line(n), np.ones((3, 1))), line(n) + np.ones((3, 1)))
    assert count[0] == 4


def test_sizes_that_agree_share_a_variable():
    f, count = counted(lambda x, y: (x * 2, y + 1, x.shape == y.shape))
    for a, b, traces in ((5, 5, 1), (6, 6, 2), (7, 8, 3), (9, 9, 3), (5, 5, 3), (8, 10, 3)):
        assert f(line(a), line(b))[2] == (a == b)
        assert count[0] == traces


def test_matrices_keep_the_axes_that_do_not_vary():
    seen = []
    f, count = counted(lambda x, w: seen.append(x.shape) or x @ w)
    for n in (3, 4, 7, 3):
        same(f(np.ones((n, 5)), np.ones((5, 2))), np.full((n, 2), 5.0))
    assert count[0] == 2 and seen[1][1] == 5 and isinstance(seen[1][0], tn.Dim)


@pytest.mark.parametrize("f", [
    lambda x: sum(x[i] for i in range(x.shape[0])),
    lambda x: x if x.shape[0] > 3 else -x,
    lambda x: x if x.shape[0] == 4 else -x,
    lambda x: tnp.asarray(np.arange(x.shape[0])) * x,
    lambda x: sum(list(x)),
    lambda x: x * len(x),
    lambda x: tnp.stack(tnp.split(x[: x.shape[0] // 2 * 2], x.shape[0] // 2)),
    lambda x: {n: x for n in [3, 4]}[3 if x.shape[0] < 4 else 4],
], ids=range(8))
def test_what_needs_the_number_is_traced_for_each(f):
    g, count = counted(f)
    for n in (3, 4, 5, 4, 6):
        same(g(line(n)), f(tnp.array(line(n))))
    assert count[0] == 5  # one of them failed
    with pytest.raises(tn.errors.Error):
        tn.jit(f, sizes="symbolic")(line(5))


def test_only_the_size_that_is_asked_for_is_traced_for_each():
    f, count = counted(lambda x, y: x * len(x) + tnp.sum(y))
    for n in (3, 4, 5, 6, 7):
        same(f(line(3), line(n)), line(3) * 3 + line(n).sum())
    assert count[0] == 2
    same(f(line(4), line(5)), line(4) * 4 + line(5).sum())
    now = count[0]
    for n in (6, 7, 8):
        same(f(line(4), line(n)), line(4) * 4 + line(n).sum())
    assert count[0] == now


def test_an_error_of_the_function_is_its_error():
    f, count = counted(lambda x, y: x @ y)
    f(line(3), line(3))
    with pytest.raises(tn.errors.ShapeError, match="test_sizes"):
        f(line(4), line(5))
    same(f(line(4), line(4)), line(4) @ line(4))

    def interrupted(x):
        if not isinstance(x.shape[0], int):
            raise KeyboardInterrupt
        return x

    g = tn.jit(interrupted)
    g(line(3))
    with pytest.raises(KeyboardInterrupt):
        g(line(4))


def test_fixed():
    f, count = counted(lambda x: x + 1, sizes="fixed")
    for n in (3, 4, 5, 3):
        assert f(line(n)).shape == (n,)
    assert count[0] == 3


def test_names():
    f, count = counted(lambda x, y: x @ y, sizes={"x": ("T", None), "y": "T"})
    g, _ = counted(lambda *a: a[0], sizes={0: "T"})
    assert g(line(3)).shape == (3,)

    def product(x, y):
        return x.T @ y

    f = tn.jit(product, sizes={"x": ("T", None), "y": "T"})
    for n in (3, 5):
        same(f(np.ones((n, 2)), line(n)), np.ones((2, n)) @ line(n))
        same(f(np.ones((n, 2)), y=line(n)), np.ones((2, n)) @ line(n))
    with pytest.raises(tn.errors.ShapeError, match=r"the size T is 3 in axis 0 of argument x, and 4 in axis 0 of argument y"):
        f(np.ones((3, 2)), line(4))
    with pytest.raises(tn.errors.ShapeError, match="names 2 axes of argument 0"):
        f(line(3), line(3))
    with pytest.raises(ValueError, match="'z'"):
        tn.jit(product, sizes={"z": "T"})
    with pytest.raises(ValueError, match="sizes is"):
        tn.jit(product, sizes="all")
    with pytest.raises(TypeError, match="name or None"):
        tn.jit(product, sizes={"x": (3,)})


def test_donated():
    f = tn.jit(lambda x, y: x + y, donate_argnums=0)
    for n in (1000, 1001, 1002, 4):
        x = tnp.array(line(n)) + 0
        same(f(x, 1.0), line(n) + 1)
        assert x.is_deleted()


def test_strict_options():
    f = tn.jit(lambda x: x.at[0].set(1.0), donate_argnums=0, strict_in_place=True, strict_native=True)
    for n in (300, 301, 302):
        assert f(tnp.array(line(n)) + 0)[0] == 1


def test_strict_in_place_is_asked_of_the_code_for_all_sizes():
    f, count = counted(lambda x: x.at[0].set(1.0), donate_argnums=0, strict_in_place=True)
    for n in (300, 301, 302, 5000):
        assert f(tnp.array(line(n)) + 0)[0] == 1
    assert count[0] == 2
    g = tn.jit(lambda x: (x.at[0].set(1.0), x + 1), donate_argnums=0, strict_in_place=True, sizes="symbolic")
    with pytest.raises(tn.errors.CompileError, match="copies as many bytes as the array has"):
        g(tnp.array(line(300)) + 0)


def test_inner_functions_are_traced_once_in_a_trace_of_any_sizes():
    inner, count = counted(lambda y: tnp.sin(y) * 2)
    f = tn.jit(lambda x: inner(x) + inner(x * 2) + tn.vmap(inner)(x), sizes="symbolic")
    for n in LENGTHS:
        same(f(line(n)), np.sin(line(n)) * 4 + np.sin(line(n) * 2) * 2)
    assert count[0] == 2  # of vectors and of numbers


def test_references():
    total = tn.new_ref(0.0)
    f = tn.jit(lambda x: total.__setitem__(..., total[...] + x.sum()))
    g = tn.jit(lambda r, x: r[...] * x)
    want = 0.0
    for n in (3, 4, 5, 6):
        f(line(n))
        want += line(n).sum()
        same(g(tn.new_ref(2.0), line(n)), line(n) * 2)
    np.testing.assert_allclose(total[...], want, rtol=1e-12)


def test_stages_are_of_their_sizes():
    f = tn.jit(lambda x: x * 2)
    f(line(3)), f(line(4))
    assert f.lower(line(5)).out_info.shape == (5,) and f.eval_shape(line(6)).shape == (6,)
    compiled = f.lower(line(5)).compile()
    assert compiled(line(5)).shape == (5,)
    with pytest.raises(TypeError):
        compiled(line(6))
    assert "f64[5]" in f.lower(line(5)).as_text()


def test_threads():
    f = tn.jit(lambda x: (x * 2, tnp.sum(x)))
    wrong = []

    def work(t):
        for n in range(2, 40):
            y, total = f(line(n + t))
            if not np.allclose(y, line(n + t) * 2) or not np.allclose(total, line(n + t).sum()):
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(t,)) for t in range(4)]
    [t.start() for t in threads], [t.join() for t in threads]
    assert not wrong


def test_dims():
    def f(x, y):
        n, m = x.shape[0], y.shape[0]
        assert n != 0 and n != 1 and n >= 2 and n > 1 and not n < 2 and n and n < 2**31 and n == n
        assert n + 1 > n and n * m >= 4 and 2 * n == n + n and (n + m) // 1 == m + n and -n < 0 and +n == n
        assert n // 2 >= 0 and isinstance(n, tn.Dim) and {n: 1}[n] == 1
        for undecided in (lambda: n == 7, lambda: n < m, lambda: range(n), lambda: float(n), lambda: n - 3 > 0):
            with pytest.raises(tn.errors.ConcretizationError):
                undecided()
        with pytest.raises(TypeError):
            n + "a"
        return n * 0.5, 2.0 / n, n / 2, n**2, n % 4, 7 // n, n * x.sum(), x.sum() - n

    g = tn.jit(f, sizes="symbolic")
    for n, m in ((5, 8), (3, 9)):
        s = line(n).sum()
        same(g(line(n), line(m)), (n * 0.5, 2.0 / n, n / 2, n**2, n % 4, 7 // n, n * s, s - n))


def test_integers_that_are_asked_for_as_sizes():
    f, count = counted(lambda shape, x: tnp.zeros(shape) + x)
    for shape in ((2, 3), (2, 3), (4, 3)):
        assert f(shape, 1.0).shape == shape
    assert count[0] == 4  # each of the two is asked for, then they are known
    g, count = counted(lambda x, n, k: tnp.broadcast_to(x, (n, x.shape[0])) * k)
    for n, k in ((2, 5), (2, 6), (3, 6), (2, 9)):
        same(g(line(4), n, k), np.broadcast_to(line(4), (n, 4)) * k)
    assert count[0] == 3  # k stays traced
    same(tn.jit(lambda x, n: x.reshape(n, -1))(line(6), 2), line(6).reshape(2, -1))
    same(tn.jit(lambda key, shape: random.normal(key, shape))(random.key(0), (2, 3)), random.normal(random.key(0), (2, 3)))
    same(tn.jit(lambda x, n: tn.grad(lambda x: tnp.sum(tnp.ones(n)) * x)(x))(2.0, 3), 3.0)
    same(tn.jit(lambda x, n: tn.jit(lambda n: tnp.ones(n))(n) * x)(2.0, 3), np.full(3, 2.0))
    same(tn.jit(lambda x, n: lax.scan(lambda c, _: (c * 2, c), x, None, length=n))(2.0, 3), (16.0, np.array([2.0, 4, 8])))
    assert tn.explain(tn.jit(lambda n: tnp.ones(n)))(3)
    same(tn.jit(lambda n: tnp.zeros(n))(np.int64(3) * tnp.ones((), int)), np.zeros(3))


def test_log_tells_what_any_size_is_of():
    program = textwrap.dedent("""
        import tenon as tn, numpy as np
        f = tn.jit(lambda x: x + 1)
        g = tn.jit(lambda x: x * len(x))
        for n in (3, 4, 5):
            f(np.ones(n)), g(np.ones(n))
    """)
    run = subprocess.run([sys.executable, "-c", program], env={**os.environ, "TENON_LOG": "cache", "TENON_SIZES": ""},
                         capture_output=True, text=True, check=True)
    said = [line.split("cache", 1)[1].strip() for line in run.stderr.splitlines() if " any" in line]
    assert said[0] == "<lambda>: from now on for any size of axis 0 of argument x"
    assert said[1].startswith("<lambda>: traced for each size of axis 0 of argument x, since a trace for any failed: ")
    assert len(said) == 2


INSIDE_OR_NOT = {
    "number": lambda x: (x[4], x[-4], x[1], x[-1]),
    "put": lambda x: (x.at[4].set(9.0), x.at[-4].add(9.0), x.at[2:7].set(1.0)),
    "ranges": lambda x: (x[3:], x[:7], x[-4:], x[:-3], x[1:5:2], x[5::-1], x[-2:-5:-1]),
    "from the end of it": lambda x: (x[:x.shape[0] - 4], x[x.shape[0] - 4:]),
    "by a size": lambda x: (tnp.arange(4)[x.shape[0] - 2], tnp.arange(10)[:x.shape[0]], tnp.arange(10)[-x.shape[0]:]),
    "arange": lambda x: (tnp.arange(0, x.shape[0], 2), tnp.arange(4, x.shape[0]), tnp.arange(x.shape[0], 0, -3)),
    "slice": lambda x: lax.slice(x, (1,), (4,)),
    "matrix": lambda x: tnp.outer(x, x)[3:, -4],
    "grad": lambda x: tn.grad(lambda x: x[4] * x[1] + tnp.sum(x[2:5] ** 2))(x),
    "cond": lambda x: lax.cond(x[0] > 0, lambda x: x[4], lambda x: x[0], x),
    "diagonals": lambda x: (tnp.diag(x, 5), tnp.diagonal(tnp.outer(x, x), 5), tnp.tril(tnp.outer(x, x), 4)),
    "pad": lambda x: lax.pad(x, 0.0, [(-2, -1, 0)]),
    "zeros": lambda x: tnp.zeros(x.shape[0] - 3),
    "other operand": lambda x: x + tnp.ones(5),
    "parts": lambda x: tnp.split(x, [2, 4]),
    "update": lambda x: lax.dynamic_update_slice(x, tnp.ones(4), (1,)),
}


@pytest.mark.parametrize("name", INSIDE_OR_NOT)
def test_shorter_arrays_than_the_trace_saw(name):
    f = tn.jit(INSIDE_OR_NOT[name])
    f(line(9) + 1) if name != "other operand" else f(line(5))
    for n in (10, 8, 2, 3, 5, 12):
        try:
            want = tn.jit(INSIDE_OR_NOT[name], sizes="fixed")(line(n) + 1)
        except tn.errors.ShapeError:
            with pytest.raises(tn.errors.ShapeError):
                f(line(n) + 1)
        else:
            same(f(line(n) + 1), want)


def test_sizes_as_numbers_of_either_sign():
    f = tn.jit(lambda x: (-x.shape[0] * 1.5, (x.shape[0] - 4) * 0.5, (3 - x.shape[0] // 2) * 1.0), sizes="symbolic")
    for n in (2, 3, 4, 9):
        same(f(line(n)), (-n * 1.5, (n - 4) * 0.5, (3 - n // 2) * 1.0))
    g = tn.jit(lambda x: tnp.nonzero(x > 1, size=3, fill_value=-1)[0], sizes="symbolic")
    for n in (4, 6):
        assert g(line(n)).tolist() == (np.nonzero(line(n) > 1)[0].tolist() + [-1] * 3)[:3]


def test_rules_of_derivatives_for_all_sizes():
    """Functions with derivatives of their own are traced once for all sizes too."""
    by_vjp = tn.custom_vjp(lambda x: tnp.sin(x))
    by_vjp.defvjp(lambda x: (tnp.sin(x), x), lambda x, g: (g * tnp.cos(x),))
    by_jvp = tn.custom_jvp(lambda x: tnp.sin(x))
    by_jvp.defjvp(lambda primals, tangents: (tnp.sin(primals[0]), tnp.cos(primals[0]) * tangents[0]))
    for f in (by_vjp, by_jvp):
        def first(x, f=f):
            return tn.grad(lambda x: tnp.sum(f(x)))(x)

        def second(x, f=f):
            return tn.grad(lambda x: tnp.sum(tn.grad(lambda y: tnp.sum(f(y) * y))(x)))(x)

        def of_lanes(x, f=f):
            return tn.vmap(tn.grad(f))(x) + tn.grad(lambda x: tnp.sum(tn.vmap(f)(x) ** 2))(x)

        for g in (first, second, of_lanes):
            traced = []
            compiled = tn.jit(lambda x, g=g: (traced.append(1), g(x))[1], sizes="symbolic")
            for n in (5, 6, 40):
                x = np.linspace(0.0, 3.0, n)
                np.testing.assert_allclose(compiled(x), g(x), rtol=1e-12)
            assert len(traced) == 1


MAPPED = {
    "dot": lambda a, b: a @ b,
    "sort": lambda a, b: tn.lax.sort((a, b.sum(1)), num_keys=1)[1],
    "stack": lambda a, b: tnp.stack([a, b.sum(1)]),
    "cond": lambda a, b: tn.lax.cond(a[0] > 0.5, lambda: b.sum(), lambda: a.sum()),
    "scan": lambda a, b: tn.lax.scan(lambda c, r: (c + (r * c).sum(), c), a.sum(), b)[0],
    "while": lambda a, b: tn.lax.while_loop(lambda c: c[0] < b.sum(), lambda c: (c[0] * 2 + 1, c[1] + a), (a.sum(), a))[1],
    "grad": lambda a, b: tn.grad(lambda v: (v @ b).sum() ** 2)(a),
}


@pytest.mark.parametrize("name", MAPPED)
def test_lanes_of_different_variables_agree_when_it_runs(name):
    rng = np.random.default_rng(0)
    a, b = rng.random((5, 4)).astype("f4"), rng.random((5, 4, 3)).astype("f4")
    f = tn.jit(tn.vmap(MAPPED[name]), sizes="symbolic")
    for n in (5, 3):
        np.testing.assert_allclose(f(a[:n], b[:n]), tn.vmap(MAPPED[name])(a[:n], b[:n]), rtol=1e-5)
    with pytest.raises(ValueError, match="argument 1 has .* lanes along axis 0, argument 0 says .* They are 5 and 3."):
        f(a, b[:3])


def test_keys_are_not_of_variable_size():
    f = tn.jit(lambda key, x: x + tn.random.normal(key, x.shape), sizes="symbolic")
    key = tn.random.key(1)
    for n in (3, 5):
        np.testing.assert_array_equal(f(key, np.zeros(n, "f4")), tn.random.normal(key, (n,)))
