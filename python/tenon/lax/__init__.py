"""The functions of jax.lax: loops and branches, and ops without NumPy's promotion rules."""

from tenon.lax._loops import *  # noqa: F403
from tenon.lax._elementwise import *  # noqa: F403
from tenon.lax._ops import *  # noqa: F403
from tenon.lax._bits import *  # noqa: F403
from tenon.lax._convolution import *  # noqa: F403
from tenon.lax._fourier import *  # noqa: F403
from tenon.lax._gamma import *  # noqa: F403
from tenon.lax._incomplete import *  # noqa: F403
from tenon.lax._slices import *  # noqa: F403
from tenon.lax._reduce import *  # noqa: F403
from tenon.lax._windows import *  # noqa: F403
from tenon.lax._staging import *  # noqa: F403
from tenon.lax._ragged import *  # noqa: F403
from tenon.lax._parallel import *  # noqa: F403
from tenon.lax import linalg  # noqa: F401
