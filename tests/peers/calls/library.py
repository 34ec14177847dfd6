"""Makes calls with one library: library.py tenon|jax CASES RESULTS FIRST [jit]. Results are what calls give or raise.

They are appended to RESULTS, and the number of the call that is being made stands in RESULTS.at, so that whoever watches knows
which one ended the process.
"""

import importlib
import operator
import os
import pickle
import sys
import types

import numpy as np
from draws import D, F, Ix, K, NT, Raw, W

# The modules beneath either library by the names that calls begin with.
PLACES = dict(special="scipy.special", stats="scipy.stats", signal="scipy.signal", fft="numpy.fft", sfft="scipy.fft",
              ndimage="scipy.ndimage", image="image", integrate="scipy.integrate", vq="scipy.cluster.vq")


def lib(which, x64):
    if which == "tenon":
        import tenon as tn, tenon.numpy as xp
        from tenon import lax, nn, random, linalg, ops
        import tenon.lax.linalg as ll, tenon.scipy.linalg as sl

        tn.config.x64 = x64
        m = types.SimpleNamespace(
            np=xp, lax=lax, nn=nn, random=random, linalg=linalg, sl=sl, ll=ll, ops=ops, Array=tn.Array, jit=tn.jit
        )
    else:
        import jax, jax.numpy as xp, jax.scipy.linalg as sl
        from jax import lax, nn, random, ops

        jax.config.update("jax_enable_x64", x64)
        m = types.SimpleNamespace(
            np=xp, lax=lax, nn=nn, random=random, linalg=xp.linalg, sl=sl, ll=lax.linalg, ops=ops, Array=jax.Array, jit=jax.jit
        )
    import composed

    m.root = importlib.import_module(which)
    for name, place in PLACES.items():
        setattr(m, name, importlib.import_module(f"{which}.{place}"))
    m.composed = composed.of(m)
    m.fn = {
        "add2": lambda i, j: i + 2 * j,
        "sumk": lambda a, ax: xp.sum(a, axis=ax, keepdims=True),
        "scanbody": lambda c, x: (c + x, c * x),
        "foribody": lambda i, c: c + i,
        "lt100": lambda x: x < 100,
        "dbl": lambda x: x * 2 + 1,
        "both": lambda x, y: x + y + x * y,
    }
    return m


def dec(m, x):
    if isinstance(x, D):
        return getattr(m.np, str(x) + "_" if x == "bool" else str(x))
    if isinstance(x, F):
        if x in m.fn:
            return m.fn[x]
        ns, n = x.split(".")
        return getattr(getattr(m, ns), n)
    if isinstance(x, K):
        return m.random.PRNGKey(int(x))
    if isinstance(x, Raw):
        return x[0]
    if isinstance(x, W):
        return m.np.broadcast_to(m.np.asarray(x[0]), x[1])
    if isinstance(x, NT):
        return getattr(m.lax, x[0])(**x[1])
    if isinstance(x, Ix):
        return dec(m, x[0])
    if isinstance(x, np.ndarray):
        return m.np.asarray(x.copy())
    if isinstance(x, list):
        return [dec(m, y) for y in x]
    if isinstance(x, tuple):
        return tuple(dec(m, y) for y in x)
    if isinstance(x, dict):
        return {k: dec(m, v) for k, v in x.items()}
    return x


def enc(m, x, d=0):
    if isinstance(x, m.Array):
        return ("A", np.asarray(x), bool(getattr(x, "weak_type", False)))
    if isinstance(x, np.ndarray):
        return ("N", x if x.dtype != object else repr(x), False)
    if isinstance(x, np.generic):
        return ("S", np.asarray(x), False)
    if x is None or isinstance(x, (bool, int, float, complex, str, bytes)):
        for b in (bool, int, float, complex, str, bytes):
            if isinstance(x, b):
                return ("P", b(x))
        return ("P", None)
    if isinstance(x, (tuple, list)):
        return ("T", [enc(m, y, d + 1) for y in x])
    if isinstance(x, np.dtype):
        return ("D", str(x))
    if isinstance(x, type):
        return ("O", x.__name__)
    if type(x).__name__ in ("finfo", "iinfo"):
        return ("T", [("P", float(getattr(x, a, 0))) for a in ("bits", "max", "min", "eps", "tiny", "smallest_subnormal")])
    if hasattr(x, "__next__"):
        return ("T", [enc(m, y, d + 1) for y in x])
    return ("O", type(x).__name__)


def call(m, path, args, kw):
    if path == "getitem":
        x, i = dec(m, args)
        return x[i]
    ns, name = path.split(".", 1)
    a, k = dec(m, args), dec(m, kw)
    if ns == "at":
        x, i, *v = a
        return getattr(x.at[i], name)(*v, **k)
    if ns == "op":
        return getattr(operator, name)(*a)
    if ns == "m":
        x, *r = a
        f = getattr(x, name)
        if not callable(f) or name == "dtype":
            return f
        if name == "__format__":
            return f("")
        return f(*r, **k)
    f = operator.attrgetter(name)(getattr(m, ns))
    if name == "vectorize":
        return f(*a)(*k["call"])
    return f(*a, **k)


def exc(e):
    return ("E", type(e).__name__, [c.__name__ for c in type(e).__mro__], str(e)[:300])


def calljit(m, path, args, kw):
    """the same call inside of jit: arrays are traced, all else is static"""
    box = []

    def strip(x):
        if isinstance(x, (D, F, NT, Raw, W, str)):
            return x
        if isinstance(x, K):
            return x
        if isinstance(x, np.ndarray):
            box.append(m.np.asarray(x.copy()))
            return ("$", len(box) - 1)
        if isinstance(x, Ix):
            return Ix((strip(x[0]),))
        if isinstance(x, list):
            return [strip(y) for y in x]
        if isinstance(x, tuple):
            return tuple(strip(y) for y in x)
        if isinstance(x, dict):
            return {k: strip(v) for k, v in x.items()}
        return x

    a, k = strip(args), strip(kw)

    def f(*xs):
        def fill(x):
            if isinstance(x, tuple) and len(x) == 2 and isinstance(x[0], str) and x[0] == "$":
                return Raw((xs[x[1]],))
            if isinstance(x, Ix):
                return Ix((fill(x[0]),))
            if isinstance(x, (D, F, NT, Raw, W, K)):
                return x
            if isinstance(x, list):
                return [fill(y) for y in x]
            if isinstance(x, tuple):
                return tuple(fill(y) for y in x)
            if isinstance(x, dict):
                return {k2: fill(v) for k2, v in x.items()}
            return x

        r = call(m, path, fill(a), fill(k))
        return r if not hasattr(r, "__next__") else list(r)

    return enc(m, m.jit(f)(*box))


def main(name, cases, out, first, jit):
    m = lib(name, True)
    cases = pickle.load(open(cases, "rb"))
    at = os.open(out + ".at", os.O_WRONLY | os.O_CREAT)
    with open(out, "ab") as results:
        for i in range(first, len(cases)):
            os.pwrite(at, b"%12d" % i, 0)
            path, args, kw, _ = cases[i]
            try:
                result = calljit(m, path, args, kw) if jit else enc(m, call(m, path, args, kw))
            except Exception as e:
                result = exc(e)
            pickle.dump((i, result), results)
            results.flush()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), "jit" in sys.argv[5:])
