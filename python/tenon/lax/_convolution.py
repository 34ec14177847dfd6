"""Convolutions, by the names of jax.lax."""

import operator
from typing import NamedTuple

from tenon import _core
from tenon import numpy as tnp
from tenon._transforms import eval_shape
from tenon.errors import ShapeError
from tenon.lax._elementwise import convert_element_type
from tenon.numpy._products import _summed_in

__all__ = ["ConvDimensionNumbers", "conv", "conv_dimension_numbers", "conv_general_dilated", "conv_general_dilated_local",
           "conv_general_dilated_patches", "conv_general_permutations", "conv_general_shape_tuple", "conv_shape_tuple",
           "conv_transpose", "conv_transpose_shape_tuple", "conv_with_general_padding"]


class ConvDimensionNumbers(NamedTuple):
    """Which axis is what: the batch (of the weights the features), the channels, then the places.

    >>> ConvDimensionNumbers((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2)).lhs_spec
    (0, 3, 1, 2)
    """

    lhs_spec: tuple
    rhs_spec: tuple
    out_spec: tuple


def conv_general_permutations(dimension_numbers):
    """The axes of three specifications by letters: N and C, of the second O and I, and the places in its order.

    >>> conv_general_permutations(("NHWC", "HWIO", "NHWC"))
    ((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))
    """
    lhs, rhs, out = dimension_numbers
    for spec, letters in ((lhs, "NC"), (rhs, "OI"), (out, "NC")):
        if any(spec.count(letter) != 1 for letter in letters):
            raise _core.OptionError(f"dimension_numbers: {spec!r} has not {' and '.join(letters)} once each.")
        if len(set(spec)) != len(spec):
            raise _core.OptionError(f"dimension_numbers: {spec!r} has duplicate characters.")
    places = [letter for letter in rhs if letter not in "OI"]
    if not set(lhs) - set("NC") == set(places) == set(out) - set("NC"):
        raise _core.OptionError(f"dimension_numbers: all three have the same set of spatial characters, unlike {dimension_numbers}.")

    def axes(spec, first, second):
        return tuple(spec.index(letter) for letter in (first, second, *places))

    return axes(lhs, "N", "C"), axes(rhs, "O", "I"), axes(out, "N", "C")


def conv_dimension_numbers(lhs_shape, rhs_shape, dimension_numbers):
    """The axes that dimension_numbers name: letters, a ConvDimensionNumbers, or None for NCHW and OIHW.

    >>> conv_dimension_numbers((1, 3, 8), (4, 3, 2), None).rhs_spec
    (0, 1, 2)
    """
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return dimension_numbers
    rank = len(lhs_shape)
    if rank != len(rhs_shape):
        raise ShapeError(f"conv_dimension_numbers: A convolution's lhs and rhs have one ndim, not {rank} and {len(rhs_shape)}.")
    if dimension_numbers is None:
        return ConvDimensionNumbers(*[tuple(range(rank))] * 3)
    if len(dimension_numbers) != 3:
        raise _core.OptionError(f"dimension_numbers: of lhs, rhs and the result, not {len(dimension_numbers)} of them.")
    for spec in dimension_numbers:
        if isinstance(spec, str) and len(spec) != rank:
            raise _core.OptionError(f"dimension_numbers: {spec!r} has not a letter for each axis of {lhs_shape} and {rhs_shape}.")
    if all(isinstance(spec, str) for spec in dimension_numbers):
        return ConvDimensionNumbers(*conv_general_permutations(dimension_numbers))
    return ConvDimensionNumbers(*(tuple(spec) for spec in dimension_numbers))


def _integers(values):
    return [] if values is None else [operator.index(value) for value in values]


def _padding(padding):
    return padding.upper() if isinstance(padding, str) else [(operator.index(low), operator.index(high)) for low, high in padding]


def _made(y, preferred_element_type):
    return y if preferred_element_type is None else convert_element_type(y, preferred_element_type)


