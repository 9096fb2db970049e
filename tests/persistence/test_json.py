"""JSON text says what a model file says, to the last bit, and other text is refused by a ModelFileError."""

import json
import struct

import numpy as np
import pytest
from hypothesis import given, settings

import spinney as sp
from contracts.learners import EACH_KIND, mixed_data
from contracts.matrix_learners import MATRIX_LEARNERS, matrix_data
from persistence.test_container import DOCUMENTS, same
from spinney.io import CorruptModelFile, ModelFileError, NotAModelFile, UnsupportedVersion, dumps
from spinney.io.document import Tagged
from spinney.io.errors import UnsavableValue
from spinney.io.json_text import document_from_json, document_to_json

HOSTILE = ['"}]', "</script>", "a\\", "\n*/ #", "$array", "", "a\0b", "🌲"]


@given(DOCUMENTS)
@settings(max_examples=60, deadline=None)
def test_a_document_comes_back_to_the_last_bit(value):
    document = {"$key": value, "": [value]}
    try:
        text = document_to_json(document)
    except UnsavableValue:  # a tagged value with a name that JSON uses
        assert "Tagged" in repr(value)
        return
    again, version = document_from_json(text)
    assert same(again, document) and version == 2
    assert document_to_json(again) == text
    json.loads(text, parse_constant=pytest.fail)  # strict JSON


def test_numbers_that_json_does_not_have_keep_their_bits():
    signalling = struct.unpack("<d", bytes.fromhex("010000000000f87f"))[0]
    numbers = np.array([np.nan, -np.nan, np.inf, -np.inf, -0.0, 5e-324, signalling])
    document = {"a": numbers, "b": numbers.astype(np.float32), "c": [float(x) for x in numbers]}
    assert same(document_from_json(document_to_json(document))[0], document)


@pytest.mark.parametrize("learner", [*EACH_KIND, *MATRIX_LEARNERS], ids=lambda learner: learner.name)
def test_every_learner_has_json_metadata_compression_and_a_summary(learner):
    if learner in MATRIX_LEARNERS:
        X, y, _ = matrix_data(learner.kind, 60)
    else:
        X, y, _ = mixed_data(learner.kind, 60)
        X = X.rename(columns={"a": HOSTILE[0]})
    model = learner().fit(X, y)
    data = dumps(model)
    assert dumps(sp.from_json(sp.to_json(model))) == data
    packed = dumps(model, metadata={"run": 7, "tags": ["a", None, 2.5]}, compress=True)
    assert dumps(sp.load(packed)) == data
    summary, plain = sp.inspect_file(packed), sp.inspect_file(data)
    assert (summary.class_name, summary.n_features) == (type(model).__name__, X.shape[1])
    assert summary.metadata == {"run": 7, "tags": ["a", None, 2.5]} and plain.metadata == {}
    assert summary.content_hash == plain.content_hash and summary.compressed and not plain.compressed
    assert (summary.n_bytes, plain.n_bytes) == (len(packed), len(data))
    assert set(summary.params) == set(model.get_params(deep=False))
    if learner.kind == "classifier":
        assert summary.classes == model.classes_.tolist()
    if learner not in MATRIX_LEARNERS:
        assert summary.feature_names == [HOSTILE[0], *X.columns[1:]]


def test_hostile_names_stay_text():
    X = [[name, float(i)] for i, name in enumerate(HOSTILE)] * 3
    model = sp.DecisionTreeClassifier().fit(X, [f"{row[0]}!" for row in X])
    again = sp.from_json(sp.to_json(model, indent=None))
    assert again.schema_.features[0].categories == tuple(sorted(HOSTILE))
    assert dumps(again) == dumps(model)
    assert set(sp.inspect_file(dumps(model)).categories[0]) == set(HOSTILE)


def test_the_summary_counts_trees_and_does_not_need_the_class():
    model = sp.RandomForestClassifier(n_estimators=3, random_state=0).fit([[0.0], [1.0]] * 9, [0, 1] * 9)
    data = dumps(model)
    summary = sp.inspect_file(data)
    assert (summary.n_trees, summary.n_nodes) == (3, model.ensemble_.node_count)
    renamed = document_to_json(document_from_json(sp.to_json(model))[0] | {"class": "NoSuchForest"})
    assert '"NoSuchForest"' in renamed
    with pytest.raises(ModelFileError, match="NoSuchForest"):
        sp.from_json(renamed)


@pytest.mark.parametrize("metadata", [{"a": object()}, {"a": [np.float64(1)]}, {"a": {1: 2}}])
def test_metadata_of_other_types_is_refused_by_its_place(metadata):
    with pytest.raises(UnsavableValue, match=r"metadata\['a'\]"):
        dumps(sp.DecisionTreeClassifier(), metadata=metadata)


WRONG = {
    "[1]": NotAModelFile,
    '{"a": NaN}': NotAModelFile,
    '{"a": 1, "a": 2}': NotAModelFile,
    "{" * 5000: NotAModelFile,
    '{"json_version": 9, "version": 2}': UnsupportedVersion,
    '{"json_version": 1, "version": 3}': UnsupportedVersion,
}
WRONG |= {
    f'{{"json_version": 1, "version": 2, "x": {value}}}': CorruptModelFile
    for value in (
        '{"$array": "float64", "shape": [2], "data": [1.0]}',
        '{"$array": "float32", "shape": [1], "data": [0.1]}',
        '{"$array": "uint8", "shape": [1], "data": [256]}',
        '{"$array": "bool", "shape": [1], "data": [1]}',
        '{"$array": "complex64", "shape": [], "data": [1]}',
        '{"$text": 900000000, "shape": [1], "data": ["a"]}',
        '{"$float": "1.0"}',
        '{"$float": "nan:3ff0000000000000"}',
        '{"$bytes": "?"}',
        '{"a": 1, "$tuple": []}',
        '"\\ud800"',
        "1e999",
        "[" * 80 + "]" * 80,
    )
}


@pytest.mark.parametrize("text", WRONG, ids=lambda text: text[:70])
def test_other_text_is_refused(text):
    with pytest.raises(WRONG[text]):
        document_from_json(text)


def test_compressed_sections_of_another_length_are_refused():
    from spinney.io.container import checksum, decode, encode

    data = bytearray(encode({"x": np.zeros(1000)}, compress=True))
    assert len(data) < 200
    for at, value in ((40, 1), (47, 255), (48, 7), (10, 2)):
        damaged = bytearray(data)
        damaged[at] = value
        damaged[24:40] = checksum(damaged)
        with pytest.raises(ModelFileError):
            decode(bytes(damaged))
    assert Tagged("x", 1) == decode(encode(Tagged("x", 1), compress=True))
