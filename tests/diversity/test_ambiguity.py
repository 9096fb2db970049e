import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.ensemble import RandomForestRegressor, VotingRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics import mean_squared_error

from diversity.tables import problems, random_votes
from spinney.core.errors import InputError
from spinney.diversity import error_ambiguity, kohavi_wolpert
from spinney.diversity.ambiguity import vote_ambiguity
from spinney.diversity.pairwise import errors_of
from spinney.diversity.votes import count_pairs, read_votes

NUMBERS = st.floats(-1e6, 1e6)


@st.composite
def regressions(draw):
    n, T, outputs = draw(st.integers(1, 6)), draw(st.integers(1, 5)), draw(st.sampled_from([None, 1, 3]))
    shape = (n, T) if outputs is None else (n, T, outputs)
    predictions = draw(arrays(np.float64, shape, elements=NUMBERS))
    y = draw(arrays(np.float64, (n,) if outputs is None else (n, outputs), elements=NUMBERS))
    positive = st.floats(0.01, 100)
    weights = draw(st.none() | arrays(np.float64, T, elements=positive))
    sample_weight = draw(st.none() | arrays(np.float64, n, elements=positive))
    return predictions, y, weights, sample_weight


@pytest.mark.filterwarnings("ignore:A column-vector y")
@given(regressions())
def test_error_is_mean_error_less_ambiguity(problem):
    predictions, y, weights, sample_weight = problem
    parts = error_ambiguity(predictions, y, weights=weights, sample_weight=sample_weight)
    scale = max(parts.mean_error, 1e-300)
    assert abs(parts.error - (parts.mean_error - parts.ambiguity)) <= 1e-12 * scale
    row_scale = np.maximum(parts.mean_error_by_row, 1e-300)
    by_row = parts.mean_error_by_row - parts.ambiguity_by_row
    assert (np.abs(parts.error_by_row - by_row) <= 1e-12 * row_scale).all()
    assert parts.weights @ parts.error_by_member == pytest.approx(parts.mean_error, rel=1e-12)
    assert parts.weights @ parts.ambiguity_by_member == pytest.approx(parts.ambiguity, rel=1e-12)
    assert parts.ambiguity >= 0


def test_the_parts_are_what_they_are_called():
    draw = np.random.default_rng(0)
    predictions, y = draw.normal(size=(50, 4)), draw.normal(size=50)
    weights, sample_weight = draw.random(4), draw.random(50)
    parts = error_ambiguity(predictions, y, weights=weights, sample_weight=sample_weight)
    mean = predictions @ weights / weights.sum()
    assert parts.error == pytest.approx(mean_squared_error(y, mean, sample_weight=sample_weight))
    errors = [mean_squared_error(y, member, sample_weight=sample_weight) for member in predictions.T]
    np.testing.assert_allclose(parts.error_by_member, errors)
    spread = [mean_squared_error(mean, member, sample_weight=sample_weight) for member in predictions.T]
    np.testing.assert_allclose(parts.ambiguity_by_member, spread)
    assert parts.mean_error == pytest.approx(np.average(errors, weights=weights))
    np.testing.assert_allclose(parts.error_by_row, (mean - y) ** 2)


def test_a_large_offset_costs_no_digits():
    draw = np.random.default_rng(0)
    predictions, y = draw.integers(-8, 8, (20, 4)).astype(float), draw.integers(-8, 8, 20).astype(float)
    near, far = error_ambiguity(predictions, y), error_ambiguity(predictions + 2.0**50, y + 2.0**50)
    assert (near.error, near.mean_error, near.ambiguity) == (far.error, far.mean_error, far.ambiguity)


def test_a_fitted_ensemble_is_averaged_by_its_own_weights():
    draw = np.random.default_rng(0)
    X = draw.normal(size=(80, 3))
    y = X[:, 0] * X[:, 1] + draw.normal(size=80)
    members = [("a", LinearRegression()), ("out", "drop"), ("b", Ridge(50.0))]
    voting = VotingRegressor(members, weights=[1, 7, 3]).fit(X, y)
    forest = RandomForestRegressor(5, random_state=0).fit(X, y)
    for ensemble in (voting, forest):
        parts = error_ambiguity(ensemble, y, X=X)
        assert parts.error == pytest.approx(mean_squared_error(y, ensemble.predict(X)), rel=1e-12)
    assert error_ambiguity(voting, y, X=X).weights.tolist() == [0.25, 0.75]
    assert error_ambiguity(voting, y, X=X, weights=[1, 1]).weights.tolist() == [0.5, 0.5]


