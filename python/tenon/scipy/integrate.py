"""Integrals of samples, with the names of jax.scipy.integrate."""

from tenon import _repeated
from tenon.numpy import trapezoid  # noqa: F401

__all__ = ["trapezoid"]

_repeated.public(globals())
