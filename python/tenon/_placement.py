"""noinline() and inline_(): whether calls of a function are compiled by themselves."""

from tenon import _core
from tenon._arguments import as_arrays, of_arrays
from tenon._transforms import _named

__all__ = ["inline_", "noinline"]


def _placed(fun, unit, kind, static_argnums, static_argnames):
    if not callable(fun):
        raise _core.OptionError(f"{kind}: {fun!r} is not callable.")
    arrays_of = of_arrays(fun, static_argnums, static_argnames)
    name = getattr(fun, "__name__", "function")

    def placed(*args, **kwargs):
        bound, others, kwargs = arrays_of(args, kwargs)
        if not _core.tracing():
            return bound(*as_arrays(others), **as_arrays(kwargs))
        return _core.placed(bound, name, unit, others, kwargs)

    return _named(placed, fun, kind)


def noinline(fun, *, static_argnums=(), static_argnames=()):
    """`fun`, of which every call in a function that is compiled is one of a unit: code that is compiled once, for all its
    calls, and fuses with nothing around it. So are its derivatives, batches and what checkpoints compute again. Without
    it the compiler decides by how large a function is and how often it is called. A function that has lists, or sizes
    that its data decide, is inlined nevertheless; tn.explain() says why.

    >>> import tenon as tn, tenon.numpy as tnp
    >>> layer = tn.noinline(lambda w, h: tnp.tanh(h @ w))
    >>> text = tn.explain(lambda w, h: layer(w, layer(w, h)))(tnp.ones((2, 2)), tnp.ones(2))
    >>> [line for line in text.splitlines() if "called 2 times" in line and "a unit: asked for" in line] != []
    True
    """
    return _placed(fun, True, "noinline", static_argnums, static_argnames)


def inline_(fun, *, static_argnums=(), static_argnames=()):
    """`fun`, of which every call in a function that is compiled becomes part of the caller's code, however large it is and
    however often it is called.

    >>> import tenon as tn
    >>> tn.jit(lambda x: tn.inline_(lambda y: y + 1)(x) * 2)(3.0)
    Array(8., dtype=float64, weak_type=True)
    """
    return _placed(fun, False, "inline_", static_argnums, static_argnames)
