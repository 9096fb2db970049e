"""The models of a list of fits have not changed: what their files hold and what they predict, bit for bit."""

import json
from pathlib import Path

import pytest

from same_models.fits import FITS, content_hash, prediction_hash

EXPECTED = json.loads((Path(__file__).parent / "hashes.json").read_text())


@pytest.mark.parametrize("make", sorted({fit.make for fit in FITS}, key=lambda make: make.__name__))
def test_models_are_those_of_the_committed_list(make):
    changed = []
    for fit in FITS:
        if fit.make is make:
            model = fit.run()
            if EXPECTED[fit.name] != [content_hash(model), prediction_hash(model, fit.table)]:
                changed.append(fit.name)
    assert not changed


def test_the_list_is_complete():
    assert sorted(EXPECTED) == sorted(fit.name for fit in FITS)
    assert len(FITS) >= 200
