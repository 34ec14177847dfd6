"""Sums over all pairs of points, none of which is stored: kernels and their products, interpolation, clusters, the nearest
points, a mixture of Gaussians, transport between clouds, and gravity; each as it stands in a book.
usage: pairs.py [PICTURE.png]"""

import sys

import numpy as np

import tenon as tn
import tenon.numpy as tnp
from tenon import lax, optim, random
from tenon.scipy.special import logsumexp

from pictures import BLUE, GREEN, GREY, ORANGE, PURPLE, panels, tell


def squared_distances(x, y):
    return tnp.sum((x[:, None, :] - y[None, :, :]) ** 2, -1)


def distances(x, y):
    square = squared_distances(x, y)
    return tnp.sqrt(tnp.where(square > 0, square, 1.0)) * (square > 0)  # its slope is 0 where points meet


KERNELS = {
    "Gaussian": lambda x, y: tnp.exp(-squared_distances(x, y)),
    "Laplacian": lambda x, y: tnp.exp(-distances(x, y)),
    "inverse multiquadric": lambda x, y: 1 / tnp.sqrt(1 + squared_distances(x, y)),
    "energy": lambda x, y: -distances(x, y),
}


def product(kernel, x, y, b):
    return KERNELS[kernel](x, y) @ b


def energy_distance(x, y):
    """How far two clouds are apart, of as much mass each."""
    mean = lambda a, b: tnp.mean(distances(a, b))
    return mean(x, y) - 0.5 * mean(x, x) - 0.5 * mean(y, y)


def solved(matrix, b, tolerance=1e-5, most=300):
    """x of matrix(x) = b, symmetric and positive: conjugate gradients."""
    def step(state):
        x, rest, way, size, i = state
        image = matrix(way)
        far = size / tnp.vdot(way, image)
        rest = rest - far * image
        next_size = tnp.vdot(rest, rest)
        return x + far * way, rest, rest + next_size / size * way, next_size, i + 1

    goes_on = lambda state: (state[3] > tolerance ** 2 * tnp.vdot(b, b)) & (state[4] < most)
    return lax.while_loop(goes_on, step, (tnp.zeros_like(b), b, b, tnp.vdot(b, b), 0))[0]


def interpolated(x, values, at, width, noise=1e-3):
    """The smoothest function, by the Gaussian kernel, near these values: its weights by conjugate gradients."""
    weights = solved(lambda w: product("Gaussian", x / width, x / width, w) + noise * w, values)
    return product("Gaussian", at / width, x / width, weights)


def k_means(x, centres, steps=20):
    def step(centres, _):
        label = tnp.argmin(squared_distances(x, centres), 1)
        count = tn.ops.segment_sum(tnp.ones(len(x)), label, len(centres))
        return tn.ops.segment_sum(x, label, len(centres)) / tnp.maximum(count, 1)[:, None], None

    centres, _ = lax.scan(step, centres, None, length=steps)
    return centres, tnp.argmin(squared_distances(x, centres), 1)


def vote(x, labels, at, k, classes):
    """The class that most of the k nearest points have."""
    _, nearest = lax.top_k(-squared_distances(at, x), k)
    return tnp.argmax(tnp.sum(labels[nearest][..., None] == tnp.arange(classes), 1), -1)


def log_density(mixture, x):
    """Of a mixture of Gaussians with diagonal precisions."""
    scale = tnp.exp(mixture["log_scale"])
    logits = mixture["logit"] - logsumexp(mixture["logit"]) + tnp.sum(mixture["log_scale"], 1)
    square = tnp.sum(((x[:, None] - mixture["mean"]) * scale) ** 2, -1)
    return logsumexp(logits - 0.5 * square, axis=1) - 0.5 * x.shape[1] * np.log(2 * np.pi)


def fitted(mixture, x, steps=300):
    opt = optim.adam(0.05)

    def step(carry, _):
        mixture, state = carry
        loss, slope = tn.value_and_grad(lambda m: -tnp.mean(log_density(m, x)))(mixture)
        updates, state = opt.update(slope, state, mixture)
        return (optim.apply_updates(mixture, updates), state), loss

    (mixture, _), losses = lax.scan(step, (mixture, opt.init(mixture)), None, length=steps)
    return mixture, losses


