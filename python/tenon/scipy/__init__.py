"""The rooms of jax.scipy that are here: `linalg`, `optimize`, `sparse.linalg`, `special` and `stats`."""

from tenon.scipy import linalg, optimize, sparse, special, stats  # noqa: F401

__all__ = ["linalg", "optimize", "sparse", "special", "stats"]
