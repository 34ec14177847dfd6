"""Primitives that combine elements along axes: sums and their kin, products of matrices, orders, factorisations."""

import numpy as np

from tenon import _core, lax, numpy as tnp
from tenon.foreign._jaxprs import call, dtype_of, needs_devices, rule, rules


def _over_axes(function):
    return lambda equation, x: function(x, tuple(equation.params["axes"]))


for _name in "reduce_sum reduce_prod reduce_max reduce_min reduce_and reduce_or reduce_xor".split():
    rules[_name] = _over_axes(getattr(lax, _name))


def _over_lanes(function):
    """psum and its kin, whose axes of a jax.vmap around them are axes of the operands; axes of devices have names."""

    def reduced(equation, *operands):
        axes = equation.params["axes"]
        if not all(isinstance(axis, int) for axis in axes) or equation.params["axis_index_groups"] is not None:
            raise needs_devices(equation)
        return [function(x, tuple(axes)) if axes else x for x in operands]

    return reduced


for _name in "psum pmax pmin".split():
    rule(_name)(_over_lanes(getattr(lax, _name.replace("p", "reduce_", 1))))


def _along(function):
    return lambda equation, x: function(x, equation.params["axis"], equation.params["reverse"])


for _name in "cumsum cumprod cummax cummin cumlogsumexp".split():
    rules[_name] = _along(getattr(lax, _name))


@rule("conv_general_dilated")
def _convolution(equation, x, w):
    p = equation.params
    axes = lax.ConvDimensionNumbers(*(tuple(spec) for spec in p["dimension_numbers"]))
    return lax.conv_general_dilated(x, w, p["window_strides"], p["padding"], p["lhs_dilation"], p["rhs_dilation"], axes,
                                    p["feature_group_count"], p["batch_group_count"],
                                    preferred_element_type=p["preferred_element_type"])


@rule("fft")
def _fft(equation, x):
    return lax.fft(x, equation.params["fft_type"].name, equation.params["fft_lengths"])


@rule("argmax", "argmin")
def _argument(equation, x):
    p = equation.params
    return getattr(lax, equation.primitive.name)(x, p["axes"][0], p["index_dtype"])


@rule("reduce")
def _reduce(equation, *operands):
    n = len(operands) // 2
    jaxpr = equation.params["jaxpr"]

    def computation(x, y):
        made = call(jaxpr, *(x if isinstance(x, tuple) else (x,)), *(y if isinstance(y, tuple) else (y,)))
        return tuple(made) if n > 1 else made[0]

    arrays, first = operands[:n], operands[n:]
    if n == 1:
        arrays, first = arrays[0], first[0]
    made = lax.reduce(arrays, first, computation, equation.params["dimensions"])
    return list(made) if n > 1 else made


@rule("dot_general")
def _dot_general(equation, x, y):
    p = equation.params
    return lax.dot_general(x, y, p["dimension_numbers"], preferred_element_type=dtype_of(equation.outvars[0].aval))


@rule("ragged_dot_general")
def _ragged_dot_general(equation, x, y, sizes):
    p, theirs = equation.params, equation.params["ragged_dot_dimension_numbers"]
    numbers = lax.RaggedDotDimensionNumbers(theirs.dot_dimension_numbers, theirs.lhs_ragged_dimensions,
                                            theirs.rhs_group_dimensions)
    return lax.ragged_dot_general(x, y, sizes, numbers, preferred_element_type=dtype_of(equation.outvars[0].aval),
                                  group_offset=p["group_offset"])


@rule("sort")
def _sort(equation, *arrays):
    p = equation.params
    made = lax.sort(tuple(arrays), dimension=p["dimension"], is_stable=p["is_stable"], num_keys=p["num_keys"])
    return list(made)


@rule("top_k", "approx_top_k")
def _top_k(equation, x):
    p = equation.params
    axis = p.get("axis", p.get("reduction_dimension", -1))
    smallest = not p.get("is_max_k", True)
    values, places = lax.top_k(-x if smallest else x, p["k"], axis=axis)
    return [-values if smallest else values, _core.convert(places, dtype_of(equation.outvars[1].aval))]


