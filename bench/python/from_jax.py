#!/usr/bin/env python3
"""Programs of libraries of JAX's, by JAX and by tn.from_jax: whether they agree, and how long they take.

    python bench/python/from_jax.py [NAME…]           the programs of from_jax_programs.py
    python bench/python/from_jax.py --examples        examples/python/from_*.py, by tenon and by JAX
    python bench/python/from_jax.py --growth          long programs
    python bench/python/from_jax.py --calls           calls that do next to nothing
    python bench/python/from_jax.py --docs PROCESSOR  all of these, into docs/from-jax-speed.md

For an environment with tenon, jax and the libraries that the programs import; what is not installed is left out.
"""

import functools
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import time
import timeit
import warnings

warnings.simplefilter("ignore")
os.environ["TENON_CACHE"] = "off"  # first calls compile

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from from_jax_programs import PROGRAMS  # noqa: E402

import tenon as tn  # noqa: E402
from tenon.foreign._jaxprs import call  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
SIZES = 1000, 10_000, 100_000


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


def distance(x, y):
    """Infinite where one is NaN or infinite and the other is not the same."""
    with np.errstate(invalid="ignore"):
        apart = np.where((x == y) | (np.isnan(x) & np.isnan(y)), 0, np.abs(x - y))
    return float(np.where(np.isnan(apart), np.inf, apart).max(initial=0))


def difference(made, wanted):
    made, wanted = [[numbers(x) for x in jax.tree.leaves(each)] for each in (made, wanted)]
    assert [x.shape for x in made] == [x.shape for x in wanted]
    largest = [float(np.abs(y[np.isfinite(y)]).max(initial=0)) for y in wanted]
    floor = 1e-3 * max(largest, default=0.0) + 1e-6
    return max((distance(x, y) / max(top, floor) for x, y, top in zip(made, wanted, largest)), default=0.0)


def in_float64(function, args):
    """What JAX gives of the same numbers."""
    with jax.enable_x64(True):
        def widened(x):
            return jnp.asarray(np.asarray(x), jnp.float64) if jnp.issubdtype(jnp.result_type(x), jnp.floating) else x

        return jax.jit(function)(*jax.tree.map(widened, args))


def ways_of(function, argument):
    yield "value", function, tn.from_jax(function)
    if argument is not None:
        gradient = jax.grad(function, argument)
        yield "grad by tenon", gradient, tn.jit(tn.grad(tn.from_jax(function), argument))
        yield "grad by jax", gradient, tn.from_jax(gradient)


def programs(names, put):
    """A line a program and way. `error`: the largest difference, relative to the largest element of its array, or, of an
    array that is rounding beside the others, to a thousandth of theirs; where it is over 1e-5, the line below the table says
    how far each library is from JAX in float64. Milliseconds are of a call in the best of rounds in
    which both take their turns; `first` ones those of the first call."""
    put("library", "program", "", "error", "ms tenon", "ms JAX", "ratio", "first tenon", "first JAX")
    count, libraries, errors, slower, apart = 0, set(), [], [], []
    for name, (library, make) in PROGRAMS.items():
        if names and name not in names:
            continue
        try:
            function, args, argument = make()
        except ImportError as error:
            print(f"{name}: left out: {error}", file=sys.stderr)
            continue
        count, libraries = count + 1, libraries | {library}
        for way, of_jax, ours in ways_of(function, argument):
            theirs = jax.jit(of_jax)
            try:
                made, first = first_call(ours, args)
            except Exception as error:
                put(library, name, way, "FAILS", f"{type(error).__name__}: {str(error)[:300]}")
                errors.append(float("inf"))
                continue
            wanted, jax_first = first_call(theirs, args)
            errors.append(difference(made, wanted))
            if errors[-1] > 1e-5:
                exact = in_float64(of_jax, args)
                apart.append(f"{name} {way}: tenon {difference(made, exact):.1e}, JAX {difference(wanted, exact):.1e}")
            ms, jax_ms = (1e3 * t for t in side_by_side((ours, theirs), args))
            if ms > jax_ms:
                slower.append(f"{name} {way} ({ms / jax_ms:.2f})")
            put(library, name, way, f"{errors[-1]:.1e}", f"{ms:.3f}", f"{jax_ms:.3f}", f"{ms / jax_ms:.2f}", f"{first * 1e3:.0f}",
                f"{jax_first * 1e3:.0f}")
    return (f"{count} programs of {len(libraries)} libraries; the largest error is {max(errors):.1e}; slower than JAX: "
            f"{', '.join(slower) or 'none'}. Errors over 1e-5 beside float64: {'; '.join(apart) or 'none'}.")


class _OfJax:
    """The names of tenon that the examples use, by JAX."""

    from_jax = staticmethod(lambda function: function)

    def __getattr__(self, name):
        return getattr(jax, name)


