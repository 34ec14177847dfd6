"""Primitives that hold jaxprs: calls, loops, branches."""

import functools

import jax  # type: ignore
import numpy as np

from tenon import _core, _policies, _transforms, lax, numpy as tnp
from tenon._policies import checkpoint_policies
from tenon.foreign._jaxprs import call, closed, rule

# A call of more equations than that is compiled once for all its places.
_many = 64


@functools.lru_cache(maxsize=256)
def _called_once(jaxpr):
    """A closed jaxpr as a compiled function, the same for the same jaxpr."""
    return _transforms.jit(lambda *operands: call(jaxpr, *operands))


@rule("jit", "pjit")
def _jit(equation, *operands):
    jaxpr = equation.params["jaxpr"]
    if len(jaxpr.eqns) < _many or jaxpr.effects or any(hasattr(v.aval, "inner_aval") for v in equation.invars):
        return call(jaxpr, *operands)
    return _called_once(jaxpr)(*operands)


@rule("closed_call", "call", "core_call", "xla_call", "composite", "eval_jaxpr",
      "custom_jvp_call_jaxpr", "compute_on")
def _call(equation, *operands):
    names = ("call_jaxpr", "jaxpr", "call", "callee", "fun_jaxpr")
    jaxpr = next(equation.params[name] for name in names if name in equation.params)
    return call(jaxpr, *operands)


def _policy(policy):
    """The policy of checkpoint() that keeps no more than this one."""
    keeping = jax.checkpoint_policies
    if policy is keeping.everything_saveable:
        return checkpoint_policies.everything_saveable
    if policy is not None and policy in (keeping.dots_saveable, keeping.checkpoint_dots):
        return checkpoint_policies.dots_saveable
    return checkpoint_policies.nothing_saveable


@rule("remat", "remat2", "checkpoint")
def _checkpoint(equation, *operands):
    p = equation.params
    if p["differentiated"]:  # by JAX: what is kept is decided
        return call(p["jaxpr"], *operands)
    return _policies.checkpoint(lambda *operands: call(p["jaxpr"], *operands), policy=_policy(p["policy"]))(*operands)


@rule("scan")
def _scan(equation, *operands):
    p = equation.params
    n, carried = p["num_consts"], p["num_consts"] + p["num_carry"]
    consts, init, xs = operands[:n], operands[n:carried], operands[carried:]

    def step(carry, x):
        made = call(p["jaxpr"], *consts, *carry, *x)
        return tuple(made[:len(init)]), tuple(made[len(init):])

    carry, ys = lax.scan(step, tuple(init), tuple(xs), length=p["length"], reverse=p["reverse"], unroll=p["unroll"])
    return [*carry, *ys]


@rule("while")
def _while(equation, *operands):
    p = equation.params
    n, m = p["cond_nconsts"], p["cond_nconsts"] + p["body_nconsts"]
    of_test, of_body, init = operands[:n], operands[n:m], operands[m:]

    def test(state):
        return call(p["cond_jaxpr"], *of_test, *state)[0]

    def body(state):
        return tuple(call(p["body_jaxpr"], *of_body, *state))

    lanes = p["cond_jaxpr"].out_avals[0].ndim  # of batches by JAX: each goes on while its own test holds

    def in_lanes(state):
        running = test(state)
        return tuple(_core.where(tnp.reshape(running, (*running.shape, *[1] * (new.ndim - lanes))), new, old)
                     for new, old in zip(body(state), state))

    if lanes == 0:
        return list(lax.while_loop(test, body, tuple(init)))
    return list(lax.while_loop(lambda state: tnp.any(test(state)), in_lanes, tuple(init)))


@rule("cond")
def _cond(equation, index, *operands):
    branches = [_branch(jaxpr) for jaxpr in equation.params["branches"]]
    return list(lax.switch(_core.convert(index, np.int32), branches, *operands))


def _branch(jaxpr):
    return lambda *operands: tuple(call(closed(jaxpr), *operands))
