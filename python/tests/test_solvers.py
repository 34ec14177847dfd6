"""Iterations over functions: linear systems beside numpy's solutions, minima and differential equations beside closed forms,
SciPy and JAX (tests/peers holds drawn cases); derivatives, batches, trees, dtypes, and what is wrong."""

import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp
from tenon.experimental.ode import odeint, odeint_end
from tenon.scipy.optimize import minimize
from tenon.scipy.sparse import linalg
from test_linalg import near

RNG = np.random.default_rng(0)


def system(name, n, dtype):
    """A matrix that the method takes, and a right side."""
    rng = np.random.default_rng(n)
    a = rng.normal(size=(n, n)) + (1j * rng.normal(size=(n, n)) if np.dtype(dtype).kind == "c" else 0)
    b = rng.normal(size=n) + (1j * rng.normal(size=n) if np.dtype(dtype).kind == "c" else 0)
    a = a @ a.conj().T + n * np.eye(n) if name == "cg" else a + 3 * n ** 0.5 * np.eye(n)
    return a.astype(dtype), b.astype(dtype)


METHODS = [("cg", {}), ("bicgstab", {}), ("gmres", {}), ("gmres", {"solve_method": "incremental"}), ("gmres", {"restart": 3})]


@pytest.mark.parametrize("name, more", METHODS)
def test_systems(name, more):
    solve = getattr(linalg, name)
    for n, dtype in ((1, "float32"), (2, "float64"), (7, "complex64"), (20, "complex128"))[2 * bool(more):]:
        a, b = system(name, n, dtype)
        tight = 1e-5 if dtype in ("float32", "complex64") else 1e-11
        wanted = np.linalg.solve(a.astype("complex128"), b)
        for x in (solve(a, b, tol=tight, **more)[0], tn.jit(lambda a, b: solve(lambda v: a @ v, b, tol=tight, **more)[0])(a, b),  # noqa: B023
                  solve(a, b, b, tol=tight, M=lambda v: v / np.diag(a), **more)[0]):  # noqa: B023
            assert x.dtype == dtype and np.linalg.norm(np.asarray(x) - wanted) <= 50 * tight * np.linalg.norm(wanted)


@pytest.mark.parametrize("name, more", METHODS[:3])
def test_derivatives_of_systems(name, more):
    def both(solved):
        return lambda a, b: tnp.sum(tnp.sin(solved(a, b)))

    def ours(a, b):
        a = (a + a.T) / 2 if name == "cg" else a
        return getattr(linalg, name)(lambda v: a @ v, b, tol=1e-13, M=lambda v: v / tnp.diag(a), **more)[0]

    def direct(a, b):
        return tnp.linalg.solve((a + a.T) / 2 if name == "cg" else a, b)

    a, b = system(name, 5, "float64")
    for got, wanted in zip(tn.jit(tn.grad(both(ours), (0, 1)))(a, b), tn.grad(both(direct), (0, 1))(a, b)):
        near(got, wanted, 1e5)
    near(tn.jvp(both(ours), (a, b), (a, b))[1], tn.jvp(both(direct), (a, b), (a, b))[1], 1e5)
    batch = np.stack([a, a + np.eye(5), 2 * a]), np.stack([b, -b, b + 1])
    near(tn.vmap(tn.grad(both(ours)))(*batch), np.stack([tn.grad(both(direct))(*lane) for lane in zip(*batch)]), 1e5)
    if name != "gmres":
        near(tn.jit(tn.hessian(both(ours), 1))(a, b), tn.hessian(both(direct), 1)(a, b), 1e6)


def test_derivatives_of_complex_systems():
    for name in ("cg", "bicgstab", "gmres"):
        a, b = system(name, 4, "complex128")
        m = np.diag(1 / np.diag(a))

        def loss(b):
            return tnp.sum(tnp.abs(getattr(linalg, name)(a, b, tol=1e-13, M=m)[0]) ** 3)  # noqa: B023

        near(tn.grad(loss)(b), tn.grad(lambda b: tnp.sum(tnp.abs(tnp.linalg.solve(a, b)) ** 3))(b), 1e5)  # noqa: B023