def transport(x, y, blur, steps):
    """The regularised cost of moving x to y by squared distances, of as much mass each (Sinkhorn's iterations)."""
    cost = lambda a, b: 0.5 * squared_distances(a, b)
    soft = lambda of, a, b: -blur ** 2 * (logsumexp((of - cost(a, b)) / blur ** 2, axis=1) - np.log(len(b)))

    def step(potentials, _):
        f, g = potentials
        return (0.5 * (f + soft(g, x, y)), 0.5 * (g + soft(f, y, x))), None

    (f, g), _ = lax.scan(step, (tnp.zeros(len(x)), tnp.zeros(len(y))), None, length=steps)
    f, g = lax.stop_gradient((f, g))
    return tnp.mean(soft(g, x, y)) + tnp.mean(soft(f, y, x))


def sinkhorn_divergence(x, y, blur=0.1, steps=40):
    """0 where two clouds are the same (Feydy et al., 2019)."""
    return (transport(x, y, blur, steps) - 0.5 * transport(x, x, blur, steps) - 0.5 * transport(y, y, blur, steps)) / 2


def orbits(position, velocity, mass, dt, steps, softening=0.05):
    """Bodies that attract each other: leapfrog steps, and the energy at each."""
    def potential(x):
        near = 1 / tnp.sqrt(squared_distances(x, x) + softening ** 2)
        return -0.5 * mass @ (near @ mass) + 0.5 * tnp.sum(mass ** 2) / softening

    pull = lambda x: -tn.grad(potential)(x) / mass[:, None]

    def step(state, _):
        x, v = state
        v = v + 0.5 * dt * pull(x)
        x = x + dt * v
        v = v + 0.5 * dt * pull(x)
        return (x, v), (x, potential(x) + 0.5 * mass @ tnp.sum(v ** 2, 1))

    return lax.scan(step, (position, velocity), None, length=steps)[1]


def clouds(key, n, centres, width):
    """Points around these centres in turn, and which."""
    label = tnp.arange(n) % len(centres)
    return tnp.asarray(centres)[label] + width * random.normal(key, (n, 2)), label


CENTRES = np.array([[-1.0, -0.6], [1.0, -0.7], [0.1, 0.9]])


def draw(path, found):
    mosaic = [["kernels", "apart", "interpolation"], ["clusters", "vote", "mixture"], ["transport", "ways", "gravity"]]
    with panels(path, mosaic, 10.6, 2) as axes:
        across, sums = found["kernels"]
        for (name, kernel), color in zip(sums.items(), (BLUE, ORANGE, GREEN, PURPLE)):
            axes["kernels"].plot(across, kernel, color=color, label=name)
        axes["kernels"].set(xlabel="x", ylabel="mean of k(x, points)")
        shifts, energies, divergences = found["apart"]
        axes["apart"].plot(shifts, energies, color=BLUE, label="energy distance")
        axes["apart"].plot(shifts, divergences, color=ORANGE, label="Sinkhorn")
        axes["apart"].set(xlabel="a cloud, and itself moved by", ylabel="distance or divergence")
        line, x, values, truth = found["interpolation"]
        axes["interpolation"].plot(x, values, ".", color=GREY, markersize=2, label="seen")
        axes["interpolation"].plot(line, truth, color=BLUE, label="true")
        axes["interpolation"].plot(line, found["line"], "--", color=ORANGE, label="found")
        axes["interpolation"].set(xlabel="place", ylabel="value")
        for name in ("clusters", "vote"):
            points, labels = found[name]
            for k, color in enumerate((BLUE, ORANGE, GREEN)):
                of = {"label": f"class {k}"} if name == "vote" else {}
                axes[name].plot(*points[labels == k].T, ".", color=color, markersize=2, **of)
        axes["clusters"].plot(*found["centres"].T, "k+", markersize=12, label="centre")
        for name in ("clusters", "vote", "mixture", "transport", "gravity"):
            axes[name].set(xlabel="x", ylabel="y", aspect="equal")
        side, density = found["mixture"]
        axes["mixture"].contour(side, side, density, 8, colors=PURPLE, linewidths=0.8, linestyles="solid")
        axes["mixture"].plot(*found["clusters"][0].T, ".", color=GREY, markersize=1, label="points")
        axes["mixture"].plot([], [], color=PURPLE, label="log density")
        start, end, target = found["transport"]
        axes["transport"].plot(*start.T, ".", color=GREY, markersize=3, label="before")
        axes["transport"].plot(*target.T, ".", color=BLUE, markersize=3, label="target")
        axes["transport"].plot(*end.T, ".", color=ORANGE, markersize=3, label="moved")
        axes["ways"].semilogy(found["ways"], "o-", color=ORANGE, label="Sinkhorn's divergence")
        axes["ways"].set(xlabel="step of descent", ylabel="to the target")
        for body in range(found["orbits"].shape[1]):
            label = "orbits of 12 bodies" if body == 0 else None
            axes["gravity"].plot(*found["orbits"][:, body].T, linewidth=0.7, color=BLUE, label=label)


