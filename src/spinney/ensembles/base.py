"""What every combination of named estimators shares: reading them, metadata, fitted parts, and the file."""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import MetaEstimatorMixin, is_classifier, is_regressor
from sklearn.model_selection import check_cv
from sklearn.utils import Bunch, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import _BaseComposition
from sklearn.utils.validation import check_is_fitted

from spinney.core.errors import (
    InputError,
    InputTypeError,
    ModelFileError,
    SpinneyError,
    show_value,
    show_values,
)
from spinney.core.parameters import FLAG, Rule, Whole, check_parameters, check_weights, thread_count
from spinney.core.seeds import draw_seed, stream
from spinney.data.target import encode_classes, encode_like, encode_values, read_target
from spinney.ensembles.out_of_fold import (
    Lesson,
    OutOfFold,
    Split,
    answer_out_of_fold,
    fit_members,
    read_splits,
    read_splitter,
)
from spinney.ensembles.responses import Method, answer, class_places
from spinney.io import Persistent
from spinney.members.base_estimators import AnyEstimator, make_member
from spinney.members.tables import check_described, count_rows, describe_input, encode_labels

RULES: dict[str, tuple[Rule, ...]] = {"verbose": (FLAG, Whole(0))}
_SHAPE = 'Give a list of (name, estimator) pairs, such as [("tree", DecisionTreeClassifier())].'


@dataclass(frozen=True)
class Team:
    """Hold the members that take part, each unfitted or, with cv="prefit", fitted, and their names."""

    names: tuple[str, ...]
    members: tuple[Any, ...]
    places: tuple[int, ...]
    """Where each stands among the estimators that were given; those dropped are left out."""


@dataclass(frozen=True)
class Problem:
    """Hold the team, its lesson, row weights, and the metadata of the splitter and of level two."""

    team: Team
    lesson: Lesson
    weights: NDArray[np.float64] | None
    for_splitter: Mapping[str, Any]
    for_final: Mapping[str, Any]
    seed: int | None

    def only(self, chosen: NDArray[np.intp]) -> Problem:
        """Give the same problem for the chosen members alone."""
        team, lesson = self.team, self.lesson
        part = Team(*(tuple(column[i] for i in chosen) for column in (team.names, team.members, team.places)))
        return replace(self, team=part, lesson=replace(lesson, metadata=[lesson.metadata[i] for i in chosen]))

    def targets(self) -> NDArray[np.float64]:
        """Give the targets as columns: a 1 for the class of each row, or the numbers.  -> (n_rows, width)"""
        codes, classes = self.lesson.codes, self.lesson.classes
        return codes[:, None] if classes is None else np.eye(len(classes))[codes]


