"""What is here of jax.experimental: `ode`."""

from tenon.experimental import ode  # noqa: F401

__all__ = ["ode"]
