"""Policies of checkpoint(): what reverse mode may keep."""

import types

__all__ = ["checkpoint_policies"]


def everything_saveable(*_, **__):
    """Reverse mode keeps what it likes: there is no checkpoint."""
    return True


def nothing_saveable(*_, **__):
    """Reverse mode keeps the arguments alone."""
    return False


def dots_saveable(*_, **__):
    """Reverse mode keeps results of products. What else it keeps is chosen by its cost, as without a checkpoint: products
    are kept, and what is cheap is computed again."""
    return True


checkpoint_policies = types.SimpleNamespace(
    everything_saveable=everything_saveable, nothing_saveable=nothing_saveable, dots_saveable=dots_saveable,
    checkpoint_dots=dots_saveable, dots_with_no_batch_dims_saveable=dots_saveable,
    checkpoint_dots_with_no_batch_dims=dots_saveable)


def keeps_nothing(policy):
    """Whether a policy is that of a checkpoint without one; NotImplementedError of a function that is not there."""
    if policy is None or policy is nothing_saveable:
        return True
    if policy in (everything_saveable, dots_saveable):
        return False
    raise NotImplementedError(f"checkpoint: the policy is one of tn.checkpoint_policies, not {policy!r}.")
