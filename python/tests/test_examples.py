"""The examples in examples/python find what they should and draw it, and docstrings say what is so."""

import doctest
import importlib
import importlib.util
import pathlib
import pkgutil
import sys
import warnings

import numpy as np
import pytest

import tenon as tn

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "python"


@pytest.fixture(autouse=True)
def beside_examples(monkeypatch):
    """Examples import one another by name."""
    monkeypatch.syspath_prepend(EXAMPLES)


def example(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_hmc():
    xs = np.asarray(example("hmc").main())
    assert np.allclose(xs.mean(0), [1, -2], atol=0.15) and np.allclose(np.cov(xs.T), [[2, 0.9], [0.9, 1]], atol=0.25)


def test_kalman():
    q, r, error = example("kalman").main()
    assert 0.003 < q < 0.03 and 0.2 < r < 0.3 and error < 0.35


def test_ode_fit():
    module = example("ode_fit")
    found = module.main()
    assert all(abs(found[k] / v - 1) < 0.03 for k, v in module.TRUTH.items())


def test_co2_forecaster(tmp_path):
    choosing, training, scores = example("co2_forecaster").main(EXAMPLES.parent / "data" / "co2.csv", tmp_path, 30)
    # What the C++ example says with the same keys.
    first = [3.72122, 1.43733, 1.1032, 0.809738, 0.814821, 0.835789, 1.13652, 0.776612]
    assert np.allclose(choosing[:8], first, rtol=0, atol=1e-5)
    assert len(choosing) == 30 and len(training) == 30
    assert scores == pytest.approx({"GRU": 0.93673, "last year + drift": 1.07905, "persistence": 3.25918}, abs=1e-4)
    assert np.loadtxt(tmp_path / "forecast.txt").shape == (52, 3)


def test_threads():
    differences = example("threads").main()
    assert len(differences) == 45 and all(d < 1e-13 for d in differences.values())


def test_pairs():
    module = example("pairs")
    found = module.main(n=600, steps=150)
    assert found["interpolation"] < 0.1 and found["clusters"] < 0.01 and found["vote"] > 0.95 and found["mixture"] < 2.2
    assert found["energy distance"][1] < 0.5 * found["energy distance"][0]
    assert found["divergence"][1] < 0.2 * found["divergence"][0] and found["drift of energy"] < 0.02


def test_pairs_against_numpy():
    module = example("pairs")
    rng = np.random.default_rng(3)
    x, y, b = rng.normal(size=(700, 3)), rng.normal(size=(600, 3)), rng.normal(size=600)
    square = ((x[:, None] - y) ** 2).sum(-1)
    kernels = {"Gaussian": np.exp(-square), "Laplacian": np.exp(-square ** 0.5), "energy": -square ** 0.5,
               "inverse multiquadric": 1 / np.sqrt(1 + square)}
    assert kernels.keys() == module.KERNELS.keys()
    for name, kernel in kernels.items():
        f = tn.jit(lambda x, y, b: module.product(name, x, y, b))
        assert np.allclose(f(x, y, b), kernel @ b)
        assert "reductions taken into loops" in tn.explain(f)(x, y, b)   # nothing of all pairs is stored
    labels = rng.integers(3, size=600)
    nearest = np.argsort(square, 1, kind="stable")[:, :5]
    votes = np.stack([(labels[nearest] == k).sum(1) for k in range(3)], 1).argmax(1)
    assert np.array_equal(tn.jit(lambda *a: module.vote(*a, 5, 3))(y, labels, x), votes)


def test_sequences():
    module = example("sequences")
    found = module.main(steps=120, lengths=(1500,))
    assert found["right"] > 0.9   # 1 / 24 by chance
    assert found["losses"]["error"][1] < 0.1 * found["losses"]["error"][0]
    scores, between = found["bytes of scores and of intermediate values"]
    assert between < 0.5 * scores


def test_attention_against_numpy():
    module = example("sequences")
    rng = np.random.default_rng(4)
    q, k, v = rng.normal(size=(3, 5, 300, 16))
    weights = np.where(np.tri(300, dtype=bool), np.einsum("hid,hjd->hij", q, k) / 4, -np.inf)
    weights = np.exp(weights - weights.max(-1, keepdims=True))
    expected = np.einsum("hij,hjd->hid", weights / weights.sum(-1, keepdims=True), v)
    assert np.allclose(tn.jit(module.attention)(q, k, v), expected)


DIFFERENCES = {("loops", "stacked"): 1e-16, ("sizes", "roll"): 0.0}


@pytest.mark.parametrize("name, draw, words", [
    ("hmc", lambda m, path: m.main(path), ["step, units of x", "probability of acceptance", "sample", "exact"]),
    ("kalman", lambda m, path: m.main(path, 2), ["time, s", "position, m", "error of the position, m", "log-likelihood, nats"]),
    ("ode_fit", lambda m, path: m.main(path, 2), ["time, years", "thousands of animals", "rate / true rate", "step of Adam"]),
    ("pairs", lambda m, path: m.main(path, 300, 2), ["mean of k(x, points)", "energy distance", "place", "centre", "log density", "step of descent", "orbits of 12 bodies"]),
    ("sequences", lambda m, path: m.main(path, 3, (64, 128)),
     ["step of Adam", "place of the key", "said one step before", "roughness", "length of the sequence"]),
    ("threads_picture", lambda m, path: m.draw(path, DIFFERENCES, (4, 8)),
     ["sizes", "difference from NumPy / largest element", "one index twice", "value and gradient, µs a step"]),
])
def test_pictures(name, draw, words, tmp_path):
    pytest.importorskip("matplotlib")
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        draw(example(name), tmp_path / "drawn.svg")
    # Where matplotlib draws a text as curves, a comment says it.
    drawn = (tmp_path / "drawn.svg").read_text(encoding="utf-8")
    assert [w for w in words if f"<!-- {w} -->" not in drawn] == []


def test_picture_by_ending(tmp_path):
    pytest.importorskip("matplotlib")
    with example("pictures").panels(tmp_path / "drawn.png", [["one"]], 2) as axes:
        axes["one"].plot([1, 2], color="#0072b2", label="a line")
    drawn = importlib.import_module("PIL.Image").open(tmp_path / "drawn.png")
    pixels = np.asarray(drawn.convert("RGB"))
    assert drawn.mode == "P" and pixels.shape == (220, 1100, 3) and (pixels == (0, 0x72, 0xB2)).all(-1).any()


def test_picture_without_matplotlib(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(SystemExit, match="pip install matplotlib"):
        with example("pictures").panels(tmp_path / "drawn.png", [["one"]], 2):
            pass


MODULES = ["tenon", *(m.name for m in pkgutil.walk_packages(tn.__path__, "tenon.")
                      if importlib.util.find_spec(m.name).origin.endswith(".py"))]


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    if name.startswith("tenon.foreign"):
        pytest.importorskip("jax")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0
