"""tn.ds(start, size): windows of axes whose start a trace does not know, read, written, beside other indices, in lanes and
with derivatives."""

import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp

X = np.arange(10.0)


def read(x, index):
    """At once, and with a start that is traced."""
    start, size, *step = index
    at_once = x[tn.ds(start, size, *step)]
    assert tn.jit(lambda x, i: x[tn.ds(i, size, *step)])(x, start).tolist() == at_once.tolist()
    return at_once.tolist()


def test_elements_that_are_read_lie_inside():
    x = tnp.asarray(X)
    assert read(x, (1, 2)) == [1, 2] and read(x, (1, 3, 2)) == [1, 3, 5] and read(x, (4, 0)) == []
    assert read(x, (9, 2)) == [8, 9] and read(x, (-1, 2)) == [8, 9] and read(x, (-4, 3)) == [6, 7, 8]


def test_what_is_written_outside_is_left_out():
    x = tnp.asarray(X)
    for start, size, step, wanted in ((2, 3, 1, [2, 3, 4]), (1, 2, 3, [1, 4]), (8, 4, 1, []), (7, 3, 1, [7, 8, 9])):
        plain = X.copy()
        plain[wanted] = -1
        for made in (x.at[tn.ds(start, size, step)].set(-1), tn.jit(lambda x, i: x.at[tn.ds(i, size, step)].set(-1))(x, start)):
            assert made.tolist() == plain.tolist()
    assert tn.jit(lambda x, i: x.at[tn.ds(i, 2)].add(x[:2]))(x, 3)[3:6].tolist() == [3, 5, 5]


def test_beside_other_indices():
    x, n = X.reshape(2, 5), tnp.asarray(X.reshape(2, 5))
    for other in (lambda w: (slice(None), w), lambda w: (Ellipsis, w), lambda w: (None, 1, w), lambda w: (np.array([1, 0, 1]), w),
                  lambda w: (slice(None, None, -1), w), lambda w: (w[:0] if isinstance(w, np.ndarray) else slice(0, 0), w)):
        wanted = x[other(slice(1, 3))]
        assert np.array_equal(tn.jit(lambda n, i: n[other(tn.ds(i, 2))])(n, 1), wanted)
        plain = x.copy()
        plain[other(slice(1, 3))] = 7
        assert np.array_equal(tn.jit(lambda n, i: n.at[other(tn.ds(i, 2))].set(7))(n, 1), plain)


def test_derivatives_lanes_and_references():
    x = tnp.asarray(X)
    slope = tn.jit(tn.grad(lambda x, i: tnp.sum(x[tn.ds(i, 3)] ** 2)))(x, 2)
    assert slope.tolist() == [0, 0, 4, 6, 8, 0, 0, 0, 0, 0]
    assert tn.vmap(lambda i: x[tn.ds(i, 2)])(tnp.arange(3)).tolist() == [[0, 1], [1, 2], [2, 3]]
    slope = tn.grad(lambda y, i: tnp.sum(x.at[tn.ds(i, 2)].set(y) ** 2))(tnp.array([3.0, 4.0]), 4)
    assert slope.tolist() == [6, 8]

    def written(i):
        r = tn.new_ref(x)
        r[tn.ds(i, 2)] = -1.0
        return r[tn.ds(i, 3)]

    assert tn.jit(written)(1).tolist() == [-1, -1, 3]


def test_what_is_made():
    assert tn.ds(5) == tn.ds(0, 5) == tn.ds(None, 5, 1) and tn.ds(None) == slice(None) and tn.ds(None, stride=2) == slice(None, None, 2)
    assert tn.jit(lambda s: X[s.start:s.start + 2] if isinstance(s.start, int) else tnp.asarray(X)[s])(tn.ds(3, 2)).tolist() == [3, 4]
    x = tnp.asarray(X)
    for bad, kind in ((lambda: x[tn.ds(0, 20)], IndexError), (lambda: x[tn.ds(0.5, 2)], TypeError), (lambda: x[tn.ds(0, 2), 0], IndexError),
                      (lambda: x[tn.ds(np.arange(2), 2)], IndexError), (lambda: x[tn.ds(0, 2 ** 40)], IndexError),
                      (lambda: x[tn.ds(0, 2, 2 ** 62)], IndexError), (lambda: tn.ds(0, -1), ValueError), (lambda: tn.ds(0, 1, 0), ValueError)):
        with pytest.raises(kind):
            bad()
