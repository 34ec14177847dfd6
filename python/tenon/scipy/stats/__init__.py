"""Distributions by the names of jax.scipy.stats: the normal one."""

from tenon.scipy.stats import norm  # noqa: F401

__all__ = ["norm"]
