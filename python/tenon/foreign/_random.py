"""Keys and bits. A typed key is its two u32 here, and gives the same bits."""

import numpy as np

from tenon import _core, _transforms, lax, numpy as tnp, random
from tenon.foreign._jaxprs import dtype_of, is_key, rule, shape_of, unsupported


def _of_each(function, keys, *others):
    """function(key, …) for each of an array of keys, and of others of its shape."""
    shape = keys.shape[:-1]
    if not shape:
        return function(keys, *others)
    n = int(np.prod(shape))
    flat = [tnp.reshape(x, (n, *x.shape[len(shape):])) for x in (keys, *others)]
    made = _transforms.vmap(function)(*flat)
    return tnp.reshape(made, (*shape, *made.shape[1:]))


@rule("random_wrap")
def _random_wrap(equation, data):
    name = equation.params["impl"].name
    if name != "threefry2x32":
        raise unsupported(equation, f"keys of {name}: tenon has those of threefry2x32.")
    return data


@rule("random_unwrap", "random_clone")
def _random_unwrap(equation, keys):
    return keys


@rule("random_seed")
def _random_seed(equation, seeds):
    name = equation.params["impl"].name
    if name != "threefry2x32":
        raise unsupported(equation, f"keys of {name}: tenon has those of threefry2x32.")
    if seeds.dtype.itemsize == 8:
        halves = lax.bitcast_convert_type(seeds, np.uint32)
        return halves[..., ::-1]
    low = lax.bitcast_convert_type(_core.convert(seeds, np.int32), np.uint32)
    return tnp.stack([tnp.zeros_like(low), low], axis=-1)


@rule("random_split")
def _random_split(equation, keys):
    shape = tuple(equation.params["shape"])
    return _of_each(lambda key: tnp.reshape(random.split(key, shape), (*shape, 2)), keys)


@rule("random_fold_in")
def _random_fold_in(equation, keys, data):
    shape = np.broadcast_shapes(keys.shape[:-1], data.shape)
    return _of_each(random.fold_in, tnp.broadcast_to(keys, (*shape, 2)), tnp.broadcast_to(data, shape))


@rule("random_bits")
def _random_bits(equation, keys):
    shape, dtype = tuple(equation.params["shape"]), np.dtype(f"uint{equation.params['bit_width']}")
    return _of_each(lambda key: random.bits(key, shape, dtype), keys)


@rule("rng_bit_generator")
def _rng_bit_generator(equation, state):
    return list(lax.rng_bit_generator(state, equation.params["shape"], equation.params["dtype"], equation.params["algorithm"]))


@rule("random_gamma")
def _random_gamma(equation, keys, a):
    draw = random.loggamma if equation.params["log_space"] else random.gamma
    dtype = dtype_of(equation.outvars[0].aval)
    if is_key(equation.invars[0].aval) and keys.ndim > 1:
        return _of_each(lambda key, a: draw(key, a, a.shape, dtype), keys, a)
    return draw(keys, a, shape_of(equation.outvars[0].aval), dtype)


_rotations = (13, 15, 26, 6), (17, 29, 16, 24)


@rule("threefry2x32")
def _threefry2x32(equation, key0, key1, x0, x1):
    """Salmon et al., Parallel random numbers: as easy as 1, 2, 3: 20 rounds, the key added after each four."""
    keys = key0, key1, key0 ^ key1 ^ np.uint32(0x1BD11BDA)
    x0, x1 = x0 + key0, x1 + key1
    for group in range(5):
        for rotation in _rotations[group % 2]:
            x0 = x0 + x1
            x1 = (x1 << np.uint32(rotation)) | (x1 >> np.uint32(32 - rotation))
            x1 = x1 ^ x0
        x0, x1 = x0 + keys[(group + 1) % 3], x1 + keys[(group + 2) % 3] + np.uint32(group + 1)
    return [x0, x1]
