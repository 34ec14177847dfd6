"""What programs call by name; `jx`, `jnp`, `lax`, `nn` and `F` are there where it is run."""


def flat(tree):
    return jx.tree_util.tree_leaves(tree)


def cjvp(f):
    """f with a rule of its own: tangents times 1.5."""
    g = jx.custom_jvp(f)

    def rule(primals, tangents):
        y, dy = jx.jvp(f, primals, tangents)
        return y, tuple(d * 1.5 for d in dy)
    g.defjvp(rule)
    return g


def cvjp(f):
    """f with a rule of its own, whose forward calls it: cotangents times 0.5."""
    g = jx.custom_vjp(f)

    def forward(*primals):
        return g(*primals), primals

    def backward(primals, cotangents):
        _, pull = jx.vjp(f, *primals)
        return tuple(c * 0.5 for c in pull(cotangents))
    g.defvjp(forward, backward)
    return g


def chain(f, count, x):
    """f applied again and again, in straight-line code."""
    for _ in range(count):
        x = f(x)
    return x


def guarded(f, x):
    """f where x is above 0.2, elsewhere 0, a branch for each element; f may be infinite or have an infinite derivative there."""
    return jx.vmap(lambda v: lax.cond(v > 0.2, f, jnp.zeros_like, v))(jnp.ravel(x)).reshape(x.shape)


def written(f, x, count):
    """x in a reference, whose rows f rewrites in turn."""
    ref = jx.new_ref(x)

    def step(c, i):
        k = i % x.shape[0]
        ref[k] = f(ref[k], c)
        return c * 0.5, None
    lax.scan(step, jnp.ones((), x.dtype), jnp.arange(count))
    return jx.freeze(ref)


def wsum(out):
    """A number of the floats in `out`, in which each weighs differently."""
    out = jnp.asarray(out)
    if not jnp.issubdtype(out.dtype, jnp.floating):
        return jnp.zeros((), F)
    out = out.astype(F)
    return jnp.sum(out * jnp.cos(jnp.arange(out.size).astype(F) + 0.3).reshape(out.shape))


def total(outs):
    return sum((wsum(o) for o in outs), jnp.zeros((), F))
