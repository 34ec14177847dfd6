#!/usr/bin/env python3
"""How long first calls take, as programs grow: tenon beside JAX.

    compiling.py [--only WORD] [--without-jax] [--seconds LIMIT]

A line a program and size: milliseconds of the first call, tracing and compiling, of a function and of its gradient, and of
the second call; then, of each program, the exponent that the upper half of its sizes fit. A library takes no larger size of
a program once one took longer than LIMIT seconds.
"""
import argparse
import math
import os
import time

os.environ["TENON_CACHE"] = "off"  # what is timed is compiled anew

import numpy as np  # noqa: E402


def ramp(*shape):
    return np.linspace(-1, 1, math.prod(shape), dtype=np.float32).reshape(shape)


def gathers(jx, n):
    at = np.random.default_rng(0).integers(0, 1000, 1000)

    def f(x):
        for _ in range(n):
            x = (x + x[at]) * 0.5
        return x
    return f, ramp(1000)


def reverses(jx, n):
    def f(x):
        for _ in range(n):
            x = (x + x[::-1]) * 0.5
        return x
    return f, ramp(1000)


def chain(jx, n):
    def f(x):
        for i in range(n):
            x = jx.numpy.sin(x) * 1.1 + 0.01 * i if i % 3 else jx.numpy.exp(-x)
        return x
    return f, ramp(1000)


def inner_products(jx, n):
    def ten(x):
        for _ in range(10):
            x = jx.numpy.sin(x @ x) * 0.5 + x
        return x
    inner = jx.jit(ten)

    def f(x):
        for _ in range(n):
            x = jx.numpy.cos(inner(x))
        return x
    return f, ramp(20, 20) * 0.1


def inner_elementwise(jx, n):
    def twenty(x):
        for i in range(10):
            x = jx.numpy.tanh(x * 1.01 + i)
        return jx.numpy.sum(x)
    inner = jx.jit(twenty)

    def f(x):
        total = 0.0
        for i in range(n):
            total = total + inner(x + i)
        return total
    return f, ramp(1000)


def tree(jx, n):
    def f(x):
        terms = [jx.numpy.sin(x * (1 + i / n)) for i in range(n)]
        while len(terms) > 1:
            terms = [a + b for a, b in zip(terms[::2], terms[1::2])] + (terms[-1:] if len(terms) % 2 else [])
        return terms[0]
    return f, ramp(1000)


def shared(jx, n):
    def f(x):
        a, b = x, x * 0.5
        for _ in range(n):
            a, b = jx.numpy.sin(a + b) * 0.5, a * b * 0.3
        return a + b
    return f, ramp(1000)


def captured(jx, n):
    held = [ramp(16) * (i / n) for i in range(n)]

    def f(x):
        for a in held:
            x = x * 0.999 + a
        return x
    return f, ramp(16)


def eight_scalars(jx, n):
    def f(x):
        s = [x[i] for i in range(8)]
        for k in range(n):
            s = [jx.numpy.sin(s[i] * 0.9 + s[(i + 1) % 8] * 0.1) if i == k % 8 else s[i] + 0.01 * s[(i + 3) % 8] for i in range(8)]
        return jx.numpy.stack(s)
    return f, ramp(8)


def rolls_in_a_scan(jx, n):
    def f(x):
        def step(c, row):
            for i in range(n):
                c = jx.numpy.sin(c) + jx.numpy.roll(c, 1) * 0.1 + row
            return c, c
        return jx.lax.scan(step, x[0], x)[1]
    return f, ramp(10, 100)


# --- what JAX is known to compile slowly ---
def chained_updates(jx, n):
    def f(x):
        for i in range(n):
            x = x.at[i::3].add(jx.numpy.sin(x[i::3]))
        return x
    return f, ramp(1000)


def nested_conds(jx, n):
    def deep(x, level):
        if level == 0:
            return jx.numpy.sin(x)
        return jx.lax.cond(x > level / n, lambda x: deep(x, level - 1) + 1, lambda x: x * level, x)
    return jx.vmap(lambda x: deep(x, n)), ramp(64)


