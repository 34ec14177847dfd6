"""GradBench's objectives in JAX, and in CasADi where it is installed: the same inputs as ../gradbench, value and derivative."""
import math

import jax, jax.numpy as jnp
import numpy as np
from jax import lax
from common import have, ready, report

jax.config.update("jax_enable_x64", True)


def values(seed, low, high, *shape):          # ../gradbench/data.h
    n = math.prod(shape)
    h = ((np.arange(n, dtype=np.uint64) + seed * 0x9E3779B9) & 0xFFFFFFFF) * 0x85EBCA6B & 0xFFFFFFFF
    h ^= h >> 13; h = h * 0xC2B2AE35 & 0xFFFFFFFF; h ^= h >> 16
    return (low + (high - low) * ((h >> 8).astype(float) * 2.0 ** -24)).reshape(shape)


def measure(case, f, derivative, *args):
    args = jax.device_put(args)
    report("gradbench " + case, "jax", "forward", ready(jax.jit(f), *args))
    report("gradbench " + case, "jax", "derivative", ready(jax.jit(derivative), *args))


def gmm(d, k, n):
    p = values(1, -1, 1, k), values(2, -1, 1, k, d), values(3, -.5, .5, k, d), values(4, -.3, .3, k, d * (d - 1) // 2)
    columns, rows = np.triu_indices(d, 1)

    def f(p, x):                              # up to what does not depend on the parameters
        alpha, mu, q, l = p
        L = jnp.zeros((k, d, d)).at[:, rows, columns].set(l) + jnp.exp(q)[:, :, None] * jnp.eye(d)
        scaled = jnp.einsum("kij,nkj->nki", L, x[:, None] - mu)
        each = jax.nn.logsumexp(alpha + q.sum(-1) - .5 * (scaled ** 2).sum(-1), -1)
        return each.sum() - n * jax.nn.logsumexp(alpha) - .5 * ((jnp.exp(q) ** 2).sum() + (l ** 2).sum())
    measure(f"gmm d{d} k{k} n{n}", f, jax.grad(f), p, values(5, -2, 2, n, d))


def lstm(layers, steps, b=14):
    def f(p, state, sequence):
        main, extra = p

        def step(state, now_and_next):
            x, following = now_and_next
            x, new = x * extra[0], []
            for i in range(layers):
                w, v, hidden, memory = main[2 * i], main[2 * i + 1], state[2 * i], state[2 * i + 1]
                forget, ingate = jax.nn.sigmoid(x * w[0] + v[0]), jax.nn.sigmoid(hidden * w[1] + v[1])
                outgate, change = jax.nn.sigmoid(x * w[2] + v[2]), jnp.tanh(hidden * w[3] + v[3])
                memory = memory * forget + ingate * change
                x = outgate * jnp.tanh(memory)
                new += [x, memory]
            y = x * extra[1] + extra[2]
            return jnp.stack(new), (following * (y - jnp.log(jnp.exp(y).sum() + 2))).sum()
        return -lax.scan(step, state, (sequence[:-1], sequence[1:]))[1].sum() / ((steps - 1) * b)
    p = values(1, -1, 1, 2 * layers, 4, b), values(2, -1, 1, 3, b)
    measure(f"lstm l{layers} c{steps}", f, jax.grad(f), p, values(3, -1, 1, 2 * layers, b), values(4, 0, 1, steps, b))


def ba(m, p, n=21):
    cameras, points, weights, features = values(1, .1, 1, n, 11), values(2, -1, 1, m, 3), values(3, .5, 1, p), values(4, -1, 1, p, 2)
    points[:, 2] += 5
    camera, point = values(5, 0, n, p).astype(int), values(6, 0, m, p).astype(int)

    def residual(camera, point, weight, feature):
        turn, at = camera[:3], point - camera[3:6]
        angle = jnp.sqrt((turn ** 2).sum())
        axis = turn / angle
        turned = at * jnp.cos(angle) + jnp.cross(axis, at) * jnp.sin(angle) + axis * ((axis * at).sum() * (1 - jnp.cos(angle)))
        projected = turned[:2] / turned[2]
        square = (projected ** 2).sum()
        return weight * (projected * (1 + camera[9] * square + camera[10] * square ** 2) * camera[6] + camera[7:9] - feature)

    def f(c, x, w, features):
        return jax.vmap(residual)(c[camera], x[point], w, features), 1 - w * w

    def blocks(c, x, w, features):
        return jax.vmap(jax.jacrev(residual, (0, 1, 2)))(c[camera], x[point], w, features), -2 * w
    measure(f"ba p{p}", f, blocks, cameras, points, weights, features)


def ode(n, steps):
    def f(x):
        h, slope = 2 / steps, lambda y: x * jnp.concatenate([jnp.ones(1), y[:-1]])

        def step(y, _):
            k1 = slope(y); k2 = slope(y + h / 2 * k1); k3 = slope(y + h / 2 * k2); k4 = slope(y + h * k3)
            return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), None
        return lax.scan(step, jnp.zeros(n), None, length=steps)[0][-1]
    measure(f"ode n{n} s{steps}", f, jax.grad(f), values(1, .5, 1.5, n))


