import tracemalloc

import numpy as np
import pytest

from diversity.tables import random_votes
from spinney.diversity import kappa
from spinney.diversity import votes as counting
from spinney.diversity.votes import (
    agreements_by_bits,
    agreements_by_products,
    count_pairs,
    read_votes,
)


def naive_agreements(predictions, weights):
    columns = np.asarray(predictions).T
    return [[float(weights[first == second].sum()) for second in columns] for first in columns]


@pytest.mark.parametrize("n_classes", [1, 2, 3, 5, 16, 300])
@pytest.mark.parametrize("n_rows", [1, 63, 64, 65, 500])
@pytest.mark.parametrize("block", [1 << 8, 1 << 23])
def test_bits_and_products_count_the_same(n_classes, n_rows, block, monkeypatch):
    monkeypatch.setattr(counting, "_BITS_BLOCK", block)
    monkeypatch.setattr(counting, "_PRODUCT_BLOCK", block)
    predictions, _ = random_votes(n_rows, 4, n_classes)
    votes = read_votes(predictions)
    expected = naive_agreements(predictions, np.ones(n_rows))
    assert agreements_by_products(votes).tolist() == expected
    if hasattr(np, "bitwise_count"):
        assert agreements_by_bits(votes).tolist() == expected


@pytest.mark.parametrize("n_classes", [2, 4, 12])
@pytest.mark.parametrize("greatest", [3, 2**40])
def test_weights_are_added_exactly(n_classes, greatest):
    predictions, _ = random_votes(200, 3, n_classes)
    weights = np.random.default_rng(1).integers(1, greatest, 200)
    counts = count_pairs(read_votes(predictions, sample_weight=weights))
    assert counts.agree.tolist() == naive_agreements(predictions, weights)
    assert counts.total == weights.sum()
    by_class = [[weights[member == code].sum() for code in range(n_classes)] for member in predictions.T]
    assert counts.by_class.tolist() == by_class


@pytest.mark.parametrize("weighted", [False, True])
def test_memory_is_one_byte_a_vote_and_blocks(weighted):
    n_rows, n_members = 400_000, 25
    predictions = np.random.default_rng(0).integers(0, 3, (n_rows, n_members), dtype=np.int8)
    weights = np.ones(n_rows) if weighted else None
    tracemalloc.start()
    kappa(predictions, sample_weight=weights)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # 10 MB of codes and 24 MB of a block; a whole matrix of float32 would be 40 MB more than the codes.
    assert peak < n_rows * n_members + 30 * 2**20


def test_numpy_1_counts_by_products(monkeypatch):
    predictions, _ = random_votes(100, 3, 3)
    expected = count_pairs(read_votes(predictions)).agree
    monkeypatch.delattr(np, "bitwise_count", raising=False)
    assert np.array_equal(count_pairs(read_votes(predictions)).agree, expected)


def test_the_cells_of_the_table_are_who_votes_for_the_second_class():
    rows = np.repeat([["+", "+"], ["+", "-"], ["-", "+"], ["-", "-"]], (4, 3, 2, 1), axis=0)
    table = count_pairs(read_votes(rows)).table
    # "+" comes before "-", which therefore is the second class.
    assert [float(cell[0, 1]) for cell in table] == [1, 2, 3, 4]


def test_one_class_alone_is_the_first_of_two():
    table = count_pairs(read_votes([["x", "x"]] * 3)).table
    assert [float(cell[0, 1]) for cell in table] == [0, 0, 0, 3]