def unrolled_scan(jx, n):
    def f(x):
        step = lambda c, row: (jx.numpy.tanh(c @ w + row), c.sum())
        w = ramp(32, 32) * 0.1
        return jx.lax.scan(step, x[0], x, unroll=n)[1]
    return f, ramp(128, 32)


def perceptron(jx, n):
    def f(x):
        for i in range(n):
            x = jx.numpy.tanh(x @ w + 0.01 * i)
        return x
    w = ramp(32, 32) * 0.1
    return f, ramp(8, 32)


def small_jits(jx, n):
    """n functions, each compiled by itself."""
    def run(x):
        for i in range(n):
            x = jx.jit(lambda x, i=i: jx.numpy.sin(x) * (1 + i / 7) + i)(x)
        return x
    return run, ramp(100)


small_jits.separate = True

PROGRAMS = [(gathers, (10, 60, 200, 1000)), (reverses, (10, 60, 200, 1000)), (chain, (100, 300, 1000, 3000)),
            (inner_products, (10, 100, 1000)), (inner_elementwise, (10, 100, 1000)), (tree, (50, 100, 200, 400)),
            (shared, (50, 100, 200, 400)), (captured, (250, 500, 1000, 2000)), (eight_scalars, (225, 450, 900)),
            (rolls_in_a_scan, (5, 10, 20, 40)), (chained_updates, (8, 32)), (nested_conds, (4, 8, 12)),
            (unrolled_scan, (8, 64)), (perceptron, (50, 200)), (small_jits, (50,))]


def timed(jx, function, x):
    start = time.perf_counter()
    done = function(x)
    np.asarray(jx.block_until_ready(done) if hasattr(jx, "block_until_ready") else done)
    return (time.perf_counter() - start) * 1e3


def measured(jx, program, n):
    """Milliseconds of the first call, of the second, and of the gradient's first."""
    f, x = program(jx, n)
    if getattr(program, "separate", False):
        return timed(jx, f, x), math.nan, math.nan
    compiled = jx.jit(f)
    slope = jx.jit(jx.grad(lambda x: jx.numpy.sum(jx.numpy.square(f(x)))))
    return timed(jx, compiled, x), min(timed(jx, compiled, x) for _ in range(3)), timed(jx, slope, x)


def exponent(sizes, times):
    upper = [(math.log(n), math.log(t)) for n, t in zip(sizes, times) if t > 0][len(sizes) // 2 - 1:]
    return float(np.polyfit(*zip(*upper), 1)[0]) if len(upper) > 1 else math.nan


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--without-jax", action="store_true")
    parser.add_argument("--seconds", type=float, default=20)
    options = parser.parse_args()
    import tenon
    libraries = {"tenon": tenon}
    if not options.without_jax:
        import jax
        libraries["JAX"] = jax
    for library in libraries.values():  # what the first compilation of a process loads is not a program's
        library.jit(lambda x: x + 1)(ramp(3))
    print("| program | n | " + " | ".join(f"{name} first | gradient | again" for name in libraries) + " |")
    print("|---|---|" + "---|---|---|" * len(libraries))
    for program, sizes in PROGRAMS:
        if options.only not in program.__name__:
            continue
        rows = {name: [] for name in libraries}
        for n in sizes:
            cells = []
            for name, library in libraries.items():
                if rows[name] and rows[name][-1] is not None and max(rows[name][-1][0], rows[name][-1][2]) < options.seconds * 1e3 \
                        or not rows[name]:
                    rows[name].append(measured(library, program, n))
                    first, again, slope = rows[name][-1]
                    cells.append(f"{first:.1f} | {slope:.1f} | {again:.3f}")
                else:
                    rows[name].append(None)
                    cells.append("| |")
            print(f"| {program.__name__} | {n} | " + " | ".join(cells) + " |", flush=True)
        if len(sizes) > 2:
            fits = []
            for name in libraries:
                done = [(n, row) for n, row in zip(sizes, rows[name]) if row]
                fits.append(" | ".join(f"{exponent([n for n, _ in done], [row[k] for _, row in done]):.2f}" for k in (0, 2)) + " | ")
            print(f"| {program.__name__} | exponent | " + " | ".join(fits) + " |", flush=True)


if __name__ == "__main__":
    main()
