"""random, nn, lax, optim, files, references, signals."""

import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp
from tenon import lax, nn, optim, random


def test_random_bits_are_jax_s():
    key = random.key(0)
    assert key.tolist() == [0, 0]
    assert random.split(key).tolist() == [[1797259609, 2579123966], [928981903, 3453687069]]
    assert np.allclose(np.asarray(random.normal(key, (3,), tnp.float64)), [-0.20584214, -0.78476578, 1.81608667])


def test_random_distributions():
    keys = random.split(random.key(1), 12)
    n = 20000
    for key, draw, mean, variance in zip(keys, [
            random.uniform, random.normal, random.exponential, random.laplace, random.logistic, random.gumbel],
            [0.5, 0, 1, 0, 0, 0.5772], [1 / 12, 1, 1, 2, np.pi ** 2 / 3, np.pi ** 2 / 6]):
        x = np.asarray(draw(key, (n,)))
        assert abs(x.mean() - mean) < 5 * np.sqrt(variance / n) and abs(x.var() / variance - 1) < 0.1, draw
    assert abs(float(tnp.mean(random.bernoulli(keys[6], 0.3, (n,)))) - 0.3) < 0.02
    x = np.asarray(random.truncated_normal(keys[7], -1.0, 1.5, (n,)))
    assert x.min() > -1 and x.max() < 1.5
    assert sorted(random.permutation(keys[8], 50).tolist()) == list(range(50))
    assert len({*random.choice(keys[9], 50, (20,), replace=False).tolist()}) == 20
    counts = np.bincount(np.asarray(random.categorical(keys[10], tnp.log(tnp.array([0.2, 0.3, 0.5])), shape=(n,))))
    assert np.allclose(counts / n, [0.2, 0.3, 0.5], atol=0.02)
    x = random.multivariate_normal(keys[11], np.zeros(2), np.array([[2.0, 0.5], [0.5, 1.0]]), (n,))
    assert np.allclose(np.cov(np.asarray(x).T), [[2, 0.5], [0.5, 1]], atol=0.1)


def test_nn():
    x = np.linspace(-3, 3, 13)
    sigmoid = 1 / (1 + np.exp(-x))
    for f, wanted in ((nn.sigmoid, sigmoid), (nn.silu, x * sigmoid), (nn.relu, np.maximum(x, 0)), (nn.softplus, np.log1p(np.exp(x))),
                      (nn.elu, np.where(x > 0, x, np.expm1(x))), (nn.hard_tanh, np.clip(x, -1, 1)), (nn.relu6, np.clip(x, 0, 6)),
                      (nn.softmax, np.exp(x) / np.exp(x).sum()), (nn.logsumexp, np.log(np.exp(x).sum())),
                      (nn.soft_sign, x / (1 + abs(x))), (nn.mish, x * np.tanh(np.log1p(np.exp(x))))):
        assert np.allclose(np.asarray(f(x)), wanted), f
    assert nn.one_hot(tnp.array([1, 3]), 3).tolist() == [[0, 1, 0], [0, 0, 0]]
    q, k, v = (np.asarray(random.normal(key, (1, 5, 2, 4))) for key in random.split(random.key(0), 3))
    scores = np.einsum("btnh,bsnh->bnts", q, k) / 2
    scores = np.where(np.tri(5, dtype=bool), scores, -np.inf)
    weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    assert np.allclose(np.asarray(nn.dot_product_attention(q, k, v, is_causal=True)), np.einsum("bnts,bsnh->btnh", weights, v))
    w = nn.initializers.he_normal()(random.key(0), (200, 100))
    assert abs(float(tnp.std(w)) - np.sqrt(2 / 200)) < 0.003


