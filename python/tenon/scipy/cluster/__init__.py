"""Clusters, with the names of jax.scipy.cluster."""

from tenon.scipy.cluster import vq  # noqa: F401

__all__ = ["vq"]
