"""Checks every checksum in results.jsonl against JAX or NumPy on the same inputs: python check.py results.jsonl. Prints the relative difference of each."""
import json, sys
import numpy as np, jax, jax.numpy as jnp
from jax import lax
jax.config.update("jax_enable_x64", True)
f8 = jnp.float64


def fill(n, seed, lo=-1.0, hi=1.0):          # limits.h, Buffer::fill
    h = ((np.arange(n, dtype=np.uint64) + seed * 0x9E3779B9) & 0xFFFFFFFF) * 0x85EBCA6B & 0xFFFFFFFF
    h ^= h >> 13; h = h * 0xC2B2AE35 & 0xFFFFFFFF; h ^= h >> 16
    lo, hi = np.float32(lo), np.float32(hi)
    return (lo + (hi - lo) * ((h >> 8).astype(np.float32) * np.float32(2.0 ** -24))).astype(np.float32)


lin = lambda a, b, n: np.linspace(a, b, n, dtype=np.float64).astype(np.float32)
def S(x): x = np.asarray(x, np.float64).ravel(); return float(x @ fill(x.size, 99, 0, 1).astype(np.float64))   # limits.h, weighted
W = {}                                        # (case, checksum name) -> value
def want(case, pairs): W.update({(case, k): float(v) for k, v in pairs})
sq = lambda f: (lambda *a: jnp.sum(jnp.square(f(*a))))

# 1 loops
def scan_loss(xs, c0):
    c, ys = lax.scan(lambda c, x: (lambda n: (n, n))(jnp.sin(jnp.sin(x) * c) + 0.1), c0, xs); return jnp.sum(c * ys)
for F in (64, 5):
    xs, c0 = jnp.asarray(lin(.1, 1, 1000 * F).reshape(1000, F), f8), jnp.full(F, .5, f8); l, (dx, dc) = jax.value_and_grad(scan_loss, (0, 1))(xs, c0)
    want(f"P5 scan stacked F{F} T1000", [("loss", l), ("sum of d xs", S(dx)), ("d c0[1]", dc[1])])
def dot_loss(xs, c0):
    def body(s, i): c, ys = s; n = jnp.sin(jnp.tensordot(ys, xs, ((0,), (0,))).mean(-1) + c) + 0.1; return (n, ys.at[i].set(n)), None
    (c, ys), _ = lax.scan(body, (c0, jnp.zeros_like(xs)), jnp.arange(16)); return jnp.sum(c * ys)
xs, c0 = jnp.asarray(lin(.1, 1, 1024).reshape(16, 64), f8), jnp.full(64, .5, f8); l, (dx, dc) = jax.jit(jax.value_and_grad(dot_loss, (0, 1)))(xs, c0)
want("P5 dot(ys,xs) F64 T16", [("loss", l), ("sum of d xs", S(dx)), ("d c0[1]", dc[1])])
wl = lambda n: (lambda x: lax.scan(lambda s, _: (jnp.sin(s) * .9 + .1 * jnp.cos(s * s), None), x, None, length=n)[0]); x0 = jnp.asarray(lin(0, 1, 64), f8)
want("P5 while 10000 steps f32[64]", [("sum of result", S(wl(10000)(x0))), ("d x[5] after 20 steps", jax.grad(lambda x: wl(20)(x).sum())(x0)[5])])
want("P5 while buffer n=30000", [("sum, x=1", S(np.sin(np.float32(1) + np.arange(30000, dtype=np.float32), dtype=np.float64)))])
lg = lambda x, n=20: lax.scan(lambda x, _: (3.7 * x * (1 - x), None), x, None, length=n)[0]
want("P5 while 2^22 scalar logistic steps f32", [("x after 20 steps", lg(f8(.4))), ("d x0 after 20 steps", jax.grad(lg)(f8(.4)))])
# 2 loop_overhead
sn = lambda x, n: lax.scan(lambda x, _: (jnp.sin(x) + 1e-3, None), x, None, length=n)[0]
want("sin f32 scalar", [("result", sn(f8(.5), 10 ** 6)), ("gradient, 20 steps", jax.grad(lambda x: sn(x, 20))(f8(.5)))])
want("sin f64 scalar", [("result", sn(f8(.5), 10 ** 6)), ("result, polynomial", sn(f8(.5), 10 ** 6)), ("gradient, 20 steps", jax.grad(lambda x: sn(x, 20))(f8(.5)))])
want("logistic f32 scalar", [("x0=0.3, 20 steps", lg(f8(.3))), ("gradient, 20 steps", jax.grad(lg)(f8(.3)))])
want("logistic f64 scalar", [("x0=0.3, 20 steps", lg(f8(.3))), ("gradient, 20 steps", jax.grad(lg)(f8(.3)))])
A0 = jnp.eye(3, dtype=f8) + .01; m3 = lambda B: lax.scan(lambda B, _: (.5 * (A0 @ B @ A0), None), B, None, length=10)[0].sum()
want("3x3 f64 2 products", [("sum after 10 steps", m3(.3 * A0)), ("gradient[0][1], 10 steps", jax.grad(m3)(.3 * A0)[0, 1])])
r60 = lambda v: lax.scan(lambda v, _: (v * .99 + jnp.roll(v, -1) * .01, None), v, None, length=614)[0]
want("60 scalars", [("sum", r60(jnp.asarray(lin(0, 1, 60), f8)).sum()), ("gradient[1], seed 2 at 0 and 1 elsewhere", jax.vjp(r60, jnp.zeros(60, f8))[1](jnp.ones(60).at[0].set(2))[0][1])])
s40 = lambda v, n: lax.scan(lambda v, _: ((v * .9 + .05) - .01 * v * v, None), v, None, length=10 * n)[0].sum(); x8 = jnp.asarray(lin(0, 1, 8), f8)
want("~40 ops f32[8]", [("sum", s40(x8, 10 ** 5)), ("gradient[3], 2 iterations", jax.grad(lambda v: s40(v, 2))(x8)[3])])
# 3 training steps
def gru(p, xs, y):
    Wm, U, b, bn, O = p; H = U.shape[0]; pre = xs @ Wm + b
    def cell(h, a):
        g = h @ U; r = jax.nn.sigmoid(a[:, :H] + g[:, :H]); z = jax.nn.sigmoid(a[:, H:2*H] + g[:, H:2*H]); n = jnp.tanh(a[:, 2*H:] + r * (g[:, 2*H:] + bn)); h = (1 - z) * n + z * h; return h, h
    return jnp.mean(jnp.square(lax.scan(cell, jnp.zeros((xs.shape[1], H)), pre)[1] @ O - y))
