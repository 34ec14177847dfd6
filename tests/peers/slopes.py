"""First and second derivatives at points where they are hard, beside JAX: zeros, ties, integers, ends of domains, infinities, NaN.

    python slopes.py tenon|jax OUT [FUNCTION ...]   # what a library gives, for run()

Elementwise functions at each point and pair of points; functions of vectors and matrices at a few of each, as the gradient of the
sum of their results with weights, and its derivative along a direction. And drawn calls of special functions, distributions,
signals, transforms and images (drawn_slopes.py): gradient and jvp in each argument, beside JAX's or central differences.
"""

import collections
import pickle
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "calls"))
import drawn_slopes
import expectations
from elementwise_calls import LAX_BINARY, LAX_UNARY, NN_UNARY, NP_BINARY, NP_UNARY
from sources import WORK

RESULTS = WORK / "results" / "slopes"
POINTS = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, -1.5, 2.0, -2.0, 2.5, 3.0, 6.0, 10.0, -10.0, 50.0, -50.0, 1e-3]
PAIRS = np.array([(x, y) for x in POINTS for y in POINTS]).T
VECTORS = [[0.0, 0, 0, 0], [1.0, 2, 3, 4], [1.0, 1, 2, 2], [-1.0, 0, 1, 0], [3.0, 3, 3, 3], [-2.0, -2, 5, 0.5], [0.5, 0.5, 0.25, 0.75],
           [0.0, -0.0, 1, 1e-3], [1.0, np.inf, 2, 3], [1.0, np.nan, 2, 3], [-np.inf, 1, 2, -1]]
MATRICES = [np.eye(3), np.arange(9.0).reshape(3, 3) + np.eye(3), [[2.0, 1, 0], [1, 2, 1], [0, 1, 2]], [[1.0, -1, 0], [0, 0, 0], [2, 2, 2]],
            np.zeros((3, 3)), np.ones((3, 3))]
OF_VECTORS = """np.sum np.prod np.max np.min np.mean np.var np.std np.ptp np.median np.cumsum np.cumprod np.nansum np.nanprod np.nanmax np.nanmean
np.nanstd np.nanmedian np.sort np.average np.diff np.gradient np.unwrap np.linalg.norm np.outer np.kron np.convolve np.corrcoef np.cov np.trapezoid
np.clip np.nan_to_num np.flip np.roll np.tile np.ediff1d np.diag np.vander np.interp np.quantile np.percentile np.linalg.vector_norm np.heaviside
lax.cumsum lax.cumprod lax.cummax lax.cummin lax.cumlogsumexp lax.sort lax.top_k nn.softmax nn.log_softmax nn.logsumexp nn.standardize
nn.glu nn.logmeanexp nn.one_hot special.logsumexp special.ndtri special.log_ndtr special.betainc special.entr special.xlogy special.rel_entr
special.xlog1py special.gammainc special.i0 special.i1 special.erfinv""".split()
OF_MATRICES = """np.linalg.det np.linalg.inv np.linalg.slogdet np.linalg.cholesky np.linalg.qr np.linalg.matrix_power np.linalg.norm np.linalg.multi_dot np.trace
np.triu np.matmul np.linalg.solve np.sum np.prod np.max np.var np.std np.median np.sort scipy.expm scipy.lu scipy.cho_factor scipy.solve""".split()
# What else a function takes beside the array.
MORE = {"np.clip": (0.0, 1.0), "np.quantile": (0.3,), "np.percentile": (30.0,), "np.linalg.matrix_power": (3,), "np.roll": (1,), "np.tile": (2,),
        "lax.top_k": (2,), "nn.one_hot": (4,), "np.heaviside": (0.5,), "special.betainc": (1.0, 0.3), "special.gammainc": (2.0,),
        "np.outer": ([1.0, 2, 3, 4],), "np.convolve": ([1.0, -1],), "np.interp": ([0.0, 1, 2], [1.0, 3, 2]), "np.kron": ([1.0, 2],),
        "np.matmul": (MATRICES[1],), "np.linalg.solve": ([1.0, 2, 3],), "scipy.solve": ([1.0, 2, 3],), "special.xlogy": (2.0,),
        "special.rel_entr": (2.0,), "special.xlog1py": (2.0,)}


def library(name):
    if name == "tenon":
        import tenon as tn, tenon.numpy as xp, tenon.scipy.linalg as scipy, tenon.scipy.special as special
        from tenon import lax, nn

        tn.config.x64 = True
    else:
        import jax as tn, jax.numpy as xp, jax.scipy.linalg as scipy, jax.scipy.special as special
        from jax import lax, nn

        tn.config.update("jax_enable_x64", True)
    return tn, dict(np=xp, lax=lax, nn=nn, scipy=scipy, special=special)


def found(modules, name, only):
    """The function; None where the library has none or it is not asked for."""
    if only and name not in only:
        return None
    place, *path = name.split(".")
    f = modules[place]
    for part in path:
        f = getattr(f, part, None)
    return f


