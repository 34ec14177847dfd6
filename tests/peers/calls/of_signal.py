"""Calls of scipy.signal, of Fourier and cosine transforms, of scipy.ndimage and of image."""

from draws import ALL, COMPLEX, D, FLOATS

import numpy as np

NUMBERS = FLOATS + COMPLEX + ["float32", "float64", "int32", "uint8", "bool"]


def add(g, t):
    """Says of each name how its arguments are drawn."""
    norm = lambda: g.of("ortho", "forward", "backward", "none")

    # --- Fourier transforms
    @t("fft.fft fft.ifft fft.rfft fft.irfft fft.hfft fft.ihfft")
    def _():
        x = g.arr(NUMBERS)
        return [x], g.opts(n=lambda: g.of(1, 2, 3, 5, 8, 12, 17, 0, -1), axis=lambda: g.axis(x.ndim), norm=norm)

    @t("fft.fft2 fft.ifft2 fft.rfft2 fft.irfft2 fft.fftn fft.ifftn fft.rfftn fft.irfftn")
    def _():
        x = g.arr(NUMBERS, lo=2 if g.flag(0.8) else 0)
        k = g.opts(norm=norm)
        n = g.int(1, min(3, x.ndim)) if x.ndim and g.flag(0.95) else 2
        if g.flag(0.5):
            k["axes"] = tuple(g.r.sample(range(x.ndim), n)) if n <= x.ndim else (0, 1)
        if g.flag(0.4):
            k["s"] = tuple(g.of(1, 2, 3, 4, 6) for _ in range(n))
        return [x], k

    @t("fft.fftfreq fft.rfftfreq")
    def _():
        return [g.of(1, 2, 5, 8, 0, -1, 2.5)], g.opts(d=lambda: g.of(0.5, 2, np.float32(3)), dtype=lambda: D(g.dt(ALL)))

    @t("fft.fftshift fft.ifftshift")
    def _():
        x = g.arr()
        return [x], g.opts(axes=lambda: g.axes(x.ndim))

    @t("sfft.dct sfft.idct")
    def _():
        x = g.arr(NUMBERS)
        return [x], g.opts(type=lambda: g.of(2, 2, 1, 3), n=lambda: g.of(1, 3, 5, 8, 0), axis=lambda: g.axis(x.ndim),
                           norm=lambda: g.of("ortho", "backward"))

    @t("sfft.dctn sfft.idctn")
    def _():
        x = g.arr(NUMBERS, lo=2 if g.flag(0.8) else 0)
        k = g.opts(norm=lambda: g.of("ortho", "backward"), type=lambda: 2)
        n = g.int(1, max(1, min(3, x.ndim)))
        if x.ndim and g.flag(0.5):
            k["axes"] = tuple(g.r.sample(range(x.ndim), n))
            if g.flag(0.5):
                k["s"] = tuple(g.of(1, 2, 3, 5) for _ in range(n))
        return [x], k

    # --- signals
    mode = lambda: g.of("full", "same", "valid", "none")

    def two(shapes):
        a = g.dt(NUMBERS)
        s = g.pick(shapes)
        return [g.arr(a, s[0]), g.arr(a if g.flag(0.7) else g.dt(NUMBERS), s[1])]

    @t("signal.convolve signal.correlate")
    def _():
        shapes = [((5,), (3,)), ((3,), (5,)), ((1,), (4,)), ((4, 4), (2, 3)), ((2, 3), (3, 4)), ((2, 3, 4), (2, 1, 3)), ((), ()),
                  ((0,), (3,)), ((3,), (2, 2))]
        return two(shapes), g.opts(mode=mode, method=lambda: g.of("auto", "direct", "fft"))

    @t("signal.convolve2d signal.correlate2d")
    def _():
        return two([((4, 4), (2, 3)), ((2, 3), (3, 4)), ((1, 5), (1, 2)), ((5,), (3,)), ((0, 3), (2, 2))]), g.opts(mode=mode)

    @t("signal.fftconvolve")
    def _():
        shapes = [((5,), (3,)), ((3,), (5,)), ((4, 4), (2, 3)), ((4, 4), (4, 3)), ((2, 3, 4), (2, 1, 3)), ((0,), (3,)), ((), ())]
        return two(shapes), g.opts(mode=mode, axes=lambda: g.of(0, -1, (0, 1), (1,)))

    @t("signal.detrend")
    def _():
        x = g.arr(NUMBERS, g.of((9,), (2, 9), (9, 2), (0,), (1,), ()))
        return [x], g.opts(axis=lambda: g.axis(x.ndim), type=lambda: g.of("linear", "constant", "none"),
                           bp=lambda: g.of(0, 3, [2, 5], 12))

    def spectrum(*more):
        """A signal, and the options of its spectra."""
        x = g.arr(NUMBERS, g.of((40,), (2, 33), (33, 2), (16,), (5,)), g.of("small", "small", "small", g.mode))
        k = g.opts(fs=lambda: g.of(2.0, 10), window=lambda: g.of("hann", "boxcar", "hamming", ("kaiser", 3.0), np.hanning(8)),
                   noverlap=lambda: g.of(0, 3, 6), nfft=lambda: g.of(8, 16, 21), return_onesided=lambda: False,
                   detrend=lambda: g.of(False, "constant", "linear"), axis=lambda: g.axis(x.ndim))
        if g.flag(0.85):
            k["nperseg"] = g.of(8, 8, 7, 16)
        return x, k

    @t("signal.stft")
    def _():
        x, k = spectrum()
        return [x], k | g.opts(boundary=lambda: g.of("even", "odd", "constant", "zeros", None), padded=lambda: False)

    @t("signal.welch")
    def _():
        x, k = spectrum()
        return [x], k | g.opts(scaling=lambda: g.of("density", "spectrum"), average=lambda: g.of("mean", "median"))

    @t("signal.csd")
    def _():
        x, k = spectrum()
        y = g.of(x, g.arr(NUMBERS, x.shape, "small"), g.arr(NUMBERS, x.shape[:-1] + (x.shape[-1] - 3,), "small"), None)
        return [x, y], k | g.opts(scaling=lambda: g.of("density", "spectrum"), average=lambda: g.of("mean", "median"))

    @t("signal.istft")
    def _():
        n = g.of(8, 8, 6)
        z = g.arr(COMPLEX + ["float32"], g.of((n // 2 + 1, 5), (2, n // 2 + 1, 4), (n, 5)), "small")
        return [z], g.opts(fs=lambda: 2.0, window=lambda: g.of("hann", "boxcar"), nperseg=lambda: n, noverlap=lambda: g.of(0, n // 2, n - 1),
                           nfft=lambda: g.of(n, n + 2), input_onesided=lambda: False, boundary=lambda: False, time_axis=lambda: -2,
                           freq_axis=lambda: -1)

    # --- images
    @t("ndimage.map_coordinates")
    def _():
        x = g.arr(["float32", "float64", "float16", "int32", "uint8", "complex64", "bool"],
                  g.of((5,), (4, 3), (4, 3), (2, 3, 4), (1, 3), (0, 3)))
        s = g.of((), (7,), (2, 3))
        at = [g.of(2.0, 4.0) * g.numbers("near", "float64", s) for _ in range(x.ndim + (0 if g.flag(0.95) else 1))]
        at = [np.round(2 * a) / 2 if g.flag(0.3) else a for a in at]
        return [x, [a.astype(g.of("float32", "float64") if g.flag(0.85) else "int32") for a in at], g.of(0, 1, 1, 2)], g.opts(
            mode=lambda: g.of("constant", "nearest", "wrap", "mirror", "reflect", "grid"), cval=lambda: g.of(1.5, -1, np.float32(2)))

    method = lambda: g.of("nearest", "linear", "bilinear", "trilinear", "triangle", "cubic", "bicubic", "lanczos3", "lanczos5", "none")

    @t("image.resize")
    def _():
        x = g.arr(["float32", "float64", "float16", "bfloat16", "int32", "uint8", "bool", "complex64"],
                  g.of((5,), (4, 3), (4, 3), (2, 3, 4), (1, 3), (0, 3), ()))
        new = tuple(n if g.flag(0.3) else g.of(1, 2, 3, 5, 7, 0) for n in x.shape)
        return [x, new if g.flag(0.95) else new + (2,), method()], g.opts(antialias=lambda: False)

    @t("image.scale_and_translate")
    def _():
        x = g.arr(["float32", "float64", "float16", "int32"], g.of((5,), (4, 3), (4, 3), (2, 3, 4)))
        axes = sorted(g.r.sample(range(x.ndim), g.int(1, x.ndim)))
        new = tuple(g.of(1, 2, 3, 5, 7) if i in axes or g.flag(0.03) else n for i, n in enumerate(x.shape))
        dt = g.of("float32", "float32", "float64")
        scale = g.numbers("positive", dt, (len(axes),)) if g.mode != "small" else (g.g.random(len(axes)) * 2 + 0.3).astype(dt)
        axes = tuple(a - x.ndim if g.flag(0.2) else a for a in axes)
        return [x, new, axes, scale, g.numbers("near", dt, (len(axes),)), method()], g.opts(antialias=lambda: False)

    @t("integrate.trapezoid")
    def _():
        y = g.arr(NUMBERS, lo=0 if g.flag(0.1) else 1)
        return [y], g.opts(x=lambda: g.arr(NUMBERS, g.of(y.shape, y.shape[-1:]), "small"), dx=lambda: g.of(0.5, 2, np.float32(3)),
                           axis=lambda: g.axis(y.ndim))

    @t("composed.interpolator")
    def _():
        d = g.int(1, 3)
        dt = g.of("float32", "float64", "float32", "int32")
        points = [np.cumsum(g.g.random(g.int(2, 4)) + 0.2).astype(dt if dt != "int32" else "float32") for _ in range(d)]
        if dt == "int32":
            points = [np.arange(len(p)) for p in points]
        if g.flag(0.1):
            points[0] = points[0][::-1].copy()
        values = g.arr(g.of(dt, dt, "complex64"), tuple(map(len, points)) + g.of((), (), (2,)))
        at = np.abs(g.numbers("near", "float64", g.of((6, d), (d,), (2, 3, d)))).astype("float32" if dt == "int32" else dt)
        return [points, values, at], g.opts(method=lambda: g.of("nearest", "linear", "cubic"), bounds_error=lambda: True,
                                            fill_value=lambda: g.of(None, 0.5))