def lstm(p, xs, y):
    Wm, U, b, O = p; H = U.shape[0]; pre = xs @ Wm + b
    def cell(s, a):
        h, c = s; i, f, g, o = jnp.split(a + h @ U, 4, -1); c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g); h = jax.nn.sigmoid(o) * jnp.tanh(c); return (h, c), h
    z = jnp.zeros((xs.shape[1], H)); return jnp.mean(jnp.square(lax.scan(cell, (z, z), pre)[1] @ O - y))
par = lambda s, *sh: jnp.asarray(fill(int(np.prod(sh)), s, -.1, .1).reshape(sh), f8); X = lambda s, *sh, r=1.0: jnp.asarray(fill(int(np.prod(sh)), s, -r, r).reshape(sh), f8)
for name, f, p, x, y in (("P10 GRU H64 D8 T100 B32", gru, [par(3, 8, 192), par(4, 64, 192), jnp.zeros(192), jnp.zeros(64), par(5, 64, 8)], X(1, 100, 32, 8), X(2, 100, 32, 8)),
                         ("P10 LSTM H128 D64 T50 B64", lstm, [par(3, 64, 512), par(4, 128, 512), jnp.zeros(512), par(5, 128, 64)], X(1, 50, 64, 64), X(2, 50, 64, 64))):
    l, g = jax.jit(jax.value_and_grad(f))(p, x, y); want(name, [("loss", l), ("dU", S(g[1])), ("dW", S(g[0])), ("dO", S(g[-1])), ("b after the step", -.01 * S(g[2])), ("bn after the step", -.01 * S(g[3]))])
def mlp(p, x):
    for i in range(0, 4, 2): x = jax.nn.relu(x @ p[i] + p[i + 1])
    return -jnp.mean(jnp.sum(jax.nn.log_softmax(x @ p[4] + p[5]) * jax.nn.one_hot(jnp.arange(128) % 10, 10), -1))
l, g = jax.value_and_grad(mlp)([par(3, 784, 512), jnp.zeros(512), par(4, 512, 256), jnp.zeros(256), par(5, 256, 10), jnp.zeros(10)], X(1, 128, 784))
want("P10 MLP 784-512-256-10 B128", [("loss", l)] + [(f"change of {'wb'[k % 2]}{k // 2}", -.01 * S(g[k])) for k in range(6)])
# 4 elementwise
def chain(x):
    for _ in range(20): x = jnp.sin(x) + .1
    return x