def derivatives(name, only):
    """function and arguments: (first derivatives, second ones), each an array or the name of an error; of `only` some functions,
    or of all."""
    tn, modules = library(name)
    xp, made = modules["np"], {}

    def note(key, first, second):
        both = []
        for f in (first, second):
            try:
                both.append(np.asarray(f()))
            except Exception as error:
                both.append(type(error).__name__)
        made[key] = both

    def is_real(f, *arguments):
        try:
            result = f(*arguments)
            return result.dtype.kind == "f" and result.shape == arguments[0].shape
        except Exception:
            return False

    for place, names in (("np", NP_UNARY), ("nn", NN_UNARY), ("lax", LAX_UNARY)):
        for n in names:
            f, x = found(modules, f"{place}.{n}", only), xp.array(POINTS)
            if is_real(f, x):
                slope = tn.grad(lambda v: f(v))
                note(f"{place}.{n}(x)", lambda: tn.vmap(slope)(x), lambda: tn.vmap(tn.grad(slope))(x))
    for place, names in (("np", NP_BINARY), ("lax", LAX_BINARY)):
        for n in names:
            f, (x, y) = found(modules, f"{place}.{n}", only), map(xp.array, PAIRS)
            for i in (0, 1) if is_real(f, x, y) else ():
                slope = tn.grad(lambda v, w: f(v, w), i)
                note(f"{place}.{n}(x, y) in {'xy'[i]}", lambda: tn.vmap(slope)(x, y), lambda: tn.vmap(tn.grad(slope, 1 - i))(x, y))
    for names, arguments in ((OF_VECTORS, VECTORS), (OF_MATRICES, MATRICES)):
        for n in names:
            f = found(modules, n, only)
            if f is None:
                continue
            more = [xp.array(m) if isinstance(m, (list, np.ndarray)) else m for m in MORE.get(n, ())]

            def total(x):
                parts = [p for p in tn.tree_util.tree_leaves(f(x, *more)) if p.dtype.kind == "f"]
                return sum(xp.sum(p * xp.cos(xp.arange(p.size) + k + 0.3).reshape(p.shape)) for k, p in enumerate(parts))

            for x in arguments:
                x = xp.array(x)
                direction = xp.cos(1.7 * xp.arange(x.size)).reshape(x.shape)
                note(f"{n}({np.asarray(x).tolist()})", lambda: tn.grad(total)(x), lambda: tn.jvp(tn.grad(total), (x,), (direction,))[1])
    return made, drawn_slopes.derivatives(name, only)


def run(python, jobs, only):
    RESULTS.mkdir(parents=True, exist_ok=True)

    def one(name):
        subprocess.run([python, __file__, name, str(RESULTS / name), *only], check=True, stderr=subprocess.DEVNULL)
    with ThreadPoolExecutor(min(2, jobs)) as pool:
        list(pool.map(one, ("tenon", "jax")))
    print("\n".join(section()))


def apart(ours, theirs):
    """"" or how derivatives differ."""
    if isinstance(theirs, str):  # what JAX has no derivative of says nothing of ours
        return ""
    if isinstance(ours, str):
        return f"raises {ours}"
    if ours.shape != theirs.shape:
        return f"has shape {ours.shape}, not {theirs.shape}"
    with np.errstate(all="ignore"):
        same = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs)) | (np.isfinite(theirs) & (np.abs(ours - theirs) <= 1e-6 * (1 + np.abs(theirs))))
    if same.all():
        return ""
    at = int(np.argmin(same.ravel()))
    kind = "NaN beside " if np.isnan(theirs.ravel()[at]) else ""
    return f"{kind}{(~same).sum()} of {same.size}, number {at}: {ours.ravel()[at]:.6g}, JAX {theirs.ravel()[at]:.6g}"


def section():
    """The section of the document, from what the last run left."""
    (ours, our_drawn), (theirs, their_drawn) = (pickle.loads((RESULTS / name).read_bytes()) for name in ("tenon", "jax"))
    counts, reasons, bad = collections.Counter(), collections.Counter(), []

    def note(what, differs, words):
        """Counts a derivative; `words` say which one, for the rules of what is expected."""
        counts["differ" if differs else "same"] += 1
        if differs:
            known, reason = expectations.match("slopes", f"{words} {differs}")
            reasons[reason] += known is not None
            if known is None:
                bad.append(f"- {what}: {differs}")
    for key in sorted(theirs.keys() & ours.keys()):
        for order, a, b in zip(("first", "second"), ours[key], theirs[key]):
            note(f"{order} derivative of {key}", apart(a, b), f"{key} {order}")
    for what, differs in drawn_slopes.differences(our_drawn, their_drawn):
        note(what, differs, what)
    yield f"{sum(counts.values())} derivatives of functions at hard points and drawn ones (`tests/peers/slopes.py`), in 64 bits: {counts['same']} as JAX's or as differences are,"
    yield f"{counts['differ']} differ."
    yield ""
    yield from (f"- {n} {reason}" for reason, n in reasons.most_common() if reason)
    yield from bad


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    Path(sys.argv[2]).write_bytes(pickle.dumps(derivatives(sys.argv[1], sys.argv[3:])))
