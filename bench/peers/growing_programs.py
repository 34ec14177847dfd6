"""P11: first calls of programs that grow, forward and gradient, in JAX: those of bench/compiling.cpp, as bench/python/compiling.py
has them; each in a process of its own, which is stopped after a minute: that is its figure then, and the least that it takes."""
import subprocess, sys, time
from pathlib import Path
from common import emit
sys.path.insert(0, str(Path(__file__).parents[1] / "python"))
import compiling

LONGEST = 60  # seconds
PROGRAMS = {"tree of sines": (compiling.tree, 400), "shared values": (compiling.shared, 400), "captured arrays": (compiling.captured, 2000),
            "eight scalars": (compiling.eight_scalars, 900), "rolls in a scan": (compiling.rolls_in_a_scan, 40), "chain": (compiling.chain, 1000)}


def first_call(name, metric):
    import jax, jax.numpy as jnp
    jax.jit(lambda x: x + 1)(compiling.ramp(3)).block_until_ready()
    program, n = PROGRAMS[name]
    f, x = program(jax, n // 3 if program is compiling.chain else n)  # ops, of which each of its steps has three
    g = f if metric == "forward" else jax.grad(lambda x: jnp.sum(jnp.square(f(x))))
    start = time.perf_counter()
    jax.jit(g)(x).block_until_ready()
    return time.perf_counter() - start


if len(sys.argv) > 1:
    print(first_call(*sys.argv[1:]))
else:
    for name, (_, n) in PROGRAMS.items():
        for metric in ("forward", "gradient"):
            try:
                done = subprocess.run([sys.executable, __file__, name, metric], check=True, capture_output=True, text=True, timeout=LONGEST)
                seconds, note = float(done.stdout), {}
            except subprocess.TimeoutExpired:
                seconds, note = LONGEST, {"stopped": True}
            emit(f"P11 {name}, n = {n}", "jax", metric, seconds * 1e3, "ms", **note)
