"""Functions with derivatives by rules of the user's own, with the signatures of jax's."""

import functools
import inspect

import numpy as np

from tenon import _core, _rule_references, numpy as tnp, tree
from tenon._arguments import bind, positional
from tenon._symbolic_zeros import as_primals, filled, with_symbolic_zeros, without_symbolic_zeros

__all__ = ["closure_convert", "custom_jvp", "custom_vjp"]


def _fixed(fun, numbers, names):
    """The numbers of the arguments that are not differentiated, given by number or by name."""
    names = [names] if isinstance(names, str) else list(names or ())
    if names:
        parameters = list(inspect.signature(fun).parameters)
        unknown = [name for name in names if name not in parameters]
        if unknown:
            raise _core.OptionError(f"nondiff_argnames: the function has no argument {', '.join(unknown)}: it has {parameters}.")
    return sorted({*numbers, *(parameters.index(name) for name in names)})


class _WithRules:
    """What functions with rules share: which arguments the rules are for."""

    def __init__(self, fun, nondiff_argnums=(), nondiff_argnames=()):
        functools.update_wrapper(self, fun)
        self.fun, self.nondiff = fun, _fixed(fun, nondiff_argnums, nondiff_argnames)

    def __get__(self, instance, owner=None):
        return self if instance is None else functools.partial(self, instance)

    @property
    def def_vmap(self):
        """That of the function, where it is a custom_vmap."""
        return self.fun.def_vmap

    def _parts(self, args, kwargs):
        """(those arguments that are not differentiated, the function of the others, the others)."""
        args = positional(self.fun, args, kwargs)
        fixed = tuple(args[n] for n in self.nondiff if n < len(args))
        return (fixed, *bind(self.fun, self.nondiff, args), args)

    def _outside_of_traces(self, args):
        """The function itself, of copies of NumPy's arrays: what it returns stays as it is when those are written."""

        def copied(arg):
            return tree.map(lambda x: tnp.array(x) if type(x) is np.ndarray and x.dtype.kind in "biufc" else x, arg)

        others = [arg for n, arg in enumerate(args) if n not in self.nondiff]
        holds_references = _rule_references.references(others)
        made = self.fun(*(arg if n in self.nondiff else copied(arg) for n, arg in enumerate(args)))
        if holds_references:
            _rule_references.refuse(type(self).__name__, "the function", made)
        return made


class custom_jvp(_WithRules):  # noqa: N801
    """A function with tangents by a rule: a decorator; then `f.defjvp(rule)` with
    rule(*those not differentiated, primals, tangents) -> (result, tangent), or `f.defjvps(...)`.

    The rule is run where a derivative in one of the arguments is taken, once for each call; so it may call the function
    itself, whose derivatives of higher order then are those of the rule. Arguments that are not differentiated are said
    by number or by name; what else the function captures is a constant to it. Under grad() alone function and rule may
    use `if` on values.

    >>> import tenon as tn, tenon.numpy as tnp
    >>> @tn.custom_jvp
    ... def log1pexp(x):
    ...     return tnp.log(1.0 + tnp.exp(x))
    >>> @log1pexp.defjvp
    ... def _(primals, tangents):
    ...     (x,), (dx,) = primals, tangents
    ...     return log1pexp(x), dx * (1 - 1 / (1 + tnp.exp(x)))
    >>> tn.grad(log1pexp)(100.0)
    Array(1., dtype=float64, weak_type=True)
    """

    rule, symbolic = None, False

    def defjvp(self, jvp, symbolic_zeros=False):
        """Gives the rule, and returns it. With `symbolic_zeros` a tangent that is zero, because its argument is not
        differentiated, is a tn.custom_derivatives.SymbolicZero of its shape and dtype; the rule may return such."""
        self.rule, self.symbolic = jvp, bool(symbolic_zeros)
        return jvp

    def defjvps(self, *jvps):
        """A function for each argument: rule(tangent, result, *primals), or None."""
        if self.nondiff:
            raise _core.OptionError("custom_jvp: defjvps is for functions all of whose arguments are differentiated; use defjvp.")

        def rule(primals, tangents):
            result = self(*primals)
            parts = [r(t, result, *primals) for r, t in zip(jvps, tangents, strict=True) if r is not None]
            if not parts:
                return result, tree.map(tnp.zeros_like, result)
            return result, functools.reduce(lambda a, b: tree.map(tnp.add, a, b), parts)

        self.rule, self.symbolic = rule, False

    def __call__(self, *args, **kwargs):
        if self.rule is None:
            raise AttributeError(f"custom_jvp: {self.__name__} has no rule: say {self.__name__}.defjvp(rule).")
        fixed, fun, others, args = self._parts(args, kwargs)
        if not _core.tracing():
            return self._outside_of_traces(args)
        perturbed = _core.perturbed(others) if self.symbolic else None

        def rule(primals, tangents):
            made = self.rule(*fixed, primals, with_symbolic_zeros(tangents, perturbed) if self.symbolic else tangents)
            return (made[0], without_symbolic_zeros(made[1])) if isinstance(made, (tuple, list)) and len(made) == 2 else made

        return _core.custom_jvp(fun, rule, others)


