#!/usr/bin/env python3
"""Programs of libraries of JAX's, by JAX and by tn.from_jax: whether they agree, and how long they take.

    python bench/python/from_jax.py [NAME…]      the programs of from_jax_programs.py
    python bench/python/from_jax.py --growth     long programs: seconds to trace, to compile, and to do so with a gradient
    python bench/python/from_jax.py --calls      microseconds of calls that do next to nothing

For an environment with tenon, jax and the libraries that the programs import; what is not installed is left out. A line a
program: the largest difference, relative to the largest element of its array (of an array that is rounding beside the
others, to a thousandth of theirs); milliseconds of a call in the best of rounds in which both take their turns, and their
ratio; milliseconds of the first call. Under it the number of programs, and those that are slower than JAX.
"""

import sys
import time
import timeit
import warnings

warnings.simplefilter("ignore")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from from_jax_programs import PROGRAMS  # noqa: E402

import tenon as tn  # noqa: E402


def first_call(function, args):
    """(results, seconds)."""
    start = time.perf_counter()
    return jax.block_until_ready(function(*args)), time.perf_counter() - start


def side_by_side(functions, args, rounds=25):
    """Seconds of a call of each in its best round: they take turns, and other load on the machine spoils rounds of both."""
    counts, times = [], [[] for _ in functions]
    for function in functions:
        took = min(timeit.repeat(lambda: jax.block_until_ready(function(*args)), number=1, repeat=3))
        counts.append(max(1, int(2e-3 / took)))
    for _ in range(rounds):
        for function, count, each in zip(functions, counts, times):
            each.append(timeit.timeit(lambda: jax.block_until_ready(function(*args)), number=count) / count)
    return [min(each) for each in times]


def numbers(x):
    if isinstance(x, jax.Array) and jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key):
        x = jax.random.key_data(x)
    return np.asarray(x).astype(np.float64)


def difference(made, wanted):
    made, wanted = [[numbers(x) for x in jax.tree.leaves(each)] for each in (made, wanted)]
    assert [x.shape for x in made] == [x.shape for x in wanted]
    largest = [float(np.abs(y[np.isfinite(y)]).max(initial=0)) for y in wanted]
    floor = 1e-3 * max(largest, default=0.0) + 1e-6
    return max((float(np.nanmax(np.abs(x - y), initial=0)) / max(top, floor) for x, y, top in zip(made, wanted, largest)),
               default=0.0)


def ways_of(function, argument):
    yield "value", function, tn.from_jax(function)
    if argument is not None:
        gradient = jax.grad(function, argument)
        yield "grad by tenon", gradient, tn.jit(tn.grad(tn.from_jax(function), argument))
        yield "grad by jax", gradient, tn.from_jax(gradient)


def programs(names):
    print(f"{'library':12}{'program':21}{'':14}{'error':>8} {'ms tenon':>9} {'ms jax':>9} {'ratio':>6} {'first':>6} {'jax':>6}")
    count, libraries, errors, slower = 0, set(), [], []
    for name, (library, make) in PROGRAMS.items():
        if names and name not in names:
            continue
        try:
            function, args, argument = make()
        except ImportError as error:
            print(f"{library:12}{name:21}left out: {error}", flush=True)
            continue
        count, libraries = count + 1, libraries | {library}
        for way, of_jax, ours in ways_of(function, argument):
            theirs = jax.jit(of_jax)
            try:
                made, first = first_call(ours, args)
            except Exception as error:
                print(f"{library:12}{name:21}{way:14}FAILS {type(error).__name__}: {str(error)[:300]}", flush=True)
                errors.append(float("inf"))
                continue
            wanted, jax_first = first_call(theirs, args)
            errors.append(difference(made, wanted))
            ms, jax_ms = (1e3 * t for t in side_by_side((ours, theirs), args))
            if ms > jax_ms:
                slower.append(f"{name} {way} ({ms / jax_ms:.2f})")
            print(f"{library:12}{name:21}{way:14}{errors[-1]:8.1e} {ms:9.3f} {jax_ms:9.3f} {ms / jax_ms:6.2f} {first * 1e3:6.0f} "
                  f"{jax_first * 1e3:6.0f}", flush=True)
    print(f"{count} programs of {len(libraries)} libraries, {len(errors)} ways; the largest error {max(errors):.1e}; slower than "
          f"JAX: {', '.join(slower) or 'none'}")


def long_program(step, count):
    def function(x):
        for i in range(count):
            x = step(x, i)
        return jnp.sum(x)

    return function


STEPS = {
    "arithmetic": (2, lambda x, i: x * 1.0001 + 1e-6),
    "gelu": (9, lambda x, i: jax.nn.gelu(x)),
    "relu": (3, lambda x, i: jax.nn.relu(x) * 1.001),
    "where": (3, lambda x, i: jnp.where(x > 1, x, 2 * x)),
    "updates": (5, lambda x, i: x.at[i % 12].add(1e-3 * x[(i + 1) % 12])),
}


def growth(sizes):
    print(f"{'program':12}{'eqns':>8} {'by JAX':>8} {'walk':>8} {'compile':>8} {'all/eqn':>8}   seconds, and microseconds an eqn")
    x = np.ones(12, np.float32)
    for name, (each, step) in STEPS.items():
        for eqns in sizes:
            function = long_program(step, eqns // each)
            start = time.perf_counter()
            jax.make_jaxpr(function)(x)
            traced = time.perf_counter()
            ours = tn.from_jax(function)
            tn.eval_shape(ours, x)
            walked = time.perf_counter()
            ours(x)
            done = time.perf_counter()
            by_jax, walk, compiled = traced - start, walked - traced - (traced - start), done - walked
            print(f"{name:12}{eqns:8} {by_jax:8.2f} {walk:8.2f} {compiled:8.2f} {(by_jax + walk + compiled) / eqns * 1e6:8.0f}",
                  flush=True)


def calls():
    x, params = np.ones(12, np.float32), {f"p{i}": np.ones(12, np.float32) for i in range(10)}
    cases = (("an array", lambda x: x * 2 + 1, x), ("a dict of ten", lambda p: {k: v * 2 for k, v in p.items()}, params))
    print(f"{'':16}{'tn.jit':>8} {'from_jax':>9} {'jax.jit':>8}   microseconds")

    def best(function, arg):
        function(arg)
        return min(timeit.repeat(lambda: function(arg), number=1000, repeat=20)) * 1e3

    for name, function, arg in cases:
        ours, theirs = tn.tree.map(tn.numpy.asarray, arg), jax.tree.map(jnp.asarray, arg)
        print(f"{name:16}{best(tn.jit(function), ours):8.2f} {best(tn.from_jax(function), ours):9.2f} "
              f"{best(jax.jit(function), theirs):8.2f}")
    key = jax.random.key(0)
    print(f"{'a typed key':16}{'':8} {best(tn.from_jax(jax.random.bits), key):9.2f} {best(jax.jit(jax.random.bits), key):8.2f}")


if __name__ == "__main__":
    tn.config.x64 = bool(jax.config.jax_enable_x64)
    if sys.argv[1:] == ["--growth"]:
        growth((1000, 10_000, 100_000))
    elif sys.argv[1:] == ["--calls"]:
        calls()
    else:
        programs(sys.argv[1:])
