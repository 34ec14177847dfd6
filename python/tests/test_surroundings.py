"""What stands around functions: text and attributes of traced arrays, seeds, shapes, memory of others, structures."""

import collections
import functools
import pickle

import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp
from tenon import lax, random, tree, tree_util
from tenon.flatten_util import ravel_pytree
from tenon.test_util import check_grads, check_jvp, check_vjp


def test_text_of_traced_arrays():
    seen = []
    tn.jit(lambda x: seen.extend([f"{x}", f"{x!r}", str(x)]) or x)(np.ones(2))
    assert seen == ["Traced<f64[2]>"] * 3
    with pytest.raises(TypeError):
        tn.jit(lambda x: f"{x:.2f}")(1.0)
    assert f"{tnp.ones(2)}" == "[1. 1.]" and f"{tnp.asarray(2.0):.3f}" == "2.000"


def test_references_as_text():
    r = tn.new_ref(np.zeros(2))
    assert repr(r) == str(r) == "Ref([0., 0.], dtype=float64)" and len(r) == 2
    seen = []
    tn.jit(lambda r: seen.append(repr(r)) or r[...])(r)
    assert seen == ["Ref<f64[2]>"]
    with pytest.raises(TypeError):
        len(tn.new_ref(1.0))
    tn.freeze(r)
    assert repr(r) == "Ref<ended>"


def test_what_is_known_of_arrays_without_values():
    kept = []
    tn.jit(lambda x: kept.append(x) or x)(np.ones((2, 3), np.float32))
    donated = tnp.ones((2, 3), tnp.float32)
    tn.jit(lambda x: x + 1, donate_argnums=0)(donated)
    for x in (kept[0], donated):
        assert (x.shape, x.dtype, x.ndim, x.size, x.nbytes, x.weak_type) == ((2, 3), np.float32, 2, 6, 24, False)
        assert x.aval == tn.ShapeDtypeStruct((2, 3), "float32") and not hasattr(x, "there_is_none")
    with pytest.raises(tn.LeakError):
        kept[0] + 1
    with pytest.raises(RuntimeError, match="donated"):
        donated + 1
    assert repr(kept[0]) == "Leaked<f32[2,3]>" and repr(donated) == "Array(donated f32[2,3])"


def test_seeds():
    wide, narrow = [4294967295, 4294967295], [0, 4294967295]
    assert random.key(-1).tolist() == wide == tn.jit(random.key)(-1).tolist() and random.key(2 ** 32 + 5).tolist() == [1, 5]
    assert random.key(np.int32(-1)).tolist() == narrow == tn.jit(random.PRNGKey)(np.int32(-1)).tolist()
    assert random.key(np.uint8(200)).tolist() == [0, 200] and random.key(True).tolist() == [0, 1]
    assert tn.vmap(random.PRNGKey)(np.arange(3)).tolist() == [[0, 0], [0, 1], [0, 2]]
    drawn = lax.fori_loop(0, 2, lambda i, c: c + random.uniform(random.key(i)), 0.0)
    assert np.allclose(drawn, random.uniform(random.key(0)) + random.uniform(random.key(1)))
    with tn.enable_x64(False):
        assert random.key(-1).tolist() == narrow and random.key(2 ** 32 + 5).tolist() == [0, 5]
    for seed in (1.5, np.ones(()), np.arange(2)):
        with pytest.raises((TypeError, AttributeError)):
            random.key(seed)


def test_stop_gradient_of_trees():
    stopped = lax.stop_gradient({"a": 1.0, "b": (2, True, None)})
    assert stopped == {"a": 1.0, "b": (2, True, None)}
    with pytest.raises(TypeError, match="'text', a str, is no array"):
        lax.stop_gradient([1.0, "text"])
    assert tn.grad(lambda x: x * lax.stop_gradient([x, 1])[0])(3.0) == 3


def test_conditions_with_an_operand_for_each_branch():
    for pred, wanted in ((True, 4), (False, 10)):
        assert lax.cond(pred, 3.0, lambda x: x + 1, 5.0, lambda x: x * 2) == wanted
        assert tn.jit(lambda p: lax.cond(p, 3.0, lambda x: x + 1, 5.0, lambda x: x * 2))(pred) == wanted
    assert lax.cond(False, lambda x: x, lambda x: -x, operand=2.0) == -2
    assert lax.cond(True, lambda x: 1, lambda x: 2, operand=None) == 1
    with pytest.raises(TypeError):
        lax.cond(True, lambda x: x, lambda x: x, 1.0, operand=1.0)


