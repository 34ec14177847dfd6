"""Programs of libraries of JAX's, for from_jax.py: each makes (function of JAX, its arguments, the number of the argument to
differentiate in, or None)."""

import jax
import jax.numpy as jnp
import numpy as np

PROGRAMS = {}


def program(library):
    def put(make):
        PROGRAMS[make.__name__] = library, make
        return make

    return put


def normal(seed, *shape):
    return jax.random.normal(jax.random.PRNGKey(seed), shape)


# --- equinox ---


@program("equinox")
def mlp():
    import equinox as eqx

    model = eqx.nn.MLP(8, 4, 128, 3, activation=jax.nn.gelu, key=jax.random.PRNGKey(0))
    arrays, rest = eqx.partition(model, eqx.is_array)
    return lambda arrays, x: jnp.mean(jax.vmap(eqx.combine(arrays, rest))(x) ** 2), (arrays, normal(1, 256, 8)), 0


@program("equinox")
def gru():
    import equinox as eqx

    cell = eqx.nn.GRUCell(8, 32, key=jax.random.PRNGKey(0))

    def run(cell, xs):
        return jnp.sum(jax.lax.scan(lambda h, x: (cell(x, h), None), jnp.zeros(32), xs)[0] ** 2)

    return run, (cell, normal(1, 100, 8)), 0


@program("equinox")
def attention():
    import equinox as eqx

    layer = eqx.nn.MultiheadAttention(4, 32, key=jax.random.PRNGKey(0))
    arrays, rest = eqx.partition(layer, eqx.is_array)
    return lambda arrays, x: jnp.sum(eqx.combine(arrays, rest)(x, x, x) ** 2), (arrays, normal(1, 64, 32)), 0


# --- optax ---


def descent(optimizer):
    def make():
        params = {"w": normal(0, 64, 32), "b": jnp.zeros(32)}

        def step(params, state, x):
            import optax

            value, grads = jax.value_and_grad(lambda p: jnp.mean(jnp.tanh(x @ p["w"] + p["b"]) ** 2))(params)
            updates, state = optimizer().update(grads, state, params)
            return optax.apply_updates(params, updates), state, value

        return step, (params, optimizer().init(params), normal(1, 128, 64)), None

    return make


@program("optax")
def adamw():
    import optax

    return descent(lambda: optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(optax.cosine_decay_schedule(1e-2, 100))))()


@program("optax")
def lion():
    import optax

    return descent(lambda: optax.lion(1e-3))()


@program("optax")
def adafactor():
    import optax

    return descent(lambda: optax.adafactor(1e-3))()


@program("optax")
def losses():
    import optax

    def all_of(x, y):
        return (jnp.mean(optax.huber_loss(x, y)) + jnp.mean(optax.sigmoid_binary_cross_entropy(x, y > 0)) +
                jnp.mean(optax.softmax_cross_entropy_with_integer_labels(x, jnp.arange(64) % 10)) +
                jnp.mean(optax.cosine_distance(x, y)) + jnp.mean(optax.log_cosh(x, y)))

    return all_of, (normal(0, 64, 10), normal(1, 64, 10)), 0


# --- diffrax ---


def lotka_volterra(t, y, a):
    return jnp.stack([a[0] * y[0] - a[1] * y[0] * y[1], -a[2] * y[1] + a[3] * y[0] * y[1]])


def solution(solver, **options):
    import diffrax

    def end(y0, theta):
        made = diffrax.diffeqsolve(diffrax.ODETerm(lotka_volterra), getattr(diffrax, solver)(), 0.0, 10.0, 0.1, y0, args=theta,
                                   stepsize_controller=diffrax.PIDController(rtol=1e-5, atol=1e-6), throw=False, **options)
        return jnp.sum(made.ys ** 2)

    return end, (jnp.array([1.0, 1.0]), jnp.array([1.1, 0.4, 0.4, 0.1]))


@program("diffrax")
def tsit5():
    return *solution("Tsit5"), None


@program("diffrax")
def tsit5_gradient():
    end, args = solution("Tsit5")
    return jax.grad(end, 1), args, None


@program("diffrax")
def dopri8():
    return *solution("Dopri8"), None


@program("diffrax")
def euler_maruyama():
    import diffrax

    def path(key, y0):
        noise = diffrax.VirtualBrownianTree(0.0, 1.0, 1e-3, (), key)
        terms = diffrax.MultiTerm(diffrax.ODETerm(lambda t, y, a: -y),
                                  diffrax.ControlTerm(lambda t, y, a: 0.3 * jnp.cos(y), noise))
        return diffrax.diffeqsolve(terms, diffrax.Euler(), 0.0, 1.0, 0.02, y0, throw=False).ys

    return path, (jax.random.PRNGKey(0), jnp.array(1.0)), None


