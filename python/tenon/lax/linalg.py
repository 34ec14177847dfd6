"""Factors of matrices and systems, by the names of jax.lax.linalg."""

from tenon import _core

__all__ = ["cholesky", "triangular_solve"]


def cholesky(x, *, symmetrize_input=True):
    """The lower triangular L with L·Lᴴ = x."""
    return _core.cholesky(x, symmetrize_input)


def triangular_solve(a, b, *, left_side=False, lower=False, transpose_a=False, conjugate_a=False, unit_diagonal=False):
    """x with op(a)·x = b (left_side) or x·op(a) = b, a triangular."""
    return _core.triangular_solve(a, b, left_side, lower, transpose_a, conjugate_a, unit_diagonal)
