"""Transformations of functions, with the signatures of jax's."""

import functools
import inspect

from tenon import _complex, _core, _html, _lanes, _rule_references, _stages
from tenon import numpy as tnp, tree
from tenon._arguments import axis_text, completed, from_front, numbers_of
from tenon._config import config
from tenon._core import LinearFunction, Program
from tenon._shape_dtype import ShapeDtypeStruct

__all__ = [
    "disable_jit", "ensure_compile_time_eval",
    "eval_shape", "explain", "grad", "hessian", "hvp", "jacfwd", "jacobian", "jacrev", "jit", "jvp", "linearize",
    "make_program", "named_call", "print_saved_residuals", "saved_residuals", "value_and_grad", "vjp", "vmap",
    "ShapeDtypeStruct", "LinearFunction", "Program",
]


def _named(wrapper, fun, kind):
    try:
        functools.update_wrapper(wrapper, fun)
        wrapper.__name__ = f"{kind}({fun.__name__})"
        wrapper.__qualname__ = f"{kind}({getattr(fun, '__qualname__', fun.__name__)})"
    except AttributeError:  # a partial, or an object with __call__
        wrapper.__name__ = kind
    return wrapper


Program._repr_html_ = _html.of_program
_stages.add_to_jit()

# --- jit ---


def jit(fun=None, /, *, static_argnums=None, static_argnames=None, donate_argnums=None, donate_argnames=None,
        inline=False, strict_in_place=False, strict_native=False, sizes="automatic", rewrites=(), numerics="relaxed"):
    """A function like `fun`, compiled as one native program for each kind of arguments.

    It is traced once for each structure, shapes and dtypes of its arguments, and each value of the static ones
    (`static_argnums`, `static_argnames`; they are hashable). Of numbers and names one completes the other where it is
    given alone. The memory of donated arguments is used for results; they cannot be read afterwards. A UserWarning names
    those of whose memory no result can be made. With `inline`, calls of it in other functions that are compiled become part
    of their code, as tn.inline_() says. With `strict_in_place` an update, x.at[i].set(v) and its kin, that copies an array
    of more than 64 elements is an error, which names the update and what forces the copy. With `strict_native` a function that is
    no native program as a whole is an error, which names what keeps it from that.

    With `sizes` "automatic", an axis in which a later call differs has any size from then on: the function is traced once
    more, with a tn.Dim in the array's shape, and no more for sizes of at least 2; where it needs the number, as in
    range(len(x)), it is traced for each size. "fixed" traces for each, "symbolic" has all axes so from the first call on, and
    raises what keeps a function from it. Sizes with names are so, too: sizes={"x": ("T", None), "y": "T"} names the first
    axes of x and y, by an argument's name or number; a call where they differ is a ShapeError that names both.

    `rewrites` are rules (tn.rule) that are applied beside the library's. With `numerics` "strict" sums are taken in the order
    in which they are written, and only exact rules are applied.

    >>> import tenon as tn, tenon.numpy as tnp
    >>> tn.jit(lambda x: x * 2 + 1)(tnp.arange(3))
    Array([1, 3, 5], dtype=int64)
    """
    if fun is None:
        return functools.partial(jit, static_argnums=static_argnums, static_argnames=static_argnames,
                                 donate_argnums=donate_argnums, donate_argnames=donate_argnames, inline=inline,
                                 strict_in_place=strict_in_place, strict_native=strict_native, sizes=sizes,
                                 rewrites=rewrites, numerics=numerics)
    if not callable(fun):
        raise _core.OptionError(f"jit: {fun!r} is not callable.")
    if isinstance(fun, staticmethod):
        raise _core.OptionError("jit: staticmethod arguments are not supported. Write @staticmethod above @jit.")
    if inspect.isgeneratorfunction(fun):
        raise _core.OptionError(f"jit: Expected a function, got a generator function: {fun!r}. Return a list of what it yields.")
    if config.disable_jit:
        return fun
    static = completed(fun, static_argnums, static_argnames, "static")
    donated = completed(fun, donate_argnums, donate_argnames, "donate")
    if set(static[0]) & set(donated[0]) or set(static[1]) & set(donated[1]):
        raise _core.OptionError("jit: an argument is either static or donated, not both.")
    jitted = _core.jit(fun, getattr(fun, "__name__", "function"), static[0], static[1], donated[0], donated[1],
                       strict_in_place, strict_native, bool(inline), *_sizes(fun, sizes))
    if numerics not in ("relaxed", "strict"):
        raise _core.OptionError(f"jit: numerics is 'relaxed' or 'strict', not {numerics!r}.")
    _core.set_rewrites(jitted, rewrites, numerics == "strict")
    functools.update_wrapper(jitted, fun)
    jitted._static = static
    return jitted


