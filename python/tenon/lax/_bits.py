"""Numbers as their bits, floats next to one another, and bits by chance."""

import enum
import operator

from tenon import _core, _sizes
from tenon import numpy as tnp
from tenon.errors import DTypeError
from tenon.lax._elementwise import _of_two

__all__ = ["RandomAlgorithm", "bitcast_convert_type", "mulhi", "nextafter", "reduce_precision", "rng_bit_generator"]


def bitcast_convert_type(operand, new_dtype):
    """The bits of integers and floats as another dtype. To a smaller dtype each number becomes several along a new last
    axis, its low bits first; to a larger one the last axis, which has just as many as one number takes, becomes that
    number. Bools and complex numbers are TypeErrors, but for their own dtype. No derivative flows.

    >>> bitcast_convert_type(tnp.float32(1.0), tnp.uint32).tolist() == 0x3f800000
    True
    >>> bitcast_convert_type(tnp.uint32(0x01020304), tnp.uint8).tolist()
    [4, 3, 2, 1]
    """
    return _core.bitcast(operand, new_dtype)


def _of_floats(name, *operands):
    for x in operands:
        if x.dtype.kind not in "fV":
            raise DTypeError(f"lax.{name} takes floats, not {x.dtype}{list(x.shape)}. (tnp.{name} promotes integers.)")


_next = _of_two("nextafter", _core.nextafter)


def nextafter(x1, x2):
    """The float next to x1 in the direction of x2; x2 where they are equal, NaN where either is. It moves with x1: the
    derivative is 1 in x1 and 0 in x2.

    >>> nextafter(tnp.float32(0), tnp.float32(1)).tolist() == 2.0 ** -149
    True
    """
    _of_floats("nextafter", tnp.asarray(x1), tnp.asarray(x2))
    return _next(x1, x2)


def reduce_precision(operand, exponent_bits, mantissa_bits):
    """The floats rounded, ties to even, to what a format with so many bits for exponent (at least 1) and mantissa (at
    least 0) can hold, in their own dtype: above its largest number Inf; with fewer bits for the exponent subnormal
    numbers are 0; NaN stays NaN. Tangents and cotangents are rounded likewise.

    >>> reduce_precision(tnp.float32([1.1, 70000.0]), 5, 10).tolist()
    [1.099609375, inf]
    """
    operand = tnp.asarray(operand)
    exponent_bits, mantissa_bits = operator.index(exponent_bits), operator.index(mantissa_bits)
    _of_floats("reduce_precision", operand)
    return _core.reduce_precision(operand, exponent_bits, mantissa_bits)


_high = _of_two("mulhi", _core.tn.mulhi, "i")


def mulhi(x, y):
    """The upper half of the bits of the whole product of integers of one dtype.

    >>> mulhi(tnp.uint32(2 ** 31), tnp.uint32(6)).tolist()
    3
    """
    return _high(x, y)


class RandomAlgorithm(enum.IntEnum):
    """What rng_bit_generator() takes bits from; RNG_DEFAULT is Philox."""

    RNG_DEFAULT = 0
    RNG_THREE_FRY = 1
    RNG_PHILOX = 2

    def __str__(self):
        return self.name


def rng_bit_generator(key, shape, dtype="uint32", algorithm=RandomAlgorithm.RNG_DEFAULT, *, out_sharding=None):
    """(the state behind them, uniform bits of a shape): unsigned integers by the state, u32[4] or u64[2], a key and a counter;
    those of jax.lax.rng_bit_generator on processors. `out_sharding` is None. (tenon.random takes keys that can be split.)

    >>> state, bits = rng_bit_generator(tnp.array([0, 7, 0, 7], "uint32"), (2,))
    >>> state.tolist(), bits.tolist()
    ([0, 7, 1, 7], [3109483441, 1367189518])
    """
    if out_sharding is not None:
        raise NotImplementedError("rng_bit_generator: out_sharding: there is one device.")
    by = "threefry2x32" if RandomAlgorithm(algorithm) == RandomAlgorithm.RNG_THREE_FRY else "philox4x32"
    return _core.tn.random.rng_bit_generator(tnp.asarray(key), _sizes.shape(shape), dtype, by)
