"""hoist_reductions(): functions whose loops take in the reductions of what they stack."""

from tenon import _core
from tenon._arguments import of_arrays
from tenon._transforms import _named

__all__ = ["hoist_reductions"]


def hoist_reductions(fun, *, static_argnums=(), static_argnames=()):
    """`fun`, with reductions of what its scans stack as parts of these scans, and reductions of what it computes of pairs of
    rows as loops over one of them: neither a stack nor an array of all pairs is made. jit() does so with all that it
    compiles; here it is done before `fun` is differentiated, batched or shown, in whatever is around. Sums are rounded
    otherwise than those of `fun`; under strict numerics they stay. tn.explain() says what moved, and what prevented it
    elsewhere.

    >>> import tenon as tn, tenon.numpy as tnp
    >>> step = lambda c, x: (tnp.sin(c + x),) * 2
    >>> loss = lambda xs: tnp.mean(tn.lax.scan(step, 0.0, xs)[1])
    >>> bool(tnp.allclose(tn.hoist_reductions(loss)(tnp.arange(9.0)), loss(tnp.arange(9.0))))
    True
    >>> print(tn.explain(loss)(tnp.arange(9.0)).split("reductions taken into loops:")[1].splitlines()[1].split(" at ")[0])
      sum f64[]
    """
    if not callable(fun):
        raise _core.OptionError(f"hoist_reductions: {fun!r} is not callable.")
    arrays_of = of_arrays(fun, static_argnums, static_argnames)

    def hoisted(*args, **kwargs):
        return _core.hoisted(*arrays_of(args, kwargs))

    return _named(hoisted, fun, "hoist_reductions")
