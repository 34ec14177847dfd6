"""Elements before and behind: pad."""

import builtins

import numpy as np

from tenon import _core, _sizes
from tenon.errors import ShapeError, UnsupportedError
from tenon.numpy import _reductions
from tenon.numpy._creation import asarray
from tenon.numpy._functions import apply_along_axis

__all__ = ["pad"]


def _widths(pad_width, rank):
    """(before, behind) of each axis, of one number, a pair for all axes, or a number or a pair for each."""
    if not _sizes.is_shape(pad_width):
        return [(_sizes.size(pad_width),) * 2] * rank
    rows = list(pad_width)
    if not builtins.any(map(_sizes.is_shape, rows)):
        rows = [rows * 2 if len(rows) == 1 else rows]
    if len(rows) not in (1, rank) or builtins.any(len(row) not in (1, 2) for row in rows):
        raise _core.OptionError(f"pad: the widths {pad_width!r:.60} are none of {rank} axes: give (before, behind) for each, or for all.")
    wide = [tuple(map(_sizes.size, row if len(row) == 2 else (row[0], row[0]))) for row in rows]
    return wide * rank if len(wide) == 1 else wide


_OPTIONS = {"constant": "constant_values", "linear_ramp": "end_values", "maximum": "stat_length", "minimum": "stat_length",
            "mean": "stat_length", "median": "stat_length", "reflect": "reflect_type", "symmetric": "reflect_type",
            "edge": None, "wrap": None, "empty": None}


def pad(array, pad_width, mode="constant", **kwargs):
    """Elements before and behind, along each axis: `mode` says which."""
    if not callable(mode):
        if mode not in _OPTIONS:
            raise UnsupportedError(f"pad: mode {mode!r} is none of {', '.join(map(repr, _OPTIONS))}, and no function.")
        if unknown := set(kwargs) - {_OPTIONS[mode]}:
            raise _core.OptionError(f"unsupported keyword arguments for mode '{mode}': {unknown}")
    a = asarray(array)
    return _core.with_weak(_padded_along(a, pad_width, mode, kwargs), a.weak_type)


def _padded_along(a, pad_width, mode, options):
    if isinstance(pad_width, dict):
        pad_width = [pad_width.get(i, pad_width.get(i - a.ndim, (0, 0))) for i in range(a.ndim)]
        pad_width = [(w, w) if isinstance(w, int) else w for w in pad_width]
    widths = _widths(pad_width, a.ndim)
    if builtins.any(_core.less_size(w, 0) for pair in widths for w in pair):
        raise ShapeError(f"pad: index can't contain negative values. The widths are {widths}.")
    if mode == "constant":
        values = options.get("constant_values", 0)
        if np.ndim(values) == 0:
            return _sizes.pad(a, _core.convert(values, a.dtype), [w[0] for w in widths], [w[1] for w in widths])
        values = np.broadcast_to(np.asarray(values), (a.ndim, 2))
        for axis, (w, v) in enumerate(zip(widths, values)):
            for side in (0, 1):
                low, high = [0] * a.ndim, [0] * a.ndim
                (low, high)[side][axis] = w[side]
                a = _sizes.pad(a, _core.convert(v[side].item(), a.dtype), low, high)
        return a
    if callable(mode):
        return _padded_by(a, widths, mode, options)
    if mode in ("edge", "wrap", "reflect", "symmetric") and options.get("reflect_type", "even") != "odd":
        return _core.tn.pad(a, widths, mode)
    for axis, (before, behind) in enumerate(widths):
        a = _padded(a, axis, before, behind, mode, options)
    return a


def _padded_by(a, widths, function, options):
    """As function(vector, (before, behind), axis, options) says, which returns vectors."""
    a = _sizes.pad(a, _core.convert(0, a.dtype), [w[0] for w in widths], [w[1] for w in widths])
    for axis, pair in enumerate(widths):
        a = apply_along_axis(function, axis, a, pair, axis, options)
    return a


_STATISTICS = {"maximum": "max", "minimum": "min", "mean": "mean", "median": "median"}


def _padded(a, axis, before, behind, mode, options):
    n = a.shape[axis]
    if mode == "empty":
        low, high = [0] * a.ndim, [0] * a.ndim
        low[axis], high[axis] = before, behind
        return _sizes.pad(a, _core.convert(0, a.dtype), low, high)
    if _core.same_size(before + behind, 0):
        return a
    if mode in ("reflect", "symmetric") and options.get("reflect_type", "even") == "odd":
        return _padded_odd(a, axis, before, behind, mode)
    if mode in _STATISTICS:
        length = _for_axis(options.get("stat_length"), axis, a.ndim)
        edges = [_statistic(_part(a, axis, *part), axis, mode) for part in (
            (0, n if length[0] is None else length[0]), (0 if length[1] is None else _core.max_size(0, n - length[1]), n))]
        return _core.tn.concatenate([_repeated(edges[0], axis, before), a, _repeated(edges[1], axis, behind)], axis)
    ends = _for_axis(options.get("end_values", 0), axis, a.ndim)  # linear_ramp
    first = _ramp(ends[0], _part(a, axis, 0, 1), axis, before)
    last = _core.tn.reverse(_ramp(ends[1], _part(a, axis, n - 1, n), axis, behind), [axis])
    return _core.tn.concatenate([first, a, last], axis)


def _for_axis(values, axis, rank):
    """(before, behind) of an option that says one value, a pair, or a pair for each axis."""
    if values is None or np.ndim(values) == 0:
        return values, values
    values = values if np.ndim(values) == 2 else [values]
    pair = values[axis if len(values) == rank and rank > 1 else 0]
    return pair[0], pair[-1]


def _part(a, axis, start, stop):
    return a[(slice(None),) * axis + (slice(start, stop),)]


def _statistic(part, axis, mode):
    made = getattr(_reductions, _STATISTICS[mode])(part, axis, keepdims=True)
    return _core.convert(_core.rint(made) if part.dtype.kind in "iu" and made.dtype.kind == "f" else made, part.dtype)


def _ramp(end, edge, axis, n):
    """From the end up to the edge, which it does not reach; integers rounded down."""
    kind = "int64" if edge.dtype.kind in "iu" and _core.x64() else edge.dtype
    at = _core.tn.reshape(_core.tn.iota(kind, (n,), 0), [n if i == axis else 1 for i in range(edge.ndim)])
    edge, end, dtype, n = _core.convert(edge, kind), _core.convert(end, kind), edge.dtype, _core.max_size(n, 1)
    if dtype.kind in "iu":
        return _core.convert(end + _core.floor_divide(at * (edge - end), n), dtype)
    return at * ((edge - end) / n) + end


def _padded_odd(a, axis, before, behind, mode):
    """Reflected at the ends, the values there too: with `symmetric` the ends are there twice."""
    n, skip = a.shape[axis], mode == "reflect"
    if n == 1 and skip:
        return _core.tn.pad(a, [(before, behind) if i == axis else (0, 0) for i in range(a.ndim)], "edge")
    while before or behind:
        first, last = _part(a, axis, 0, 1), _part(a, axis, n - 1, n)
        low, high = builtins.min(before, n - skip), builtins.min(behind, n - skip)
        front = 2 * first - _core.tn.reverse(_part(a, axis, int(skip), low + skip), [axis])
        back = 2 * last - _core.tn.reverse(_part(a, axis, n - high - skip, n - skip), [axis])
        a = _core.tn.concatenate([front, a, back], axis)
        before, behind, n = before - low, behind - high, n + low + high
    return a


def _repeated(a, axis, n):
    shape = list(a.shape)
    shape[axis] = n
    return _core.broadcast_to(a, shape)
