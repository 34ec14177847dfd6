"""Trees, by the names of jax.tree."""

from tenon.tree_util import (
    keystr, tree_all as all, tree_broadcast as broadcast, tree_flatten as flatten, tree_flatten_with_path as flatten_with_path,
    tree_leaves as leaves, tree_leaves_with_path as leaves_with_path, tree_map as map,
    tree_map_with_path as map_with_path, tree_reduce as reduce, tree_reduce_associative as reduce_associative,
    tree_structure as structure,
    tree_transpose as transpose, tree_unflatten as unflatten)

__all__ = [
    "all", "broadcast", "flatten", "flatten_with_path", "keystr", "leaves", "leaves_with_path", "map", "map_with_path",
    "reduce", "reduce_associative", "static", "structure", "transpose", "unflatten",
]


def static(**kwargs):
    """A static field of a dataclass that register_dataclass() makes a node: dataclasses.field() with the metadata
    {"static": True}, where `metadata` does not say otherwise.

    >>> import dataclasses
    >>> from tenon.tree_util import register_dataclass
    >>> @register_dataclass
    ... @dataclasses.dataclass
    ... class Scaled:
    ...     x: float
    ...     unit: str = static(default="m")
    >>> leaves(Scaled(2.0))
    [2.0]
    """
    import dataclasses

    return dataclasses.field(**{**kwargs, "metadata": {"static": True, **(kwargs.get("metadata") or {})}})
