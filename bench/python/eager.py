#!/usr/bin/env python3
"""Calls of functions of tenon.numpy, tenon.lax, tenon.nn with arrays of 8 elements, op by op or as the library runs what is repeated:
microseconds a call, and NumPy's for those that it has. The calls are those of the tests.

    eager.py [--only WORD] [--most MICROSECONDS] [--arguments]

Prints the calls that take longer than --most (2 unless told), and how many do not. A figure is the least of five rounds.
With --arguments: a call of ever more arrays, and one with ever other numbers, which is not compiled.
"""
import argparse
import pathlib
import sys
import time
import warnings

import numpy as np

import tenon as tn

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "python" / "tests"))
import lax_calls  # noqa: E402
from calls import CASES  # noqa: E402
from drawn import DTYPES, Draw  # noqa: E402


class Usual(Draw):
    """The usual arguments in place of drawn ones: float32 where it may be, 8 elements, options left out."""

    def __init__(self):
        super().__init__(None)
        self.random = np.random.default_rng(0)

    def __call__(self, strategy):
        raise LookupError("no usual value")

    def of(self, *values):
        return values[0]

    def flag(self):
        return False

    def number(self, low, high):
        return min(max(1, low), high)

    def dtype(self, kinds):
        return DTYPES[next(k for k in "fihcub" if k in kinds)][-2 if "i" in kinds and "f" not in kinds else 0]

    def shape(self, least=0, most=3, low=0, high=3):
        return {0: (8,), 1: (8,), 2: (2, 4), 3: (2, 2, 2)}[max(least, min(most, 1))] if most else ()

    def array(self, kinds="biuhfc", values="special", shape=None, dtype=None, **shapes):
        dtype = self.dtype(kinds) if dtype is None else np.dtype(dtype)
        shape = self.shape(**shapes) if shape is None else shape
        made = self.random.uniform(0.1, 0.9, shape)
        return (made * 4 if dtype.kind in "iu" else made > 0.5 if dtype.kind == "b" else made).astype(dtype)

    def indices(self, n, shape=None, outside=0):
        return np.zeros(8 if shape is None else shape, "int32")

    def together(self, n, kinds="biuhfc", values="special", most=3):
        return [self.array(kinds, values) for _ in range(n)]

    alike = together

    def axis(self, rank):
        return rank - 1

    def axes(self, rank):
        return None


def microseconds(f, calls=400, rounds=5):
    least = np.inf
    for _ in range(rounds):
        begun = time.perf_counter()
        for _ in range(calls):
            f()
        least = min(least, time.perf_counter() - begun)
    return least / calls * 1e6


def rows(only, with_numpy=True):
    for module, cases in (("numpy", CASES), ("lax", lax_calls.LAX), ("nn", lax_calls.NN)):
        for name, case in cases.items():
            f = getattr(getattr(tn, module), name, None)
            if f is None or only not in f"{module}.{name}":
                continue
            try:
                args, options = case.draw(Usual())
                ours = tn.tree_util.tree_map(lambda a: tn.numpy.asarray(a) if isinstance(a, np.ndarray) else a, args)
                f(*ours, **options)
            except Exception:  # noqa: BLE001  it has no usual call
                continue
            try:
                theirs = microseconds(lambda: case.reference(*args, **options)) if module == "numpy" and with_numpy else None
            except Exception:  # noqa: BLE001
                theirs = None
            yield f"{module}.{name}", microseconds(lambda: f(*ours, **options)), theirs


def sweep():
    x = tn.numpy.asarray(np.arange(8, dtype="float32"))
    for n in (1, 2, 4, 8, 16):
        arrays = [x] * n
        print(f"stack of {n:2} arrays {microseconds(lambda: tn.numpy.stack(arrays)):8.2f}")
    numbers = iter(np.arange(1e6).tolist())
    print(f"clip, one number  {microseconds(lambda: tn.numpy.clip(x, 0.0, 5.0)):8.2f}")
    print(f"clip, ever others {microseconds(lambda: tn.numpy.clip(x, 0.0, next(numbers))):8.2f}")
    with_setting = tn.config.compile_repeated_calls
    tn.config.update("compile_repeated_calls", False)
    print(f"clip, op by op    {microseconds(lambda: tn.numpy.clip(x, 0.0, 5.0)):8.2f}")
    tn.config.update("compile_repeated_calls", with_setting)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="WORD")
    parser.add_argument("--most", type=float, default=2.0, metavar="MICROSECONDS")
    parser.add_argument("--arguments", action="store_true")
    asked = parser.parse_args()
    if asked.arguments:
        return sweep()
    warnings.filterwarnings("ignore")
    np.seterr(all="ignore")
    found = sorted(rows(asked.only), key=lambda row: -row[1])
    for name, ours, theirs in found:
        if ours > asked.most:
            print(f"{name:<32} {ours:8.2f} {'–' if theirs is None else f'{theirs:8.2f}'}")
    print(f"{sum(ours <= asked.most for _, ours, _ in found)} of {len(found)} take at most {asked.most:g} µs")


if __name__ == "__main__":
    main()
