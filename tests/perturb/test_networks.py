"""Networks: arithmetic with the same bits everywhere, gradients, Adam, training and its ledger."""

import hashlib
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import approx_fprime

import spinney as sp
from spinney.io import CorruptModelFile, dumps
from spinney.perturb.networks import (
    Adam,
    EpochLedger,
    Examples,
    Networks,
    Training,
    draw_networks,
    exponential,
    gradient,
    product,
    spread,
    train,
)

RNG = np.random.default_rng(0)
INPUTS, WEIGHTS = RNG.normal(size=(12, 3)), RNG.dirichlet(np.ones(12))
NUMBERS = RNG.normal(size=(12, 2))
CLASSES = np.eye(2)[RNG.integers(0, 2, 12)]
each_link = pytest.mark.parametrize("link, target", [("identity", NUMBERS), ("softmax", CLASSES)])

MANY = RNG.normal(size=(90, 3))
EXAMPLES = Examples(MANY, np.sin(2 * MANY[:, :1]) + 0.1 * RNG.normal(size=(90, 1)), RNG.uniform(0.5, 1.5, 90))
OPTIONS = Training(
    penalty=0.0,
    alpha=1e-4,
    learning_rate_init=0.01,
    batch_size=25,
    max_iter=40,
    tol=0.0,
    n_iter_no_change=100,
)


def objective(networks, inputs, target, weights, penalty, alpha):
    found = spread(networks.outputs(inputs), target, weights)
    decay = sum(np.square(w).sum() for w in (networks.input_weights, networks.output_weights))
    return 0.5 * (len(networks) * (found.members - penalty * found.ambiguity) + alpha * decay)


def ledger_of(epochs):
    return EpochLedger(*np.array(epochs).T.copy())


# ---- arithmetic ----


def test_a_product_has_the_same_bits_in_any_order_of_summation():
    for seed in range(8):
        rng = np.random.default_rng(seed)
        n, k, m = rng.integers(1, 300, 3)
        a = rng.normal(size=(2, n, k)) * 10.0 ** rng.integers(-8, 8, (2, n, 1))
        b = rng.normal(size=(2, k, m)) * 10.0 ** rng.integers(-8, 8, (2, 1, m))
        found, order = product(a, b), rng.permutation(k)
        assert_array_equal(product(a[:, :, order], b[:, order]), found)
        assert_array_equal(product(a[:, ::2], b[1]), product(a, b[1])[:, ::2])
        size = np.abs(a).max(axis=2, keepdims=True) * np.abs(b).max(axis=1, keepdims=True)
        assert (np.abs(found - a @ b) <= 2.0**-40 * k * size).all()
    assert_array_equal(product(np.zeros((2, 3)), np.full((3, 1), 1e-300)), 0.0)


def test_the_exponential_is_right_to_the_last_bits():
    x = np.concatenate([np.linspace(-700, 700, 20_001), [0.0, 1e-300, -1e-9]])
    assert_allclose(exponential(x), np.exp(x), rtol=5e-16)
    assert_array_equal(exponential(np.array([800.0, -800.0])), exponential(np.array([708.0, -708.0])))


def fitted_bytes():
    """Return a hash of models and their predictions."""
    inputs = np.linspace(-3, 3, 300).reshape(100, 3) ** 3
    target = (inputs[:, 0] * 7 % 3).astype(int)
    settings = {"n_estimators": 3, "max_iter": 15, "random_state": 0, "ledger": True}
    found = hashlib.sha256()
    for kind in (sp.NegativeCorrelationClassifier, sp.NegativeCorrelationRegressor):
        for early_stopping in (False, True):
            model = kind(early_stopping=early_stopping, **settings).fit(inputs, target)
            found.update(dumps(model))
            found.update(model.predict_members(inputs).tobytes() + model.predict(inputs).tobytes())
    return found.hexdigest()


