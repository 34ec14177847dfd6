"""Programs of JAX: traced by the user's JAX, bound here op by op. Imported by tn.from_jax alone; JAX is needed then."""

try:
    import jax  # type: ignore
except ImportError as error:
    raise ImportError(
        "tn.from_jax traces functions with JAX, which is not installed: `pip install jax` (the CPU build is enough).") from error

from tenon.foreign import (  # noqa: F401
    _callbacks,
    _control,
    _custom,
    _elementwise,
    _equinox,
    _indexing,
    _libraries,
    _lineax,
    _movement,
    _random,
    _reductions,
    _windows,
)
from tenon.foreign._function import from_jax as from_jax
from tenon.foreign._jaxprs import rules as rules
from tenon.foreign._trees import adopt_classes

del jax
adopt_classes()
