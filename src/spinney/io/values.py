"""Conversion between models and documents, for each kind of value that a model may have."""

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from inspect import signature
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.core.errors import ModelFileError
from spinney.io.container import DTYPES, MAX_AXES, MAX_ELEMENTS, VERSION
from spinney.io.document import MAX_DEPTH, MAX_EQUAL_HASHES, Document, Tagged
from spinney.io.errors import CorruptModelFile, UnsavableValue, require
from spinney.io.migrations import RENAMED_CLASSES, add_parameters, migrate_state
from spinney.io.registry import find_class, name_of

FORMAT = "spinney model"
_ROOT_KEYS = ["format", "spinney_version", "class", "state"]
_METADATA = "metadata"
"""A further key of the document, the last one, of models that were saved with metadata."""
_PLAIN = frozenset({type(None), bool, int, float, str, bytes})
_MT_WORDS = 624
"""Machine words in the state of the Mersenne Twister MT19937."""
_EMPTY_WIDTH = 2**16
SPLITTERS = (
    *("KFold", "StratifiedKFold", "GroupKFold", "StratifiedGroupKFold", "RepeatedKFold"),
    *("RepeatedStratifiedKFold", "ShuffleSplit", "StratifiedShuffleSplit", "GroupShuffleSplit"),
    *("LeaveOneOut", "LeavePOut", "LeaveOneGroupOut", "LeavePGroupsOut", "TimeSeriesSplit"),
    "PredefinedSplit",
)
"""Splitters of scikit-learn, the only classes of another library that parameters may have."""
_BROKEN = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, AssertionError)
"""Exceptions of code that does not check its input, if the input is invalid."""


@cache
def _spinney_version() -> str:
    try:
        return version("spinney")
    except PackageNotFoundError:
        return "unknown"


def pack_model(
    model: object, metadata: Mapping[str, Any] | None = None
) -> tuple[dict[str, Document], set[type]]:
    """Return the document of a model and the classes that the document names.

    Raises `UnsavableValue`, which names the parameter or attribute, if a value cannot be stored.
    """
    name = name_of(type(model))
    if name is None:
        raise UnsavableValue(
            f"An object of {_describe(type(model))} cannot be saved.",
            fix="Only Spinney's models and subclasses of spinney.io.Persistent can be.",
        )
    packer = _Packer()
    state = packer.pack_state(model, (name,))
    document = {"format": FORMAT, "spinney_version": _spinney_version(), "class": name, "state": state}
    if metadata is not None:
        document[_METADATA] = _plain_metadata(dict(metadata), _METADATA, 0)
    return document, packer.classes


def _plain_metadata(value: Any, location: str, depth: int) -> Document:
    """Return metadata as plain values; raise `UnsavableValue` if it has others."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, Mapping) and all(type(key) is str for key in value) and depth < MAX_DEPTH:
        return {key: _plain_metadata(item, f"{location}[{key!r}]", depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple) and depth < MAX_DEPTH:
        return [_plain_metadata(item, f"{location}[{i}]", depth + 1) for i, item in enumerate(value)]
    raise UnsavableValue(
        f"{location} is of {_describe(type(value))}, which a model file does not store as metadata.",
        fix="Use numbers, strings, booleans, None, and lists and dicts of them with strings as keys.",
    )


def check_document(document: Document) -> None:
    """Raise `CorruptModelFile` unless a document has the parts of a model, whatever its class is."""
    valid = type(document) is dict and list(document) in (_ROOT_KEYS, [*_ROOT_KEYS, _METADATA])
    # The type first: comparing an array with a string gives no bool.
    valid = valid and type(document["format"]) is str and document["format"] == FORMAT
    valid = valid and all(type(document[key]) is str for key in ("spinney_version", "class"))
    valid = valid and type(document["state"]) is dict
    valid = valid and type(document.get(_METADATA, {})) is dict
    require(valid, "its document does not describe a model")


def unpack_model(
    document: Document, version: int = VERSION, classes: Mapping[str, type] | None = None
) -> Any:
    """Build the model of a document, from the classes of the registry or those given here by name."""
    check_document(document)
    try:
        return _Unpacker(classes or {}, version).build(document["class"], document["state"])
    except MemoryError as error:
        raise CorruptModelFile(
            f"There is not enough memory for the model of the file ({_printable(error)}).",
            fix="The file is damaged, or the model is too large for this machine.",
        ) from None


def _describe(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def _location(path: tuple[str, ...]) -> str:
    """Describe the location of a value for an error message; path is the model's class, then keys."""
    owner, *keys = path
    if len(keys) >= 2 and keys[0] in {"params", "fitted"}:
        what = "Parameter" if keys[0] == "params" else "Attribute"
        inner = "".join(key if key.startswith("[") else f"[{key!r}]" for key in keys[2:])
        return f"{what} {keys[1]!r}{inner} of {owner}"
    return f"The state of {owner} at {' '.join(keys) or 'the top level'}"