def test_several_outputs_are_averaged():
    draw = np.random.default_rng(0)
    predictions, y = draw.normal(size=(30, 4, 2)), draw.normal(size=(30, 2))
    both = error_ambiguity(predictions, y)
    each = [error_ambiguity(predictions[:, :, k], y[:, k]) for k in range(2)]
    assert both.ambiguity == pytest.approx(np.mean([one.ambiguity for one in each]))
    assert both.error == pytest.approx(np.mean([one.error for one in each]))


def test_the_table_has_one_row_a_row():
    frame = error_ambiguity([[1.0, 3.0], [2.0, 2.0]], [2.5, 2.0]).to_frame()
    assert frame.columns.tolist() == ["error", "mean_error", "ambiguity"]
    assert frame["mean_error"].tolist() == [1.25, 0.0]


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([["a", "b"]], [1.0]), {}, "must be numbers"),
        (([[1.0, np.nan]], [1.0]), {}, "A prediction is nan in column 1, row 0"),
        (([1.0, 2.0], [1.0, 2.0]), {}, r"shape \(2,\)"),
        (([[1.0, 2.0]], [1.0, 2.0]), {}, "1 rows, y has 2"),
        (([[1.0, 2.0]], [[1.0, 2.0]]), {}, "y has 2 outputs, but the predictions have 1"),
        (([[1e200, 2.0]], [1.0]), {}, "infinite"),
        (([[1.0, 2.0]], [1.0]), {"weights": [1.0]}, "2 members"),
        (([[1.0, 2.0]], [1.0]), {"weights": [1.0, -1.0]}, "at least 0"),
        (([[1.0, 2.0]], [1.0]), {"weights": [0.0, 0.0]}, "not all 0"),
        (([[1.0, 2.0]], [1.0]), {"weights": ["x", "y"]}, "must be numbers"),
    ],
)
def test_bad_input_is_named(arguments, options, message):
    with pytest.raises(InputError, match=message):
        error_ambiguity(*arguments, **options)


def of_votes(predictions, y, weights=None):
    votes = read_votes(predictions, y, sample_weight=weights)
    return vote_ambiguity(votes, count_pairs(votes), errors_of(count_pairs(votes.correctness())))


@given(problems())
def test_votes_as_vectors_of_0_and_1(problem):
    """One row at a time: half of squared distances between vectors."""
    rows, y, weights = problem
    parts = of_votes(rows, y, weights)
    labels = sorted({*y, *(answer for row in rows for answer in row)})
    given_weights = np.ones(len(rows)) if weights is None else np.array(weights, dtype=float)
    kept = given_weights > 0
    one_hot = np.array(
        [[[answer == label for label in labels] for answer in row] for row in rows], dtype=float
    )
    truth = np.array([[answer == label for label in labels] for answer in y], dtype=float)[:, None]
    mean = one_hot.mean(axis=1, keepdims=True)

    def half(one, other):
        return (((one - other) ** 2).sum(axis=2) / 2)[kept]

    kept_weights = given_weights[kept]
    for found, expected in (
        (parts.error_by_row, half(mean, truth)[:, 0]),
        (parts.mean_error_by_row, half(one_hot, truth).mean(axis=1)),
        (parts.ambiguity_by_row, half(one_hot, mean).mean(axis=1)),
        (parts.error_by_member, np.average(half(one_hot, truth), axis=0, weights=kept_weights)),
        (parts.ambiguity_by_member, np.average(half(one_hot, mean), axis=0, weights=kept_weights)),
    ):
        np.testing.assert_allclose(found, expected, atol=1e-12)
    assert parts.error == pytest.approx(parts.mean_error - parts.ambiguity, abs=1e-12)


def test_the_ambiguity_of_votes_is_their_variance():
    predictions, y = random_votes(200, 7, 4)
    parts = of_votes(predictions, y)
    assert parts.ambiguity == pytest.approx(kohavi_wolpert(predictions))
    assert parts.mean_error == pytest.approx(np.mean(predictions != y[:, None]))
