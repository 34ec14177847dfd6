"""Trees: structures, maps, registered classes."""

import collections
import dataclasses

import pytest

import tenon as tn
from tenon import tree, tree_util

Point = collections.namedtuple("Point", "x y")


@dataclasses.dataclass
class Layer:
    w: object
    rate: float = dataclasses.field(default=0.5, metadata={"static": True})


tree_util.register_dataclass(Layer)


@tree_util.register_pytree_node_class
class Pair:
    def __init__(self, a, b, name):
        self.a, self.b, self.name = a, b, name

    def tree_flatten(self):
        return (self.a, self.b), self.name

    @classmethod
    def tree_unflatten(cls, name, children):
        return cls(*children, name)


TREES = [
    1, None, (), [], {}, (1, [2, {"b": 3, "a": 4}]), Point(1, (2, None)), {"z": 1, "a": [None, 2]},
    collections.OrderedDict([("b", 1), ("a", 2)]), collections.defaultdict(list, {"b": 1, "a": [2]}), [Point(1, 2), 3],
]


@pytest.mark.parametrize("t", TREES)
def test_flatten_and_back(t):
    leaves, structure = tree.flatten(t)
    again = tree.unflatten(structure, leaves)
    assert again == t and type(again) is type(t)
    assert structure == tree.structure(t) and hash(structure) == hash(tree.structure(t))
    assert structure.num_leaves == len(leaves) == len(tree.leaves(t))


def test_keys_are_sorted():
    assert tree.leaves({"b": 1, "a": 2, "c": {"z": 3, "y": 4}}) == [2, 1, 4, 3]
    assert tree.leaves(collections.OrderedDict([("b", 1), ("a", 2)])) == [1, 2]


def test_structures_differ():
    structures = [tree.structure(t) for t in ((1, 2), [1, 2], {"a": 1, "b": 2}, {"a": 1, "c": 2}, Point(1, 2), (1, (2,)))]
    assert len({*structures}) == len(structures)
    assert all((a == b) == (a is b) for a in structures for b in structures)


def test_dataclass():
    layer = Layer(w=[1, 2], rate=0.25)
    assert tree.leaves(layer) == [1, 2]
    doubled = tree.map(lambda x: 2 * x, layer)
    assert doubled == Layer([2, 4], 0.25)
    assert tree.structure(layer) != tree.structure(Layer([1, 2], 0.5))


def test_registered_class():
    pair = Pair(1, (2, 3), "name")
    again = tree.map(lambda x: -x, pair)
    assert (again.a, again.b, again.name) == (-1, (-2, -3), "name")
    assert tree.structure(pair) != tree.structure(Pair(1, (2, 3), "other"))
    with pytest.raises(ValueError, match="Duplicate"):
        tree_util.register_pytree_node_class(Pair)


def test_map_of_several():
    assert tree.map(lambda a, b: a + b, {"x": 1, "y": [2]}, {"x": 10, "y": [20]}) == {"x": 11, "y": [22]}
    with pytest.raises(ValueError):
        tree.map(lambda a, b: a, {"x": 1}, {"y": 1})
    assert tree.map(lambda a, b: (a, b), [1, 2], [{"a": 3}, None]) == [(1, {"a": 3}), (2, None)]
    assert tree.map(lambda x: len(x), [(1, 2), (3,)], is_leaf=lambda x: isinstance(x, tuple)) == [2, 1]


def test_paths():
    t = {"a": [1, Point(2, 3)], "b": Layer(4)}
    paths = [tree.keystr(p) for p, _ in tree.leaves_with_path(t)]
    assert paths == ["['a'][0]", "['a'][1].x", "['a'][1].y", "['b'].w"]


def test_others():
    assert tree.reduce(lambda a, b: a + b, [1, (2, 3)]) == 6 and tree.all([1, (True,)]) and not tree.all([0])
    outer, inner = tree.structure([0, 0]), tree.structure({"a": 0, "b": 0})
    assert tree.transpose(outer, inner, [{"a": 1, "b": 2}, {"a": 3, "b": 4}]) == {"a": [1, 3], "b": [2, 4]}
    with pytest.raises(ValueError):
        tree.unflatten(outer, [1])


def test_static_parts_that_are_not_hashable_are_compared():
    traced = []

    @tn.jit
    def f(layer):
        traced.append(layer.rate)
        return layer.w * layer.rate["by"]

    rate = {"by": 2, "more": [1]}
    assert f(Layer(1.0, rate=rate)) == 2 and f(Layer(2.0, rate={"by": 2, "more": [1]})) == 4 and len(traced) == 1
    rate["more"].append(2)  # what was traced was of another one
    assert f(Layer(1.0, rate=rate)) == 2 and f(Layer(1.0, rate={"by": 3})) == 3 and len(traced) == 3
    one, same, other = (tree.structure(Layer(1, rate=r)) for r in ([1], [1], [2]))
    assert one == same and hash(one) == hash(same) and one != other
    assert tn.grad(lambda layer: layer.w ** 2)(Layer(3.0, rate=[1])).w == 6


def test_leaves_by_path():
    tree_ = {"b": [1, None, (2, {"c": 3})], "a": (4, [5, 6])}
    seen = []

    def is_leaf(path, x):
        seen.append((tree_util.keystr(path), x))
        return tree_util.keystr(path) in ("['b'][2]", "['a'][0]", "['b'][1]")

    found, treedef = tn.tree.flatten_with_path(tree_, is_leaf, is_leaf_takes_path=True)
    assert [(tree_util.keystr(path), x) for path, x in found] == [
        ("['a'][0]", 4), ("['a'][1][0]", 5), ("['a'][1][1]", 6), ("['b'][0]", 1), ("['b'][1]", None), ("['b'][2]", (2, {"c": 3}))]
    assert treedef.unflatten([x for _, x in found]) == tree_ and ("", tree_) == seen[0] and len(seen) == 10
    assert tn.tree.leaves_with_path(tree_, is_leaf, True) == found
    named = tn.tree.map_with_path(lambda path, x, y: (len(path), x == y), tree_, tree_, is_leaf=is_leaf, is_leaf_takes_path=True)
    assert named == {"a": ((2, True), [(3, True), (3, True)]), "b": [(2, True), (2, True), (2, True)]}
    plain = tn.tree.flatten_with_path(tree_, lambda x: isinstance(x, tuple))
    assert plain == tn.tree.flatten_with_path(tree_, lambda _, x: isinstance(x, tuple), True)
