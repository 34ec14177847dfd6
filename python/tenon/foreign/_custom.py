"""Primitives with rules of their own, which are kept: gradients and batches here use the user's rules, traced by JAX where
they are asked for, for those arguments that are differentiated there."""

import jax  # type: ignore
import numpy as np
from jax.custom_derivatives import SymbolicZero as ForeignZero  # type: ignore
from jax.extend.core import Literal  # type: ignore
from jax.interpreters.ad import Zero  # type: ignore

from tenon import _core, _custom_rules, custom_batching, custom_derivatives, errors, lax, numpy as tnp
from tenon._symbolic_zeros import SymbolicZero
from tenon.foreign._jaxprs import call, constant, differentiable, dtype_of, evaluate, is_key, place_of, rule


def _of_call(equation, consts):
    """The function of an equation, of the operands behind the constants."""
    jaxpr = equation.params["call_jaxpr"]
    return lambda *operands: tuple(call(jaxpr, *consts, *operands))


def _instantiated(tangent, aval):
    """Zeros in place of a symbolic zero; what has no tangents has zeros of float0, which nothing reads."""
    if not isinstance(tangent, SymbolicZero):
        return tangent
    return tnp.zeros(tangent.shape, dtype_of(aval)) if differentiable(aval) else np.zeros(aval.shape, bool)


@rule("custom_jvp_call")
def _custom_jvp_call(equation, *operands):
    p, n = equation.params, equation.params["num_consts"]
    avals = [v.aval for v in equation.invars[n:]]

    def jvp(primals, tangents):
        if not p["symbolic_zeros"]:
            tangents = [_instantiated(t, a) for t, a in zip(tangents, avals)]
        zeros = [isinstance(t, SymbolicZero) for t in tangents]
        jaxpr, consts, out_zeros = p["jvp_jaxpr_fun"].call_wrapped(*zeros)
        consts = [constant(c, v.aval) for c, v in zip(consts, jaxpr.constvars)]
        made = evaluate(jaxpr, consts, [*primals, *[t for t, zero in zip(tangents, zeros) if not zero]])
        results, slopes = tuple(made[:len(out_zeros)]), iter(made[len(out_zeros):])
        slopes = [None if zero else next(slopes) for zero in out_zeros]
        return results, tuple(SymbolicZero(r.shape, r.dtype) if s is None or not differentiable(v.aval) else s
                              for r, s, v in zip(results, slopes, equation.outvars))

    function = _custom_rules.custom_jvp(_of_call(equation, operands[:n]))
    function.defjvp(jvp, symbolic_zeros=True)
    return list(function(*operands[n:]))


class _RulesOfVjp:
    """The rules of a custom_vjp for those arguments that are differentiated where it is called."""

    def __init__(self, equation, perturbed):
        self.equation, self.perturbed = equation, perturbed
        self.consts, self.results = equation.params["num_consts"], len(equation.outvars)

    def forward(self, *operands):
        """Forward as JAX traces it returns the residuals that it computes, then the results: other residuals are arguments."""
        p, equation = self.equation.params, self.equation
        jaxpr, consts = p["fwd_jaxpr_thunk"].call_wrapped(*self.perturbed)
        made = evaluate(jaxpr, [constant(c, v.aval) for c, v in zip(consts, jaxpr.constvars)], operands)
        computed = len(made) - self.results
        arguments = [(v, x) for v, x in zip(equation.invars[self.consts:], operands)]
        own = iter(zip(jaxpr.outvars[:computed], made[:computed]))
        pairs = [next(own) if i is None else arguments[i - self.consts] for i in p["out_trees"]()[2]]
        # Backward takes what is known while tracing as it is, since it may branch on that.
        values = dict(zip(jaxpr.constvars, consts))
        self.fixed = [v.val if isinstance(v, Literal) else values.get(v) for v, _ in pairs]
        self.avals = [v.aval for (v, _), value in zip(pairs, self.fixed) if value is None]
        return tuple(made[computed:]), tuple(x for (_, x), value in zip(pairs, self.fixed) if value is None)

    def backward(self, residuals, cotangents):
        p, outvars = self.equation.params, self.equation.outvars
        known = [differentiable(v.aval) for v in outvars]
        returned = []

        def backward(residuals, cotangents):
            residuals, cotangents = iter(residuals), iter(cotangents)
            residuals = [next(residuals) if value is None else value for value in self.fixed]
            cotangents = [next(cotangents) if of else _no_cotangent(v.aval, p["symbolic_zeros"])
                          for v, of in zip(outvars, known)]
            made = p["bwd"].call_wrapped(*residuals, *cotangents)
            returned[:] = [not isinstance(ct, Zero) for ct in made]
            return [ct for ct, of in zip(made, returned) if of]

        jaxpr = jax.make_jaxpr(backward)([_like(a) for a in self.avals], [_like(v.aval) for v, of in zip(outvars, known) if of])
        made = iter(call(jaxpr, *residuals, *[ct for ct, of in zip(cotangents, known) if of]))
        return tuple(next(made) if of else None for of in returned)


