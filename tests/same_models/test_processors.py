"""Models do not depend on the processor: NumPy, BLAS and the C library choose their code by it."""

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
# The code that they choose for the oldest processors; names that a version does not know are passed over.
OLDEST = {
    "OPENBLAS_CORETYPE": "Prescott",
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 X86_V3 AVX512_ICL AVX512_SPR AVX512F AVX512_SKX AVX2 FMA3",
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-AVX2_Usable,-FMA,-FMA_Usable,-AVX512F",
}
PROGRAM = """
import json, sys
from same_models.fits import FITS, content_hash, prediction_hash
found = {}
for fit in FITS:
    model = fit.run()
    found[fit.name] = [content_hash(model), prediction_hash(model, fit.table)]
json.dump(found, sys.stdout)
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the variables are those of x86-64")
def test_models_do_not_depend_on_the_processor_that_numpy_and_blas_see():
    environment = os.environ | OLDEST | {"PYTHONPATH": str(HERE.parent)}
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM]
    done = subprocess.run(command, env=environment, capture_output=True, check=True)
    expected = json.loads((HERE / "hashes.json").read_text())
    changed = [name for name, hashes in json.loads(done.stdout).items() if hashes != expected[name]]
    assert not changed