def test_lax():
    x = np.arange(12.0).reshape(3, 4)
    assert lax.dynamic_slice(x, (1, 1), (2, 2)).tolist() == [[5, 6], [9, 10]]
    assert lax.dynamic_update_slice(x, np.zeros((1, 2)), (2, 0)).tolist()[2] == [0, 0, 10, 11]
    assert lax.dynamic_index_in_dim(x, tnp.int32(-1), 0, False).tolist() == [8, 9, 10, 11]
    assert lax.pad(tnp.ones(2), 0.0, [(1, 0, 1)]).tolist() == [0, 1, 0, 1]
    assert lax.top_k(tnp.array([3.0, 1.0, 2.0]), 2)[1].tolist() == [0, 2]
    assert lax.select_n(tnp.array([0, 2]), tnp.zeros(2), tnp.ones(2), tnp.full(2, 2.0)).tolist() == [0, 2]
    assert lax.rem(tnp.int32(-7), tnp.int32(3)) == -1 and lax.div(tnp.int32(-7), tnp.int32(2)) == -3
    assert lax.shift_right_logical(tnp.int32(-8), tnp.int32(1)) == 2147483644
    assert lax.cummax(tnp.array([1.0, 3.0, 2.0])).tolist() == [1, 3, 3]
    assert lax.cumsum(tnp.arange(4), reverse=True).tolist() == [6, 6, 5, 3]
    assert lax.round(tnp.array([0.5, -1.5])).tolist() == [1, -2]
    with pytest.raises(TypeError, match="same dtypes"):
        lax.add(tnp.ones(2, tnp.float32), tnp.ones(2, tnp.int32))
    made = lax.dot_general(x, x, (((1,), (1,)), ((), ())))
    assert np.allclose(np.asarray(made), x @ x.T)


def test_implicit_derivatives():
    def root(a):
        return lax.custom_root(lambda x: x * x - a, 1.0,
                               lambda f, x: lax.while_loop(lambda v: abs(f(v)) > 1e-13, lambda v: v - f(v) / (2 * v), x),
                               lambda g, y: y / g(1.0))

    assert np.isclose(float(tn.grad(root)(2.0)), 0.5 / np.sqrt(2.0))

    def root_and_steps(a):
        def newton(f, x):
            return lax.while_loop(lambda v: abs(f(v[0])) > 1e-13, lambda v: (v[0] - f(v[0]) / (2 * v[0]), v[1] + 1), (x, 0))

        return lax.custom_root(lambda x: x * x - a, 1.0, newton, lambda g, y: y / g(1.0), has_aux=True)

    for f in (root_and_steps, tn.jit(root_and_steps)):
        value, steps = f(2.0)
        assert np.isclose(float(value), np.sqrt(2.0)) and 3 <= int(steps) <= 8
    slope, steps = tn.grad(root_and_steps, has_aux=True)(2.0)
    assert np.isclose(float(slope), 0.5 / np.sqrt(2.0)) and 3 <= int(steps) <= 8
    with pytest.raises(TypeError, match=r"custom_root: solve returns a tuple of two, \(root, auxiliary\)"):
        lax.custom_root(lambda x: x * x - 2.0, 1.0, lambda f, x: x, lambda g, y: y, has_aux=True)
    a, b = np.array([[3.0, 1.0], [1.0, 2.0]]), np.array([1.0, 2.0])

    def solve(b):
        return tnp.sum(lax.custom_linear_solve(lambda x: tnp.asarray(a) @ x, b, lambda _, b: tnp.linalg.solve(a, b), symmetric=True))

    assert np.allclose(np.asarray(tn.grad(solve)(b)), np.linalg.solve(a.T, np.ones(2)))


@pytest.mark.parametrize("make", [
    lambda: optim.sgd(0.1), lambda: optim.momentum(0.05), lambda: optim.sgd(0.05, 0.9, nesterov=True), lambda: optim.adam(0.1),
    lambda: optim.adamw(0.1), lambda: optim.lion(0.02), lambda: optim.adam(optim.cosine_decay_schedule(0.2, 200)),
    lambda: optim.chain(optim.clip_by_global_norm(1.0), optim.adam(0.1))])
