"""What jax.lax is strict about, loops between floats, results that branches and loops pass on, products of groups."""

import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp
from tenon import lax, test_util

F32 = tnp.float32(1.5)


@pytest.mark.parametrize("op, operands", [
    (lax.add, (0, 0.0)), (lax.mul, (F32, 1)), (lax.eq, (1, 1.0)), (lax.max, (tnp.arange(3), 1.0)), (lax.add, (True, 1)),
    (lax.clamp, (0, F32, 1)), (lax.sub, (F32, 1j)), (lax.atan2, (F32, 1)), (lax.div, (F32, tnp.float64(1)))])
def test_operands_of_one_dtype(op, operands):
    with pytest.raises(TypeError, match="requires arguments to have the same dtypes, got"):
        op(*operands)


def test_choices_have_one_dtype():
    for choose in (lambda x, y: lax.select(True, x, y), lambda x, y: lax.select_n(1, x, y)):
        with pytest.raises(TypeError, match="same dtypes"):
            choose(1, 2.0)
        assert choose(F32, 2.0).dtype == np.float32


@pytest.mark.parametrize("op", [lax.lt, lax.le, lax.gt, lax.ge, lax.rem])
def test_no_order_of_complex_numbers(op):
    with pytest.raises(TypeError, match="does not accept dtype complex"):
        op(2 + 3j, 4 + 5j)


def test_numbers_take_the_dtype_of_arrays_of_their_kind():
    assert lax.add(F32, 1.0).dtype == np.float32 and lax.add(tnp.int8(1), 1).dtype == np.int8
    assert lax.pow(F32, 2) == 2.25 and lax.pow(F32, tnp.int32(2)).dtype == np.float32


def test_results_of_numbers_are_weakly_typed():
    made = [lax.exp2(2.0), lax.conj(1.0), lax.imag(1j), lax.real(1j), lax.round(1.5), lax.clz(1), lax.population_count(1),
            lax.max(1, 2), lax.shift_left(1, 2), lax.complex(1.0, 2.0), lax.mul(2.0, 3.0)]
    assert all(x.weak_type for x in made)
    assert not any(x.weak_type for x in (lax.exp2(F32), lax.max(F32, 1.0), lax.imag(tnp.ones(2, complex)), lax.lt(1, 2)))
    assert tn.jit(lambda x: lax.max(x, 1.0))(2.0).weak_type


def test_out_dtype_and_accuracy():
    made = lax.mul(tnp.int8(100), tnp.int8(100), out_dtype="float32")
    assert made == 10000 and made.dtype == np.float32
    for name in "exp exp2 expm1 log log1p sin cos tan tanh logistic sqrt rsqrt cbrt".split():
        op = getattr(lax, name)
        assert op(0.5, accuracy="highest") == op(0.5) and op.__name__ == name


def test_indices_of_one_dtype():
    x = tnp.arange(12.0).reshape(3, 4)
    for call in (lambda at: lax.dynamic_slice(x, at, (2, 2)), lambda at: lax.dynamic_update_slice(x, x[:2, :2], at)):
        for at in ((np.int32(1), np.int16(2)), (1.0, 2)):
            with pytest.raises(TypeError, match="integers of one dtype"):
                call(at)
    assert lax.dynamic_slice(x, (np.int8(1), 2), (2, 2)).tolist() == [[6, 7], [10, 11]]


@pytest.mark.parametrize("op", [lax.argmax, lax.argmin])
def test_where_the_largest_is(op):
    x = tnp.array([[3.0, 1.0, 3.0]])
    assert op(x, 1, np.int8).dtype == np.int8
    with pytest.raises(ValueError, match="Invalid axis -1"):
        op(x, -1, np.int32)
    with pytest.raises(TypeError, match="index_dtype must be an integer type"):
        op(x, 0, np.float32)


def test_kinds_of_errors():
    with pytest.raises(ValueError, match="axis 1 is out of bounds"):
        lax.split(tnp.arange(5), (), 1)
    with pytest.raises(ValueError, match="each initial value is one number"):
        lax.reduce(tnp.ones(5), tnp.ones(5), lax.add, (0,))
    with pytest.raises(TypeError, match="sizes are not negative"):
        lax.broadcast_shapes((1, -1), (2, 2))
    with pytest.raises(TypeError, match="is no array"):
        lax.stop_gradient(lambda x: x)
    assert all(type(n) is int for pair in lax.padtype_to_pads(np.array([7]), (3,), np.array([2]), "SAME") for n in pair)


