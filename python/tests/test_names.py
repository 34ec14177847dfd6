"""Each name of tenon.numpy against NumPy: calls drawn from numpy_calls.py and its kin, and their results and errors compared."""

import ast
import itertools
import json
import pathlib
import re
import warnings

import numpy as np
import pytest
from calls import CASES
from drawn import ABOVE, DTYPES, HALF, Draw, dtype_of, is_inexact, limits, meeting, met, promoted
from hypothesis import given, strategies as st
from lax_calls import ELSEWHERE, LAX, NN

import tenon as tn
import tenon.numpy as tnp
from tenon import lax, nn

ERRORS = (TypeError, ValueError, IndexError, NotImplementedError, ZeroDivisionError, OverflowError)
ALL_NAMES = json.loads((pathlib.Path(__file__).parent / "jax_names.json").read_text())
NAMES = ALL_NAMES["jax.numpy"]
PUBLIC = [n for n in NAMES if hasattr(tnp, n)]


def leaves(x):
    return [leaf for e in x for leaf in leaves(e)] if isinstance(x, (list, tuple)) else [x]


def over(f, x):
    """f at the arrays of nested sequences."""
    if isinstance(x, (list, tuple)):
        return type(x)(over(f, e) for e in x)
    return f(x) if isinstance(x, np.ndarray) else x


def expected(case, args, options):
    """(what NumPy says, the dtype of results or None where NumPy's is the one)."""
    operands = [leaf for i in case.operands if i < len(args) for leaf in leaves(args[i]) if leaf is not None]
    common = promoted(*operands) if operands else None
    if case.rule is None:
        args = [over(lambda x: x.astype(common), a) if i in case.operands else a for i, a in enumerate(args)]
        try:
            return case.reference(*args, **options), None
        except TypeError:  # NumPy has no such function of bfloat16
            single = [over(lambda x: x.astype("float32") if x.dtype.name == "bfloat16" else x, a) for a in args]
            return over_result(lambda r: r.astype("bfloat16") if r.dtype == np.float32 else r, case.reference(*single, **options)), None
    result = case.rule(np.dtype("float64") if common is None else common)
    if common is not None:
        computed = np.dtype("complex128" if common.kind == "c" else "float64" if is_inexact(result) else result)
        args = [over(lambda x: x.astype(common).astype(computed) if i in case.operands else x, a) for i, a in enumerate(args)]
    return case.reference(*args, **options), result


def over_result(f, made):
    if isinstance(made, (list, tuple)):
        return [over_result(f, e) for e in made]
    return f(made) if isinstance(made, (np.ndarray, np.generic)) else made


def scale(args):
    sizes = [np.abs(np.nan_to_num(x.astype("complex128"), posinf=0, neginf=0)) for x in leaves(args) if isinstance(x, np.ndarray)]
    return max([1.0, *(float(s.max()) for s in sizes if s.size)])


def compare(got, wanted, dtype, terms, most):
    if isinstance(wanted, (list, tuple)):
        assert len(got) == len(wanted)
        for a, b in zip(got, wanted):
            compare(a, b, dtype, terms, most)
        return
    got, wanted = np.asarray(got), np.asarray(wanted)
    assert got.shape == wanted.shape, f"shape {got.shape}, not {wanted.shape}"
    assert got.dtype == (wanted.dtype if dtype is None else dtype), f"dtype {got.dtype}, not {dtype or wanted.dtype}"
    if dtype is None or not is_inexact(dtype):
        wide = "float64" if got.dtype.name == "bfloat16" else got.dtype
        assert np.array_equal(got.astype(wide), wanted.astype(wide), equal_nan=is_inexact(got.dtype)), f"{got}, not {wanted}"
        return
    precision, least = float(limits(dtype).eps), float(limits(dtype).tiny)
    wide = "complex128" if dtype.kind == "c" else "float64"
    with np.errstate(all="ignore"):
        wanted = wanted.astype(dtype).astype(wide)  # what is too large is infinite
    close = np.isclose(got.astype(wide), wanted, 16 * precision, least + precision * (4 + terms * 4 * most), equal_nan=True)
    assert close.all(), f"{got}, not {wanted}"


