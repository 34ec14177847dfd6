#!/usr/bin/env python3
"""Functions of the library beside those of NumPy, SciPy and JAX, where these are installed: milliseconds of each, and the ratio of
tenon's to the least of the others'.

    functions.py [--only WORD] [--seconds LIMIT]

All run in one process, in turns, on arrays that are there already; a figure is the least of LIMIT seconds (1 unless told).
JAX's results are waited for, and its functions are compiled before, as tenon's are where they are called in jit.
"""
import argparse
import importlib
import time

import numpy as np

import tenon as tn
import tenon.experimental.ode
import tenon.fft
import tenon.linalg
import tenon.scipy.special
from peers import least


def optional(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


scipy_fft, scipy_special, scipy_linalg, scipy_signal, scipy_ndimage = (
    optional(f"scipy.{name}") for name in ("fft", "special", "linalg", "signal", "ndimage"))
torch = optional("torch")
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
    shape = "x".join(map(str, x.shape))
    return f"{name} {shape} {x.dtype}", in_tenon(getattr(tn.fft, name), x), others


CONVOLUTIONS = [  # name, x, w, strides, padding, groups, layout
    ("conv 3x3", (32, 64, 56, 56), (64, 64, 3, 3), (1, 1), [(1, 1)] * 2, 1, None),
    ("conv 3x3, channels last", (32, 56, 56, 64), (3, 3, 64, 64), (1, 1), [(1, 1)] * 2, 1, ("NHWC", "HWIO", "NHWC")),
    ("conv 3x3, stride 2", (32, 56, 56, 64), (3, 3, 64, 128), (2, 2), [(1, 1)] * 2, 1, ("NHWC", "HWIO", "NHWC")),
    ("conv 1-D", (32, 64, 1000), (64, 64, 5), (1,), [(2, 2)], 1, None),
    ("conv depthwise, channels first", (32, 64, 56, 56), (64, 1, 3, 3), (1, 1), [(1, 1)] * 2, 64, None),
    ("conv depthwise, stride 2", (32, 56, 56, 64), (3, 3, 1, 64), (2, 2), [(1, 1)] * 2, 64, ("NHWC", "HWIO", "NHWC")),
    ("conv depthwise, 2 features each", (32, 56, 56, 64), (3, 3, 1, 128), (1, 1), [(1, 1)] * 2, 64, ("NHWC", "HWIO", "NHWC")),
    ("conv depthwise", (32, 56, 56, 64), (3, 3, 1, 64), (1, 1), [(1, 1)] * 2, 64, ("NHWC", "HWIO", "NHWC")),
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
        yield name + what, in_tenon(f(tn), x), others if other is None else {**others, "torch": other}


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


def convolutions():
    for case in CONVOLUTIONS:
        yield from convolution(*case)


def convolution(name, x, w, strides, padding, groups, layout):
    args = normal(x, "float32"), normal(w, "float32")

    def forward(jx):
        return lambda x, w: jx.lax.conv_general_dilated(x, w, strides, padding, dimension_numbers=layout, feature_group_count=groups)

    def both(jx):
        return jx.grad(lambda x, w: jx.numpy.sum(jx.numpy.square(forward(jx)(x, w))), (0, 1))

    for what, f in (("", forward), (", gradients", both)):
        yield name + what, in_tenon(f(tn), *args), {} if jax is None else {"jax": in_jax(f(jax), *args)}


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
            if jax is not None:
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
            others = {"numpy": lambda f=getattr(np.linalg, name), args=arguments + more: f(*args)}
            if scipy_linalg is not None and len(shape) == 2:
                others["scipy"] = lambda f=getattr(scipy_linalg, name), args=arguments: f(*args)
            if jax is not None:
                others["jax"] = in_jax(getattr(jax.numpy.linalg, name), *arguments)
            yield f"{name} {'x'.join(map(str, shape))}", in_tenon(getattr(tn.linalg, name), *arguments), others


PRODUCTS = [  # dtype of the factors, of the result
    ("bfloat16", "bfloat16"), ("bfloat16", "float32"), ("float16", "float16"), ("int8", "int32"), ("int8", "int8"), ("uint8", "int32"),
]


def narrow_products():
    """Products of matrices of narrow numbers, beside those of others and beside ours of float32."""
    for m, n, k, spelling in [(1024, 1024, 1024, "NN"), (1024, 1024, 1024, "NT"), (1024, 1024, 1024, "TN"), (256, 256, 256, "NN"),
                              (64, 64, 64, "NN"), (4096, 4096, 64, "NN"),
                              *((rows, 4096, 4096, spelling) for rows in (1, 4, 8, 16) for spelling in ("NN", "NT"))]:
        a = np.random.default_rng(0).integers(-100, 100, (k, m) if spelling[0] == "T" else (m, k)).astype("float32")
        b = np.random.default_rng(1).integers(-100, 100, (n, k) if spelling[1] == "T" else (k, n)).astype("float32")

        def ours(factors, result):
            return in_tenon(product_of(tn, spelling, result), *(tn.numpy.asarray(x).astype(factors) for x in (a, b)))

        for factors, result in PRODUCTS:
            name = f"product {m},{n},{k} {spelling} {factors} to {result}"
            others = {} if jax is None else {
                "jax": in_jax(product_of(jax, spelling, result), *(jax.numpy.asarray(x).astype(factors) for x in (a, b)))}
            if torch is not None and (factors == result or factors == "int8") and result != "int8":
                others["torch"] = torch_product(a, b, spelling, factors)
            yield name, ours(factors, result), others
            yield f"{name}, beside float32", ours(factors, result), {"tenon float32": ours("float32", "float32")}


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
    return lambda: multiply(x, y)


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
        yield name + ", first call", FirstCall(in_tenon, f(tn), args), {} if jax is None else {"jax": FirstCall(in_jax, f(jax), args)}
        yield name, in_tenon(f(tn), *args), {} if jax is None else {"jax": in_jax(f(jax), *args)}


class FirstCall:
    """A call that is timed by itself: each is of a function compiled anew."""

    def __init__(self, compiled, f, args):
        self.compiled, self.f, self.args = compiled, f, args

    def milliseconds(self):
        f = self.f
        call = self.compiled(lambda *args: f(*args), *self.args)
        start = time.perf_counter()
        call()
        return (time.perf_counter() - start) * 1e3


def milliseconds(call, seconds):
    return call.milliseconds() if isinstance(call, FirstCall) else least(call, seconds)[0] * 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", metavar="WORD", default="")
    parser.add_argument("--seconds", type=float, default=1.0, metavar="LIMIT")
    options = parser.parse_args()
    cases = [*transforms(), *convolutions(), *poolings(), *special_functions(), *factors(), *narrow_products(), *products_by_groups(),
             *fields(), *solvers()]
    for name, ours, others in cases:
        if options.only not in name:
            continue
        mine, *theirs = (milliseconds(call, options.seconds) for call in (ours, *others.values()))
        ratio = f"{mine / min(theirs):6.2f}" if theirs else ""
        print(f"{name:28} {ratio}  tenon {mine:.4g}", *(f"{library} {ms:.4g}" for library, ms in zip(others, theirs)), sep="  ", flush=True)


if __name__ == "__main__":
    main()
