"""Primitives of equinox whose meaning depends on who looks: batches, derivatives or none of them."""

import jax  # type: ignore
import numpy as np

from tenon import _core, lax, numpy as tnp
from tenon._callbacks import pure_callback
from tenon._custom_rules import custom_jvp
from tenon._shape_dtype import ShapeDtypeStruct
from tenon._transforms import vmap
from tenon.foreign._jaxprs import call, rule


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


@rule("nonbatchable", "nontraceable")
def _as_it_is(equation, *operands):
    return list(operands)


@rule("nondifferentiable_backward")
def _forward_alone(equation, x):
    """The operand; its tangent is that of the operand, and the transpose of that is an error where a cotangent is not 0."""
    message = equation.params["msg"]

    def refused(cotangent):
        if np.any(cotangent):
            raise RuntimeError(message)
        return cotangent

    def transposed(_, cotangent):
        like = ShapeDtypeStruct(cotangent.shape, cotangent.dtype)
        return pure_callback(refused, like, cotangent, vmap_method="broadcast_all")

    function = custom_jvp(lambda x: x)
    function.defjvp(lambda primals, tangents: (*primals, lax.custom_linear_solve(
        lambda t: t, *tangents, solve=lambda _, t: t, transpose_solve=transposed)))
    return function(x)


@rule("vprim")
def _batch_of_a_primitive(equation, *operands):
    """A batch by JAX of a primitive that is batched by its implementation."""
    p, axes = equation.params, equation.params["__batch_axes"]
    lane = [jax.ShapeDtypeStruct(v.aval.shape if axis is None else np.delete(v.aval.shape, axis), v.aval.dtype)
            for v, axis in zip(equation.invars, axes)]
    jaxpr = jax.make_jaxpr(lambda *given: p["prim"].bind(*given, **dict(p["params"])))(*lane)
    return list(vmap(lambda *given: tuple(call(jaxpr, *given)), tuple(axes), axis_size=p["__axis_size"])(*operands))
