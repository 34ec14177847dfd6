"""Settings of the process."""

from tenon import _core


class _Config:
    """tn.config.x64: on (the default), 64-bit data stays 64-bit, as in NumPy; off, it becomes 32-bit, as in JAX."""

    @property
    def x64(self):
        return _core.x64()

    @x64.setter
    def x64(self, on):
        _core.set_x64(bool(on))

    def update(self, name, value):
        """By the names of JAX's settings: "jax_enable_x64" is x64."""
        if name in ("x64", "jax_enable_x64"):
            self.x64 = value
        else:
            raise AttributeError(f"config: there is no setting {name!r}.")


config = _Config()