def test_systems_of_trees():
    b = {"x": np.arange(6.0).reshape(2, 3), "y": (np.float32(2.0), np.ones(2, "float16"))}

    def a(v):
        return {"x": 2 * v["x"] + v["y"][0], "y": (9 * v["y"][0] + tnp.sum(v["x"]).astype("float32"), 4 * v["y"][1])}

    for solve in (linalg.bicgstab, linalg.gmres, linalg.cg):
        x, _ = solve(a, b, tol=1e-6)
        back = a(x)
        assert x["y"][1].dtype == np.float16
        assert all(np.allclose(got, want, atol=1e-2) for got, want in zip(tn.tree.leaves(back), tn.tree.leaves(b)))
    assert linalg.cg(lambda v: v, ()) == ((), None) and linalg.gmres(lambda v: v, ())[0] == ()
    assert linalg.cg(lambda v: 2 * v, np.zeros((0, 3)))[0].shape == (0, 3)
    x, _ = linalg.cg(lambda v: 2 * v, np.array([2, 4], "int32"))
    assert x.dtype == np.float32 and x.tolist() == [1, 2]


def test_where_systems_end():
    a, b = system("cg", 10, "float64")
    few = linalg.cg(a, b, tol=0.0, maxiter=2)[0]
    x = np.zeros(10)
    r = p = b  # two steps by hand
    for _ in range(2):
        along = r @ r / (p @ a @ p)
        x, before, r = x + along * p, r @ r, r - along * (a @ p)
        p = r + r @ r / before * p
    near(few, x, 100)
    assert linalg.cg(a, b, maxiter=0)[0].tolist() == [0] * 10
    loose = linalg.gmres(system("gmres", 30, "float64")[0], np.ones(30), tol=1e-2, restart=5, solve_method="incremental")[0]
    assert 1e-9 < np.linalg.norm(system("gmres", 30, "float64")[0] @ np.asarray(loose) - 1) <= 1e-2 * 30 ** 0.5
    assert np.linalg.norm(a @ np.asarray(linalg.cg(a, b, tol=0.0, atol=0.5)[0]) - b) <= 0.5
    singular = np.diag([1.0, 0.0, 2.0])
    assert np.isfinite(linalg.gmres(singular, np.array([1.0, 0.0, 2.0]))[0]).all()
    assert np.isfinite(linalg.bicgstab(np.array([[0.0, 1.0], [-1.0, 0.0]]), np.ones(2))[0]).all()  # breaks down
    assert linalg.gmres(singular, np.ones(3))[1] == 0 and linalg.cg(np.eye(2), np.zeros(2), np.ones(2))[0].tolist() == [0, 0]
    near(linalg.gmres(np.array([[0.0, 1.0], [-1.0, 0.0]]), np.ones(2))[0], np.array([-1.0, 1.0]), 100)
    for solve in (linalg.cg, linalg.bicgstab, linalg.gmres):
        assert np.isnan(solve(np.eye(2), np.array([np.nan, 1.0]))[0]).all() and np.isnan(solve(np.eye(2) * np.nan, np.ones(2))[0]).all()
    assert linalg.gmres(np.eye(2) * np.nan, np.ones(2))[1] == -1