def example(file, by):
    """Prints the seconds of main() of an example, in a process that has just begun and once more, and what it returns."""
    spec = importlib.util.spec_from_file_location("example", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if by == "jax":
        module.tn = _OfJax()
    seconds = []
    for _ in range(2):
        start = time.perf_counter()
        made = module.main()
        seconds.append(time.perf_counter() - start)
    print(json.dumps([*seconds, np.asarray(made).tolist()]))


def examples(put):
    """The examples whole, by tenon and with JAX's functions in the place of tenon's, each in a process of its own: seconds of
    main(), and of a second main() in the same process."""
    put("example", "lines", "s tenon", "s JAX", "s again, tenon", "s again, JAX")
    for file in sorted((ROOT / "examples" / "python").glob("from_*.py")):
        told = [subprocess.run([sys.executable, __file__, "--example", file, by], stdout=subprocess.PIPE, text=True).stdout
                for by in ("tenon", "jax")]
        if not all(told):
            continue  # a library is not there, as stderr says
        (ours, again, made), (theirs, theirs_again, wanted) = map(json.loads, told)
        assert np.allclose(made, wanted, rtol=0.1), (file.name, made, wanted)
        put(f"`{file.name}`", len(file.read_text().splitlines()), f"{ours:.2f}", f"{theirs:.2f}", f"{again:.2f}",
            f"{theirs_again:.2f}")


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


def growth(sizes, put):
    """So many equations on arrays of 12 elements. Seconds in which JAX traces them, in which tenon walks what comes out, in
    which tenon compiles and runs that; in which JAX does so; and microseconds of tenon's way from the function to its value
    for an equation."""
    put("program", "equations", "s trace", "s walk", "s compile", "s compile by JAX", "µs an equation")
    x = np.ones(12, np.float32)
    jax.make_jaxpr(long_program(lambda x, i: jax.nn.relu(x), 3))(x)
    for name, (each, step) in STEPS.items():
        for equations in sizes:
            function = long_program(step, equations // each)
            start = time.perf_counter()
            made = jax.make_jaxpr(function)(x)
            traced, spent = time.perf_counter() - start, []

            def walk(x):
                start = time.perf_counter()
                results = call(made, x)
                spent.append(time.perf_counter() - start)
                return results

            start = time.perf_counter()
            tn.jit(walk)(x)
            whole = time.perf_counter() - start
            start = time.perf_counter()
            if equations <= 10_000:  # minutes, of more
                jax.jit(jax.extend.core.jaxpr_as_fun(made))(x)[0].block_until_ready()
            by_jax = time.perf_counter() - start
            put(name, equations, f"{traced:.2f}", f"{spent[0]:.2f}", f"{whole - spent[0]:.2f}",
                f"{by_jax:.2f}" if equations <= 10_000 else "",
                f"{(traced + whole) / equations * 1e6:.0f}")


def calls(put):
    """Microseconds of calls that do next to nothing, of arrays of 12 elements."""
    x, params = np.ones(12, np.float32), {f"p{i}": np.ones(12, np.float32) for i in range(10)}
    put("argument", "tn.jit", "tn.from_jax", "jax.jit")

    def best(function, arg):
        function(arg)
        return f"{min(timeit.repeat(lambda: function(arg), number=1000, repeat=20)) * 1e3:.2f}"

    for name, function, arg in (("an array", lambda x: x * 2 + 1, x),
                                ("a dict of ten", lambda p: {k: v * 2 for k, v in p.items()}, params)):
        ours, theirs = tn.tree.map(tn.numpy.asarray, arg), jax.tree.map(jnp.asarray, arg)
        put(name, best(tn.jit(function), ours), best(tn.from_jax(function), ours), best(jax.jit(function), theirs))
    key = jax.random.key(0)
    put("a typed key", "", best(tn.from_jax(jax.random.bits), key), best(jax.jit(jax.random.bits), key))


def printed(*cells):
    print("  ".join(f"{cell:<{width}}" for cell, width in zip(map(str, cells), (13, 22, 14, 9, 9, 9, 6, 12, 12))), flush=True)


def document(processor):
    """Writes docs/from-jax-speed.md."""
    lines = [f"# Programs of JAX: how long they take\n\nGenerated by `bench/python/from_jax.py --docs`, on {processor}, with JAX "
             f"{jax.__version__}. `docs/from-jax.md` says what they are."]

    def table(title, make):
        rows = []

        def put(*cells):
            printed(*cells)
            rows.append("| " + " | ".join(map(str, cells)) + " |")

        tail = make(put)
        rows.insert(1, "|" + "---|" * (rows[0].count("|") - 1))
        told = " ".join(make.__doc__.split()) if make.__doc__ else ""
        lines.append("\n".join(["", f"## {title}", "", *([told, ""] if told else []), *rows, *(["", tail] if tail else [])]))

    of_all = functools.partial(programs, ())
    of_all.__doc__ = programs.__doc__
    to = functools.partial(growth, SIZES)
    to.__doc__ = growth.__doc__
    for title, make in (("Programs", of_all), ("Examples", examples), ("Long programs", to), ("Calls", calls)):
        table(title, make)
    (ROOT / "docs" / "from-jax-speed.md").write_text("\n".join(lines) + "\n")


def main(args):
    tn.config.x64 = bool(jax.config.jax_enable_x64)
    if args[:1] == ["--docs"]:
        document(args[1])
    elif args[:1] == ["--example"]:
        example(*args[1:])
    elif args[:1] == ["--examples"]:
        examples(printed)
    elif args[:1] == ["--growth"]:
        growth(SIZES, printed)
    elif args[:1] == ["--calls"]:
        calls(printed)
    else:
        print(programs(args, printed))


if __name__ == "__main__":
    main(sys.argv[1:])
