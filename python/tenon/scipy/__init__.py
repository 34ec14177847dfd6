"""The rooms of jax.scipy that are here: `linalg` and `special`."""

from tenon.scipy import linalg, special  # noqa: F401

__all__ = ["linalg", "special"]
