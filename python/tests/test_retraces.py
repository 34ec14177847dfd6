"""What is said of functions that are traced again and again; recursion while they are traced; caches with a bound."""

import functools
import gc
import os
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp
from tenon import lax


def logged(program):
    """The lines about traces that a program logs, without their times."""
    program = "import functools\nimport tenon as tn, tenon.numpy as tnp\n" + textwrap.dedent(program)
    run = subprocess.run([sys.executable, "-c", program], env={**os.environ, "TENON_LOG": "cache"}, capture_output=True,
                         text=True, check=True)
    return [line.split("cache", 1)[1].strip() for line in run.stderr.splitlines() if ": traced again: " in line]


def test_log_says_what_differs_from_the_nearest_signature():
    assert logged("""
        @functools.partial(tn.jit, static_argnums=2, static_argnames="mode")
        def f(x, y, n, *rest, mode="a"):
            return x["w"].sum() + y

        f({"w": tnp.ones(64)}, 1.0, 1)
        f({"w": tnp.ones(128)}, 1.0, 1)
        f({"w": tnp.ones(128)}, 1, 1)
        f({"w": tnp.ones(128)}, tnp.ones((), int), 1)
        f({"w": tnp.ones(128), "b": 3}, 1.0, 1)
        f({"w": tnp.ones((128, 2))}, 1.0, 1)
        f({"w": tnp.ones(64)}, 1.0, 2)
        f({"w": tnp.ones(64)}, 1.0, 2, mode="b")
        f({"w": tnp.ones(64)}, 1.0, 2, 3.0, mode="b")
        f({"w": tnp.ones(64)}, 1.0, 2, 3, mode="b")
        f({"w": tnp.ones(65)}, 1.0, 2, 3.0, mode="b")
        f({"w": tnp.ones(64)}, 1.0, 2, 3.0, mode="b")
    """) == [
        "f: traced again: argument x['w'], axis 0: 128, was 64",
        "f: traced again: argument y, dtype: i64, was f64",
        "f: traced again: argument y, weak type: not weakly typed, was weakly typed",
        "f: traced again: argument x, structure: {'b': *, 'w': *}, was {'w': *}",
        "f: traced again: argument x['w'], shape: [128,2], was [128]",
        "f: traced again: static argument n: 2, was 1",
        "f: traced again: static argument mode: 'b', was not given",
        "f: traced again: argument rest[0], structure: *, was not given",
        "f: traced again: argument rest[0], dtype: i64, was f64",
        "f: traced again: argument x['w'], axis 0: 65, was 64",
    ]


def test_log_of_what_is_around_a_call():
    assert logged("""
        @tn.jit
        def outer(x):
            inner = tn.jit(lambda y: y * x)
            return inner(x) + inner(x)

        outer(1.0)
    """) == ["<lambda>: traced again: what is around the call: another transformation, or an array there that the function "
             "captures"]


def test_many_traces_warn_once():
    @functools.partial(tn.jit, sizes="fixed")
    def f(x, n):
        return x * n

    line = f.__wrapped__.__code__.co_firstlineno
    for size in range(1, 21):
        f(tnp.ones(size), 2)
    with pytest.warns(tn.RetraceWarning) as told:
        for size in range(21, 30):
            f(tnp.ones(size), 2)
    assert len(told) == 1 and told[0].filename == __file__
    said = str(told[0].message)
    assert f"f ({__file__}:{line}) has been traced 21 times" in said
    assert "argument x, axis 0: 21, was 20 (20 times)" in said and "Static arguments" in said


def test_a_function_that_is_jitted_anew_warns_once():
    def step():
        return tn.jit(lambda x: x + 1)(1.0)

    for _ in range(20):
        step()
    with pytest.warns(tn.RetraceWarning, match="jit has been given <lambda> .* 21 times") as told:
        for _ in range(10):
            step()
    assert len(told) == 1


