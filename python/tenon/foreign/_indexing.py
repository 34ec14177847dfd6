"""gather, scatter and references."""

import jax  # type: ignore

from tenon import _core, lax, numpy as tnp
from tenon.ref import freeze, new_ref
from tenon.foreign._jaxprs import call, dtype_of, is_key, rule, shape_of, unsupported

_modes = {"CLIP": "clip", "FILL_OR_DROP": "fill", "PROMISE_IN_BOUNDS": "promise_in_bounds", "ONE_HOT": "promise_in_bounds"}


@rule("gather")
def _gather(equation, x, indices):
    d, p = equation.params["dimension_numbers"], equation.params
    offsets, sizes = tuple(d.offset_dims), tuple(p["slice_sizes"])
    if is_key(equation.invars[0].aval):  # both halves of each key
        offsets, sizes = (*offsets, len(equation.outvars[0].aval.shape)), (*sizes, 2)
    numbers = lax.GatherDimensionNumbers(offsets, d.collapsed_slice_dims, d.start_index_map, d.operand_batching_dims,
                                         d.start_indices_batching_dims)
    return lax.gather(x, indices, numbers, sizes, mode=_modes[p["mode"].name], fill_value=p["fill_value"])


@rule("scatter", "scatter-add", "scatter-sub", "scatter-mul", "scatter-min", "scatter-max")
def _scatter(equation, x, indices, updates):
    d, p, name = equation.params["dimension_numbers"], equation.params, equation.primitive.name.replace("-", "_")
    if is_key(equation.invars[0].aval):
        raise unsupported(equation, "keys are written by whole arrays; write their jax.random.key_data.")
    numbers = lax.ScatterDimensionNumbers(d.update_window_dims, d.inserted_window_dims, d.scatter_dims_to_operand_dims,
                                          d.operand_batching_dims, d.scatter_indices_batching_dims)
    return getattr(lax, name)(x, indices, updates, numbers, unique_indices=p["unique_indices"], mode=_modes[p["mode"].name])


@rule("new_ref")
def _new_ref(equation, x):
    return new_ref(x)


@rule("empty_ref")
def _empty_ref(equation):
    aval = equation.outvars[0].aval.inner_aval
    return new_ref(tnp.zeros(shape_of(aval), dtype_of(aval)))


@rule("freeze")
def _freeze(equation, reference):
    return freeze(reference)


@rule("free_ref")
def _free_ref(equation, reference):
    freeze(reference)
    return []


def _place(equation, flat):
    """The index that the transformations of a reference say; of one indexing alone."""
    indexers = jax.tree.unflatten(equation.params["tree"], flat)
    if not indexers:
        return ...
    if len(indexers) > 1 or not hasattr(indexers[0], "indices"):
        raise unsupported(equation, "a reference is read and written by one index.")
    index = []
    for part in indexers[0].indices:
        if hasattr(part, "start"):
            if not isinstance(part.start, int):
                raise unsupported(equation, "slices of references start at numbers.")
            index.append(slice(part.start, part.start + part.size * part.stride, part.stride))
        else:
            index.append(part)
    return tuple(index)


@rule("get")
def _get(equation, reference, *flat):
    return reference[_place(equation, flat)]


@rule("swap")
def _swap(equation, reference, value, *flat):
    place = _place(equation, flat)
    before = reference[place]
    reference[place] = value
    return before


@rule("addupdate", "accum_grad_in_ref")
def _addupdate(equation, reference, value, *flat):
    place = _place(equation, flat) if "tree" in equation.params else ...
    reference[place] = _core.add(reference[place], value)
    return []


@rule("run_state")
def _run_state(equation, *operands):
    """A jaxpr over references that begin as the operands, and what they become."""
    given, avals = iter(operands), [v.aval.inner_aval for v in equation.params["jaxpr"].invars]
    references = [new_ref(next(given) if known else tnp.zeros(shape_of(aval), dtype_of(aval)))
                  for known, aval in zip(equation.params["is_initialized"], avals)]
    call(equation.params["jaxpr"], *references)
    return [freeze(reference) for reference in references]