def _sizes(fun, sizes):
    """What `sizes` of jit says: a mode, and names of axes by an argument's number and by its name."""
    if isinstance(sizes, str):
        if sizes not in ("automatic", "fixed", "symbolic"):
            raise _core.OptionError(f"jit: sizes is 'automatic', 'fixed', 'symbolic' or a dict of names, not {sizes!r}.")
        return sizes, {}, {}
    if not isinstance(sizes, dict):
        raise _core.OptionError(f"jit: sizes is a str, or a dict from arguments to names of their axes, not {sizes!r}.")
    numbers, names = {}, {}
    for argument, axes in sizes.items():
        axes = (axes,) if isinstance(axes, str) else axes
        if not isinstance(axes, (tuple, list)) or not all(a is None or isinstance(a, str) for a in axes):
            raise _core.OptionError(f"jit: sizes of {argument!r} is a name, or a tuple with a name or None for each axis, not {axes!r}.")
        (names if isinstance(argument, str) else numbers)[argument] = tuple(axes)
    try:
        parameters = inspect.signature(fun).parameters.values()
    except (ValueError, TypeError):
        return "automatic", numbers, names
    positional = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    any_number = any(p.kind == p.VAR_POSITIONAL for p in parameters)
    any_name = any(p.kind == p.VAR_KEYWORD for p in parameters)
    for argument in sizes:
        known = (any_name or argument in {p.name for p in parameters} if isinstance(argument, str)
                 else -len(positional) <= argument and (any_number or argument < len(positional)))
        if not known:
            raise _core.OptionError(f"jit: sizes names the argument {argument!r}, which the function does not have.")
    numbers = {n + len(positional) if n < 0 else n: axes for n, axes in numbers.items()}
    for name, axes in list(names.items()):
        if name in positional:
            numbers.setdefault(positional.index(name), axes)
    for number, axes in numbers.items():
        if number < len(positional):
            names.setdefault(positional[number], axes)
    return "automatic", numbers, names


class disable_jit:  # noqa: N801
    """A context in which jit() returns functions as they are, to look at values with a debugger; disable_jit(False)
    ends it inside."""

    def __init__(self, disable=True):
        self.disable = disable

    def __enter__(self):
        self.before, config.disable_jit = config.disable_jit, self.disable

    def __exit__(self, *_):
        config.disable_jit = self.before


# --- derivatives ---


def grad(fun, argnums=0, has_aux=False, holomorphic=False, allow_int=False, reduce_axes=()):
    """The gradient of a function that returns one real number, a tree like argument `argnums` (a tuple for several).

    With `has_aux` the function returns (number, auxiliary), and the result is (gradient, auxiliary). With `holomorphic`
    arguments and number are complex, and the result is the derivative; with `allow_int` arguments may be integers, whose
    gradients are zeros of NumPy's dtype float0. `reduce_axes` is taken and has no effect.

    >>> import tenon as tn
    >>> tn.grad(lambda x: x ** 3)(2.0)
    Array(12., dtype=float64, weak_type=True)
    """
    numbers, alone = numbers_of(argnums, "grad: argnums")
    if holomorphic or allow_int:
        both = _complex.value_and_grad(fun, numbers, alone, has_aux, holomorphic, "grad")

    def gradient(*args, **kwargs):
        if holomorphic or allow_int:
            value, slope = both(*args, **kwargs)
            return (slope, value[1]) if has_aux else slope
        value, slope = _core.value_and_grad(fun, numbers, alone, has_aux, True, args, kwargs)
        return (slope, value[1]) if has_aux else slope

    return _named(gradient, fun, "grad")


def value_and_grad(fun, argnums=0, has_aux=False, holomorphic=False, allow_int=False, reduce_axes=()):
    """(value, gradient), as grad() says; with `has_aux` the value is (number, auxiliary)."""
    numbers, alone = numbers_of(argnums, "value_and_grad: argnums")
    if holomorphic or allow_int:
        return _named(_complex.value_and_grad(fun, numbers, alone, has_aux, holomorphic, "value_and_grad"), fun,
                      "value_and_grad")

    def both(*args, **kwargs):
        return _core.value_and_grad(fun, numbers, alone, has_aux, False, args, kwargs)

    return _named(both, fun, "value_and_grad")


