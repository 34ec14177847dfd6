"""Space, with the names of jax.scipy.spatial."""

from tenon.scipy.spatial import transform  # noqa: F401

__all__ = ["transform"]