def test_compile_time_beside_traced_arrays():
    def f(x):
        with tn.ensure_compile_time_eval():
            known = float(tnp.sin(tnp.ones(2))[0])
            made = (x == x, tn.jit(lambda a: a * 2)(x), tn.grad(lambda t: t * x)(2.0), lax.fori_loop(0, 3, lambda i, c: c * x, 1.0),
                    tn.vmap(lambda b: b * x)(tnp.ones(2))[1], lax.cond(x > 0, lambda: x, lambda: -x))
        return *made, known

    for g in (f, tn.jit(f), lambda x: tn.tree.map(lambda y: y[0], tn.vmap(f)(np.full(2, x)))):
        assert np.allclose(g(2.0), [1, 4, 2, 8, 2, 2, np.sin(1)])


def test_shapes_and_dtypes():
    s = tn.ShapeDtypeStruct((2, 3), np.float32, weak_type=True)
    assert repr(s) == "ShapeDtypeStruct(shape=(2, 3), dtype=float32, weak_type=True)" and len(s) == 2 and s.sharding is None
    assert s.update(shape=(4,), weak_type=False) == tn.ShapeDtypeStruct([4], "float32") and s.size == 6
    assert tn.ShapeDtypeStruct.like(tnp.ones(2)) == tn.ShapeDtypeStruct((2,), float)
    assert tn.ShapeDtypeStruct.like(1).weak_type and tn.ShapeDtypeStruct((), "S3").dtype == np.dtype("S3")
    assert tn.jit(lambda x: x).eval_shape(tn.ShapeDtypeStruct((3,), "int8")) == tn.ShapeDtypeStruct((3,), "int8")
    with pytest.raises(ValueError, match="dtype"):
        tn.ShapeDtypeStruct((2,), None)
    with pytest.raises(TypeError, match="color"):
        s.update(color=1)
    assert tnp.finfo(np.float32).bits == 32 and tnp.finfo(tnp.float16).max == 65504


@pytest.mark.parametrize("value", [np.datetime64("2020"), np.timedelta64(3, "s"), np.array("2020", "M8[D]")])
def test_dates_are_no_numbers(value):
    for call in (tnp.asarray, lambda x: tnp.ones(2) + x, tn.jit(lambda x: x)):
        with pytest.raises(TypeError):
            call(value)


@pytest.mark.parametrize("f", [
    tnp.ravel, tnp.squeeze, tnp.atleast_1d, tnp.atleast_2d, tnp.hstack, tn.device_put, tn.checkpoint(lambda x: x), tn.nn.identity,
    lax.stage, lambda b: tnp.concatenate([b]), lambda b: lax.scan(lambda c, x: (c, x), b, np.ones(1))[0],
    lambda b: tn.vjp(lambda x: x, b)[0], lax.stop_gradient, lambda b: lax.cond(True, lambda x: x, lambda x: x, b),
])
def test_results_are_no_memory_of_the_caller(f):
    given = np.arange(70.0).reshape(1, 70)
    made = f(given)
    before = np.array(made)
    given[:] = -1
    assert np.array_equal(made, before)


def test_asarray_shares():
    given = np.arange(70.0)
    made = tnp.asarray(given)
    given[:] = -1
    assert made[0] == -1 and tnp.array(given)[0] == -1


def test_counted_loops_keep_nothing():
    # The numbers of the steps would be 8 PiB.
    with pytest.raises(ZeroDivisionError):
        lax.fori_loop(0, 2 ** 50, lambda i, c: tn.pure_callback(lambda i: 1 / 0, tn.ShapeDtypeStruct((), "float64"), i), 0.0)
    assert lax.fori_loop(5, 9, lambda i, c: c * 10 + i, 0.0) == 5678
    assert lax.fori_loop(0, 4, lambda i, c: c * 1j + i, 0j) == 2 + 2j


Pair = collections.namedtuple("Pair", "x y")


@pytest.mark.parametrize("value", [
    1, None, [1, {"a": 2}], (1, (2,)), Pair(1, [2]), collections.OrderedDict(b=1, a=2), collections.defaultdict(int, x=1)])
def test_structures_are_pickled(value):
    structure = tree.structure(value)
    assert pickle.loads(pickle.dumps(structure)) == structure
    assert tree_util.PyTreeDef.from_nodes(structure.nodes()).unflatten(tree.leaves(value)) == value


