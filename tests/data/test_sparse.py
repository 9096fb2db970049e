"""Sparse matrices whose index arrays do not fit their shape are refused before compiled code follows them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import spinney as sp
from spinney.core.errors import InputError
from spinney.data.sparse import checked_sparse
from spinney.io import dumps

DENSE = np.array([[1.0, 0, 2], [0, 3, 0], [4, 0, 5], [0, 0, 6]])
Y = [0, 1, 0, 1]


def indices(matrix: Any, value: int) -> None:
    matrix.indices[0] = value


def ends(matrix: Any) -> None:
    matrix.indptr[-1] = 10**9


def falls(matrix: Any) -> None:
    matrix.indptr[1] = matrix.indptr[2] + 1


def begins(matrix: Any) -> None:
    matrix.indptr[0] = -5


def too_few_starts(matrix: Any) -> None:
    matrix.indptr = matrix.indptr[:-1]


def too_few_values(matrix: Any) -> None:
    matrix.data = matrix.data[:2]


DAMAGE: dict[str, tuple[str, Callable[[Any], None]]] = {
    f"{form}-{name}": (form, damage)
    for form in ("csr", "csc", "bsr")
    for name, damage in {
        "large index": lambda m: indices(m, 10**8),
        "negative index": lambda m: indices(m, -1),
        "end": ends,
        "order": falls,
        "begin": begins,
        "starts": too_few_starts,
        "values": too_few_values,
    }.items()
}
DAMAGE |= {
    f"{form}-no {name}": (form, lambda m, name=name: setattr(m, name, None))  # type: ignore[misc]
    for form in ("csr", "csc")
    for name in ("indptr", "indices", "data")
}
DAMAGE["coo-index"] = ("coo", lambda m: m.coords[1].__setitem__(0, 10**8))
DAMAGE["coo-negative"] = ("coo", lambda m: m.coords[0].__setitem__(0, -1))
DAMAGE["lil-index"] = ("lil", lambda m: m.rows[0].__setitem__(0, 10**8))
DAMAGE["lil-lengths"] = ("lil", lambda m: m.data[0].extend([1.0] * 50))
DAMAGE["dok-index"] = ("dok", lambda m: m._dict.__setitem__((0, 10**8), 1.0))


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_matrix_is_refused(name: str) -> None:
    form, damage = DAMAGE[name]
    matrix = sparse.csr_array(DENSE).asformat(form)
    damage(matrix)
    with pytest.raises(InputError, match="sparse matrix X is not valid"):
        checked_sparse(matrix)
    for model in (
        sp.DecisionTreeClassifier(),
        sp.BaggingClassifier(n_estimators=2),
        sp.HistGradientBoostingClassifier(max_iter=1),
        sp.AdaBoostClassifier(sp.LogisticRegression(), n_estimators=1),
        sp.GaussianNB(),
    ):
        with pytest.raises((InputError, TypeError)):
            model.fit(matrix, Y)


@pytest.mark.parametrize("form", ["csr", "csc", "bsr", "coo", "lil", "dok", "dia"])
@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csr_matrix])
def test_valid_matrices_of_every_format_pass(form: str, make: Any) -> None:
    matrix = make(DENSE).asformat(form)
    assert np.array_equal(checked_sparse(matrix).toarray(), DENSE)
    empty = make((4, 3)).asformat(form)
    assert checked_sparse(empty).shape == (4, 3)


def test_a_damaged_matrix_is_refused_at_predict() -> None:
    model = sp.BaggingClassifier(n_estimators=2, random_state=0).fit(DENSE, Y)
    matrix = sparse.csr_array(DENSE)
    matrix.indices[0] = 10**8
    with pytest.raises(InputError, match="not valid"):
        model.predict(matrix)


def test_damaged_labels_are_refused() -> None:
    labels = sparse.csr_array(np.eye(4, dtype=int)[np.arange(len(DENSE)) % 4])
    labels.indices[0] = 10**8
    for model in (
        sp.OneVsRestClassifier(sp.LogisticRegression()),
        sp.ClassifierChain(sp.LogisticRegression()),
    ):
        with pytest.raises(InputError, match="sparse matrix y is not valid"):
            model.fit(DENSE, labels)


@pytest.mark.parametrize("learner", [sp.LogisticRegression(), sp.LinearSVC(), sp.SVC(), sp.Perceptron()])
def test_zeros_that_are_stored_change_nothing(learner: Any) -> None:
    rng = np.random.default_rng(0)
    dense = rng.random((60, 5)) * (rng.random((60, 5)) < 0.4)
    y = (dense[:, 0] > dense[:, 1]).astype(int)
    plain, stored = sparse.csr_matrix(dense), sparse.csr_matrix(np.where(dense == 0, -1.0, dense))
    stored.data[stored.data == -1.0] = 0.0
    assert dumps(clone(learner).fit(stored, y)) == dumps(clone(learner).fit(plain, y))
    assert stored.nnz == dense.size
