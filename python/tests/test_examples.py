"""The examples in examples/python find what they should, and docstrings say what is so."""

import doctest
import importlib
import importlib.util
import pathlib
import pkgutil
import warnings

import numpy as np
import pytest

import tenon as tn

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "python"


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


def test_co2_forecaster(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(EXAMPLES)
    choosing, training, scores = example("co2_forecaster").main(EXAMPLES.parent / "data" / "co2.csv", tmp_path, 30)
    # What the C++ example says with the same keys.
    first = [3.72122, 1.43733, 1.1032, 0.809738, 0.814821, 0.835789, 1.13652, 0.776612]
    assert np.allclose(choosing[:8], first, rtol=0, atol=1e-5)
    assert len(choosing) == 30 and len(training) == 30
    assert scores == pytest.approx({"GRU": 0.93673, "last year + drift": 1.07905, "persistence": 3.25918}, abs=1e-4)
    assert np.loadtxt(tmp_path / "forecast.txt").shape == (52, 3)


def test_threads(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    differences = example("threads").main()
    assert len(differences) == 45 and all(d < 1e-10 for d in differences.values())


MODULES = ["tenon", *(m.name for m in pkgutil.walk_packages(tn.__path__, "tenon.")
                      if importlib.util.find_spec(m.name).origin.endswith(".py"))]


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0
