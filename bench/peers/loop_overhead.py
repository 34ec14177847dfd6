"""P6: nanoseconds per iteration of loops with small bodies: JAX, numba, C++ (-O3 -march=native)."""
import ctypes, os, subprocess, tempfile
import numpy as np, jax, jax.numpy as jnp
from jax import lax
from common import emit, report, ready, have
jax.config.update("jax_enable_x64", True)
CPP = r'''
#include <cmath>
extern "C" {
float sin_loop(float c, long n) { for (long i = 0; i < n; i++) c = sinf(c) + 1e-3f; return c; }
double logistic(double x, long n) { for (long i = 0; i < n; i++) x = 3.7 * x * (1 - x); return x; }
double mat3(double s, long n) { double A[9], B[9], C[9]; for (int i = 0; i < 9; i++) { A[i] = s * (i % 4 == 0 ? 1.0 : 0.01); B[i] = A[i]; }
  for (long i = 0; i < n; i++) { for (int r = 0; r < 3; r++) for (int c = 0; c < 3; c++) { double t = 0; for (int k = 0; k < 3; k++) t += A[3*r+k] * B[3*k+c]; C[3*r+c] = t; }
    for (int r = 0; r < 3; r++) for (int c = 0; c < 3; c++) { double t = 0; for (int k = 0; k < 3; k++) t += C[3*r+k] * A[3*k+c]; B[3*r+c] = 0.5 * t; } } return B[0]; }
float leaves60(const float* x0, long n) { float v[60]; for (int k = 0; k < 60; k++) v[k] = x0[k];
  for (long i = 0; i < n; i++) { float f = v[0]; for (int k = 0; k < 59; k++) v[k] = v[k] * 0.99f + v[k+1] * 0.01f; v[59] = v[59] * 0.99f + f * 0.01f; } float s = 0; for (int k = 0; k < 60; k++) s += v[k]; return s; }
float small40(const float* x0, long n) { float v[8]; for (int k = 0; k < 8; k++) v[k] = x0[k];
  for (long i = 0; i < n; i++) { for (int j = 0; j < 10; j++) for (int k = 0; k < 8; k++) { float t = v[k]; v[k] = (t * 0.9f + 0.05f) - 0.01f * t * t; } asm volatile("" : : "r"(v) : "memory"); } return v[0]; } }
'''
d = tempfile.mkdtemp(); open(d + "/a.cpp", "w").write(CPP)
subprocess.check_call(["g++", "-O3", "-march=native", "-shared", "-fPIC", "-o", d + "/a.so", d + "/a.cpp"])
L = ctypes.CDLL(d + "/a.so"); cf, cd, cl = ctypes.c_float, ctypes.c_double, ctypes.c_long
x60, x8 = np.linspace(0, 1, 60, dtype=np.float32), np.linspace(0, 1, 8, dtype=np.float32); fp = lambda a: a.ctypes.data_as(ctypes.c_void_p)
for n in ("sin_loop", "leaves60", "small40"): getattr(L, n).restype = cf
L.logistic.restype = L.mat3.restype = cd
ns = lambda case, peer, n, f, metric="fwd": report("P6 " + case, peer, metric, f, 1e9 / n, "ns/iter", repeats=7, inner=1)
N = 1000000
ns("sin f32 scalar", "C++", N, lambda: L.sin_loop(cf(0.5), cl(N))); ns("logistic f64 scalar", "C++", N, lambda: L.logistic(cd(0.5), cl(N)))
ns("3x3 f64 2 matmuls", "C++", N, lambda: L.mat3(cd(1.0), cl(N))); ns("60 scalar leaves", "C++", 614 * 100, lambda: L.leaves60(fp(x60), cl(614 * 100)))
ns("~40 ops f32[8]", "C++", 100000, lambda: L.small40(fp(x8), cl(100000)))
numba = have("numba")
if numba:
    f32 = np.float32
    @numba.njit(fastmath=True)
    def nsin(c, n):
        for i in range(n): c = f32(np.sin(c)) + f32(1e-3)
        return c
    @numba.njit
    def nlog(x, n):
        for i in range(n): x = 3.7 * x * (1 - x)
        return x
    ns("sin f32 scalar", "numba", N, lambda: nsin(f32(0.5), N)); ns("logistic f64 scalar", "numba", N, lambda: nlog(0.5, N))
A0 = jnp.eye(3, dtype=jnp.float64) + 0.01
def small(v):
    for _ in range(10): v = (v * 0.9 + 0.05) - 0.01 * v * v
    return v
def leaves(s): return tuple(a * jnp.float32(0.99) + b * jnp.float32(0.01) for a, b in zip(s, s[1:] + s[:1]))
CASES = {
    "sin f32 scalar": (lambda c: jnp.sin(c) + jnp.float32(1e-3), jnp.float32(0.5), 100000),
    "logistic f64 scalar": (lambda x: 3.7 * x * (1 - x), jnp.float64(0.5), 100000),
    "sin f64 scalar": (lambda c: jnp.sin(c) + 1e-3, jnp.float64(0.5), 100000),
    "logistic f32 scalar": (lambda x: jnp.float32(3.7) * x * (1 - x), jnp.float32(0.5), 100000),
    "3x3 f64 2 matmuls": (lambda B: 0.5 * (A0 @ B @ A0), A0 * 0.3, 100000),
    "60 scalar leaves": (leaves, tuple(map(jnp.float32, x60)), 614),
    "~40 ops f32[8]": (small, jnp.asarray(x8), 100000),
}
for case, (body, c0, n) in CASES.items():
    total = lambda c: sum(jnp.sum(l) for l in jax.tree.leaves(c))
    S = lambda u=1: (lambda c: total(lax.scan(lambda c, _: (body(c), None), c, None, length=n, unroll=u)[0]))
    F = lambda c: total(lax.fori_loop(0, n, lambda i, c: body(c), c))
    ns(case, "jax scan", n, ready(jax.jit(S()), c0)); ns(case, "jax scan unroll=8", n, ready(jax.jit(S(8)), c0))
    ns(case, "jax fori_loop", n, ready(jax.jit(F), c0))
    ns(case, "jax scan", n, ready(jax.jit(jax.value_and_grad(S())), c0), "vg"); ns(case, "jax scan unroll=8", n, ready(jax.jit(jax.value_and_grad(S(8))), c0), "vg")
    if case == "sin f32 scalar":   # a long one, to see that the cost per iteration holds
        ns(case + " 1e6", "jax fori_loop", N, ready(jax.jit(lambda c: lax.fori_loop(0, N, lambda i, c: body(c), c)), c0))
