"""tenon.export: functions as bytes, and back."""

import collections
import hashlib
import json
import random
import struct
from typing import NamedTuple

import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp
from tenon import export as ex

ERRORS = (tn.errors.ParseError, tn.errors.TreeError)


def written(fun, *args, vjp_order=0, **kwargs):
    return ex.deserialize(ex.export(tn.jit(fun))(*args, **kwargs).serialize(vjp_order))


def f(p, x, *, k):
    return {"y": tnp.sum(tnp.sin(p["w"] * x)) * k, "z": (x, None)}


def test_round_trip():
    args = {"w": tnp.ones(3)}, tnp.arange(3.0)
    exported = ex.export(tn.jit(f))({"w": tn.ShapeDtypeStruct((3,), "float64")}, args[1], k=2.0)
    read = ex.deserialize(exported.serialize())
    assert isinstance(exported.serialize(), bytearray) and read.fun_name == "f"
    for e in (exported, read):
        assert e.in_avals == (tn.ShapeDtypeStruct((3,), "float64"),) * 2 + (tn.ShapeDtypeStruct((), "float64"),)
        assert e.in_tree == tn.tree.structure((args, {"k": 2.0})) and e.out_tree == tn.tree.structure(f(*args, k=2.0))
        assert e.out_avals == (tn.ShapeDtypeStruct((), "float64"), tn.ShapeDtypeStruct((3,), "float64"))
        made = e.call(*args, k=2.0)
        assert float(made["y"]) == pytest.approx(2 * np.sin(np.arange(3.0)).sum()) and made["z"][0].tolist() == [0, 1, 2]


def test_derivatives_and_batches():
    read = written(lambda x: tnp.sum(x ** 3), tn.ShapeDtypeStruct((2,), "float64"))
    x = tnp.array([1.0, 2.0])
    assert tn.grad(read.call)(x).tolist() == [3.0, 12.0] and read.has_vjp()
    assert tn.hessian(read.call)(x).tolist() == [[6.0, 0.0], [0.0, 12.0]]
    assert tn.jvp(read.call, (x,), (x,))[1].tolist() == 27.0
    assert tn.vmap(read.call)(tnp.stack([x, 2 * x])).tolist() == [9.0, 72.0]
    assert tn.jit(tn.grad(read.call))(x).tolist() == [3.0, 12.0]
    assert [g.tolist() for g in read.vjp().call(x, 2.0)] == [[6.0, 24.0]]
    assert [g.tolist() for g in ex.deserialize(read.vjp().serialize()).call(x, 2.0)] == [[6.0, 24.0]]


def test_vjp_beside_integers():
    assert written(lambda n, x: x * n, 2, 3.0).vjp().call(2, 3.0, 1.0)[0] is None


@tn.custom_jvp
def cubic(x):
    return x * x


cubic.defjvp(lambda p, t: (cubic(*p), t[0] * p[0] ** 3))


def test_rules_are_written_for_as_many_derivatives_as_asked_for():
    exported = ex.export(tn.jit(cubic))(3.0)
    assert float(tn.grad(tn.grad(exported.call))(3.0)) == float(tn.grad(tn.grad(cubic))(3.0)) == 27.0
    two = ex.deserialize(exported.serialize(vjp_order=2))
    assert float(two.call(3.0)) == 9.0 and float(tn.grad(two.call)(3.0)) == 27.0
    assert float(tn.grad(tn.jit(tn.grad(two.call)))(3.0)) == 27.0 and tn.vmap(tn.grad(two.call))(tnp.arange(3.0)).tolist() == [0, 1, 8]
    none = ex.deserialize(exported.serialize())
    assert float(none.call(3.0)) == 9.0 and not none.has_vjp() and two.has_vjp()
    for derivative in (tn.grad(none.call), tn.grad(tn.jit(lambda x: none.call(x)))):
        with pytest.raises(tn.errors.DifferentiationError, match="vjp_order=1"):
            derivative(3.0)
    with pytest.raises(tn.errors.DifferentiationError, match="written with those of 2, and not of 3"):
        tn.grad(tn.grad(tn.grad(two.call)))(3.0)