def jvp(fun, primals, tangents, has_aux=False):
    """(f(*primals), its derivative along the tangents); with `has_aux` also the auxiliary result."""
    return _core.jvp(fun, primals, tangents, has_aux)


def vjp(fun, *primals, has_aux=False):
    """(f(*primals), pull): pull maps a cotangent of the result to a tuple of cotangents of the primals. A reference among
    these has the cotangent of what is in it before the call."""
    return _rule_references.vjp(fun, primals, has_aux)


def linearize(fun, *primals, has_aux=False):
    """(f(*primals), push): push maps tangents of the primals to the tangent of the result."""
    return _core.linearize(fun, primals, has_aux)


def _jacobian(fun, argnums, has_aux, reverse, name, holomorphic):
    numbers, alone = numbers_of(argnums, f"{name}: argnums")

    def jacobian(*args, **kwargs):
        chosen = from_front(numbers, len(args))
        if any(_holds_lists(args[n]) for n in chosen if 0 <= n < len(args)):
            return _jacobian_in_lists(fun, args, kwargs, chosen, alone, has_aux, reverse)
        traced = fun if holomorphic or not reverse else _complex.with_real_results(fun, has_aux)
        return _core.jacobian(reverse, traced, numbers, alone, has_aux, args, kwargs)

    return _complex.jacobian(_named(jacobian, fun, name), numbers, holomorphic, name)


def _is_list(x):
    return isinstance(x, _core.List)


def _holds_lists(arg):
    return any(map(_is_list, tree.leaves(arg, is_leaf=_is_list)))


class _Stacked:
    """An argument with lists: arrays in place of them, which have as many rows, and back."""

    def __init__(self, arg):
        parts, self.structure = tree.flatten(arg, is_leaf=_is_list)
        self.lists = [_is_list(part) for part in parts]
        self.parts = [part.stack(len(part)) if of else part for part, of in zip(parts, self.lists)]
        self.arrays = self.structure.unflatten(self.parts)

    def with_lists(self, like):
        """`like`, a tree like `arrays` whose arrays may have axes in front of those that arrays have, with lists."""
        def listed(rows, stacked):
            def row(x, of, i):
                axis = x.ndim - of.ndim
                return tnp.take(x, i, axis=axis) if of.shape[0] else tnp.zeros(x.shape[:axis] + of.shape[1:], x.dtype)

            count = tree.leaves(stacked)[0].shape[0]
            made = _core.List(like=tree.map(lambda x, of: row(x, of, 0), rows, stacked))
            for i in range(count):
                made.push(tree.map(lambda x, of: row(x, of, i), rows, stacked))
            return made

        parts = self.structure.flatten_up_to(like)
        return self.structure.unflatten(
            [listed(part, stacked) if of else part for part, stacked, of in zip(parts, self.parts, self.lists)])


def _jacobian_in_lists(fun, args, kwargs, chosen, alone, has_aux, reverse):
    """A derivative in a list is a list as long as that one, of arrays of shape (*result.shape, *element.shape)."""
    stacked = {n: _Stacked(args[n]) for n in chosen}
    results = []

    def of_arrays(*given, **keywords):
        made = fun(*(stacked[i].with_lists(x) if i in stacked else x for i, x in enumerate(given)), **keywords)
        results.append(tree.structure(made[0] if has_aux else made))
        return made

    arrays = tuple(stacked[i].arrays if i in stacked else x for i, x in enumerate(args))
    made = _core.jacobian(reverse, of_arrays, chosen, alone, has_aux, arrays, kwargs)
    blocks = results[-1].flatten_up_to(made[0] if has_aux else made)
    if alone:
        blocks = [stacked[chosen[0]].with_lists(block) for block in blocks]
    else:
        blocks = [tuple(stacked[n].with_lists(part) for n, part in zip(chosen, block)) for block in blocks]
    jacobian = results[-1].unflatten(blocks)
    return (jacobian, made[1]) if has_aux else jacobian


def jacfwd(fun, argnums=0, has_aux=False, holomorphic=False):
    """All derivatives of the result in argument `argnums`, by forward mode: a tree of arrays of shape
    (*result.shape, *argument.shape); of a list of arrays, a list of such. The arguments are real; with `holomorphic` they
    are complex, and so is the derivative of the function, which is one of a complex variable. Else a TypeError."""
    return _jacobian(fun, argnums, has_aux, False, "jacfwd", holomorphic)


