"""Base classes of all estimators: parameters, fitted attributes, reading tables, and model files."""

from __future__ import annotations

import inspect
import sys
import threading
from abc import ABCMeta
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, wraps
from types import FunctionType, SimpleNamespace
from typing import Any, ClassVar, Literal, Self, TypeVar, dataclass_transform
from weakref import WeakKeyDictionary

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from spinney.core.errors import InputError, InputTypeError, ModelFileError
from spinney.core.fitted_rules import broken_rule
from spinney.core.parameter_help import LINK, with_help
from spinney.core.parameter_names import peer_names, suggest_argument, suggest_method, suggest_parameter
from spinney.core.parameters import Rule, Use, check_parameters, check_threads, thread_count, warn_of_unused
from spinney.data.coding import ColumnCoding, learn_coding, numbers_of_categories
from spinney.data.matrix import Matrix, check_squares, coded_matrix, read_matrix, read_training_matrix
from spinney.data.schema import Schema, Table, pack_schema, read_table, unpack_schema
from spinney.data.weights import check_weights
from spinney.io import Persistent, require

T = TypeVar("T")
_PRINTING = threading.local()
"""Whether this thread is within the `repr` of an estimator."""
_PARAMETER_NAMES: WeakKeyDictionary[type, tuple[Any, list[str]]] = WeakKeyDictionary()
"""Constructor of each class, and its parameters: looking them up takes a tenth of a small fit."""


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(field,))
def parameters(cls: type[T]) -> type[T]:
    """Class decorator by which annotated attributes with defaults become parameters of an estimator.

    They are arguments of ``__init__``, by keyword unless they are ``field(default=..., kw_only=False)``.
    Subclasses, also decorated, inherit them, add others, and may change their defaults. A fitted attribute
    that is annotated in such a class is ``field(init=False)``.

    >>> @parameters
    ... class Limits:
    ...     max_depth: int = 3
    >>> @parameters
    ... class Stump(Limits):
    ...     max_depth: int = 1
    >>> Stump().max_depth, Stump(max_depth=2).max_depth
    (1, 2)
    """
    return dataclass(eq=False, repr=False, kw_only=True)(cls)


class _EstimatorType(ABCMeta):
    """Class of estimator classes, which names the parameter that was meant where one does not exist."""

    @property
    def __signature__(cls) -> inspect.Signature:
        """The signature of the constructor, which `help` and editors show."""
        signature = inspect.signature(cls.__init__)  # type: ignore[misc]
        return signature.replace(parameters=list(signature.parameters.values())[1:])

    def __call__(cls, *args: Any, **params: Any) -> Any:
        """Make an estimator."""
        try:
            return super().__call__(*args, **params)
        except TypeError:
            known = cls._get_param_names()  # type: ignore[attr-defined]
            unknown = next((name for name in params if name not in known), None)
            if unknown is None:
                raise
            arguments = inspect.signature(cls.fit).parameters  # type: ignore[attr-defined]
            argument = next((name for name in peer_names(unknown) if name in arguments), None)
            if argument is not None:
                fix = f"It is an argument of fit: fit(X, y, {argument}=...)."
            else:
                fix = suggest_parameter(unknown, known)
            raise InputTypeError(f"{cls.__name__} has no parameter {unknown!r}", fix=fix) from None