def conv_general_dilated(lhs, rhs, window_strides, padding, lhs_dilation=None, rhs_dilation=None, dimension_numbers=None,
                         feature_group_count=1, batch_group_count=1, precision=None, preferred_element_type=None, out_sharding=None):
    """y[n, o, p] = Σ lhs[n, c, p·stride + k·dilation] rhs[o, c, k] over channels c and places k of the window: as neural networks
    have it, in any layout, with strides, padding ("SAME", "SAME_LOWER", "VALID" or pairs; negative ones cut), dilations and groups.

    >>> conv_general_dilated(tnp.ones((1, 1, 4)), tnp.ones((1, 1, 2)), (1,), "SAME").tolist()
    [[[2.0, 2.0, 2.0, 1.0]]]
    """
    lhs, rhs = _summed_in("conv_general_dilated", preferred_element_type, [tnp.asarray(lhs), tnp.asarray(rhs)])
    axes = conv_dimension_numbers(lhs.shape, rhs.shape, dimension_numbers)
    if isinstance(padding, str) and any(dilation != 1 for dilation in _integers(lhs_dilation)):
        raise _core.OptionError("String padding does not say where zeros between places belong: give pairs, or call conv_transpose.")
    return _made(_core.tn.conv_general_dilated(
        lhs, rhs, strides=_integers(window_strides), padding=_padding(padding), input_dilation=_integers(lhs_dilation),
        window_dilation=_integers(rhs_dilation), feature_groups=operator.index(feature_group_count),
        batch_groups=operator.index(batch_group_count), axes=axes), preferred_element_type)


def conv(lhs, rhs, window_strides, padding, precision=None, preferred_element_type=None):
    """conv_general_dilated of NCHW and OIHW without dilations.

    >>> conv(tnp.ones((1, 1, 3)), tnp.ones((1, 1, 3)), (1,), "VALID").tolist()
    [[[3.0]]]
    """
    return conv_general_dilated(lhs, rhs, window_strides, padding, preferred_element_type=preferred_element_type)


def conv_with_general_padding(lhs, rhs, window_strides, padding, lhs_dilation, rhs_dilation, precision=None,
                              preferred_element_type=None):
    """conv_general_dilated of NCHW and OIHW.

    >>> conv_with_general_padding(tnp.ones((1, 1, 2)), tnp.ones((1, 1, 1)), (1,), [(0, 1)], (2,), None).tolist()
    [[[1.0, 0.0, 1.0, 0.0]]]
    """
    return conv_general_dilated(lhs, rhs, window_strides, padding, lhs_dilation, rhs_dilation,
                                preferred_element_type=preferred_element_type)


_CHANNELS_LAST = {2: ("NC", "IO", "NC"), 3: ("NHC", "HIO", "NHC"), 4: ("NHWC", "HWIO", "NHWC"), 5: ("NHWDC", "HWDIO", "NHWDC")}


