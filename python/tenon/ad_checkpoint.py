"""Names for what policies of checkpoint() let reverse mode keep: the names of jax.ad_checkpoint."""

from tenon import _core, tree
from tenon._policies import checkpoint as checkpoint, checkpoint_policies as checkpoint_policies, remat as remat
from tenon._transforms import print_saved_residuals as print_saved_residuals

__all__ = ["checkpoint", "checkpoint_name", "checkpoint_policies", "print_saved_residuals", "remat"]


def checkpoint_name(x, name):
    """x, a tree of arrays, by a name: policies of checkpoint() such as save_only_these_names() tell by it what reverse mode
    keeps.

    >>> checkpoint_name(2.0, "two")
    Array(2., dtype=float64)
    """
    if not isinstance(name, str):
        raise _core.OptionError(f"checkpoint_name: the name is a str, not {name!r}.")
    return tree.map(lambda leaf: _core.checkpoint_name(leaf, name), x)