def test_wrong_systems():
    b = np.ones(3)
    with pytest.raises(tn.ShapeError, match=r"cg: the matrix is f64\[3,2\], not square"):
        linalg.cg(np.ones((3, 2)), b)
    with pytest.raises(tn.ShapeError, match=r"gmres: the matrix is f64\[3,3\], and b is f64\[2\]"):
        linalg.gmres(np.eye(3), b[:2])
    with pytest.raises(TypeError, match="cg: A, a linear operator must be either a function or ndarray, not a object"):
        linalg.cg(object(), b)
    with pytest.raises(tn.ShapeError, match="bicgstab: `maxiter` is -1"):
        linalg.bicgstab(np.eye(3), b, maxiter=-1)
    with pytest.raises(TypeError, match="`maxiter` is an int, not 2.5"):
        linalg.cg(np.eye(3), b, maxiter=2.5)
    with pytest.raises(tn.ShapeError, match="gmres: `restart` is 0"):
        linalg.gmres(np.eye(3), b, restart=0)
    with pytest.raises(ValueError, match="`solve_method` is"):
        linalg.gmres(np.eye(3), b, solve_method="direct")
    with pytest.raises(tn.ShapeError, match=r"x0 is f64\[2\], and b has f64\[3\]"):
        linalg.cg(np.eye(3), b, b[:2])
    with pytest.raises(tn.TreeError, match="x0 and b"):
        linalg.cg(np.eye(3), b, (b,))
    with pytest.raises(tn.TreeError, match="a matrix is given, and b has 2 arrays"):
        linalg.cg(np.eye(3), (b, b))
    with pytest.raises(tn.ShapeError, match=r"cg: what a returns is f64\[2\], not f64\[3\]"):
        linalg.cg(lambda v: v[:2], b)
    with pytest.raises(tn.ShapeError, match=r"what the preconditioner returns is f64\[\], not f64\[3\]"):
        linalg.cg(np.eye(3), b, M=tnp.sum)
    with pytest.raises(tn.ShapeError, match=r"`tol` is f64\[2\], not one number"):
        linalg.cg(np.eye(3), b, tol=np.ones(2))


def rosenbrock(x):
    return tnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


FUNCTIONS = [  # a function, a start, its minimum
    (rosenbrock, np.array([-1.2, 1.0]), np.ones(2)), (rosenbrock, np.full(8, 0.3), np.ones(8)),
    (lambda x: tnp.sum((x - np.arange(5.0)) ** 4 + (x - np.arange(5.0)) ** 2), np.zeros(5), np.arange(5.0)),
    (lambda x: (x[0] ** 2 + x[1] - 11) ** 2 + (x[0] + x[1] ** 2 - 7) ** 2, np.array([4.0, 3.0]), np.array([3.0, 2.0])),
    (lambda x: (1.5 - x[0] + x[0] * x[1]) ** 2 + (2.25 - x[0] + x[0] * x[1] ** 2) ** 2 + (2.625 - x[0] + x[0] * x[1] ** 3) ** 2,
     np.array([1.0, 1.0]), np.array([3.0, 0.5])),
    (lambda x: tnp.log(tnp.cosh(x - 2.0)).sum(), np.full(3, 20.0), np.full(3, 2.0)),
]


@pytest.mark.parametrize("method", ["BFGS", "L-BFGS"])
@pytest.mark.parametrize("case", range(len(FUNCTIONS)))
def test_minima(method, case):
    f, start, wanted = FUNCTIONS[case]
    options = {} if method == "BFGS" else {"ftol": 0.0}
    found = tn.jit(lambda x: minimize(f, x, method=method, options=options)._replace(hess_inv=0))(start)
    assert bool(found.success) and found.status == 0 and np.abs(np.asarray(found.jac)).max() < 1e-5
    assert np.allclose(found.x, wanted, atol=1e-4) and np.allclose(found.fun, f(found.x))
    assert found.nfev == found.njev and found.nfev > found.nit > 0
    scipy = pytest.importorskip("scipy.optimize")
    theirs = scipy.minimize(lambda x: float(f(tnp.asarray(x))), start, jac=lambda x: np.asarray(tn.grad(f)(x)), method="BFGS")
    assert found.nfev <= 2 * theirs.nfev + 20


