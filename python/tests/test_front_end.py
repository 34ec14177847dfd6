"""What JAX's own tests ask of functions and transformations in general."""

import dataclasses

import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp
from tenon import tree_util


# --- jit ---


def test_what_jit_does_not_take():
    def generator(x):
        yield x

    with pytest.raises(TypeError, match="generator function"):
        tn.jit(generator)
    with pytest.raises(TypeError, match="staticmethod arguments are not supported"):
        tn.jit(staticmethod(lambda x: x))

    def h(a, /, b, c, *args, **kwargs):
        return a

    for name in ("a", "args"):
        with pytest.raises(ValueError, match=f"names '{name}'"):
            tn.jit(h, static_argnames=name)
    assert float(tn.jit(h, static_argnums=(1, -999), static_argnames=("any",))(1.0, 2, 3, any="x")) == 1

    class WithoutSignature:
        @property
        def __signature__(self):
            raise TypeError("no signature")

        def __call__(self, x):
            return x

    with pytest.raises(ValueError, match="donate_argnums instead"):
        tn.jit(WithoutSignature(), donate_argnames="x")


def test_numbers_and_names_complete_each_other_where_one_is_given():
    seen = []

    def f(x, y):
        seen.append((isinstance(x, tn.Array), isinstance(y, tn.Array)))
        return 1

    tn.jit(f, static_argnums=1)(1, y=2)
    tn.jit(f, static_argnums=1, static_argnames=())(1, y=2)
    tn.jit(f, static_argnums=(), static_argnames="x")(1, 2)
    assert seen == [(True, False), (True, True), (True, True)]


def test_static_arguments_that_cannot_be_compared():
    class Bad:
        def __hash__(self):
            return 1

        def __eq__(self, other):
            raise NotImplementedError("not so")

    f = tn.jit(lambda x, y: x, static_argnums=1)
    f(1, Bad())
    with pytest.raises(ValueError, match="(?s)compared by ==, which raises NotImplementedError: not so"):
        f(1, Bad())


def test_donations_in_vain_are_told():
    with pytest.warns(UserWarning, match=r"Some donated buffers were not usable: f32\[2\], i32\[2\]\. No result of <lambda>"):
        tn.jit(lambda x, y: x.sum() + y.sum(), donate_argnums=(0, 1))(tnp.ones(2, "float32"), tnp.ones(2, "int32"))


def test_clear_cache():
    traced = []

    def f(x):
        traced.append(1)
        return x + 1

    g, again = tn.jit(f), tn.jit(lambda x: again.clear_cache() or x * 2)
    compiled = g.lower(1.0).compile()
    g(1.0)
    g.clear_cache()
    assert compiled(1.0) == 2 and len(traced) == 2
    tn.clear_caches()
    assert g(1.0) == 2 and len(traced) == 3
    assert again(2.0) == 4 and again(2.0) == 4  # while it is traced

    @tn.jit
    def with_callback(x):
        tn.debug.callback(lambda _: (tn.clear_caches(), with_callback.clear_cache()), x)
        return x + 1

    assert [float(with_callback(1.0)) for _ in range(3)] == [2, 2, 2]  # while it runs


# --- operands ---


def test_masks_are_not_lost():
    masked = np.ma.array([1, 2, 3], mask=[True, False, True])
    for f in (tnp.sum, tnp.asarray, tn.jit(lambda x: x), lambda x: x + tnp.ones(3)):
        with pytest.raises(ValueError, match="masked arrays are not supported"):
            f(masked)
    assert tnp.sum(masked.filled(0)) == 2


def test_objects_that_say_they_are_arrays():
    class Wrapped:
        def __init__(self, x):
            self.x = x

        def __jax_array__(self):
            return self.x

    assert tnp.asarray(Wrapped(tnp.ones(2))).tolist() == [1, 1] and tnp.cos(Wrapped(Wrapped(0.0))) == 1
    assert tn.jit(lambda x: x * 2)(Wrapped(np.arange(3))).tolist() == [0, 2, 4]
    endless = Wrapped(None)
    endless.x = endless
    with pytest.raises(RecursionError):
        tnp.sin(endless)