def declared(module, taken=()):
    """Of each function that the module's stub declares, or takes from another whose own these are, what it returns, as text."""
    body = ast.parse(pathlib.Path(module.__file__).with_suffix(".pyi").read_text()).body
    names = [n for f in body if isinstance(f, ast.ImportFrom) and f.module == "tenon.numpy" for n in f.names]
    return {n.asname: taken[n.name] for n in names if n.name in taken} | {
        f.name: ast.unparse(f.returns) for f in body if isinstance(f, ast.FunctionDef)}


KINDS_OF_RESULTS = {"Array": tn.Array, "int": int, "builtins.bool": bool, "list": list, "tuple": tuple, "np.dtype": np.dtype}
DECLARED = {tnp: declared(tnp), **{module: declared(module, declared(tnp)) for module in (lax, nn)}}


def is_as_declared(module, name, result):
    said = DECLARED[module].get(name, "Any")
    kind = KINDS_OF_RESULTS.get(said.partition("[")[0], object)
    parts = result if kind in (list, tuple) and "Array" in said and "list" not in said[4:] else []
    return isinstance(result, kind) and all(isinstance(part, tn.Array) for part in parts)


def run(module, name, case, data):
    """One call, drawn, here and in NumPy."""
    args, options = case.draw(Draw(data))
    said = f"{name}(*{args!r}, **{options!r})"
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            wanted, dtype = expected(case, args, options)
        except Exception as error:  # noqa: BLE001
            wanted = error
        try:
            got = getattr(module, name)(*over(tnp.asarray, args), **{k: over(tnp.asarray, v) for k, v in options.items()})
        except ERRORS as error:
            got = error
    if case.takes(*args, **options) and isinstance(wanted, Exception):
        return
    if isinstance(wanted, Exception) or case.refuses(*args, **options):
        assert isinstance(got, Exception), f"{said}: {got!r}, and not an error; NumPy: {wanted!r}"
        return
    try:
        if isinstance(got, Exception):
            raise got
        compare(got, wanted, dtype, case.terms, scale(args))
    except (AssertionError, *ERRORS) as error:
        raise AssertionError(f"{said}: {error}") from error
    assert is_as_declared(module, name, got), f"{said}: {got!r}, and the stub says {DECLARED[module][name]}"


@pytest.mark.parametrize("name", [n for n in CASES if hasattr(tnp, n)])
def test_against_numpy(name):
    given(st.data())(lambda data: run(tnp, name, CASES[name], data))()


@pytest.mark.parametrize("name", LAX)
def test_lax_against_numpy(name):
    given(st.data())(lambda data: run(lax, name, LAX[name], data))()


@pytest.mark.parametrize("name", NN)
def test_nn_against_numpy(name):
    given(st.data())(lambda data: run(nn, name, NN[name], data))()


@pytest.mark.parametrize("name", [n for n in CASES if hasattr(tnp, n)])
def test_what_is_no_array_is_an_error(name):
    @given(st.data())
    def check(data):
        args, options = CASES[name].draw(Draw(data))
        places = [i for i, a in enumerate(args) if isinstance(a, np.ndarray)]
        if not places or name in NOT_ASKED:
            return
        wrong = data.draw(st.sampled_from(["text", None, object(), {}, [[1], [2, 3]], np.array(["a"]), np.array([None])]))
        at = data.draw(st.sampled_from(places))
        if wrong is None and (name, at) in NONE_IS_FINE:
            return
        with pytest.raises((TypeError, ValueError)):
            getattr(tnp, name)(*(wrong if i == at else over(tnp.asarray, a) for i, a in enumerate(args)), **options)

    check()


# Functions that take anything, or look at no more than its shape.
NOT_ASKED = ("array asarray copy ndim shape size tril_indices_from triu_indices_from zeros_like ones_like empty_like full_like array_equal "
             "histogram_bin_edges").split()
NONE_IS_FINE = {("clip", 1), ("clip", 2)}
WEAK_VALUES = {"int*": 2, "float*": 2.5, "complex*": 2j}