class custom_vjp(_WithRules):  # noqa: N801
    """A function with a reverse mode of its own: a decorator; then `f.defvjp(forward, backward)` with
    forward(*args) -> (result, residuals) and backward(*those not differentiated, residuals, cotangent) -> a tuple of
    cotangents of the others. None stands for zeros, of an argument or of a part of its tree.

    The rules are run where a derivative in one of the arguments is taken, once for each call; they may call the function
    itself. Arguments that are not differentiated are said by number or by name; what else the function captures is a
    constant to it. Under grad() alone function and rules may use `if` on values, of cotangents excepted. References that
    were there before the derivative, captured or among the arguments and residuals, are read and written by backward when
    reverse mode comes by, from the last call to the first.

    >>> import tenon as tn, tenon.numpy as tnp
    >>> @tn.custom_vjp
    ... def f(x, y):
    ...     return tnp.sin(x) * y
    >>> def forward(x, y):
    ...     return f(x, y), (tnp.cos(x), tnp.sin(x), y)
    >>> def backward(residuals, g):
    ...     cos_x, sin_x, y = residuals
    ...     return cos_x * g * y, sin_x * g
    >>> f.defvjp(forward, backward)
    >>> tn.grad(f, argnums=1)(0.0, 3.0)
    Array(0., dtype=float64, weak_type=True)
    """

    forward = backward = None
    symbolic = False

    def defvjp(self, fwd, bwd, symbolic_zeros=False, optimize_remat=False):
        """Gives the rules. With `symbolic_zeros` forward gets a tn.custom_derivatives.CustomVJPPrimal for each leaf of
        the arguments, whose `value` is that leaf and whose `perturbed` tells whether it is differentiated; and backward
        may return SymbolicZeros. `optimize_remat` is taken and has no effect: a residual that is not needed is not
        computed."""
        self.forward, self.backward, self.symbolic = fwd, bwd, bool(symbolic_zeros)

    def __call__(self, *args, **kwargs):
        if self.forward is None:
            raise AttributeError(f"custom_vjp: {self.__name__} has no rules: say {self.__name__}.defvjp(fwd, bwd).")
        fixed, fun, others, args = self._parts(args, kwargs)
        if not _core.tracing():
            return self._outside_of_traces(args)
        by_rule, by_back = bind(self.forward, self.nondiff, args)[0], self.backward
        if leaves := _rule_references.references(others):
            by_value = _core.references_by_value(leaves)
            fun = _rule_references.only_read("custom_vjp", fun, others, by_value)[0]
            by_rule, others = _rule_references.only_read("custom_vjp", by_rule, others, by_value)
        perturbed = _core.perturbed(others) if self.symbolic else None

        def function(*given):
            made = fun(*given)
            if leaves:
                _rule_references.refuse("custom_vjp", "the function", made)
            return made

        def forward(*given):
            made = by_rule(*(as_primals(given, perturbed) if self.symbolic else given))
            _rule_references.refuse_made_here("custom_vjp: the custom_vjp fwd function", made)
            return made

        def backward(residuals, cotangent):
            made = by_back(*fixed, residuals, cotangent)
            return filled(tuple(made), others) if isinstance(made, (tuple, list)) and len(made) == len(others) else made

        return _core.custom_vjp(function, forward, backward, others)


def closure_convert(fun, *example_args):
    """(a function, a list of arrays): the function takes, behind the arguments of `fun`, those arrays that `fun` captures
    and that are being differentiated, and does what `fun` does. So a rule can give derivatives in them. It is traced once,
    at these arguments: it is for others of their structure, shapes and dtypes.

    >>> import tenon as tn
    >>> def f(c):
    ...     converted, captured = tn.closure_convert(lambda x: x * c, 2.0)
    ...     return converted(2.0, *captured)
    >>> tn.grad(f)(3.0)
    Array(2., dtype=float64, weak_type=True)
    """
    converted, captured = _core.closure_convert(fun, example_args)
    return converted, list(captured)
