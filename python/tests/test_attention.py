"""Attention beside NumPy in f64 by the definition, in each spelling, option and dtype; its derivatives, nests and sizes."""

import itertools
import re

import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp
from tenon import nn


def drawn(seed, *shape, dtype="float64"):
    return tnp.asarray(np.random.default_rng(seed).uniform(-1, 1, shape), dtype)


def plain(q, k, v, bias=None, mask=None, scale=None, is_causal=False, query_seq_lengths=None, key_value_seq_lengths=None,
          local_window_size=None):
    """By the definition, head by head, in f64."""
    q, k, v = (np.asarray(tnp.asarray(x, "float64")) for x in (q, k, v))
    (batch, t, heads, h), (s, groups) = q.shape, k.shape[1:3]
    result, sums = np.zeros((batch, t, heads, v.shape[-1])), np.zeros((batch, t, heads))
    i, j = np.arange(t)[:, None], np.arange(s)[None]
    for b, n in itertools.product(range(batch), range(heads)):
        of = n // (heads // groups)
        scores = q[b, :, n] @ k[b, :, of].T * (h ** -0.5 if scale is None else scale)
        if bias is not None:
            scores = scores + np.broadcast_to(bias, (batch, heads, t, s))[b, n]
        seen = np.ones((t, s), bool) if mask is None else np.broadcast_to(mask, (batch, heads, t, s))[b, n]
        if is_causal:
            seen = seen & (j <= i)
        if local_window_size is not None:
            before, behind = (local_window_size,) * 2 if isinstance(local_window_size, int) else local_window_size
            seen = seen & (j >= i - before) & (j <= i + behind)
        if query_seq_lengths is not None:
            seen = seen & (i < query_seq_lengths[b])
        if key_value_seq_lengths is not None:
            seen = seen & (j < key_value_seq_lengths[b])
        scores = np.where(seen, scores, -0.7 * float(np.finfo("float32").max))
        p = np.exp(scores - scores.max(-1, keepdims=True, initial=-1e300))
        result[b, :, n] = p / p.sum(-1, keepdims=True) @ v[b, :, of] if s else 0
        if query_seq_lengths is not None:
            result[b, query_seq_lengths[b]:, n] = 0
        sums[b, :, n] = np.log(p.sum(-1)) + scores.max(-1) if s else -np.inf
    return result, sums


ROUNDING = {"float64": 1e-12, "float32": 1e-5, "float16": 4e-3, "bfloat16": 3e-2}
b, t, s, heads = 2, 5, 7, 4
OPTIONS = [
    {}, {"scale": 0.3}, {"is_causal": True}, {"bias": np.asarray(drawn(4, b, heads, t, s))},
    {"bias": np.asarray(drawn(5, 1, heads, 1, s)), "scale": 2.0}, {"mask": np.asarray(drawn(6, b, 1, t, s)) > -0.5},
    {"mask": np.asarray(drawn(7, heads, t, s)) > 0}, {"query_seq_lengths": np.array([3, 5], "int32")},
    {"key_value_seq_lengths": np.array([7, 2], "int32"), "is_causal": True}, {"local_window_size": 1},
    {"local_window_size": (2, 0)}, {"local_window_size": (0, 3), "mask": np.arange(s) != 2},
    {"mask": np.zeros((1, 1, t, s), bool)}, {"key_value_seq_lengths": np.array([0, 4], "int32")},
]