@pytest.mark.parametrize("one, other", list(itertools.combinations_with_replacement([n for n in ABOVE if n != "bfloat16" or len(HALF) == 2], 2)))
def test_promotion(one, other):
    """Each pair of dtypes and of Python's numbers, by the lattice."""
    wanted = meeting(one, other)
    a, b = (WEAK_VALUES[n] if n in WEAK_VALUES else tnp.ones((2,), dtype_of(n)) for n in (one, other))
    assert tnp.result_type(a, b) == tnp.result_type(b, a) == wanted
    assert tnp.multiply(a, b).dtype == tnp.multiply(b, a).dtype == tnp.where(True, a, b).dtype == wanted
    if one not in WEAK_VALUES and other not in WEAK_VALUES:
        assert tnp.promote_types(one, other) == tnp.concatenate([a, b]).dtype == (a * b).dtype == wanted
    made = tnp.multiply(a, b)
    assert made.weak_type == met(one, other).endswith("*")


# --- names that are no functions of arrays ---

SCALARS = ("bfloat16 bool bool_ cdouble complex128 complex64 csingle double float16 float32 float64 int16 int32 int64 int8 single "
           "uint16 uint32 uint64 uint8 float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 "
           "float8_e5m2fnuz float8_e8m0fnu").split()
WIDE = {"complex_": "complex128", "float_": "float64", "int_": "int64", "uint": "uint64"}
KINDS = "character complexfloating flexible floating generic inexact integer number signedinteger unsignedinteger".split()
CONSTANTS = "e euler_gamma inf nan newaxis pi".split()
NUMPY_S_OWN = "array_repr array_str get_printoptions printoptions save savez set_printoptions index_exp s_".split()


def scalar_type(name):
    if name.startswith("float8"):
        import ml_dtypes

        dtype = np.dtype(getattr(ml_dtypes, name))
    else:
        dtype = dtype_of(WIDE[name] if name in WIDE else name if name == "bfloat16" else getattr(np, name)(0).dtype.name)
    kind = getattr(tnp, name)
    assert kind(1).dtype == dtype and kind == dtype and tnp.zeros(2, kind).dtype == dtype and np.dtype(kind) == dtype


def objects(name):
    ours, theirs = getattr(tnp, name), getattr(np, name)
    if name in ("r_", "c_"):
        pairs = [(ours[1:4, 0, 7], theirs[1:4, 0, 7])] if name == "r_" else []
        pairs += [(ours[np.ones(2), np.zeros(2)], theirs[np.ones(2), np.zeros(2)])]
    else:
        pairs = [(ours[0:3, 1:5:2], theirs[0:3, 1:5:2]), (ours[0:1:5j], theirs[0:1:5j])]
    for got, wanted in pairs:
        compare(got, list(wanted) if isinstance(wanted, tuple) else wanted, None, 0, 1)


def text_and_files(name, folder=None):
    import tempfile

    x = tnp.arange(3.0)
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "x.npy"
        tnp.save(file, x)
        assert tnp.load(file).tolist() == [0, 1, 2] and isinstance(tnp.load(file), tn.Array)
        np.arange(3.0).tofile(file)
        assert tnp.fromfile(file).tolist() == [0, 1, 2]
        tnp.savez(file.with_suffix(".npz"), y=x)
        assert np.load(file.with_suffix(".npz"))["y"].tolist() == [0, 1, 2]
    assert tnp.from_dlpack(np.arange(3)).tolist() == [0, 1, 2]
    with tnp.printoptions(precision=2):
        assert tnp.get_printoptions()["precision"] == 2 and "0.33" in tnp.array_str(x / 3) and "0.333" not in tnp.array_repr(x / 3)


