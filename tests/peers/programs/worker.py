"""Runs programs with one library: worker.py tenon|jax. Requests come pickled on stdin, answers go pickled to stdout."""

import os
import pickle
import struct
import sys
from pathlib import Path

sys.path.pop(0)   # the other files here have names that libraries import
import numpy as np

PRELUDE = (Path(__file__).parent / "prelude.py").read_text()
LANES = 3
FAST_XLA = ("--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true --xla_cpu_multi_thread_eigen=false")


def load(name):
    """(the library's module, its modules by the names of programs, a function that chooses 64 bits)"""
    if name == "jax":
        os.environ.setdefault("JAX_PLATFORMS", "cpu")
        os.environ.setdefault("XLA_FLAGS", FAST_XLA)
        import jax as jx
        import jax.numpy as jnp
        from jax import lax, nn, random
        return jx, dict(jx=jx, jnp=jnp, lax=lax, random=random, nn=nn), lambda x64: jx.config.update("jax_enable_x64", x64)
    import tenon as jx
    import tenon.numpy as jnp
    from tenon import lax, nn, random
    return jx, dict(jx=jx, jnp=jnp, lax=lax, random=random, nn=nn), lambda x64: setattr(jx.config, "x64", x64)


class Run:
    """A program with its inputs, and the checks that are made of it."""

    def __init__(self, request, jx, modules):
        self.request, self.jx, self.jnp = request, jx, modules["jnp"]
        self.dtype = np.float64 if request["x64"] else np.float32
        names = dict(modules, np=np, F=self.jnp.float64 if request["x64"] else self.jnp.float32)
        exec(PRELUDE, names)
        exec(request["source"], names)
        self.f, self.total = names["f"], names["total"]
        kinds = request["kinds"]
        self.args = [self.jnp.array(a.astype(self.dtype) if k == "F" else a) for a, k in zip(request["inputs"], kinds)]
        self.floats = [i for i, k in enumerate(kinds) if k == "F"]
        draw = np.random.RandomState(request["seed"] % 2**31 + 1)
        self.tangents = [self.jnp.array(np.asarray(draw.randn(*self.args[i].shape)).astype(self.dtype)) for i in self.floats]
        axes = [draw.choice([0, 1, 2]) for _ in self.args]
        if all(a == 2 for a in axes):
            axes[0] = 0
        self.axes = tuple(None if a == 2 else 0 if a == 0 or x.ndim == 0 else -1 for a, x in zip(axes, self.args))
        self.batched = [self.lanes(*each) for each in zip(self.args, kinds, self.axes)]

    def lanes(self, x, kind, axis):
        """x in LANES variants along an axis."""
        if axis is None:
            return x
        x = np.asarray(x)
        variants = {"F": lambda i: x + self.dtype(0.37) * self.dtype(i), "b": lambda i: x ^ (i == 1)}
        one = variants.get(kind, lambda i: x + x.dtype.type(i))
        return self.jnp.array(np.moveaxis(np.stack([one(i) for i in range(LANES)], 0), 0, axis))

    def loss(self, *args):
        return self.total(self.f(*args))

    def grad(self, f, argnums):
        """Reverse mode; JAX has none of a while loop."""
        forward = self.request["has_while"] and self.jx.__name__ == "jax"
        return (self.jx.jacfwd if forward else self.jx.grad)(f, argnums=argnums)

    def checks(self):
        """name: (function, arguments)"""
        jx, axes, floats, args, batched = self.jx, self.axes, tuple(self.floats), self.args, self.batched

        def along_tangents(*a):
            def of_floats(*given):
                everything = list(a)
                for i, x in zip(floats, given):
                    everything[i] = x
                return [o for o in self.f(*everything) if self.jnp.issubdtype(o.dtype, self.jnp.floating)]
            return jx.jvp(of_floats, tuple(a[i] for i in floats), tuple(self.tangents))

        def over_lanes(*a):
            return self.jnp.sum(jx.vmap(self.loss, in_axes=axes)(*a))
        table = {
            "value": (lambda *a: self.f(*a), args),
            "grad": (lambda *a: self.grad(self.loss, floats)(*a), args),
            "jvp": (along_tangents, args),
            "vmap": (lambda *a: jx.vmap(lambda *v: tuple(self.f(*v)), in_axes=axes)(*a), batched),
            "vgrad": (lambda *a: jx.vmap(lambda *v: self.grad(self.loss, floats)(*v), in_axes=axes)(*a), batched),
            "gvmap": (lambda *a: self.grad(over_lanes, floats)(*a), batched),
            "gckpt": (lambda *a: self.grad(jx.checkpoint(self.loss), floats)(*a), args),
        }
        has_while, has_cvjp = self.request["has_while"], self.request["has_cvjp"]
        if floats and 0 < args[floats[0]].size <= 6:
            first = floats[0]
            if has_while:
                table["hess"] = (lambda *a: jx.jacfwd(self.grad(self.loss, first), argnums=first)(*a), args)
            else:
                table["hess"] = (lambda *a: jx.hessian(self.loss, argnums=first)(*a), args)
                table["rev2"] = (lambda *a: jx.jacrev(jx.grad(self.loss, argnums=first), argnums=first)(*a), args)
        if has_while and has_cvjp:
            return {k: table[k] for k in ("value", "vmap")}
        without = {"jvp", "hess"} if has_cvjp else {"gckpt"} if has_while and jx.__name__ == "jax" else set()
        return {k: v for k, v in table.items() if k not in without}

    def answer(self, tree):
        """("ok", arrays, dtypes)"""
        leaves = self.jx.tree_util.tree_leaves(tree)
        wide = [np.asarray(x).astype(np.float64) if str(x.dtype) in ("bfloat16", "float16") else np.asarray(x) for x in leaves]
        return "ok", wide, [str(x.dtype) for x in leaves]

    def attempt(self, f):
        try:
            return self.answer(f())
        except Exception as e:
            return "err", f"{type(e).__name__}: {str(e)[:300]}"

    def with_jax(self):
        """All checks in one compilation, which takes longest; each apart where that fails."""
        wanted, checks = self.request["checks"], self.checks()
        names = [k for k in checks if wanted is None or k in wanted or "jit_" + k in wanted]

        def together(names):
            def all_of(args, batched):
                return {k: checks[k][0](*(batched if checks[k][1] is self.batched else args)) for k in names}
            return self.jx.jit(all_of)(self.args, self.batched)
        try:
            return {k: self.answer(v) for k, v in together(names).items()}
        except Exception:
            return {k: self.attempt(lambda k=k: together([k])[k]) for k in names}

    def with_tenon(self):
        """Each check eagerly, for a third of the programs, and compiled; each compiled function is called twice."""
        wanted, results = self.request["checks"], {}
        for name, (f, args) in self.checks().items():
            eager = wanted is None and (name in ("value", "grad", "vmap", "jvp") or self.request["seed"] % 3 == 0)
            if eager or wanted is not None and name in wanted:
                results[name] = self.attempt(lambda: f(*args))
            if wanted is None or "jit_" + name in wanted:
                compiled = self.jx.jit(f)
                first, again = self.attempt(lambda: compiled(*args)), self.attempt(lambda: compiled(*args))
                same = first[0] == again[0] and (first[0] == "err" or all(
                    np.array_equal(x, y, equal_nan=x.dtype.kind in "fc") for x, y in zip(first[1], again[1])))
                results["jit_" + name] = first if same else ("err", "two calls of one compiled function differ")
        return results


def serve(name):
    jx, modules, set_x64 = load(name)
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)   # what programs print is no answer
    served = 0
    while len(head := requests.read(8)) == 8:
        request = pickle.loads(requests.read(struct.unpack("<q", head)[0]))
        set_x64(request["x64"])
        run = Run(request, jx, modules)
        data = pickle.dumps(run.with_jax() if name == "jax" else run.with_tenon())
        answers.write(struct.pack("<q", len(data)) + data)
        answers.flush()
        served += 1
        if served % 40 == 0 and hasattr(jx, "clear_caches"):
            jx.clear_caches()


if __name__ == "__main__":
    serve(sys.argv[1])