def test_what_minimize_tells():
    a = np.array([[3.0, 1.0], [1.0, 2.0]])
    found = minimize(lambda x, b: x @ a @ x / 2 - b @ x, np.zeros(2), (np.ones(2),), method="BFGS", tol=1e-9)
    near(found.x, np.linalg.solve(a, np.ones(2)), 1e5)
    assert np.allclose(found.hess_inv, np.linalg.inv(a), atol=1e-2) and found.hess_inv.shape == (2, 2)
    stopped = minimize(rosenbrock, np.full(4, -1.0), method="bfgs", options={"maxiter": 3})
    assert stopped.status == 1 and not stopped.success and stopped.nit == 3
    assert minimize(rosenbrock, np.full(4, -1.0), method="bfgs", options={"maxiter": 0}).status == 1
    for limit, status in (("maxiter", 1), ("maxfun", 2), ("maxgrad", 3)):
        ended = minimize(rosenbrock, np.full(4, -1.0), method="L-BFGS", options={limit: 4})
        assert ended.status == status and not ended.success and ended.hess_inv is None
    assert minimize(lambda x: tnp.sum(x ** 2), np.zeros(3), method="BFGS").nit == 0
    for norm in (1, 2, 3.0, np.inf):
        ended = minimize(rosenbrock, np.full(4, -1.0), method="BFGS", options={"norm": norm, "gtol": 1e-3})
        assert ended.success and np.linalg.norm(np.asarray(ended.jac), norm) < 1e-3
    down = minimize(lambda x: tnp.sum(x), np.ones(2), method="BFGS")
    assert down.status == 5 and not down.success
    nan = minimize(lambda x: tnp.sum(tnp.log(x)), np.full(2, -1.0), method="BFGS")
    assert not nan.success
    wall = minimize(lambda x: tnp.sum(x - tnp.log(x)), np.full(3, 0.01), method="BFGS")  # NaN behind the wall
    assert wall.success and np.allclose(wall.x, 1, atol=1e-4)


def test_minima_of_trees_in_lanes_and_with_derivatives():
    target = {"a": np.array([1.0, -2.0]), "b": (np.float32(3.0),)}

    def f(x, t):
        return tnp.sum((x["a"] - t["a"]) ** 2) + (x["b"][0] - t["b"][0]) ** 4 + (x["b"][0] - t["b"][0]) ** 2

    start = tn.tree.map(np.zeros_like, target)
    for method in ("BFGS", "L-BFGS"):
        found = minimize(f, start, (target,), method=method)
        assert found.success and found.x["b"][0].dtype == np.float32
        assert all(np.allclose(x, y, atol=1e-3) for x, y in zip(tn.tree.leaves(found.x), tn.tree.leaves(target)))
        starts = np.random.default_rng(1).normal(size=(4, 3))
        lanes = tn.jit(tn.vmap(lambda x: minimize(rosenbrock, x, method=method)._replace(hess_inv=0)))(starts)  # noqa: B023
        for lane, x in enumerate(starts):
            alone = minimize(rosenbrock, x, method=method)
            assert lanes.nit[lane] == alone.nit and np.allclose(lanes.x[lane], alone.x, atol=1e-6)

        def least(c):
            return minimize(lambda x: tnp.sum((x - c) ** 2 + tnp.exp(x)), tnp.zeros(2), method=method, tol=1e-9)  # noqa: B023

        c = np.array([1.0, 2.0])
        x = np.asarray(least(c).x)
        slope = 2 / (2 + np.exp(x))  # of 2 (x - c) + exp(x) = 0
        for jacobian in (tn.jacfwd, tn.jacrev):
            assert np.allclose(tn.jit(jacobian(lambda c: least(c).x))(c), np.diag(slope), atol=1e-6)
        assert np.allclose(tn.grad(lambda c: least(c).fun)(c), -2 * (x - c), atol=1e-6)
        assert np.allclose(tn.hessian(lambda c: tnp.sum(least(c).x))(c), np.diag(-2 * np.exp(x) * slope / (2 + np.exp(x)) ** 2), atol=1e-5)
        assert np.allclose(tn.vmap(tn.grad(lambda c: least(c).fun))(np.stack([c, c])), -2 * (x - c), atol=1e-6)
    z = np.array([1.0 - 2.0j, 3.0j])
    for method in ("BFGS", "L-BFGS"):
        found = minimize(lambda x: tnp.sum(tnp.abs(x["z"] - z) ** 2) + (x["r"] - 2.0) ** 4, {"z": 0 * z, "r": 1.0}, method=method)
        assert found.success and np.allclose(found.x["z"], z, atol=1e-5) and found.x["r"].dtype == np.float64
        assert found.jac["z"].dtype == np.complex128 and abs(found.x["r"] - 2) < 0.1
    steep = minimize(lambda x: 5e7 * tnp.sum(x ** 2), np.ones(2, "float32"), method="BFGS")  # where products cancel
    assert steep.success and np.allclose(steep.x, 0, atol=1e-6)
    single = minimize(rosenbrock, np.array([-1.2, 1.0], "float32"), method="BFGS", tol=1e-3)
    assert single.x.dtype == np.float32 and np.allclose(single.x, 1, atol=1e-2)


