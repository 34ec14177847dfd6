"""Input that nobody means well with: damaged files, sizes beyond memory, interrupted loops. Errors, no crash and no hang."""

import json
import struct
import subprocess
import sys

import pytest

import tenon as tn
import tenon.numpy as tnp
from tenon.ad_checkpoint import checkpoint_name

F32 = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}
DAMAGED = {
    "no entry": [1],
    "shape with a fraction": F32 | {"shape": [1.0]},
    "shape that is a text": F32 | {"shape": "1"},
    "shape of bools": F32 | {"shape": [True]},
    "negative shape": F32 | {"shape": [-1]},
    "nested shape": F32 | {"shape": [[1]]},
    "shape beyond 64 bits": F32 | {"shape": [0, 2**70], "data_offsets": [0, 0]},
    "empty shape beyond memory": F32 | {"shape": [0, 2**62, 2**62], "data_offsets": [0, 0]},
    "more axes than arrays have": F32 | {"shape": [1] * 1000},
    "dtype that is a list": F32 | {"dtype": ["F32"]},
    "dtype that is unknown": F32 | {"dtype": "F33"},
    "offsets that are no pair": F32 | {"data_offsets": [0, 2, 4]},
    "offsets that are a text": F32 | {"data_offsets": "04"},
    "offsets backwards": F32 | {"data_offsets": [4, 0]},
    "offsets beyond the file": F32 | {"data_offsets": [4, 8]},
}


def write(path, header, data=b"\0" * 4):
    header = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + data)
    return path


@pytest.mark.parametrize("entry", DAMAGED.values(), ids=DAMAGED)
def test_damaged_entries_of_safetensors(tmp_path, entry):
    with pytest.raises(tn.ParseError, match="'a'|arrays of"):
        tn.load(write(tmp_path / "x", {"a": entry}))


def test_safetensors_whose_arrays_overlap_or_leave_gaps(tmp_path):
    assert tn.load(write(tmp_path / "x", {"a": F32}, struct.pack("<f", 2.5)))["a"].tolist() == [2.5]
    with pytest.raises(tn.ParseError, match="'b'.* begins at byte 0"):
        tn.load(write(tmp_path / "x", {"a": F32, "b": F32}))
    with pytest.raises(tn.ParseError, match="begins at byte 4"):
        tn.load(write(tmp_path / "x", {"a": F32 | {"data_offsets": [4, 8]}}, b"\0" * 8))
    with pytest.raises(tn.ParseError, match="4 bytes, its data 5"):
        tn.load(write(tmp_path / "x", {"a": F32}, b"\0" * 5))


@pytest.mark.parametrize("header", [b"[" * 200_000, b'{"a":' * 100_000, b'{"a": {}, "a": {}}', b"\xff\xfe", b"3"])
def test_safetensors_whose_header_is_none(tmp_path, header):
    with pytest.raises(tn.ParseError, match="header"):
        tn.load(write(tmp_path / "x", header))


def test_bools_of_safetensors_are_bools(tmp_path):
    # A byte other than 0 is true, and counts as one.
    x = tn.load(write(tmp_path / "x", {"a": {"dtype": "BOOL", "shape": [4], "data_offsets": [0, 4]}}, b"\0\1\2\xff"))["a"]
    assert x.tolist() == [False, True, True, True] and int(tnp.sum(x)) == 3 and int(tnp.sum(x.astype(tnp.uint8))) == 3


@pytest.mark.parametrize("size, dtype", [(3000, "int64"), (6000, "float32")])
def test_ctrl_c_stops_a_product(size, dtype):
    program = f"""if True:
        import os, signal, threading, time
        signal.signal(signal.SIGINT, signal.default_int_handler)
        import tenon.numpy as tnp
        x = tnp.ones(({size}, {size}), {dtype!r})
        sent = []
        def send():
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)
        threading.Timer(0.3, send).start()
        try:
            y = x @ x
            time.sleep(60)
        except KeyboardInterrupt:
            print(time.monotonic() - sent[0])
    """
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert float(run.stdout) < 2, run.stderr


def test_the_place_of_the_largest_takes_little_memory():
    program = """if True:
        import resource
        import tenon as tn, tenon.numpy as tnp
        x = tn.jit(lambda: tnp.zeros(1 << 27, tnp.int8).at[(1 << 26) + 3].set(5))()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(int(tnp.argmax(x)) - (1 << 26), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    """
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    place, kilobytes = map(int, run.stdout.split())
    assert place == 3 and kilobytes < 64 << 10, run.stderr


NESTED = """
import sys
sys.setrecursionlimit(10**6)
import tenon as tn
from tenon import lax

def nested(wrap, depth):
    f = lambda x: x * 2.0
    for _ in range(depth):
        f = wrap(f)
    return f

wraps = [lambda f: tn.jit(lambda x: f(x)), lambda f: lambda x: lax.cond(x > 0, f, lambda v: v, x), tn.grad,
         lambda f: lambda x: lax.fori_loop(0, 2, lambda i, c: f(c), x)]
for wrap in wraps:
    try:
        tn.jit(nested(wrap, 20_000))(1.0)
        print("no error")
    except RecursionError as e:
        print(type(e).__name__)
print(float(tn.jit(nested(wraps[0], 100))(1.0)))
"""


def test_functions_that_nest_deeper_than_the_stack():
    said = subprocess.run([sys.executable, "-c", NESTED], capture_output=True, text=True, timeout=300)
    assert said.returncode == 0, said.stderr[-300:]
    assert set(said.stdout.split()[:-1]) <= {"NestingError", "RecursionError"} and said.stdout.split()[-1] == "2.0"


def test_a_policy_looks_at_what_calls_share_once():
    f = tn.jit(tnp.sin)
    for _ in range(40):
        f = tn.jit(lambda x, g=f: g(g(x)))
    kept = tn.checkpoint_policies.save_only_these_names("none")
    assert tn.eval_shape(tn.checkpoint(f, policy=kept), 1.0).shape == ()  # 2^40 sines if it were not so
    g = tn.jit(lambda x: tnp.cos(checkpoint_name(tnp.sin(x), "none")))
    twice = lambda x: g(tn.jit(tnp.exp)(g(x)))
    assert float(tn.grad(tn.checkpoint(twice, policy=kept))(0.3)) == pytest.approx(float(tn.grad(twice)(0.3)), rel=1e-14)