def test_optimisers_find_a_minimum(make):
    opt = make()
    target = np.array([1.0, -2.0, 0.5])

    @tn.jit
    def step(params, state):
        g = tn.grad(lambda p: tnp.sum((p["x"] - target) ** 2) + (p["y"] - 1) ** 2)(params)
        updates, state = opt.update(g, state, params)
        return optim.apply_updates(params, updates), state

    params = {"x": tnp.zeros(3), "y": tnp.zeros(())}
    state = opt.init(params)
    for _ in range(200):
        params, state = step(params, state)
    assert np.allclose(np.asarray(params["x"]), target, atol=0.05) and abs(float(params["y"]) - 1) < 0.05


def test_adam_by_hand():
    opt = optim.adam(0.1)
    p, state, m, v = tnp.array(1.0), None, 0.0, 0.0
    state = opt.init(p)
    x = 1.0
    for t in range(1, 6):
        updates, state = opt.update(tnp.asarray(2 * p), state, p)
        p = optim.apply_updates(p, updates)
        g = 2 * x
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        x -= 0.1 * (m / (1 - 0.9 ** t)) / (np.sqrt(v / (1 - 0.999 ** t)) + 1e-8)
        assert np.isclose(float(p), x)


def test_files(tmp_path):
    tree = {"layers": [{"w": tnp.ones((2, 3), tnp.bfloat16), "b": tnp.arange(3)}], "empty": tnp.zeros((0, 2)),
            "c": tnp.array([1 + 2j], tnp.complex64), "flag": tnp.array(True)}
    file = tmp_path / "x.safetensors"
    tn.save(file, tree)
    again = tn.load(file, like=tree)
    assert tn.tree.all(tn.tree.map(lambda a, b: a.dtype == b.dtype and bool(tnp.array_equal(a, b)), tree, again))
    assert {*tn.load(file)} == {"layers.0.w", "layers.0.b", "empty", "c", "flag"}
    with pytest.raises(tn.TreeError, match="lacks"):
        tn.load(file, like={"other": 1.0})
    with pytest.raises(tn.ShapeError):
        tn.load(file, like={**tree, "c": tnp.zeros(2, tnp.complex64)})
    whole = file.read_bytes()
    for damaged in (b"", whole[:4], whole[:30], b"\xff" * 8 + whole[8:], whole[:-1], whole.replace(b"F64", b"F99")):
        file.write_bytes(damaged)
        with pytest.raises(tn.ParseError):
            tn.load(file)


def test_references():
    r = tn.new_ref(tnp.zeros(3))

    def step(i, c):
        r[i] = c
        r[i] += 1
        return c * 2

    lax.fori_loop(0, 3, step, 1.0)
    assert r[...].tolist() == [2, 3, 5]
    f = tn.jit(lambda x: r.set(r[...] + x))
    f(1.0), f(1.0)
    assert r.get().tolist() == [4, 5, 7] and r.shape == (3,)
    assert tn.freeze(r).tolist() == [4, 5, 7]
    with pytest.raises(RuntimeError, match="frozen"):
        r[0]


def test_another_thread_runs_beside_native_code():
    f = tn.jit(lambda: lax.while_loop(lambda c: c[0] < 400_000_000, lambda c: (c[0] + 1, c[1] * 1.0000001), (0, 1.0)))
    ticks, done = [0], threading.Event()

    def tick():
        while not done.is_set():
            ticks[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.perf_counter()
    f()
    spent = time.perf_counter() - start
    done.set(), thread.join()
    assert ticks[0] > 20 * min(spent, 1.0)


def test_ctrl_c_stops_a_loop():
    # Whoever runs the tests may ignore the signal, and with it the processes that are started here.
    program = """if True:
        import signal
        signal.signal(signal.SIGINT, signal.default_int_handler)
        import tenon as tn
        from tenon import lax
        f = tn.jit(lambda n: lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * 1.0000001), (0, 1.0)))
        f(10)
        try:
            print("ready", flush=True)  # the signal may come from here on
            f(10 ** 15)
        except KeyboardInterrupt:
            print("stopped", float(f(10)[1]) > 1, flush=True)
    """
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout.readline() == "ready\n"
            time.sleep(0.3)
            child.send_signal(signal.SIGINT)
            assert child.communicate(timeout=30)[0] == "stopped True\n"
            assert child.returncode == 0
        finally:
            child.kill()