def kmeans(n, k, d):
    points = values(1, 0, 1, n, d)
    centroids = points.ravel()[:k * d].reshape(k, d) + values(2, 0, .01, k, d)

    def f(c, points):
        return ((points[:, None] - c) ** 2).sum(-1).min(-1).sum()

    def direction(c, points):
        slope, curvature = jax.jvp(lambda c: jax.grad(f)(c, points), (c,), (jnp.ones_like(c),))
        return slope / curvature
    measure(f"kmeans n{n} k{k} d{d}", f, direction, centroids, points)


def lse(n):
    measure(f"lse n{n}", jax.nn.logsumexp, jax.grad(jax.nn.logsumexp), values(1, -10, 10, n))


def casadi_call(function, *args):
    """A call without copies, as from C."""
    buffer, call = function.buffer()
    kept = [np.array(a, float).ravel() for a in args] + [np.zeros(function.nnz_out(i)) for i in range(function.n_out())]
    for i in range(len(args)):
        buffer.set_arg(i, memoryview(kept[i]))
    for i in range(function.n_out()):
        buffer.set_res(i, memoryview(kept[len(args) + i]))
    return lambda: (call(), kept, buffer)  # which have to live as long


def casadi_ode(ca, n, steps):
    x, y, h = ca.SX.sym("x", n), ca.SX.sym("y", n), 2 / steps
    slope = lambda y: x * ca.vertcat(1, y[:-1])
    k1 = slope(y); k2 = slope(y + h / 2 * k1); k3 = slope(y + h / 2 * k2); k4 = slope(y + h * k3)
    step = ca.Function("step", [y, x], [y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)])
    at = ca.MX.sym("x", n)
    end = step.mapaccum("steps", steps)(ca.DM.zeros(n), ca.repmat(at, 1, steps))[n - 1, -1]
    functions = {"forward": ca.Function("f", [at], [end]), "derivative": ca.Function("g", [at], [ca.gradient(end, at)])}
    for figure, function in functions.items():
        report(f"gradbench ode n{n} s{steps}", "casadi", figure, casadi_call(function, values(1, .5, 1.5, n)))


def casadi_lse(ca, n):
    x = ca.MX.sym("x", n)
    f = ca.logsumexp(x)
    for figure, function in {"forward": ca.Function("f", [x], [f]), "derivative": ca.Function("g", [x], [ca.gradient(f, x)])}.items():
        report(f"gradbench lse n{n}", "casadi", figure, casadi_call(function, values(1, -10, 10, n)))


gmm(10, 25, 1000); gmm(20, 50, 10000)
lstm(2, 1024); lstm(4, 4096)
ba(1131, 3645); ba(11315, 36455)
ode(20, 500); ode(100, 5000)
kmeans(1000, 10, 16); kmeans(20000, 50, 32)
lse(10000); lse(1000000)
if casadi := have("casadi"):
    casadi_ode(casadi, 20, 500); casadi_ode(casadi, 100, 5000)
    casadi_lse(casadi, 10000)
