"""Products of which each group of rows has a matrix of its own."""

import dataclasses
from collections.abc import Sequence

from tenon import _core
from tenon import numpy as tnp
from tenon.lax._ops import dot_general
from tenon.lax._staging import DotDimensionNumbers

__all__ = ["RaggedDotDimensionNumbers", "ragged_dot", "ragged_dot_general"]


@dataclasses.dataclass(frozen=True)
class RaggedDotDimensionNumbers:
    """The axes of ragged_dot_general(): those of dot_general(), the axis of lhs that has groups, and that of rhs, if any,
    along which the groups' matrices stand.

    >>> RaggedDotDimensionNumbers((([1], [1]), ([], [])), [0], [0]).rhs_group_dimensions
    [0]
    """

    dot_dimension_numbers: DotDimensionNumbers
    lhs_ragged_dimensions: Sequence[int]
    rhs_group_dimensions: Sequence[int]


def ragged_dot(lhs, rhs, group_sizes, precision=None, preferred_element_type=None, group_offset=None, out_sharding=None):
    """The rows of lhs [m, k] times matrices of rhs [groups, k, n]: the first group_sizes[0] rows times the first, the next
    group_sizes[1] times the second, and so on; rows behind all groups are 0. All rows are multiplied with all matrices:
    the cost is that of a product [m, groups · k] · [groups · k, n].

    >>> ragged_dot(tnp.ones((3, 1)), tnp.array([[[1.0]], [[5.0]]]), tnp.array([1, 2]))[:, 0].tolist()
    [1.0, 5.0, 5.0]
    """
    numbers = RaggedDotDimensionNumbers((([1], [1]), ([], [])), [0], [0])
    return ragged_dot_general(lhs, rhs, group_sizes, numbers, precision, preferred_element_type, group_offset, out_sharding)


def ragged_dot_general(lhs, rhs, group_sizes, ragged_dot_dimension_numbers, precision=None, preferred_element_type=None,
                       group_offset=None, out_sharding=None):
    """What dot_general() is, where one axis of lhs, the ragged one, is divided into groups of `group_sizes` [groups]. If it
    is neither contracted nor of the batch, each group's part is multiplied with the group's part of rhs; if it is
    contracted, each group is summed apart, along a new first axis of the result; if it is of the batch, groups change
    nothing. The sizes may have axes of their own in front: those of the batch, and those of lhs of the ragged axis' kind
    before it.

    >>> numbers = RaggedDotDimensionNumbers((([0], [0]), ([], [])), [0], [])
    >>> ragged_dot_general(tnp.ones((3, 1)), tnp.ones((3, 1)), tnp.array([1, 2]), numbers)[:, 0, 0].tolist()
    [1.0, 2.0]
    """
    if group_offset is not None:
        raise NotImplementedError("ragged_dot_general: group_offset.")
    numbers = ragged_dot_dimension_numbers
    lhs, rhs, sizes = tnp.asarray(lhs), tnp.asarray(rhs), tnp.asarray(group_sizes)
    (contract_l, contract_r), (batch_l, batch_r) = ([list(axes) for axes in pair] for pair in numbers.dot_dimension_numbers)
    ragged, group = _checked_axes(lhs, numbers)
    before = _axes_before(lhs, ragged, contract_l, batch_l)
    _check_groups(lhs, rhs, sizes, before, group)
    if ragged in batch_l:
        return dot_general(lhs, rhs, numbers.dot_dimension_numbers, precision, preferred_element_type)
    parts = _core.where(_members(lhs, sizes, ragged, before), lhs, 0)   # [groups, *lhs]
    contract_l, batch_l = ([axis + 1 for axis in axes] for axes in (contract_l, batch_l))
    if group is not None:
        return dot_general(parts, rhs, (([0, *contract_l], [group, *contract_r]), (batch_l, batch_r)), precision,
                           preferred_element_type)
    made = dot_general(parts, rhs, ((contract_l, contract_r), (batch_l, batch_r)), precision, preferred_element_type)
    return tnp.moveaxis(made, len(batch_l), 0)


def _checked_axes(lhs, numbers):
    """(the ragged axis of lhs, the axis of groups of rhs or None)."""
    (contract_l, contract_r), (batch_l, batch_r) = numbers.dot_dimension_numbers
    if len(numbers.lhs_ragged_dimensions) != 1:
        raise TypeError("ragged_dot_general expects exactly one lhs ragged dimension, not "
                        f"{list(numbers.lhs_ragged_dimensions)}.")
    ragged, groups = numbers.lhs_ragged_dimensions[0], list(numbers.rhs_group_dimensions)
    if not 0 <= ragged < lhs.ndim:
        raise TypeError(f"ragged_dot_general requires lhs ragged dimension numbers to be nonnegative and less than the number "
                        f"of axes of the lhs, {lhs.ndim}, not {ragged}.")
    if {*groups} & {*contract_r, *batch_r}:
        raise TypeError("ragged_dot_general requires rhs group dimension numbers to be distinct from contracting and batch "
                        "dimensions.")
    inside = ragged in contract_l or ragged in batch_l
    if inside and groups:
        raise TypeError("ragged_dot_general requires zero group dimensions in the rhs when lhs ragged dimension is contracting "
                        "or batch.")
    if not inside and len(groups) != 1:
        raise TypeError("ragged_dot_general requires exactly one rhs group dimension when lhs ragged dimension is "
                        "noncontracting.")
    return ragged, None if inside else groups[0]


def _axes_before(lhs, ragged, contract, batch):
    """The axes of lhs that the sizes may have in front of the groups."""
    if ragged in batch:
        return batch[:batch.index(ragged)]
    if ragged in contract:
        return batch + contract[:contract.index(ragged)]
    return batch + [axis for axis in range(ragged) if axis not in contract and axis not in batch]


def _check_groups(lhs, rhs, sizes, before, group):
    expected = (*(lhs.shape[axis] for axis in before), *sizes.shape[-1:])
    if sizes.ndim != 1 and sizes.shape != expected:
        raise TypeError(f"ragged_dot_general: expected group_sizes to have shape {expected}, got {sizes.shape}.")
    if group is not None and rhs.shape[group] != sizes.shape[-1]:
        raise TypeError(f"ragged_dot_general: expected rhs group dimension size to be {sizes.shape[-1]}, got "
                        f"{rhs.shape[group]}.")


def _members(lhs, sizes, ragged, before):
    """Which elements of lhs are of which group, [groups, *lhs] with axes of size 1 where that is the same."""
    ends = tnp.cumsum(sizes, -1)
    places = _core.tn.iota(ends.dtype, (lhs.shape[ragged],), 0)
    member = (places >= (ends - sizes)[..., None]) & (places < ends[..., None])   # [*before, groups, ragged]
    axes = [0, ragged + 1] if sizes.ndim == 1 else [*(axis + 1 for axis in before), 0, ragged + 1]
    order = sorted(range(len(axes)), key=axes.__getitem__)
    shape = [1] * (lhs.ndim + 1)
    for axis, size in zip(axes, member.shape, strict=True):
        shape[axis] = size
    return _core.tn.reshape(_core.tn.transpose(member, order), shape)
