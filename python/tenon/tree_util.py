"""Trees, by the names of jax.tree_util."""

import dataclasses
import functools

from tenon import _core
from tenon._core.tree import PyTreeDef
from tenon._keys import DictKey, FlattenedIndexKey, GetAttrKey, SequenceKey

__all__ = [
    "DictKey", "FlattenedIndexKey", "GetAttrKey", "Partial", "PyTreeDef", "SequenceKey", "all_leaves", "build_tree",
    "keystr", "register_dataclass", "register_pytree_node", "register_pytree_node_class", "register_static",
    "tree_all", "tree_flatten", "tree_flatten_with_path", "tree_leaves", "tree_leaves_with_path", "tree_map",
    "tree_map_with_path", "tree_reduce", "tree_structure", "tree_transpose", "tree_unflatten", "treedef_children",
    "treedef_is_leaf", "treedef_tuple",
]


def tree_flatten(tree, is_leaf=None):
    """(leaves, treedef). Keys of dicts are sorted; None has no leaves."""
    return _core.tree.flatten(tree, is_leaf)


def tree_unflatten(treedef, leaves):
    """The tree of this structure with these leaves."""
    return _core.tree.unflatten(treedef, leaves)


def tree_leaves(tree, is_leaf=None):
    """The leaves, a list."""
    return _core.tree.leaves(tree, is_leaf)


def tree_structure(tree, is_leaf=None):
    """The tree without its leaves: hashable, comparable."""
    return _core.tree.flatten(tree, is_leaf)[1]


def tree_map(f, tree, *rest, is_leaf=None):
    """The tree with f(leaf, subtrees in the same place of `rest`…) as leaves.

    >>> tree_map(lambda x, y: x + y, {"a": 1, "b": (2, 3)}, {"a": 10, "b": (20, 30)})
    {'a': 11, 'b': (22, 33)}
    """
    return _core.tree.map(f, tree, rest, is_leaf)


def tree_all(tree, *, is_leaf=None):
    """Whether all leaves are true."""
    return all(tree_leaves(tree, is_leaf))


_none = object()


def tree_reduce(function, tree, initializer=_none, is_leaf=None):
    """f(f(f(initial, leaf 0), leaf 1), …)."""
    leaves = tree_leaves(tree, is_leaf)
    return functools.reduce(function, leaves) if initializer is _none else functools.reduce(function, leaves, initializer)


def tree_flatten_with_path(tree, is_leaf=None):
    """([(path, leaf)], treedef); a path is a tuple of keys."""
    leaves, treedef = tree_flatten(tree, is_leaf)
    return list(zip(treedef.paths(), leaves)), treedef


def tree_leaves_with_path(tree, is_leaf=None):
    """[(path, leaf)]."""
    return tree_flatten_with_path(tree, is_leaf)[0]


def tree_map_with_path(f, tree, *rest, is_leaf=None):
    """tree_map with f(path, leaf, …)."""
    leaves, treedef = tree_flatten(tree, is_leaf)
    others = [treedef.flatten_up_to(r) for r in rest]
    return treedef.unflatten([f(*each) for each in zip(treedef.paths(), leaves, *others)])


def tree_transpose(outer_treedef, inner_treedef, pytree_to_transpose):
    """A tree of trees turned inside out."""
    outer, inner = outer_treedef.num_leaves, inner_treedef.num_leaves
    leaves = tree_leaves(pytree_to_transpose)
    if len(leaves) != outer * inner:
        raise TypeError(f"tree_transpose: {len(leaves)} leaves, not {outer} * {inner}.")
    return inner_treedef.unflatten(
        [outer_treedef.unflatten(leaves[i::inner]) for i in range(inner)])


def treedef_children(treedef):
    """The structures of the children of the root."""
    return treedef.children()


def treedef_is_leaf(treedef):
    """Whether it is the structure of one leaf."""
    return treedef.num_nodes == 1 and treedef.num_leaves == 1


def treedef_tuple(treedefs):
    """The structure of a tuple of trees of these structures."""
    return tree_structure(tuple(t.unflatten([0] * t.num_leaves) for t in treedefs))


def all_leaves(iterable, is_leaf=None):
    """Whether all of them are leaves."""
    return all(treedef_is_leaf(tree_structure(x, is_leaf)) for x in iterable)


def build_tree(treedef, xs):
    """A tree of this structure with the trees `xs` in place of its leaves."""
    return treedef.unflatten(tree_leaves(xs))


def keystr(keys, *, simple=False, separator=""):
    """A path as Python writes it: "['w'][0].bias"."""
    if not simple:
        return separator.join(map(str, keys))
    names = [getattr(k, "key", getattr(k, "idx", getattr(k, "name", k))) for k in keys]
    return separator.join(map(str, names))


def register_pytree_node(nodetype, flatten_func, unflatten_func, flatten_with_keys_func=None):
    """Makes instances of a class nodes: flatten_func(x) -> (children, auxiliary), unflatten_func(auxiliary, children).
    What is auxiliary is hashable and compared by ==."""
    _core.tree.register_node(nodetype, flatten_func, unflatten_func)


def register_pytree_node_class(cls):
    """The same as a decorator of a class with tree_flatten(self) and a classmethod tree_unflatten(auxiliary, children)."""
    register_pytree_node(cls, lambda x: x.tree_flatten(), cls.tree_unflatten)
    return cls


def register_dataclass(nodetype=None, data_fields=None, meta_fields=None, drop_fields=()):
    """Makes a dataclass a node: `data_fields` are its children, `meta_fields` static. Where none are given, fields with
    metadata {"static": True} are static and all others children.

    >>> @register_dataclass
    ... @dataclasses.dataclass
    ... class Point:
    ...     x: float
    ...     y: float
    >>> tree_leaves(Point(1.0, 2.0))
    [1.0, 2.0]
    """
    if nodetype is None:
        return functools.partial(register_dataclass, data_fields=data_fields, meta_fields=meta_fields,
                                 drop_fields=drop_fields)
    if data_fields is None or meta_fields is None:
        if not dataclasses.is_dataclass(nodetype):
            raise TypeError(f"register_dataclass: {nodetype} is no dataclass: name its data_fields and meta_fields.")
        fields = [f for f in dataclasses.fields(nodetype) if f.init and f.name not in drop_fields]
        meta = [f.name for f in fields if f.metadata.get("static", False)] if meta_fields is None else list(meta_fields)
        data_fields = [f.name for f in fields if f.name not in meta] if data_fields is None else data_fields
        meta_fields = meta
    _core.tree.register_fields(nodetype, data_fields, meta_fields)
    return nodetype


def register_static(cls):
    """Makes instances of a class nodes without children: they are static, hashable and compared by ==."""
    register_pytree_node(cls, lambda x: ((), x), lambda x, _: x)
    return cls


class Partial(functools.partial):
    """functools.partial as a node: the function is static, its arguments are children."""


register_pytree_node(Partial, lambda p: ((p.args, p.keywords), p.func), lambda f, c: Partial(f, *c[0], **c[1]))
