"""What structures of trees can do, by the names of JAX's PyTreeDef."""

import collections

from tenon._core.tree import PyTreeDef, leaves as leaves_of
from tenon.errors import TreeError

_leaf, _none, _tuple, _list, _dict, _ordered, _default, _named, _registered = range(9)
_classes = {_none: type(None), _tuple: tuple, _list: list, _dict: dict, _ordered: collections.OrderedDict,
            _default: collections.defaultdict}


def _data(node):
    """(class, what the structure keeps of the node beside its children); None of a leaf."""
    kind, _, data, auxiliary, cls = node
    if kind == _leaf:
        return None
    if kind == _named:
        return data, data
    if kind == _registered:
        return cls, auxiliary
    return _classes[kind], list(data) if kind == _dict else data


def node_data(self):
    """(class, what the structure keeps of its root beside the children); None of a leaf.

    >>> from tenon import tree
    >>> tree.structure({"b": 1, "a": 2}).node_data()
    (<class 'dict'>, ['a', 'b'])
    """
    return _data(self.nodes()[0])


def compose(self, inner):
    """This structure with `inner` in place of each leaf.

    >>> from tenon import tree
    >>> tree.structure([1, 2]).compose(tree.structure((1, 2)))
    PyTreeDef([(*, *), (*, *)])
    """
    within = inner.nodes()
    return PyTreeDef.from_nodes([n for node in self.nodes() for n in (within if node[0] == _leaf else [node])])


def walk(self, f_node, f_leaf, leaves):
    """f_node(results of the children, what the structure keeps beside them) of each node, from the leaves up, of which
    f_leaf(leaf) is the result; that of the root is returned. Without f_leaf leaves are their own results."""
    leaves = list(leaves)
    if len(leaves) != self.num_leaves:
        raise TreeError(f"PyTreeDef.walk: {self.num_leaves} leaves are wanted, {len(leaves)} are given.")
    given, open_ = iter(leaves), [([], 1, None)]
    for node in self.nodes():
        if node[0] == _leaf:
            leaf = next(given)
            open_[-1][0].append(leaf if f_leaf is None else f_leaf(leaf))
        else:
            open_.append(([], node[1], node))
        while len(open_) > 1 and len(open_[-1][0]) == open_[-1][1]:
            results, _, done = open_.pop()
            open_[-1][0].append(f_node(tuple(results), _data(done)[1]))
    return open_[0][0][0]


def from_iterable_tree(self, xs):
    """The tree of this structure whose leaves are those of `xs`, a tree of it whose nodes may be other iterables."""
    return self.unflatten(leaves_of(xs, None))


def tuple_of(treedefs):
    """The structure of a tuple of trees of these structures."""
    parts = [each.nodes() for each in treedefs]
    return PyTreeDef.from_nodes([(_tuple, len(parts), None, None, None), *(node for part in parts for node in part)])


def _restored(nodes):
    return PyTreeDef.from_nodes(nodes)


def _reduce(self):
    return _restored, (self.nodes(),)


def add_methods():
    for method in (node_data, compose, walk, from_iterable_tree):
        setattr(PyTreeDef, method.__name__, method)
    PyTreeDef.__reduce__ = _reduce