def test_wrong_minima():
    x = np.ones(2)
    with pytest.raises(TypeError, match="`args` of further arguments must be a tuple, not list"):
        minimize(tnp.sum, x, [1], method="BFGS")
    with pytest.raises(ValueError, match="no method 'newton'"):
        minimize(tnp.sum, x, method="newton")
    with pytest.raises(TypeError, match="BFGS has no option 'maxcor'"):
        minimize(tnp.sum, x, method="BFGS", options={"maxcor": 3})
    with pytest.raises(tn.ShapeError, match=r"the function returns f64\[2\], not one number"):
        minimize(tnp.sin, x, method="BFGS")
    with pytest.raises(tn.TreeError, match="the function returns 2 arrays"):
        minimize(lambda x: (tnp.sum(x), 1.0), x, method="BFGS")
    with pytest.raises(tn.DTypeError, match=r"the function returns c128\[\], not a real number"):
        minimize(lambda x: tnp.sum(x), 1j * x, method="BFGS")
    with pytest.raises(tn.ShapeError, match="`history` is less than 1"):
        minimize(tnp.sum, x, method="L-BFGS", options={"maxcor": 0})
    with pytest.raises(tn.ShapeError, match="`maxiter` is negative"):
        minimize(tnp.sum, x, method="BFGS", options={"maxiter": -1})


def lotka_volterra(y, t, p):
    return tnp.stack([p[0] * y[0] - p[1] * y[0] * y[1], -p[2] * y[1] + p[3] * y[0] * y[1]])


Y0, TIMES, P = np.array([10.0, 5.0]), np.linspace(0, 3, 7), np.array([1.5, 1.0, 3.0, 1.0])


def test_closed_forms():
    t = np.array([0.0, 0.1, 0.5, 2.0, 2.0, 7.0])
    for dtype, atol in (("float32", 1e-5), ("float64", 1e-7)):
        y = odeint(lambda y, t: -2 * y, np.ones(3, dtype), t.astype(dtype))
        assert y.dtype == dtype and y.shape == (6, 3) and np.allclose(y, np.exp(-2 * t)[:, None], atol=atol)
    assert np.allclose(odeint(lambda y, t, w: 1j * w * y, np.array(1 + 0j), t, 3.0), np.exp(3j * t), atol=1e-6)
    assert np.allclose(odeint(lambda y, t: tnp.cos(t), np.array(0.0), t + 1), np.sin(t + 1) - np.sin(1), atol=1e-7)
    tree = odeint(lambda y, t: {"x": y["v"], "v": -y["x"]}, {"x": np.zeros(()), "v": np.ones(())}, t)
    assert np.allclose(tree["x"], np.sin(t), atol=1e-7) and np.allclose(tree["v"], np.cos(t), atol=1e-7)
    listed = odeint(lambda y, t: [y[1], -y[0]], np.array([0.0, 1.0]), t)  # as many elements, in another structure
    assert np.allclose(listed[:, 0], np.sin(t), atol=1e-7)
    integers = odeint(lambda y, t: -y, np.array([1, 2]), t)
    assert integers.dtype == np.float64 and np.allclose(integers, np.exp(-t)[:, None] * [1, 2], atol=1e-7)
    assert odeint(lambda y, t: -y, np.zeros((0, 3)), t).shape == (6, 0, 3)
    assert odeint(lambda y, t: -y, np.ones(2), t[:1]).tolist() == [[1, 1]]
    half = odeint(lambda y, t: -y, np.ones(1, "float16"), t, rtol=1e-4, atol=1e-4)
    assert half.dtype == np.float16 and np.allclose(half[:, 0], np.exp(-t), atol=1e-3)
    exact = np.exp(-2 * t)
    errors = [np.abs(np.asarray(odeint(lambda y, t: -2 * y, np.ones(()), t, rtol=tol, atol=tol)) - exact).max()
              for tol in (1e-3, 1e-5, 1e-7, 1e-9)]
    assert errors == sorted(errors, reverse=True) and all(e < 10 * tol for e, tol in zip(errors, (1e-3, 1e-5, 1e-7, 1e-9)))


