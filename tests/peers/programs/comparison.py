"""What differs between the results of two libraries, check by check: ("ok", arrays, dtypes) or ("err", text)."""

import numpy as np

TOLERANCE = {"float16": 2e-2, "bfloat16": 8e-2}
INSTEAD = {"gckpt": "grad", "rev2": "hess"}   # where JAX's own is not there, the same number made otherwise
DERIVATIVES = ("grad", "vgrad", "gvmap", "hess")


def of_integers(x, y):
    bad = x != y
    if bad.any():
        at = np.argmax(bad.ravel())
        return f"{x.ravel()[at]}, JAX {y.ravel()[at]}, in {int(bad.sum())} of {x.size}"


def of_floats(x, y, tolerance):
    """Relative to the element, or to a tenth of the largest."""
    x, y = x.astype(np.float64), y.astype(np.float64)
    finite = np.isfinite(x) & np.isfinite(y)
    scale = np.max(np.abs(np.where(np.isfinite(y), y, 0)))
    with np.errstate(all="ignore"):
        far = np.abs(x - y) > tolerance * (1 + np.maximum(np.abs(y), 0.1 * scale))
    bad = np.where(finite, far, ~((x == y) | (np.isnan(x) & np.isnan(y))))
    if bad.any():
        at = int(np.argmax(bad.ravel()))
        return f"{x.ravel()[at]!r}, JAX {y.ravel()[at]!r}, in {int(bad.sum())} of {x.size}"


def of_results(ours, theirs, x64, half):
    """None where they agree, or both raise; half: whether the program has floats of 16 bits."""
    if ours[0] == "err":
        return None if theirs[0] == "err" else "tenon raises " + ours[1]
    if theirs[0] == "err":
        return None if "Reverse-mode differentiation does not work" in theirs[1] else "JAX raises " + theirs[1]
    if len(ours[1]) != len(theirs[1]):
        return f"{len(ours[1])} results, JAX {len(theirs[1])}"
    for i, (x, y, dx, dy) in enumerate(zip(ours[1], theirs[1], ours[2], theirs[2])):
        at = f"result {i}, {dx}{list(x.shape)}: "
        if x.shape != y.shape or dx != dy:
            return f"{at}JAX {dy}{list(y.shape)}"
        tolerance = max(TOLERANCE.get(dx, 1e-9 if x64 else 3e-4), 8e-2 if half else 0)
        found = None if x.size == 0 else of_integers(x, y) if x.dtype.kind in "biu" else of_floats(x, y, tolerance)
        if found:
            return at + found
    return None


def compare(ours, theirs, x64, half):
    """check: what differs. A program in which JAX's process ended is none to compare."""
    if "process" in ours:
        return {"process": ours["process"][1]}
    if "process" in theirs:
        return {}
    found = {}
    for check, result in ours.items():
        name = check.removeprefix("jit_")
        other = theirs.get(name) or theirs.get(INSTEAD.get(name))
        if other is not None:
            found[check] = of_results(result, other, x64, half)
        elif result[0] == "err" and name in DERIVATIVES:
            found[check] = "tenon raises " + result[1]
    return {check: what for check, what in found.items() if what}