def _refuse(path: tuple[str, ...], value: object, fix: str = "") -> UnsavableValue:
    is_function = isinstance(value, FunctionType | MethodType | BuiltinFunctionType)
    kind = "a function" if is_function else f"an object of {_describe(type(value))}"
    return UnsavableValue(
        f"{_location(path)} is {kind}, which a model file cannot store.",
        fix=fix or "Use a number, string, list, dict, numeric array or Spinney model; or use pickle.",
    )


class _Packer:
    """Converts values into documents and collects the classes they use."""

    def __init__(self) -> None:
        self.classes: set[type] = set()
        self._open: set[int] = set()

    def pack_state(self, model: Any, path: tuple[str, ...], depth: int = 0) -> Document:
        self.classes.add(type(model))
        return self.pack(model._get_state(), path, depth)

    def pack(self, value: Any, path: tuple[str, ...], depth: int) -> Document:
        if type(value) in _PLAIN:
            return value
        if depth > MAX_DEPTH or id(value) in self._open:
            raise UnsavableValue(
                f"{_location(path)} contains itself, or is nested more than {MAX_DEPTH} levels deep."
            )
        self._open.add(id(value))
        try:
            return self._pack_compound(value, path, depth + 1)
        finally:
            self._open.discard(id(value))

    def _pack_compound(self, value: Any, path: tuple[str, ...], depth: int) -> Document:
        kind = type(value)
        if kind is list or kind is tuple:
            return kind(self._pack_all(value, path, depth))
        if kind is dict or kind is set or kind is frozenset:
            return (self._pack_dict if kind is dict else self._pack_set)(value, path, depth)
        if isinstance(value, np.generic):
            # str(value) would remove trailing zero characters.
            return Tagged("scalar", str.__str__(value) if kind is np.str_ else _checked(value, path))
        if kind is np.ndarray or kind is np.memmap:
            return self._pack_array(value, path, depth)
        if kind is np.random.RandomState or kind is np.random.Generator:
            return _pack_random(value, path)
        return self._pack_object(value, path, depth)

    def _pack_object(self, value: Any, path: tuple[str, ...], depth: int) -> Document:
        name = name_of(type(value))
        if name is not None:
            return Tagged("object", [name, self.pack_state(value, (name,), depth)])
        splitter = _splitter_parameters(value)
        if splitter is not None:
            return Tagged("splitter", [type(value).__name__, self.pack(splitter, path, depth)])
        items = _as_list(value)
        if items is None:
            raise _refuse(path, value)
        return self._pack_all(items, path, depth)

    def _pack_dict(self, value: dict[Any, Any], path: tuple[str, ...], depth: int) -> Document:
        if all(type(key) is str for key in value):
            return {key: self.pack(item, (*path, key), depth) for key, item in value.items()}
        pairs = []
        for key, item in value.items():
            if not _is_key(key):
                raise _refuse(path, key, "Use numbers, strings or tuples of them as the keys of this dict.")
            location = (*path, f"[{key!r}]")
            pairs.append((self.pack(key, location, depth), self.pack(item, location, depth)))
        return Tagged("mapping", pairs)

    def _pack_set(self, value: Set[Any], path: tuple[str, ...], depth: int) -> Document:
        for item in value:
            if not _is_key(item):
                raise _refuse(path, item, "A set may contain numbers, strings and tuples of them.")
        # In the same order always: that of a set of strings differs between processes.
        ordered = sorted(value, key=lambda item: (type(item).__name__, repr(item)))
        return Tagged("set", self._pack_all(ordered, path, depth))

    def _pack_array(self, array: NDArray[Any], path: tuple[str, ...], depth: int) -> Document:
        if array.dtype.kind == "U":
            width = max(array.dtype.itemsize // 4, 1)
            flat = np.ascontiguousarray(array.reshape(-1), dtype=f"<U{width}")
            return Tagged("text", flat.view("<u4").reshape(*array.shape, width))
        if array.dtype.kind == "O":
            items = array.ravel().tolist()
            for i, item in enumerate(items):
                if not _is_scalar(item):
                    fix = "An array of objects may contain numbers, strings and None."
                    raise _refuse((*path, f"[{i}]"), item, fix)
            return Tagged("objects", [list(array.shape), self._pack_all(items, path, depth)])
        return _checked(array, path)

    def _pack_all(self, items: Iterable[Any], path: tuple[str, ...], depth: int) -> list[Document]:
        # Long lists contain mostly plain values; building a path for each of them would be slow.
        return [
            item if type(item) in _PLAIN else self.pack(item, (*path, f"[{i}]"), depth)
            for i, item in enumerate(items)
        ]


def _as_list(value: Any) -> list[Any] | None:
    """Return a range, or an index or a series of a data frame library, as a list; None for other values."""
    import narwhals as nw  # here, because loading needs NumPy alone

    if type(value) is range or nw.dependencies.is_pandas_index(value):
        return list(value)
    if nw.dependencies.is_into_series(value):
        items: list[Any] = nw.from_native(value, series_only=True).to_list()
        return items
    return None


def _splitter_parameters(value: Any) -> dict[str, Any] | None:
    """Return the parameters of a splitter of scikit-learn, None for other values."""
    cls = type(value)
    if cls.__name__ not in SPLITTERS or cls.__module__ != "sklearn.model_selection._split":
        return None
    given = vars(value)
    given = given | given.get("cvargs", {})  # of repeated splitters
    return {name: given[name] for name in signature(cls).parameters}


def _is_scalar(value: object) -> bool:
    return type(value) in _PLAIN or isinstance(value, np.generic)


def _checked(value: Any, path: tuple[str, ...]) -> NDArray[Any]:
    """Return an array, or a scalar as an array without axes, whose type a file can store."""
    array: NDArray[Any] = np.asarray(value)
    if array.dtype.newbyteorder("<") not in DTYPES.values():
        raise UnsavableValue(
            f"{_location(path)} is an array of type {array.dtype}, which a model file cannot store.",
            fix="Convert it to booleans, integers, float32, float64 or strings.",
        )
    return array


def _pack_random(value: np.random.RandomState | np.random.Generator, path: tuple[str, ...]) -> Document:
    if isinstance(value, np.random.Generator):
        state = value.bit_generator.state
        if state["bit_generator"] != "PCG64":
            raise _refuse(path, value, "Use an integer seed, or a Generator from numpy.random.default_rng.")
        pcg, spare = state["state"], int(state["uinteger"])
        return Tagged("generator", [pcg["state"], pcg["inc"], bool(state["has_uint32"]), spare])
    state = value.get_state(legacy=False)
    if state["bit_generator"] != "MT19937":
        fix = "Use an integer seed, or a RandomState with the default bit generator (MT19937)."
        raise _refuse(path, value, fix)
    key, position = np.asarray(state["state"]["key"]), int(state["state"]["pos"])
    return Tagged("random_state", [key, position, bool(state["has_gauss"]), float(state["gauss"])])


def _printable(error: Exception) -> str:
    """Return the text of an error, which may quote the file, without terminal control characters."""
    return "".join(char if char.isprintable() else "?" for char in str(error)[:300])


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array


class _Unpacker:
    """Converts documents into values; checks every shape and range before NumPy uses it."""

    def __init__(self, classes: Mapping[str, type], version: int) -> None:
        self._given = classes
        self._version = version

    def build(self, name: Document, state: Document) -> Any:
        """Build an object from the name of its class and its state."""
        require(type(name) is str, "an object has no class name")
        cls: Any = self._given.get(name) or find_class(name, RENAMED_CLASSES if self._version == 1 else {})
        require(type(state) is dict, f"a {name} has no state")
        values = {key: self.unpack(item) for key, item in state.items()}
        try:
            if self._version == 1:
                values = migrate_state(cls, values)
            values = add_parameters(cls, values)
            model = cls.__new__(cls)
            model._set_state(values)
            model._check_state()
        except ModelFileError:
            raise
        except _BROKEN as error:
            raise CorruptModelFile(f"The file has no valid {name}: {_printable(error)}") from error
        return model

    def unpack(self, document: Document) -> Any:
        kind = type(document)
        if kind is list:
            return self._unpack_all(document)
        if kind is tuple:
            return tuple(self._unpack_all(document))
        if kind is dict:
            return {key: self.unpack(item) for key, item in document.items()}
        if kind is Tagged:
            reader = _READERS.get(document.name)
            if reader is None:
                raise CorruptModelFile(f"The file has a value of the unknown kind {document.name[:50]!r}.")
            return reader(self, document.value)
        return document

    def _unpack_all(self, items: Sequence[Document]) -> list[Any]:
        # Most items of long lists are plain values.
        return [
            item if type(item) in _PLAIN else [] if type(item) is list and not item else self.unpack(item)
            for item in items
        ]

    def _items(self, value: Document, n: int, what: str) -> list[Document]:
        require(type(value) is list and len(value) == n, f"a {what} is not a list of {n} items")
        items: list[Document] = value
        return items

    def read_object(self, value: Document) -> Any:
        return self.build(*self._items(value, 2, "object"))

    def read_scalar(self, value: Document) -> Any:
        if type(value) is str:
            return np.str_(value)
        require(isinstance(value, np.ndarray) and value.ndim == 0, "a scalar is not one number")
        return value[()]

    def read_text(self, value: Document) -> NDArray[Any]:
        valid = isinstance(value, np.ndarray) and value.dtype == np.uint32 and value.ndim >= 1
        # An empty array takes no bytes in the file, so its width has a bound of its own.
        valid = valid and 1 <= value.shape[-1] <= max(value.size, _EMPTY_WIDTH)
        require(valid, "a text array has the wrong type or shape")
        require(value.size == 0 or int(value.max()) < 0x110000, "a text array has an invalid character")
        flat = np.ascontiguousarray(value).reshape(-1, value.shape[-1])
        text: NDArray[Any] = flat.view(f"U{value.shape[-1]}").reshape(value.shape[:-1])
        return _frozen(text)

    def read_objects(self, value: Document) -> NDArray[Any]:
        shape, items = self._items(value, 2, "array of objects")
        require(type(shape) is list and len(shape) <= MAX_AXES, "an array of objects has no shape")
        valid = all(type(n) is int and 0 <= n <= MAX_ELEMENTS for n in shape)
        valid = valid and math.prod(max(n, 1) for n in shape) <= MAX_ELEMENTS
        require(valid, "an array of objects has an impossible shape")
        valid = type(items) is list and math.prod(shape) == len(items)
        require(valid, "an array of objects does not have as many items as its shape says")
        array = np.empty(len(items), dtype=object)
        for i, item in enumerate(items):
            element = self.unpack(item)
            require(_is_scalar(element), "an item of an array of objects is not a plain value")
            array[i] = element
        return _frozen(array.reshape(shape))

    def _unpack_keys(self, items: list[Document], what: str) -> list[Hashable]:
        keys = [self.unpack(item) for item in items]
        require(all(_is_key(key) for key in keys), f"{what} is not a plain value")
        hashes = np.array([hash(key) for key in keys], dtype=np.int64)
        # A file whose keys all share a hash would take quadratic time.
        n_equal = int(np.unique(hashes, return_counts=True)[1].max(initial=0))
        require(n_equal <= MAX_EQUAL_HASHES, f"{what} was chosen to have the hash of others")
        return keys

    def read_set(self, value: Document) -> set[Hashable]:
        require(type(value) is list, "a set is not a list")
        items = self._unpack_keys(value, "an item of a set")
        require(len(set(items)) == len(items), "an item of a set occurs twice")
        return set(items)

    def read_splitter(self, value: Document) -> Any:
        name, given = self._items(value, 2, "splitter")
        valid = type(name) is str and name in SPLITTERS and type(given) is dict
        require(valid, "a splitter is none of scikit-learn's")
        from sklearn import model_selection  # here, because few models have one

        try:
            return getattr(model_selection, name)(**self.unpack(given))
        except _BROKEN as error:
            raise CorruptModelFile(f"The file has no valid {name}: {_printable(error)}") from error

    def read_mapping(self, value: Document) -> dict[Hashable, Any]:
        valid = type(value) is list and all(type(pair) is tuple and len(pair) == 2 for pair in value)
        require(valid, "a mapping is not a list of pairs")
        keys = self._unpack_keys([key for key, _ in value], "a key of a mapping")
        result = {key: self.unpack(item) for key, (_, item) in zip(keys, value, strict=True)}
        require(len(result) == len(keys), "a key of a mapping occurs twice")
        require(not all(type(key) is str for key in keys), "a mapping should be a dict")
        return result

    def read_random_state(self, value: Document) -> np.random.RandomState:
        key, position, has_gauss, gauss = self._items(value, 4, "random state")
        valid = isinstance(key, np.ndarray) and key.dtype == np.uint32 and key.shape == (_MT_WORDS,)
        # NumPy does not check the position before it indexes with it.
        valid = valid and type(position) is int and 0 <= position <= _MT_WORDS
        require(valid and type(has_gauss) is bool and type(gauss) is float, "a random state is invalid")
        state = np.random.RandomState(0)
        state.set_state(("MT19937", key, position, int(has_gauss), gauss))
        return state

    def read_generator(self, value: Document) -> np.random.Generator:
        state, inc, has_uint32, uinteger = self._items(value, 4, "random generator")
        valid = all(type(n) is int and 0 <= n < 2**128 for n in (state, inc)) and type(has_uint32) is bool
        require(valid and type(uinteger) is int and 0 <= uinteger < 2**32, "a random generator is invalid")
        bits = np.random.PCG64(0)
        bits.state = {
            "bit_generator": "PCG64",
            "state": {"state": state, "inc": inc},
            "has_uint32": int(has_uint32),
            "uinteger": uinteger,
        }
        return np.random.Generator(bits)


def _is_key(key: object) -> bool:
    if type(key) is tuple:
        return all(_is_key(item) for item in key)
    return _is_scalar(key)


_READERS: dict[str, Callable[[_Unpacker, Document], Any]] = {
    "object": _Unpacker.read_object,
    "scalar": _Unpacker.read_scalar,
    "text": _Unpacker.read_text,
    "objects": _Unpacker.read_objects,
    "mapping": _Unpacker.read_mapping,
    "set": _Unpacker.read_set,
    "splitter": _Unpacker.read_splitter,
    "random_state": _Unpacker.read_random_state,
    "generator": _Unpacker.read_generator,
}


class _Describer(_Unpacker):
    """Reads values, and objects as the names of their classes."""

    def build(self, name: Document, state: Document) -> str:
        require(type(name) is str, "an object has no class name")
        return str(name)


def describe(document: Document) -> Any:
    """Return the value of a document with class names instead of objects; nothing is built.

    >>> describe(Tagged("object", ["DecisionTreeClassifier", {}]))
    'DecisionTreeClassifier'
    """
    return _Describer({}, VERSION).unpack(document)
