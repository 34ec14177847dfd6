"""Bessel's function that NumPy has."""

from tenon._library.special import i0

__all__ = ["i0"]
