import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime

from spinney.io import CorruptModelFile
from spinney.perturb.networks import Networks, Objective, draw_networks, spread

RNG = np.random.default_rng(0)
INPUTS, SHARES = RNG.normal(size=(12, 3)), RNG.dirichlet(np.ones(12))
NUMBERS = RNG.normal(size=(12, 2))
CLASSES = np.eye(2)[RNG.integers(0, 2, 12)]
each_link = pytest.mark.parametrize("link, target", [("identity", NUMBERS), ("softmax", CLASSES)])


def unpack(flat, like):
    parts, begin = [], 0
    for array in like.arrays:
        parts.append(flat[begin : begin + array.size].reshape(array.shape))
        begin += array.size
    return Networks.of(parts, like.link)


@each_link
@pytest.mark.parametrize("penalty", [0.0, 0.3, 1.0])
def test_the_gradient_is_that_of_the_objective(link, target, penalty):
    networks, objective = draw_networks(3, 3, 4, 2, link, seed=1), Objective(penalty, alpha=0.1)
    found, outputs = objective.gradient(networks.arrays, link, INPUTS, target, SHARES)
    numeric = approx_fprime(
        np.concatenate([array.ravel() for array in networks.arrays]),
        lambda flat: objective.value(unpack(flat, networks), INPUTS, target, SHARES),
        1e-7,
    )
    assert_allclose(np.concatenate([array.ravel() for array in found]), numeric, atol=2e-6)
    assert_allclose(outputs, networks.outputs(INPUTS))


def test_the_penalty_is_that_of_liu_and_yao():
    """Their p_m = (F_m − F̄) Σ_{l≠m} (F_l − F̄), with weight ½ λ and F̄ as it is, gives the same objective."""
    networks = draw_networks(4, 3, 5, 1, "identity", seed=2)
    outputs, target = networks.outputs(INPUTS)[:, :, 0], NUMBERS[:, 0]
    mean = outputs.mean(axis=0)
    expected = 0.0
    for m, one in enumerate(outputs):
        others = sum(other - mean for k, other in enumerate(outputs) if k != m)
        expected += (SHARES * (0.5 * (one - target) ** 2 + 0.5 * 0.7 * (one - mean) * others)).sum()
    assert_allclose(Objective(0.7, 0.0).value(networks, INPUTS, NUMBERS[:, :1], SHARES), expected)


@each_link
def test_full_penalty_trains_the_mean_alone(link, target):
    """λ = 1 leaves M times the error of the mean: members count by nothing else."""
    networks = draw_networks(3, 3, 4, 2, link, seed=1)
    error = (SHARES @ ((networks.outputs(INPUTS).mean(axis=0) - target) ** 2)).sum()
    assert_allclose(Objective(1.0, 0.0).value(networks, INPUTS, target, SHARES), 0.5 * 3 * error)


def test_a_network_is_the_formula():
    networks = draw_networks(2, 3, 4, 2, "identity", seed=0)
    W, b, V, c = (array[1] for array in networks.arrays)
    assert_allclose(networks.outputs(INPUTS)[1], np.tanh(INPUTS @ W + b) @ V + c)


@each_link
def test_error_is_mean_error_less_ambiguity(link, target):
    outputs = draw_networks(5, 3, 4, 2, link, seed=3).outputs(INPUTS)
    found = spread(outputs, target, SHARES)
    assert_allclose(found.ensemble, found.members - found.ambiguity, atol=1e-12)
    assert found.ambiguity > 0


def test_outputs_of_a_softmax_are_probabilities():
    outputs = draw_networks(2, 3, 4, 3, "softmax", seed=0).outputs(100 * INPUTS)
    assert (outputs >= 0).all()
    assert_allclose(outputs.sum(axis=2), 1.0)


def test_each_network_is_drawn_by_itself():
    few, many = draw_networks(2, 3, 4, 1, "identity", 5), draw_networks(6, 3, 4, 1, "identity", 5)
    for one, other in zip(few.arrays, many.arrays, strict=True):
        np.testing.assert_array_equal(one, other[:2])
    assert len(np.unique(many.input_weights)) == many.input_weights.size


@pytest.mark.parametrize("place", range(4))
def test_weights_that_do_not_fit_are_refused(place):
    arrays = list(draw_networks(2, 3, 4, 2, "identity", 0).arrays)
    for wrong in (
        arrays[place][:1],
        arrays[place].astype(np.float32),
        arrays[place][0],
        arrays[place] * np.nan,
    ):
        with pytest.raises(CorruptModelFile):
            Networks.of([*arrays[:place], wrong, *arrays[place + 1 :]], "identity")
    with pytest.raises(CorruptModelFile):
        Networks.of(arrays, "relu")
