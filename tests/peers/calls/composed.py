"""Small programs of calls that need objects or functions: `composed.NAME` of a call. Each is given numbers and arrays alone."""

import types


def of(m):
    """The programs over a library's modules."""
    import importlib

    library = lambda place: importlib.import_module(f"{m.root.__name__}.{place}")
    xp, lax = m.np, m.lax

    def roughly(tree, dtype):
        """Results in a dtype of fewer digits: what is iterated ends elsewhere in each library."""
        narrow = {"f": dtype, "c": "complex64"}
        return m.root.tree_util.tree_map(lambda x: x.astype(narrow[x.dtype.kind]) if x.dtype.kind in narrow else x, tree)

    def kde(what, dataset, options, points, key):
        made = m.stats.gaussian_kde(dataset, **options)
        n, d = (made.n, made.d)
        match what:
            case "integrate_gaussian":
                return made.integrate_gaussian(xp.zeros(d), xp.eye(d))
            case "integrate_box_1d":
                return made.integrate_box_1d(-1.0, 0.5)
            case "integrate_kde":
                return made.integrate_kde(m.stats.gaussian_kde(dataset[..., :4]))
            case "resample":
                return made.resample(key, (5,)).shape
            case "covariance":
                return made.covariance, made.neff, made.inv_cov, n, d
        return getattr(made, what)(points)

    def interpolator(points, values, at, **options):
        return library("scipy.interpolate").RegularGridInterpolator(points, values, **options)(at)

    functions = {
        "bowl": lambda x: xp.sum((x - 1) ** 2 * xp.arange(1, x.size + 1)),
        "rosenbrock": lambda x: xp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2),
        "matyas": lambda x: 0.26 * xp.sum(x**2) - 0.48 * xp.prod(x),
        "eggholder": lambda x: xp.sum(xp.sin(x) + 0.1 * x**2),
    }

    def minimize(name, x, method, options, tol):
        """The minimum as far as a library finds it: how many steps that takes is its own."""
        found = library("scipy.optimize").minimize(functions[name], x, method=method, options=options, tol=tol)
        return roughly((found.x, found.fun + 1, found.success), "float16")

    def solve(name, a, b, form, **options):
        A = {"matrix": a, "function": lambda v: a @ v, "tree": lambda v: {"x": a @ v["x"]}}[form]
        b = {"x": b} if form == "tree" else b
        if "M" in options:
            M = options.pop("M")
            options["M"] = {"matrix": M, "function": lambda v: M @ v, "tree": lambda v: {"x": M @ v["x"]}}[form]
        made = getattr(library("scipy.sparse.linalg"), name)(A, b, **options)
        x = made[0]["x"] if form == "tree" else made[0]
        return roughly(x, "float32"), made[1]

    Rotation = library("scipy.spatial.transform").Rotation

    def rotation(begin, given, how, *more, **options):
        """A rotation made by one method, and what another says of it."""
        made = getattr(Rotation, begin)(*given)
        result = getattr(made, how)
        result = result(*[Rotation(x) if how == "__mul__" else x for x in more], **options) if callable(result) else result
        return result.as_quat() if isinstance(result, Rotation) else result

    def slerp(times, rotvecs, at):
        return library("scipy.spatial.transform").Slerp.init(times, Rotation.from_rotvec(rotvecs))(at).as_quat()

    def ravel_pytree(given, other):
        flat, unravel = library("flatten_util").ravel_pytree(given)
        back = unravel(flat)
        return flat, m.root.tree_util.tree_leaves(back), unravel(flat.astype(flat.dtype) * 2), unravel(other) if other is not None else None

    def custom_vmap(x, y, axes, rule, transformed):
        f = library("custom_batching").custom_vmap(lambda x, y: xp.sin(x) * y)

        @f.def_vmap
        def _(size, batched, x, y):
            if rule == "ones":
                return xp.full((size, *(x.shape[1:] if batched[0] else x.shape)), 1.0), True
            if rule == "size":
                return (xp.sin(x) * y if all(batched) else lax.map(lambda _: xp.zeros(()), xp.arange(size))) + size, True
            if rule == "none":
                return xp.zeros(y.shape[1:] if batched[1] else y.shape), False
            return xp.sin(x) * y, any(batched)
        over = m.root.vmap(f, axes)
        if transformed == "jit":
            return m.jit(over)(x, y)
        if transformed == "grad":
            return m.root.grad(lambda x: xp.sum(over(x, y)))(x)
        if transformed == "jvp":
            return m.root.jvp(over, (x, y), (xp.ones_like(x), xp.ones_like(y)))
        return over(x, y)

    def sequential_vmap(x, y, axes):
        return m.root.vmap(library("custom_batching").sequential_vmap(lambda x, y: (x * 2, xp.sum(y) + x)), axes)(x, y)

    systems = {"decay": lambda y, t: -y, "spring": lambda y, t, k=2.0: xp.stack([y[1], -k * y[0]]),
               "driven": lambda y, t: xp.cos(3 * t) - 0.5 * y, "pair": lambda y, t: {"a": y["b"], "b": -y["a"]}}

    def odeint(name, y, t, *more, **options):
        made = library("experimental.ode").odeint(systems[name], {"a": y, "b": 2 * y} if name == "pair" else y, t, *more, **options)
        return m.root.tree_util.tree_leaves(roughly(made, "float32"))

    def slope_of_odeint(k, y, t):
        odeint = library("experimental.ode").odeint
        return roughly(m.root.grad(lambda k, y, t: xp.sum(odeint(systems["spring"], y, t, k) ** 2), (0, 1, 2))(k, y, t), "float32")

    return types.SimpleNamespace(**{k: v for k, v in locals().items() if callable(v) and k not in ("library", "m")})
