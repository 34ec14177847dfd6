"""Derivatives of drawn calls: the gradient and the jvp in each argument of floats, beside JAX's, and beside central differences where
JAX has none, or other ones.

An elementwise function has in each argument the slopes of its elements; of others it is the gradient of a sum with weights, and
the derivative along a direction.
"""

import draws
import library
import numpy as np
import of_signal
import of_special
import of_stats
from agreement import short

SEED, CALLS = 1, 1   # of each function and each kind of its arguments
SIZE = 9
# What has no slopes, or slopes of which differences know nothing: steps, counts, and what is no function of one call.
NONE = """special.gammasgn special.bernoulli stats.rankdata stats.mode composed.kde fft.fftfreq fft.rfftfreq stats.bernoulli.ppf
stats.poisson.entropy""".split()
COUNTS = {"special.polygamma": 0, "special.expn": 0}   # arguments that are integers


def _elementwise(g):
    """(name, arguments) of elementwise functions."""
    def numbers(kinds):
        """Not too far out, where slopes are 0 or the largest there are, and next to no pole, where differences know nothing."""
        for kind in kinds:
            x = np.clip(g.numbers(kind, "float64", (SIZE,)), -40, 40)
            yield np.where(np.round(2 * x) == 2 * x, x + 0.03 + 0.1 * g.g.random(SIZE), x) if kind in ("any", "positive") else x
    for kinds, names in of_special.KINDS.items():
        for n in names.split():
            yield f"special.{n}", list(numbers(kinds))
    for n, (kinds, where, functions) in of_stats.DISTRIBUTIONS.items():
        for f in functions.split():
            quantile = f in ("ppf", "isf")
            x = list(numbers([("unit" if quantile else kinds.split()[0]), *kinds.split()[1:]]))
            loc = [np.round(g.g.normal(size=SIZE) * 3) if kinds.startswith("count") else g.g.normal(size=SIZE)] * ("loc" in where)
            scale = [np.abs(g.g.normal(size=SIZE)) + 0.3] * ("scale" in where)
            if n == "truncnorm":
                x[1:] = np.sort(x[1:], 0)
                x[0] = x[1] + (x[2] - x[1]) * g.g.random(SIZE)
            if not quantile:   # inside of the support as often as without them
                x[0] = x[0] * (scale[0] if scale else 1) + (loc[0] if loc else 0)
            yield f"stats.{n}.{f}", x + loc + scale


def cases():
    """The calls: (name, arguments, named arguments, whether it is elementwise)."""
    g = draws.G(SEED)
    made = [(name, x, {}, True) for _ in range(CALLS) for name, x in _elementwise(g)]
    single = {name for name, *_ in made}
    for name, draw in draws.table(g, (of_stats, of_signal)):
        for _ in range(5 * CALLS if name not in single else 0):
            try:
                args, kwargs = draw()
            except (ValueError, TypeError, IndexError):
                continue
            made.append((name, args, kwargs, False))
    return [c for c in made if c[0] not in NONE]


def _parts(args, kwargs):
    """The arguments' arrays of floats, in 64 bits, and a function that puts others in their place."""
    leaves = []

    def mark(x):
        if isinstance(x, np.ndarray) and x.size and x.dtype.kind in "fcV":
            if x.dtype.kind == "c":
                leaves.extend((x.real.astype("float64"), x.imag.astype("float64")))
                return ("complex", len(leaves) - 2)
            leaves.append(x.astype("float64"))
            return ("real", len(leaves) - 1)
        if isinstance(x, list) or type(x) is tuple:
            return type(x)(map(mark, x))
        return {k: mark(v) for k, v in x.items()} if isinstance(x, dict) else x

    def fill(x, given):
        if type(x) is tuple and len(x) == 2 and x[0] in ("real", "complex"):
            a, i = given[x[1]], x[1]
            return draws.Raw((a if x[0] == "real" else a + 1j * given[i + 1],))
        if isinstance(x, list) or type(x) is tuple:
            return type(x)(fill(v, given) for v in x)
        return {k: fill(v, given) for k, v in x.items()} if isinstance(x, dict) else x
    marked = mark(list(args)), mark(kwargs)
    return leaves, lambda given: (fill(marked[0], given), fill(marked[1], given))