def test_inserted_axes_are_in_order():
    numbers = lax.ScatterDimensionNumbers((), inserted_window_dims=(1, 0), scatter_dims_to_operand_dims=(0, 1))
    with pytest.raises(TypeError, match="ascending order"):
        lax.scatter_add(tnp.zeros((3, 3)), tnp.array([[0, 0]]), tnp.ones(1), numbers)


def test_values_beside_jax():
    x = tnp.arange(16).reshape(4, 4)
    assert lax.index_take(x, (tnp.array([-2, -1, 2]), tnp.array([-5, 4, -1])), (0, 1)).tolist() == [11, 12, 11]  # modulo the sizes
    assert lax.select(tnp.array([1, -1, 0]), tnp.array([1, 2, 3]), tnp.array([4, 5, 6])).tolist() == [1, 5, 6]   # by select_n
    assert lax.reduce_and(tnp.array([5, 4], tnp.uint64), ()).tolist() == [5, 4]
    assert lax.conj(np.nan).imag == 0
    for dtype in ("bfloat16", "float32"):
        assert tnp.isnan(lax.rem(tnp.array([1.0, np.inf], dtype), tnp.array([0.0, 2.0], dtype))).all()
    assert lax.rem(5, 0) == 5
    for op in (lax.shift_left, lax.shift_right_logical, lax.shift_right_arithmetic):
        with pytest.raises(TypeError, match="does not accept dtype float"):
            op(tnp.ones(2), tnp.ones(2))
    for op in (lax.approx_max_k, lax.approx_min_k):
        with pytest.raises(TypeError, match="a number has no axis"):
            op(tnp.array(1.0), 1)
    with pytest.raises(IndexError, match="out of bounds"):
        lax.index_in_dim(tnp.zeros(1), 1)


def test_loops_between_floats():
    assert lax.fori_loop(0.5, 3.0, lambda i, c: c + i, 0.0) == 4.5
    slope = tn.grad(lambda x: lax.fori_loop(x, x + 2.0, lambda i, c: c * x, x))
    assert np.allclose(slope(1.5), 3 * 1.5 ** 2) and np.allclose(tn.jit(slope)(1.5), 3 * 1.5 ** 2)
    assert tn.vmap(lambda x: lax.fori_loop(x, 4.0, lambda i, c: c + i, x))(tnp.arange(3.0)).tolist() == [6, 7, 7]


def test_bounds_of_loops():
    def count(lower, upper, **options):
        return lax.fori_loop(lower, upper, lambda i, c: c + 1, 0, **options)

    for bounds in ((0, 3.0), (np.int16(0), tnp.int32(3))):
        with pytest.raises(TypeError, match="must have equal types"):
            count(*bounds)
    with pytest.raises(TypeError, match="between integers"):
        count(0.0, 3.0, checkpoint=tn.lax.every(2))
    for unroll in (0, 3, 7, True, False, None):
        assert count(0, 5, unroll=unroll) == 5
    with pytest.raises(ValueError, match="not negative"):
        count(0, 5, unroll=-1)
    with pytest.raises(ValueError, match="Can only use `unroll`"):
        tn.jit(lambda n: count(0, n, unroll=3))(5)
    assert tn.jit(lambda n: count(0, n, unroll=False))(5) == 5
    with pytest.raises(ValueError, match="not negative"):
        lax.scan(lambda c, x: (c, x), 0, tnp.arange(3), unroll=-1)


def test_what_is_passed_on_is_the_same_in_every_lane():
    x, y = tnp.arange(3.0), tnp.array(7.0)

    def branch(x, y):
        return lax.cond(x < 2, lambda x, y: (x * 2, y), lambda x, y: (x * 3, y), x, y)

    first, second = tn.vmap(branch, (0, None), (0, None))(x, y)
    assert first.tolist() == [0, 2, 6] and second == 7

    def captured(x, y):
        return lax.cond(x < 2, lambda: y, lambda: y)

    assert tn.vmap(captured, (0, None), None)(x, tnp.arange(2.0)).tolist() == [0, 1]
    assert tn.jit(tn.vmap(captured, (0, None), None))(x, y) == 7

    def nested(x, y):
        def loop(_, y):
            return lax.scan(lambda y, _: (y, None), y, None, length=1)[0]

        return lax.cond(x < 0, loop, loop, x, y)

    assert tn.vmap(nested, (0, None), None)(x, y) == 7

    def counted(x, y):
        return lax.while_loop(lambda s: s[0] < 5, lambda s: (s[0] + 1, s[1]), (x, y))[1]

    assert tn.vmap(counted, (0, None), None)(x, y) == 7
    assert tn.jit(tn.grad(counted, 1))(1.0, y) == 1 and tn.grad(captured, 1)(1.0, y) == 1
    with pytest.raises(ValueError, match="differs from lane to lane"):
        tn.vmap(lambda x, y: lax.cond(x < 2, lambda: y, lambda: 2 * y), (0, None), None)(x, y)


