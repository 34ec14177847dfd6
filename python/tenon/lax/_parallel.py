"""What the lanes of vmap(f, axis_name="i") tell each other along that name. Every function takes one name or a tuple of
them: then the lanes are those of all these axes, the last name counting fastest. A name of no axis is a NameError."""

import math

from tenon import _core, tree
from tenon import numpy as tnp
from tenon._arguments import axis_text
from tenon.errors import ShapeError
from tenon.numpy._creation import asarray

__all__ = ["all_gather", "all_to_all", "axis_index", "axis_size", "pbroadcast", "pmax", "pmean", "pmin", "ppermute",
           "pshuffle", "psum", "psum_scatter", "pswapaxes"]


def _names(axis_name):
    return axis_name if isinstance(axis_name, (tuple, list)) else (axis_name,)


def _axis(name):
    """(the number of the lane, how many there are)."""
    found = _core.named_axis(axis_text(name))
    if found is None:
        raise NameError(f"unbound axis name: {name}. Give it to the lanes: vmap(f, axis_name={name!r}).")
    return found


def axis_size(axis_name):
    """How many lanes there are.

    >>> import tenon as tn, tenon.numpy as tnp
    >>> tn.vmap(lambda x: x * axis_size("i"), axis_name="i")(tnp.ones(3)).tolist()
    [3.0, 3.0, 3.0]
    """
    sizes = [_axis(name)[1] for name in _names(axis_name)]
    return math.prod(sizes[1:], start=sizes[0]) if sizes else 1


def axis_index(axis_name):
    """The number of the lane, an int32.

    >>> import tenon as tn
    >>> tn.vmap(lambda: axis_index("i"), axis_size=3, axis_name="i")().tolist()
    [0, 1, 2]
    """
    number = None
    for name in _names(axis_name):
        lane, size = _axis(name)
        number = lane if number is None else number * size + lane
    return tnp.zeros((), "int32") if number is None else number


class _Lanes:
    """The lanes that answer one: all of some axes, or those of its group."""

    def __init__(self, axis_name, groups):
        self.names, self.count = _names(axis_name), axis_size(axis_name)
        self.groups = None if groups is None else [list(group) for group in groups]
        if self.groups is not None:
            self._check()
            place = {lane: (g, k) for g, group in enumerate(self.groups) for k, lane in enumerate(group)}
            self.group_of, self.place_in = (tnp.array([place[lane][i] for lane in range(self.count)], "int32")
                                            for i in (0, 1))
            self.count = len(self.groups[0])
        self.name = axis_name

    def _check(self):
        sizes = {len(group) for group in self.groups}
        if sorted(lane for group in self.groups for lane in group) != list(range(self.count)) or len(sizes) != 1:
            raise _core.OptionError(f"axis_index_groups: groups of one size hold each of the {self.count} lanes once, not "
                                    f"{self.groups}.")

    def place(self):
        """The number of this lane among them."""
        lane = axis_index(self.name)
        return lane if self.groups is None else self.place_in[lane]

    def gathered(self, x):
        """The arrays of all, stacked."""
        x = made = asarray(x)
        for name in reversed(self.names):
            _axis(name)
            made = _core.tn.all_gather(made, axis_text(name))
        made = tnp.reshape(made, (-1 if self.groups is not None else self.count, *x.shape))
        if self.groups is None:
            return made
        return tnp.take(made, tnp.array(self.groups, "int32")[self.group_of[axis_index(self.name)]], axis=0)


def _reduced(x, axis_name, groups, reduce):
    lanes = _Lanes(axis_name, groups)
    return tree.map(lambda leaf: reduce(lanes.gathered(leaf)), x)


def psum(x, axis_name, *, axis_index_groups=None):
    """The sum of the tree over the lanes. Of a number of Python's that number times how many they are. Its derivative
    within a lane is the sum of the lanes' cotangents.

    >>> import tenon as tn, tenon.numpy as tnp
    >>> tn.vmap(lambda x: psum(x, "i"), axis_name="i", out_axes=None)(tnp.arange(3.0))
    Array(3., dtype=float64)
    """
    lanes = _Lanes(axis_name, axis_index_groups)

    def total(leaf):
        if isinstance(leaf, (bool, int, float, complex)):
            return leaf * lanes.count
        stacked = lanes.gathered(leaf)
        return _core.tn.sum(stacked.astype("int32") if stacked.dtype == bool else stacked, 0)

    return tree.map(total, x)


def pmean(x, axis_name, *, axis_index_groups=None):
    """The mean of the tree over the lanes."""
    count = _Lanes(axis_name, axis_index_groups).count
    return tree.map(lambda leaf: leaf / count, psum(x, axis_name, axis_index_groups=axis_index_groups))


def pmax(x, axis_name, *, axis_index_groups=None):
    """The largest elements of the lanes."""
    return _reduced(x, axis_name, axis_index_groups, lambda all_: tnp.max(all_, 0))


def pmin(x, axis_name, *, axis_index_groups=None):
    """The smallest elements of the lanes."""
    return _reduced(x, axis_name, axis_index_groups, lambda all_: tnp.min(all_, 0))


