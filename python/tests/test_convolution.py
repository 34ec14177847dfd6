"""Convolutions: beside sums as they are written, in every layout, stride, padding, dilation and grouping; derivatives, batches,
dtypes, errors; the transposed ones as gradients; windows."""

import itertools

import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp
from tenon import lax
from test_linalg import near


def normal(*shape, seed=0, dtype="float64"):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def plain(x, w, strides, pads, spread, dilation, groups=1, batch_groups=1):
    """Of x [n, c, places…] and w [o, c, window…], place by place."""
    axes = x.ndim - 2
    n, c = x.shape[:2]
    sizes = [(s - 1) * d + 1 + low + high for s, d, (low, high) in zip(x.shape[2:], spread, pads)]
    inside = np.zeros((n, c, *(max(s, 0) for s in sizes)), x.dtype)
    for at in np.ndindex(*x.shape[2:]):
        to = tuple(i * d + low for i, d, (low, _) in zip(at, spread, pads))
        if all(0 <= i < s for i, s in zip(to, sizes)):
            inside[(slice(None), slice(None), *to)] = x[(slice(None), slice(None), *at)]
    outputs = [max((s - (k - 1) * d - 1) // step + 1, 0) for s, k, d, step in zip(sizes, w.shape[2:], dilation, strides)]
    o = w.shape[0]
    made = np.zeros((n // batch_groups, o, *outputs), x.dtype)
    for feature in range(o):
        group, part = feature // (o // groups), feature // (o // batch_groups)
        images = inside[part * (n // batch_groups): (part + 1) * (n // batch_groups)]
        channels = images[:, group * (c // groups): (group + 1) * (c // groups)]
        for at in np.ndindex(*outputs):
            window = tuple(slice(i * s, i * s + (k - 1) * d + 1, d) for i, s, k, d in zip(at, strides, w.shape[2:], dilation))
            products = channels[(slice(None), slice(None), *window)] * w[feature]
            made[(slice(None), feature, *at)] = products.sum(tuple(range(1, x.ndim)), dtype=x.dtype)
    return made


CASES = [  # x, w, strides, pads, spread, dilation, groups, groups of the batch
    ((2, 3, 7), (4, 3, 3), (1,), [(1, 1)], (1,), (1,), 1, 1),
    ((2, 4, 5, 6), (6, 2, 2, 3), (2, 1), [(0, 1), (2, -1)], (1, 1), (2, 1), 2, 1),
    ((1, 2, 4, 5), (3, 2, 3, 2), (1, 1), [(1, 2), (0, 3)], (2, 3), (1, 2), 1, 1),
    ((1, 3, 6), (6, 1, 3), (2,), [(1, 0)], (1,), (1,), 3, 1),
    ((4, 2, 5), (6, 2, 2), (1,), [(0, 0)], (2,), (1,), 1, 2),
    ((2, 3), (4, 3), (), [], (), (), 1, 1),
    ((1, 2, 3, 4, 3), (2, 2, 2, 2, 2), (1, 2, 1), [(0, 0)] * 3, (1, 1, 1), (1, 1, 1), 1, 1),
    ((1, 2, 2), (2, 2, 3), (1,), [(0, 0)], (1,), (1,), 1, 1),
    ((0, 2, 5), (3, 2, 2), (1,), [(0, 0)], (1,), (1,), 1, 1),
]


@pytest.mark.parametrize("case", CASES)
def test_values(case):
    x, w = normal(*case[0]), normal(*case[1], seed=1)
    wanted = plain(x, w, *case[2:])

    def f(x, w):
        return lax.conv_general_dilated(x, w, *case[2:6], None, *case[6:])

    near(f(x, w), wanted), near(tn.jit(f)(x, w), wanted)
    near(tn.jit(f)(x.astype("float32"), w.astype("float32")), wanted.astype("float32"))
    z = x + 1j * normal(*case[0], seed=2)
    near(f(z, w + 0j), plain(z, w + 0j, *case[2:]))
    i, j = (x * 9).astype("int8"), (w * 9).astype("int8")
    near(f(i, j), plain(i, j, *case[2:]))
    assert f(x.astype("float16"), w.astype("float16")).dtype == np.float16


@pytest.mark.parametrize("case", CASES)
def test_derivatives_and_batches(case):
    x, w = normal(*case[0]), normal(*case[1], seed=1)

    def f(x, w):
        return lax.conv_general_dilated(x, w, *case[2:6], None, *case[6:])

    y = f(x, w)
    ct, dx, dw = normal(*y.shape, seed=3), normal(*x.shape, seed=4), normal(*w.shape, seed=5)
    to_x, to_w = tn.jit(lambda x, w: tn.vjp(f, x, w)[1](ct))(x, w)
    near(tnp.vdot(to_x, dx), np.vdot(ct, plain(dx, w, *case[2:])), 10)
    near(tnp.vdot(to_w, dw), np.vdot(ct, plain(x, dw, *case[2:])), 10)
    slope = tn.jvp(f, (x, w), (dx, dw))[1]
    near(slope, plain(dx, w, *case[2:]) + plain(x, dw, *case[2:]), 10)
    lanes_x, lanes_w = np.stack([x, x + 1, 2 * x]), np.stack([w, -w, w + 1])
    for axes in ((0, 0), (0, None), (None, 0)):
        rows = [tuple(a[i] if axis == 0 else b for a, b, axis in zip((lanes_x, lanes_w), (x, w), axes)) for i in range(3)]
        given = tuple(a if axis == 0 else b for a, b, axis in zip((lanes_x, lanes_w), (x, w), axes))
        near(tn.vmap(f, axes)(*given), np.stack([plain(*row, *case[2:]) for row in rows]), 10)
        for wrt in (0, 1):
            def g(x, w):
                return tn.grad(lambda x, w: tnp.sum(f(x, w) * ct), wrt)(x, w)
            near(tn.vmap(g, axes)(*given), np.stack([g(*row) for row in rows]), 10)


def test_layouts():
    x, w = normal(2, 3, 5, 6), normal(4, 3, 2, 3, seed=1)
    wanted = np.asarray(lax.conv(x, w, (2, 1), "SAME"))
    letters = {"x": "NCHW", "w": "OIHW", "y": "NCHW"}
    for a, b, c in itertools.product(["NHWC", "CWHN", "HNCW"], ["HWIO", "WOIH"], ["NHWC", "WHCN"]):
        moved = [np.transpose(array, [letters[name].index(letter) for letter in spec])
                 for name, array, spec in (("x", x, a), ("w", w, b), ("y", wanted, c))]
        strides = [{"H": 2, "W": 1}[letter] for letter in b if letter in "HW"]
        near(lax.conv_general_dilated(moved[0], moved[1], strides, "SAME", dimension_numbers=(a, b, c)), moved[2])
    with pytest.raises(ValueError, match="duplicate characters"):
        lax.conv_general_permutations(("NHHC", "HWIO", "NHWC"))
    with pytest.raises(ValueError, match="same set of spatial characters"):
        lax.conv_general_permutations(("NHXC", "HWIO", "NHWC"))


@pytest.mark.parametrize("n", [4, 5, 7])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_padding_by_name(n, stride):
    x, w = normal(1, 1, n), normal(1, 1, 3, seed=1)
    total = max((-(-n // stride) - 1) * stride + 3 - n, 0)
    for name, before in (("SAME", total // 2), ("SAME_LOWER", total - total // 2)):
        near(lax.conv(x, w, (stride,), name), plain(x, w, (stride,), [(before, total - before)], (1,), (1,)))
    near(lax.conv(x, w, (stride,), "valid"), plain(x, w, (stride,), [(0, 0)], (1,), (1,)))


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_transposed(stride, padding):
    """With transpose_kernel it is the gradient of the convolution, whose input had as many places as this has outputs."""
    y, w = normal(2, 4, 3), normal(3, 5, 3, seed=1)
    made = lax.conv_transpose(y, w, (stride,), padding, transpose_kernel=True)
    n = 4 * stride if padding == "SAME" else (4 - 1) * stride + 3
    assert made.shape == (2, max(n, made.shape[1]), 5)

    def forward(x):
        return lax.conv_general_dilated(x, w, (stride,), padding, dimension_numbers=("NWC", "WIO", "NWC"))

    x = np.zeros(made.shape)
    if forward(x).shape == y.shape:
        near(made, tn.vjp(forward, x)[1](y)[0])
    near(lax.conv_transpose(y, np.swapaxes(w[::-1], 1, 2), (stride,), padding), made)


def test_windows():
    x = normal(2, 3, 5, 4)
    made = np.asarray(lax.conv_general_dilated_patches(x, (2, 3), (1, 1), "VALID"))
    assert made.shape == (2, 18, 4, 2)
    for i, j in np.ndindex(4, 2):
        near(made[:, :, i, j], x[:, :, i:i + 2, j:j + 3].reshape(2, 18))
    last = lax.conv_general_dilated_patches(np.moveaxis(x, 1, -1), (2, 3), (1, 1), "VALID", dimension_numbers=("NHWC", "OIHW", "NHWC"))
    near(last, np.moveaxis(made, 1, -1))


def test_one_compilation_for_all_sizes():
    f = tn.jit(lambda x, w: lax.conv(x, w, (2,), [(1, 1)]), sizes="symbolic")
    for n, c, o in ((5, 2, 3), (9, 4, 2)):
        x, w = normal(2, c, n), normal(o, c, 3, seed=1)
        near(f(x, w), plain(x, w, (2,), [(1, 1)], (1,), (1,)))


def test_errors():
    x, w = normal(1, 2, 5), normal(3, 2, 2)
    for call, message in [
        (lambda: lax.conv(x, w[:, :1], (1,), "VALID"), "has 2 channels, the weights .* take 1"),
        (lambda: lax.conv(x, w, (1, 1), "VALID"), "2 strides of 1 axes"),
        (lambda: lax.conv(x, w, (0,), "VALID"), "0 is among the strides"),
        (lambda: lax.conv(x, w, (1,), "FULL"), "padding is 'FULL'; it is one of 'VALID', 'SAME'"),
        (lambda: lax.conv(x, w, (1,), [(0, 0), (0, 0)]), "2 pairs of padding for 1 axes"),
        (lambda: lax.conv_general_dilated(x, w, (1,), "SAME", (2,)), "String padding"),
        (lambda: lax.conv_general_dilated(x, w, (1,), "VALID", feature_group_count=2), "channels"),
        (lambda: lax.conv_general_dilated(x, w, (1,), "VALID", batch_group_count=2), "groups of the batch"),
        (lambda: lax.conv_general_dilated(x, w[None], (1,), "VALID"), "ndim"),
        (lambda: lax.conv(x > 0, w > 0, (1,), "VALID"), "has no sums"),
    ]:
        with pytest.raises((ValueError, TypeError), match=message):
            call()


def test_shapes_and_other_spellings():
    x, w = normal(1, 2, 7), normal(3, 2, 2, seed=1)
    general = lax.conv_general_dilated(x, w, (2,), [(1, 0)], (2,), (3,))
    near(lax.conv_with_general_padding(x, w, (2,), [(1, 0)], (2,), (3,)), general)
    assert lax.conv_shape_tuple(x.shape, w.shape, (2,), "SAME") == lax.conv(x, w, (2,), "SAME").shape
    axes = lax.conv_dimension_numbers((1, 7, 2), (2, 2, 3), ("NWC", "WIO", "NWC"))
    assert axes == lax.ConvDimensionNumbers((0, 2, 1), (2, 1, 0), (0, 2, 1)) == lax.conv_dimension_numbers((1, 7, 2), (2, 2, 3), axes)
    assert lax.conv_general_shape_tuple((1, 7, 2), (2, 2, 3), (1,), "VALID", axes) == (1, 6, 3)
    assert lax.conv_transpose_shape_tuple((1, 7, 2), (2, 2, 3), (2,), "SAME", axes) == (1, 14, 3)


@pytest.mark.parametrize("axes", [None, ("NHWC", "HWIO", "NWHC")])
def test_weights_of_each_place(axes):
    x, w = normal(2, 3, 5, 6), normal(4, 3, 2, 3, seed=1)
    if axes:
        x, w = x.transpose(0, 2, 3, 1), w.transpose(2, 3, 1, 0)
    shared = np.asarray(lax.conv_general_dilated(x, w, (2, 1), [(1, 0), (0, 2)], None, (1, 2), axes))
    flat = w.transpose(2, 0, 1, 3).reshape(-1, 4) if axes else w.reshape(4, -1)
    sizes = (shared.shape[2], shared.shape[1]) if axes else shared.shape[2:]
    local = np.broadcast_to(flat, (*sizes, *flat.shape)) if axes else np.broadcast_to(flat[..., None, None], (*flat.shape, *sizes))

    def f(x, w):
        return lax.conv_general_dilated_local(x, w, (2, 1), [(1, 0), (0, 2)], (2, 3), None, (1, 2), axes)

    near(f(x, local), shared), near(tn.jit(f)(x, local), shared)
    assert f(x.astype("float16"), local.astype("float16")).dtype == np.float16
    direction, step = normal(*local.shape, seed=5), 1e-6
    slope = tn.grad(lambda w: tnp.sum(tnp.sin(f(x, w))))(local)
    change = (np.sin(f(x, local + step * direction)).sum() - np.sin(f(x, local - step * direction)).sum()) / (2 * step)
    assert np.isclose((np.asarray(slope) * direction).sum(), change, 1e-6)
    near(tn.vmap(f, (None, 0))(x, np.stack([local, 2 * local])), np.stack([shared, 2 * shared]))
    with pytest.raises(ValueError, match="conv_general_dilated_local"):
        f(x, local[:, :, :5] if axes else local[:, :5])