def functions_of_dtypes(name):
    for a in (d.name for ds in DTYPES.values() for d in ds):
        x = tnp.zeros(2, a)
        kind = "c" if dtype_of(a).kind == "c" else "f" if is_inexact(dtype_of(a)) else dtype_of(a).kind
        assert tnp.dtype(a) == dtype_of(a) and tnp.iscomplexobj(x) == (kind == "c") and tnp.isrealobj(x) == (kind != "c")
        assert tnp.issubdtype(a, tnp.floating) == (kind == "f") and tnp.issubdtype(a, tnp.integer) == (kind in "iu")
        assert tnp.issubdtype(a, tnp.inexact) == (kind in "fc") and tnp.isdtype(a, "real floating") == (kind == "f")
        assert tnp.isdtype(a, ("bool", "integral")) == (kind in "biu") and tnp.isdtype(a, tnp.float32) == (a == "float32")
        assert tnp.isdtype(a, "numeric") == (kind != "b") and tnp.isdtype(a, "signed integer") == (kind == "i")
        assert not tnp.isscalar(x) and tnp.isscalar(x[0]) and tnp.isscalar(3)
        if kind in "iu":
            assert (tnp.iinfo(a).min, tnp.iinfo(a).max) == (np.iinfo(a).min, np.iinfo(a).max)
        if kind in "fc":
            assert float(tnp.finfo(a).eps) == float(limits(dtype_of(a)).eps)
        if a != "bfloat16":
            for b in ("int16", "float32", "complex64", "bool"):
                assert tnp.can_cast(a, b) == np.can_cast(a, b) and tnp.can_cast(a, b, "same_kind") == np.can_cast(a, b, "same_kind")
    assert tnp.promote_types("int32", "uint32") == np.int64 and tnp.result_type(tnp.int8, 2.0) == np.float64


def vectorize(name):
    rows = tnp.vectorize(lambda a, b: a @ b, signature="(n),(n)->()")(np.ones((2, 1, 3)), np.arange(12.0).reshape(4, 3))
    assert np.array_equal(rows, np.broadcast_to(np.arange(12.0).reshape(4, 3).sum(1), (2, 4)))
    assert tnp.vectorize(lambda a, b: tnp.where(a > b, a, b))(np.arange(3.0)[:, None], np.ones((1, 2))).shape == (3, 2)


def same_object(name):
    assert getattr(tnp, name) is getattr(np, name) or (name == "nan" and np.isnan(tnp.nan)) or getattr(tnp, name) == getattr(np, name)


def einsum_path(name):
    arrays = np.ones((2, 3)), np.ones((3, 4)), np.ones((4, 5))
    path, text = tnp.einsum_path("ij,jk,kl->il", *arrays)
    assert path == ["einsum_path", (0, 1), (0, 1)]  # 24 and 40 products, where NumPy's greedy way has 60 and 30
    assert text == np.einsum_path("ij,jk,kl->il", *arrays, optimize=path)[1]
    assert tnp.einsum_path("ij,jk", *arrays[:2])[0] == ["einsum_path", (0, 1)]
    assert tnp.einsum_path("ij,jk,kl->il", *arrays, optimize=[(1, 2), (0, 1)])[0] == ["einsum_path", (1, 2), (0, 1)]


APART = {
    **dict.fromkeys([*SCALARS, *WIDE], scalar_type), **dict.fromkeys([*KINDS, *CONSTANTS, *NUMPY_S_OWN], same_object),
    **dict.fromkeys("c_ r_ mgrid ogrid".split(), objects), "vectorize": vectorize, "einsum_path": einsum_path,
    **dict.fromkeys("from_dlpack fromfile load".split(), text_and_files), "ndarray": lambda name: same_array_type(),
    **dict.fromkeys("can_cast dtype finfo iinfo iscomplexobj isdtype isrealobj isscalar issubdtype promote_types result_type".split(),
                    functions_of_dtypes)}


def same_array_type():
    assert tnp.ndarray is tn.Array and isinstance(tnp.zeros(2), tnp.ndarray)


@pytest.mark.parametrize("name", [n for n in APART if hasattr(tnp, n)])
def test_apart(name):
    APART[name](name)


def test_every_name_is_tested():
    """A public name needs a strategy in numpy_calls.py or its kin: one line where it is like others."""
    assert [n for n in [*CASES, *APART] if n not in NAMES] == []
    for module, table, ours in (("jax.numpy", {**CASES, **APART}, tnp), ("jax.lax", LAX, lax), ("jax.nn", NN, nn)):
        there = [n for n in ALL_NAMES[module] if hasattr(ours, n)]
        assert [n for n in there if n not in table and n not in ELSEWHERE[module]] == []


def test_names_that_have_tests_of_their_own():
    others = [p.read_text() for p in pathlib.Path(__file__).parent.glob("test_*.py") if p.name != "test_names.py"]
    text = "\n".join(others)
    assert [n for names in ELSEWHERE.values() for n in names if not re.search(rf"\b{n}\b", text)] == []