gel = lambda x, y, z: jax.nn.gelu(x) * y + jnp.tanh(z)
for n in (5000000, 100000):
    m = -(-n // 128) * 128; x, y, z = (X(i, m, r=2.0) for i in (1, 2, 3)); want(f"P9 gelu*y+tanh n={n}", [("forward sum", S(gel(x, y, z))), ("gradient sum", sum((k + 1) * S(v) for k, v in enumerate(jax.grad(sq(gel), (0, 1, 2))(x, y, z))))])
    want(f"P9 20x sin n={n}", [("forward sum", S(chain(x))), ("gradient sum", S(jax.grad(sq(chain))(x)))])
x, y = (fill(256 ** 3, i, 0, .01).astype(np.float64) for i in (1, 2)); 
for name, n in (("256^3", 256 ** 3), ("n=100352", 98 * 1024)): want(f"P9 ssd {name}", [("forward sum", ((x[:n] - y[:n]) ** 2).sum()), ("gradient sum", (lambda v: v - 4 * v * S(x[:n] - y[:n]))(((x[:n] - y[:n]) ** 2).sum()))])
ln = lambda x: (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5); ls = lambda x: jax.nn.logsumexp(x, -1)
for rows in (4096, 98):
  x = X(1, rows, 1024, r=2.0)
  for nm, f in (("softmax", jax.nn.softmax), ("layernorm", ln), ("logsumexp", ls)): want(f"P9 {nm} [{rows},1024]", [("forward sum", S(f(x))), ("gradient sum", S(jax.grad(sq(f))(x)))])
for shape, axis, named in (((16, 1 << 20), -1, "[16,2^20]"), ((1024, 4096), 0, "down [1024,4096]")):                     # 12 one_pass
  x = jnp.asarray(fill(shape[0] * shape[1], 1, -2, 2).reshape(shape), f8)
  norm = lambda x: (x - x.mean(axis, keepdims=True)) * lax.rsqrt(x.var(axis, keepdims=True) + 1e-5)
  for nm, f in (("softmax", lambda x: jax.nn.softmax(x, axis)), ("layernorm", norm), ("logsumexp", lambda x: jax.nn.logsumexp(x, axis))):
    want(f"{nm} {named}", [("forward sum", S(f(x))), ("gradient sum", S(jax.grad(sq(f))(x)))])
# 5 scan_reduce
for T, B, D in ((1000, 32, 128), (200, 64, 256)):
    xs, y = (jnp.asarray(X(i, T, B, D, r=1.7), jnp.float32) for i in (1, 2)); a = 1.7 / np.sqrt(D); p = tuple(jnp.asarray(fill(D * D, s, -a, a).reshape(D, D)) for s in (3, 4)) + (jnp.zeros(D, jnp.float32),); z = jnp.zeros((B, D), jnp.float32); sz = f" T{T} B{B} D{D}"
    el = lambda xs: jnp.mean(jnp.square(y - lax.scan(lambda c, x: (lambda n: (n, n))(jnp.sin(c + x)), z, xs)[1])); l, g = jax.jit(jax.value_and_grad(el))(xs); want("P1 sin(c+x)" + sz, [("loss", l), ("d xs", S(g))])
    rn = lambda p: jnp.mean(jnp.square(y - lax.scan(lambda c, x: (lambda n: (n, n))(jnp.tanh(c @ p[0] + x @ p[1] + p[2])), z, xs)[1])); l, g = jax.jit(jax.value_and_grad(rn))(p); want("P1 rnn" + sz, [("loss", l), ("d u", S(g[0])), ("d w", S(g[1])), ("d b", S(g[2]))])
# 6 map_reduce
for N in (1000, 10000, 30000):
    x, y, b = fill(3 * N, 1, 0, 1).reshape(N, 3), fill(3 * N, 2, 0, 1).reshape(N, 3), fill(N, 3, 0, 1); dy = np.zeros((N, 3)); db = np.zeros(N); out, dx, lse, am = [], [], [], []
    for i in range(0, N, 500):
        d = x[i:i+500, None].astype(np.float64) - y[None]; q = (d * d).sum(-1); e = np.exp(-q); out.append(e @ b); w = (e * b)[..., None] * d; dx.append(-2 * w.sum(1)); dy += 2 * w.sum(0); db += e.sum(0); lse.append(np.log(e.sum(1))); am.append(q.argmin(1))
    want(f"P8 gaussian N=M={N}", [(k, S(np.concatenate(v))) for k, v in (("sum", out), ("d x", dx), ("d y", [dy]), ("d b", [db]), ("logsumexp", lse), ("argmin sum", am))])
N = 10000; x, y, b = (v.astype(np.float64) for v in (fill(3 * N, 1, 0, 1).reshape(N, 3), fill(3 * N, 2, 0, 1).reshape(N, 3), fill(N, 3, 0, 1))); dy, db, out, dx = 0, 0, [], []
for i in range(0, N, 500):
    d = x[i:i+500, None] - y[None]; e = np.exp(-(d * d).sum(-1)); w = (e * b)[..., None] * d; out.append(e @ b); dx.append(-2 * w.sum(1)); dy += 2 * w.sum(0); db += e.sum(0)
want(f"P8 gaussian f64 N=M={N}", [(k, S(np.concatenate(v))) for k, v in (("sum", out), ("d x", dx), ("d y", [dy]), ("d b", [db]))])
# 6 nearest
x, y = fill(300000, 1, 0, 1).reshape(-1, 3), fill(3000, 2, 0, 1).reshape(-1, 3); of, at, label = [], [], []
for i in range(0, 100000, 5000):
    d = np.square(x[i:i+5000, None].astype(np.float64) - y[None]).sum(-1); p = np.argsort(d, 1, kind="stable")[:, :10]; at.append(p); of.append(np.take_along_axis(d, p, 1)); label.append(p[:, 0])
count = np.bincount(np.concatenate(label), minlength=1000); means = np.stack([np.bincount(np.concatenate(label), x[:, k], 1000) for k in range(3)], 1) / np.maximum(count, 1)[:, None]
want("nearest of 1000, 100000 points", [("distances", S(np.concatenate(of))), ("places", S(np.concatenate(at))), ("centres", S(means))])
# 7 diagonals
DM = np.array([0, 1, 2, 3, 5, 6, 7, 4, 10, 11, 8, 9, 15, 12, 13, 14])
def cha(m, cx):
    o = m.copy(); rot = lambda v, k: (v << np.uint32(k)) | (v >> np.uint32(32 - k))
    def cols(m):
        a, b, c, d = (m[:, i].copy() for i in range(4))
        if cx:
            for _ in range(3): a = a << np.uint32(7); b = b + a; c = c * b
        else: a = a + b; d = rot(d ^ a, 16); c = c + d; b = rot(b ^ c, 12); a = a + b; d = rot(d ^ a, 8); c = c + d; b = rot(b ^ c, 7)
        return np.stack([a, b, c, d], 1)
    for _ in range(7 if cx else 10):
        m = cols(cols(m).reshape(-1, 16)[:, DM].reshape(-1, 4, 4))
        if not cx: m = m.reshape(-1, 16)[:, np.argsort(DM)].reshape(-1, 4, 4)
    return (m + o).ravel()
def poly(w):
    s = 0
    for v in w.tolist(): s = (s * 31 + v) & 0xFFFFFFFF
    return s
for B in (1, 1000, 100000):
    m = ((np.arange(16 * B, dtype=np.uint64) * 2654435761 + 12345) & 0xFFFFFFFF).astype(np.uint32).reshape(B, 4, 4); want(f"P3 chacha B{B}", [("polynomial hash (base 31)", poly(cha(m, False)))] + ([("complex column", poly(cha(m, True)))] if B == 1 else []))
# 8 contraction, attention
cs = (("P4 w[600,821] a[32,100,821]", lambda w, a: a @ w.T, X(1, 600, 821), X(2, 3200, 821), "dw", "da"), ("P4 nxyc,mxyc->nmxy", lambda a, b: jnp.einsum("nsc,msc->nms", a, b), X(1, 100, 400, 3), X(2, 200, 400, 3), "dA", "dB"), ("P4 (1e6,3)x(3,3)", jnp.matmul, X(1, 10 ** 6, 3), X(2, 3, 3), "dP", ""))
for c, f, a, b, na, nb in cs: g = jax.jit(jax.grad(sq(f), (0, 1)))(a, b); want(c, [("out", S(f(a, b))), (na, S(g[0])), (nb, S(g[1])), ("dQ", S(g[1])), ("dQ[0][1]", g[1].ravel()[1]), ("dQ[2][0]", g[1].ravel()[6])])
for n in (3, 4, 8): a, b = X(1, 10 ** 5, n, n), X(2, 10 ** 5, n, n); g = jax.jit(jax.grad(sq(jnp.matmul), (0, 1)))(a, b); want(f"100000 products of [{n},{n}]", [("out", S(a @ b)), ("dA", S(g[0])), ("dB", S(g[1]))])
att = lambda q, k, v: jax.nn.softmax(q @ k.swapaxes(1, 2) / 8) @ v; q = tuple(X(i, 64, 256, 64, r=1.7) for i in (1, 2, 3)); g = jax.grad(sq(att), (0, 1, 2))(*q)
want("attention 64 heads x 256 x 64", [("o", S(att(*q)))] + [(f"d{n}", S(v)) for n, v in zip("qkv", g)])

bad = 0
for line in open(sys.argv[1]):
    r = json.loads(line); k = (r["case"], r["figure"].removeprefix("checksum "))
    if not r["figure"].startswith("checksum ") or k not in W: continue
    d = abs(r["value"] - W[k]) / max(abs(W[k]), 1e-30); bad += d > 1e-3; print(f"{d:9.1e} {'  ' if d <= 1e-3 else '!!'} {k[0]}: {k[1]} = {r['value']:.7g}, expected {W[k]:.7g}")
print("differences over 1e-3:", bad, "(expected: 2; the chaotic logistic gradient, and layer norm's gradient of its own square, which cancels)")