@pytest.mark.parametrize("groups", [4, 2, 1])
@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: "_".join(o) or "none")
def test_each_option(options, groups):
    for dtype in ROUNDING if groups == 2 else ("float64",):
        q, k, v = drawn(1, b, t, heads, 6, dtype=dtype), drawn(2, b, s, groups, 6, dtype=dtype), drawn(3, b, s, groups, 6, dtype=dtype)
        want, sums = plain(q, k, v, **options)
        given = {name: tnp.asarray(x, dtype) if name == "bias" else x for name, x in options.items()}
        for call in (nn.dot_product_attention, tn.jit(lambda *a, **o: nn.dot_product_attention(*a, **given, **o), static_argnames="return_residual")):
            made, summed = call(q, k, v, **(given if call is nn.dot_product_attention else {}), return_residual=True)
            assert made.dtype == dtype and summed.dtype == dtype and made.shape == want.shape
            near = dict(rtol=0, atol=ROUNDING[dtype] * 2)
            np.testing.assert_allclose(np.asarray(tnp.asarray(made, "float64")), want, **near)
            finite = sums > -1e30
            np.testing.assert_allclose(np.asarray(tnp.asarray(summed, "float64"))[finite], sums[finite], **near)
            assert (np.asarray(tnp.asarray(summed, "float64"))[~finite] < -6e4).all()


def test_no_batch_no_keys_one_key():
    q, k, v = drawn(1, t, heads, 6), drawn(2, s, heads, 6), drawn(3, s, heads, 6)
    alone, sums = nn.dot_product_attention(q, k, v, return_residual=True)
    want = plain(q[None], k[None], v[None])
    assert np.allclose(alone, want[0][0]) and np.allclose(sums, want[1][0])
    assert np.allclose(nn.dot_product_attention(q, k[:1], v[:1]), np.broadcast_to(np.asarray(v[:1]), (t, heads, 6)))
    for f in (nn.dot_product_attention, tn.jit(nn.dot_product_attention)):
        assert np.array_equal(f(q, k[:0], v[:0]), np.zeros((t, heads, 6)))
        assert f(q[:0], k, v).shape == (0, heads, 6)
    one = tn.grad(lambda k: tnp.sum(nn.dot_product_attention(q, k, v[:1]) ** 2))(k[:1])
    assert np.allclose(one, 0, atol=1e-14)


def by_hand(q, k, v):
    scores = q @ k.T * 0.2
    p = tnp.exp(scores - tnp.max(scores, -1, keepdims=True))
    return p / tnp.sum(p, -1, keepdims=True) @ v


SPELLINGS = {
    "by hand": by_hand,
    "softmax": lambda q, k, v: nn.softmax(q @ k.T * 0.2) @ v,
    "scaled before": lambda q, k, v: nn.softmax((q * 0.2) @ k.T, axis=1) @ v,
    "divided last": lambda q, k, v: (lambda p: (p @ v) / tnp.sum(p, 1)[:, None])(tnp.exp((lambda x: x - x.max(1)[:, None])(q @ k.T * 0.2))),
    "no shift": lambda q, k, v: (lambda p: p @ v / tnp.sum(p, 1, keepdims=True))(tnp.exp(q @ k.T * 0.2)),
    "einsum": lambda q, k, v: tnp.einsum("ij,jd->id", nn.softmax(tnp.einsum("id,jd->ij", q, k) * 0.2), v),
    "log_softmax": lambda q, k, v: tnp.exp(nn.log_softmax(q @ k.T * 0.2)) @ v,
    "transposed": lambda q, k, v: tnp.einsum("ji,jd->id", nn.softmax(k @ q.T * 0.2, axis=0), v),
    "of the function": lambda q, k, v: nn.dot_product_attention(q[:, None], k[:, None], v[:, None], scale=0.2)[:, 0],
    "vmap of rows": lambda q, k, v: tn.vmap(lambda x: nn.softmax(k @ x * 0.2) @ v)(q),
}


def softmax(x):
    p = np.exp(x - x.max(-1, keepdims=True))
    return p / p.sum(-1, keepdims=True)


def gradient_by_hand(q, k, v):
    """Of the sum of squares."""
    p = softmax(q @ k.T * 0.2)
    out = p @ v
    ct = 2 * out
    of_p = ct @ v.T
    of_scores = p * (of_p - (p * of_p).sum(-1, keepdims=True)) * 0.2
    return of_scores @ k, of_scores.T @ q, p.T @ ct


