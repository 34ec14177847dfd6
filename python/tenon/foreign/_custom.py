"""Primitives with rules of their own, which are kept: gradients here use the user's rules, traced by JAX when they are
asked for."""

import jax  # type: ignore
import numpy as np
from jax.extend.core import Literal  # type: ignore

from tenon import _core, _custom_rules, lax, numpy as tnp
from tenon.foreign._jaxprs import call, constant, dtype_of, evaluate, is_key, rule, shape_of

def _differentiable(aval):
    return not is_key(aval) and np.dtype(aval.dtype).kind in "fcV"


def _tangents(primals, tangents, zeros):
    """Tangents of those that have some; zeros of the others."""
    tangents = iter(tangents)
    return tuple(tnp.zeros_like(p) if zero else next(tangents) for p, zero in zip(primals, zeros))


@rule("custom_jvp_call")
def _custom_jvp_call(equation, *operands):
    p, n = equation.params, equation.params["num_consts"]
    consts, operands = operands[:n], operands[n:]
    zeros = [not _differentiable(v.aval) for v in equation.invars[n:]]
    try:
        jaxpr, jvp_consts, out_zeros = p["jvp_jaxpr_fun"].call_wrapped(*zeros)
    except RuntimeError:  # a rule that is for some tangents alone: the derivative of what is computed
        return call(p["call_jaxpr"], *consts, *operands)
    jvp_consts = [constant(c, v.aval) for c, v in zip(jvp_consts, jaxpr.constvars)]

    def jvp(primals, tangents):
        made = evaluate(jaxpr, jvp_consts, [*primals, *[t for t, zero in zip(tangents, zeros) if not zero]])
        primals = tuple(made[:len(equation.outvars)])
        return primals, _tangents(primals, made[len(primals):], out_zeros)

    function = _custom_rules.custom_jvp(lambda *operands: tuple(call(p["call_jaxpr"], *consts, *operands)))
    function.defjvp(jvp)
    return list(function(*operands))


class _RulesOfVjp:
    """The rules of a custom_vjp, traced by JAX for arguments that are all differentiated, where they can be."""

    def __init__(self, equation, consts):
        p, n = equation.params, equation.params["num_consts"]
        self.consts, self.results, self.operands = consts, len(equation.outvars), len(equation.invars) - n
        perturbed = [_differentiable(v.aval) for v in equation.invars[n:]]
        self.fwd, self.fwd_consts = p["fwd_jaxpr_thunk"].call_wrapped(*perturbed)
        self.sources = p["out_trees"]()[2]
        residuals = self._residuals(equation)
        # The rule backward takes residuals that are known while tracing as they are, since it may branch on them.
        self.known = [isinstance(v, Literal) or v in self.fwd.constvars for v in residuals]
        self.differentiated = []
        avals = [v.aval for v, known in zip(residuals, self.known) if not known] + [v.aval for v in equation.outvars]
        values = dict(zip(self.fwd.constvars, self.fwd_consts))
        fixed = [(v.val if isinstance(v, Literal) else values[v]) if known else None
                 for v, known in zip(residuals, self.known)]
        self.bwd = self._backward(p["bwd"], fixed, avals)

    def _residuals(self, equation):
        made = iter(self.fwd.outvars)
        return [next(made) if i is None else equation.invars[i] for i in self.sources]

    def _backward(self, rule, fixed, avals):
        def backward(*given):
            given = iter(given)
            residuals = [value if known else next(given) for value, known in zip(fixed, self.known)]
            made = rule.call_wrapped(*residuals, *given)[-self.operands:]
            self.differentiated = [isinstance(ct, (jax.Array, np.ndarray, np.generic, float, complex)) for ct in made]
            return [ct for ct, yes in zip(made, self.differentiated) if yes]

        return jax.make_jaxpr(backward)(*[jax.ShapeDtypeStruct(a.shape, a.dtype) for a in avals])

    def forward(self, *operands):
        consts = [constant(c, v.aval) for c, v in zip(self.fwd_consts, self.fwd.constvars)]
        made = evaluate(self.fwd, consts, operands)
        computed, whole = iter(made[:len(made) - self.results]), (*self.consts, *operands)
        residuals = [next(computed) if i is None else whole[i] for i in self.sources]
        return tuple(made[len(made) - self.results:]), tuple(r for r, known in zip(residuals, self.known) if not known)

    def backward(self, residuals, cotangents):
        made = iter(call(self.bwd, *residuals, *cotangents))
        return tuple(next(made) if yes else None for yes in self.differentiated)


@rule("custom_vjp_call")
def _custom_vjp_call(equation, *operands):
    p, n = equation.params, equation.params["num_consts"]
    consts, operands = operands[:n], operands[n:]
    try:
        rules = _RulesOfVjp(equation, consts)
    except Exception:  # rules that are for some arguments alone: the derivative of what is computed
        return call(p["call_jaxpr"], *consts, *operands)
    function = _custom_rules.custom_vjp(lambda *operands: tuple(call(p["call_jaxpr"], *consts, *operands)))
    function.defvjp(rules.forward, rules.backward)
    return list(function(*operands))


@rule("custom_lin")
def _custom_lin(equation, *operands):
    """What is linearised of a custom_vjp: its rule is backward alone, so it has no value."""
    return [tnp.zeros(shape_of(v.aval), dtype_of(v.aval)) for v in equation.outvars]


@rule("custom_linear_solve")
def _custom_linear_solve(equation, *operands):
    jaxprs, lengths = equation.params["jaxprs"], equation.params["const_lengths"]
    at = np.cumsum([0, lengths.matvec, lengths.vecmat, lengths.solve, lengths.transpose_solve])
    of_matvec, _, of_solve, of_transpose = [operands[a:b] for a, b in zip(at, at[1:])]
    right = tuple(operands[at[-1]:])

    def product(x):
        return tuple(call(jaxprs.matvec, *of_matvec, *x))

    def solver(jaxpr, consts):
        return None if jaxpr is None else lambda _, b: tuple(call(jaxpr, *consts, *b)[:len(right)])

    if len(equation.outvars) > len(right):  # with more that the solver tells, which is not differentiated
        return call(jaxprs.solve, *of_solve, *right)
    symmetric = jaxprs.transpose_solve is not None and jaxprs.vecmat is jaxprs.matvec
    return list(lax.custom_linear_solve(product, right, solver(jaxprs.solve, of_solve),
                                        solver(jaxprs.transpose_solve, of_transpose), symmetric))


@rule("unreachable")
def _unreachable(equation, *_):
    return [tnp.zeros(shape_of(v.aval), dtype_of(v.aval)) for v in equation.outvars]


# Primitives of equinox whose meaning depends on who looks: batching, differentiation or none.
@rule("unvmap_any")
def _any(equation, x):
    return tnp.any(x)


@rule("unvmap_all")
def _all(equation, x):
    return tnp.all(x)


@rule("unvmap_max")
def _max(equation, x):
    return tnp.max(x)


@rule("select_if_vmap")
def _select(equation, *operands):
    return _core.where(*operands)


@rule("nondifferentiable", "nondifferentiable_backward", "nonbatchable", "noinline_p")
def _as_it_is(equation, *operands):
    return list(operands)
