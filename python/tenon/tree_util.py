"""Trees, by the names of jax.tree_util."""

import collections
import functools
from typing import Any, TypeAlias

from tenon import _core, _lazy, _structures
from tenon._core.tree import PyTreeDef
from tenon.errors import TreeError

__all__ = [
    "DictKey", "FlattenedIndexKey", "GetAttrKey", "KeyEntry", "KeyPath", "Partial", "PyTreeDef", "SequenceKey",
    "all_leaves", "build_tree", "flatten_one_level", "flatten_one_level_with_keys", "is_tree_node", "keystr",
    "register_dataclass", "register_pytree_node", "register_pytree_node_class", "register_pytree_with_keys",
    "register_pytree_with_keys_class", "register_static", "tree_all", "tree_broadcast", "tree_flatten",
    "tree_flatten_with_path", "tree_leaves", "tree_leaves_with_path", "tree_map", "tree_map_with_path", "tree_reduce",
    "tree_reduce_associative", "tree_structure", "tree_transpose", "tree_unflatten", "treedef_children",
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


def tree_flatten_with_path(tree, is_leaf=None, is_leaf_takes_path=False):
    """([(path, leaf)], treedef); a path is a tuple of keys. With `is_leaf_takes_path` is_leaf(path, x) is asked.

    >>> tree_leaves_with_path({"a": [1, 2], "b": [3]}, lambda path, x: keystr(path) == "['a']", True)[0][1]
    [1, 2]
    """
    leaves, treedef, paths = _flattened(tree, is_leaf, is_leaf_takes_path)
    return list(zip(paths, leaves)), treedef


def _flattened(tree, is_leaf, is_leaf_takes_path):
    """(leaves, treedef, paths)."""
    if is_leaf is None or not is_leaf_takes_path:
        leaves, treedef = tree_flatten(tree, is_leaf)
        return leaves, treedef, _paths(tree, treedef, is_leaf)
    paths = []

    def answers():  # in the order in which flattening asks
        for path, said, leaf in _walk(tree, is_leaf):
            if leaf:
                paths.append(path)
            yield said

    told = answers()
    leaves, treedef = tree_flatten(tree, lambda _: next(told))
    return leaves, treedef, paths


def _paths(tree, treedef, is_leaf):
    """The paths of the leaves: of a structure alone, unless classes name their children themselves."""
    if not _has_keys:
        return treedef.paths()
    return [path for path, _, leaf in _walk(tree, lambda _, x: is_leaf is not None and is_leaf(x)) if leaf]


def _walk(tree, is_leaf, path=()):
    """(path, what is_leaf(path, x) says, whether it is a leaf) of each node, before the nodes below it."""
    said = is_leaf(path, tree)
    leaf = said or not _is_node(tree)
    yield path, said, leaf
    if not leaf:
        for key, child in flatten_one_level_with_keys(tree)[0]:
            yield from _walk(child, is_leaf, (*path, key))


def tree_leaves_with_path(tree, is_leaf=None, is_leaf_takes_path=False):
    """[(path, leaf)]."""
    return tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


def tree_map_with_path(f, tree, *rest, is_leaf=None, is_leaf_takes_path=False):
    """tree_map with f(path, leaf, …)."""
    leaves, treedef, paths = _flattened(tree, is_leaf, is_leaf_takes_path)
    others = [treedef.flatten_up_to(r) for r in rest]
    return treedef.unflatten([f(*each) for each in zip(paths, leaves, *others)])


def tree_broadcast(prefix_tree, full_tree, is_leaf=None):
    """A tree like `full_tree`, whose leaves are those of the prefix above them.

    >>> tree_broadcast({"a": 1, "b": 2}, {"a": [0, 0], "b": 0})
    {'a': [1, 1], 'b': 2}
    """
    leaves, treedef = tree_flatten(prefix_tree, is_leaf)
    subtrees = treedef.flatten_up_to(full_tree)
    return treedef.unflatten([tree_map(lambda _, leaf=leaf: leaf, s) for leaf, s in zip(leaves, subtrees)])


def tree_reduce_associative(operation, tree, *, identity=None, is_leaf=None):
    """The leaves combined in pairs, then those, and so on.

    >>> tree_reduce_associative(lambda x, y: f"({x}{y})", list("abcde"))
    '(((ab)(cd))e)'
    """
    values = tree_leaves(tree, is_leaf)
    if not values:
        if identity is None:
            raise TreeError("reduce_associative: there is no leaf, and no identity.")
        return identity
    while len(values) > 1:
        pairs = [operation(*values[i:i + 2]) for i in range(0, len(values) - 1, 2)]
        values = pairs + values[2 * len(pairs):]
    return values[0]


def tree_transpose(outer_treedef, inner_treedef, pytree_to_transpose):
    """A tree of trees turned inside out; without `inner_treedef`, by the structure of the first tree within."""
    leaves, given = tree_flatten(pytree_to_transpose)
    if inner_treedef is None:
        inner_treedef = tree_structure(outer_treedef.flatten_up_to(pytree_to_transpose)[0])
    wanted = outer_treedef.compose(inner_treedef)
    if given.num_leaves != wanted.num_leaves:
        raise TreeError(f"tree_transpose: Mismatch: the tree is {given}, and not {wanted}.")
    inner = inner_treedef.num_leaves
    return inner_treedef.unflatten([outer_treedef.unflatten(leaves[i::inner]) for i in range(inner)])


# How registered classes are taken apart: (by children, by children with their keys or None).
_registered: dict[type, Any] = {}
_has_keys = False

KeyEntry: TypeAlias = Any
KeyPath: TypeAlias = tuple[KeyEntry, ...]

_CONTAINERS = (tuple, list, dict, type(None), collections.OrderedDict, collections.defaultdict)


def is_tree_node(typ):
    """Whether instances of a class are nodes: containers and registered classes.

    >>> is_tree_node(dict), is_tree_node(int)
    (True, False)
    """
    return typ in _CONTAINERS or typ in _registered or (issubclass(typ, tuple) and hasattr(typ, "_fields"))


def _is_node(tree):
    return is_tree_node(type(tree))


def flatten_one_level(tree):
    """(the children of a node, what it is beside them).

    >>> flatten_one_level({"b": 1, "a": [2]})
    ([[2], 1], ('a', 'b'))
    """
    children, auxiliary = flatten_one_level_with_keys(tree)
    return [child for _, child in children], auxiliary


def flatten_one_level_with_keys(tree):
    """([(key, child)] of a node, what it is beside them).

    >>> flatten_one_level_with_keys([5])
    (((SequenceKey(idx=0), 5),), None)
    """
    from tenon._keys import DictKey, FlattenedIndexKey, GetAttrKey, SequenceKey

    if not _is_node(tree):
        raise TreeError(f"flatten_one_level_with_keys: can't tree-flatten type: {type(tree)}")
    if type(tree) in _registered:
        by_children, with_keys = _registered[type(tree)]
        if with_keys is not None:
            children, auxiliary = with_keys(tree)
            return tuple(map(tuple, children)), auxiliary
        children, auxiliary = by_children(tree)
        return tuple((FlattenedIndexKey(i), child) for i, child in enumerate(children)), auxiliary
    if tree is None:
        return (), None
    if isinstance(tree, dict):
        keys = tuple(tree) if isinstance(tree, collections.OrderedDict) else tuple(sorted(tree))
        more = (tree.default_factory, keys) if isinstance(tree, collections.defaultdict) else keys
        return tuple((DictKey(k), tree[k]) for k in keys), more
    if hasattr(tree, "_fields"):
        return tuple((GetAttrKey(f), child) for f, child in zip(tree._fields, tree)), type(tree)
    return tuple((SequenceKey(i), child) for i, child in enumerate(tree)), None


def treedef_children(treedef):
    """The structures of the children of the root."""
    return treedef.children()


def treedef_is_leaf(treedef):
    """Whether it is the structure of one leaf."""
    return treedef.num_nodes == 1 and treedef.num_leaves == 1


def treedef_tuple(treedefs):
    """The structure of a tuple of trees of these structures."""
    return _structures.tuple_of(treedefs)


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
    What is auxiliary is hashable and compared by ==. flatten_with_keys_func(x) -> ([(key, child)], auxiliary) names the
    children in paths; without it they are counted."""
    global _has_keys
    _core.tree.register_node(nodetype, flatten_func, unflatten_func)
    _registered[nodetype] = flatten_func, flatten_with_keys_func
    _has_keys = _has_keys or flatten_with_keys_func is not None


def register_pytree_with_keys(nodetype, flatten_with_keys, unflatten_func, flatten_func=None):
    """register_pytree_node() of a class whose children have keys: flatten_with_keys(x) -> ([(key, child)], auxiliary)."""

    def without_keys(x):
        children, auxiliary = flatten_with_keys(x)
        return [child for _, child in children], auxiliary

    register_pytree_node(nodetype, without_keys if flatten_func is None else flatten_func, unflatten_func, flatten_with_keys)


def register_pytree_with_keys_class(cls):
    """The same as a decorator of a class with tree_flatten_with_keys(self) and a classmethod
    tree_unflatten(auxiliary, children); with tree_flatten(self) too, it is taken where keys are not asked for.

    >>> from tenon.tree_util import GetAttrKey
    >>> @register_pytree_with_keys_class
    ... class Pair:
    ...     def __init__(self, x, y):
    ...         self.x, self.y = x, y
    ...     def tree_flatten_with_keys(self):
    ...         return ((GetAttrKey("x"), self.x), (GetAttrKey("y"), self.y)), None
    ...     @classmethod
    ...     def tree_unflatten(cls, _, children):
    ...         return cls(*children)
    >>> [keystr(path) for path, _ in tree_leaves_with_path([Pair(1, 2)])]
    ['[0].x', '[0].y']
    """
    flatten = (lambda x: x.tree_flatten()) if hasattr(cls, "tree_flatten") else None
    register_pytree_with_keys(cls, lambda x: x.tree_flatten_with_keys(), cls.tree_unflatten, flatten)
    return cls


def register_pytree_node_class(cls):
    """The same as a decorator of a class with tree_flatten(self) and a classmethod tree_unflatten(auxiliary, children)."""
    register_pytree_node(cls, lambda x: x.tree_flatten(), cls.tree_unflatten)
    return cls


def _fields_of(nodetype, data, meta, dropped):
    """The fields of a class that are children, and those that are static."""
    import dataclasses

    given = [f for f in dataclasses.fields(nodetype) if f.name not in dropped] if dataclasses.is_dataclass(nodetype) else None
    if data is None or meta is None:
        if given is None:
            raise _core.OptionError(f"register_dataclass: {nodetype} is no dataclass: name its data_fields and meta_fields.")
        meta = [f.name for f in given if f.metadata.get("static", False)] if meta is None else meta
        data = [f.name for f in given if f.name not in meta] if data is None else data
    data, meta = tuple(data), tuple(meta)
    if both := set(data) & set(meta):
        raise _core.OptionError(f"register_dataclass: data_fields and meta_fields must not overlap. Overlapping fields: {both}.")
    if given is not None:
        wanted, named = {f.name for f in given if f.init}, {*data, *meta}
        if wanted != named:
            raise _core.OptionError(
                "register_dataclass: data_fields and meta_fields must include all dataclass fields with init=True, and no "
                f"other ones; drop_fields names those that are left out. Missing fields: {wanted - named or '{}'}. "
                f"Unexpected fields: {named - wanted or '{}'}.")
    return data, meta


def register_dataclass(nodetype=None, data_fields=None, meta_fields=None, drop_fields=()):
    """Makes a dataclass a node: `data_fields` are its children, `meta_fields` static. Where none are given, fields with
    metadata {"static": True} are static and all others children. A ValueError where they are not the fields that the
    class is made of, less `drop_fields`, which have defaults.

    >>> import dataclasses
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
    data, meta = _fields_of(nodetype, data_fields, meta_fields, [drop_fields] if isinstance(drop_fields, str) else drop_fields)
    _core.tree.register_fields(nodetype, data, meta)

    def with_keys(x):
        from tenon._keys import GetAttrKey

        return [(GetAttrKey(f), getattr(x, f)) for f in data], tuple(getattr(x, f) for f in meta)

    _registered[nodetype] = (lambda x: ([getattr(x, f) for f in data], tuple(getattr(x, f) for f in meta))), with_keys
    return nodetype


def register_static(cls):
    """Makes instances of a class nodes without children: they are static, hashable and compared by ==."""
    register_pytree_node(cls, lambda x: ((), x), lambda x, _: x)
    return cls


class Partial(functools.partial):
    """functools.partial as a node: the function is static, its arguments are children. A function that is a partial itself
    stays the function, with arguments that are static.

    >>> Partial(functools.partial(max, 2), 3).args
    (3,)
    """

    def __new__(cls, func, /, *args, **kwargs):
        # functools.partial takes the arguments of a partial for its own: not of what is no partial.
        return super().__new__(cls, _Function(func) if isinstance(func, functools.partial) else func, *args, **kwargs)


class _Function:
    """A partial as a function: the same as another one of an equal function and equal arguments."""

    def __init__(self, of):
        self.of = of

    def __call__(self, *args, **kwargs):
        return self.of(*args, **kwargs)

    def __eq__(self, other):
        return self.of == (other.of if isinstance(other, _Function) else other)

    def __hash__(self):
        return hash(self.of)

    def __repr__(self):
        return repr(self.of)


_structures.add_methods()
register_pytree_node(Partial, lambda p: ((p.args, p.keywords), p.func), lambda f, c: Partial(f, *c[0], **c[1]))

__getattr__, __dir__ = _lazy.later(globals(), names={"_keys": "DictKey FlattenedIndexKey GetAttrKey SequenceKey"})
