"""Slices of arrays at indices that may be traced: gather and scatter in their general form, with XLA's axes."""

import enum
from typing import NamedTuple

from tenon import _core
from tenon import numpy as tnp
from tenon.errors import DTypeError, ShapeError
from tenon.lax._loops import while_loop

__all__ = [
    "GatherDimensionNumbers", "GatherScatterMode", "ScatterDimensionNumbers", "gather", "scatter", "scatter_add",
    "scatter_apply", "scatter_max", "scatter_min", "scatter_mul", "scatter_sub",
]


class GatherDimensionNumbers(NamedTuple):
    """What the axes of gather() mean: the axes of the result that are axes of the slices; the axes of the array that
    slices have with size 1 and the result lacks; the axis of the array that each number of an index is a start along;
    axes of the array that go in step with axes of the indices."""

    offset_dims: tuple[int, ...]
    collapsed_slice_dims: tuple[int, ...]
    start_index_map: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    start_indices_batching_dims: tuple[int, ...] = ()


class ScatterDimensionNumbers(NamedTuple):
    """What the axes of scatter() mean: as those of GatherDimensionNumbers, with the updates in the result's place."""

    update_window_dims: tuple[int, ...]
    inserted_window_dims: tuple[int, ...]
    scatter_dims_to_operand_dims: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    scatter_indices_batching_dims: tuple[int, ...] = ()


class GatherScatterMode(enum.StrEnum):
    """What becomes of slices that reach out of the array: moved inside (CLIP); filled when read and left out when
    written (FILL_OR_DROP); or there are none (PROMISE_IN_BOUNDS). The words that they stand for serve as well."""

    CLIP = "clip"
    FILL_OR_DROP = "fill"
    PROMISE_IN_BOUNDS = "promise_in_bounds"

    @staticmethod
    def from_any(s):
        """The mode of a word, of None (FILL_OR_DROP) or of a mode.

        >>> GatherScatterMode.from_any("drop") is GatherScatterMode.FILL_OR_DROP
        True
        """
        if s is None or s == "drop":
            return GatherScatterMode.FILL_OR_DROP
        try:
            return GatherScatterMode(s)
        except ValueError:
            raise _core.OptionError(f'Unknown gather mode "{s}"') from None


def _integers(indices, name):
    indices = tnp.asarray(indices)
    if indices.dtype.kind not in "iu":
        raise DTypeError(f"{name}: indices are integers, not {indices.dtype}.")
    return indices if indices.dtype.itemsize >= 4 else _core.convert(indices, "int32")


def gather(operand, start_indices, dimension_numbers, slice_sizes, *, unique_indices=False, indices_are_sorted=False,
           mode=None, fill_value=None):
    """Slices of one size, at the starts that the last axis of the indices holds: moved inside where no `mode` says
    otherwise. Filled slices are `fill_value`, or NaN, the least signed, the greatest unsigned number, True.

    >>> rows = GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,))
    >>> gather(tnp.arange(6).reshape(3, 2), tnp.array([[2], [0]]), rows, (1, 2)).tolist()
    [[4, 5], [0, 1]]
    """
    mode = GatherScatterMode.from_any("clip" if mode is None and fill_value is None else mode)
    fill = fill_value if mode == GatherScatterMode.FILL_OR_DROP else None
    return _core.gather(operand, _integers(start_indices, "gather"), [list(a) for a in dimension_numbers], slice_sizes,
                        mode, fill, indices_are_sorted, unique_indices)


def _scattered(kind, operand, indices, updates, dimension_numbers, sorted, unique, mode):  # noqa: A002
    inserted = list(dimension_numbers.inserted_window_dims)
    if any(a > b for a, b in zip(inserted, inserted[1:])):
        raise ShapeError(f"lax.scatter: inserted_window_dims are in ascending order, not {inserted}.")
    operand, updates = tnp.asarray(operand), tnp.asarray(updates)
    if operand.dtype != updates.dtype and not updates.weak_type:
        raise DTypeError(f"lax.scatter requires arguments to have the same dtypes, got {operand.dtype}, {updates.dtype}.")
    return _core.scatter(kind, operand, _integers(indices, "scatter"), updates, [list(a) for a in dimension_numbers],
                         GatherScatterMode.from_any(mode), sorted, unique)


def _scatter(name, kind, text, prepared=lambda updates: updates):
    def op(operand, scatter_indices, updates, dimension_numbers, *, indices_are_sorted=False, unique_indices=False,
           mode=None):
        return _scattered(kind, operand, scatter_indices, prepared(updates), dimension_numbers, indices_are_sorted,
                          unique_indices, mode)

    op.__name__ = op.__qualname__ = name
    op.__doc__ = f"""The array with {text}, in slices at the starts that the last axis of the indices holds.

    >>> from tenon import lax, numpy as tnp
    >>> at = lax.ScatterDimensionNumbers((), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,))
    >>> lax.{name}(tnp.array([1, 2, 3]), tnp.array([[0], [9]]), tnp.array([5, 5]), at).tolist()
    {_EXAMPLES[name]}
    """
    return op


_EXAMPLES = {"scatter": [5, 2, 3], "scatter_add": [6, 2, 3], "scatter_sub": [-4, 2, 3], "scatter_mul": [5, 2, 3],
             "scatter_min": [1, 2, 3], "scatter_max": [5, 2, 3]}
scatter = _scatter("scatter", "set", "the updates in place of its elements; of several for one element the last")
scatter_add = _scatter("scatter_add", "add", "the updates added")
scatter_sub = _scatter("scatter_sub", "add", "the updates subtracted", _core.negative)
scatter_mul = _scatter("scatter_mul", "mul", "its elements multiplied by the updates; reverse mode needs unique indices")
scatter_min = _scatter("scatter_min", "min", "the smaller of its elements and the updates")
scatter_max = _scatter("scatter_max", "max", "the larger of its elements and the updates")


def scatter_apply(operand, scatter_indices, func, dimension_numbers, *, update_shape=(), indices_are_sorted=False,
                  unique_indices=False, mode=None):
    """The array with func(its elements) in slices at the starts that the last axis of the indices holds; elements that
    are named several times go through `func`, a function of each element by itself, so often.

    >>> at = ScatterDimensionNumbers((), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,))
    >>> scatter_apply(tnp.arange(4.0), tnp.array([[1], [3], [3]]), tnp.square, at, update_shape=(3,)).tolist()
    [0.0, 1.0, 2.0, 81.0]
    """
    operand = tnp.asarray(operand)
    times = scatter_add(tnp.zeros(operand.shape, "int32"), scatter_indices, tnp.ones(update_shape, "int32"),
                        dimension_numbers, indices_are_sorted=indices_are_sorted, unique_indices=unique_indices, mode=mode)
    return _applied(func, operand, times, unique_indices)


def _applied(func, operand, times, once):
    """func(func(…)) of each element, so many times; `once`: at most one time."""

    def applied(k, x):
        return _core.where(_core.greater(times, k), _core.convert(func(x), x.dtype), x)

    if once or operand.size == 0:
        return applied(0, operand)
    most = _core.tn.order.largest(times)
    return while_loop(lambda state: _core.less(state[0], most), lambda state: (state[0] + 1, applied(*state)),
                      (tnp.int32(0), operand))[1]
