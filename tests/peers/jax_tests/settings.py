"""jax.config over Tenon's settings: enable_x64 is Tenon's, settings that change no result are kept, the others are out of scope."""

import contextlib

import tenon as tn
from holes import RUNNING, out_of_scope

# A test that sets one of these is about it.
IMPORTANT = {
    "enable_custom_prng", "debug_key_reuse", "log_compiles", "explain_cache_misses", "default_device", "log_checkpoint_residuals",
    "transfer_guard", "no_tracing", "no_execution", "default_prng_impl", "explicit_x64_dtypes",
    "use_shardy_partitioner",
}
OF_TENON = {"enable_x64": "x64", "debug_nans": "debug_nans", "debug_infs": "debug_infs", "disable_jit": "disable_jit"}
DEFAULTS = {
    "numpy_rank_promotion": "allow", "numpy_dtype_promotion": "standard", "threefry_partitionable": True,
    "default_prng_impl": "threefry2x32", "default_matmul_precision": None, "softmax_custom_jvp": True,
    "explicit_x64_dtypes": 0, "remat_opt_barrier": False,
}


class State:
    """One setting: called, it is set for a `with` block."""

    def __init__(self, name):
        self.name, self._value = name, DEFAULTS.get(name, False)

    @property
    def value(self):
        return getattr(tn.config, OF_TENON[self.name]) if self.name in OF_TENON else self._value

    def set(self, value):
        if self.name in OF_TENON:
            setattr(tn.config, OF_TENON[self.name], bool(value))
            return
        if RUNNING[0] and value not in (False, None) and self.name in IMPORTANT:
            out_of_scope("config." + self.name)
        self._value = value

    @contextlib.contextmanager
    def __call__(self, value=True, *_):
        old = self.value
        self.set(value)
        try:
            yield
        finally:
            self.set(old)

    def __bool__(self):
        return bool(self.value)

    def _add_hooks(self, *args, **kwargs):
        pass


class Config:
    """jax.config: `jax_NAME` is a setting's value, NAME the setting."""

    def __init__(self):
        self._states = {}

    def _state(self, name):
        name = name.removeprefix("jax_")
        return self._states.setdefault(name, State(name))

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        state = self._state(name)
        return state.value if name.startswith("jax_") else state

    def update(self, name, value):
        self._state(name).set(value)

    def read(self, name):
        return self._state(name).value

    def parse_flags_with_absl(self):
        pass

    config_with_absl = parse_flags_with_absl
    values = property(lambda self: {})


config = Config()