def all_gather(x, axis_name, *, axis_index_groups=None, axis=0, tiled=False):
    """The arrays of all lanes, stacked along a new `axis`; with `tiled` one behind the other along that axis.

    >>> import tenon as tn, tenon.numpy as tnp
    >>> tn.vmap(lambda x: all_gather(x, "i"), axis_name="i")(tnp.arange(2)).tolist()
    [[0, 1], [0, 1]]
    """
    lanes = _Lanes(axis_name, axis_index_groups)

    def gathered(leaf):
        stacked = tnp.moveaxis(lanes.gathered(leaf), 0, axis)
        return _joined(stacked, axis) if tiled else stacked

    return tree.map(gathered, x)


def _joined(x, axis):
    """An axis and the one behind it as one."""
    axis = axis % (x.ndim - 1)
    return tnp.reshape(x, (*x.shape[:axis], x.shape[axis] * x.shape[axis + 1], *x.shape[axis + 2:]))


def _divided(op, x, axis, count, tiled):
    """The axis as `count` parts in front; and, where it is `tiled`, what is left of it in its place."""
    size = x.shape[axis]
    if (size % count if tiled else size != count):
        raise ShapeError(f"{op}: axis {axis} of {x.shape} is not {'a multiple of ' if tiled else ''}the {count} lanes.")
    axis = axis % x.ndim
    if tiled:
        x = tnp.reshape(x, (*x.shape[:axis], count, size // count, *x.shape[axis + 1:]))
    return tnp.moveaxis(x, axis, 0)


def psum_scatter(x, axis_name, *, scatter_dimension=0, axis_index_groups=None, tiled=False):
    """The sum over the lanes, of which each lane keeps its part along `scatter_dimension`: one element, whose axis goes;
    with `tiled` as many as there are for each."""
    lanes = _Lanes(axis_name, axis_index_groups)

    def scattered(leaf):
        total = _core.tn.sum(lanes.gathered(leaf), 0)
        return tnp.take(_divided("psum_scatter", total, scatter_dimension, lanes.count, tiled), lanes.place(), axis=0)

    return tree.map(scattered, x)


def all_to_all(x, axis_name, split_axis, concat_axis, *, axis_index_groups=None, tiled=False):
    """Each lane gives every lane a part of its array along `split_axis`, and stacks what it is given along a new
    `concat_axis`; with `tiled` the axes stay, and parts stand one behind the other.

    >>> import tenon as tn, tenon.numpy as tnp
    >>> tn.vmap(lambda x: all_to_all(x, "i", 0, 0), axis_name="i")(tnp.array([[1, 2], [3, 4]])).tolist()
    [[1, 3], [2, 4]]
    """
    lanes = _Lanes(axis_name, axis_index_groups)

    def exchanged(leaf):
        parts = _divided("all_to_all", asarray(leaf), split_axis, lanes.count, tiled)
        mine = tnp.take(lanes.gathered(parts), lanes.place(), axis=1)
        made = tnp.moveaxis(mine, 0, concat_axis)
        return _joined(made, concat_axis) if tiled else made

    return tree.map(exchanged, x)


def pswapaxes(x, axis_name, axis, *, axis_index_groups=None):
    """The lanes' axis and `axis` change places."""
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)


def ppermute(x, axis_name, perm):
    """For each pair (source, destination) the destination is given the array of the source; other lanes zeros.

    >>> import tenon as tn, tenon.numpy as tnp
    >>> tn.vmap(lambda x: ppermute(x, "i", [(0, 1), (1, 2)]), axis_name="i")(tnp.arange(1, 4)).tolist()
    [0, 1, 2]
    """
    lanes = _Lanes(axis_name, None)
    pairs = [(int(source), int(destination)) for source, destination in perm]
    sources, destinations = [s for s, _ in pairs], [d for _, d in pairs]
    if len(set(sources)) < len(pairs) or len(set(destinations)) < len(pairs) or not all(
            0 <= lane < lanes.count for lane in sources + destinations):
        raise _core.OptionError(f"ppermute: {perm} names a source or a destination twice, or one that is not there.")
    source_of = dict(zip(destinations, sources))
    row = tnp.array([source_of.get(lane, 0) for lane in range(lanes.count)], "int32")
    given = tnp.array([lane in source_of for lane in range(lanes.count)])

    def permuted(leaf):
        lane = lanes.place()
        picked = tnp.take(lanes.gathered(leaf), row[lane], axis=0)
        return tnp.where(given[lane], picked, tnp.zeros_like(picked))

    return tree.map(permuted, x)


def pshuffle(x, axis_name, perm):
    """Lane i is given the array of lane perm[i]; perm names each lane once."""
    if sorted(perm) != list(range(axis_size(axis_name))):
        raise _core.OptionError(f"pshuffle: {perm} is no permutation of the {axis_size(axis_name)} lanes.")
    return ppermute(x, axis_name, list(zip(perm, range(len(perm)))))


def pbroadcast(x, axis_name, source):
    """The array of the lane `source`, in every lane."""
    return _reduced(x, axis_name, None, lambda all_: all_[source])