def derivatives(name, only):
    """number of a call, of an argument: ([gradient, jvp], central difference, the room that this leaves, whether gradient and jvp fit,
    whether they are slopes of elements, where the function is NaN)."""
    m, made = library.lib(name, True), {}
    xp, tn = m.np, m.root
    for number, (path, args, kwargs, elementwise) in enumerate(cases()):
        if only and path not in only:
            continue
        leaves, given = _parts(args, kwargs)

        def f(*x):
            parts = []
            for p in tn.tree_util.tree_leaves(library.call(m, path, *given(x))):
                if p.dtype.kind == "c":
                    parts += [xp.real(p).ravel(), xp.imag(p).ravel()]
                elif p.dtype.kind == "f":
                    parts.append(p.ravel())
            return xp.concatenate(parts)
        try:
            value = np.asarray(f(*map(xp.asarray, leaves)))
        except Exception:   # which parity.py compares  # noqa: BLE001
            continue
        for i, x in enumerate(leaves):
            if COUNTS.get(path) == i:
                continue
            one = elementwise and value.size % x.size == 0
            weights = np.ones(value.size) if one else np.cos(np.arange(value.size) + 0.3)
            direction = np.ones(x.shape) if one else np.cos(1.7 * np.arange(x.size)).reshape(x.shape)
            of = lambda v: f(*(v if k == i else xp.asarray(other) for k, other in enumerate(leaves)))
            both = []
            for slope in (lambda: tn.grad(lambda v: xp.sum(of(v) * xp.asarray(weights)))(xp.asarray(x)),
                          lambda: tn.jvp(of, (xp.asarray(x),), (xp.asarray(direction),))[1]):
                try:
                    both.append(np.asarray(slope()))
                except Exception as error:   # noqa: BLE001
                    both.append(type(error).__name__)
            step = 1e-3 * np.where(x == 0, 0.1, np.abs(x)) if one else 1e-3 * max(0.1, np.abs(x).min())
            apart = np.tile(step.ravel(), value.size // x.size) if one else step
            at = lambda h: np.asarray(of(xp.asarray(x + h * step * direction)))
            with np.errstate(all="ignore"):
                try:
                    first, second = (np.where(at(h) == at(-h), 0.0, at(h) - at(-h)) / (2 * h * apart) for h in (1.0, 0.5))
                    difference, room = (4 * second - first) / 3, np.abs(second - first) + 1e-13 * np.abs(value) / apart
                except Exception:   # noqa: BLE001
                    difference = room = np.full(value.shape, np.nan)
                fits = isinstance(both[0], np.ndarray) and isinstance(both[1], np.ndarray) and bool(
                    np.isclose(np.sum(both[0] * direction), np.sum(both[1] * weights), rtol=1e-6, atol=1e-9 * np.sum(np.abs(both[1]))))
            made[number, i] = both, difference, room, fits, one, np.isnan(value)
    return made


def differences(ours, theirs):
    """(words for a derivative, "" or how it differs) of each."""
    drawn = cases()
    for key in sorted(ours.keys() & theirs.keys()):
        number, i = key
        path, args, kwargs, _ = drawn[number]
        (gradient, jvp), difference, room, fits, one, nowhere = ours[key]
        for what, a, b in (("gradient", gradient, theirs[key][0][0]), ("jvp", jvp, theirs[key][0][1])):
            text = f"{what} of {path} in argument {i}, call {number}"
            if isinstance(a, str):
                yield text, "" if isinstance(b, str) else f"raises {a}"
                continue
            a, direct = a.ravel(), difference
            if one and what == "gradient":   # of several results the sum of their slopes
                direct, room_here = direct.reshape(-1, a.size).sum(0), room.reshape(-1, a.size).sum(0)
            else:
                room_here = room
            if isinstance(b, str):
                b = direct if one or what == "jvp" else a
            b = b.ravel()
            if a.shape != b.shape:
                yield text, f"has {a.size} elements, JAX's {b.size}"
                continue
            with np.errstate(all="ignore"):
                floor = 1e-9 if one else 1e-9 * (1 + np.abs(b[np.isfinite(b)]).max(initial=0))
                same = (a == b) | (np.isnan(a) & np.isnan(b)) | (np.isfinite(b) & (np.abs(a - b) <= 1e-6 * np.abs(b) + floor))
                if one or what == "jvp":
                    same |= np.abs(a - direct) <= 1e-5 * np.abs(direct) + room_here + 1e-12
                elif fits:   # the gradient of a function whose jvp is judged by itself
                    same |= True
                if one or what == "jvp":
                    same |= nowhere.reshape(-1, a.size).any(0)
            if same.all():
                yield text, ""
                continue
            at = int(np.argmin(same))
            arguments = _parts(args, kwargs)[0]
            where = ", ".join(f"{x.ravel()[at % x.size]:.17g}" for x in arguments) if one else f"{short(list(args))}; {kwargs}"[:300]
            direct_there = f", differences {direct[at]:.6g}" if one or what == "jvp" else ""
            yield text, f"{(~same).sum()} of {same.size}, at ({where}): {a[at]:.8g}, JAX {b[at]:.8g}{direct_there}"