@pytest.mark.parametrize("name", SPELLINGS)
def test_one_long_head(name):
    f = SPELLINGS[name]
    q, k, v = drawn(1, 1111, 32), drawn(2, 1300, 32), drawn(3, 1300, 24 if name != "of the function" else 32)
    a, b, c = map(np.asarray, (q, k, v))
    squares = lambda *x: tnp.sum(f(*x) ** 2)
    for dtype, rounding in (("float64", 1e-12), ("float32", 2e-5)):
        given = [tnp.asarray(x, dtype) for x in (q, k, v)]
        np.testing.assert_allclose(tn.jit(f)(*given), softmax(a @ b.T * 0.2) @ c, rtol=0, atol=rounding)
        for made, want in zip(tn.jit(tn.grad(squares, argnums=(0, 1, 2)))(*given), gradient_by_hand(a, b, c)):
            np.testing.assert_allclose(made, want, rtol=0, atol=rounding * (1 + abs(want).max()))


@pytest.mark.parametrize("sizes", ["automatic", "symbolic", {"q": ("T", None), "k": ("S", None), "v": ("S", None)}])
def test_sizes_that_vary(sizes):
    f = tn.jit(by_hand, sizes=sizes)
    of_grad = tn.jit(tn.grad(lambda q, k, v: tnp.sum(by_hand(q, k, v) ** 2), argnums=(0, 1, 2)), sizes=sizes)
    for rows, keys in ((1500, 1100), (1501, 1201), (3, 1100), (700, 2), (129, 128), (900, 900)):
        q, k, v = drawn(1, rows, 32), drawn(2, keys, 32), drawn(3, keys, 32)
        a, b, c = map(np.asarray, (q, k, v))
        np.testing.assert_allclose(f(q, k, v), softmax(a @ b.T * 0.2) @ c, rtol=0, atol=1e-12)
        for made, want in zip(of_grad(q, k, v), gradient_by_hand(a, b, c)):
            np.testing.assert_allclose(made, want, rtol=0, atol=1e-12 * (1 + abs(want).max()))


def test_batches_that_vary():
    f = tn.jit(lambda q, k, v: nn.dot_product_attention(q, k, v, is_causal=True))
    of_grad = tn.jit(tn.grad(lambda *x: tnp.sum(nn.dot_product_attention(*x, is_causal=True) ** 2), argnums=(0, 1, 2)))
    for batch, rows in ((3, 200), (2, 300), (5, 129), (4, 300)):
        q, k, v = (drawn(i, batch, rows, 2, 16) for i in range(3))
        np.testing.assert_allclose(f(q, k, v), plain(q, k, v, is_causal=True)[0], rtol=0, atol=1e-12)
        fixed = tn.jit(tn.grad(lambda *x: tnp.sum(nn.dot_product_attention(*x, is_causal=True) ** 2), argnums=(0, 1, 2)), sizes="fixed")
        for made, want in zip(of_grad(q, k, v), fixed(q, k, v)):
            np.testing.assert_allclose(made, want, rtol=0, atol=1e-11)


def test_nests():
    q, k, v = (drawn(i, 3, 40, 2, 8) for i in range(3))
    f = lambda q, k, v: nn.dot_product_attention(q, k, v, is_causal=True)
    whole = f(q, k, v)
    assert np.allclose(tn.vmap(f)(q, k, v), whole) and np.allclose(tn.jit(tn.vmap(tn.jit(f)))(q, k, v), whole)
    assert np.allclose(tn.vmap(f, in_axes=(1, None, None), out_axes=1)(q[0][:, None], k[0], v[0])[:, 0], f(q[0], k[0], v[0]))
    loss = lambda *x: tnp.sum(f(*x) ** 2)
    grads = tn.grad(loss, argnums=(0, 1, 2))(q, k, v)
    for made in (tn.jit(tn.vmap(tn.grad(loss, argnums=(0, 1, 2))))(q, k, v), tn.vmap(tn.jit(tn.grad(loss, argnums=(0, 1, 2))))(q, k, v)):
        for x, want in zip(made, grads):
            np.testing.assert_allclose(x, want, rtol=0, atol=1e-12)
    direction = drawn(9, 3, 40, 2, 8)
    step, along = 1e-5, lambda e: tn.grad(loss)(q + e * direction, k, v)
    _, second = tn.jit(lambda q: tn.jvp(tn.grad(lambda q: loss(q, k, v)), (q,), (direction,)))(q)
    np.testing.assert_allclose(second, (np.asarray(along(step)) - np.asarray(along(-step))) / (2 * step), rtol=0, atol=1e-7)


