"""Classes that are registered as trees with JAX, such as equinox' modules, are trees here too."""

import jax  # type: ignore

from tenon import _core, tree_util
from tenon.foreign import _keys


def _is_leaf_of(tree):
    return lambda part: part is not tree


def _apart(tree):
    children, structure = jax.tree.flatten(tree, is_leaf=_is_leaf_of(tree))
    return children, structure


def _together(structure, children):
    return structure.unflatten(children)


def _adopted(object):  # noqa: A002
    """The class as whose instances such objects are nodes: Keys for typed keys; their own, which is registered, where JAX
    knows it as a tree; else None."""
    if _keys.is_typed(object):
        return _keys.Keys
    try:
        children, _ = _apart(object)
    except Exception:
        return None
    if len(children) == 1 and children[0] is object:
        return None
    tree_util.register_pytree_node(type(object), _apart, _together)
    return type(object)


def adopt_classes():
    """From here on JAX is asked about each class that is met in a tree and is not known."""
    _core.tree.set_foreign_classes(_adopted)