def test_captures_static_arguments_and_loops():
    weights, half = tnp.arange(4.0), tnp.array([1.5], "bfloat16")

    def g(n, x):
        return tn.lax.fori_loop(0, n, lambda i, c: c * 0.5 + weights, x).sum() + half.astype("float64")

    exported = ex.export(tn.jit(g, static_argnums=0))(3, weights)
    assert exported.in_avals == (tn.ShapeDtypeStruct((4,), "float64"),)
    assert ex.deserialize(exported.serialize()).call(weights).tolist() == g(3, weights).tolist()


@pytest.mark.parametrize("call, text", [
    (lambda e: e.call(1.0), "was exported for"), (lambda e: e.call({"a": tnp.ones(2)}), r"argument\[0\]\[0\]\['a'\] .* float64\[2\]"),
    (lambda e: e.call({"a": np.float32(1)}), "float32"), (lambda e: e.call({"a": 1j}), "complex128")])
def test_other_arguments_are_errors(call, text):
    with pytest.raises(ValueError, match=text):
        call(written(lambda d: d["a"] * 2, {"a": 1.0}))
    assert float(written(lambda d: d["a"] * 2, {"a": 1.0}).call({"a": 2})) == 4.0


def test_what_cannot_leave():
    with pytest.raises(ValueError, match="the result of `jit`"):
        ex.export(f)
    with pytest.raises(NotImplementedError, match="calls a function of Python's, at .*test_export.py"):
        written(lambda x: tn.debug.print("{}", x), 1.0)
    with pytest.raises(NotImplementedError, match="defaultdict"):
        written(lambda d: d["a"], collections.defaultdict(int, a=1.0))
    with pytest.raises(NotImplementedError, match="has the key <object"):
        written(lambda d: 1.0, {object(): 1.0})
    with pytest.raises(tn.errors.LeakError):
        tn.jit(lambda y: ex.export(tn.jit(lambda x: x + y))(1.0).call(1.0))(2.0)


class Point(NamedTuple):
    x: float
    y: float


@tn.tree_util.register_pytree_node_class
class Scaled:
    def __init__(self, x, unit):
        self.x, self.unit = x, unit

    def tree_flatten(self):
        return (self.x,), self.unit

    @classmethod
    def tree_unflatten(cls, unit, children):
        return cls(*children, unit)


def test_classes_are_registered_by_name():
    def swapped(p):
        return Scaled(p.y, "m"), {1: p.x, ("a", None): [p.y]}

    exported = ex.export(tn.jit(lambda p: Point(p.y, p.x)))(Point(1.0, 2.0))
    with pytest.raises(NotImplementedError, match="class Point .*\n  at .*\n.*register_namedtuple_serialization"):
        exported.serialize()
    assert ex.register_namedtuple_serialization(Point, serialized_name="test.Point") is Point
    with pytest.raises(ValueError, match="registered already"):
        ex.register_namedtuple_serialization(Point, serialized_name="other")
    blob = exported.serialize()
    assert ex.deserialize(blob).call(Point(1.0, 2.0)) == Point(2.0, 1.0)
    ex.register_pytree_node_serialization(Scaled, serialized_name="test.Scaled", serialize_auxdata=str.encode,
                                          deserialize_auxdata=bytes.decode)
    with pytest.raises(ValueError, match="no class of nodes"):
        ex.register_pytree_node_serialization(int, serialized_name="i", serialize_auxdata=repr, deserialize_auxdata=eval)
    made, others = written(lambda p: (Scaled(p.y, "m"), (p.x, [p.y])), Point(1.0, 2.0)).call(Point(1.0, 2.0))
    assert (float(made.x), made.unit, float(others[0])) == (2.0, "m", 1.0)
    assert float(written(lambda d: d["a", 1] + d["b", 2], {("a", 1): 1.0, ("b", 2): 2.0}).call({("a", 1): 1.0, ("b", 2): 2.0})) == 3.0
    with pytest.raises(tn.errors.TreeError, match="registered as 'test.Other'"):
        ex.deserialize(changed(blob, lambda h: h.update({"in": json.loads(json.dumps(h["in"]).replace("test.Point", "test.Other"))})))
    del swapped