# --- numpyro ---


def logistic_model():
    import numpyro
    import numpyro.distributions as dist

    X = np.random.RandomState(0).randn(500, 5).astype("f4")
    y = (X.sum(1) > 0).astype("f4")

    def model():
        w = numpyro.sample("w", dist.Normal(jnp.zeros(5), 1.0).to_event(1))
        s, k = numpyro.sample("s", dist.HalfCauchy(1.0)), numpyro.sample("k", dist.Gamma(2.0, 1.0))
        b = numpyro.sample("b", dist.Beta(2.0, 3.0))
        numpyro.sample("t", dist.StudentT(3.0, 0.0, s), obs=jnp.asarray(0.5))
        numpyro.sample("y", dist.Bernoulli(logits=X @ w * s + b * k), obs=y)

    return model


@program("numpyro")
def density():
    from numpyro.infer.util import log_density

    model = logistic_model()
    return (lambda p: log_density(model, (), {}, p)[0],
            (dict(w=jnp.ones(5) * 0.1, s=jnp.array(0.7), k=jnp.array(1.3), b=jnp.array(0.4)),), 0)


@program("numpyro")
def gaussian_process():
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer.util import log_density

    x = np.linspace(0, 5, 60).astype("f4")

    def model():
        scale, size = numpyro.sample("l", dist.LogNormal(0.0, 1.0)), numpyro.sample("s", dist.LogNormal(0.0, 1.0))
        cov = size * jnp.exp(-0.5 * ((x[:, None] - x) / scale) ** 2) + 0.1 * jnp.eye(60)
        numpyro.sample("y", dist.MultivariateNormal(0.0, covariance_matrix=cov), obs=np.sin(x))

    return lambda p: log_density(model, (), {}, p)[0], (dict(l=jnp.array(0.7), s=jnp.array(0.9)),), 0


@program("numpyro")
def numpyro_nuts():
    from numpyro.infer import NUTS

    kernel = NUTS(logistic_model())
    state = kernel.init(jax.random.PRNGKey(0), 50, None, (), {})
    return lambda state: kernel.sample(state, (), {}), (state,), None


@program("numpyro")
def prior_predictive():
    import numpyro

    model = logistic_model()

    def draw(key):
        trace = numpyro.handlers.trace(numpyro.handlers.seed(model, key)).get_trace()
        return {name: site["value"] for name, site in trace.items()}

    return draw, (jax.random.PRNGKey(3),), None


# --- flax ---


