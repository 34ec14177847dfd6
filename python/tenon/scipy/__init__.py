"""The rooms of jax.scipy that are here: `linalg`, `special` and of `stats` the normal distribution."""

from tenon.scipy import linalg, special, stats  # noqa: F401

__all__ = ["linalg", "special", "stats"]
