"""Structures of trees as JSON, and the classes of nodes that can be in them."""

from typing import Any

from tenon import tree_util
from tenon._core.tree import PyTreeDef
from tenon._structures import _default, _dict, _leaf, _list, _named, _none, _ordered, _registered, _tuple
from tenon.errors import OptionError, ParseError, TreeError, UnsupportedError

_KINDS = {_leaf: "leaf", _none: "none", _tuple: "tuple", _list: "list", _dict: "dict", _ordered: "ordered"}
_NUMBERS = {name: kind for kind, name in _KINDS.items()}
_DEEPEST = 500

# By class, and by name: (class, name, functions that write and read what is auxiliary). Of namedtuples there are none.
_by_class: dict[type, Any] = {}
_by_name: dict[str, Any] = {}


def _register(nodetype, name, write, read):
    if not isinstance(name, str):
        raise OptionError(f"export: a serialized_name is a str, not {name!r}.")
    if nodetype in _by_class:
        raise OptionError(f"export: {nodetype} is registered already, as {_by_class[nodetype][1]!r}.")
    if name in _by_name:
        raise OptionError(f"export: the name {name!r} is that of {_by_name[name][0]} already.")
    _by_class[nodetype] = _by_name[name] = nodetype, name, write, read
    return nodetype


def register_pytree_node_serialization(nodetype, *, serialized_name, serialize_auxdata, deserialize_auxdata,
                                       from_children=None):
    """Lets nodes of a class, which register_pytree_node() or its kin made one, be in the trees of exported functions: by
    a name, with what is auxiliary of them as bytes. serialize_auxdata(auxiliary) -> bytes, and deserialize_auxdata back.
    `from_children` is taken and has no effect: the class says how it is made of children.

    >>> from tenon import tree_util
    >>> @tree_util.register_pytree_node_class
    ... class Scaled:
    ...     def __init__(self, x, unit):
    ...         self.x, self.unit = x, unit
    ...     def tree_flatten(self):
    ...         return (self.x,), self.unit
    ...     @classmethod
    ...     def tree_unflatten(cls, unit, children):
    ...         return cls(*children, unit)
    >>> _ = register_pytree_node_serialization(Scaled, serialized_name="doc.Scaled", serialize_auxdata=str.encode,
    ...                                        deserialize_auxdata=bytes.decode)
    """
    if nodetype not in tree_util._registered:
        raise OptionError(f"export: {nodetype} is no class of nodes: register_pytree_node() makes it one first.")
    return _register(nodetype, serialized_name, serialize_auxdata, deserialize_auxdata)


def register_namedtuple_serialization(nodetype, *, serialized_name):
    """The same of a namedtuple.

    >>> from typing import NamedTuple
    >>> class Point(NamedTuple):
    ...     x: float
    ...     y: float
    >>> _ = register_namedtuple_serialization(Point, serialized_name="doc.Point")
    """
    if not (isinstance(nodetype, type) and issubclass(nodetype, tuple) and hasattr(nodetype, "_fields")):
        raise OptionError(f"export: {nodetype} is no namedtuple.")
    return _register(nodetype, serialized_name, None, None)


def encoded(structure):
    """The nodes, the root first: [kind, number of children, what is beside them]."""
    return [_encoded(*node) for node in structure.nodes()]


def _encoded(kind, children, data, auxiliary, cls):
    if kind in _KINDS:
        return [_KINDS[kind], children, [_key(k) for k in data] if kind in (_dict, _ordered) else None]
    cls = data if kind == _named else cls
    if kind == _default or cls not in _by_class:
        what = "a defaultdict" if kind == _default else f"a node of the class {cls.__qualname__}"
        raise UnsupportedError(f"export: {what} is in a tree, which cannot be written.\n  "
                               "register_pytree_node_serialization(), or register_namedtuple_serialization(), names a class.")
    _, name, write, _ = _by_class[cls]
    if kind == _named:
        return ["named", children, name]
    written = write(auxiliary)
    if not isinstance(written, (bytes, bytearray)):
        raise OptionError(f"export: serialize_auxdata of {cls.__qualname__} returns bytes, not {written!r:.60}.")
    return ["registered", children, [name, bytes(written).hex()]]


def _key(key):
    """A key of a dict: text, a number, None, or {"tuple": keys}."""
    if isinstance(key, tuple):
        return {"tuple": [_key(k) for k in key]}
    if key is None or type(key) in (str, int, bool, float):
        return key
    raise UnsupportedError(f"export: a dict has the key {key!r:.60}, which cannot be written.\n  "
                           "Keys are text, numbers, None and tuples of them.")


def decoded(nodes):
    """The structure. ParseError where it is none, TreeError where a class is not registered."""
    depths, made = [1], []
    for node in nodes:
        if not (isinstance(node, list) and len(node) == 3 and isinstance(node[0], str) and type(node[1]) is int
                and 0 <= node[1] < 2**31 and depths):
            raise ParseError(f"deserialize: {node!r:.60} is no node of a tree.")
        depth = depths.pop()
        if depth > _DEEPEST or node[1] > len(nodes):
            raise ParseError(f"deserialize: a tree is deeper than {_DEEPEST} nodes, or has more children than nodes.")
        depths += [depth + 1] * node[1]
        made.append(_decoded(*node))
    try:
        return PyTreeDef.from_nodes(made)
    except ValueError:
        raise ParseError("deserialize: the nodes make no tree.") from None


def _decoded(kind, children, beside):
    if kind in ("dict", "ordered"):
        if not isinstance(beside, list):
            raise ParseError("deserialize: a dict has keys.")
        return _NUMBERS[kind], children, tuple(map(_read_key, beside)), None, None
    if kind in _NUMBERS:
        return _NUMBERS[kind], children, None, None, None
    try:
        name, written = (beside, None) if kind == "named" else beside
        if kind not in ("named", "registered") or not isinstance(name, str):
            raise ValueError
        written = None if kind == "named" else bytes.fromhex(written)
    except (ValueError, TypeError):
        raise ParseError(f"deserialize: {kind!r:.60} is no kind of node.") from None
    if name not in _by_name:
        raise TreeError(f"deserialize: a tree has a node of the class that was registered as {name!r}, and here none is.\n  "
                        "register_pytree_node_serialization(), or register_namedtuple_serialization(), names a class.")
    cls, _, _, read = _by_name[name]
    if (read is None) != (kind == "named"):
        raise ParseError(f"deserialize: {name!r} is a class of another kind.")
    if kind == "named":
        if len(cls._fields) != children:
            raise ParseError(f"deserialize: {cls.__qualname__} has {len(cls._fields)} fields, and not {children}.")
        return _named, children, cls, None, None
    return _registered, children, None, read(written), cls


def _read_key(key, depth=0):
    if isinstance(key, dict) and depth < 20 and list(key) == ["tuple"] and isinstance(key["tuple"], list):
        return tuple(_read_key(k, depth + 1) for k in key["tuple"])
    if key is None or type(key) in (str, int, bool, float):
        return key
    raise ParseError(f"deserialize: {key!r:.60} is no key of a dict.")
