import numpy as np
import pytest
from numpy.testing import assert_array_equal

from spinney.perturb.networks import Networks, Objective, draw_networks
from spinney.perturb.training import Adam, Examples, Schedule, train

RNG = np.random.default_rng(0)
INPUTS = RNG.normal(size=(90, 3))
EXAMPLES = Examples(
    INPUTS, np.sin(2 * INPUTS[:, :1]) + 0.1 * RNG.normal(size=(90, 1)), RNG.uniform(0.5, 1.5, 90)
)
SCHEDULE = Schedule(batch_size=25, learning_rate=0.01, max_epochs=40, tol=0.0, patience=100)


@pytest.mark.parametrize("link", ["identity", "softmax"])
def test_no_penalty_is_independent_training_to_the_last_bit(link):
    examples = (
        EXAMPLES
        if link == "identity"
        else Examples(INPUTS, np.eye(2)[(INPUTS[:, 0] > 0) * 1], EXAMPLES.weights)
    )
    start = draw_networks(5, 3, 8, examples.target.shape[1], link, seed=0)
    together, _ = train(start, examples, Objective(0.0, 1e-4), SCHEDULE, seed=7)
    for m in range(5):
        only = Networks.of((array[m : m + 1] for array in start.arrays), link)
        alone, _ = train(only, examples, Objective(0.0, 1e-4), SCHEDULE, seed=7)
        for one, other in zip(together.arrays, alone.arrays, strict=True):
            assert_array_equal(one[m], other[0])
    tied, _ = train(start, examples, Objective(0.5, 1e-4), SCHEDULE, seed=7)
    assert not np.array_equal(tied.input_weights, together.input_weights)


def test_training_lowers_the_objective_and_leaves_the_start_alone():
    start, objective = draw_networks(4, 3, 8, 1, "identity", seed=0), Objective(0.5, 1e-4)
    before = [array.copy() for array in start.arrays]
    trained, ledger = train(start, EXAMPLES, objective, SCHEDULE, seed=0)
    shares = EXAMPLES.weights / EXAMPLES.weights.sum()
    values = [objective.value(n, INPUTS, EXAMPLES.target, shares) for n in (start, trained)]
    assert values[1] < 0.3 * values[0]
    assert len(ledger) == 40 and ledger.ensemble[-1] < 0.3 * ledger.ensemble[0]
    for array, old in zip(start.arrays, before, strict=True):
        assert_array_equal(array, old)


def test_every_epoch_of_the_ledger_obeys_the_decomposition():
    _, ledger = train(
        draw_networks(4, 3, 8, 1, "identity", 0), EXAMPLES, Objective(0.7, 0.0), SCHEDULE, seed=0
    )
    np.testing.assert_allclose(ledger.ensemble, ledger.members - ledger.ambiguity, atol=1e-12)
    assert np.isnan(ledger.validation).all() and "validation" not in ledger.to_columns()
    assert ledger.to_frame().shape == (40, 4)
    assert ledger.to_records()[0]["epoch"] == 1


def test_training_ends_when_nothing_is_gained():
    impatient = Schedule(batch_size=90, learning_rate=1e-9, max_epochs=500, tol=1e-3, patience=4)
    _, ledger = train(
        draw_networks(2, 3, 8, 1, "identity", 0), EXAMPLES, Objective(0.0, 0.0), impatient, seed=0
    )
    assert len(ledger) == 1 + 4 + 1


def test_with_rows_held_out_the_best_networks_are_kept():
    rng = np.random.default_rng(1)
    noise = Examples(rng.normal(size=(30, 3)), rng.normal(size=(30, 1)), np.ones(30))
    held_out = Examples(rng.normal(size=(200, 3)), rng.normal(size=(200, 1)), np.ones(200))
    schedule = Schedule(batch_size=10, learning_rate=0.05, max_epochs=60, tol=0.0, patience=100)
    start = draw_networks(3, 3, 16, 1, "identity", 0)
    kept, ledger = train(start, noise, Objective(0.0, 0.0), schedule, 0, held_out)
    error = ((kept.outputs(held_out.inputs).mean(axis=0) - held_out.target) ** 2).mean()
    assert error == pytest.approx(ledger.validation.min(), rel=1e-12)
    assert ledger.validation.argmin() < 30 and ledger.validation[-1] > 1.2 * ledger.validation.min()


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
    np.testing.assert_allclose(array, expected, rtol=1e-12)