def test_every_processor_gives_the_same_bytes():
    """NumPy and OpenBLAS choose instructions by processor; both can be told to be an old one."""
    old = {
        "NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3 AVX512F AVX512_SKX",
        "OPENBLAS_CORETYPE": "Prescott",
        "PYTHONWARNINGS": "ignore",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    command = [sys.executable, "-c", "from perturb import test_networks as test; print(test.fitted_bytes())"]
    run = subprocess.run(command, env=os.environ | old, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == fitted_bytes()


# ---- networks ----


@each_link
def test_the_gradient_is_that_of_the_objective(link, target):
    networks = draw_networks(3, 3, 4, 2, link, seed=1)
    layers = networks.layers

    def unpack(flat):
        first, second = np.split(flat, [layers[0].size])
        return Networks.of((first.reshape(layers[0].shape), second.reshape(layers[1].shape)), link)

    for penalty in (0.0, 0.3, 1.0):
        found, outputs = gradient(layers, link, Examples(INPUTS, target, WEIGHTS), penalty, 0.1)
        numeric = approx_fprime(
            np.concatenate([layer.ravel() for layer in layers]),
            lambda flat, penalty=penalty: objective(unpack(flat), INPUTS, target, WEIGHTS, penalty, 0.1),
            1e-7,
        )
        assert_allclose(np.concatenate([layer.ravel() for layer in found]), numeric, atol=2e-6)
        assert_allclose(outputs, networks.outputs(INPUTS))


def test_the_penalty_is_that_of_liu_and_yao():
    """Their p_m = (F_m − F̄) Σ_{l≠m} (F_l − F̄), with weight ½ λ and F̄ as it is, gives the same objective."""
    networks = draw_networks(4, 3, 5, 1, "identity", seed=2)
    outputs, target = networks.outputs(INPUTS)[:, :, 0], NUMBERS[:, 0]
    mean = outputs.mean(axis=0)
    expected = 0.0
    for m, one in enumerate(outputs):
        others = sum(other - mean for k, other in enumerate(outputs) if k != m)
        expected += (WEIGHTS * (0.5 * (one - target) ** 2 + 0.5 * 0.7 * (one - mean) * others)).sum()
    assert_allclose(objective(networks, INPUTS, NUMBERS[:, :1], WEIGHTS, 0.7, 0.0), expected)


@each_link
def test_full_penalty_trains_the_mean_alone(link, target):
    """λ = 1 leaves M times the error of the mean: members count by nothing else."""
    networks = draw_networks(3, 3, 4, 2, link, seed=1)
    error = (WEIGHTS @ ((networks.outputs(INPUTS).mean(axis=0) - target) ** 2)).sum()
    assert_allclose(objective(networks, INPUTS, target, WEIGHTS, 1.0, 0.0), 0.5 * 3 * error)


def test_a_network_is_the_formula():
    networks = draw_networks(2, 3, 4, 2, "identity", seed=0)
    W, b, V, c = (
        array[1]
        for array in (
            networks.input_weights,
            networks.hidden_bias,
            networks.output_weights,
            networks.output_bias,
        )
    )
    assert_allclose(networks.outputs(INPUTS)[1], np.tanh(INPUTS @ W + b) @ V + c)


@each_link
def test_error_is_mean_error_less_ambiguity(link, target):
    outputs = draw_networks(5, 3, 4, 2, link, seed=3).outputs(INPUTS)
    found = spread(outputs, target, WEIGHTS)
    assert_allclose(found.ensemble, found.members - found.ambiguity, atol=1e-12)
    assert found.ambiguity > 0


def test_outputs_of_a_softmax_are_probabilities():
    outputs = draw_networks(2, 3, 4, 3, "softmax", seed=0).outputs(100 * INPUTS)
    assert (outputs >= 0).all()
    assert_allclose(outputs.sum(axis=2), 1.0)


def test_each_network_is_drawn_by_itself():
    few, many = draw_networks(2, 3, 4, 1, "identity", 5), draw_networks(6, 3, 4, 1, "identity", 5)
    for one, other in zip(few.layers, many.layers, strict=True):
        assert_array_equal(one, other[:2])
    assert len(np.unique(many.input_weights)) == many.input_weights.size


@pytest.mark.parametrize("name", ["input_weights", "hidden_bias", "output_weights", "output_bias"])
def test_weights_that_do_not_fit_are_refused(name):
    networks = draw_networks(2, 3, 4, 2, "identity", 0)
    array = getattr(networks, name)
    for wrong in (array[:1], array.astype(np.float32), array[0], array + np.nan):
        with pytest.raises(CorruptModelFile):
            replace(networks, **{name: wrong})
    with pytest.raises(CorruptModelFile):
        replace(networks, link="relu")


# ---- training ----


@pytest.mark.parametrize("link", ["identity", "softmax"])
def test_no_penalty_is_independent_training_to_the_last_bit(link):
    examples = (
        EXAMPLES if link == "identity" else Examples(MANY, np.eye(2)[(MANY[:, 0] > 0) * 1], EXAMPLES.weights)
    )
    start = draw_networks(5, 3, 8, examples.target.shape[1], link, seed=0)
    together, _ = train(start, examples, OPTIONS, seed=7)
    for m in range(5):
        only = Networks.of(tuple(layer[m : m + 1] for layer in start.layers), link)
        alone, _ = train(only, examples, OPTIONS, seed=7)
        for one, other in zip(together.layers, alone.layers, strict=True):
            assert_array_equal(one[m], other[0])
    tied, _ = train(start, examples, replace(OPTIONS, penalty=0.5), seed=7)
    assert not np.array_equal(tied.input_weights, together.input_weights)


def test_training_lowers_the_objective_and_leaves_the_start_alone():
    start = draw_networks(4, 3, 8, 1, "identity", seed=0)
    before = start.layers
    trained, epochs = train(start, EXAMPLES, replace(OPTIONS, penalty=0.5), seed=0)
    ledger, weights = ledger_of(epochs), EXAMPLES.weights / EXAMPLES.weights.sum()
    values = [objective(n, MANY, EXAMPLES.target, weights, 0.5, 1e-4) for n in (start, trained)]
    assert values[1] < 0.3 * values[0]
    assert len(ledger) == 40 and ledger.ensemble[-1] < 0.3 * ledger.ensemble[0]
    for array, old in zip(start.layers, before, strict=True):
        assert_array_equal(array, old)


def test_every_epoch_of_the_ledger_obeys_the_decomposition():
    start = draw_networks(4, 3, 8, 1, "identity", 0)
    ledger = ledger_of(train(start, EXAMPLES, replace(OPTIONS, penalty=0.7, alpha=0.0), seed=0)[1])
    assert_allclose(ledger.ensemble, ledger.members - ledger.ambiguity, atol=1e-12)
    assert np.isnan(ledger.validation).all() and "validation" not in ledger.to_columns()
    assert ledger.to_frame().shape == (40, 4)
    assert ledger.to_records()[0]["epoch"] == 1


def test_training_stops_without_improvement():
    impatient = replace(
        OPTIONS, alpha=0.0, batch_size=90, learning_rate_init=1e-9, max_iter=500, tol=1e-3, n_iter_no_change=4
    )
    _, epochs = train(draw_networks(2, 3, 8, 1, "identity", 0), EXAMPLES, impatient, seed=0)
    assert len(epochs) == 1 + 4


@pytest.mark.filterwarnings("ignore")
def test_training_that_diverges_is_an_error():
    with pytest.raises(ValueError, match=r"diverged.*learning_rate_init"):
        train(
            draw_networks(2, 3, 8, 1, "identity", 0), EXAMPLES, replace(OPTIONS, learning_rate_init=1e308), 0
        )


def test_with_rows_held_out_networks_and_ledger_end_with_the_best_epoch():
    rng = np.random.default_rng(1)
    noise = Examples(rng.normal(size=(30, 3)), rng.normal(size=(30, 1)), np.ones(30))
    held_out = Examples(rng.normal(size=(200, 3)), rng.normal(size=(200, 1)), np.ones(200))
    options = replace(OPTIONS, alpha=0.0, batch_size=10, learning_rate_init=0.05, max_iter=60)
    start = draw_networks(3, 3, 16, 1, "identity", 0)
    kept, epochs = train(start, noise, options, 0, held_out)

    def error(networks):
        return ((networks.outputs(held_out.inputs).mean(axis=0) - held_out.target) ** 2).mean()

    validation = ledger_of(epochs).validation
    assert error(kept) == pytest.approx(validation.min(), rel=1e-12)
    assert validation.argmin() == len(validation) - 1 < 30
    assert error(train(start, noise, options, 0)[0]) > 1.2 * validation.min()


def test_adam_takes_the_steps_of_the_paper():
    array, slopes = (
        np.array([1.0, -2.0]),
        [np.array([0.5, -1.0]), np.array([0.1, 3.0]), np.array([-0.2, 0.0])],
    )
    adam, m, v, expected = Adam((array,), 0.1), 0.0, 0.0, array.copy()
    for t, g in enumerate(slopes, start=1):
        adam.step((array,), (g,))
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        expected -= 0.1 * np.sqrt(1 - 0.999**t) / (1 - 0.9**t) * m / (np.sqrt(v) + 1e-8)
    assert_allclose(array, expected, rtol=1e-12)
