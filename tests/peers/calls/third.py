"""A third opinion of calls on which two libraries differ: SciPy's, in 64 bits, of functions that it has. An element of ours that is
SciPy's is no failure, whatever JAX has; where JAX refuses a call, ours are to be SciPy's."""

import functools
import operator
import warnings

import numpy as np
from agreement import EPS, compare, parts
from draws import Raw


NOBODYS = 1.2345e-5   # stands where SciPy is not asked


def _wide(x):
    """An argument in 64 bits."""
    if isinstance(x, Raw):
        return _wide(x[0])
    if isinstance(x, np.ndarray):
        if x.dtype.kind == "c":
            return x.astype("complex128")
        if x.dtype.kind in "fV" or x.dtype == "uint64":
            return x.astype("float64")
        return x if x.dtype.kind == "b" else x.astype("int64")
    if isinstance(x, (list, tuple)) and any(isinstance(v, (np.ndarray, list, tuple)) for v in x):
        return [_wide(v) for v in x]
    return float(x) if isinstance(x, np.floating) else x


def _of_floats(f):
    """Integers as floats too, for functions of which SciPy has others for integers, or wraps integers around."""
    def g(*x, **k):
        x = [v * 1.0 if isinstance(v, (np.ndarray, int, bool)) else v for v in x]
        return f(*x, **{n: v * 1.0 if isinstance(v, np.ndarray) else v for n, v in k.items()})
    return g


def _of_sizes(f, limit):
    """A function whose SciPy's does not end with large arguments, or is wrong there."""
    def g(*x):
        x = np.broadcast_arrays(*x)
        known = np.all([np.abs(v) <= limit for v in x], axis=0)
        return np.where(known, f(*(np.where(known, v, 1.0) for v in x)), NOBODYS)
    return g


def _scaled_matmul(lhs, rhs, lhs_scales, rhs_scales, preferred_element_type=None):
    a, b = (x * np.repeat(s, x.shape[-1] // s.shape[-1], -1) for x, s in ((lhs, lhs_scales), (rhs, rhs_scales)))
    return a @ np.swapaxes(b, -1, -2)


def _bessel_jn(z, v, n_iter=50):
    from scipy import special
    return np.stack([special.jv(i, z) for i in range(v + 1)])


@functools.cache
def _function(path):
    """SciPy's function by the name of a call, or None."""
    import scipy.fft, scipy.integrate, scipy.ndimage, scipy.signal, scipy.special, scipy.stats
    special = scipy.special
    place, name = path.split(".", 1)
    if name == "bessel_jn":
        return _bessel_jn
    if name == "scaled_matmul":
        return _scaled_matmul
    if name == "factorial":
        return _of_floats(lambda n: np.where(n < 0, 0, special.gamma(n + 1)))
    if name == "comb":
        return _of_floats(lambda n, k, repetition=False: special.comb(n, k, repetition=repetition))
    if name in ("hyp1f1", "hyp2f1"):
        return _of_floats(_of_sizes(getattr(special, name), 200))
    if place == "special" and name in ("logsumexp", "softmax", "log_softmax", "multigammaln"):
        return getattr(special, name)
    if name == "sph_harm_y":
        return lambda *x, n_max=None: special.sph_harm_y(*x)
    if place in ("special", "stats") and name not in ("rankdata", "mode", "sem"):
        try:
            f = operator.attrgetter(name)(getattr(scipy, place))
        except AttributeError:
            return None
        return f if name.startswith("multi") or name.startswith("dirichlet") else _of_floats(f)
    if place == "lax":
        same = {"digamma": "digamma", "lgamma": "gammaln", "erf": "erf", "erfc": "erfc", "erf_inv": "erfinv", "igamma": "gammainc",
                "igammac": "gammaincc", "zeta": "zeta", "polygamma": "polygamma", "betainc": "betainc", "bessel_i0e": "i0e",
                "bessel_i1e": "i1e"}
        return _of_floats(getattr(special, same[name])) if name in same else None
    modules = {"fft": np.fft, "sfft": scipy.fft, "signal": scipy.signal, "integrate": scipy.integrate, "ndimage": scipy.ndimage}
    if place in modules and name not in ("map_coordinates",):
        return getattr(modules[place], name, None)
    return None


def _as(result, like):
    """A result in the form of a library's: arrays in the dtypes of those that it has."""
    if like[0] == "T":
        return ("T", [_as(a, b) for a, b in zip(result, like[1], strict=True)])
    with np.errstate(all="ignore"):
        return ("A", np.asarray(result).astype(like[1].dtype), like[2])


def opinion(case, like):
    """What SciPy says of a call, in the form of the result `like`; None where it says nothing."""
    path, args, kw, _ = case
    f = _function(path)
    if f is None:
        return None
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return _as(f(*map(_wide, args), **{k: _wide(v) for k, v in kw.items()}), like)
    except Exception:   # arguments that SciPy does not take  # noqa: BLE001
        return None


def _close(t, s, tag, loose):
    """Where our numbers are SciPy's."""
    if str(t.dtype) not in EPS:
        return t == s
    return np.logical_and.reduce([ok | ftz for _, _, ok, ftz in parts(t, s, tag, loose)])


def _merged(ours, theirs, third, tag, loose):
    """JAX's result with ours where ours is SciPy's."""
    if ours[0] == "T":
        return ("T", [_merged(a, b, c, tag, loose) for a, b, c in zip(ours[1], theirs[1], third[1], strict=True)])
    a, b, c = ours[1], theirs[1], third[1]
    if a.shape != b.shape or a.dtype != b.dtype or a.shape != c.shape:
        return theirs
    return (theirs[0], np.where(_close(a, c, tag, loose), a, b), theirs[2])


def judged(case, ours, theirs, what, loose):
    """`what` differs between two results; "JAX alone" where SciPy has the numbers that we have where JAX has others, and "unlike SciPy"
    where JAX has none, but SciPy others."""
    if what in ("JAX raises", "JAX ends"):
        third = opinion(case, ours)
        if third is not None and third[0] == "A":
            third = ("A", np.where(np.isclose(third[1].astype("complex128"), NOBODYS, rtol=0.01, atol=0), ours[1], third[1]), third[2])
        return "unlike SciPy" if third is not None and compare(ours, third, case[3], loose).startswith("value") else what
    if not what.startswith("value") or ours[0] not in "AT":
        return what
    third = opinion(case, ours)
    if third is None:
        return what
    try:
        again = compare(ours, _merged(ours, theirs, third, case[3], loose), case[3], loose)
    except (ValueError, KeyError, TypeError):
        return what
    return again if again.startswith("value") else "JAX alone"
