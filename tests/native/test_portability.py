"""That one source alone knows the operating system."""

import re
from pathlib import Path

NATIVE = Path(__file__).parents[2] / "native"
SYSTEM = re.compile(
    r"#include <(pthread|sched|signal|unistd|windows|sys/\w+|mach/\w+)\.h>|_WIN32|__linux__|__APPLE__"
)


def test_only_one_source_knows_the_operating_system():
    sources = {path for path in NATIVE.rglob("*.?pp") if "tests" not in path.parts}
    found = {path.name for path in sources if SYSTEM.search(path.read_text(encoding="utf-8"))}
    assert found == {"operating_system.cpp"}
