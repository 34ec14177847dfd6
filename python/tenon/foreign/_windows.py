"""Primitives of windows: reductions over them, and what they give back."""

from tenon import _core, lax, tree
from tenon._transforms import vmap
from tenon.foreign._jaxprs import call, rule


def _of(equation):
    p = equation.params
    return (list(p["window_dimensions"]), list(p["window_strides"]), [tuple(pair) for pair in p["padding"]],
            list(p.get("base_dilation", ())), list(p.get("window_dilation", ())))


def _options(equation):
    return dict(zip(("window", "strides", "padding", "base_dilation", "window_dilation"), _of(equation)))


@rule("reduce_window_sum", "reduce_window_max", "reduce_window_min")
def _known(equation, x):
    name = equation.primitive.name.removeprefix("reduce_window_")
    return _core.tn.reduce_window("add" if name == "sum" else name, x, **_options(equation))


def _function(jaxpr, consts):
    def combined(*numbers):
        return call(jaxpr, *consts, *numbers)

    return combined


@rule("reduce_window")
def _reduce_window(equation, *operands):
    n = len(operands) // 2
    combined = _function(equation.params["jaxpr"], equation.params["consts"])
    made = lax.reduce_window(list(operands[:n]), list(operands[n:]), lambda x, y: combined(*x, *y), *_of(equation))
    return tree.leaves(made)


def _comparison(select):
    return "max" if select.name == "ge" else "min"


@rule("select_and_scatter_add")
def _select_and_scatter_add(equation, source, x):
    return _core.tn.select_and_scatter_add(_comparison(equation.params["select_prim"]), x, source, **_options(equation))


@rule("select_and_gather_add")
def _select_and_gather_add(equation, tangents, x):
    return _core.tn.select_and_gather_add(_comparison(equation.params["select_prim"]), x, tangents, **_options(equation))


@rule("select_and_scatter")
def _select_and_scatter(equation, x, source, init):
    p = equation.params
    select = _function(p["select_jaxpr"], p["select_consts"])
    scatter = _function(p["scatter_jaxpr"], p["scatter_consts"])

    def of_elements(f):
        def of_all(x, y):
            flat = vmap(lambda a, b: f(a, b)[0])(_core.tn.reshape(x, (-1,)), _core.tn.reshape(y, (-1,)))
            return _core.tn.reshape(flat, x.shape)

        return of_all

    return _core.select_and_scatter(of_elements(select), of_elements(scatter), x, source, init, *_of(equation)[:3])