def jacrev(fun, argnums=0, has_aux=False, holomorphic=False, allow_int=False):
    """As jacfwd(), by reverse mode: better where the result is smaller than the argument. Without `holomorphic` it is the
    results that are real. With `allow_int` arguments may be integers, whose derivatives are zeros of NumPy's dtype
    float0."""
    if allow_int and not holomorphic:
        return _named(_complex.jacrev_beside_integers(fun, *numbers_of(argnums, "jacrev: argnums"), has_aux), fun, "jacrev")
    return _jacobian(fun, argnums, has_aux, True, "jacrev", holomorphic)


jacobian = jacrev


def hessian(fun, argnums=0, has_aux=False, holomorphic=False):
    """All second derivatives: jacfwd of jacrev."""
    return jacfwd(jacrev(fun, argnums, has_aux, holomorphic), argnums, has_aux, holomorphic)


def hvp(fun, primals, tangents):
    """The Hessian of `fun` at the primals times the tangents, without the Hessian."""
    return jvp(grad(fun), primals, tangents)[1]


# --- batches ---


def vmap(fun, in_axes=0, out_axes=0, axis_name=None, axis_size=None, spmd_axis_name=None):
    """`fun` for every lane: arguments have one axis more, where `in_axes` says (None: the same for all lanes), and
    results where `out_axes` says. Both are ints, None, or trees of them above the arguments' or the result's tree. By
    `axis_name` lanes know each other: lax.psum(x, axis_name) and its kin. `spmd_axis_name` is taken and has no effect.

    >>> import tenon as tn, tenon.numpy as tnp
    >>> tn.vmap(lambda x: x / tn.lax.psum(x, "i"), axis_name="i")(tnp.array([1.0, 3.0])).tolist()
    [0.25, 0.75]
    """
    axis = axis_text(axis_name)
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    if not (in_axes is None or isinstance(in_axes, (int, tuple)) or hasattr(in_axes, "__index__")):
        raise _core.OptionError(f"vmap: in_axes is an int, None, or a tuple with an entry an argument, not {in_axes!r}.")

    def lanes(fun, in_axes, out_axes, args, kwargs):
        return _core.vmap(fun, in_axes, out_axes, axis_size, axis, args, kwargs)

    def batched(*args, **kwargs):
        if _lanes.holds_references(args):
            return _lanes.over_references(lanes, fun, in_axes, out_axes, args, kwargs)
        return lanes(fun, in_axes, out_axes, args, kwargs)

    return _named(batched, fun, "vmap")


# --- seeing inside ---


def make_program(fun, *, return_shape=False):
    """The Program that a function is at given arguments, in place of which a ShapeDtypeStruct may stand, or whatever has a
    shape and a dtype: what make_jaxpr is in JAX."""

    def program(*args, **kwargs):
        args, kwargs = _stages.stand_ins((args, kwargs))
        made = _core.make_program(fun, args, kwargs, True)
        return (made, eval_shape(fun, *args, **kwargs)) if return_shape else made

    return _named(program, fun, "make_program")


def explain(fun):
    """What a function becomes when it is compiled at given arguments, as text: kernels, bytes, copies, and why.

    >>> text = explain(lambda x: x + 1)(2.0)
    """

    def explained(*args, **kwargs):
        return _html.Explanation(_core.explain(fun, *args, **kwargs))

    return _named(explained, fun, "explain")


def saved_residuals(fun, *args, **kwargs):
    """What reverse mode keeps of a function at these arguments, as text."""
    return _core.saved_residuals(fun, args, kwargs, False)


def print_saved_residuals(fun, *args, **kwargs):
    """Prints the same with, for each array, its bytes in all and a step, how it is encoded, what reads it, why it is
    kept and not computed again, and what would keep less."""
    print(_core.saved_residuals(fun, args, kwargs, True))


def eval_shape(fun, *args, **kwargs):
    """The shapes and dtypes that a function would return; nothing is computed."""
    results = []

    def shaped(args, kwargs):
        results.append(_stages.shapes(fun(*args, **kwargs)))
        return ()

    _core.make_program(shaped, _stages.stand_ins((args, kwargs)), {}, False)
    return results[0]


def named_call(fun, *, name=None):
    """`fun`: lines of the user's are kept with every op, so that calls need no names."""
    return fun


class ensure_compile_time_eval(_core.CompileTime):  # noqa: N801
    """A context in which ops of concrete arrays run now, though a trace is open; ops of traced arrays are recorded."""
