"""checkpoint(), and the policies that say what reverse mode may keep of the function.

A policy is a function of an op, of the shapes and dtypes of its operands, and by keyword of its parameters, that tells
whether its results are kept. Ops have the names that jax gives its primitives where both have the op: `dot_general`, `name`.
"""

import functools
import types

from tenon import _core
from tenon._arguments import as_arrays, of_arrays
from tenon._shape_dtype import ShapeDtypeStruct
from tenon._transforms import _named

__all__ = ["checkpoint", "checkpoint_policies", "remat"]


class Primitive:
    """What a policy is told of an op: its `name`, with which it compares equal."""

    __slots__ = ("name",)

    def __init__(self, name):
        self.name = name

    def __eq__(self, other):
        return self.name == (other.name if isinstance(other, Primitive) else other)

    def __hash__(self):
        return hash(self.name)

    def __repr__(self):
        return self.name

    def __str__(self):
        return self.name


_names_in_jax = {"checkpoint_name": "name", "dot": "dot_general"}


def everything_saveable(*_, **__):
    """Reverse mode keeps what it likes: there is no checkpoint."""
    return True


def nothing_saveable(*_, **__):
    """Reverse mode keeps the arguments alone."""
    return False


def dots_saveable(prim, *_, **__):
    """Reverse mode keeps results of products of matrices, and no others."""
    return prim == "dot_general"


def dots_with_no_batch_dims_saveable(prim, *_, **params):
    """Reverse mode keeps results of products of matrices that are not batched, and no others."""
    return prim == "dot_general" and not any(params["dimension_numbers"][1])


def save_anything_except_these_names(*names_not_to_save):
    """Reverse mode keeps every result but those that checkpoint_name() gave one of these names."""
    names = frozenset(names_not_to_save)
    return lambda prim, *_, **params: prim != "name" or params["name"] not in names


def save_any_names_but_these(*names_not_to_save):
    """Reverse mode keeps what checkpoint_name() named, but by these names, and nothing else."""
    names = frozenset(names_not_to_save)
    return lambda prim, *_, **params: prim == "name" and params["name"] not in names


def save_only_these_names(*names_which_can_be_saved):
    """Reverse mode keeps what checkpoint_name() gave one of these names, and nothing else."""
    names = frozenset(names_which_can_be_saved)
    return lambda prim, *_, **params: prim == "name" and params["name"] in names


def save_from_both_policies(policy_1, policy_2):
    """Reverse mode keeps what one of two policies lets it keep."""
    return lambda prim, *operands, **params: (policy_1(prim, *operands, **params) or policy_2(prim, *operands, **params))


def save_and_offload_only_these_names(*, names_which_can_be_saved, names_which_can_be_offloaded, offload_src=None,
                                      offload_dst=None):
    """Reverse mode keeps what checkpoint_name() gave one of these names; there is one memory, to which nothing is moved."""
    return save_only_these_names(*names_which_can_be_saved, *names_which_can_be_offloaded)


def offload_dot_with_no_batch_dims(offload_src=None, offload_dst=None):
    """dots_with_no_batch_dims_saveable; there is one memory, to which nothing is moved."""
    return dots_with_no_batch_dims_saveable


checkpoint_policies = types.SimpleNamespace(
    everything_saveable=everything_saveable, nothing_saveable=nothing_saveable, dots_saveable=dots_saveable,
    checkpoint_dots=dots_saveable, dots_with_no_batch_dims_saveable=dots_with_no_batch_dims_saveable,
    checkpoint_dots_with_no_batch_dims=dots_with_no_batch_dims_saveable,
    offload_dot_with_no_batch_dims=offload_dot_with_no_batch_dims, save_any_names_but_these=save_any_names_but_these,
    save_anything_except_these_names=save_anything_except_these_names, save_only_these_names=save_only_these_names,
    save_from_both_policies=save_from_both_policies, save_and_offload_only_these_names=save_and_offload_only_these_names)


def _asked_of_ops(policy):
    """The policy as the library asks it: of an op's name, shapes and dtypes, and parameters."""

    def keeps(name, operands, params):
        if name == "dot":
            params["dimension_numbers"] = ((params.pop("contract_a"), params.pop("contract_b")),
                                           (params.pop("batch_a"), params.pop("batch_b")))
        prim = Primitive(_names_in_jax.get(name, name))
        return bool(policy(prim, *(ShapeDtypeStruct(*operand) for operand in operands), **params))

    return keeps


def checkpoint(fun=None, *, prevent_cse=True, policy=None, static_argnums=(), static_argnames=()):
    """`fun`, of which reverse mode keeps the arguments alone and computes the rest again. A `policy` says what else it
    keeps: one of tn.checkpoint_policies, or any function policy(prim, *operands, **params) -> bool, which is asked of each
    op of the function; those of loop bodies and branches inside are computed again. `prevent_cse` is taken and has no
    effect.

    >>> import tenon as tn, tenon.numpy as tnp
    >>> policy = tn.checkpoint_policies.save_only_these_names("hidden")
    >>> f = tn.checkpoint(lambda x: tnp.sin(tn.ad_checkpoint.checkpoint_name(tnp.sin(x), "hidden")), policy=policy)
    >>> tn.grad(f)(0.0)
    Array(1., dtype=float64, weak_type=True)
    """
    if fun is None:
        return functools.partial(checkpoint, prevent_cse=prevent_cse, policy=policy, static_argnums=static_argnums,
                                 static_argnames=static_argnames)
    if policy is not None and not callable(policy):
        raise _core.OptionError(f"checkpoint: the policy is a function of an op, its operands and parameters, not {policy!r}.")
    arrays_of = of_arrays(fun, static_argnums, static_argnames)
    asked = None if policy is None or policy is nothing_saveable else _asked_of_ops(policy)

    def frugal(*args, **kwargs):
        bound, others, kwargs = arrays_of(args, kwargs)
        if policy is everything_saveable or not _core.tracing():
            return bound(*as_arrays(others), **as_arrays(kwargs))
        return _core.checkpoint(bound, others, kwargs, asked)

    return _named(frugal, fun, "checkpoint")


remat = checkpoint
