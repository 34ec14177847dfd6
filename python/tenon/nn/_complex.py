"""Activations of complex numbers."""

from tenon import _core
from tenon import numpy as tnp


def is_complex(x):
    return x.dtype.kind == "c"


def sigmoid(x):
    positive = _core.greater(_core.real(x), 0)
    small = _core.exp(_core.where(positive, -x, x))
    return _core.where(positive, 1, small) / (1 + small)


def log_softmax(x, axes):
    moved = x - _core.stop_gradient(tnp.max(x, axis=axes, keepdims=True))
    return moved - _core.log(tnp.sum(_core.exp(moved), axis=axes, keepdims=True))


def softmax(x, axes):
    small = _core.exp(x - _core.stop_gradient(tnp.max(_core.real(x), axis=axes, keepdims=True)))
    return small / tnp.sum(small, axis=axes, keepdims=True)
