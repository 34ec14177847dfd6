"""Trees, by the names of jax.tree."""

from tenon.tree_util import (
    keystr, tree_all as all, tree_flatten as flatten, tree_flatten_with_path as flatten_with_path,
    tree_leaves as leaves, tree_leaves_with_path as leaves_with_path, tree_map as map,
    tree_map_with_path as map_with_path, tree_reduce as reduce, tree_structure as structure,
    tree_transpose as transpose, tree_unflatten as unflatten)

__all__ = [
    "all", "broadcast", "flatten", "flatten_with_path", "keystr", "leaves", "leaves_with_path", "map", "map_with_path",
    "reduce", "reduce_associative", "structure", "transpose", "unflatten",
]


def broadcast(prefix_tree, full_tree, is_leaf=None):
    """A tree like `full_tree`, whose leaves are those of the prefix above them."""
    leaves, treedef = flatten(prefix_tree, is_leaf)
    subtrees = treedef.flatten_up_to(full_tree)
    return treedef.unflatten([map(lambda _, leaf=leaf: leaf, s) for leaf, s in zip(leaves, subtrees)])


def reduce_associative(operation, tree, *, identity=None, is_leaf=None):
    """The leaves combined in pairs, then those, and so on."""
    values = leaves(tree, is_leaf)
    if not values:
        if identity is None:
            raise TypeError("reduce_associative: there is no leaf, and no identity.")
        return identity
    while len(values) > 1:
        pairs = [operation(*values[i:i + 2]) for i in range(0, len(values) - 1, 2)]
        values = pairs + values[2 * len(pairs):]
    return values[0]


