"""Documents as JSON text: readable, and with one document for one text."""

import base64
import json
import math
import struct
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from spinney.io.container import DTYPES, MAX_AXES, MAX_ELEMENTS, VERSION
from spinney.io.document import MAX_DEPTH, MAX_INT_BYTES, Document, Tagged
from spinney.io.errors import CorruptModelFile, NotAModelFile, UnsavableValue, UnsupportedVersion, require

Json: TypeAlias = Any
"""What `json.loads` returns."""

JSON_VERSION = 1
"""The version of the JSON form that is written and read."""
_NAMES = {dtype.name: dtype for dtype in DTYPES.values()}
_QUIET_NAN = struct.pack("<d", math.nan)
_OWN = frozenset({"tuple", "bytes", "float", "array", "text"})
"""Names after "$" that are not those of tagged values."""


def document_to_json(document: dict[str, Document], version: int = VERSION, indent: int | None = 1) -> str:
    """Return the document of a model as JSON text, specified in docs/model-file.md.

    >>> document_to_json({"depth": 3, "weights": (1.0, None)}, indent=None)
    '{"json_version": 1, "version": 2, "depth": 3, "weights": {"$tuple": [1.0, null]}}'
    """
    content = {"json_version": JSON_VERSION, "version": version} | _written(document, 0)
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, indent=indent)
    return text if indent is None else _join_numbers(text)


