"""The functions of jax.scipy.special that are here, most of them by other names elsewhere too."""

from tenon.lax import (  # noqa: F401
    bessel_i0e as i0e, bessel_i1e as i1e, betainc, digamma, erf, erf_inv as erfinv, erfc, igamma as gammainc,
    igammac as gammaincc, lgamma as gammaln, logistic as expit, polygamma, zeta)
from tenon.nn import log_softmax, logsumexp, softmax  # noqa: F401
from tenon.numpy import i0  # noqa: F401
from tenon.numpy._special import i1  # noqa: F401
from tenon.scipy._normal import log_ndtr, ndtr, ndtri  # noqa: F401

psi = digamma

__all__ = [
    "betainc", "digamma", "erf", "erfc", "erfinv", "expit", "gammainc", "gammaincc", "gammaln", "i0", "i0e", "i1",
    "i1e", "log_ndtr", "log_softmax", "logsumexp", "ndtr", "ndtri", "polygamma", "psi", "softmax", "zeta",
]
