"""P11: first calls of programs that grow, forward and gradient, in JAX: those of bench/compiling.cpp, as bench/python/compiling.py has them."""
import sys, time
from pathlib import Path
import jax, jax.numpy as jnp
from common import emit
sys.path.insert(0, str(Path(__file__).parents[1] / "python"))
import compiling

PROGRAMS = (("tree of sines", compiling.tree, 400), ("shared values", compiling.shared, 400), ("captured arrays", compiling.captured, 2000),
            ("eight scalars", compiling.eight_scalars, 900), ("rolls in a scan", compiling.rolls_in_a_scan, 40), ("chain", compiling.chain, 1000))
jax.jit(lambda x: x + 1)(compiling.ramp(3)).block_until_ready()
for name, program, n in PROGRAMS:
    f, x = program(jax, n // 3 if program is compiling.chain else n)  # ops, of which each of its steps has three
    for metric, g in (("forward", f), ("gradient", jax.grad(lambda x: jnp.sum(jnp.square(f(x)))))):
        t0 = time.perf_counter()
        jax.jit(g)(x).block_until_ready()
        emit(f"P11 {name}, n = {n}", "jax", metric, (time.perf_counter() - t0) * 1e3, "ms")
