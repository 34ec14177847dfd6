"""checkpoint() with policies: what reverse mode keeps, and that gradients stay what they are."""

import re

import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp
from tenon import lax
from tenon.ad_checkpoint import checkpoint_name

P = tn.checkpoint_policies
W = np.arange(16.0).reshape(4, 4) / 16
X = np.linspace(0.1, 1, 4)


def layer(w, x):
    y = checkpoint_name(tnp.sin(w @ x), "sine")
    return tnp.sum(checkpoint_name(tnp.cos(w @ y), "cosine") ** 2)


def kept(f, *args):
    """How many arrays are stored for reverse mode."""
    return int(re.search(r"in (\d+) array", tn.saved_residuals(f, *args)).group(1))


def test_names_are_identities():
    assert checkpoint_name(2.0, "a") == 2 and tn.grad(lambda x: checkpoint_name(x, "a") ** 2)(3.0) == 6
    tree = checkpoint_name({"a": tnp.ones(2), "b": 1.0}, "b")
    assert tree["a"].tolist() == [1, 1] and tree["b"] == 1
    assert tn.vmap(lambda x: checkpoint_name(x, "a") * 2)(X).tolist() == (X * 2).tolist()
    assert tn.jvp(lambda x: checkpoint_name(x, "a"), (1.0,), (3.0,))[1] == 3
    assert "checkpoint_name" in str(tn.make_program(lambda x: checkpoint_name(x, "a"))(1.0))
    with pytest.raises(TypeError, match="name is a str"):
        checkpoint_name(1.0, 2)


def test_policies_say_what_is_kept():
    def of(policy):
        return kept(tn.checkpoint(layer, policy=policy), W, X)

    assert of(None) == of(P.nothing_saveable) == of(P.save_only_these_names("other")) == 0
    assert of(P.save_only_these_names("sine")) == of(P.save_only_these_names("cosine")) == 1
    assert of(P.save_only_these_names("sine", "cosine")) == of(P.save_any_names_but_these("other")) == 2
    assert of(P.save_any_names_but_these("sine")) == 1
    assert of(P.dots_saveable) == of(P.dots_with_no_batch_dims_saveable) == 2
    assert of(P.save_from_both_policies(P.save_only_these_names("cosine"), P.dots_saveable)) == 3
    assert of(P.save_and_offload_only_these_names(names_which_can_be_saved=["sine"],
                                                  names_which_can_be_offloaded=["cosine"])) == 2
    assert of(P.offload_dot_with_no_batch_dims("device", "pinned_host")) == 2
    assert of(P.save_anything_except_these_names("sine")) > 0
    assert of(lambda prim, *_, **__: str(prim) == "sin") == of(lambda prim, *_, **__: prim.name == "sin") == 1


def test_batched_products_are_told_apart():
    batched = tn.vmap(lambda a, b: a @ b)

    def f(a):
        return tnp.sum(tnp.sin(batched(a, a)))

    a = np.ones((2, 3, 3))
    assert kept(tn.checkpoint(f, policy=P.dots_saveable), a) == 1
    assert kept(tn.checkpoint(f, policy=P.dots_with_no_batch_dims_saveable), a) == 0


def test_policy_is_told_operands_and_parameters():
    told = []

    def policy(prim, *operands, **params):
        told.append((prim.name, [o.shape for o in operands], params))
        return False

    tn.grad(tn.checkpoint(lambda w, x: layer(w, x), policy=policy))(W, X)
    dots = [t for t in told if t[0] == "dot_general"]
    assert dots[0][1] == [(4, 4), (4,)] and dots[0][2]["dimension_numbers"] == (((1,), (0,)), ((), ()))
    assert [t[2]["name"] for t in told if t[0] == "name"] == ["sine", "cosine"]
    with pytest.raises(TypeError, match="policy is a function"):
        tn.checkpoint(layer, policy="all")


@pytest.mark.parametrize("policy", [
    None, P.dots_saveable, P.everything_saveable, P.save_only_these_names("sine"), lambda *_, **__: True,
    P.save_anything_except_these_names("sine")])
def test_gradients_are_the_same(policy):
    frugal = tn.checkpoint(layer, policy=policy)
    expected = tn.grad(layer)(W, X)
    assert np.allclose(tn.grad(frugal)(W, X), expected)
    assert np.allclose(tn.jit(tn.grad(frugal))(W, X), expected)
    assert np.allclose(tn.vmap(tn.grad(frugal), (None, 0))(W, np.stack([X, X]))[1], expected)
    assert np.allclose(tn.hessian(frugal, 1)(W, X), tn.hessian(layer, 1)(W, X))

    def in_loop(w):
        return tnp.sum(lax.scan(tn.checkpoint(lambda c, _: (tnp.sin(w @ c), layer(w, c)), policy=policy), X, None, 3)[1])

    def plain(w):
        return tnp.sum(lax.scan(lambda c, _: (tnp.sin(w @ c), layer(w, c)), X, None, 3)[1])

    assert np.allclose(tn.grad(in_loop)(W), tn.grad(plain)(W))


def test_jitted_functions_are_looked_into():
    f = tn.checkpoint(tn.jit(layer), policy=P.save_only_these_names("sine"))
    assert kept(f, W, X) == 1 and np.allclose(tn.grad(f)(W, X), tn.grad(layer)(W, X))
