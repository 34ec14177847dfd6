"""What is here of jax.scipy.sparse: `linalg`."""

from tenon.scipy.sparse import linalg  # noqa: F401

__all__ = ["linalg"]
