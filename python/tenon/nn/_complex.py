"""Functions of neural networks of complex numbers: by the formulas of the real ones, which the parts of numbers in front
of others choose between. Numbers are in order by their real parts, equal ones by their imaginary parts."""

import math

from tenon import _core
from tenon import numpy as tnp


def relu(x):
    return tnp.maximum(x, 0)


def softplus(x):
    return tnp.logaddexp(x, 0)


def log_sigmoid(x):
    return -softplus(-x)


def elu(x, alpha):
    positive = x > 0
    return tnp.where(positive, x, alpha * tnp.expm1(tnp.where(positive, 0, x)))


def leaky_relu(x, slope):
    return tnp.where(x >= 0, x, x * slope)


def _shift(x, axes):
    """What is taken away from exponents, so that none overflows: real, and no part of derivatives."""
    largest = _core.stop_gradient(_core.max(tnp.real(x), axes, True))
    return tnp.where(tnp.isfinite(largest), largest, 0)


def logsumexp(x, axes, keepdims):
    shift = _shift(x, axes)
    total = _core.sum(tnp.exp(x - shift), axes, True)
    nothing = total == 0
    made = tnp.where(nothing, -math.inf, tnp.log(tnp.where(nothing, 1, total))) + shift
    return made if keepdims else tnp.squeeze(made, tuple(range(x.ndim)) if axes is None else tuple(axes))


def softmax(x, axes, keepdims):
    e = tnp.exp(x - _shift(x, axes))
    return e / _core.sum(e, axes, True)


def log_softmax(x, axes, keepdims):
    return x - logsumexp(x, axes, True)