def main(picture=None, n=3000, steps=300):
    keys = random.split(random.key(1), 6)
    found = {}
    x = random.uniform(keys[0], (n, 1), minval=0.0, maxval=6.0)
    wave = lambda x: tnp.sin(x[:, 0] ** 2 / 2)
    values, line = wave(x) + 0.1 * random.normal(keys[1], (n,)), tnp.linspace(0, 6, 400)[:, None]
    found["line"] = tn.jit(lambda *a: interpolated(*a, 0.3, 1e-1))(x, values, line)
    found["interpolation"] = line[:, 0], x[:, 0], values, wave(line)

    points, truth = clouds(keys[2], n, CENTRES, 0.35)
    found["centres"], labels = tn.jit(k_means)(points, points[:3])
    found["clusters"] = points, labels
    side = tnp.linspace(-2, 2, 60)
    grid = tnp.stack(tnp.meshgrid(side, side), -1).reshape(-1, 2)
    found["vote"] = grid, tn.jit(lambda *a: vote(*a, 10, 3))(points, truth, grid)
    mixture = {"mean": points[:3], "log_scale": tnp.zeros((3, 2)), "logit": tnp.zeros(3)}
    mixture, losses = tn.jit(lambda *a: fitted(*a, steps))(mixture, points)
    found["mixture"] = side, tn.jit(log_density)(mixture, grid).reshape(60, 60)

    across = tnp.linspace(-3, 3, 200)
    places, even = tnp.stack([across, tnp.zeros(200)], 1), tnp.full(n, 1 / n)
    found["kernels"] = across, {name: tn.jit(product, static_argnums=0)(name, places, points, even) for name in KERNELS}
    few, shifts = points[:n // 10], tnp.linspace(-1.5, 1.5, 21)
    moves = lambda apart: tn.jit(tn.vmap(lambda by: apart(few, few + tnp.stack([by, 0 * by]))))(shifts)
    found["apart"] = shifts, moves(energy_distance), moves(sinkhorn_divergence)

    start, target = 0.3 * random.normal(keys[3], (n // 5, 2)), clouds(keys[4], n // 5, CENTRES, 0.1)[0]
    slope = tn.jit(tn.value_and_grad(sinkhorn_divergence))
    moved, ways = start, []
    for _ in range(12):
        far, direction = slope(moved, target)
        ways.append(float(far))
        moved = moved - 1.5 * len(start) * direction
    found["transport"] = start, moved, target
    ways.append(float(slope(moved, target)[0]))

    found["ways"] = np.array(ways)

    bodies = clouds(keys[5], 12, CENTRES, 0.5)[0]
    found["orbits"], energy = tn.jit(lambda *a: orbits(*a, 0.005, 1500))(
        bodies, tnp.stack([-bodies[:, 1], bodies[:, 0]], 1) * 0.4, tnp.full(12, 0.2))
    results = {
        "interpolation": float(tnp.sqrt(tnp.mean((found["line"] - wave(line)) ** 2))),
        "clusters": float(tnp.mean(squared_distances(tnp.asarray(CENTRES), found["centres"]).min(1))),
        "vote": float(tnp.mean(vote(points, truth, points, 10, 3) == truth)),
        "mixture": float(losses[-1]),
        "energy distance": [float(energy_distance(a, target)) for a in (start, moved)],
        "divergence": [ways[0], ways[-1]],
        "drift of energy": float(tnp.max(tnp.abs(energy / energy[0] - 1))),
    }
    return tell(results, picture, draw, found)


if __name__ == "__main__":
    main(*sys.argv[1:])
