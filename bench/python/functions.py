#!/usr/bin/env python3
"""Functions of the library beside those of NumPy, SciPy, JAX and torch, where these are installed: the time of each, and the ratio of
tenon's to the least of the others'.

    functions.py [--only WORD] [--seconds LIMIT] [--rounds N] [--all] [--list] [--docs PROCESSOR]

All run in one process, in N turns (2 unless told), on the same two processors, on arrays that are there already; a figure is the least
of LIMIT seconds (0.2 unless told). JAX's results are waited for, and its functions are compiled before, as tenon's are where they are
called in jit. --docs writes docs/functions-speed.md, with the name of the processor; with --only, a part of it, of which rows are kept in
docs/functions-speed.json. --all has the cases too of which nothing is wanted. Exit status 1: results differ.
"""
import argparse
import functools
import importlib
import os
import subprocess
import sys
import time

if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
for variable in ("TENON_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "2"  # before the libraries are there

import numpy as np  # noqa: E402

import tenon as tn  # noqa: E402
import tenon.experimental.ode  # noqa: E402
import tenon.fft  # noqa: E402
import tenon.linalg  # noqa: E402
import tenon.scipy.special  # noqa: E402
import cases  # noqa: E402
import function_table  # noqa: E402
from function_table import Section, Timed, Unlike  # noqa: E402


def optional(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


scipy_fft, scipy_special, scipy_linalg, scipy_signal, scipy_ndimage = (
    optional(f"scipy.{name}") for name in ("fft", "special", "linalg", "signal", "ndimage"))
torch = optional("torch")
if torch is not None:
    torch.set_num_threads(2)
jax = optional("jax")
if jax is not None:
    jax.config.update("jax_enable_x64", True)
    for name in ("image", "scipy.ndimage", "scipy.signal", "scipy.sparse.linalg", "scipy.optimize", "experimental.ode"):
        importlib.import_module(f"jax.{name}")


def normal(shape, dtype):
    rng = np.random.default_rng(0)
    made = rng.normal(size=shape)
    return (made + 1j * rng.normal(size=shape) if np.dtype(dtype).kind == "c" else made).astype(dtype)


def in_jax(f, *args):
    """f of jax arrays, waited for."""
    arrays = [jax.numpy.asarray(x) for x in args]
    compiled = jax.jit(f)
    return lambda: jax.block_until_ready(compiled(*arrays))


def in_tenon(f, *args):
    arrays = [tn.numpy.asarray(x) for x in args]
    compiled = tn.jit(f)
    return lambda: compiled(*arrays)


def transforms():
    """(name, tenon's call, calls of others)"""
    for dtype in ("complex64", "complex128"):
        shapes = [(2**k,) for k in (10, 12, 14, 16, 18, 20)] + [(1009,), (100003,), (10000, 256), (1024, 1024)]
        for shape in shapes:
            name = "fft2" if shape == (1024, 1024) else "fft"
            yield transform(name, normal(shape, dtype))
    for dtype in ("float32", "float64"):
        for shape in [(2**10,), (2**16,), (2**20,), (10000, 256), (1024, 1024)]:
            yield transform("rfft2" if shape == (1024, 1024) else "rfft", normal(shape, dtype))


def transform(name, x):
    others = {"numpy": lambda: getattr(np.fft, name)(x)}
    if scipy_fft is not None:
        others["scipy"] = lambda: getattr(scipy_fft, name)(x)
        others["scipy, all cores"] = lambda: getattr(scipy_fft, name)(x, workers=-1)
    if jax is not None:
        others["jax"] = in_jax(getattr(jax.numpy.fft, name), x)
    if torch is not None:
        z = torch.from_numpy(x)
        others["torch"] = lambda: getattr(torch.fft, name)(z)
    shape = "x".join(map(str, x.shape))
    return f"{name} {shape} {x.dtype}", in_tenon(getattr(tn.fft, name), x), others


CONVOLUTIONS = [  # name, x, w, strides, padding, groups, layout
    ("conv 3x3", (32, 64, 56, 56), (64, 64, 3, 3), (1, 1), [(1, 1)] * 2, 1, None),
    ("conv 3x3, channels last", (32, 56, 56, 64), (3, 3, 64, 64), (1, 1), [(1, 1)] * 2, 1, ("NHWC", "HWIO", "NHWC")),
    ("conv 1-D", (32, 64, 1000), (64, 64, 5), (1,), [(2, 2)], 1, None),
    ("conv depthwise, channels first", (32, 64, 56, 56), (64, 1, 3, 3), (1, 1), [(1, 1)] * 2, 64, None),
    ("conv depthwise", (32, 56, 56, 64), (3, 3, 1, 64), (1, 1), [(1, 1)] * 2, 64, ("NHWC", "HWIO", "NHWC")),
]
OTHER_CONVOLUTIONS = [
    ("conv 3x3, stride 2", (32, 56, 56, 64), (3, 3, 64, 128), (2, 2), [(1, 1)] * 2, 1, ("NHWC", "HWIO", "NHWC")),
    ("conv depthwise, stride 2", (32, 56, 56, 64), (3, 3, 1, 64), (2, 2), [(1, 1)] * 2, 64, ("NHWC", "HWIO", "NHWC")),
    ("conv depthwise, 2 features each", (32, 56, 56, 64), (3, 3, 1, 128), (1, 1), [(1, 1)] * 2, 64, ("NHWC", "HWIO", "NHWC")),
]
POOLINGS = [  # name, x, window, strides
    ("pooling 3x3, stride 2", (32, 64, 112, 112), (1, 1, 3, 3), (1, 1, 2, 2)),
    ("pooling 2x2, stride 2", (32, 64, 112, 112), (1, 1, 2, 2), (1, 1, 2, 2)),
    ("pooling 3x3, stride 2, channels last", (32, 112, 112, 64), (1, 3, 3, 1), (1, 2, 2, 1)),
    ("pooling 2x2, stride 2, channels last", (32, 112, 112, 64), (1, 2, 2, 1), (1, 2, 2, 1)),
]


def poolings():
    for name, shape, window, strides in POOLINGS:
        x = normal(shape, "float32")
        for kind, start in (("max", -np.inf), ("add", 0.0)):
            yield from pooling(f"{name}, {kind}", x, kind, start, window, strides)


def pooling(name, x, kind, start, window, strides):
    def forward(jx):
        return lambda x: jx.lax.reduce_window(x, start, getattr(jx.lax, kind), window, strides, "SAME")

    def gradient(jx):
        return jx.grad(lambda x: jx.numpy.sum(jx.numpy.square(forward(jx)(x))))

    in_torch = torch_pooling(x, kind, window, strides)
    for what, f, other in (("", forward, in_torch[0]), (", gradient", gradient, in_torch[1])):
        others = {} if jax is None else {"jax": in_jax(f(jax), x)}
        yield name + what, in_tenon(f(tn), x), others if other is None else {**others, "torch": Unlike(other)}


def torch_pooling(x, kind, window, strides):
    """Torch's call and that with the gradient, of the same layout; its padding stands on both sides, so that it has as many
    windows and reads them elsewhere. What it has no words for is None."""
    if torch is None:
        return None, None
    last = window[-1] == 1
    z = torch.from_numpy(x.transpose(0, 3, 1, 2) if last else x)  # channels last by their strides
    size, step = (window[1:3], strides[1:3]) if last else (window[2:], strides[2:])
    pool = torch.nn.functional.max_pool2d if kind == "max" else torch.nn.functional.avg_pool2d
    leaf = z.clone().requires_grad_()

    def call(z):
        return pool(z, size, step, size[0] // 2 if size[0] > 2 else 0)

    def gradient():
        leaf.grad = None
        call(leaf).square().sum().backward()

    return lambda: call(z), gradient


def convolutions(cases=CONVOLUTIONS):
    for case in cases:
        yield from convolution(*case)


def convolution(name, x, w, strides, padding, groups, layout):
    args = normal(x, "float32"), normal(w, "float32")

    def forward(jx):
        return lambda x, w: jx.lax.conv_general_dilated(x, w, strides, padding, dimension_numbers=layout, feature_group_count=groups)

    def both(jx):
        return jx.grad(lambda x, w: jx.numpy.sum(jx.numpy.square(forward(jx)(x, w))), (0, 1))

    in_torch = torch_convolution(*args, strides, padding, groups, layout) if torch is not None else (None, None)
    for what, f, other in (("", forward, in_torch[0]), (", gradients", both, in_torch[1])):
        others = {} if jax is None else {"jax": in_jax(f(jax), *args)}
        yield name + what, in_tenon(f(tn), *args), others if other is None else {**others, "torch": other}


def torch_convolution(x, w, strides, padding, groups, layout):
    """Torch's call and that of the gradients, of the same arrays in the same layout."""
    x, w = torch.from_numpy(x), torch.from_numpy(w)
    back_x = back_w = lambda made: made
    if layout is not None:  # channels last, by strides
        x, w = x.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1)
        back_x, back_w = (lambda made: made.permute(0, 2, 3, 1)), (lambda made: made.permute(2, 3, 1, 0))
    convolve = torch.nn.functional.conv2d if x.ndim == 4 else torch.nn.functional.conv1d
    one, two = x.clone().requires_grad_(), w.clone().requires_grad_()

    def call(x, w):
        return convolve(x, w, None, strides, [low for low, _ in padding], 1, groups)

    def gradients():
        dx, dw = torch.autograd.grad(call(one, two).square().sum(), (one, two))
        return back_x(dx), back_w(dw)

    return lambda: back_x(call(x, w)), gradients


ONE = ["gammaln", "gamma", "digamma", "i0e", "i1e", "entr", "factorial", "erfcx", "dawsn", "ndtr", "log_ndtr", "ndtri", "exp1", "expi",
       "sici", "fresnel", "spence", "loggamma"]
TWO = ["betaln", "gammainc", "gammaincc", "xlogy", "rel_entr", "poch", "owens_t", "boxcox", "boxcox1p", "comb", "expn"]


def special_functions():
    for dtype in ("float32", "float64"):
        x, y = (np.abs(normal(10**6, dtype)) * 5 + 0.1 for _ in range(2))
        y = y[::-1].copy()
        own = {"ndtri": [np.exp(-x)], "expn": [np.full_like(x, 3), x], "comb": [x + y, y]}
        for name, args in [(name, [x]) for name in ONE] + [(name, [x, y]) for name in TWO]:
            args = own.get(name, args)
            others = {}
            if scipy_special is not None:
                others["scipy"] = lambda name=name, args=args: getattr(scipy_special, name)(*args)
            if jax is not None and name != "expn":  # of which JAX takes minutes
                others["jax"] = in_jax(getattr(jax.scipy.special, name), *args)
            yield f"{name} 10^6 {dtype}", in_tenon(getattr(tn.scipy.special, name), *args), others


def factors():
    for shape in [(64, 64), (512, 512), (1024, 1024), (10000, 3, 3), (10000, 8, 8)]:
        a = normal(shape, "float64")
        for name in ("eigh", "svd", "eig", "qr", "lstsq"):
            if name == "lstsq" and len(shape) > 2:
                continue
            x = a + a.swapaxes(-1, -2) if name == "eigh" else a
            arguments = (x, x[:, :8].copy()) if name == "lstsq" else (x,)
            more = (None,) if name == "lstsq" else ()
            of = functools.partial(compared, name)
            others = {"numpy": of(getattr(np.linalg, name), *arguments, *more)}
            if scipy_linalg is not None and len(shape) == 2:
                others["scipy"] = of(getattr(scipy_linalg, name), *arguments)
            if jax is not None:
                others["jax"] = of(in_jax(getattr(jax.numpy.linalg, name), *arguments))
            if torch is not None:
                others["torch"] = of(getattr(torch.linalg, name), *map(torch.from_numpy, arguments))
            ours = of(in_tenon(getattr(tn.linalg, name), *arguments))
            yield f"{name} {'x'.join(map(str, shape))}", ours, others


def compared(name, f, *args):
    """A call that gives what libraries agree on: of least squares the solution, of eigenvalues these alone, in the order of their
    sizes."""
    def call():
        made = f(*args)
        return made[0] if name in ("lstsq", "eig") else made

    return call


PRODUCTS = [  # dtype of the factors, of the result
    ("bfloat16", "bfloat16"), ("bfloat16", "float32"), ("float16", "float16"), ("int8", "int32"), ("int8", "int8"), ("uint8", "int32"),
]


def narrow_products():
    """Products of matrices of narrow numbers, beside those of others."""
    yield from products_of([(1024, 1024, 1024, spelling) for spelling in ("NN", "NT", "TN")], "others")


def narrow_products_beside_float32():
    yield from products_of([(1024, 1024, 1024, spelling) for spelling in ("NN", "NT", "TN")], "float32")


def other_narrow_products():
    shapes = [(256, 256, 256, "NN"), (64, 64, 64, "NN"), (4096, 4096, 64, "NN"),
              *((rows, 4096, 4096, spelling) for rows in (1, 4, 8, 16) for spelling in ("NN", "NT"))]
    for beside in ("others", "float32"):
        yield from products_of(shapes, beside)


def products_of(shapes, beside):
    for m, n, k, spelling in shapes:
        a = np.random.default_rng(0).integers(-100, 100, (k, m) if spelling[0] == "T" else (m, k)).astype("float32")
        b = np.random.default_rng(1).integers(-100, 100, (n, k) if spelling[1] == "T" else (k, n)).astype("float32")

        def ours(factors, result):
            return in_tenon(product_of(tn, spelling, result), *(tn.numpy.asarray(x).astype(factors) for x in (a, b)))

        for factors, result in PRODUCTS:
            name = f"product {m},{n},{k} {spelling} {factors} to {result}"
            if beside == "float32":
                yield f"{name}, beside float32", ours(factors, result), {"tenon float32": Unlike(ours("float32", "float32"))}
                continue
            others = {} if jax is None else {
                "jax": in_jax(product_of(jax, spelling, result), *(jax.numpy.asarray(x).astype(factors) for x in (a, b)))}
            if torch is not None and (factors == result or factors == "int8") and result != "int8":
                others["torch"] = torch_product(a, b, spelling, factors)
            yield name, ours(factors, result), others


def products_by_groups():
    """Products of which each group of rows has a matrix of its own: the time of all rows should not grow with the groups."""
    for rows, k, n, groups in [(4096, 512, 512, 4), (4096, 512, 512, 16), (4096, 512, 512, 64), (512, 128, 128, 32)]:
        sizes = np.random.default_rng(0).multinomial(rows, [1 / groups] * groups).astype("int32")
        args = normal((rows, k), "float32"), normal((groups, k, n), "float32"), sizes
        name = f"ragged_dot {rows},{k},{n} of {groups}"
        for what, f in {"": lambda jx: jx.lax.ragged_dot, ", gradient": slope_of_groups}.items():
            yield name + what, in_tenon(f(tn), *args), {} if jax is None else {"jax": in_jax(f(jax), *args)}


def slope_of_groups(jx):
    return jx.grad(lambda a, b, sizes: jx.numpy.sum(jx.lax.ragged_dot(a, b, sizes) ** 2), (0, 1))


def product_of(jx, spelling, result):
    contracted = ((0 if spelling[0] == "T" else 1,), (1 if spelling[1] == "T" else 0,))
    return lambda a, b: jx.lax.dot_general(a, b, (contracted, ((), ())), preferred_element_type=result)


def torch_product(a, b, spelling, factors):
    x, y = (torch.from_numpy(x).to(getattr(torch, factors)) for x in (a, b))
    x, y = x.T if spelling[0] == "T" else x, y.T if spelling[1] == "T" else y
    multiply = torch._int_mm if factors == "int8" else torch.mm
    return lambda: multiply(x, y).to(torch.float32 if factors != "int8" else torch.int32)


def orders():
    """Along an axis, in an order, by indices."""
    r, n = np.random.default_rng(0), 10**7
    for dtype in ("float32", "float64"):
        x = normal((n,), dtype)
        yield beside(f"cumsum 10^7 {dtype}", lambda jx: jx.numpy.cumsum, [x], lambda: np.cumsum(x), lambda x: torch.cumsum(x, 0))
    x = normal((1000, 10000), "float32")
    yield beside("cumsum down 1000x10000 float32", lambda jx: lambda x: jx.numpy.cumsum(x, 0), [x], lambda: np.cumsum(x, 0),
                 lambda x: torch.cumsum(x, 0))
    x = normal((n,), "float32")  # of which NumPy adds one after another in float32, and is three percent too low in the end
    yield beside("cumlogsumexp 10^7 float32", lambda jx: jx.lax.cumlogsumexp, [x], Unlike(lambda: np.logaddexp.accumulate(x)),
                 lambda x: torch.logcumsumexp(x, 0))
    for shape in ((10**6,), (1000, 1000)):
        for dtype in ("float32", "float64", "int32"):
            x = (normal(shape, "float64") * 10**6).astype(dtype)
            size = f"{'x'.join(map(str, shape)) if len(shape) > 1 else '10^6'} {dtype}"
            yield beside(f"sort {size}", lambda jx: jx.numpy.sort, [x], lambda: np.sort(x), lambda x: torch.sort(x)[0])
            yield beside(f"argsort {size}", lambda jx: jx.numpy.argsort, [x], lambda: np.argsort(x, kind="stable"),
                         lambda x: torch.argsort(x, stable=True))
    x, at = normal((10**6,), "float32"), r.integers(0, 10**6, n).astype("int32")
    yield beside("take 10^7 of 10^6", lambda jx: jx.numpy.take, [x, at], lambda: np.take(x, at), lambda x, i: torch.index_select(x, 0, i))
    x, at = normal((10**5, 64), "float32"), r.integers(0, 10**5, 2 * 10**5).astype("int32")
    yield beside("take 2 10^5 rows of 64", lambda jx: lambda x, i: jx.numpy.take(x, i, 0), [x, at], lambda: np.take(x, at, 0),
                 lambda x, i: torch.index_select(x, 0, i))
    for name, ids in (("", r.integers(0, 1000, n)), (", sorted", np.sort(r.integers(0, 1000, n)))):
        x, ids = normal((n,), "float32"), ids.astype("int32")
        yield beside(f"segment sums 10^7 to 1000{name}", lambda jx: lambda x, i: jx.ops.segment_sum(x, i, 1000), [x, ids],
                     lambda: np.bincount(ids, x, 1000), lambda x, i: torch.zeros(1000).index_add_(0, i, x))
    x, ids = normal((10**6, 16), "float32"), r.integers(0, 10**5, 10**6).astype("int32")
    yield beside("segment sums 10^6 rows of 16 to 10^5", lambda jx: lambda x, i: jx.ops.segment_sum(x, i, 10**5), [x, ids], None,
                 lambda x, i: torch.zeros(10**5, 16).index_add_(0, i, x))


def beside(name, f, args, in_numpy, in_torch):
    """A case of which tenon and JAX have the same words."""
    others = {"numpy": in_numpy} if in_numpy else {}
    if jax is not None:
        others["jax"] = in_jax(f(jax), *args)
    if torch is not None:
        others["torch"] = functools.partial(in_torch, *map(torch.from_numpy, args))
    return name, in_tenon(f(tn), *args), others


def random_numbers():
    """With tenon's and JAX's keys, which give the same bits; NumPy's and torch's are other numbers of the same distribution."""
    n, drawn = 10**7, np.random.default_rng(0)
    cases = [
        ("normal", lambda jx: lambda seed: jx.random.normal(jx.random.key(seed), (n,), "float32"),
         lambda: drawn.standard_normal(n, "float32"), lambda: torch.randn(n)),
        ("gamma 2.5", lambda jx: lambda seed: jx.random.gamma(jx.random.key(seed), np.float32(2.5), (n,), "float32"),
         lambda: drawn.standard_gamma(2.5, n, "float32"), lambda: torch._standard_gamma(torch.full((n,), 2.5))),
        ("permutation", lambda jx: lambda seed: jx.random.permutation(jx.random.key(seed), n), lambda: drawn.permutation(n),
         lambda: torch.randperm(n)),
    ]
    for name, f, in_numpy, in_torch in cases:
        seed = np.uint32(7)
        others = {"numpy": Unlike(in_numpy)}
        if jax is not None:
            others["jax"] = in_jax(f(jax), seed)
        if torch is not None:
            others["torch"] = Unlike(in_torch)
        yield f"{name} 10^7", in_tenon(f(tn), seed), others


def steps_of_training():
    """The loss, its gradient and new parameters: those of cases.py, and by torch's own layers with the same parameters."""
    arrays = lambda jx, args: jx.tree.map(jx.numpy.asarray, args)
    with_jax = {name: (f, args) for name, f, args, _ in (cases.training(jax, True) if jax is not None else ())}
    for name, f, args, _ in cases.training(tn, True):
        if "step" not in name:
            continue
        others = {}
        if jax is not None:
            step, theirs = jax.jit(with_jax[name][0]), arrays(jax, with_jax[name][1])
            others["jax"] = lambda step=step, theirs=theirs: jax.block_until_ready(step(*theirs))
        if torch is not None:
            others["torch"] = torch_step(name.split(",")[0], *args)
        yield name, functools.partial(tn.jit(f), *arrays(tn, args)), others


def torch_step(kind, p, x, y):
    x, y = torch.from_numpy(x), torch.from_numpy(y)
    if kind == "MLP":
        weights = [torch.from_numpy(a).clone().requires_grad_() for layer in p for a in layer]

        def loss():
            h = x
            for i in range(0, len(weights) - 2, 2):
                h = torch.relu(torch.addmm(weights[i + 1], h, weights[i]))
            return -(torch.log_softmax(torch.addmm(weights[-1], h, weights[-2]), -1) * y).sum(-1).mean()

        def leaves(made):
            return made
    else:
        hidden, gates = p["u"].shape[0], p["u"].shape[1] // p["u"].shape[0]
        layer = getattr(torch.nn, kind)(x.shape[-1], hidden)
        kept = np.zeros(gates * hidden, "float32")
        if kind == "GRU":
            kept[-hidden:] = p["bn"]
        with torch.no_grad():
            for parameter, value in zip(layer.parameters(), (p["w"].T, p["u"].T, p["b"], kept)):
                parameter.copy_(torch.from_numpy(np.ascontiguousarray(value)))
        out = torch.from_numpy(p["o"]).clone().requires_grad_()
        weights = [*layer.parameters(), out]

        def loss():
            return (layer(x)[0] @ out - y).square().mean()

        def leaves(made):  # in the order of the names: b, bn, o, u, w
            w, u, b, inner, o = made
            return [b, inner[-hidden:] if kind == "GRU" else torch.from_numpy(p["bn"]), o, u.T, w.T]

    def step():
        value = loss()
        slopes = torch.autograd.grad(value, weights)
        with torch.no_grad():
            return value, leaves([a - 0.01 * slope for a, slope in zip(weights, slopes)])

    return step


def imports():
    """Of processes of their own: what an import takes after NumPy's."""
    def seconds(library):
        code = f"import numpy, time; start = time.perf_counter(); import {library}; print(time.perf_counter() - start)"
        return min(float(subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE).stdout) for _ in range(3))

    others = {name: Timed(functools.partial(seconds, name)) for name, library in (("jax", jax), ("torch", torch)) if library is not None}
    yield "import beyond NumPy", Timed(functools.partial(seconds, "tenon")), others


@functools.cache
def eager_calls():
    """[(name, µs)] of functions on arrays of 8 elements, the slowest first."""
    import warnings

    import eager

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return sorted(((name, ours) for name, ours, _ in eager.rows("", with_numpy=False)), key=lambda row: -row[1])


def eager_functions():
    """The slowest calls, and what most take."""
    place = {"the slowest": 0, "the tenth": 9, "the 50th": 49, "the middle one": None}
    for name, at in place.items():
        def seconds(at=at):
            calls = eager_calls()
            return calls[len(calls) // 2 if at is None else min(at, len(calls) - 1)][1] * 1e-6

        yield f"eager call of 8 elements, {name} of all functions", Timed(seconds), {}


def fields():
    """Signals and images: of JAX, and where SciPy has them, of SciPy."""
    image, points = normal((32, 224, 224, 3), "float32"), np.random.default_rng(0).uniform(0, 255, (2, 10**6)).astype("float32")
    plane, long, window, signal = (normal(shape, "float32") for shape in ((256, 256), 10**5, 10**4, 10**6))
    cases = [
        ("resize linear 32x224x224x3", lambda jx: lambda x: jx.image.resize(x, (32, 112, 112, 3), "linear"), [image], None),
        ("resize cubic 32x224x224x3", lambda jx: lambda x: jx.image.resize(x, (32, 112, 112, 3), "cubic"), [image], None),
        ("map_coordinates 10^6", lambda jx: lambda x, at: jx.scipy.ndimage.map_coordinates(x, [at[0], at[1]], 1), [plane, points],
         scipy_ndimage and (lambda: scipy_ndimage.map_coordinates(plane, points, order=1, mode="grid-constant"))),
        ("fftconvolve 10^5 10^4", lambda jx: jx.scipy.signal.fftconvolve, [long, window],
         scipy_signal and (lambda: scipy_signal.fftconvolve(long, window))),
        ("convolve 10^5 10^4", lambda jx: jx.scipy.signal.convolve, [long, window], lambda: np.convolve(long, window)),
        ("stft 10^6", lambda jx: lambda x: jx.scipy.signal.stft(x, nperseg=256)[2], [signal],
         scipy_signal and (lambda: scipy_signal.stft(signal, nperseg=256)[2])),
    ]
    for name, f, args, theirs in cases:
        others = {"scipy": theirs} if theirs else {}
        if jax is not None:
            others["jax"] = in_jax(f(jax), *args)
        yield name, in_tenon(f(tn), *args), others


def solvers():
    """Iterations over functions; of `first call` tracing and compilation are part."""
    x = normal((1000, 1000), "float64")
    y0, times, rates = np.array([10.0, 5.0]), np.linspace(0, 10, 1000), np.array([1.5, 1.0, 3.0, 1.0])

    def rosenbrock(x):
        return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()

    def lotka_volterra(jx):
        return lambda y, t, p: jx.numpy.stack([p[0] * y[0] - p[1] * y[0] * y[1], -p[2] * y[1] + p[3] * y[0] * y[1]])

    def populations(jx):
        return lambda y0, p: jx.experimental.ode.odeint(lotka_volterra(jx), y0, times if jx is tn else jx.numpy.asarray(times), p)

    def gradient(jx):
        return jx.grad(lambda y0, p: jx.numpy.sin(populations(jx)(y0, p)).sum(), (0, 1))

    def minimum(jx):
        return lambda x: jx.scipy.optimize.minimize(rosenbrock, x, method="BFGS")

    cases = [
        ("cg 1000x1000", lambda jx: lambda a, b: jx.scipy.sparse.linalg.cg(lambda v: a @ v, b, tol=1e-8)[0],
         (x @ x.T / 1000 + 0.05 * np.eye(1000), normal((1000,), "float64"))),
        ("minimize BFGS, Rosenbrock 100", minimum, (np.full(100, -1.0),)),
        ("odeint Lotka-Volterra 1000", populations, (y0, rates)),
        ("odeint Lotka-Volterra 1000, gradient", gradient, (y0, rates)),
    ]
    for name, f, args in cases:
        yield name + ", first call", first_call(in_tenon, f(tn), args), {} if jax is None else {"jax": first_call(in_jax, f(jax), args)}
        yield name, in_tenon(f(tn), *args), {} if jax is None else {"jax": in_jax(f(jax), *args)}


def first_call(compiled, f, args):
    """Each is of a function compiled anew."""
    def seconds():
        call = compiled(lambda *args: f(*args), *args)
        start = time.perf_counter()
        call()
        return time.perf_counter() - start

    return Timed(seconds)


SECTIONS = [
    Section("Fourier transforms", transforms, {"best": 1.2}),
    Section("Factors of matrices", factors, {"best": 1.05}),
    Section("Convolutions", convolutions, {"best": 1.1}),
    Section("Pooling", poolings, {"best": 1.05}),
    Section("Cumulative sums, sorting, indices", orders, {"best": 1.05}),
    Section("Products of narrow numbers", narrow_products, {"best": 1.1}),
    Section("Products of narrow numbers beside float32", narrow_products_beside_float32, {"tenon float32": 1 / 1.5}),
    Section("Special functions", special_functions, {"scipy": 0.5, "jax": 1}),
    Section("Random numbers", random_numbers, {"jax": 0.3}),
    Section("Steps of training", steps_of_training, {"best": 0.65}),
    Section("Imports", imports, {"seconds": 0.06}),
    Section("Eager calls", eager_functions, {"seconds": 2e-6}),
]
OTHERS = [  # of which nothing is wanted
    Section("Other convolutions", functools.partial(convolutions, OTHER_CONVOLUTIONS), {"best": 1}),
    Section("Other products of narrow numbers", other_narrow_products, {"best": 1, "tenon float32": 1}),
    Section("Products by groups", products_by_groups, {"best": 1}),
    Section("Signals and images", fields, {"best": 1}),
    Section("Solvers", solvers, {"best": 1}),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", metavar="WORD", default="", help="of names of sections, or of cases")
    parser.add_argument("--seconds", type=float, default=0.2, metavar="LIMIT")
    parser.add_argument("--rounds", type=int, default=2, metavar="N")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--list", action="store_true", help="names alone")
    parser.add_argument("--docs", metavar="PROCESSOR")
    options = parser.parse_args()
    rows, every = [], {}
    sections = SECTIONS + (OTHERS if options.all else [])
    named = [section for section in sections if options.only in section.name]
    for section in named or sections:
        for name, ours, others in section.cases():
            every.setdefault(section.name, []).append(name)
            if options.list or (not named and options.only not in name):
                continue
            row = function_table.measured(section, name, {"tenon": ours, **others}, options.seconds, options.rounds)
            rows.append(row)
            print(function_table.line(row, section.wanted), flush=True)
    if options.list:
        print("\n".join(f"{section}: {name}" for section, names in every.items() for name in names))
    if options.docs:
        libraries = {"NumPy": np, "SciPy": optional("scipy"), "JAX": jax, "torch": torch}
        versions = ", ".join(f"{name} {library.__version__.split('+')[0]}" for name, library in libraries.items() if library is not None)
        whole = function_table.kept(rows, every, [section.name for section in SECTIONS])
        function_table.document(SECTIONS, whole, options.docs, versions, options.seconds, options.rounds)
    return 1 if any(row["differ"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
