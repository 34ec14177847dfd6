"""Code that is kept on disk: found by other processes, rebuilt where it is broken, and never run where others may have
written it."""

import os
import pathlib
import subprocess
import sys

import pytest

PROGRAM = """
import numpy as np
import tenon as tn
from tenon import lax, numpy as tnp

x = np.linspace(-1, 1, 60, dtype=np.float32).reshape(3, 20)
inner = tn.jit(lambda x: tnp.tanh(x @ x.T) @ x + x)

def rnn(x):
    def step(h, row):
        h = tnp.sin(h + row)
        return h, h * 2
    return tnp.sum(lax.scan(step, x[0], x)[1])

def many(x):
    for _ in range(40):
        x = inner(x) * .5
    return x

for f in (rnn, tn.grad(rnn), tn.vmap(rnn), many):
    a = x[None] if f.__name__ == "vmap_rnn" else x
    try:
        print(np.asarray(tn.jit(f)(a)).tobytes().hex()[:400])
    except ValueError:
        print(np.asarray(tn.jit(f)(x[None])).tobytes().hex()[:400])
print(tnp.sort(x, axis=None)[:3], tnp.linalg.solve(x[:, :3] + 2 * np.eye(3, dtype=np.float32), x[:, 0]))
print(tn.pure_callback(lambda x: np.asarray(x) + 1, tn.ShapeDtypeStruct((3,), "float32"), x[:, 0]))
"""


def run(cache, log=True, program=PROGRAM, **environment):
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=300,
                          env={**os.environ, "TENON_CACHE": str(cache), "TENON_LOG": "cache,compile" if log else "",
                               **environment})
    lines = done.stderr.splitlines()
    return done.stdout, [x for x in lines if "bytes of arena" in x], [x for x in lines if x.endswith("on disk")], done.stderr


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kept") / "cache"
    return folder, run(folder)


def test_a_second_process_compiles_nothing_anew(filled):
    folder, (expected, compiled, found, _) = filled
    assert compiled and not found
    again, compiled_again, found_again, _ = run(folder)
    assert again == expected
    # What calls functions of this process is of this process.
    assert len(compiled_again) <= 1 and len(found_again) >= len(compiled) - 1
    assert run("off")[0] == expected


def test_settings_have_code_of_their_own(filled):
    folder, (expected, *_) = filled
    _, compiled, found, _ = run(folder, TENON_CPU="baseline")
    assert compiled and not found
    _, compiled, found, _ = run(folder, TENON_NUM_THREADS="1")
    assert compiled and not found


def test_broken_files_are_rebuilt(filled, tmp_path):
    folder, (expected, compiled, *_) = filled
    files = sorted(folder.glob("*.code"))
    for i, file in enumerate(files):
        content = file.read_bytes()
        file.write_bytes([content[:len(content) // 2], content[:-1] + bytes([content[-1] ^ 1]), b"", content + b"x"][i % 4])
    again, rebuilt, found, _ = run(folder)
    assert again == expected and len(rebuilt) == len(compiled) and not found
    assert len(run(folder)[1]) <= 1


def test_a_folder_that_others_may_change_is_not_used(filled):
    folder, (expected, *_) = filled
    folder.chmod(0o777)
    try:
        again, compiled, found, said = run(folder)
        assert again == expected and compiled and not found
        assert said.count("closed to others (mode 0700)") >= 1
    finally:
        folder.chmod(0o700)


@pytest.mark.parametrize("folder", ["/proc/tenon", "/dev/null", "/dev/null/below"])
def test_folders_that_cannot_be(folder):
    program = "import tenon as tn, numpy as np; print(tn.jit(lambda x: x + 1)(np.float32(2)))"
    out, *_, said = run(folder, program=program)
    assert out == "3.0\n" and "TENON_CACHE" in said


def test_without_a_home(tmp_path):
    program = "import tenon as tn, numpy as np; print(tn.jit(lambda x: x + 1)(np.float32(2)))"
    assert run("", program=program, HOME="", XDG_CACHE_HOME="")[0] == "3.0\n"
    assert run("", program=program, HOME=str(tmp_path), XDG_CACHE_HOME="")[0] == "3.0\n"
    assert (tmp_path / ".cache" / "tenon").stat().st_mode & 0o777 == 0o700
    assert list((tmp_path / ".cache" / "tenon").glob("*.code"))
    assert run("", program=program, HOME="", XDG_CACHE_HOME=str(tmp_path / "x"))[0] == "3.0\n"
    assert list((tmp_path / "x" / "tenon").glob("*.code"))


def test_processes_write_at_once(tmp_path):
    environment = {**os.environ, "TENON_CACHE": str(tmp_path / "cache")}
    processes = [subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True, env=environment)
                 for _ in range(3)]
    outputs = {process.communicate(timeout=300)[0] for process in processes}
    assert len(outputs) == 1 and all(process.returncode == 0 for process in processes)
    assert not list(pathlib.Path(tmp_path / "cache").glob("*.new"))


def test_the_disk_is_full(tmp_path):
    limited = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))\n" + PROGRAM
    out, compiled, _, said = run(tmp_path / "cache", program=limited)
    assert out == run("off")[0] and compiled and "cannot be written" in said
    assert not list((tmp_path / "cache").iterdir())
