"""Whether two libraries' results of a call are the same, and what a difference looks like."""

import numpy as np
from draws import EIGHT_BITS, D, Raw, W, fin

EPS = {"float16": 2**-10, "bfloat16": 2**-7, "float32": 2**-23, "float64": 2**-52, "complex64": 2**-23, "complex128": 2**-52}
SLACK = {"float16": 4, "bfloat16": 4, "float32": 150, "float64": 3e5, "complex64": 150, "complex128": 3e5}
EPS |= {n: float(fin(n).eps) for n in EIGHT_BITS}
SLACK |= dict.fromkeys(EIGHT_BITS, 1)


def arrays(x):
    if isinstance(x, np.ndarray):
        yield x
    elif isinstance(x, dict):
        for v in x.values():
            yield from arrays(v)
    elif isinstance(x, (list, tuple)):
        for v in x:
            yield from arrays(v)


def parts(t, j, tag, loose):
    """Of floats, or of both parts of complex numbers: (ours, theirs, where they are close, where they are not but both are at most subnormal)."""
    n = str(t.dtype)
    e = EPS.get(n, 2**-52)
    tiny = float(fin({"complex64": "float32", "complex128": "float64"}.get(n, n)).tiny) * (1 + 1e-6)
    for a, b in [(t.real, j.real), (t.imag, j.imag)] if t.dtype.kind == "c" else [(t, j)]:
        a, b = a.astype("float64"), b.astype("float64")
        with np.errstate(all="ignore"):
            ab = (
                np.where(np.isfinite(t.astype("complex128")), np.abs(t.astype("complex128")), 0)
                if t.dtype.kind == "c"
                else np.abs(b)
            )
            scale = ab + (loose if tag == "small" else 0)
            ok = (np.isnan(a) & np.isnan(b)) | (a == b)
            ok |= np.isfinite(a) & np.isfinite(b) & (np.abs(a - b) <= e * SLACK[n] * scale)
            yield a, b, ok, ~ok & (np.abs(a) <= tiny) & (np.abs(b) <= tiny)


def values(t, j, tag, loose):
    """'' where the same, else the kind of the difference"""
    if t.dtype.kind in "biu" or t.dtype == object:
        return "" if np.array_equal(t, j) else "value"
    n = str(t.dtype)
    e = EPS.get(n, 2**-52)
    worst = ""
    for a, b, ok, ftz in parts(t, j, tag, loose):
        if not np.array_equal(np.isnan(a), np.isnan(b)):
            return "value(complex special)" if t.dtype.kind == "c" and tag != "small" else "value(nan)"
        if not (ok | ftz).all():
            bad = ~(ok | ftz)
            if t.dtype.kind == "c" and tag != "small":
                return "value(complex special)"
            with np.errstate(all="ignore"):
                big = bad & (np.isinf(a) != np.isinf(b))
                if big.any():
                    worst = "value(inf)"
                elif (np.abs(a - b)[bad] <= e * SLACK[n] * 50 * np.abs(b)[bad]).all():
                    worst = worst or "value(imprecise)"
                else:
                    return "value"
        elif ftz.any():
            worst = worst or "ftz"
        z = (a == 0) & (b == 0) & (np.signbit(a) != np.signbit(b))
        if z.any() and not worst:
            worst = "zero sign"
    return worst


def compare(t, j, tag, loose=1.0):
    if t[0] == "X" or j[0] == "X":
        return "ends" if t[0] == "X" else "JAX ends"
    if t[0] == "E" and j[0] == "E":
        base = next(
            (
                k
                for k in j[2]
                if k
                in (
                    "TypeError",
                    "ValueError",
                    "IndexError",
                    "KeyError",
                    "NotImplementedError",
                    "ZeroDivisionError",
                    "OverflowError",
                    "AttributeError",
                    "AssertionError",
                    "RuntimeError",
                )
            ),
            "Exception",
        )
        return "" if base in t[2] or base == "AssertionError" else "error kind"
    if t[0] == "E":
        return "tenon raises"
    if j[0] == "E":
        return "JAX raises"
    if t[0] == "T" and j[0] == "T":
        if len(t[1]) != len(j[1]):
            return "structure"
        order = [compare(a, b, tag, loose) for a, b in zip(t[1], j[1])]
        return next((x for x in order if x and x not in ("weak", "zero sign", "ftz")), next((x for x in order if x), ""))
    num = "ANS"
    if t[0] in num and j[0] in num:
        if isinstance(t[1], str) or isinstance(j[1], str):
            return "" if str(t[1]) == str(j[1]) else "repr"
        if t[1].shape != j[1].shape:
            return "shape"
        if t[1].dtype != j[1].dtype:
            return "dtype"
        v = values(t[1], j[1], tag, loose)
        if v:
            return v
        if t[0] != j[0]:
            return "kind"
        return "weak" if t[2] != j[2] else ""
    if t[0] != j[0]:
        try:
            if np.array_equal(np.asarray(t[1]), np.asarray(j[1])):
                return "kind"
        except Exception:
            pass
        return "structure"
    if t[0] == "P":
        if type(t[1]) != type(j[1]):
            return "kind"
        if isinstance(t[1], float) or isinstance(t[1], complex):
            return values(np.asarray(t[1]), np.asarray(j[1]), tag, loose)
    return "" if repr(t[1]) == repr(j[1]) else "value"


def short(x, n=300):
    if isinstance(x, np.ndarray):
        s = np.array2string(x, threshold=30, max_line_width=10**6, separator=",").replace("\n", "").replace(" ", "")
        return f"{x.dtype}{list(x.shape)}{s[:160]}"
    if isinstance(x, D):
        return "dt." + str(x)
    if isinstance(x, W):
        return f"weak{tuple(x)}"
    if isinstance(x, Raw):
        return "np:" + short(x[0])
    if isinstance(x, (list, tuple)):
        return ("[%s]" if isinstance(x, list) else "(%s)") % ", ".join(short(y) for y in x)
    if isinstance(x, dict):
        return ", ".join(f"{k}={short(v)}" for k, v in x.items())
    return repr(x)[:n]


def shortr(r):
    if r is None:
        return "-"
    if r[0] in "ANS":
        return short(r[1]) + (" weak" if r[2] else "")
    if r[0] == "T":
        return "(" + ", ".join(shortr(x) for x in r[1]) + ")"
    if r[0] == "E":
        return f"{r[1]}: {r[3][:160]!r}"
    return repr(r[1])[:200]
