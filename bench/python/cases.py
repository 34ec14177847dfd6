"""Programs for peers.py, in the names that tenon and JAX share: each takes the library, tenon or jax, and says cases.

A case is (name, function, arguments, how): "jit" is compiled, its first and its later calls are timed;
"call" is timed as it stands; "trace" is compiled anew each time; "lower" makes a new function each time, which is
traced and not compiled. `full` is false where programs are only tried: then sizes are small.
"""
import functools

import numpy as np


def normal(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def total(jx, x):
    return sum(jx.numpy.sum(jx.numpy.square(leaf)) for leaf in jx.tree.leaves(x))


def with_gradient(jx, name, f, args, wrt=0):
    yield name, f, args, "jit"
    yield f"{name}, gradient", jx.grad(lambda *a: total(jx, f(*a)), wrt), args, "jit"


def scans_and_reductions(jx, full):
    jnp, lax = jx.numpy, jx.lax
    cells = {"rnn": lambda p, c, x: jnp.tanh(c @ p["u"] + x @ p["w"] + p["b"]), "sin": lambda p, c, x: jnp.sin(c + x)}
    for T, B, D in ((1000, 32, 128), (200, 64, 256)) if full else ((5, 2, 3),):
        p = {"u": normal(D, D) / D ** 0.5, "w": normal(D, D, seed=1) / D ** 0.5, "b": np.zeros(D, np.float32)}
        args = p, np.zeros((B, D), np.float32), normal(T, B, D, seed=2), normal(T, B, D, seed=3)
        for kind, cell in cells.items():
            def stacked(p, c, xs, y, cell=cell):
                def step(c, x):
                    c = cell(p, c, x)
                    return c, c

                return jnp.mean(jnp.square(y - lax.scan(step, c, xs)[1]))

            yield f"scan {kind} T{T} B{B} D{D}, mean of squares", stacked, args, "jit"
            yield f"scan {kind} T{T} B{B} D{D}, value and gradient", jx.value_and_grad(stacked), args, "jit"


def inner_functions(jx, full):
    jnp, n = jx.numpy, 64 if full else 4
    x, w = np.full((n, n), 0.1, np.float32), 0.1 * normal(2, n, n)

    def body(x, w):
        h = jnp.tanh(x @ w[0] + 0.1)
        return x + 0.1 * jnp.sin((jnp.maximum(h, 0.0) * 0.5 + jnp.square(h)) @ w[1] - 0.2)

    for N in (10, 100) if full else (3,):
        for kind, inner in (("compiled", jx.jit(body)), ("plain", body)):
            def outer(x, w, inner=inner):
                for _ in range(N):
                    x = inner(x, w)
                return x

            yield from with_gradient(jx, f"{N} calls of an inner function, {kind}", outer, (x, w), 1)
        scan = lambda x, w: jx.lax.scan(lambda c, _: (body(c, w), None), x, None, length=N)[0]
        yield from with_gradient(jx, f"{N} steps of the same as a scan", scan, (x, w), 1)


def diagonals(jx, full):
    jnp = jx.numpy
    turned = (np.arange(4)[:, None] * 4 + (np.arange(4) + np.arange(4)[:, None]) % 4).ravel()
    mask = np.eye(16, dtype=np.int32)[turned]
    spellings = {"gather": lambda m: m[turned // 4, turned % 4].reshape(4, 4),
                 "take": lambda m: jnp.take(m, turned.reshape(4, 4)),
                 "lookup": lambda m: m.ravel()[turned].reshape(4, 4), "none": lambda m: m,
                 "mask": lambda m: jnp.sum(mask * m.ravel()[None], 1, dtype=m.dtype).reshape(4, 4)}

    def mixed(col):
        a, b, c, d = col
        for _ in range(3):
            a = a << 7
            b = b + a
            c = c * b
        return jnp.stack([a, b, c, d])

    for kind, column in (("shifts", lambda col: ((col << 7) << 7) << 7), ("stack", mixed)):
        for name, spelling in spellings.items():
            each = jx.vmap(column, in_axes=1, out_axes=1)

            def program(m, each=each, spelling=spelling):
                old = m
                for _ in range(7):
                    m = each(spelling(each(m)))
                return m + old

            m = np.arange(16, dtype=np.int32).reshape(4, 4)
            yield f"columns, diagonals: {kind}, {name}", program, (m,), "jit"
            if full:
                yield f"the same of 100,000: {kind}, {name}", jx.vmap(program), (np.tile(m, (100000, 1, 1)),), "jit"


def contractions(jx, full):
    jnp, vmap = jx.numpy, functools.partial(jx.vmap, in_axes=(None, 0))
    a, b, c, d, s, n, m = (600, 821, 32, 100, 20, 1000000, 100000) if full else (3, 4, 2, 5, 2, 7, 5)
    rows = lambda w, x: x.reshape(-1, x.shape[-1])
    shaped = lambda made, x: made.reshape(*x.shape[:-1], -1)
    spellings = {"double vmap": vmap(vmap(lambda w, a: w @ a)),
                 "einsum": lambda w, a: jnp.einsum("ab,...b->...a", w, a),
                 "einsum, swapped": lambda w, a: jnp.einsum("...b,ab->...a", a, w), "matmul": lambda w, a: a @ w.T,
                 "dot, transposed": lambda w, a: jnp.transpose(jnp.tensordot(w, a, ((1,), (2,))), (1, 2, 0)),
                 "dot, swapped": lambda w, a: jnp.tensordot(a, w, ((2,), (1,))),
                 "einsum, transposed": lambda w, a: jnp.einsum("ab,cdb->acd", w, a).transpose(1, 2, 0),
                 "matmul of rows": lambda w, a: shaped(rows(w, a) @ w.T, a),
                 "matmul, transposed": lambda w, a: shaped((w @ rows(w, a).T).T, a),
                 "vmap of matmul": vmap(lambda w, a: a @ w.T), "vmap over w": jx.vmap(lambda w, a: a @ w, (0, None), 2),
                 "vmap of inner products": vmap(vmap(jx.vmap(lambda w, a: jnp.dot(w, a), (0, None))))}
    for name, f in spellings.items():
        yield from with_gradient(jx, f"w a: {name}", f, (normal(a, b), normal(c, d, b)), (0, 1))
    many = {"einsum": lambda p, q: jnp.einsum("nxyc,mxyc->nmxy", p, q),
            "vmap": lambda p, q: jx.vmap(lambda u: jx.vmap(lambda v: jnp.sum(u * v, -1))(q))(p)}
    for name, f in many.items():
        yield from with_gradient(jx, f"nxyc,mxyc: {name}", f, (normal(d, s, s, 3), normal(2 * d, s, s, 3)), (0, 1))
    small = {"matmul": lambda p, q: p @ q, "vmap": lambda p, q: jx.vmap(lambda v: q.T @ v)(p),
             "broadcast": lambda p, q: jnp.sum(p[:, :, None] * q[None], 1)}
    for name, f in small.items():
        yield from with_gradient(jx, f"rows of 3: {name}", f, (normal(n, 3), normal(3, 3)), (0, 1))
    batched = {"matmul": lambda p, q: p @ q, "einsum": lambda p, q: jnp.einsum("nik,nkj->nij", p, q),
               "vmap": jx.vmap(lambda p, q: p @ q), "broadcast": lambda p, q: jnp.sum(p[..., None] * q[:, None], 2)}
    for k in (3, 4, 8) if full else (2,):
        for name, f in batched.items():
            yield from with_gradient(jx, f"products of {k}x{k}: {name}", f, (normal(m, k, k), normal(m, k, k, seed=1)), (0, 1))


# Of several operands: some of the equations of opt_einsum's tests, chains of matrices, and equations that its
# rand_equation draws (3 letters an operand, sizes of 4 to 20, in the last 2 to 9, its first seeds). A size is that of all letters, or each
# letter's in alphabetical order. The orders are those of its "optimal", of eight operands and more of its "dp".
EINSUMS = (
    ("aef,fbc,dca->bde", 48, [(0, 1), (0, 1)]),
    ("efc,dbc,acf,fd->abe", 40, [(0, 2), (0, 1), (0, 1)]),
    ("ea,fb,abcd,gc,hd->efgh", 32, [(0, 2), (0, 3), (0, 2), (0, 1)]),
    ("ab,bc,cd,de,ef,fg->ag", (304, 352, 352, 240, 608, 256, 432), [(1, 2), (0, 4), (0, 1), (1, 2), (0, 1)]),
    ("chd,bde,agbc,hiad,bdi,cgh,agdb->e", 16, [(0, 5), (1, 4), (3, 4), (1, 3), (1, 2), (0, 1)]),
    ("ckne,jindk,cf,ljge,hl,ham,mdg,fbi->ba", (9, 15, 16, 12, 13, 15, 9, 19, 4, 20, 5, 16, 11, 17),
     [(4, 5), (4, 6), (3, 5), (1, 4), (0, 3), (0, 2), (0, 1)]),
    ("ab,bc,cd,de,ef,fg,gh,hi,ij->aj", (288, 560, 608, 208, 112, 400, 432, 496, 416, 464),
     [(2, 3), (1, 7), (0, 6), (0, 1), (0, 4), (0, 3), (0, 2), (0, 1)]),
    ("no,jbe,nohc,lpd,fg,acg,kjqpi,q,hmlde,ifmk->ab", (12, 19, 17, 12, 15, 15, 12, 11, 6, 15, 19, 9, 11, 7, 10, 8, 14),
     [(0, 2), (3, 8), (1, 5), (2, 3), (1, 2), (3, 4), (2, 3), (1, 2), (0, 1)]),
    ("ab,bc,cd,de,ef,fg,gh,hi,ij,jk,kl,lm->am", (400, 192, 624, 608, 80, 160, 160, 144, 384, 240, 320, 176, 608),
     [(2, 3), (1, 10), (0, 9), (0, 1), (0, 7), (0, 6), (0, 5), (0, 4), (0, 3), (0, 2), (0, 1)]),
    ("tn,ris,hf,oj,gpeo,cmqj,rbk,eil,lta,qsdpn,dckm,gfh->ba", (6, 9, 7, 2, 5, 5, 5, 9, 3, 5, 7, 4, 6, 9, 8, 2, 2, 6, 4, 3),
     [(7, 8), (0, 7), (4, 6), (1, 5), (2, 7), (1, 6), (4, 5), (3, 4), (2, 3), (0, 2), (0, 1)]),
)


def einsums(jx, full):
    for equation, sizes, order in EINSUMS:
        letters = sorted({*equation} - {*",->"})
        size = dict(zip(letters, [sizes] * len(letters) if isinstance(sizes, int) else sizes))
        terms = equation.split("->")[0].split(",")
        args = tuple(normal(*(size[c] if full else 2 for c in term), seed=i) for i, term in enumerate(terms))
        for name, optimize in (("as it stands", "auto"), ("in the best order", order)):
            def f(*args, optimize=optimize):
                return jx.numpy.einsum(equation, *args, optimize=optimize)

            yield from with_gradient(jx, f"{len(terms)} operands, {equation}: {name}", f, args, tuple(range(len(args))))


def loops(jx, full):
    jnp, lax = jx.numpy, jx.lax

    def stacked(xs, c):
        def step(c, x):
            c = jnp.sin(jnp.sin(x) * c) + 0.1
            return c, c

        c, ys = lax.scan(step, c, xs)
        return jnp.sum(c * ys)

    def carried(kind):
        def f(xs, c):
            def step(state, _):
                i, c, xs, ys = state
                inside = jnp.mean(jnp.tensordot(ys, xs, ((0,), (0,))), -1) + c if kind == "dot" else jnp.sin(xs[i]) * c
                new = jnp.sin(inside) + 0.1
                made = ys.at[i].set(c).at[i].set(new) if kind == "twice" else ys.at[i].set(new)
                return (i + 1, new, xs, jnp.where(i > -10, made, ys) if kind == "where" else made), None

            (_, c, _, ys), _ = lax.scan(step, (0, c, xs, jnp.zeros_like(xs)), None, length=xs.shape[0])
            return jnp.sum(c * ys)

        return f

    programs = {"stacked": stacked, **{kind: carried(kind) for kind in ("carry", "where", "dot", "twice")}}
    for T in (1000, 2000, 4000, 8000) if full else (4,):
        for name, f in programs.items():
            if name == "dot" and T > 2000:
                continue
            # Of sums of products each is small beside c: else what rounding does to them grows with every step.
            most = 1 / T if name == "dot" else 1
            xs, c = np.linspace(0.1 * most, most, T * 64, dtype=np.float32).reshape(T, 64), np.full(64, 0.5, np.float32)
            yield f"loop {name} T{T}, value and gradient", jx.value_and_grad(f, (0, 1)), (xs, c), "jit"
    n = 30000 if full else 6

    def filling(steps, x):
        return lax.while_loop(lambda s: s[0] < steps, lambda s: (s[0] + 1, s[1].at[s[0]].set(jnp.sin(x + s[0]))),
                              (0, jnp.zeros(n, np.float32)))[1]

    yield "while that fills a buffer", filling, (np.int32(n), np.float32(1)), "jit"
    yield "vmap of it", jx.vmap(filling), (n - np.arange(4, dtype=np.int32), np.arange(4, dtype=np.float32)), "jit"
    steps = 100000 if full else 10
    forty = lambda v: functools.reduce(lambda v, _: (v * 0.9 + 0.05) - 0.01 * v * v, range(10), v)
    bodies = {"sine of a number": (lambda c: jnp.sin(c) + 1e-3, np.float32(0.5)),
              "40 ops of 8 numbers": (forty, np.linspace(0, 1, 8, dtype=np.float32)),
              "60 numbers": (lambda s: tuple(a * 0.99 + b * 0.01 for a, b in zip(s, s[1:] + s[:1])),
                             tuple(np.linspace(0, 1, 60, dtype=np.float32)))}
    for name, (body, c) in bodies.items():
        yield f"fori_loop: {name}", lambda c, b=body: lax.fori_loop(0, steps, lambda i, c: b(c), c), (c,), "jit"
        scan = lambda c, b=body: total(jx, lax.scan(lambda c, _: (b(c), None), c, None, length=steps)[0])
        yield f"scan: {name}, gradient", jx.grad(scan), (c,), "jit"


def calls(jx, full):
    jnp = jx.numpy
    x = jnp.arange(8, dtype=np.float32)
    loss = lambda x: jnp.sum(jnp.tanh(x) ** 2)
    yield "compiled x + 1", jx.jit(lambda x: x + 1), (x,), "call"
    for n in (10, 100):
        tree = {f"k{i}": x for i in range(n)}
        yield f"compiled, tree of {n}", jx.jit(lambda t: jx.tree.map(lambda a: a + 1, t)), (tree,), "call"
    yield "eager add", jnp.add, (x, x), "call"
    yield "eager x[3]", lambda x: x[3], (x,), "call"
    yield "eager x.at[3].set", lambda x: x.at[3].set(1.0), (x,), "call"
    yield "eager grad", jx.grad(loss), (x,), "call"
    yield "eager vmap", jx.vmap(lambda v: jnp.tanh(v) + 1), (x,), "call"


def pairs(jx, full):
    jnp = jx.numpy
    gauss = {"broadcast": lambda x, y, b: jnp.exp(-jnp.sum((x[:, None] - y[None]) ** 2, -1)) @ b,
             "vmap": lambda x, y, b: jx.vmap(lambda p: jnp.sum(jnp.exp(-jnp.sum((p - y) ** 2, -1)) * b))(x)}
    for n in (1000, 10000) if full else (5,):
        for name, f in gauss.items():
            args = normal(n, 3), normal(n, 3, seed=1), normal(n)
            yield from with_gradient(jx, f"sum over {n} pairs, {name}", f, args)


def points_of_pairs(jx, full):
    jnp = jx.numpy
    m, n = (3000, 2000) if full else (7, 5)
    x, y = normal(m, 3), normal(n, 3, seed=1)
    distances = lambda x, y: jnp.sum(jnp.square(x[:, None] - y), -1)

    def chamfer(x, y):
        d = distances(x, y)
        return jnp.mean(jnp.min(d, 1)) + jnp.mean(jnp.min(d, 0))

    def contrastive(x, y):  # of each row of y that of x with its number
        return -jnp.mean(jnp.diagonal(jx.nn.log_softmax(-distances(x[:len(y)], y), 1)))

    def neighbours(x, y):
        return jnp.sum(jnp.sqrt(1e-3 - jx.lax.top_k(-distances(x, y), 4)[0]))

    for f in chamfer, contrastive, neighbours:
        yield f"{f.__name__} of {m} and {n} points", f, (x, y), "jit"
        yield f"{f.__name__} of {m} and {n} points, gradients", jx.grad(f, (0, 1)), (x, y), "jit"


def elementwise(jx, full):
    jnp, nn = jx.numpy, jx.nn
    programs = {"gelu(x) y + tanh(z)": (lambda x, y, z: nn.gelu(x) * y + jnp.tanh(z), 3),
                "20 sines": (lambda x: functools.reduce(lambda v, _: jnp.sin(v) + 0.1, range(20), x), 1)}
    for n in (5_000_000, 100_000) if full else (9,):
        for name, (f, count) in programs.items():
            yield from with_gradient(jx, f"{name} of {n}", f, tuple(normal(n, seed=i) for i in range(count)))
    n, rows = (256, (4096, 1024)) if full else (2, (3, 4))
    cubes = normal(n, n, n), normal(n, n, n, seed=1)
    yield from with_gradient(jx, "sum of squared differences", lambda x, y: jnp.sum((x - y) ** 2), cubes)
    normed = lambda x: (x - x.mean(-1, keepdims=True)) * jx.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)
    for name, f in {"softmax": nn.softmax, "layernorm": normed, "logsumexp": lambda x: nn.logsumexp(x, -1)}.items():
        yield from with_gradient(jx, name, f, (normal(*rows),))


def training(jx, full):
    jnp, nn, lax = jx.numpy, jx.nn, jx.lax

    def mlp(p, x, y):
        for w, b in p[:-1]:
            x = nn.relu(x @ w + b)
        return -jnp.mean(jnp.sum(nn.log_softmax(x @ p[-1][0] + p[-1][1]) * y, -1))

    def gru(p, xs, y):
        def cell(h, a):
            g = h @ p["u"]
            (ra, za, na), (rg, zg, ng) = jnp.split(a, 3, -1), jnp.split(g, 3, -1)
            n, z = jnp.tanh(na + nn.sigmoid(ra + rg) * (ng + p["bn"])), nn.sigmoid(za + zg)
            h = (1 - z) * n + z * h
            return h, h

        hs = lax.scan(cell, jnp.zeros((xs.shape[1], p["u"].shape[0]), np.float32), xs @ p["w"] + p["b"])[1]
        return jnp.mean(jnp.square(hs @ p["o"] - y))

    def lstm(p, xs, y):
        def cell(s, a):
            i, f, g, o = jnp.split(a + s[0] @ p["u"], 4, -1)
            c = nn.sigmoid(f) * s[1] + nn.sigmoid(i) * jnp.tanh(g)
            h = nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        zeros = jnp.zeros((xs.shape[1], p["u"].shape[0]), np.float32)
        return jnp.mean(jnp.square(lax.scan(cell, (zeros, zeros), xs @ p["w"] + p["b"])[1] @ p["o"] - y))

    def recurrent(gates, H, D):
        return {"w": 0.1 * normal(D, gates * H), "u": 0.1 * normal(H, gates * H, seed=1),
                "b": np.zeros(gates * H, np.float32), "bn": np.zeros(H, np.float32), "o": 0.1 * normal(H, D, seed=2)}

    sizes = (784, 512, 256, 10) if full else (5, 4, 3, 2)
    layers = [(0.1 * normal(m, n, seed=m), np.zeros(n, np.float32)) for m, n in zip(sizes, sizes[1:])]
    B = 128 if full else 3
    cases = {"MLP": (mlp, layers, normal(B, sizes[0]), np.eye(sizes[-1], dtype=np.float32)[np.arange(B) % sizes[-1]])}
    for name, f, gates, (H, D, T, B) in (("GRU", gru, 3, (64, 8, 100, 32)), ("LSTM", lstm, 4, (128, 64, 50, 64))):
        H, D, T, B = (H, D, T, B) if full else (3, 2, 4, 2)
        cases[name] = f, recurrent(gates, H, D), normal(T, B, D), normal(T, B, D, seed=1)
    for name, (f, p, x, y) in cases.items():
        def step(p, x, y, f=f):
            value, slope = jx.value_and_grad(f)(p, x, y)
            return value, jx.tree.map(lambda a, b: a - 0.01 * b, p, slope)

        yield f"{name}, loss", f, (p, x, y), "jit"
        yield f"{name}, step of training", step, (p, x, y), "jit"


def compiling(jx, full):
    jnp, x = jx.numpy, np.linspace(0.1, 1, 1000, dtype=np.float32)

    def chain(x, n):
        for i in range(n):
            x = (jnp.sin, lambda x: x * 1.01 + 0.1, jnp.tanh, lambda x: jnp.exp(-x))[i % 4](x)
        return x

    def updates(x):
        for i in range(8):
            x = x.at[i * 7].add(x[i] * 2.0)
        return jnp.sum(x)

    def small(w, v):
        return jnp.sum(jnp.tanh(jnp.tanh(v @ w[0]) @ w[1]) @ w[2])

    w, v = [0.1 * normal(*s) for s in ((8, 16), (16, 16), (16, 1))], np.ones(8, np.float32)
    n = 200 if full else 4
    yield f"compiling {n} ops", lambda x: chain(x, n), (x,), "trace"
    yield f"compiling the gradient of {n // 2} ops", jx.grad(lambda x: jnp.sum(chain(x, n // 2))), (x,), "trace"
    yield "compiling 8 updates", updates, (x,), "trace"
    yield "compiling their gradient", jx.grad(updates), (x,), "trace"
    yield "compiling a Hessian", jx.hessian(lambda v: small(w, v)), (v,), "trace"
    yield "compiling x + 1", lambda x: x + 1, (x,), "trace"


def tracing(jx, full):
    jnp, x = jx.numpy, np.linspace(0.1, 1, 8, dtype=np.float32)

    def of(ops):
        def function(x):
            for _ in range(ops // 4):
                x = jnp.tanh(jnp.sin(x) * 1.01 + 0.5)
            return x

        return function

    def of_calls(ops):
        inner = jx.jit(of(ops))
        return lambda x: functools.reduce(lambda v, _: inner(v), range(10), x)

    sizes = (1000, 100) if full else (8, 4)
    yield "tracing a function of 1,000 ops", lambda: of(sizes[0]), (x,), "lower"
    yield "tracing ten calls of one compiled function of 100 ops", lambda: of_calls(sizes[1]), (x,), "lower"


def library(jx, full):
    jnp = jx.numpy
    n, rows = (10 ** 6, 1024) if full else (8, 4)
    r = np.random.default_rng(0)
    index, segments = (r.integers(0, top, count).astype(np.int32) for top, count in ((n, n // 10 + 1), (4, n)))
    square = normal(rows // 2, rows // 2)
    definite = square @ square.T + rows * np.eye(rows // 2, dtype=np.float32)
    yield "argsort of rows", jnp.argsort, (normal(100 if full else 2, n // 100 + 2),), "jit"
    yield "sort", jnp.sort, (normal(n),), "jit"
    yield from with_gradient(jx, "cumsum", jnp.cumsum, (normal(n),))
    yield from with_gradient(jx, "rows by index", lambda t, i: t[i], (normal(n, 16), index))
    yield "sums of segments", lambda x, s: jnp.zeros(4, np.float32).at[s].add(x), (normal(n), segments), "jit"
    yield from with_gradient(jx, "square matmul", jnp.matmul, (normal(rows, rows) / 32, normal(rows, rows, seed=1)))
    yield "cholesky", jnp.linalg.cholesky, (definite,), "jit"
    yield "solve", jnp.linalg.solve, (definite, normal(rows // 2)), "jit"
    yield "normal numbers", lambda: jx.random.normal(jx.random.key(0), (10 * n,), np.float32), (), "jit"
    yield "fft", lambda x: jnp.abs(jnp.fft.fft(x)), (normal(n).astype(np.complex64),), "jit"
    yield "svd", lambda x: jnp.linalg.svd(x)[1], (square[:256, :256],), "jit"
    yield "eigh", lambda x: jnp.linalg.eigh(x)[0], (definite[:256, :256],), "jit"
    convolved = lambda x, w: jx.lax.conv_general_dilated(x, w, (1, 1), "SAME")
    yield "convolution", convolved, (normal(32, 3, 64, 64), 0.1 * normal(64, 3, 3, 3)), "jit"


GROUPS = (scans_and_reductions, inner_functions, diagonals, contractions, einsums, loops, calls, pairs, points_of_pairs, elementwise,
          training, compiling, tracing, library)
# What a ratio is to be at most.
TARGETS = {"tracing a function of 1,000 ops": 0.1, "tracing ten calls of one compiled function of 100 ops": 0.1}