def document_from_json(text: str | bytes) -> tuple[dict[str, Document], int]:
    """Return the document of JSON text and its format version; raise a `ModelFileError` for other text.

    >>> document_from_json('{"json_version": 1, "version": 2, "depth": 3}')
    ({'depth': 3}, 2)
    """
    try:
        content = json.loads(text, object_pairs_hook=_unique_keys, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise NotAModelFile(f"This is not the JSON text of a model: {str(error)[:200]}.") from None
    if type(content) is not dict or type(content.get("json_version")) is not int:
        raise NotAModelFile("This is not the JSON text of a model: it has no json_version.")
    json_version, version = content.pop("json_version"), content.pop("version", None)
    if json_version != JSON_VERSION or type(version) is not int or not 1 <= version <= VERSION:
        raise UnsupportedVersion(
            f"The text has JSON version {json_version} and format version {version}; this Spinney reads "
            f"JSON version {JSON_VERSION} and format versions up to {VERSION}.",
            fix="Install a newer Spinney.",
        )
    return _read(content, 0), version


def _join_numbers(text: str) -> str:
    """Put the items of arrays, which `indent` writes one per line, on one line each."""
    out, row = list[str](), list[str]()
    for line in text.split("\n"):
        item = line.strip()
        if row or (out and out[-1].endswith(('"data": [', '"shape": ['))):
            if item.startswith("]"):
                out[-1] += " ".join(row) + item
                row = []
            else:
                row.append(item)
        else:
            out.append(line)
    return "\n".join(out)


# ---- writing ----


def _written(value: Document, depth: int) -> Json:  # noqa: PLR0911  (one per kind of value)
    kind = type(value)
    if depth > MAX_DEPTH:
        raise UnsavableValue(f"The model is nested more than {MAX_DEPTH} levels deep.")
    if value is None or kind is bool or kind is int or kind is str:
        return value
    if kind is float:
        return value if math.isfinite(value) else {"$float": _special(value)}
    if kind is bytes:
        return {"$bytes": base64.b64encode(value).decode()}
    if kind is list:
        return [_written(item, depth + 1) for item in value]
    if kind is tuple:
        return {"$tuple": [_written(item, depth + 1) for item in value]}
    if kind is dict:
        # A key of the document that begins with "$" gets another one.
        return {
            "$" + key if key.startswith("$") else key: _written(item, depth + 1)
            for key, item in value.items()
        }
    if kind is Tagged:
        return _written_tagged(value, depth)
    if isinstance(value, np.ndarray):
        return {"$array": value.dtype.name, "shape": list(value.shape), "data": _items(value)}
    raise UnsavableValue(f"JSON text cannot store a value of type {kind.__name__}.")


def _written_tagged(value: Tagged, depth: int) -> Json:
    if value.name in _OWN and value.name != "text":
        raise UnsavableValue(f"The name {value.name!r} of a tagged value has a meaning of its own in JSON.")
    strings = _strings(value.value) if value.name == "text" else None
    if strings is None:
        return {"$" + value.name: _written(value.value, depth + 1)}
    *shape, width = value.value.shape
    return {"$text": width, "shape": shape, "data": strings}


def _strings(codes: NDArray[np.uint32]) -> list[str] | None:
    """Return an array of code points as strings; None if JSON would not keep them."""
    if codes.size == 0:
        return []
    strings = ["".join(map(chr, row)).rstrip("\0") for row in codes.reshape(-1, codes.shape[-1]).tolist()]
    has_surrogates = bool(((codes >= 0xD800) & (codes < 0xE000)).any())
    return None if has_surrogates or max(map(len, strings)) < codes.shape[-1] else strings


def _items(array: NDArray[Any]) -> list[Json]:
    """Return the elements; NaN is null, and other numbers that JSON does not have are strings."""
    flat = array.ravel()
    items: list[Json] = flat.tolist()
    if array.dtype.kind == "f":
        for i in np.flatnonzero(~np.isfinite(flat)).tolist():
            items[i] = _special_of(flat[i])
    return items


def _special_of(number: Any) -> str | None:
    """Return a NaN or infinity of any width; null is the usual NaN."""
    if np.isinf(number):
        return "inf" if number > 0 else "-inf"
    data: bytes = number.astype(number.dtype.newbyteorder("<")).tobytes()
    usual: bytes = np.array(math.nan, number.dtype.newbyteorder("<")).tobytes()
    return None if data == usual else "nan:" + data[::-1].hex()


def _special(number: float) -> str:
    return _special_of(np.float64(number)) or "nan"


# ---- reading ----


def _unique_keys(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a key occurs twice in an object")
    return result


def _refuse_constant(name: str) -> Json:
    raise ValueError(f"{name} is no JSON number")


def _read(value: Json, depth: int) -> Document:
    kind = type(value)
    if depth > MAX_DEPTH:
        raise CorruptModelFile(f"The document is nested more than {MAX_DEPTH} levels deep.")
    if kind is list:
        return [_read(item, depth + 1) for item in value]
    if kind is str:
        require(value.isascii() or _is_unicode(value), "a string has half a surrogate pair")
    elif kind is int:
        require(value.bit_length() <= 8 * MAX_INT_BYTES - 1, "an integer is too long")
    elif kind is float:
        require(math.isfinite(value), "a number is too large")
    elif kind is dict:
        return _read_dict(value, depth)
    return value


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _read_dict(value: dict[str, Json], depth: int) -> Document:
    first = next(iter(value), "")
    if not first.startswith("$") or first.startswith("$$"):
        return {
            key.removeprefix("$"): _read(item, depth + 1) for key, item in value.items() if _is_plain(key)
        }
    name, content = first[1:], value[first]
    if name == "array" or (name == "text" and "data" in value):
        require(list(value) == [first, "shape", "data"], "an array does not have shape and data")
        read = _read_array if name == "array" else _read_text
        return read(content, value["shape"], value["data"])
    require(len(value) == 1, f"a ${name} has further keys")
    if name == "tuple":
        require(type(content) is list, "a tuple is not a list")
        return tuple(_read(item, depth + 1) for item in content)
    if name == "bytes":
        require(type(content) is str, "bytes are not text")
        try:
            return base64.b64decode(content, validate=True)
        except ValueError:
            raise CorruptModelFile("The JSON text has bytes that are not base64.") from None
    if name == "float":
        return float(_number(content if content != "nan" else None, np.dtype("<f8")))
    return Tagged(name, _read(content, depth + 1))


def _is_plain(key: str) -> bool:
    require(not key.startswith("$") or key.startswith("$$"), f"the key {key[:50]!r} stands among others")
    require(key.isascii() or _is_unicode(key), "a key has half a surrogate pair")
    return True


def _shape(shape: Json, n_items: int, most: int) -> tuple[int, ...]:
    valid = type(shape) is list and len(shape) <= most and all(type(n) is int and n >= 0 for n in shape)
    valid = valid and math.prod(max(n, 1) for n in shape) <= MAX_ELEMENTS
    require(valid and math.prod(shape) == n_items, "an array does not have as many items as its shape says")
    return tuple(shape)


def _read_array(name: Json, shape: Json, data: Json) -> NDArray[Any]:
    dtype = _NAMES.get(name) if type(name) is str else None
    require(dtype is not None and type(data) is list, "an array has no known type")
    assert dtype is not None
    axes = _shape(shape, len(data), MAX_AXES)
    if dtype.kind == "f":
        plain = [item if type(item) is float else _number(item, dtype) for item in data]
        with np.errstate(over="ignore"):
            array = np.array(plain, dtype=dtype)
        kept = dtype.itemsize == 8 or all(
            type(item) is not float or float(one) == item for item, one in zip(data, array, strict=True)
        )
        require(kept, f"a number is not a {name}")
    else:
        wanted = bool if dtype.kind == "b" else int
        require(all(type(item) is wanted for item in data), f"an item of an array is not a {name}")
        try:
            array = np.array(data, dtype=dtype)
        except OverflowError:
            raise CorruptModelFile(f"The JSON text has a number that is not a {name}.") from None
    result: NDArray[Any] = array.astype(dtype.newbyteorder("="), copy=False).reshape(axes)
    result.flags.writeable = False
    return result


def _number(item: Json, dtype: np.dtype[Any]) -> Any:
    """Return a number that JSON does not have: null, "inf", "-inf" or "nan:" and its bits."""
    if item is None:
        return dtype.type(math.nan)
    if item in ("inf", "-inf") and type(item) is str:
        return dtype.type(float(item))
    bits = item[4:] if type(item) is str and item.startswith("nan:") else ""
    valid = len(bits) == 2 * dtype.itemsize and all(char in "0123456789abcdef" for char in bits)
    require(valid, "a number is neither finite nor NaN nor infinite")
    number = np.frombuffer(bytes.fromhex(bits)[::-1], dtype)[0]
    require(np.isnan(number), "the bits of a NaN are those of a number")
    return number


def _read_text(width: Json, shape: Json, data: Json) -> Tagged:
    valid = type(width) is int and 1 <= width <= MAX_ELEMENTS and type(data) is list
    require(
        valid and all(type(item) is str and len(item) <= width for item in data), "a text array is invalid"
    )
    axes = _shape(shape, len(data), MAX_AXES - 1)
    require(all(_is_unicode(item) for item in data), "a string has half a surrogate pair")
    require(width <= max(map(len, data), default=width), "a text array is wider than its longest string")
    codes = np.zeros((len(data), width), np.uint32)
    for row, item in zip(codes, data, strict=True):
        row[: len(item)] = list(map(ord, item))
    return Tagged("text", codes.reshape(*axes, width))
