"""Products of which each group of rows has a matrix of its own."""

import dataclasses
from collections.abc import Sequence

from tenon import _core
from tenon import numpy as tnp  # noqa: F401  examples use it
from tenon.errors import ShapeError
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
    group_sizes[1] times the second, and so on; rows behind all groups are 0. In blocks of rows, each times the matrix of
    its group: time grows with m · k · n, and a block a group.

    >>> ragged_dot(tnp.ones((3, 1)), tnp.array([[[1.0]], [[5.0]]]), tnp.array([1, 2]))[:, 0].tolist()
    [1.0, 5.0, 5.0]
    """
    _refuse_offset(group_offset)
    return _core.tn.ragged_dot(lhs, rhs, group_sizes, preferred_element_type)


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
    _refuse_offset(group_offset)
    numbers = ragged_dot_dimension_numbers
    (contract_l, contract_r), (batch_l, batch_r) = numbers.dot_dimension_numbers
    ragged, groups = list(numbers.lhs_ragged_dimensions), list(numbers.rhs_group_dimensions)
    if len(ragged) != 1 or len(groups) > 1:
        raise ShapeError("ragged_dot_general expects exactly one lhs ragged dimension, and at most one rhs group dimension, not "
                         f"{ragged} and {groups}.")
    return _core.tn.ragged_dot_general(lhs, rhs, group_sizes, (contract_l, contract_r, batch_l, batch_r), ragged[0],
                                       groups[0] if groups else None, preferred_element_type)


def _refuse_offset(group_offset):
    if group_offset is not None:
        raise NotImplementedError("ragged_dot: group_offset.")
