"""Derivatives beside finite differences, by the names of jax.test_util."""

import numpy as np

from tenon import _core, tree
from tenon._transforms import jvp, vjp
from tenon.numpy._creation import asarray

__all__ = ["check_grads", "check_jvp", "check_vjp"]

_step = {"float16": 1e-2, "bfloat16": 1e-1, "float32": 1e-4, "complex64": 1e-4, "float64": 1e-6, "complex128": 1e-6}
_tolerance = {"float16": 1e-2, "bfloat16": 1e-1, "float32": 1e-2, "complex64": 1e-2, "float64": 1e-5, "complex128": 1e-5}


def _name(leaf):
    return np.dtype(getattr(leaf, "dtype", type(leaf))).name


def _inexact(leaf):
    return _name(leaf) in _step


def _largest(table, *trees):
    return max((table[_name(leaf)] for leaf in tree.leaves(trees) if _inexact(leaf)), default=1e-5)


def _random_like(random, x):
    """A random direction in the leaf's dtype; of integers zeros of the dtype float0."""
    x = np.asarray(x)
    if not _inexact(x):
        return np.zeros(x.shape, np.dtype([("float0", np.void, 0)]))
    wide = random.standard_normal(x.shape)
    wide = wide + 1j * random.standard_normal(x.shape) if x.dtype.kind == "c" else wide
    return asarray(np.asarray(wide, x.dtype) if x.dtype.kind != "V" else np.asarray(wide, np.float32), x.dtype)


def _wide(x):
    x = np.asarray(x)
    return x if x.dtype.kind in "iub" else x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def _moved(x, direction, by):
    if not _inexact(x):
        return x
    x = asarray(x)
    return asarray(np.asarray(_wide(x) + by * _wide(direction)).astype(np.asarray(x).dtype), x.dtype)


def _difference(f, args, directions, eps):
    """(f(x + eps v / 2) - f(x - eps v / 2)) / eps."""
    after, before = (f(*tree.map(lambda x, v, by=by: _moved(x, v, by), args, directions)) for by in (eps / 2, -eps / 2))
    return tree.map(lambda a, b: (_wide(a) - _wide(b)) / eps if _inexact(a) else np.zeros(np.shape(a)), after, before)


def _close(what, got, wanted, atol, rtol, err_msg):
    for path, (g, w) in zip(tree.structure(wanted).paths(), zip(tree.leaves(got), tree.leaves(wanted))):
        if np.asarray(g).dtype.names:  # float0
            continue
        np.testing.assert_allclose(_wide(g), w, atol=atol, rtol=rtol,
                                   err_msg=f"{err_msg} {what}{tree.keystr(path)}".strip())


def check_jvp(f, f_jvp, args, atol=None, rtol=None, eps=None, err_msg=""):
    """Compares f_jvp(args, tangents) -> (value, tangent) with f and its finite differences along a random direction.

    AssertionError where they differ by more than `atol` + `rtol` times the size (by default what the dtypes allow).

    >>> import functools, tenon as tn, tenon.numpy as tnp
    >>> check_jvp(tnp.sin, functools.partial(tn.jvp, tnp.sin), (0.5,))
    """
    args = tuple(args)
    random = np.random.RandomState(0)
    directions = tree.map(lambda x: _random_like(random, x), args)
    value, tangent = f_jvp(args, directions)
    wanted = f(*args)
    atol, rtol = (_largest(_tolerance, args, wanted) if t is None else t for t in (atol, rtol))
    eps = _largest(_step, args) if eps is None else eps
    _close("JVP value", value, tree.map(_wide, wanted), atol, rtol, err_msg)
    _close("JVP tangent", tangent, _difference(f, args, directions, eps), atol, rtol, err_msg)


def _inner(cotangent, tangent):
    """The real pairing of a cotangent with a tangent: Σ re(c t)."""
    total = 0.0
    for c, t in zip(tree.leaves(cotangent), tree.leaves(tangent)):
        c, t = np.asarray(c), np.asarray(t)
        if not (c.dtype.names or t.dtype.names):
            total += float(np.sum(np.real(_wide(c) * _wide(t))))
    return total


def check_vjp(f, f_vjp, args, atol=None, rtol=None, eps=None, err_msg=""):
    """Compares f_vjp(*args) -> (value, pull) with f and its finite differences: for a random cotangent c and a random
    direction v, c · f'(x) v = pull(c) · v.

    >>> import functools, tenon as tn, tenon.numpy as tnp
    >>> check_vjp(tnp.sin, functools.partial(tn.vjp, tnp.sin), (0.5,))
    """
    args = tuple(args)
    random = np.random.RandomState(0)
    directions = tree.map(lambda x: _random_like(random, x), args)
    value, pull = f_vjp(*args)
    wanted = f(*args)
    atol, rtol = (_largest(_tolerance, args, wanted) if t is None else t for t in (atol, rtol))
    eps = _largest(_step, args) if eps is None else eps
    _close("VJP value", value, tree.map(_wide, wanted), atol, rtol, err_msg)
    cotangent = tree.map(lambda x: _random_like(random, x), value)
    got = _inner(pull(cotangent), directions)
    want = _inner(cotangent, _difference(f, args, directions, eps))
    np.testing.assert_allclose(got, want, atol=atol, rtol=rtol, err_msg=f"{err_msg} VJP cotangent projection".strip())


def check_grads(f, args, order, modes=("fwd", "rev"), atol=None, rtol=None, eps=None):
    """Compares derivatives up to `order` with finite differences, by forward mode ("fwd"), reverse mode ("rev") and all
    their compositions. AssertionError where they differ.

    >>> import tenon.numpy as tnp
    >>> check_grads(tnp.sin, (0.5,), order=2)
    """
    args, modes = tuple(args), (modes,) if isinstance(modes, str) else tuple(modes)
    if unknown := set(modes) - {"fwd", "rev"}:
        raise _core.OptionError(f"check_grads: modes are 'fwd' and 'rev', not {sorted(unknown)[0]!r}.")

    def check(g, args, order, err_msg):
        if "fwd" in modes:
            check_jvp(g, lambda primals, tangents: jvp(g, primals, tangents), args, atol, rtol, eps, f"{err_msg} fwd")
            if order > 1:
                random = np.random.RandomState(order)
                directions = tree.map(lambda x: _random_like(random, x), args)
                check(lambda *xs: jvp(g, xs, directions)[1], args, order - 1, f"{err_msg} fwd")
        if "rev" in modes:
            check_vjp(g, lambda *xs: vjp(g, *xs), args, atol, rtol, eps, f"{err_msg} rev")
            if order > 1:
                random = np.random.RandomState(order)
                cotangent = tree.map(lambda x: _random_like(random, x), g(*args))
                inexact = [i for i, x in enumerate(args) if all(map(_inexact, tree.leaves(x)))]
                check(lambda *xs: [vjp(g, *xs)[1](cotangent)[i] for i in inexact], args, order - 1, f"{err_msg} rev")

    check(f, args, order, "")
