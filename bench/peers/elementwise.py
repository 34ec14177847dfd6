"""P9: fused elementwise chains, row reductions; memcpy and triad for the machine's bandwidth."""
import ctypes, subprocess, sys, tempfile
import numpy as np, jax, jax.numpy as jnp
from common import emit, report, ready, have
CPP = r'''
#include <cmath>
#include <thread>
#include <cstring>
template <class F> static void par(long n, F f) { std::thread t([=] { f(0, n / 2); }); f(n / 2, n); t.join(); }
extern "C" {
void copy(const float* x, float* o, long n) { par(n, [=](long a, long b) { memcpy(o + a, x + a, (b - a) * 4); }); }
void triad(const float* x, const float* y, float* o, long n) { par(n, [=](long a, long b) { for (long i = a; i < b; i++) o[i] = x[i] + 3.0f * y[i]; }); }
void gelu(const float* x, const float* y, const float* z, float* o, long n) { par(n, [=](long a, long b) { for (long i = a; i < b; i++) { float v = x[i];
  float t = 1 - 2 / (expf(2 * 0.7978845608f * (v + 0.044715f * v * v * v)) + 1), h = 1 - 2 / (expf(2 * z[i]) + 1); o[i] = 0.5f * v * (1 + t) * y[i] + h; } }); }
void sin20(const float* x, float* o, long n) { par(n, [=](long a, long b) { for (long i = a; i < b; i += 512) { float v[512]; long n = b - i < 512 ? b - i : 512; for (long j = 0; j < n; j++) v[j] = x[i + j];
  for (int k = 0; k < 20; k++) for (long j = 0; j < n; j++) v[j] = sinf(v[j]) + 0.1f; for (long j = 0; j < n; j++) o[i + j] = v[j]; } }); }
float ssd(const float* x, const float* y, long n) { float r[2]; std::thread t([&] { float s = 0; for (long i = 0; i < n / 2; i++) { float d = x[i] - y[i]; s += d * d; } r[0] = s; });
  float s = 0; for (long i = n / 2; i < n; i++) { float d = x[i] - y[i]; s += d * d; } r[1] = s; t.join(); return r[0] + r[1]; }
void softmax(const float* x, float* o, long R, long C) { par(R, [=](long a, long b) { for (long i = a; i < b; i++) { const float* p = x + i * C; float* q = o + i * C; float m = p[0]; for (long j = 1; j < C; j++) m = p[j] > m ? p[j] : m;
  float s = 0; for (long j = 0; j < C; j++) { float e = expf(p[j] - m); q[j] = e; s += e; } s = 1 / s; for (long j = 0; j < C; j++) q[j] *= s; } }); }
void lse(const float* x, float* o, long R, long C) { par(R, [=](long a, long b) { for (long i = a; i < b; i++) { const float* p = x + i * C; float m = p[0]; for (long j = 1; j < C; j++) m = p[j] > m ? p[j] : m;
  float s = 0; for (long j = 0; j < C; j++) s += expf(p[j] - m); o[i] = m + logf(s); } }); }
void lnorm(const float* x, float* o, long R, long C) { par(R, [=](long a, long b) { for (long i = a; i < b; i++) { const float* p = x + i * C; float* q = o + i * C; float s = 0, t = 0; for (long j = 0; j < C; j++) { s += p[j]; t += p[j] * p[j]; }
  float m = s / C, k = 1 / sqrtf(t / C - m * m + 1e-5f); for (long j = 0; j < C; j++) q[j] = (p[j] - m) * k; } }); } }
'''
d = tempfile.mkdtemp(); open(d + "/a.cpp", "w").write(CPP)
subprocess.check_call(["g++", "-O3", "-ffast-math", "-march=native", "-mprefer-vector-width=512", "-shared", "-fPIC", "-pthread", "-o", d + "/a.so", d + "/a.cpp"])
L = ctypes.CDLL(d + "/a.so"); P = lambda a: a.ctypes.data_as(ctypes.c_void_p); cl = ctypes.c_long; L.ssd.restype = ctypes.c_float
r = np.random.default_rng(0); R = lambda *s: r.standard_normal(s, dtype=np.float32)
ONLY = sys.argv[1:]     # e.g. `elementwise.py numba`: only the peers named
def go(case, peer, f, bytes_, metric="fwd"):
    if ONLY and not any(o in peer for o in ONLY): return
    t = report("P9 " + case, peer, metric, f, budget=2.5)
    if t: emit("P9 " + case, peer, metric + " rate", bytes_ / t / 1e9, "GB/s")
def tree(mod, gelu, softmax, ln, lse, sinf=None):
    def chain(x):
        for _ in range(20): x = mod.sin(x) + 0.1
        return x
    return {"gelu*y+tanh": lambda x, y, z: gelu(x) * y + mod.tanh(z), "20x sin": chain, "ssd 256^3": lambda x, y: mod.sum((x - y) ** 2), "softmax": softmax, "layernorm": ln, "logsumexp": lse}
