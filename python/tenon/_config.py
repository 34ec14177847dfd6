"""Settings of the process."""

from tenon import _core


def _setting(get, set_, doc):
    return property(lambda self: get(), lambda self, on: set_(bool(on)), doc=doc)


class _Config:
    """tn.config: `x64`, on (the default), keeps 64-bit data as it is, as in NumPy; off, it becomes 32-bit, as in JAX.
    `debug_nans` and `debug_infs` are what the contexts tn.debug_nans() and tn.debug_infs() set: results are looked
    through for NaN, or for infinities. `compile_repeated_calls`, on by default, says whether functions of the package that are
    called often outside of jit are compiled. `disable_jit` makes jit() return functions as they are.

    >>> import tenon as tn
    >>> tn.config.update("jax_debug_nans", False)
    >>> tn.config.debug_nans
    False
    """

    x64 = _setting(_core.x64, _core.set_x64, "Whether 64-bit data stays 64-bit.")
    debug_nans = _setting(_core.debug_nans, _core.set_debug_nans, "Whether a NaN in a result is a FloatingPointError.")
    debug_infs = _setting(_core.debug_infs, _core.set_debug_infs, "Whether an infinity in a result is a FloatingPointError.")
    compile_repeated_calls = _setting(_core.compile_repeated_calls, _core.set_compile_repeated_calls,
                                      "Whether functions of the package that are called often are compiled.")

    _jit_disabled = False

    @property
    def disable_jit(self):
        """Whether jit() returns functions as they are."""
        return self._jit_disabled

    @disable_jit.setter
    def disable_jit(self, on):
        self._jit_disabled = bool(on)

    def update(self, name, value):
        """By the names of JAX's settings: "jax_enable_x64" is x64, "jax_debug_nans" debug_nans, and so on."""
        setattr(self, _known(name), value)

    def __getattr__(self, name):
        if not name.startswith("jax_"):
            raise AttributeError(f"config: there is no setting {name!r}.")
        return getattr(self, _known(name))


def _known(name):
    """The setting that JAX has by this name."""
    own = {"enable_x64": "x64"}.get(name.removeprefix("jax_"), name.removeprefix("jax_"))
    if not isinstance(getattr(_Config, own, None), property):
        raise AttributeError(f"config: there is no setting {name!r}.")
    return own


config = _Config()
