"""The figure of boosted and bagged trees: its clouds lie as theory says, and it is drawn."""

import importlib.util
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "kappa_error.py"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("kappa_error_example", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_boosted_trees_are_more_diverse_and_less_accurate_than_bagged_ones(example):
    clouds = example.clouds()
    boosted, bagged = clouds["AdaBoost"], clouds["Bagging"]
    pairs = example.N_TREES * (example.N_TREES - 1) // 2
    assert example.N_TREES == 50
    assert len(boosted.kappa) == len(bagged.kappa) == pairs
    assert boosted.mean_kappa < bagged.mean_kappa - 0.1
    assert boosted.mean_error > bagged.mean_error


def test_the_picture_is_written(example, tmp_path, monkeypatch):
    monkeypatch.setattr(example, "N_TREES", 4)
    example.main(str(tmp_path / "picture.png"))
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