jln = lambda x: (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)
JF = tree(jnp, jax.nn.gelu, jax.nn.softmax, jln, lambda x: jax.nn.logsumexp(x, -1))
CF = {"gelu*y+tanh": lambda o, x, y, z: L.gelu(P(x), P(y), P(z), P(o), cl(x.size)), "20x sin": lambda o, x: L.sin20(P(x), P(o), cl(x.size)), "ssd 256^3": lambda o, x, y: L.ssd(P(x), P(y), cl(x.size)),
      "softmax": lambda o, x: L.softmax(P(x), P(o), cl(len(x)), cl(1024)), "layernorm": lambda o, x: L.lnorm(P(x), P(o), cl(len(x)), cl(1024)), "logsumexp": lambda o, x: L.lse(P(x), P(o), cl(len(x)), cl(1024))}
NF = {}; NB = "numba parallel fastmath"
if (numba := have("numba")):
    if numba.config.USING_SVML: NB += " SVML"
    @numba.njit(parallel=True, fastmath=True)
    def ng(o, x, y, z):
        for i in numba.prange(x.size): v = x[i]; o[i] = np.float32(0.5) * v * (np.float32(1) + np.tanh(np.float32(0.7978845608) * (v + np.float32(0.044715) * v * v * v))) * y[i] + np.tanh(z[i])
    @numba.njit(parallel=True, fastmath=True)
    def nsin(o, x):
        for i in numba.prange(x.size):
            v = x[i]
            for _ in range(20): v = np.sin(v) + np.float32(0.1)
            o[i] = v
    @numba.njit(parallel=True, fastmath=True)
    def nssd(o, x, y):
        s = np.float32(0); x = x.ravel(); y = y.ravel()
        for i in numba.prange(x.size): s += (x[i] - y[i]) ** 2
        return s
    @numba.njit(parallel=True, fastmath=True)
    def nsm(o, x):
        for i in numba.prange(x.shape[0]):
            m = x[i].max(); s = np.float32(0)
            for j in range(x.shape[1]): e = np.exp(x[i, j] - m); o[i, j] = e; s += e
            for j in range(x.shape[1]): o[i, j] /= s
    NF = {"gelu*y+tanh": ng, "20x sin": nsin, "ssd 256^3": nssd, "softmax": nsm}
MF = TF = TC = {}
try:
    import mlx.core as mx; mx.set_default_device(mx.cpu)
    mg = lambda x: 0.5 * x * (1 + mx.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))
    MF = tree(mx, mg, lambda x: mx.softmax(x, -1), lambda x: mx.fast.layer_norm(x, None, None, 1e-5), lambda x: mx.logsumexp(x, -1))
except Exception as e: print("# mlx", str(e)[:160])
if (torch := have("torch")):
    Fn = torch.nn.functional; TF = tree(torch, lambda x: Fn.gelu(x, approximate="tanh"), lambda x: torch.softmax(x, -1), lambda x: Fn.layer_norm(x, x.shape[-1:]), lambda x: torch.logsumexp(x, -1))
for n in (5_000_000, 100_000):
    x, y, o = R(n), R(n), np.empty(n, np.float32)
    go(f"memcpy n={n}", "C++ 2 threads", lambda: L.copy(P(x), P(o), cl(n)), 8 * n); go(f"triad n={n}", "C++ 2 threads", lambda: L.triad(P(x), P(y), P(o), cl(n)), 12 * n)
A = {"gelu*y+tanh": [(R(n), R(n), R(n)) for n in (5_000_000, 100_000)], "20x sin": [(R(n),) for n in (5_000_000, 100_000)], "ssd 256^3": [(R(256, 256, 256), R(256, 256, 256)), (R(98, 1024), R(98, 1024))], **{name: [(R(4096, 1024),), (R(98, 1024),)] for name in ("softmax", "layernorm", "logsumexp")}}
for name, sets in A.items():
    for a in sets:
        case = f"{name} n={a[0].size}"; nb = 4 * (sum(v.size for v in a) + (0 if name in ("ssd 256^3", "logsumexp") else a[0].size)); o = np.empty_like(a[0])
        go(case, "C++ 2 threads", lambda: CF[name](o, *a), nb)
        j = tuple(map(jnp.asarray, a)); go(case, "jax jit", ready(jax.jit(JF[name]), *j), nb)
        go(case, "jax jit", ready(jax.jit(jax.grad(lambda *b: jnp.sum(jnp.square(JF[name](*b))), tuple(range(len(a))))), *j), nb, "grad")
        if name in NF: go(case, NB, lambda: NF[name](o, *a), nb)
        if MF: m = tuple(map(mx.array, a)); mc = mx.compile(MF[name]); go(case, "mlx compile", lambda: mx.eval(mc(*m)), nb)
        if TF: t = tuple(map(torch.from_numpy, a)); go(case, "torch eager", lambda: TF[name](*t), nb)
        if TF:
            tc = torch.compile(TF[name], dynamic=False); go(case, "torch.compile", lambda: tc(*t), nb)