# --- bytes that are not what serialize() writes ---

HEAD = len(ex._MAGIC) + 32


def sealed(body):
    return ex._MAGIC + hashlib.sha256(bytes(body)).digest() + bytes(body)


def changed(blob, change):
    """The blob with another header, and a digest that fits."""
    length, = struct.unpack_from("<Q", blob, HEAD)
    header = json.loads(blob[HEAD + 8:HEAD + 8 + length])
    header = change(header) or header
    text = json.dumps(header).encode()
    return sealed(struct.pack("<Q", len(text)) + text + blob[HEAD + 8 + length:])


def example():
    w = tnp.arange(4.0)
    return ex.export(tn.jit(lambda d: {"a": [tnp.sin(d["x"]) + w, None]}))({"x": w}).serialize()


@pytest.mark.parametrize("change", [
    lambda h: [1], lambda h: h.pop("program") and None, lambda h: h.update(program="program @x("), lambda h: h.update(vjp_order="1"),
    lambda h: h.update(captures=[]), lambda h: h.update(captures=[["float64", [2, 3]]]), lambda h: h.update(captures=[["float64", [-4]]]),
    lambda h: h.update(captures=[["float32", [8]]]), lambda h: h.update(captures=[["object", [4]]]),
    lambda h: h.update(captures=[["float64", [2**62, 2**62]]]), lambda h: h.update(weak_out=[1]), lambda h: h.update(weak_in=[]),
    lambda h: h.update({"in": []}), lambda h: h.update({"in": [["tuple", 3, None]]}), lambda h: h.update({"in": [["leaf", 0, None]] * 2}),
    lambda h: h.update({"in": [["tuple", 1, None]] * 100000 + [["leaf", 0, None]]}), lambda h: h.update({"out": [["dict", 1, None]]}),
    lambda h: h.update({"out": [["dict", 1, [["a"]]], ["leaf", 0, None]]}), lambda h: h.update({"out": [["tuple", 2**40, None]]}),
    lambda h: h.update({"out": [["named", 1, 5]]}), lambda h: h.update({"out": [["registered", 1, ["x", "zz"]]]}),
    lambda h: h.update(program="program @x(%0: f64[4], %1: f64[4]) {\n %2: f64[4] = host_call %0 {function={number=1}, "
                               "results=[f64[4]], batch=refuse, effect=false, guards=0}\n return %2\n}")])
def test_wrong_headers_are_errors(change):
    with pytest.raises(ERRORS):
        ex.deserialize(changed(example(), change))


def test_wrong_bytes_are_errors():
    blob, draw = bytes(example()), random.Random(5)
    assert ex.deserialize(blob).call({"x": tnp.zeros(4)})["a"][0].tolist() == [0, 1, 2, 3]
    for bad in [b"", b"tenon", ex._MAGIC, blob[:-1], blob + b"x", sealed(b""), sealed(b"\xff" * 8), sealed(struct.pack("<Q", 2**63) + b"{}")]:
        with pytest.raises(ERRORS):
            ex.deserialize(bad)
    for _ in range(300):  # with a digest that fits: whatever it says, it is an error or a function
        body = bytearray(blob[HEAD:])
        for _ in range(draw.randrange(1, 4)):
            body[draw.randrange(len(body))] = draw.randrange(256)
        try:
            read = ex.deserialize(sealed(body))
            read.call(*tn.tree.map(lambda s: tnp.zeros(s.shape, s.dtype), read.in_tree.unflatten(read.in_avals))[0])
        except tn.errors.Error:
            pass
        except (TypeError, KeyError, MemoryError):  # an argument's name is another one
            pass
