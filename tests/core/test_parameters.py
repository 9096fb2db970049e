import warnings

import joblib
import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from spinney.core import parameters
from spinney.core.errors import InputError
from spinney.core.parameters import (
    FLAG,
    NONE,
    ArrayLike,
    Integer,
    InvalidParameterError,
    Kind,
    OneOf,
    Real,
    Use,
    check_parameters,
    thread_count,
    warn_of_unused,
)
from spinney.data.weights import check_weights


@pytest.mark.parametrize(
    "rule, allowed, refused",
    [
        (Integer(1), [1, np.int8(3), 10**30], [0, 1.0, True, "1", None]),
        (Integer(2, 255), [2, 255], [1, 256]),
        (Real(0.0, 1.0), [0, 1, 0.5, np.float32(0.25)], [-0.1, 1.1, np.nan, np.inf, True, "0"]),
        (Real(0.0, 1.0, open_ends="()"), [0.5], [0.0, 1.0]),
        (Real(0.0, 1.0, open_ends="(", fraction=True), [1.0, 0.1], [0.0, 1, 2]),
        (Real(0.0), [0.0, 1e300], [-1e-9]),
        (OneOf(None, "a"), [None, "a", np.str_("a")], ["b", 0, False, np.str_("b")]),
        (FLAG, [True, False, np.True_], [0, 1, None]),
        (NONE, [None], [0, False]),
        (Kind("a dict", dict), [{}], [[]]),
        (ArrayLike(), [[1], (1,), np.ones(1)], ["text", {}, 3, None]),
    ],
)
def test_rules_allow_what_they_say(rule, allowed, refused):
    assert all(rule.allows(value) for value in allowed)
    assert not any(rule.allows(value) for value in refused)
    assert str(rule)


def test_the_error_names_parameter_value_and_what_it_takes():
    with pytest.raises(InvalidParameterError) as caught:
        check_parameters("Oak", {"age": -1}, {"age": (NONE, Integer(0))})
    assert str(caught.value) == "The age of Oak is -1; it takes None, or an integer of at least 0."
    assert isinstance(caught.value, ValueError) and isinstance(caught.value, TypeError)


def test_weights_are_read_and_wrong_ones_are_named_by_row():
    assert check_weights(None, 3) is None
    assert check_weights(2, 3).tolist() == [2.0, 2.0, 2.0]
    for bad, words in [
        ([1, -1, 0], "row 1"),
        ([1, 1, np.nan], "NaN in row 2"),
        ([np.inf, 1, 1], "infinity in row 0"),
        ([1e308, 1e308, 1], "sum of sample_weight"),
        ([0, 0, 0], "at least one non-zero"),
        ([1, 1], "expected"),
        ([[1], [1], [1]], "1D"),
        (["a", "b", "c"], "numbers"),
        (np.ones(3, complex), "Complex"),
        ([1, 1j, 1], "Complex"),
        (np.array([1, 1j, 1], object), "numbers"),
        (1j, "Complex"),
        (np.array(["2026-11-17"] * 3, "M8[D]"), "not dates"),
        (np.ones(3, "m8[s]"), "durations"),
    ]:
        with pytest.raises(InputError, match=words):
            check_weights(bad, 3)


def test_threads_are_those_of_the_process_and_its_limits(monkeypatch):
    monkeypatch.setattr(parameters, "_count_cores", lambda affinity: 8)
    monkeypatch.setattr(parameters, "_thread_pool_limit", lambda: 64)
    assert thread_count(None) == 8
    assert thread_count(5) == 5
    assert thread_count(-1) == joblib.cpu_count()
    for n_jobs in (1, 3):
        with joblib.parallel_config(n_jobs=n_jobs):
            assert thread_count(None) == n_jobs
    nested = joblib.Parallel(n_jobs=2, prefer="threads")(joblib.delayed(thread_count)(None) for _ in range(2))
    assert nested == [1, 1]
    assert thread_count(None) == 8  # asking changes nothing


def test_threads_are_limited_by_threadpoolctl(monkeypatch):
    monkeypatch.setattr(parameters, "_count_cores", lambda affinity: 8)
    with threadpool_limits(limits=1):
        assert thread_count(None) == 1


def test_cores_are_those_that_the_process_may_use(monkeypatch):
    monkeypatch.setattr(parameters, "_thread_pool_limit", lambda: 64)
    monkeypatch.setattr(parameters, "_affinity", lambda: 1)
    assert thread_count(None) == 1


def test_invalid_numbers_of_jobs_are_errors():
    for bad in (0, 1.5, "all", True):
        with pytest.raises(InputError, match="n_jobs"):
            thread_count(bad)


def test_a_value_that_equals_a_valid_one_is_still_checked():
    rules = {"depth": (NONE, Integer(1)), "rate": (Real(0.0, 1.0, fraction=True),)}
    for _ in range(2):  # the second time it is known
        check_parameters("Tree", {"depth": 1, "rate": 1.0, "other": "any"}, rules)
    for wrong in ({"depth": True, "rate": 1.0}, {"depth": 1, "rate": 1}, {"depth": 1.0, "rate": 1.0}):
        with pytest.raises(InvalidParameterError):
            check_parameters("Tree", wrong, rules)
    other = {"depth": (Integer(2),)}
    with pytest.raises(InvalidParameterError):
        check_parameters("Tree", {"depth": 1}, other)


def test_a_value_without_effect_is_named_in_every_fit_of_its_class():
    uses = (Use(("degree",), "kernel", values=("poly",)),)

    def estimator(default):
        class Kernel:
            def __init__(self, kernel="rbf", degree=default):
                self.kernel, self.degree = kernel, degree

        return Kernel

    cubic, square = estimator(3), estimator(2)
    for _ in range(2):  # the second time the values in order are known
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warn_of_unused(cubic(degree=3), uses)
            warn_of_unused(cubic("poly", degree=2), uses)
            warn_of_unused(square(degree=2), uses)
        for wrong in (square(degree=3), cubic(degree=2), cubic("linear", degree=4)):
            with pytest.warns(UserWarning, match="degree=. has no effect on Kernel"):
                warn_of_unused(wrong, uses)
