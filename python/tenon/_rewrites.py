"""rule(), rewrites() and verify(): what may stand in place of what. strict_numerics(): sums in the order they are written."""

import contextlib
import inspect

from tenon import _core
from tenon._core import Rule

__all__ = ["Rule", "library_rule", "list_rules", "rewrites", "rule", "strict_numerics", "verify"]


def rule(name, exactness, pattern, replacement, *, when=None, phase="both"):
    """A rule: where `pattern` is found, and when() holds, `replacement` takes its place.

    All are functions of the same arrays, which stand for arrays of any dtype and shape that the pattern takes; its numbers
    are matched by value. `exactness` says how results may differ: "exact" (to the bit), "reassociates" (but for rounding),
    "assumes_finite" (the same where nothing is infinite or NaN) or "avoids_overflow". `phase` is "both",
    "before_differentiation" or "after_differentiation". jit(f, rewrites=[...]) and rewrites() apply rules, and tn.explain()
    tells where. What is no rule is a RewriteError: a pattern that matches everything, a replacement of another type.

    >>> import tenon as tn, tenon.numpy as tnp
    >>> squares = tn.rule("exp(x)**2", "reassociates", lambda x: tnp.exp(x) * tnp.exp(x), lambda x: tnp.exp(2 * x))
    >>> tn.verify(squares) > 0
    True
    >>> tn.jit(lambda x: tnp.exp(x) * tnp.exp(x), rewrites=[squares])(tnp.float32(0.5))
    Array(2.7182817, dtype=float32)
    """
    if not isinstance(name, str):
        raise _core.OptionError(f"rule: the name is {name!r}, not a string.")
    for function, kind in ((pattern, "pattern"), (replacement, "replacement"), (when, "when")):
        if not callable(function) and not (kind == "when" and function is None):
            raise _core.OptionError(f"rule: {kind} is {function!r}, not a function.")
    counts = {len(inspect.signature(f).parameters) for f in (pattern, replacement, when) if f is not None}
    if len(counts) != 1:
        raise _core.OptionError("rule: pattern, replacement and when take the same parameters.")
    return _core.rule(name, exactness, pattern, when, replacement, phase, counts.pop())


def verify(rule, *, cases=100, seed=1, derivatives=True):
    """Tries a rule on types and values that are drawn for its pattern, against the reference evaluator, with derivatives and
    batches; gives how many cases it was applied to. A RewriteError tells operands at which it does not hold.

    >>> import tenon as tn
    >>> wrong = tn.rule("x - x = 0", "exact", lambda x: x - x, lambda x: x * 0)
    >>> try:
    ...     tn.verify(wrong)
    ... except tn.RewriteError as e:
    ...     print(str(e).split(":")[0])
    verify
    """
    if not isinstance(rule, Rule):
        raise _core.OptionError(f"verify: {rule!r} is no rule. Make one with tenon.rule(...).")
    return _core.verify_rule(rule, cases, seed, derivatives)


def library_rule(name):
    """The library's rule of that name, of those that list_rules() tells: jit(f, rewrites=[library_rule(name)])."""
    return _core.library_rule(name)


def list_rules():
    """A line for each rule of the library: its exactness, and how often it was applied in this process, in what time."""
    return _core.list_rules()


@contextlib.contextmanager
def rewrites(*rules):
    """Within it, functions that are differentiated, and functions that tn.jit makes, have these rules.

    >>> import tenon as tn, tenon.numpy as tnp
    >>> root = tn.rule("sqrt(x**2)", "assumes_finite", lambda x: tnp.sqrt(x * x), lambda x: tnp.abs(x),
    ...                phase="before_differentiation")
    >>> with tn.rewrites(root):
    ...     print(tn.grad(lambda x: tnp.sqrt(x * x))(0.0))
    1.0
    """
    scope = _core.RewritesScope(rules)
    try:
        yield
    finally:
        scope.close()


@contextlib.contextmanager
def strict_numerics():
    """Within it, what is traced, and functions that tn.jit makes, take sums in the order in which they are written.

    >>> import tenon as tn, tenon.numpy as tnp
    >>> with tn.strict_numerics():
    ...     total = tn.jit(tnp.sum)
    >>> total(tnp.float32([1e8, 1, -1e8, 1]))
    Array(1., dtype=float32)
    """
    scope = _core.StrictScope()
    try:
        yield
    finally:
        scope.close()