def _like(aval):
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=getattr(aval, "weak_type", False))


def _no_cotangent(aval, symbolic):
    return ForeignZero(aval.to_tangent_aval()) if symbolic else np.zeros(aval.shape, jax.dtypes.float0)


@rule("custom_vjp_call")
def _custom_vjp_call(equation, *operands):
    n = equation.params["num_consts"]
    consts, operands = operands[:n], operands[n:]
    rules = _RulesOfVjp(equation, _core.perturbed(operands) if _core.tracing() else [])
    function = _custom_rules.custom_vjp(_of_call(equation, consts))
    function.defvjp(rules.forward, rules.backward)
    return list(function(*operands))


@rule("custom_lin")
def _custom_lin(equation, *operands):
    raise errors.DifferentiationError("from_jax: forward mode over a function with a custom_vjp, by JAX, at "
                                      f"{place_of(equation)}: its rules are for reverse mode. "
                                      "tn.jvp(tn.from_jax(f), …) is there where they are linear in the cotangent.")


@rule("custom_vmap_call")
def _custom_vmap_call(equation, *operands):
    p = equation.params

    def by_rule(axis_size, in_batched, *operands):
        avals = [jax.ShapeDtypeStruct((axis_size, *v.aval.shape) if batched else v.aval.shape, v.aval.dtype)
                 for v, batched in zip(equation.invars, in_batched)]
        batched = []

        def flat(*operands):
            made, of_results = p["rule"](axis_size, list(jax.tree.unflatten(p["in_tree"], in_batched)),
                                         *jax.tree.unflatten(p["in_tree"], operands))
            batched[:] = jax.tree.leaves(of_results)
            return jax.tree.leaves(made)

        return tuple(call(jax.make_jaxpr(flat)(*avals), *operands)), tuple(batched)

    function = custom_batching.custom_vmap(lambda *operands: tuple(call(p["call"], *operands)))
    function.def_vmap(by_rule)
    return list(function(*operands))


@rule("custom_linear_solve")
def _custom_linear_solve(equation, *operands):
    jaxprs, lengths = equation.params["jaxprs"], equation.params["const_lengths"]
    at = np.cumsum([0, lengths.matvec, lengths.vecmat, lengths.solve, lengths.transpose_solve])
    of_matvec, _, of_solve, of_transpose = [operands[a:b] for a, b in zip(at, at[1:])]
    right = tuple(operands[at[-1]:])
    n, more = len(right), len(equation.outvars) > len(right)  # solvers may tell more than the root

    def product(x):
        return tuple(call(jaxprs.matvec, *of_matvec, *x))

    def solver(jaxpr, consts):
        def solve(_, b):
            made = call(jaxpr, *consts, *b)
            return (tuple(made[:n]), tuple(made[n:])) if more else tuple(made)

        return None if jaxpr is None else solve

    symmetric = jaxprs.transpose_solve is not None and jaxprs.vecmat is jaxprs.matvec
    made = lax.custom_linear_solve(product, right, solver(jaxprs.solve, of_solve), solver(jaxprs.transpose_solve, of_transpose),
                                   symmetric, more)
    return [*made[0], *made[1]] if more else list(made)


@rule("linear_call")
def _linear_call(equation, *operands):
    p, n = equation.params, equation.params["num_callee_consts"]
    known = n + p["num_res"]

    def transposed(residuals, cotangents):
        jaxpr, consts = p["transpose_thunk"]()
        consts = [constant(c, v.aval) for c, v in zip(consts, jaxpr.jaxpr.invars)]
        return tuple(call(jaxpr, *consts, *residuals[n:], *cotangents))

    return list(custom_derivatives.linear_call(lambda residuals, x: tuple(call(p["callee"], *residuals, *x)), transposed,
                                               tuple(operands[:known]), tuple(operands[known:])))


@rule("unreachable")
def _unreachable(equation, *_):
    raise equation.params["exc_type"](equation.params["message"])