def test_derivatives_in_bias_and_scale():
    q, k, v, bias = drawn(1, 1, 6, 2, 4), drawn(2, 1, 5, 2, 4), drawn(3, 1, 5, 2, 4), drawn(4, 1, 2, 6, 5)
    loss = lambda bias, scale: tnp.sum(nn.dot_product_attention(q, k, v, bias, scale=scale) ** 2)
    of_bias, of_scale = tn.grad(loss, argnums=(0, 1))(bias, 0.7)
    step = 1e-6
    assert np.isclose(of_scale, (loss(bias, 0.7 + step) - loss(bias, 0.7 - step)) / (2 * step), atol=1e-8)
    e = drawn(5, 1, 2, 6, 5)
    assert np.isclose(tnp.sum(of_bias * e), (loss(bias + step * e, 0.7) - loss(bias - step * e, 0.7)) / (2 * step), atol=1e-8)


def test_rows_behind_their_length_give_nothing():
    q, k, v = (drawn(i, 2, 4, 1, 3) for i in range(3))
    lengths = np.array([4, 2], "int32")
    value, grads = tn.value_and_grad(lambda *x: tnp.sum(nn.dot_product_attention(*x, query_seq_lengths=lengths) ** 2), argnums=(0, 1, 2))(q, k, v)
    other = tn.value_and_grad(lambda *x: tnp.sum(nn.dot_product_attention(*x, query_seq_lengths=lengths) ** 2), argnums=(0, 1, 2))(q.at[1, 2:].set(7.0), k, v)
    assert value == other[0] and all(np.array_equal(x, y) for x, y in zip(grads, other[1]))
    assert np.array_equal(grads[0][1, 2:], np.zeros((2, 1, 3)))


def test_wrong_calls():
    q = drawn(1, 2, 3, 4, 5)
    for wrong, words in (((q, q[:1], q), "Batches agree"), ((q, q[:, :2], q), "same times"), ((q, q[..., :2], q), "same features"),
                         ((q, q[0], q), "all three"), ((q[0, 0], q[0, 0], q[0, 0]), "all three"),
                         ((q, q[:, :, :3], q[:, :, :3]), "4 heads of queries and 3 of keys")):
        with pytest.raises(ValueError, match=words):
            nn.dot_product_attention(*wrong)
    with pytest.raises(TypeError, match="as a mask"):
        nn.dot_product_attention(q, q, q, mask=tnp.ones((2, 4, 3, 3)))
    with pytest.raises(TypeError, match="complex"):
        nn.dot_product_attention(q + 1j, q, q)
    with pytest.raises(ValueError, match="lengths of sequences"):
        nn.dot_product_attention(q, q, q, key_value_seq_lengths=tnp.ones((2, 1), int))
    with pytest.raises(ValueError, match="there is one, None"):
        nn.dot_product_attention(q, q, q, implementation="cudnn")


@pytest.mark.parametrize("shape", [(1, 1024, 4, 32), (1024, 4, 32)])
def test_scores_of_one_sequence_are_not_stored(shape):
    x = drawn(1, *shape, dtype="float32")
    between = int(re.search(r"([\d,]+) bytes of intermediate values", str(tn.explain(nn.dot_product_attention)(x, x, x)))[1].replace(",", ""))
    assert between < 4 * 1024 * 1024 * 4  # of the scores of all heads