@pytest.mark.parametrize("convert", [int, float, complex])
def test_numbers_of_arrays_with_axes(convert):
    for x in (tnp.arange(3.0), tnp.ones(1)):
        with pytest.raises(TypeError, match="only an array without axes is a number"):
            convert(x)
        with pytest.raises(TypeError, match="only an array without axes"):
            tn.jit(convert)(x)
    assert convert(tnp.array(2)) == 2 and tnp.ones(1).item() == 1


def test_large_integers_become_real():
    assert float(tn.lax.convert_element_type(2**100, "float32")) == 2.0**100


def test_shapes_in_place_of_arrays():
    class Described:
        shape, dtype = (2, 3), np.dtype("float32")

    assert tn.eval_shape(lambda x: x @ x.T, Described()).shape == (2, 2)
    assert tn.make_program(lambda x: x * 2)(Described()).inputs == ("f32[2,3]",)
    with pytest.raises(ValueError, match="cannot have None"):
        tn.ShapeDtypeStruct((None, 2), "float32")


# --- derivatives ---


def test_derivatives_in_numbers_are_weakly_typed():
    for of in (tn.grad, tn.jacfwd, tn.jacrev):
        assert of(lambda x: x * 2)(1.0).weak_type and not of(lambda x: x * 2)(tnp.ones(())).weak_type


def test_jacobians_of_complex_numbers():
    with pytest.raises(TypeError, match="jacfwd requires real-valued inputs .* but got complex128"):
        tn.jacfwd(tnp.sin)(1 + 2j)
    with pytest.raises(TypeError, match="jacrev requires real-valued outputs .* but got complex128"):
        tn.jacrev(tnp.sin)(1 + 2j)
    for of in (tn.jacfwd, tn.jacrev):
        assert complex(of(tnp.sin, holomorphic=True)(1 + 2j)) == pytest.approx(np.cos(1 + 2j))
    assert complex(tn.jacrev(lambda z: abs(z) ** 2)(1 + 2j)) == pytest.approx(2 - 4j)
    assert complex(tn.jacfwd(lambda x: x * 1j)(2.0)) == 1j


def test_tangents_have_the_arguments_dtypes():
    push = tn.linearize(lambda x: x * 2, 1.0)[1]
    assert float(push(3.0)) == 6
    with pytest.raises(ValueError, match="tangent values inconsistent .* leaf 0 is f64.*, and its tangent i64"):
        push(1)
    whole = tn.linearize(tnp.sum, tnp.arange(3))[1]
    whole(np.zeros(3, tn.float0))
    with pytest.raises(ValueError, match="(?s)tangent values inconsistent.*float0"):
        whole(tnp.ones((3, 2)))


def test_linear_transpose_is_a_tree():
    transposed = tn.jit(lambda x: tn.linear_transpose(lambda x: 2.0 * x, x))(1.0)
    assert [float(c) for c in tn.jit(lambda f, x: f(x))(transposed, 3.0)] == [6.0]
    of_list = tn.linear_transpose(lambda x: [x, x], 1.0)
    with pytest.raises(TypeError, match="cotangent tree does not match"):
        of_list(1.0)
    with pytest.raises(TypeError, match="cotangent type does not match"):
        of_list([1.0, tnp.ones(2)])
    for fun, cotangent in ((lambda x: 1j * x, 1.0), (lambda x: x, 1j)):
        with pytest.raises(TypeError, match="cotangent type does not match"):
            tn.linear_transpose(fun, 1.0)(cotangent)


