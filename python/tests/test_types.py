"""The types that the package declares: mypy's view of typical code and of mistakes, and the stubs beside what is there."""

import os
import pathlib
import re
import runpy
import subprocess
import sys

import tenon as tn

TYPED = pathlib.Path(__file__).parent / "typed"
PACKAGE = pathlib.Path(tn.__file__).parent

# What a compiled module does not tell of itself: signatures, metaclasses, names that only types need.
UNKNOWN = re.compile(r"is not a function$|is a disjoint base|metaclass differs$|\.__init__ is inconsistent|"
                     r"does not have \*args parameter|_core\.(Array|DType|Shape)Like is not|_core\.Axis is not|"
                     r'_repr_html_ is inconsistent, stub parameter "self" differs|stub is a staticmethod but runtime is not')


def run(tmp_path, *args):
    environment = dict(os.environ)
    if PACKAGE.parent.name != "site-packages":
        environment["MYPYPATH"] = str(PACKAGE.parent)
    done = subprocess.run([sys.executable, "-m", *args], cwd=tmp_path, env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def mypy(tmp_path, *args):
    return run(tmp_path, "mypy", "--cache-dir", str(tmp_path / "cache"), "--strict", "--allow-untyped-calls", *args)


def test_typical_code(tmp_path):
    code, said = mypy(tmp_path, str(TYPED / "right.py"))
    assert code == 0, said
    runpy.run_path(str(TYPED / "right.py"))


def test_mistakes(tmp_path):
    lines = (TYPED / "wrong.py").read_text().splitlines()
    wrong = {n for n, line in enumerate(lines, 1) if line.endswith("# wrong")}
    code, said = mypy(tmp_path, str(TYPED / "wrong.py"))
    assert code == 1 and {int(n) for n in re.findall(r"wrong\.py:(\d+): error", said)} == wrong, said


def test_the_package(tmp_path):
    code, said = run(tmp_path, "mypy", "--cache-dir", str(tmp_path / "cache"), "-p", "tenon")
    assert code == 0, said


def test_stubs_beside_the_modules(tmp_path):
    _, said = run(tmp_path, "mypy.stubtest", "--concise", "tenon._core", "tenon._transforms")
    told = [line for line in said.splitlines() if line.startswith("tenon.")]
    assert any("_core.sin is not a function" in line for line in told), said
    assert [line for line in said.splitlines() if not UNKNOWN.search(line)] == []