@program("flax")
def lstm():
    import flax.linen as nn

    class Model(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.Dense(4)(nn.RNN(nn.LSTMCell(64))(x))

    model, x = Model(), normal(1, 16, 50, 8)
    return lambda p, x: jnp.mean(model.apply(p, x) ** 2), (model.init(jax.random.PRNGKey(0), x), x), 0


@program("flax")
def dense_with_dropout():
    import flax.linen as nn

    class Model(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.LayerNorm()(nn.relu(nn.Dense(64)(x)))
            return nn.Dense(4)(nn.Dropout(0.5, deterministic=False)(x))

    model, x = Model(), normal(1, 32, 16)
    params = model.init({"params": jax.random.PRNGKey(0), "dropout": jax.random.PRNGKey(1)}, x)
    return (lambda p, x, key: jnp.mean(model.apply(p, x, rngs={"dropout": key}) ** 2),
            (params, x, jax.random.PRNGKey(2)), 0)


# --- blackjax ---


def chain(kernel, steps):
    def run(key, x):
        return jax.lax.scan(lambda s, k: (lambda made: (made, made.position))(kernel.step(k, s)[0]), kernel.init(x),
                            jax.random.split(key, steps))[1]

    return run, (jax.random.PRNGKey(0), jnp.ones(10)), None


def gaussian(x):
    return -0.5 * jnp.sum(x ** 2 * jnp.arange(1, 11.0))


@program("blackjax")
def hmc():
    import blackjax

    return chain(blackjax.hmc(gaussian, 0.1, jnp.ones(10), 20), 100)


@program("blackjax")
def nuts():
    import blackjax

    return chain(blackjax.nuts(gaussian, 0.3, jnp.ones(10)), 50)


# --- jaxopt, optimistix, lineax ---


@program("jaxopt")
def lbfgs():
    import jaxopt

    def loss(w, X, y):
        return jnp.mean(jnp.log1p(jnp.exp(-y * (X @ w)))) + 1e-3 * jnp.sum(w ** 2)

    X = normal(0, 200, 10)
    return (lambda w, X, y: jaxopt.LBFGS(loss, maxiter=5).run(w, X, y).params,
            (jnp.zeros(10), X, jnp.sign(X @ jnp.arange(-5, 5.0))), None)


@program("jaxopt")
def gradient_descent():
    import jaxopt

    solver = jaxopt.GradientDescent(lambda x, a: jnp.sum((x - a) ** 2) + jnp.sum(x ** 4), maxiter=20)
    return lambda a: solver.run(jnp.zeros(5), a).params, (jnp.arange(5.0),), None


@program("optimistix")
def newton():
    import optimistix as optx

    def equations(y, a):
        return jnp.stack([y[0] ** 2 + y[1] - a, y[0] - y[1] ** 3])

    return (lambda y, a: optx.root_find(equations, optx.Newton(1e-6, 1e-6), y, args=a, throw=False).value,
            (jnp.array([1.0, 1.0]), jnp.array(2.0)), None)


@program("optimistix")
def levenberg_marquardt():
    import optimistix as optx

    def residual(y, a):
        return y[0] * jnp.exp(-y[1] * jnp.arange(10.0)) - a

    return (lambda a: optx.least_squares(residual, optx.LevenbergMarquardt(1e-6, 1e-6), jnp.array([1.0, 0.2]), args=a,
                                         throw=False).value, (2 * jnp.exp(-0.5 * jnp.arange(10.0)),), None)


@program("lineax")
def conjugate_gradients():
    import lineax as lx

    A = normal(0, 20, 20)
    A = A @ A.T + 20 * jnp.eye(20)

    def solve(A, b):
        operator = lx.MatrixLinearOperator(A, lx.positive_semidefinite_tag)
        return jnp.sum(lx.linear_solve(operator, b, lx.CG(1e-6, 1e-6), throw=False).value)

    return solve, (A, jnp.ones(20)), 1


@program("lineax")
def lineax_lu():
    import lineax as lx

    A = normal(0, 20, 20) + 20 * jnp.eye(20)
    return (lambda A, b: jnp.sum(lx.linear_solve(lx.MatrixLinearOperator(A), b, lx.LU(), throw=False).value ** 2),
            (A, jnp.ones(20)), 1)


# --- dm-haiku ---


@program("dm-haiku")
def transformer():
    import haiku as hk

    def block(x):
        h = hk.LayerNorm(-1, True, True)(x)
        x = x + hk.MultiHeadAttention(4, 16, w_init_scale=1.0, model_size=64)(h, h, h)
        h = hk.LayerNorm(-1, True, True)(x)
        return x + hk.Linear(64)(jax.nn.gelu(hk.Linear(256)(h)))

    model, x = hk.without_apply_rng(hk.transform(lambda x: jnp.mean(block(block(x)) ** 2))), normal(1, 8, 32, 64)
    return model.apply, (model.init(jax.random.PRNGKey(0), x), x), 0


@program("dm-haiku")
def haiku_gru():
    import haiku as hk

    def run(x):
        core = hk.GRU(32)
        return jnp.mean(hk.dynamic_unroll(core, x, core.initial_state(16))[0] ** 2)

    model, x = hk.without_apply_rng(hk.transform(run)), normal(1, 50, 16, 8)
    return model.apply, (model.init(jax.random.PRNGKey(0), x), x), 0


# --- distrax ---


@program("distrax")
def mixture():
    import distrax

    def likelihood(p, x):
        parts = distrax.MixtureSameFamily(distrax.Categorical(logits=p["logits"]),
                                          distrax.MultivariateNormalDiag(p["mean"], jax.nn.softplus(p["scale"])))
        return -jnp.mean(parts.log_prob(x))

    return likelihood, (dict(logits=normal(0, 5), mean=normal(1, 5, 3), scale=normal(2, 5, 3)), normal(3, 200, 3)), 0


@program("distrax")
def flow():
    import distrax

    def likelihood(p, x):
        knots = distrax.RationalQuadraticSpline(p["spline"], range_min=-5.0, range_max=5.0)
        bent = distrax.Transformed(distrax.MultivariateNormalDiag(jnp.zeros(3), jnp.ones(3)), distrax.Block(knots, 1))
        return -jnp.mean(bent.log_prob(x))

    return likelihood, (dict(spline=normal(0, 3, 25)), normal(1, 100, 3)), 0


# --- tinygp ---


@program("tinygp")
def matern():
    import tinygp

    t = np.sort(np.random.RandomState(0).uniform(0, 10, 80)).astype("f4")

    def likelihood(p):
        kernel = jnp.exp(p["size"]) * tinygp.kernels.Matern32(jnp.exp(p["scale"])) + tinygp.kernels.DotProduct()
        return tinygp.GaussianProcess(kernel, t, diag=0.1).log_probability(jnp.sin(t))

    return likelihood, (dict(size=jnp.array(0.1), scale=jnp.array(0.3)),), 0


@program("tinygp")
def quasiseparable():
    import tinygp

    t = np.sort(np.random.RandomState(0).uniform(0, 10, 200)).astype("f4")

    def likelihood(p):
        kernel = tinygp.kernels.quasisep.Matern32(jnp.exp(p["scale"]), jnp.exp(p["size"]))
        return tinygp.GaussianProcess(kernel, t, diag=0.1).log_probability(jnp.sin(t))

    return likelihood, (dict(size=jnp.array(0.1), scale=jnp.array(0.3)),), 0


# --- ott, jraph, mctx, rlax, evosax ---


@program("ott")
def sinkhorn():
    from ott.geometry import pointcloud
    from ott.problems.linear import linear_problem
    from ott.solvers.linear import sinkhorn

    def cost(x, y):
        problem = linear_problem.LinearProblem(pointcloud.PointCloud(x, y, epsilon=0.1))
        return sinkhorn.Sinkhorn(max_iterations=200)(problem).reg_ot_cost

    return cost, (normal(0, 40, 2), normal(1, 50, 2) + 1.0), 0


@program("jraph")
def graph_network():
    import jraph

    edges = np.random.RandomState(0).randint(0, 50, (2, 200))

    def energy(p, nodes):
        graph = jraph.GraphsTuple(nodes=nodes, edges=jnp.ones((200, 4)), senders=edges[0], receivers=edges[1],
                                  n_node=jnp.array([50]), n_edge=jnp.array([200]), globals=jnp.zeros((1, 4)))
        net = jraph.GraphNetwork(lambda e, s, r, g: jnp.tanh(jnp.concatenate([e, s, r, g], 1) @ p["e"]),
                                 lambda n, s, r, g: jnp.tanh(jnp.concatenate([n, s, r, g], 1) @ p["n"]),
                                 lambda n, e, g: n + e)
        return jnp.sum(net(graph).globals ** 2)

    return energy, (dict(e=normal(0, 24, 4), n=normal(1, 20, 4)), normal(2, 50, 8)), 0


@program("mctx")
def gumbel_search():
    import mctx

    def plan(key, weights):
        root = mctx.RootFnOutput(prior_logits=weights[:, :4], value=weights[:, 0], embedding=weights)

        def step(_, key, action, state):
            state = jnp.tanh(state * (1 + action[:, None] / 4))
            return mctx.RecurrentFnOutput(reward=state[:, 1], discount=jnp.full(8, 0.9), prior_logits=state[:, :4],
                                          value=state[:, 2]), state

        return mctx.gumbel_muzero_policy((), key, root, step, num_simulations=16).action_weights

    return plan, (jax.random.PRNGKey(0), normal(1, 8, 6)), None


@program("rlax")
def vtrace():
    import rlax

    def loss(v, rewards, rho):
        traced = rlax.vtrace_td_error_and_advantage(v[:-1], v[1:], rewards, jnp.full(100, 0.95), rho)
        return jnp.mean(traced.errors ** 2) + jnp.mean(rlax.huber_loss(rlax.lambda_returns(rewards, rho, v[1:], 0.9) - v[:-1]))

    return loss, (normal(0, 101), normal(1, 100), jnp.exp(0.1 * normal(2, 100))), 0


@program("evosax")
def open_es():
    from evosax.algorithms import Open_ES

    strategy = Open_ES(population_size=32, solution=jnp.zeros(10))
    params = strategy.default_params
    state = strategy.init(jax.random.PRNGKey(0), jnp.zeros(10), params)

    def search(key, state):
        def step(state, key):
            asked, told = jax.random.split(key)
            population, state = strategy.ask(asked, state, params)
            fitness = jnp.sum((population - 1) ** 2, axis=-1)
            return strategy.tell(told, population, fitness, state, params)[0], jnp.min(fitness)

        return jax.lax.scan(step, state, jax.random.split(key, 50))[1]

    return search, (jax.random.PRNGKey(1), state), None