def test_structures():
    structure = tree.structure([1, (2, None)])
    assert structure.compose(tree.structure({"k": 1})) == tree.structure([{"k": 1}, ({"k": 1}, None)])
    assert structure.walk(lambda children, data: sum(x or 0 for x in children), None, [1, 2]) == 3
    assert structure.node_data() == (list, None) and tree.structure(1).node_data() is None
    assert tree.structure(Pair(1, 2)).node_data() == (Pair, Pair)
    assert tree_util.treedef_tuple(structure.children()) == tree.structure((1, (2, None)))
    assert tree_util.tree_transpose(tree.structure({"a": 0, "b": 0}), None, {"a": [1, 2], "b": [3, 4]}) == [
        {"a": 1, "b": 3}, {"a": 2, "b": 4}]
    with pytest.raises(TypeError, match="Mismatch"):
        tree_util.tree_transpose(tree.structure([0, 0]), tree.structure([0]), [1, [2, 3]])
    assert tree_util.is_tree_node(Pair) and tree_util.flatten_one_level(Pair(1, [2]))[0] == [1, [2]]
    with pytest.raises(ValueError):
        structure.walk(lambda *_: 0, None, [1])
    for nodes in ([], [(1, 1, None, None, None)], [(9, 0, None, None, None)], [(4, 1, (1, 2), None, None), (0, 0, None, None, None)],
                  [(2, 2, None, None, None), (0, 0, None, None, None)], [(0, 0, None, None, None)] * 2, [(8, 0, None, None, None)]):
        with pytest.raises(ValueError):
            tree_util.PyTreeDef.from_nodes(nodes)


def test_partials():
    add = tree_util.Partial(tree_util.Partial(lambda a, b: a - b, 5.0), 2.0)
    assert add.args == (2.0,) and add() == 3 and tn.jit(lambda p: p())(add) == 3
    shown = functools.partial(print, 1)
    one, other = tree_util.Partial(shown, 2), tree_util.Partial(functools.partial(print, 1), 2)
    assert one.func == shown and tree_util.Partial(shown, 3).func == one.func and hash(one.func) == hash(shown)
    assert other.args == (2,)


def test_trees_as_vectors():
    vector, back = ravel_pytree({"a": np.ones((2, 2), np.float32), "b": 3})
    assert vector.dtype == np.float32 and vector.tolist() == [1, 1, 1, 1, 3]
    assert back(vector)["b"].dtype == np.int64 and back(vector)["a"].shape == (2, 2)
    with pytest.raises(ValueError, match="vector"):
        back(vector[1:])
    with pytest.raises(TypeError, match="dtype"):
        back(vector.astype("float64"))
    assert ravel_pytree([])[1](ravel_pytree([])[0]) == [] and ravel_pytree([])[0].dtype == np.float32
    # Numbers of Python's are arrays of their dtypes, as in JAX; of leaves of one dtype the vector may have any.
    vector, back = ravel_pytree({"a": np.ones(2, np.float32), "b": 3.5})
    assert vector.dtype == np.float64 and not vector.weak_type and back(vector)["a"].dtype == np.float32
    assert ravel_pytree([True, np.uint8(3)])[0].dtype == np.uint8
    vector, back = ravel_pytree((np.ones(2, np.float32), np.float32(2)))
    assert back(np.arange(3))[1].dtype == np.int64 and back(np.arange(3.0)).__class__ is tuple
    vector, back = ravel_pytree((np.int32([1, 2]), np.complex64([1j])))
    assert vector.dtype == np.complex64 and back(vector * 1j)[0].tolist() == [0, 0] and back(vector)[1].tolist() == [1j]
    rows = tn.jit(tn.vmap(back))(tnp.stack([vector, 2 * vector]))
    assert rows[0].tolist() == [[1, 2], [2, 4]] and rows[0].dtype == np.int32
    with pytest.raises(TypeError, match="ravel_pytree.*leaf"):
        ravel_pytree({"a": "text"})
    _, back = ravel_pytree((np.ones(2), np.ones(3)))
    assert tn.grad(lambda v: back(v)[1].sum() ** 2)(np.ones(5)).tolist() == [0, 0, 6, 6, 6]


def test_derivatives_are_checked():
    check_grads(lambda x, y: tnp.sin(x) * y["a"], (0.3, {"a": np.arange(3.0)}), 2)
    check_grads(lambda x: x * (1 + 2j) * tnp.conj(x), (np.array([0.3 + 1j]),), 2)

    @tn.custom_jvp
    def wrong(x):
        return x ** 2

    wrong.defjvp(lambda primals, tangents: (primals[0] ** 2, 3 * primals[0] * tangents[0]))
    for check in (functools.partial(check_grads, order=1, modes="fwd"), functools.partial(check_grads, order=1, modes="rev")):
        with pytest.raises(AssertionError):
            check(wrong, (1.0,))
    with pytest.raises(AssertionError):
        check_jvp(tnp.sin, lambda x, v: (tnp.sin(*x), v[0]), (0.5,))
    with pytest.raises(AssertionError):
        check_vjp(tnp.sin, lambda x: (tnp.sin(x), lambda c: (c,)), (0.5,))
    with pytest.raises(ValueError, match="modes"):
        check_grads(tnp.sin, (1.0,), 1, modes=["up"])