class _BaseCombination(MetaEstimatorMixin, _BaseComposition, Persistent, metaclass=ABCMeta):  # type: ignore[misc]
    """Read and keep named estimators; a subclass fits them and combines what they answer."""

    _task: ClassVar[Literal["classification", "regression"]]
    _parameter_rules: ClassVar[dict[str, tuple[Rule, ...]]] = RULES
    _state_attributes: ClassVar[tuple[str, ...]] = (
        "estimators_",
        "_names",
        "classes_",
        "n_features_in_",
        "feature_names_in_",
    )
    _required_attributes: ClassVar[tuple[str, ...]] = ("estimators_", "_names")

    estimators: Any
    cv: Any
    n_jobs: int | None
    random_state: Any
    verbose: bool | int

    estimators_: list[Any]
    _names: list[str]
    classes_: NDArray[Any]

    # ---- parameters ----

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Give the parameters, with ``deep`` those of the estimators too, as ``name__parameter``."""
        params: dict[str, Any] = self._get_params("estimators", deep=deep)
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also ``name`` (another estimator or "drop") and ``name__parameter``."""
        self._set_params("estimators", **params)
        return self

    @property
    def named_estimators(self) -> Bunch:
        """Give the estimators by name, as they were given."""
        return Bunch(**dict(self.estimators or ()))

    @property
    def named_estimators_(self) -> Bunch:
        """Give the fitted members by name."""
        if "estimators_" not in vars(self):
            raise AttributeError(f"This {type(self).__name__} is not fitted yet, so it has no members.")
        return Bunch(**dict(zip(self._names, self.estimators_, strict=True)))

    # ---- reading what fit is given ----

    def _read(self, X: Any, y: Any, sample_weight: Any, groups: Any, metadata: Mapping[str, Any]) -> Problem:
        """Check every argument of ``fit``."""
        check_parameters(type(self).__name__, vars(self), self._parameter_rules)
        thread_count(self.n_jobs)
        seed = None if self.random_state is None else draw_seed(self.random_state)
        team = self._team(seed)
        n_rows = self._count(X)
        labels, codes, classes = self._read_target(y, n_rows, team)
        weights = check_weights(sample_weight, n_rows)
        for_members, for_splitter, for_final = self._route(team, weights, groups, metadata)
        lesson = Lesson(X, labels, codes, classes, for_members)
        return Problem(team, lesson, weights, for_splitter, for_final, seed)

    def _count(self, X: Any) -> int:
        """Count the rows; that there are none, or no columns, folds would hide from the members."""
        n_rows, width = count_rows(X), describe_input(X).get("n_features_in_")
        for number, what in ((n_rows, "sample"), (width, "feature")):
            if number == 0:
                shape = (n_rows, width)
                raise InputError(
                    f"Found array with 0 {what}(s) (shape={shape}) while a minimum of 1 is required."
                )
        return n_rows

    def _team(self, seed: int | None) -> Team:
        """Read the estimators; those that are to be fitted get their seeds."""
        pairs = self.estimators
        valid = isinstance(pairs, list | tuple) and len(pairs) > 0
        if not valid or not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs):
            raise InputError(
                f"The estimators of {type(self).__name__} are {show_value(pairs)}, which is no list of "
                "(string, estimator) tuples",
                fix=_SHAPE,
            )
        for name, estimator in pairs:
            self._check_member(name, estimator)
        self._validate_names([name for name, _ in pairs])
        kept = [place for place, (_, estimator) in enumerate(pairs) if not _is_dropped(estimator)]
        if not kept:
            raise InputError("All estimators are dropped; at least one is needed.")
        members = tuple(self._make_member(pairs[place][1], place, seed) for place in kept)
        return Team(tuple(pairs[place][0] for place in kept), members, tuple(kept))

    def _check_member(self, name: Any, estimator: Any) -> None:
        if not isinstance(name, str):
            raise InputError(f"The name of an estimator is {show_value(name)}, which is no text", fix=_SHAPE)
        if _is_dropped(estimator):
            return
        if not AnyEstimator().allows(estimator):
            raise InputTypeError(
                f"The member {show_value(name)} is {show_value(estimator)}, which is no estimator", fix=_SHAPE
            )
        if not self._learns_alike(estimator):
            raise InputError(
                f"The member {show_value(name)}, a {type(estimator).__name__}, should be a {self._kind()}."
            )

    def _learns_alike(self, estimator: Any) -> bool:
        """Tell whether an estimator learns classes, or numbers, as this one does."""
        return bool((is_classifier if self._task == "classification" else is_regressor)(estimator))

    def _kind(self) -> str:
        return "classifier" if self._task == "classification" else "regressor"

    def _make_member(self, estimator: Any, place: int, seed: int | None) -> Any:
        if self._is_prefit():
            check_is_fitted(estimator)
            return estimator
        return self._make(estimator, place, seed)

    def _make(self, estimator: Any, place: int, seed: int | None) -> Any:
        """Copy an estimator, with random states of its own if there is a seed."""
        return make_member(estimator, None if seed is None else int(stream(seed, place).integers(2**63)))

    def _is_prefit(self) -> bool:
        return isinstance(self.cv, str) and self.cv == "prefit"

    def _read_target(
        self, y: Any, n_rows: int, team: Team
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]:
        """Give the targets, their codes, and the classes; the numbers twice, and None, in regression."""
        if self._task == "regression":
            values = encode_values(read_target(y, n_rows), non_negative=False)
            if values.shape[1] != 1:
                raise InputError(
                    f"y has {values.shape[1]} outputs, and {type(self).__name__} learns one",
                    fix="Fit one an output, for example by sklearn.multioutput.MultiOutputRegressor.",
                )
            return values[:, 0], values[:, 0], None
        codes, classes = encode_labels(y, n_rows)
        labels = classes.take(codes)
        if self._is_prefit():
            # Rows held out may lack a class that the members know.
            known = [classes, *(member.classes_ for member in team.members if hasattr(member, "classes_"))]
            classes = encode_classes(np.concatenate(known)).classes[0]
            codes = encode_like(labels, [classes])[:, 0]
        return labels, codes, classes

    # ---- metadata ----

    def get_metadata_routing(self) -> MetadataRouter:
        """Say to whom the arguments of ``fit`` go when metadata routing is on: members, splitter, itself."""
        fitting = MethodMapping().add(caller="fit", callee="fit")
        router = MetadataRouter(owner=self).add_self_request(self)
        for name, estimator in self.estimators or ():
            if not _is_dropped(estimator):
                router.add(**{name: estimator}, method_mapping=fitting)
        splitter = check_cv(None if isinstance(self.cv, str) else self.cv)
        router.add(splitter=splitter, method_mapping=MethodMapping().add(caller="fit", callee="split"))
        return router

    def _route(
        self, team: Team, weights: NDArray[np.float64] | None, groups: Any, metadata: Mapping[str, Any]
    ) -> tuple[list[Mapping[str, Any]], Mapping[str, Any], Mapping[str, Any]]:
        """Give the metadata of each member's ``fit``, of the splitter, and of the level-two learner."""
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", sample_weight=weights, groups=groups, **metadata)
            members = [routed[name]["fit"] for name in team.names]
            final = routed["final_estimator"]["fit"] if "final_estimator" in routed else {}
            return members, routed["splitter"]["split"], final
        if metadata:
            raise InputError(
                f"fit does not take {show_values(list(metadata))}",
                fix="sklearn.set_config(enable_metadata_routing=True) lets fit hand them to the members.",
            )
        common = {} if weights is None else {"sample_weight": weights}
        return [common] * len(team.members), {} if groups is None else {"groups": groups}, common

    # ---- fitting ----

    def _splits(self, problem: Problem) -> list[Split]:
        lesson = problem.lesson
        splitter = read_splitter(self.cv, lesson.codes, lesson.classes is not None)
        return read_splits(splitter, lesson.X, lesson.codes, problem.for_splitter.get("groups"))

    def _held_out(self, problem: Problem, methods: Sequence[Method]) -> OutOfFold:
        """Give the answers of the members for rows that they never saw.

        With cv="prefit" the rows given are taken to be such.
        """
        team, lesson = problem.team, problem.lesson
        if self._is_prefit():
            answers = tuple(
                answer(member, lesson.X, method, lesson.classes)
                for member, method in zip(team.members, methods, strict=True)
            )
            return OutOfFold(np.arange(len(lesson.y)), answers)
        splits = self._splits(problem)
        try:
            return answer_out_of_fold(
                team.members, lesson, splits, methods, self.n_jobs, self._title("out-of-fold")
            )
        except SpinneyError as error:
            if error.row is not None:
                # It counts the rows of a fold; fitting to all of them meets it at its true place.
                self._fit_members(problem)
            raise

    def _fit_members(self, problem: Problem) -> list[Any]:
        """Give the members, fitted to all rows unless they are already."""
        if self._is_prefit():
            return list(problem.team.members)
        return fit_members(problem.team.members, problem.lesson, self.n_jobs, self._title("members"))

    def _title(self, words: str) -> str | None:
        return f"{type(self).__name__}: {words}" if self.verbose else None

    def _adopt(self, **fitted: Any) -> Self:
        """Set all fitted attributes at once, so that a fit that fails leaves the estimator as it was."""
        old = {name for base in type(self).__mro__ for name in vars(base).get("_state_attributes", ())}
        kept = {name: value for name, value in vars(self).items() if name not in old}
        # One assignment, because Ctrl-C may come between any two.
        self.__dict__ = kept | {name: value for name, value in fitted.items() if value is not None}
        return self

    # ---- after fitting ----

    def _check_state(self) -> None:
        if "estimators_" not in vars(self):
            return
        check_described(self)
        members, names = self.estimators_, self._names
        require(type(members) is list and len(members) > 0, "it has no list of members")
        require(
            all(hasattr(member, "predict") and hasattr(member, "get_params") for member in members),
            "a member is no estimator",
        )
        require(type(names) is list and len(names) == len(members), "members and names differ in number")
        require(all(type(name) is str for name in names), "the name of a member is no text")
        if self._task == "regression":
            require("classes_" not in vars(self), "a regressor has classes")
            return
        classes = vars(self).get("classes_")
        require(
            isinstance(classes, np.ndarray) and classes.ndim == 1 and len(classes) > 0, "it has no classes"
        )
        require(len(set(self.classes_.tolist())) == len(self.classes_), "a class is listed twice")
        for member in members:
            class_places(member, self.classes_)

    def _readers(self) -> list[Any]:
        """List the estimators that are handed X itself."""
        return [estimator for _, estimator in self.estimators if not _is_dropped(estimator)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        try:
            inputs = [get_tags(reader).input_tags for reader in self._readers()]
        except (TypeError, ValueError, AttributeError):
            inputs = []  # estimators that are no list of pairs are for fit to refuse
        for kind in ("sparse", "allow_nan", "categorical", "string"):
            setattr(tags.input_tags, kind, bool(inputs) and all(getattr(one, kind) for one in inputs))
        return tags


def _is_dropped(estimator: Any) -> bool:
    return isinstance(estimator, str) and estimator == "drop"


def require(condition: bool, otherwise: str) -> None:
    """Raise ModelFileError unless a part of a loaded model is as it must be."""
    if not condition:
        raise ModelFileError(f"The ensemble in the model file is damaged: {otherwise}.", fix="Save it again.")