@rule("cholesky")
def _cholesky(equation, x):
    return lax.linalg.cholesky(x, symmetrize_input=False)


@rule("triangular_solve")
def _triangular_solve(equation, a, b):
    names = ("left_side", "lower", "transpose_a", "conjugate_a", "unit_diagonal")
    return lax.linalg.triangular_solve(a, b, **{name: equation.params[name] for name in names})


@rule("lu")
def _lu(equation, x):
    return [_core.convert(made, dtype_of(v.aval)) for made, v in zip(lax.linalg.lu(x), equation.outvars)]


@rule("lu_pivots_to_permutation")
def _permutation(equation, pivots):
    return _core.convert(lax.linalg.lu_pivots_to_permutation(pivots, equation.params["permutation_size"]),
                         dtype_of(equation.outvars[0].aval))


@rule("qr")
def _qr(equation, x):
    p = equation.params
    return list(lax.linalg.qr(x, pivoting=p.get("pivoting", False), full_matrices=p["full_matrices"]))


@rule("geqrf")
def _geqrf(equation, x):
    return list(_core.tn.linalg.geqrf(x))


@rule("householder_product")
def _householder_product(equation, a, taus):
    return lax.linalg.householder_product(a, taus)


@rule("ormqr")
def _ormqr(equation, a, taus, c):
    return lax.linalg.ormqr(a, taus, c, left=equation.params["left"], transpose=equation.params["transpose"])


@rule("hessenberg")
def _hessenberg(equation, x):
    return list(lax.linalg.hessenberg(x))


@rule("tridiagonal")
def _tridiagonal(equation, x):
    return list(lax.linalg.tridiagonal(x, lower=equation.params["lower"]))


@rule("tridiagonal_solve")
def _tridiagonal_solve(equation, lower, diagonal, upper, b):
    return lax.linalg.tridiagonal_solve(lower, diagonal, upper, b)


@rule("eigh")
def _eigh(equation, x):
    p = equation.params
    return list(lax.linalg.eigh(x, lower=p["lower"], symmetrize_input=False, subset_by_index=p["subset_by_index"]))


@rule("eig")
def _eig(equation, x):
    p = equation.params
    return lax.linalg.eig(x, compute_left_eigenvectors=p["compute_left_eigenvectors"],
                          compute_right_eigenvectors=p["compute_right_eigenvectors"])


@rule("svd")
def _svd(equation, x):
    p = equation.params
    made = lax.linalg.svd(x, full_matrices=p["full_matrices"], compute_uv=p["compute_uv"],
                          subset_by_index=p["subset_by_index"])
    return [made[1], made[0], made[2]] if p["compute_uv"] else [made]


@rule("schur")
def _schur(equation, x):
    p = equation.params
    made = lax.linalg.schur(x, compute_schur_vectors=p["compute_schur_vectors"], sort_eig_vals=p["sort_eig_vals"],
                            select_callable=p["select_callable"])
    return list(made) if p["compute_schur_vectors"] else [made]


@rule("symmetric_product")
def _symmetric_product(equation, a, c):
    p = equation.params
    return lax.linalg.symmetric_product(a, c, alpha=p["alpha"], beta=p["beta"])


@rule("cholesky_update")
def _cholesky_update(equation, r, w):
    return list(lax.linalg.cholesky_update(r, w)) if len(equation.outvars) > 1 else lax.linalg.cholesky_update(r, w)


@rule("iota_2x32_shape")
def _iota_2x32_shape(equation):
    """The places of the elements of a shape as 64-bit numbers: their upper and their lower halves."""
    shape = tuple(equation.params["shape"])
    places = tnp.reshape(lax.iota(np.uint32, int(np.prod(shape, dtype=np.int64))), shape)
    return [tnp.zeros(shape, np.uint32), places]