def test_adjoint():
    def loss(y0, t, p):
        return tnp.sum(tnp.sin(odeint(lotka_volterra, y0, t, p)))

    def by_steps(y0, t, p):
        return tnp.sum(tnp.sin(odeint(lotka_volterra, y0, t, p, rtol=1e-11, atol=1e-11, adjoint=False)))

    wanted = tn.jit(tn.grad(by_steps, (0, 1, 2)))(Y0, TIMES, P)
    got = tn.jit(tn.grad(loss, (0, 1, 2)))(Y0, TIMES, P)
    assert all(np.allclose(a, b, rtol=1e-4, atol=1e-5) for a, b in zip(got, wanted))
    captured = tn.grad(lambda p: tnp.sum(tnp.sin(odeint(lambda y, t: lotka_volterra(y, t, p), Y0, TIMES))))(P)
    assert np.allclose(captured, got[2], rtol=1e-9)
    assert np.allclose(tn.jvp(by_steps, (Y0, TIMES, P), (Y0, TIMES, P))[1], sum(np.sum(w * x) for w, x in zip(wanted, (Y0, TIMES, P))),
                       rtol=1e-5)
    lanes = tn.vmap(tn.grad(loss, 2), (None, None, 0))(Y0, TIMES, np.stack([P, 1.1 * P]))
    assert np.allclose(lanes[0], got[2], rtol=1e-6) and np.allclose(lanes[1], tn.grad(loss, 2)(Y0, TIMES, 1.1 * P), rtol=1e-6)
    short = TIMES[:3]
    assert np.allclose(tn.jit(tn.jacrev(tn.grad(loss, 2), 2))(Y0, short, P),
                       tn.jit(tn.jacfwd(tn.grad(by_steps, 2), 2))(Y0, short, P), rtol=1e-3, atol=1e-4)
    with pytest.raises(tn.DifferentiationError, match="forward mode"):
        tn.jvp(loss, (Y0, TIMES, P), (Y0, TIMES, P))
    y, n = tn.grad(lambda y, n: odeint(lambda y, t, n: -n * y, y, short, n)[-1], (0, 1), allow_int=True)(1.0, 2)
    assert np.isclose(y, np.exp(-2.0), atol=1e-5) and n.dtype == tn.float0
    z = tn.grad(lambda w: tnp.sum(odeint(lambda y, t, w: w * y, np.array(1 + 0j), short, w).real))(0.5 + 1j)
    assert np.isclose(z, np.sum(short * np.exp((0.5 + 1j) * short)), atol=1e-5)


def test_where_equations_end():
    blown = odeint(lambda y, t: y * y, np.ones(()), np.array([0, 0.5, 0.9, 2.0, 3.0]))
    assert np.allclose(blown[:3], [1, 2, 10]) and np.isnan(blown[3:]).all()
    assert np.isnan(odeint(lambda y, t: y * np.nan, np.ones(()), np.array([0, 1.0]))[1])
    assert np.isnan(odeint(lambda y, t: -y, np.ones(()), np.array([0, 1.0, 50.0]), mxstep=3)[1:]).all()
    assert np.isnan(odeint(lambda y, t: -y, np.ones(()), np.array([0, np.inf]))[1])
    down = odeint(lambda y, t: -y, np.ones(()), np.array([1.0, 0.5, 2.0]))
    assert np.isnan(down[1]) and np.isclose(down[2], np.exp(-1.0))
    stepped = odeint(lambda y, t: -y, np.ones(()), np.array([0.0, 1.0]), mxstep=1000, hmax=0.01)
    assert np.isclose(stepped[1], np.exp(-1), atol=1e-9)


