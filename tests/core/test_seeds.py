import numpy as np
import pytest

from spinney.core.errors import InputError
from spinney.core.parameters import draw_seed
from spinney.core.seeds import draw_seeds, draw_word, draw_words, stream


def test_an_integer_gives_one_seed_and_neighbours_differ_widely():
    assert draw_seed(7) == draw_seed(np.int32(7))
    seeds = [draw_seed(i) for i in range(100)]
    assert len(set(seeds)) == 100
    assert max(seeds) > 2**60


def test_generators_move_on_with_each_draw():
    for make in (np.random.RandomState, np.random.default_rng):
        first, second = make(3), make(3)
        assert draw_seed(first) == draw_seed(second)
        assert draw_seed(first) != draw_seed(make(3))


def test_none_follows_numpys_global_seed():
    np.random.seed(5)
    first = draw_seed(None)
    np.random.seed(5)
    assert draw_seed(None) == first
    assert draw_seed(None) != first


@pytest.mark.parametrize("bad", [-1, 2**64, 1.5, "seed", True])
def test_other_values_are_refused_by_name(bad):
    with pytest.raises(InputError, match="random_state"):
        draw_seed(bad)


def test_streams_of_different_purposes_are_apart():
    assert stream(1, 0).random() != stream(1, 1).random()


def test_many_seeds_at_a_time_are_those_of_numpys_generators():
    rng = np.random.default_rng(0)
    edges = np.array([0, 1, 2**32 - 1, 2**32, 2**63, 2**64 - 1], np.uint64)
    some, more = rng.integers(0, 2**32, 20, np.uint64), rng.integers(0, 2**64, 50, np.uint64)
    seeds = np.concatenate([edges, some, more])
    for purpose in (0, 1, 3, 2**32 - 1):
        words = [draw_word(int(seed), purpose) for seed in seeds]
        np.testing.assert_array_equal(draw_words(seeds, purpose), words)
        assert words[-1] == stream(int(seeds[-1]), purpose).integers(2**64, dtype=np.uint64)
    np.testing.assert_array_equal(draw_words(5, range(9)), [draw_word(5, t) for t in range(9)])
    np.testing.assert_array_equal(draw_seeds(seeds), [draw_seed(int(seed)) for seed in seeds])
