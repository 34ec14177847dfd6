"""Primitives of libraries: each is what its implementation in JAX is, with the tangents of its rule in JAX."""

import threading

import jax  # type: ignore
import numpy as np
from jax.interpreters import ad  # type: ignore

from tenon import _core, _custom_rules
from tenon._symbolic_zeros import SymbolicZero
from tenon.foreign._jaxprs import by_default, call, differentiable, is_key, results_that_are_read, rule, unsupported


class _Running(threading.local):
    """Implementations that are being walked: primitives, with the types of their operands."""

    def __init__(self):
        self.kinds, self.rules = [], 0


def in_a_rule():
    """Whether what is walked is the rule of a primitive for tangents."""
    return _running.rules > 0


_running = _Running()


class _Bound:
    """A primitive at the operands of an equation, those excepted that are known: it may look at these."""

    def __init__(self, equation, operands):
        self.equation = equation
        self.known = [None if _core.is_traced(x) or is_key(v.aval) else np.asarray(x)
                      for x, v in zip(operands, equation.invars)]
        self.avals = [v.aval for v, value in zip(equation.invars, self.known) if value is None]
        self.used = [i for i, used in enumerate(results_that_are_read()) if used]
        self.like = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in self.avals]

    def unknown(self, operands):
        return [x for x, value in zip(operands, self.known) if value is None]

    def by(self, function, given):
        """What a function of all operands makes of these and of the known ones, in results that something reads."""
        given = iter(given)
        made = function(*[next(given) if value is None else value for value in self.known], **self.equation.params)
        return tuple(made[i] for i in self.used) if self.equation.primitive.multiple_results else (made,)

    def all_results(self, made):
        """With None in place of those that nothing reads."""
        results = [None] * len(self.equation.outvars)
        for i, x in zip(self.used, made):
            results[i] = x
        return results

    def implementation(self, *operands):
        primitive, kind = self.equation.primitive, (self.equation.primitive, [(a.shape, a.dtype) for a in self.avals])
        if kind in _running.kinds:
            raise unsupported(self.equation, "there is no rule for it, and its implementation binds it again.")
        try:
            jaxpr = jax.make_jaxpr(lambda *given: self.by(primitive.impl, given))(*self.like)
        except Exception as error:
            raise unsupported(self.equation, "there is no rule for it, and its implementation cannot be traced: "
                              f"{error}") from error
        _running.kinds.append(kind)
        try:
            return tuple(call(jaxpr, *operands))
        finally:
            _running.kinds.pop()

    def jvp(self, primals, tangents):
        """The rule of JAX, of those operands alone that have a tangent."""
        moved = [i for i, t in enumerate(tangents) if not isinstance(t, SymbolicZero)]

        def both(primals, tangents):
            def bound(*some):
                given = list(primals)
                for i, x in zip(moved, some):
                    given[i] = x
                return self.by(self.equation.primitive.bind, given)

            return jax.jvp(bound, tuple(primals[i] for i in moved), tuple(tangents))

        jaxpr = jax.make_jaxpr(both)(self.like, [self.like[i] for i in moved])
        _running.rules += 1
        try:
            made = call(jaxpr, *primals, *[tangents[i] for i in moved])
        finally:
            _running.rules -= 1
        n, outvars = len(self.used), [self.equation.outvars[i] for i in self.used]
        return tuple(made[:n]), tuple(slope if differentiable(v.aval) else SymbolicZero(x.shape, x.dtype)
                                      for x, slope, v in zip(made, made[n:], outvars))


def implementation_alone(equation, *operands):
    """Of an equation whose derivatives are known otherwise."""
    bound = _Bound(equation, operands)
    return bound.all_results(bound.implementation(*bound.unknown(operands)))


@rule(by_default)
def by_implementation(equation, *operands):
    bound = _Bound(equation, operands)
    operands = bound.unknown(operands)
    if equation.primitive not in ad.primitive_jvps:
        return bound.all_results(bound.implementation(*operands))
    function = _custom_rules.custom_jvp(bound.implementation)
    function.defjvp(bound.jvp, symbolic_zeros=True)
    return bound.all_results(function(*operands))
