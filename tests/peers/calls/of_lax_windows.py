"""Calls of lax about windows, convolutions, ragged products and bits."""

from draws import ALL, COMPLEX, EIGHT_BITS, D, F, FLOATS, INTS, NT

import numpy as np

FORMS = {0: ("NC", "OI", "NC", "IO"), 1: ("NCH", "OIH", "NHC", "HIO"), 2: ("NCHW", "OIHW", "NHWC", "HWIO"),
         3: ("NCHWD", "OIHWD", "NHWDC", "HWDIO")}


def add(g, t):
    """Says of each name how its arguments are drawn."""
    NUMBERS = FLOATS + ["float32", "float64", "complex64", "int32", "int8", "uint8"]

    def padding(d, low=-1):
        return g.of("SAME", "VALID", "SAME_LOWER", *[[(g.int(low, 2), g.int(low, 3)) for _ in range(d)] for _ in range(4)], "OTHER")

    def placed(axes, form, sizes):
        """A shape in a layout: the sizes by the letters of the axes."""
        return tuple(sizes[letter] for letter in form)

    def convolved(grouped=True):
        """Two arrays and the options of a convolution."""
        d = g.of(1, 1, 2, 2, 2, 3, 0)
        dt = g.dt(NUMBERS)
        groups = g.of(1, 1, 1, 2, 3) if grouped else 1
        batches = g.of(1, 1, 2) if grouped and groups == 1 else 1
        c, n = g.int(1, 2), g.int(1, 3)
        ours, weights, channels_last, weights_last = FORMS[d]
        last = g.flag()
        x_form, w_form = (channels_last, weights_last) if last else (ours, weights)
        places = dict(zip("HWD"[:d], (g.int(1, 6) for _ in range(d))))
        window = dict(zip("HWD"[:d], (g.int(1, 3) for _ in range(d))))
        x = g.arr(dt, placed(d, x_form, {"N": n * batches, "C": c * groups, **places}))
        features = {"O": g.int(1, 2) * groups * batches, "I": c if g.flag(0.97) else c + 1}
        w = g.arr(dt if g.flag(0.93) else g.dt(NUMBERS), placed(d, w_form, features | window))
        k = {} if not last and g.flag(0.6) else {"dimension_numbers": (x_form, w_form, g.of(x_form, ours, channels_last))}
        if groups > 1:
            k["feature_group_count"] = groups
        if batches > 1:
            k["batch_group_count"] = batches
        return d, x, w, k

    def dilation(d):
        return tuple(g.int(1, 3) for _ in range(d))

    @t("lax.conv_general_dilated " * 3)
    def _():
        d, x, w, k = convolved()
        return [x, w, tuple(g.int(1, 3) for _ in range(d)), padding(d)], k | g.opts(
            lhs_dilation=lambda: dilation(d), rhs_dilation=lambda: dilation(d),
            preferred_element_type=lambda: D(g.of("float32", "float64")) if x.dtype.kind != "i" else D("int32"))

    @t("lax.conv_transpose " * 2)
    def _():
        d, x, w, k = convolved(False)
        k = k or {"dimension_numbers": FORMS[d][:2] + FORMS[d][:1]}
        return [x, w, tuple(g.int(1, 3) for _ in range(d)), padding(d, 0)], k | g.opts(
            rhs_dilation=lambda: dilation(d), transpose_kernel=lambda: True, use_consistent_padding=lambda: True)

    @t("lax.conv")
    def _():
        d, x, w, _ = convolved(False)
        w = g.arr(str(x.dtype), (2, x.shape[1], *[2] * d))
        return [x, w, (1,) * d, padding(d)], {}

    @t("lax.conv_with_general_padding")
    def _():
        d, x, w, _ = convolved(False)
        w = g.arr(str(x.dtype), (2, x.shape[1], *[2] * d))
        return [x, w, dilation(d), padding(d), dilation(d), dilation(d)], {}

    @t("lax.conv_general_dilated_patches")
    def _():
        d, x, w, k = convolved(False)
        return [x, tuple(g.int(1, 3) for _ in range(d)), dilation(d), padding(d)], k | g.opts(
            lhs_dilation=lambda: dilation(d), rhs_dilation=lambda: dilation(d))

    @t("lax.conv_general_dilated_local")
    def _():
        n, c, o, places, span = g.int(1, 2), g.int(1, 2), g.int(1, 3), g.int(3, 5), g.int(1, 3)
        dt = g.of("float32", "float64", "complex64")
        return [g.arr(dt, (n, c, places)), g.arr(dt, (o, c * span, places - span + 1)), (1,), "VALID", (span,)], {}

    @t("lax.conv_general_shape_tuple lax.conv_transpose_shape_tuple")
    def _():
        return [(g.int(1, 2), g.int(3, 9), 3), (g.int(1, 3), 3, 5), (g.int(1, 3),), padding(1), ("NHC", "HIO", "NHC")], {}

    @t("lax.padtype_to_pads")
    def _():
        d = g.int(1, 3)
        return [*([g.int(1, top) for _ in range(d)] for top in (9, 4, 3)), g.of("SAME", "VALID", "SAME_LOWER")], {}

    # --- windows
    def windows(x):
        n = x.ndim
        return [tuple(g.int(1, 3) for _ in range(n))], g.opts(window_strides=lambda: dilation(n), padding=lambda: padding(n, 0),
                                                             base_dilation=lambda: dilation(n), window_dilation=lambda: dilation(n))

    @t("lax.reduce_window " * 3)
    def _():
        x = g.arr(shape=g.of((5,), (9,), (3, 4), (4, 4), (2, 3, 4), (), (0, 3), (1,)))
        f, start = g.of(("add", 0), ("add", 1), ("max", -np.inf), ("max", 0), ("min", np.inf), ("min", 0), ("mul", 1), ("mul", 2),
                        ("bitwise_or", 0), ("bitwise_and", 1))
        n = str(x.dtype)
        with np.errstate(all="ignore"):
            limit = np.iinfo(n) if n in INTS else None
            start = (limit.min if start == -np.inf else limit.max if start == np.inf else start) if limit else start
            start = np.asarray(bool(start > 0) if n == "bool" else start).astype(x.dtype)
        (w,), k = windows(x)
        return [x, start if n in COMPLEX or g.flag(0.8) else start.item(), F("lax." + f), w], k

    @t("lax.reduce_window")
    def _():
        x = g.arr(FLOATS + ["int32"], g.of((5,), (9,), (3, 4), (2, 3, 4)))
        (w,), k = windows(x)
        return [x, np.zeros((), x.dtype), F("both"), w], k

    @t("lax.reduce_window_shape_tuple")
    def _():
        return [(g.int(1, 9), g.int(0, 5)), (g.int(1, 3), g.int(1, 3)), (g.int(1, 3), g.int(1, 3)), [(0, 1), (1, 1)]], g.opts(
            base_dilation=lambda: (2, 1), window_dilation=lambda: (2, 2))

    # --- ragged products
    def sizes(groups, m):
        ends = np.sort(g.g.integers(0, m + 1 if g.flag(0.9) else m + 3, groups))
        return np.diff(ends, prepend=0).astype(g.of("int32", "int32", "int64", "uint8"))

    @t("lax.ragged_dot")
    def _():
        m, k, n, groups = g.int(0, 6), g.int(0, 4), g.int(0, 3), g.int(1, 4)
        dt = g.dt(NUMBERS)
        return [g.arr(dt, (m, k)), g.arr(dt if g.flag(0.9) else g.dt(NUMBERS), (groups, k, n)), sizes(groups, m)], g.opts(
            preferred_element_type=lambda: D(g.of("float32", "float64")))

    @t("lax.ragged_dot_general")
    def _():
        m, k, n, groups, dt = g.int(1, 6), g.int(1, 4), g.int(1, 3), g.int(1, 4), g.of("float32", "float64", "bfloat16")
        kind = g.of("rows", "contracted", "batch")
        numbers = lambda dots, ragged, along: NT(("RaggedDotDimensionNumbers", dict(
            dot_dimension_numbers=dots, lhs_ragged_dimensions=[ragged], rhs_group_dimensions=along)))
        if kind == "rows":
            return [g.arr(dt, (m, k)), g.arr(dt, (groups, k, n)), sizes(groups, m), numbers((([1], [1]), ([], [])), 0, [0])], {}
        if kind == "contracted":
            return [g.arr(dt, (m, k)), g.arr(dt, (k, n)), sizes(groups, k), numbers((([1], [0]), ([], [])), 1, [])], {}
        return [g.arr(dt, (m, 2, k)), g.arr(dt, (m, k, n)), sizes(groups, m), numbers((([2], [1]), ([0], [0])), 0, [])], {}

    # --- bits
    @t("lax.bitcast_convert_type " * 2)
    def _():
        return [g.arr(shape=g.of((), (3,), (2, 4), (2, 2), (1, 8), (0, 4))), D(g.dt(ALL))], {}

    @t("lax.population_count lax.clz")
    def _():
        return [g.arr(INTS, mode="special")], {}

    @t("lax.nextafter")
    def _():
        dt, s = g.dt(FLOATS), g.shape()
        return [g.arr(dt, s, g.of("special", "sub", "small")), g.arr(dt if g.flag(0.9) else g.dt(), s, "special")], {}

    @t("lax.reduce_precision")
    def _():
        dt = g.dt(FLOATS) if g.flag(0.9) else g.of("int32", "complex64")
        x = g.arr(dt, g.of((17,), (67,)), g.of("special", "sub", "small") if dt in FLOATS else "small")
        return [x, g.of(5, 8, 4, 2, 11, 1, 0), g.of(10, 7, 3, 0, 1, 52, 23, -1)], {}

    @t("lax.shift_left lax.shift_right_arithmetic lax.shift_right_logical lax.mulhi")
    def _():
        dt, s = g.dt(INTS), g.of((17,), (67,), ())
        return [g.arr(dt, s, "special"), g.arr(dt, s, g.of("special", "small"))], {}

    # --- floats of 8 bits
    def eight(shape=(67,)):
        dt = np.dtype(g.of("float8_e4m3fn", "float8_e5m2", *EIGHT_BITS))
        return g.g.integers(0, 256, shape).astype("uint8").view(dt) if g.flag() else g.numbers("near", "float64", shape).astype(dt)

    @t("np.astype lax.convert_element_type lax.bitcast_convert_type")
    def _():
        if g.flag():
            return [eight(), D(g.dt(["float32", "float16", "bfloat16", "float64", "int32", "int8", "uint8", "bool", *EIGHT_BITS]))], {}
        return [g.arr(["float32", "float16", "bfloat16", "float64", "int32", "uint8"], (67,)), D(g.of(*EIGHT_BITS))], {}

    @t("np.add np.multiply np.maximum np.divide np.subtract np.less np.equal")
    def _():
        x = eight()
        return [x, g.of(x[::-1].copy(), 2.0, 3, g.arr(["float32", "bfloat16", "float16", "int8"], (67,)))], {}

    @t("np.sum np.max np.exp np.abs np.negative np.sqrt np.isnan np.sort np.where")
    def _():
        return [eight()], {}

    @t("np.matmul")
    def _():
        x = eight((3, 4))
        return [x, x.T.copy()], g.opts(preferred_element_type=lambda: D("float32"))

    @t("lax.dot_general")
    def _():
        return [eight((3, 4)), eight((4, 2)), (((1,), (0,)), ((), ()))], {"preferred_element_type": D(g.of("float32", "bfloat16"))}