def test_the_end_of_an_equation():
    """Beside SciPy's solution of the same problem, and odeint."""
    integrate = pytest.importorskip("scipy.integrate")
    wanted = integrate.solve_ivp(lambda t, y: np.asarray(lotka_volterra(y, t, P)), (0, 2.0), np.asarray(Y0), rtol=1e-11, atol=1e-11).y[:, -1]
    for f in (odeint_end, tn.jit(odeint_end, static_argnums=0)):
        y, accepted, rejected = f(lotka_volterra, Y0, 0.0, 2.0, P)
        assert np.allclose(y, wanted, 1e-7) and accepted > 5 and rejected >= 0
    tree, *_ = odeint_end(lambda y, t: {"x": y["v"], "v": -y["x"]}, {"x": 0.0, "v": 1.0}, 0.0, 1.0)
    assert np.isclose(tree["x"], np.sin(1)) and np.isclose(tree["v"], np.cos(1))

    def loss(f):
        return lambda y0, t1, p: tnp.sum(tnp.sin(f(y0, t1, p)))

    by_end = loss(lambda y0, t1, p: odeint_end(lotka_volterra, y0, 0.0, t1, p)[0])
    by_times = loss(lambda y0, t1, p: odeint(lotka_volterra, y0, tnp.stack([0.0, t1]), p)[-1])
    for ours, theirs in zip(tn.grad(by_end, (0, 1, 2))(Y0, 2.0, P), tn.grad(by_times, (0, 1, 2))(Y0, 2.0, P)):
        assert np.allclose(ours, theirs, 1e-5, 1e-6)
    by_steps = loss(lambda y0, t1, p: odeint_end(lotka_volterra, y0, 0.0, t1, p, adjoint=False)[0])
    assert np.allclose(tn.jacfwd(by_steps)(Y0, 2.0, P), tn.grad(by_end)(Y0, 2.0, P), 1e-5, 1e-6)
    assert np.isnan(odeint_end(lambda y, t: -y, 1.0, 1.0, 0.5)[0]) and odeint_end(lambda y, t: -y, 1.0, 1.0, 1.0)[0] == 1
    with pytest.raises(tn.ShapeError, match="odeint_end: a time is f64\\[2\\], not a number"):
        odeint_end(lambda y, t: -y, 1.0, np.zeros(2), 1.0)
    with pytest.raises(tn.TreeError, match="odeint_end"):
        odeint_end(lambda y, t: {"x": y[0]}, np.ones(2), 0.0, 1.0)


def test_wrong_equations():
    with pytest.raises(tn.ShapeError, match=r"odeint: what f returns is f64\[1\], not f64\[2\]"):
        odeint(lambda y, t: y[:1], Y0, TIMES)
    with pytest.raises(tn.TreeError, match="y0 and what f returns"):
        odeint(lambda y, t: (y, y), Y0, TIMES)
    with pytest.raises(tn.ShapeError, match=r"t is f64\[\], not a vector of times"):
        odeint(lambda y, t: y, Y0, 3.0)
    with pytest.raises(tn.ShapeError, match=r"t is f64\[0\], not a vector of times"):
        odeint(lambda y, t: y, Y0, TIMES[:0])
    with pytest.raises(TypeError, match="t is an array of floats, not int64"):
        odeint(lambda y, t: y, Y0, np.arange(3))
    with pytest.raises(tn.ShapeError, match="tolerances are negative"):
        odeint(lambda y, t: y, Y0, TIMES, rtol=-1.0)
    with pytest.raises(tn.ShapeError, match="`hmax` is not positive"):
        odeint(lambda y, t: y, Y0, TIMES, hmax=0.0)
    with pytest.raises(tn.ShapeError, match="`mxstep` is less than 1"):
        odeint(lambda y, t: y, Y0, TIMES, mxstep=0)
    with pytest.raises(tn.DTypeError, match="leaf \\['a'\\] of what f returns is f32"):
        odeint(lambda y, t: {"a": y["a"].astype("float32")}, {"a": Y0}, TIMES)
