"""What differs between the results of two libraries."""

import numpy as np


def tolerance(dts, x64):
    t = 1e-9 if x64 else 3e-4
    if any(d in ("float16",) for d in dts):
        t = 2e-2
    if any(d in ("bfloat16",) for d in dts):
        t = 8e-2
    return t


def differ(rt, rj, x64, half):
    """None where they agree, else what differs."""
    if rt[0] == "err" and rj[0] == "err":
        return None
    if rt[0] == "err":
        return "tenon raises " + rt[1]
    if rj[0] == "err":
        return None if "Reverse-mode differentiation does not work" in rj[1] else "jax raises " + rj[1]
    a, b = rt[1], rj[1]
    if len(a) != len(b):
        return f"{len(a)} results, jax {len(b)}"
    worst = None
    for i, (x, y) in enumerate(zip(a, b)):
        if x.shape != y.shape:
            return f"result {i}: shape {x.shape}, jax {y.shape}"
        if rt[2][i] != rj[2][i]:
            return f"result {i}: dtype {rt[2][i]}, jax {rj[2][i]}"
        if x.size == 0:
            continue
        if x.dtype.kind in "biu":
            if not np.array_equal(x, y):
                k = np.argmax((x != y).ravel())
                return f"result {i} ({rt[2][i]}): {x.ravel()[k]} jax {y.ravel()[k]} in {int((x != y).sum())} of {x.size}"
            continue
        tol = tolerance([rt[2][i]], x64)
        if half:
            tol = max(tol, 8e-2)
        xf, yf = x.astype(np.float64), y.astype(np.float64)
        nan = np.isnan(xf) != np.isnan(yf)
        inf = (np.isinf(xf) | np.isinf(yf)) & (xf != yf) & ~np.isnan(xf) & ~np.isnan(yf)
        scale = np.nanmax(np.abs(np.where(np.isfinite(yf), yf, 0))) if yf.size else 0
        with np.errstate(all="ignore"):
            d = np.abs(xf - yf)
            bad = (d > tol * (1 + np.maximum(np.abs(yf), 0.1 * scale))) & np.isfinite(xf) & np.isfinite(yf)
        bad = bad | nan | inf
        if bad.any():
            k = int(np.argmax(bad.ravel()))
            return f"result {i} ({rt[2][i]}{list(x.shape)}): {xf.ravel()[k]!r} jax {yf.ravel()[k]!r} at {k}, {int(bad.sum())} of {x.size}"
    return worst


def compare(t, j, x64, half):
    """check -> what differs"""
    out = {}
    if "__dead__" in t:
        out["process"] = t["__dead__"][1]
        return out
    if "__dead__" in j:
        return {"jaxdied": j["__dead__"][1]} if False else {}
    for k, v in t.items():
        base = k[4:] if k.startswith("jit_") else k
        ref = j.get(base)
        if ref is None:
            ref = j.get("grad") if base == "gckpt" else j.get("hess") if base == "rev2" else None
        if ref is None:
            if v[0] == "err" and base in ("grad", "vgrad", "gvmap", "hess"):
                out[k] = "tenon raises " + v[1]
            continue
        d = differ(v, ref, x64, half)
        if d:
            out[k] = d
    return out
