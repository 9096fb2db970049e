"""The bytes of each kind of value, spelled out, so that they can never change unnoticed."""

from typing import Any

import numpy as np
import pytest

from spinney.io.document import Tagged, read_document, write_document

SPELLED: list[tuple[Any, str]] = [
    (None, "00"),
    (False, "01"),
    (True, "02"),
    (-2, "03 fe ff ff ff ff ff ff ff"),
    (2**64, "04 09000000 00 00 00 00 00 00 00 00 01"),
    (-(2**63) - 1, "04 09000000 ff ff ff ff ff ff ff 7f ff"),
    (1.5, "05 00 00 00 00 00 00 f8 3f"),
    ("é", "06 02000000 c3a9"),
    (b"\x01", "07 01000000 01"),
    ([None, True], "08 02000000 00 02"),
    ((None,), "09 01000000 00"),
    ({"b": None, "a": ()}, "0a 02000000 01000000 62 00 01000000 61 09 00000000"),
    (Tagged("t", 0.0), "0c 01000000 74 05 0000000000000000"),
]


@pytest.mark.parametrize(("value", "spelled"), SPELLED)
def test_each_kind_of_value_has_its_bytes(value: Any, spelled: str) -> None:
    data, arrays = write_document(value)
    assert data == bytes.fromhex(spelled) and arrays == []
    back = read_document(memoryview(data), iter(()))
    assert back == value and type(back) is type(value)


def test_arrays_are_referred_to_in_order() -> None:
    first, second = np.zeros(1), np.ones(2)
    data, arrays = write_document([first, {"k": second}])
    assert data == bytes.fromhex("08 02000000 0b 0a 01000000 01000000 6b 0b")
    assert arrays[0] is first and arrays[1] is second
    back = read_document(memoryview(data), iter(arrays))
    assert back[0] is first and back[1]["k"] is second