def test_few_traces_do_not_warn():
    f = tn.jit(lambda x: x + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            for size in range(20):
                f(tnp.ones(size))
        for size in range(40):
            tn.jit(lambda x: x - 1)(tnp.ones(size))


def test_a_warning_that_is_an_error_leaves_the_function_as_it_is():
    f = tn.jit(lambda x: x + 1, sizes="fixed")
    for size in range(20):
        f(tnp.ones(size))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(tn.RetraceWarning):
            f(tnp.ones(20))
        assert f(tnp.ones(20)).shape == (20,)


@tn.jit
def alone(x):
    return alone(x - 1)


@tn.jit
def ping(x):
    return pong(x) * 2


@tn.jit
def pong(x):
    return ping(x) + 1


@tn.jit
def by_grad(x):
    return tn.grad(by_grad)(x)


@tn.jit
def by_vmap(x):
    return tn.vmap(by_vmap)(tnp.stack([x, x]))[0]


@tn.jit
def by_scan(x):
    return lax.scan(lambda c, _: (by_scan(c), None), x, None, length=2)[0]


@tn.jit
def by_cond(x):
    return lax.cond(x > 0, by_cond, lambda x: x, x)


@tn.jit
def by_checkpoint(x):
    return tn.checkpoint(by_checkpoint)(x)


@tn.jit
def by_jvp(x):
    return tn.jvp(by_jvp, (x,), (x,))[1]


@pytest.mark.parametrize("f", [alone, by_grad, by_vmap, by_scan, by_cond, by_checkpoint, by_jvp], ids=lambda f: f.__name__)
@pytest.mark.parametrize("around", [lambda f: f, tn.grad, tn.jit, tn.checkpoint])
def test_recursion_names_the_function(f, around):
    with pytest.raises(tn.NestingError) as raised:
        around(f)(2.0)
    assert isinstance(raised.value, RecursionError) and isinstance(raised.value, tn.Error)
    line = f.__wrapped__.__code__.co_firstlineno
    assert f"{f.__name__} ({__file__}:{line}) -> {f.__name__}." in str(raised.value)
    assert "scan" in str(raised.value) and "static argument" in str(raised.value)


def test_mutual_recursion_names_the_cycle():
    with pytest.raises(RecursionError) as raised:
        tn.jit(lambda x: ping(x))(2.0)
    lines = [f.__wrapped__.__code__.co_firstlineno for f in (ping, pong)]
    assert f": ping ({__file__}:{lines[0]}) -> pong ({__file__}:{lines[1]}) -> ping." in str(raised.value)


def test_a_function_is_traced_after_a_recursion_was_refused():
    ends = []

    @tn.jit
    def f(x):
        return x if ends else f(x)

    with pytest.raises(tn.NestingError):
        f(1.0)
    ends.append(True)
    assert f(1.0) == 1.0


@pytest.mark.filterwarnings("ignore::tenon.errors.RetraceWarning")
def test_recursion_that_ends_goes_on():
    @functools.partial(tn.jit, static_argnums=1)
    def by_static(x, n):
        return x if n == 0 else by_static(x + 1, n - 1)

    @tn.jit
    def by_shape(x):
        return x[0] if x.shape[0] == 1 else x[0] + by_shape(x[1:])

    assert by_static(0.0, 60) == 60.0
    assert by_shape(tnp.ones(60)) == 60.0
    assert tn.grad(by_static)(0.0, 30) == 1.0
    assert tn.vmap(by_shape)(tnp.ones((2, 30))).tolist() == [30.0, 30.0]


def test_a_rule_may_call_the_compiled_function_itself():
    @tn.jit
    def e(x):
        return with_rule(x)

    @tn.custom_jvp
    def with_rule(x):
        return tnp.exp(x)

    @with_rule.defjvp
    def rule(primals, tangents):
        y = e(primals[0])
        return y, y * tangents[0]

    assert abs(float(tn.grad(tn.grad(e))(1.0)) - 2.718281828459045) < 1e-12
    assert abs(float(tn.jit(tn.grad(tn.grad(tn.grad(e))))(1.0)) - 2.718281828459045) < 1e-12


@pytest.mark.filterwarnings("ignore::tenon.errors.RetraceWarning")
def test_recursion_without_end_over_new_types():
    @tn.jit
    def deeper(x):
        return deeper(x[None])

    with pytest.raises(RecursionError) as raised:
        deeper(tnp.ones(1))
    assert "deeper" in str(raised.value) and "more … -> deeper" in str(raised.value)

    @tn.jit
    def longer(x):
        return longer(tnp.concatenate([x, x]))

    with pytest.raises(ValueError, match="63 bits"):
        longer(tnp.ones(1))


@pytest.mark.parametrize("transformed", ["tn.grad(f)(x)", "f(x)", "tn.vmap(f)(x[None])[0]",
                                         "lax.scan(lambda c, _: (f(c), None), x, None, length=2)[0]",
                                         "tn.jit(f)(x)", "tn.checkpoint(f)(x)", "tn.jit(lambda y: f(y))(x)"])
def test_recursion_of_plain_functions_ends_at_any_limit(transformed):
    program = f"""
import sys
import tenon as tn, tenon.numpy as tnp
from tenon import lax
sys.setrecursionlimit(10 ** 6)
def f(x):
    return {transformed} * 1.0
try:
    tn.jit(f)(tnp.ones(()))
except RecursionError as e:
    print(type(e).__name__)
"""
    if transformed == "f(x)":  # Python's own stack, which nothing of ours guards
        program = program.replace("10 ** 6", "1000")
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.returncode == 0 and "Error" in run.stdout, run.stderr[-500:]


def held():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.filterwarnings("ignore::tenon.errors.RetraceWarning")
def test_ten_thousand_signatures_stay_within_the_bound():
    gc.collect()
    before = tn.cache_info()
    f = tn.jit(lambda x, n: x, static_argnums=1)
    x = tnp.ones(3)
    for n in range(5_000):
        f(x, n)
    halfway = held()
    for n in range(5_000, 10_000):
        f(x, n)
    assert held() - halfway < 4 << 20
    after = tn.cache_info()
    bound = after["traces"].bound - before["traces"].bound
    assert 1024 <= after["traces"].entries - before["traces"].entries <= bound == 2048
    assert after["traces"].misses - before["traces"].misses == 10_000
    f(x, 9_999), f(x, 9_000)
    assert tn.cache_info()["traces"].misses == after["traces"].misses
    assert tn.cache_info()["traces"].hits == after["traces"].hits + 2
    f.clear_cache()
    assert tn.cache_info()["traces"].entries <= before["traces"].entries + 1
    for name, info in tn.cache_info().items():
        assert 0 <= info.entries <= info.bound or name == "transformations", name


@pytest.mark.filterwarnings("ignore::tenon.errors.RetraceWarning")
def test_what_is_used_stays_and_what_runs_is_not_freed():
    f = tn.jit(lambda x, n: tn.debug.callback(inside, x) if n == 0 else x, static_argnums=1)
    traced = []

    def inside(x):
        for n in range(1, 3_000):  # drops the specialisation that runs
            f(x, n)
        traced.append(True)

    f(1.0, 0)
    tn.effects_barrier()
    assert traced
    g = tn.jit(lambda x, n: traced.append(n) or x, static_argnums=1)
    traced.clear()
    for n in range(3_000):
        g(1.0, n), g(1.0, 0)
    assert traced.count(0) == 1


def test_functions_that_differ_in_numbers_share_code():
    x = np.linspace(-3, 3, 1_000)

    def step(rate):
        return tn.jit(lambda x: x - rate * tnp.cos(x) + tnp.sum(x * rate))

    step(0.3)(x)
    before = tn.cache_info()["code"].hits
    for rate in (0.1, 0.01, -7.3):
        np.testing.assert_allclose(step(rate)(x), x - rate * np.cos(x) + np.sum(x * rate), rtol=1e-12, atol=1e-12)
    assert tn.cache_info()["code"].hits == before + 3


def test_cache_info_counts():
    tn.clear_caches()
    info = tn.cache_info()
    assert set(info) - {"fourier"} == {"traces", "transformations", "executables", "ops", "code", "repeated calls"}
    assert all(i.entries == 0 for i in info.values()), info
    f = tn.jit(lambda x: tnp.sin(x) + 12.5)
    tn.grad(f)(1.0), f(2.0), f(3.0), tnp.cos(tnp.ones(17)), tnp.fft.fft(tnp.ones(17))
    after = tn.cache_info()
    assert after["traces"].entries >= 1 and after["executables"].entries >= 2 and after["ops"].entries >= 1
    assert after["transformations"].entries > 0 and after["transformations"].bytes > 0
    assert all(after[n].misses > info[n].misses for n in info if n != "repeated calls")