def conv_transpose(lhs, rhs, strides, padding, rhs_dilation=None, dimension_numbers=None, transpose_kernel=False, precision=None,
                   preferred_element_type=None, use_consistent_padding=False):
    """The convolution whose strides lie between the places of its input, so that images grow; with transpose_kernel the gradient
    of the convolution with these strides. Channels stand last unless dimension_numbers say otherwise.

    >>> conv_transpose(tnp.ones((1, 2, 1)), tnp.ones((2, 1, 1)), (2,), "SAME")[0, :, 0].tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    lhs, rhs = _summed_in("conv_transpose", preferred_element_type, [tnp.asarray(lhs), tnp.asarray(rhs)])
    if dimension_numbers is None:
        if lhs.ndim not in _CHANNELS_LAST:
            raise _core.OptionError(f"conv_transpose: give dimension_numbers for {lhs.ndim - 2} axes of places.")
        dimension_numbers = _CHANNELS_LAST[lhs.ndim]
    axes = conv_dimension_numbers(lhs.shape, rhs.shape, dimension_numbers)
    pads, dilations = _padding(padding), _integers(rhs_dilation)
    if use_consistent_padding and not isinstance(pads, str):
        spans = [(rhs.shape[axis] - 1) * dilation for axis, dilation in zip(axes.rhs_spec[2:], dilations or [1] * len(pads))]
        pads = [(span - low, span - high) for span, (low, high) in zip(spans, pads)]
    return _made(_core.tn.conv_transpose(lhs, rhs, bool(transpose_kernel), strides=_integers(strides), padding=pads,
                                         window_dilation=dilations, axes=axes), preferred_element_type)


def conv_general_dilated_patches(lhs, filter_shape, window_strides, padding, lhs_dilation=None, rhs_dilation=None,
                                 dimension_numbers=None, precision=None, preferred_element_type=None):
    """The windows themselves, of filter_shape: place k of channel c is channel c · places + k of the result.

    >>> conv_general_dilated_patches(tnp.arange(3.0)[None, None], (2,), (1,), "VALID").tolist()
    [[[0.0, 1.0], [1.0, 2.0]]]
    """
    lhs = tnp.asarray(lhs)
    axes = conv_dimension_numbers(lhs.shape, lhs.shape, dimension_numbers)
    return _made(_core.tn.conv_general_dilated_patches(
        lhs, _integers(filter_shape), strides=_integers(window_strides), padding=_padding(padding),
        input_dilation=_integers(lhs_dilation), window_dilation=_integers(rhs_dilation), axes=axes), preferred_element_type)


def conv_general_dilated_local(lhs, rhs, window_strides, padding, filter_shape, lhs_dilation=None, rhs_dilation=None,
                               dimension_numbers=None, precision=None):
    """The convolution whose weights are others at each place of the result: rhs[o, c · places + k, p] of windows of filter_shape, p
    the places of the result, in the layout of dimension_numbers.

    >>> conv_general_dilated_local(tnp.ones((1, 1, 3)), tnp.arange(6.0).reshape(1, 2, 3)[..., :2], (1,), "VALID", (2,)).tolist()
    [[[3.0, 5.0]]]
    """
    lhs, rhs = tnp.asarray(lhs), tnp.asarray(rhs)
    axes = conv_dimension_numbers(lhs.shape, rhs.shape, dimension_numbers)
    return _core.tn.conv_general_dilated_local(
        lhs, rhs, _integers(filter_shape), strides=_integers(window_strides), padding=_padding(padding),
        input_dilation=_integers(lhs_dilation), window_dilation=_integers(rhs_dilation), axes=axes)


def conv_general_shape_tuple(lhs_shape, rhs_shape, window_strides, padding, dimension_numbers):
    """The shape of conv_general_dilated's result.

    >>> conv_general_shape_tuple((1, 8, 3), (2, 3, 5), (2,), "SAME", ("NWC", "WIO", "NWC"))
    (1, 4, 5)
    """
    return _shape_of(lambda x, w: conv_general_dilated(x, w, window_strides, padding, dimension_numbers=dimension_numbers),
                     lhs_shape, rhs_shape)


def conv_shape_tuple(lhs_shape, rhs_shape, strides, pads, batch_group_count=1):
    """The shape of a convolution of NCHW and OIHW.

    >>> conv_shape_tuple((1, 3, 8), (5, 3, 2), (1,), "VALID")
    (1, 5, 7)
    """
    return _shape_of(lambda x, w: conv_general_dilated(x, w, strides, pads, batch_group_count=batch_group_count), lhs_shape, rhs_shape)


def conv_transpose_shape_tuple(lhs_shape, rhs_shape, window_strides, padding, dimension_numbers):
    """The shape of conv_transpose's result.

    >>> conv_transpose_shape_tuple((1, 8, 3), (2, 3, 5), (2,), "SAME", ("NWC", "WIO", "NWC"))
    (1, 16, 5)
    """
    return _shape_of(lambda x, w: conv_transpose(x, w, window_strides, padding, dimension_numbers=dimension_numbers),
                     lhs_shape, rhs_shape)


def _shape_of(f, *shapes):
    return eval_shape(f, *(tnp.zeros(shape, "float32") for shape in shapes)).shape