def _naming_unknown_arguments(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method of an estimator that names the argument that was meant where one does not exist."""
    arguments = inspect.signature(method).parameters
    if any(argument.kind is argument.VAR_KEYWORD for argument in arguments.values()):
        return method

    @wraps(method)
    def checked(self: Any, *args: Any, **given: Any) -> Any:
        unknown = next((name for name in given if name not in arguments), None) if given else None
        if unknown is None:
            return method(self, *args, **given)
        owner, known, called = type(self).__name__, self.get_params(deep=False), method.__name__
        instead = None if called == "fit" else suggest_method(unknown, called, dir(type(self)))
        raise InputTypeError(
            f"{owner}.{called}() got an unexpected keyword argument {unknown!r}",
            fix=instead or suggest_argument(unknown, list(arguments)[1:], owner, known),
        )

    return checked


class Estimator(BaseEstimator, Persistent, metaclass=_EstimatorType, persistent_name=""):  # type: ignore[misc]
    """Base class of estimators: parameters, and fitted attributes that change all at once.

    A subclass

    - declares its parameters by `parameters`;
    - lists the rules of its parameters in `_parameter_rules`, those that have an effect only together with
      others in `_parameter_uses`, and calls `_check_params` first in ``fit``;
    - lists all its fitted attributes in `_required_attributes` (always there after a fit),
      `_state_attributes` (sometimes) and `_transient_attributes` (computed by `_derived`, not saved), see
      `Persistent`;
    - ends ``fit`` by ``return self._set_fitted(...)``;
    - has a rule for every fitted attribute whose name others share in `core/fitted_rules.py`, and checks in
      `_check_fitted` that the fitted attributes of a model file agree with each other.
    """

    _parameter_rules: ClassVar[Mapping[str, tuple[Rule, ...]]] = {}
    _parameter_uses: ClassVar[tuple[Use, ...]] = ()

    @classmethod
    def _get_param_names(cls) -> list[str]:
        """Return the names of the parameters, in alphabetical order."""
        constructor, names = _PARAMETER_NAMES.get(cls, (None, []))
        if constructor is not cls.__init__:
            names = super()._get_param_names()
            _PARAMETER_NAMES[cls] = cls.__init__, names
        return list(names)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name in ("fit", "predict", "predict_proba", "decision_function", "apply"):
            method = vars(cls).get(name)
            if isinstance(method, FunctionType) and cls.__module__.startswith("spinney."):
                setattr(cls, name, _naming_unknown_arguments(method))

    def set_params(self, **params: Any) -> Self:
        """Set parameters.

        Parameters
        ----------
        **params : dict
            Values by parameter name; ``name__parameter`` for those of an estimator that is a parameter.

        Returns
        -------
        self
            This estimator.
        """
        try:
            super().set_params(**params)
        except ValueError:
            known = list(self.get_params(deep=False))
            names = [key.partition("__")[0] for key in params]
            unknown = next((name for name in names if name not in self.get_params()), None)
            if unknown is None:
                raise
            raise InputError(
                f"Invalid parameter {unknown!r} for estimator {type(self).__name__}",
                fix=suggest_parameter(unknown, known),
            ) from None
        return self

    def _check_params(self) -> None:
        """Raise InvalidParameterError for a value that no rule allows; warn of parameters without effect."""
        check_parameters(type(self).__name__, vars(self), self._parameter_rules)
        warn_of_unused(self, self._parameter_uses)

    def _unfitted_attributes(self) -> dict[str, Any]:
        """Return the attributes that do not come from a fit of this class.

        They are parameters, those that scikit-learn adds, and those of classes that users derive, whose
        ``fit`` may set ``scaler_`` before it calls the inherited one.
        """
        names = _fitted_names(type(self))
        # Of a copy: meanwhile another thread may add an attribute that is computed at its first use.
        return {name: value for name, value in vars(self).copy().items() if name not in names}

    def _fitted_attributes(self) -> dict[str, Any]:
        """Return the attributes that come from a fit, derived ones included."""
        names = _fitted_names(type(self))
        return {name: value for name, value in vars(self).copy().items() if name in names}

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether there is an attribute that ends with an underscore, as in scikit-learn.

        scikit-learn's own loop fails if another thread adds an attribute meanwhile.
        """
        return any(name.endswith("_") and not name.startswith("__") for name in list(vars(self)))

    def _set_fitted(self, **fitted: Any) -> Self:
        """Replace all fitted attributes, those of an earlier fit included, and return self.

        Attributes that are None are left out: declare a default in the class if they are read. A fit that
        fails or is interrupted leaves the estimator as it was.
        """
        known = {name: value for name, value in fitted.items() if value is not None}
        # One assignment, because Ctrl-C may come between any two.
        self.__dict__ = self._unfitted_attributes() | known | self._derived(known)
        return self

    def _derived(self, fitted: Mapping[str, Any]) -> dict[str, Any]:
        """Return the transient attributes, which follow from the fitted ones."""
        return {}

    def _check_fitted(self) -> None:
        """Raise ModelFileError unless the attributes read from a model file agree with each other."""

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        # scikit-learn's printer descends into members by itself, and calls `repr` of each only to compare it
        # with its default. That would descend again, which takes twice as long for every level of nesting.
        if getattr(_PRINTING, "now", False):
            return f"{type(self).__name__}(...)"
        _PRINTING.now = True
        try:
            return str(super().__repr__(N_CHAR_MAX))
        finally:
            _PRINTING.now = False

    def _get_params_html(self, deep: bool = True, doc_link: str = "") -> Any:
        """Return the table of parameters that notebooks show (scikit-learn 1.7 or newer), with help texts."""
        return with_help(super()._get_params_html(deep, doc_link or LINK))

    def _get_fitted_attr_html(self, doc_link: str = "") -> Any:
        """Return the table of fitted attributes that notebooks show (scikit-learn 1.9), with help texts.

        Attributes that are computed on access are left out: a notebook shows an estimator after every fit,
        and the members of a large forest take seconds.
        """
        stored = SimpleNamespace(**self._fitted_attributes())
        table = BaseEstimator._get_fitted_attr_html(stored, doc_link or LINK)  # noqa: SLF001
        table.estimator_class = type(self)
        return with_help(table)

    def __copy__(self) -> Self:
        """Return a shallow copy, with derived attributes computed anew from the fitted ones."""
        bases = type(self).__mro__
        transient = {name for base in bases for name in vars(base).get("_transient_attributes", ())}
        fitted = {name: value for name, value in self._fitted_attributes().items() if name not in transient}
        copied = type(self).__new__(type(self))
        copied.__dict__ = self._unfitted_attributes() | fitted | (self._derived(fitted) if fitted else {})
        return copied

    def _check_state(self) -> None:
        fitted = self._fitted_attributes()
        if fitted:
            broken = broken_rule(fitted)
            require(broken is None, f"in a {type(self).__name__}, {broken}")
            try:  # prediction reads some, such as a kernel
                check_parameters(type(self).__name__, vars(self), self._parameter_rules)
                check_threads(vars(self).get("n_jobs"))
            except InputError as error:
                raise ModelFileError(str(error)) from error
            self._check_fitted()
            self.__dict__.update(self._derived(fitted))


@cache
def _fitted_names(cls: type) -> frozenset[str]:
    """Return the names that a class and its bases declare as fitted attributes."""
    lists = ("_required_attributes", "_state_attributes", "_transient_attributes")
    return frozenset(name for base in cls.__mro__ for what in lists for name in vars(base).get(what, ()))


class TableEstimator(Estimator, persistent_name=""):
    """Base class of estimators that read tables themselves, and keep their schema as ``schema_``.

    It has ``n_features_in_`` and ``feature_names_in_``, scikit-learn's tags for the inputs that a `Table`
    accepts, and stores the schema in model files as plain data. A subclass that overrides `_derived` merges
    its own attributes with those of ``super()._derived(fitted)``.
    """

    _required_attributes: ClassVar[tuple[str, ...]] = ("schema_",)
    _transient_attributes: ClassVar[tuple[str, ...]] = ("n_features_in_", "feature_names_in_")
    # Below this many rows, finding out the number of threads takes longer than the prediction itself.
    _min_rows_for_threads: ClassVar[int] = 256

    schema_: Schema
    n_features_in_: int
    unseen: Literal["missing", "error"]
    n_jobs: int | None

    def _read_table(self, X: Any) -> Table:
        """Read new data by the schema of the fit."""
        try:
            schema = self.schema_
        except AttributeError:
            check_is_fitted(self)
            raise
        return schema.read(X, self.unseen, type(self).__name__)

    def _threads_for(self, table: Table) -> int:
        """Return the number of threads to predict a table with."""
        return thread_count(self.n_jobs) if table.n_rows >= self._min_rows_for_threads else 1

    def _derived(self, fitted: Mapping[str, Any]) -> dict[str, Any]:
        return describe_features(fitted["schema_"])

    def _get_state(self) -> dict[str, Any]:
        state = super()._get_state()
        return {**state, "fitted": pack_schema(state["fitted"])}

    def _set_state(self, state: dict[str, Any]) -> None:
        super()._set_state({**state, "fitted": unpack_schema(state.get("fitted"))})

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


class MatrixEstimator(Estimator, persistent_name=""):
    """Base class of estimators that take a numeric matrix.

    It reads tables of numbers, keeps ``n_features_in_`` and ``feature_names_in_``, and sets scikit-learn's
    tags for the inputs that `_allow_sparse` and `_allow_nan` declare. A subclass with the parameters
    ``categorical`` and ``missing`` reads any table, if they are set: it is coded as ``coding_`` tells.
    """

    _required_attributes: ClassVar[tuple[str, ...]] = ("n_features_in_",)
    _state_attributes: ClassVar[tuple[str, ...]] = ("feature_names_in_", "schema_", "coding_")
    _allow_sparse: ClassVar[bool] = True
    _allow_nan: ClassVar[bool] = False
    # Whether values are multiplied by each other, so that products of very large ones overflow.
    _multiplies_values: ClassVar[bool] = False

    n_features_in_: int
    schema_: Schema
    coding_: ColumnCoding | None = None

    @property
    def _input_options(self) -> tuple[Any, Any]:
        """The parameters ``categorical`` and ``missing``."""
        return getattr(self, "categorical", None), getattr(self, "missing", None)

    @property
    def _n_columns(self) -> int:
        """Number of columns of the matrix, which has several for a categorical feature."""
        return self.n_features_in_ if self.coding_ is None else self.coding_.n_columns

    def _read_training_matrix(self, X: Any, sample_weight: Any = None) -> tuple[Matrix, dict[str, Any]]:
        """Read X of a fit; return it with the attributes that describe its columns."""
        name, options = type(self).__name__, self._input_options
        if options == (None, None) or sparse.issparse(X):
            allowed = {"allow_sparse": self._allow_sparse, "allow_nan": self._allow_nan}
            matrix, described = read_training_matrix(
                name, X, **allowed, has_options=hasattr(self, "categorical")
            )
            if self._multiplies_values:
                check_squares(name, matrix, described.get("feature_names_in_"))
            return matrix, described
        table = numbers_of_categories(read_table(X)) if options[0] is None else read_table(X)
        coding = learn_coding(table, check_weights(sample_weight, table.n_rows), *options, name)
        described = {**describe_features(table.schema), "schema_": table.schema, "coding_": coding}
        return coded_matrix(coding, table, name, self._allow_sparse), described

    def _read_matrix(self, X: Any) -> Matrix:
        """Read new data, whose columns must be those of the fit."""
        check_is_fitted(self)
        name, coding = type(self).__name__, self.coding_
        if coding is None:
            allowed = {"allow_sparse": self._allow_sparse, "allow_nan": self._allow_nan}
            return read_matrix(self, X, reset=False, **allowed, has_options=hasattr(self, "categorical"))
        # Where missing values are an error, an unseen category is one, too.
        table = self.schema_.read(X, "error" if self._input_options[1] is None else "missing", name)
        return coded_matrix(coding, table, name, self._allow_sparse)

    def _described(self) -> dict[str, Any]:
        """Return the attributes that describe the columns of the fit, for another one by batches."""
        names = ("n_features_in_", "feature_names_in_", "schema_", "coding_")
        return {name: vars(self).get(name) for name in names}

    def _get_state(self) -> dict[str, Any]:
        state = super()._get_state()
        return {**state, "fitted": pack_schema(state["fitted"])}

    def _set_state(self, state: dict[str, Any]) -> None:
        super()._set_state({**state, "fitted": unpack_schema(state.get("fitted"))})

    def _check_fitted(self) -> None:
        width, names = self.n_features_in_, vars(self).get("feature_names_in_")
        require(type(width) is int and width >= 1, "the number of features is not valid")
        valid = names is None or (isinstance(names, np.ndarray) and names.shape == (width,))
        require(valid, "there is not one name per feature")
        coding = self.coding_
        require(coding is None or type(coding) is ColumnCoding, "the coding of the columns is not valid")
        if coding is not None:
            require("schema_" in vars(self), "there is a coding, but no schema")
            coding.check_schema(self.schema_)
            require(self.schema_.n_features == width, "the schema has another number of features")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        categorical, missing = self._input_options
        tags.input_tags.sparse = self._allow_sparse
        tags.input_tags.allow_nan = self._allow_nan or missing is not None
        tags.input_tags.categorical = tags.input_tags.string = categorical is not None
        return tags


def describe_features(schema: Schema) -> dict[str, Any]:
    """Return ``n_features_in_`` and, if the input named its columns, ``feature_names_in_``.

    >>> from spinney.data.schema import read_table
    >>> describe_features(read_table([[1.0, 2.0]]).schema)
    {'n_features_in_': 2}
    """
    known: dict[str, Any] = {"n_features_in_": schema.n_features}
    return known | ({"feature_names_in_": np.array(schema.names, dtype=object)} if schema.has_names else {})


class ProbabilisticClassifier(ClassifierMixin):  # type: ignore[misc]
    """Mixin of classifiers that predict probabilities."""

    def predict_log_proba(self, X: Any) -> Any:
        """Predict logarithms of the class probabilities.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_rows, n_classes), or list of such arrays with several outputs
            Logarithms; −inf where the probability is 0.
        """
        outputs = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return [np.log(part) for part in outputs] if type(outputs) is list else np.log(outputs)


# ---- scikit-learn's own functions ----

_registered: set[type] = set()


def _class_after_registration(instance: Any) -> type:
    """Return the class of an instance, registered with its counterpart if that has been imported."""
    cls = type(instance)
    if cls not in _registered and cls.counts_as is not None:
        module, name = cls.counts_as
        counterpart = getattr(sys.modules.get(module), name, None)
        if counterpart is not None:
            _registered.add(cls)
            counterpart.register(cls)
    return cls


class CountsAs:
    """Mixin of estimators that scikit-learn takes for its own: ``isinstance`` answers True.

    Functions such as ``sklearn.tree.plot_tree`` accept only instances of scikit-learn's classes, which are
    abstract base classes. ``isinstance`` asks an instance for its class, and that is when the class is
    registered with its counterpart: importing the counterpart here would slow down every import.

    ``counts_as`` is the module and the name of the counterpart.

    >>> import sklearn.tree
    >>> from spinney import DecisionTreeRegressor
    >>> isinstance(DecisionTreeRegressor(), sklearn.tree.DecisionTreeRegressor)
    True
    """

    counts_as: ClassVar[tuple[str, str] | None] = None
    __class__ = property(_class_after_registration)
