"""A short run of the fuzz driver; `make fuzz` runs the long one."""

import pytest

from fuzz.fuzz_model_files import Saved, Watch, fuzz, fuzz_in_processes, mutant, save_subjects
from fuzz.subjects import Subject, learners, predictors, toys
from persistence.toys import Free, ToyClassifier, toy_data
from spinney.io import CorruptModelFile, Persistent, dumps

WATCH = Watch()


def test_damaged_files_are_refused_or_predict() -> None:
    results = fuzz(save_subjects([*toys(), *learners(), *predictors()], WATCH), range(400), 1, WATCH)
    assert sum(results.values()) == 400
    # Enough of each kind, or the damage has become too coarse to reach the validators.
    assert results["CorruptModelFile"] + results["ModelFileError"] > 133
    assert results["loaded and predicted"] + results["loaded"] > 13


def test_a_case_depends_on_its_number_alone() -> None:
    saved = [Saved(subject.name, dumps(subject.fit()), None) for subject in toys()]
    assert mutant(saved, 1, 77)[1:] == mutant(saved, 1, 77)[1:]
    assert len({mutant(saved, 1, case)[2] for case in range(100)}) > 80


class Careless(ToyClassifier):
    """A learner that forgot its validator: the driver has to notice."""

    def _check_state(self) -> None: ...

    def predict(self, X):
        try:
            return super().predict(X)
        except ValueError as error:
            raise RuntimeError from error


def test_the_driver_notices_a_learner_without_validation() -> None:
    subject = Subject("careless", lambda: Careless().fit(*toy_data()), lambda: toy_data()[0])
    with pytest.raises(Exception) as caught:
        fuzz(save_subjects([subject], WATCH), range(3000), 1, WATCH)
    assert not isinstance(caught.value, CorruptModelFile)
    assert "--only" in caught.value.__notes__[0]


def test_processes_run_the_cases_of_one_and_report_a_failure(capfd: pytest.CaptureFixture[str]) -> None:
    saved = save_subjects(toys(), WATCH)
    assert fuzz_in_processes(saved, range(30), 1, WATCH, 3) == fuzz(saved, range(30), 1, WATCH)
    subject = Subject("careless", lambda: Careless().fit(*toy_data()), lambda: toy_data()[0])
    with pytest.raises(SystemExit, match="failed or died among the cases"):
        fuzz_in_processes(save_subjects([subject], WATCH), range(3000), 1, WATCH, 2)
    assert "--only" in capfd.readouterr().err


class Importing(Free):
    """A class whose loading imports a module."""

    def _check_state(self) -> None:
        import this_module_is_not_there  # noqa: F401


def test_the_driver_notices_an_import() -> None:
    assert issubclass(Importing, Persistent)
    with pytest.raises((AssertionError, ImportError)):
        save_subjects([Subject("importing", Importing, lambda: None)], WATCH)
    assert "import" in WATCH.seen
    WATCH.seen.clear()