def test_products_of_groups():
    draw = np.random.default_rng(0)
    lhs, rhs = draw.normal(size=(7, 5)), draw.normal(size=(3, 5, 4))
    sizes = np.array([2, 0, 4])
    expected = np.concatenate([lhs[:2] @ rhs[0], lhs[2:6] @ rhs[2], np.zeros((1, 4))])
    for call in (lax.ragged_dot, tn.jit(lax.ragged_dot)):
        assert np.allclose(call(lhs, rhs, sizes), expected)
    assert np.allclose(tn.vmap(lax.ragged_dot)(lhs[None], rhs[None], sizes[None])[0], expected)
    slopes = tn.grad(lambda a, b: tnp.sum(lax.ragged_dot(a, b, sizes)), (0, 1))(lhs, rhs)
    assert np.allclose(slopes[0][2:6], rhs[2].sum(1)) and not slopes[0][6:].any() and not slopes[1][1].any()
    assert lax.ragged_dot(lhs, rhs, sizes, preferred_element_type="float32").dtype == np.float32


def test_groups_of_what_is_contracted_and_of_batches():
    draw = np.random.default_rng(1)
    lhs, rhs, sizes = draw.normal(size=(2, 3, 6)), draw.normal(size=(2, 6, 4)), np.array([[1, 5], [2, 3]])
    numbers = lax.RaggedDotDimensionNumbers((([2], [1]), ([0], [0])), [2], [])
    made = lax.ragged_dot_general(lhs, rhs, sizes, numbers)
    for i in range(2):
        ends = [0, *np.cumsum(sizes[i])]
        for g in range(2):
            part = slice(ends[g], ends[g + 1])
            assert np.allclose(made[g, i], lhs[i][:, part] @ rhs[i][part])
    of_batch = lax.RaggedDotDimensionNumbers((([2], [1]), ([0], [0])), [0], [])
    assert np.allclose(lax.ragged_dot_general(lhs, rhs, np.array([1, 1]), of_batch), lhs @ rhs)
    ahead = lax.RaggedDotDimensionNumbers((([2], [1]), ([], [])), [1], [0])   # groups that differ along axis 0
    made = lax.ragged_dot_general(lhs, rhs, np.array([[1, 2], [3, 0]]), ahead)
    assert np.allclose(made[0], [lhs[0, 0] @ rhs[0], lhs[0, 1] @ rhs[1], lhs[0, 2] @ rhs[1]])
    assert np.allclose(made[1], lhs[1] @ rhs[0])


@pytest.mark.parametrize("contract, batch, ragged, groups, sizes, text", [
    (([1], [1]), ([], []), [0, 1], [0], (3,), "exactly one lhs ragged dimension"),
    (([1], [1]), ([], []), [2], [0], (3,), "ragged axis 2 of lhs"),
    (([1], [1]), ([], []), [0], [1], (3,), "neither contracted nor of the batch"),
    (([1], [1]), ([], []), [1], [0], (3,), "the ragged axis 1 is contracted"),
    (([1], [1]), ([], []), [0], [], (3,), "rhs has no axis of groups"),
    (([1], [1]), ([], []), [0], [0], (2,), r"group sizes \[2\], and not \[3\]"),
    (([1], [0]), ([], []), [0], [2], (7,), "f32|f64"),
    (([1], [1]), ([], []), [0], [0], (2, 3), r"group sizes \[2,3\], and not \[3\]")])
def test_groups_that_do_not_fit(contract, batch, ragged, groups, sizes, text):
    with pytest.raises((TypeError, ValueError), match=text):
        lax.ragged_dot_general(tnp.ones((11, 5)), tnp.ones((3, 5, 7)), tnp.ones(sizes, int),
                               lax.RaggedDotDimensionNumbers((contract, batch), ragged, groups))


