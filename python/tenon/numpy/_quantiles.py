"""Where quantiles lie among the elements in order."""

from tenon import _core
from tenon.numpy._creation import asarray

# Where in a row of n elements the part q lies, n·q + α + q·(1 - α - β) - 1: R. J. Hyndman and Y. Fan, Sample quantiles in
# statistical packages, 1996.
_BETWEEN = {"linear": (1, 1), "interpolated_inverted_cdf": (0, 1), "hazen": (0.5, 0.5), "weibull": (0, 0),
            "median_unbiased": (1 / 3, 1 / 3), "normal_unbiased": (3 / 8, 3 / 8)}
_ROUNDED = {"lower": lambda below, above, at: (below, below), "higher": lambda below, above, at: (above, above),
            "nearest": lambda below, above, at: (_core.rint(at),) * 2, "midpoint": lambda below, above, at: (below, above)}


def positions(method, q, count):
    """(the element before, the element behind, the weight of that) of parts q of `count` elements."""
    last = _core.maximum(_core.subtract(count, 1), 0)
    if method in _BETWEEN:
        alpha, beta = _BETWEEN[method]
        # For "linear" the product alone: exact where it falls on an element.
        at = q * last if method == "linear" else _core.clamp(0, count * q + (alpha + q * (1 - alpha - beta)) - 1, last)
        below = _core.floor(at)
        return below, _core.ceil(at), at - below
    if method in _ROUNDED:
        at = q * last
        return *_ROUNDED[method](_core.floor(at), _core.ceil(at), at), 0.5
    if method in ("inverted_cdf", "averaged_inverted_cdf", "closest_observation"):
        at = count * q - (1.5 if method == "closest_observation" else 1)
        below = _core.floor(at)
        whole = _core.equal(at, below)
        if method == "averaged_inverted_cdf":
            return _core.clamp(0, below, last), _core.clamp(0, below + 1, last), _core.where(whole, 0.5, 1.0)
        if method == "closest_observation":  # to the even one, counted from 1
            whole = whole & _core.equal(_core.remainder(below, 2), 1)
        chosen = _core.clamp(0, _core.where(whole, below, below + 1), last)
        return chosen, chosen, 0.5
    raise ValueError(f"quantile: method {method!r} is none of {', '.join(map(repr, _METHODS))}.")


_METHODS = [*_BETWEEN, *_ROUNDED, "inverted_cdf", "averaged_inverted_cdf", "closest_observation"]


def weighted_quantile(flat, weights, q):
    """The first element along the last axis up to which the weights are parts q of all of them."""
    q = _core.convert(asarray(q), flat.dtype)
    ordered, weights = _core.sort_together([flat, weights], 1, flat.ndim - 1)
    sums = _core.cumsum(weights, flat.ndim - 1, False)
    wanted = _core.reshape(q, q.shape + (1,) * flat.ndim) * sums[..., -1:]
    # Elements that weigh nothing are not found, so that the part 0 is the first that weighs something.
    found = _core.greater_equal(sums, wanted) & _core.greater(sums, 0)
    at = _core.argmax(found, [found.ndim - 1], True)
    made = _core.take_along_axis(_core.broadcast_to(ordered, found.shape), at, found.ndim - 1, "clip", None)
    return _core.squeeze(made, -1)