def test_args_res():
    x, w = tnp.arange(6.0).reshape(2, 3), tnp.ones((3, 3))
    _, pull = tn.vjp(lambda x, d: (2 * x) @ d["w"] + d["b"], x, {"w": w, "b": tnp.zeros(3)})
    assert pull.args_res[0] is not None and isinstance(pull.args_res[1]["b"], tn.ad.NotNeeded)
    pull.args_res[1] = None
    assert pull.args_res[1]["w"] is None
    with pytest.raises(tn.errors.TreeError, match="(?s)was taken away from it.*args_res"):
        pull(tnp.ones((2, 3)))
    with pytest.raises(tn.errors.ShapeError, match="args_res: leaf 2 of the arguments"):
        pull.args_res[1] = {"w": tnp.ones(2), "b": None}
    with pytest.raises(ValueError, match="there are 2 arguments, and 1 entries"):
        pull.args_res = [None]
    pull.args_res[1] = {"w": w, "b": None}
    assert pull(tnp.ones((2, 3)))[0].tolist() == [[6.0] * 3] * 2


def test_args_res_through_compiled_functions():
    @tn.jit
    def forward():
        y, pull = tn.vjp(lambda x, y: x * y, 2.0, 3.0)
        pull.args_res = [None, None]
        return y, pull

    @tn.jit
    def backward(pull):
        pull.args_res = [2.0, 3.0]
        return pull(1.0)

    y, pull = forward()
    assert float(y) == 6 and [float(g) for g in backward(pull)] == [3, 2] and tn.tree.leaves(pull) == []


def test_cotangents_of_rules_take_the_precision_of_their_arguments():
    @tn.custom_vjp
    def f(x):
        return x.astype("float32") * 2

    f.defvjp(lambda x: (f(x), None), lambda _, g: (g * 2,))
    slope = tn.grad(lambda x: f(x).sum())(tnp.ones(3, "bfloat16"))
    assert slope.dtype.name == "bfloat16" and slope.astype("float32").tolist() == [2, 2, 2]


def test_checkpoint_gives_arrays():
    assert float(tn.checkpoint(lambda x, n: x.sum() * n, static_argnums=1)(2.0, 3)) == 6


def test_axes_are_no_bools():
    with pytest.raises(TypeError, match="in_axes must be an int"):
        tn.vmap(lambda x: x, in_axes=False)(tnp.zeros(3))


def test_names():
    def f(x):
        return x

    assert tn.make_jaxpr(f).__name__ == "make_jaxpr(f)" and tn.grad(f).__qualname__ == f"grad({f.__qualname__})"


# --- trees ---


@pytest.mark.parametrize("made", ["hello", (1, 2, 3), (7, 7)])
def test_functions_that_take_nodes_apart_badly(made):
    node = type("Node", (), {})
    tree_util.register_pytree_node(node, lambda _: made, lambda *_: node())
    with pytest.raises(ValueError, match="takes Node apart returns"):
        tree_util.tree_leaves(node())


def test_static_parts_that_cannot_be_compared():
    @tree_util.register_dataclass
    @dataclasses.dataclass
    class Box:
        x: object = dataclasses.field(metadata={"static": True})

    f = tn.jit(lambda box: 1)
    f(Box(tnp.arange(4)))
    with pytest.raises(ValueError, match="(?s)static parts of two nodes of the class .*Box cannot be compared.*arrays are children"):
        f(Box(tnp.arange(4)))
    assert int(f(Box({"a": [1]}))) == 1


def test_fields_of_dataclasses():
    @dataclasses.dataclass
    class Both:
        x: int
        y: int = 1
        z: int = dataclasses.field(default=2, init=False)

    for data, meta, text in ((["x"], [], "Missing fields: {'y'}"), (["x", "y"], ["w"], "Unexpected fields: {'w'}"),
                             (["x", "y"], ["x"], "Overlapping fields: {'x'}")):
        with pytest.raises(ValueError, match=text):
            tree_util.register_dataclass(Both, data, meta)
    with pytest.raises(ValueError, match="Unexpected fields: {'z'}"):
        tree_util.register_dataclass(Both)
    tree_util.register_dataclass(Both, drop_fields="z")
    assert tree_util.tree_leaves(Both(5, 6)) == [5, 6]


def test_keys_and_static_fields():
    assert hash(tree_util.FlattenedIndexKey(1)) != hash(tree_util.SequenceKey(1))
    assert tn.tree.static(metadata={"static": False}).metadata == {"static": False}