@pytest.mark.parametrize("rows, sizes", [(100, [30, 0, 50, 7]), (64, [64, 0]), (97, [0, 0, 0]), (300, [1] * 40), (50, [20, 40, 30]),
                                         (16, [3, 4, 5, 6]), (129, [128, 1]), (40, [40, 1, 2])])
def test_products_of_many_rows_in_groups(rows, sizes):
    draw = np.random.default_rng(rows)
    lhs, rhs, other = draw.normal(size=(rows, 6)), draw.normal(size=(len(sizes), 6, 5)), draw.normal(size=(rows, 5))
    of_row = np.repeat(np.arange(len(sizes)), sizes)[:rows]
    there = np.arange(rows) < len(of_row)
    of_row = np.pad(of_row, (0, rows - len(of_row)))
    rowwise = lambda a, b: tnp.where(there[:, None], tnp.einsum("mk,mkn->mn", a, b[of_row]), 0)  # noqa: E731
    sums = np.stack([sum((np.outer(lhs[i], other[i]) for i in np.flatnonzero(there & (of_row == g))), np.zeros((6, 5)))
                     for g in range(len(sizes))])
    f = lambda a, b: lax.ragged_dot(a, b, np.array(sizes))  # noqa: E731
    for call in (f, tn.jit(f)):
        assert np.allclose(call(lhs, rhs), rowwise(lhs, rhs))
    numbers = lax.RaggedDotDimensionNumbers((([0], [0]), ([], [])), [0], [])
    g = lambda a, b: lax.ragged_dot_general(a, b, np.array(sizes, "uint8"), numbers)  # noqa: E731
    for call in (g, tn.jit(g)):
        assert np.allclose(call(lhs, other), sums)
    for ours, theirs, args in ((f, rowwise, (lhs, rhs)), (g, None, (lhs, other))):
        loss = tn.jit(lambda *x, h=ours: tnp.sum(tnp.sin(h(*x))))
        slopes = tn.jit(tn.grad(loss, (0, 1)))(*args)
        if theirs is not None:
            for got, wanted in zip(slopes, tn.grad(lambda *x, h=theirs: tnp.sum(tnp.sin(h(*x))), (0, 1))(*args)):
                assert np.allclose(got, wanted)
        tangents = tuple(draw.normal(size=x.shape) for x in args)
        assert np.isclose(tn.jvp(loss, args, tangents)[1], sum((s * t).sum() for s, t in zip(slopes, tangents)))
        test_util.check_grads(loss, args, 2, eps=1e-5, rtol=1e-3, atol=1e-3)
        lanes = tuple(np.stack([x, -x, x[::-1]]) for x in args)
        for lane, got in enumerate(tn.vmap(ours)(*lanes)):
            assert np.allclose(got, ours(*(x[lane] for x in lanes)))


def test_rows_of_other_groups_are_no_part_of_a_sum():
    lhs, rhs = np.ones((64, 3)), np.ones((2, 3, 2))
    lhs[40:] = np.nan
    slope = tn.grad(lambda b: tnp.sum(lax.ragged_dot(lhs, b, np.array([40, 24]))[:40]))(rhs)
    assert (slope[0] == 40).all()
    # More axes than rows and columns, beside and in front of the ragged one.
    draw = np.random.default_rng(0)
    lhs, rhs, sizes = draw.normal(size=(2, 48, 3, 4)), draw.normal(size=(3, 3, 2, 5)), np.array([10, 30, 8])
    numbers = lax.RaggedDotDimensionNumbers((([3], [1]), ([], [])), [1], [0])
    with pytest.raises((TypeError, ValueError)):
        lax.ragged_dot_general(lhs, rhs, sizes, numbers)
    rhs = draw.normal(size=(3, 4, 2, 5))
    made = lax.ragged_dot_general(lhs, rhs, sizes, numbers)
    for g, part in enumerate((slice(0, 10), slice(10, 40), slice(40, 48))):
        assert np.allclose(made[:, part], np.einsum("amlk,kxy->amlxy", lhs[:, part], rhs[g]))


def test_slope_of_hypot_at_0():
    assert tn.grad(tnp.hypot, (0, 1))(0.0, 0.0) == (0.5, 0.5)
    assert np.isnan(tnp.hypot(0.0, np.nan)) and tnp.hypot(np.inf, np.nan) == np.inf
