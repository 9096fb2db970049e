"""The command line as it is typed: through pipes, in a pseudo-terminal, and killed while it writes."""

import gzip
import re
import subprocess
import sys
import time

import pytest

import spinney
from cli.terminal import ENVIRONMENT, command, in_terminal, typed


@pytest.fixture
def tree(churn):
    from spinney.cli.options import read_training
    from spinney.cli.output import Output
    from spinney.cli.saved_models import describe_run

    values = dict.fromkeys(("delimiter", "max_memory", "rows")) | {"encoding": "utf-8", "no_header": False}
    values |= {"missing": (), "skip_ragged": False, "kinds": (), "drop": (), "target": "churn"}
    data = read_training(str(churn), values, Output(quiet=True))
    path = churn.parent / "tree.spinney"
    spinney.save(spinney.C45Classifier().fit(data.X, data.y), path, metadata=describe_run(data))
    return path


@pytest.mark.long
def test_a_pipe_gets_csv_and_nothing_else(churn, tree):
    done = typed("predict", tree, "-", stdin=gzip.compress(churn.read_bytes()))
    assert done.returncode == 0 and done.stderr == b""
    lines = done.stdout.decode().splitlines()
    assert lines[0] == "predicted_churn" and len(lines) == 121 and set(lines[1:]) == {"yes", "no"}


@pytest.mark.long
def test_a_terminal_gets_a_table_and_no_csv(churn, tree):
    code, shown, _ = in_terminal("evaluate", tree, churn)
    assert code == 0 and "\x1b[" in shown and "balanced accuracy" in shown and "true \\ predicted" in shown
    assert "metric,score" not in shown
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    assert max(map(len, plain.splitlines())) <= 100


def test_the_terminal_gets_a_table_and_the_pipe_gets_csv(churn, tree):
    code, shown, piped = in_terminal("evaluate", tree, churn, stdout_too=False)
    assert code == 0 and "balanced accuracy" in shown and "true \\ predicted" in shown and "\x1b[" in shown
    lines = piped.splitlines()
    assert lines[0].startswith("metric,score") and len(lines) > 5 and "metric,score" not in shown
    assert "\x1b" not in piped and max(map(len, re.sub(r"\x1b\[[0-9;]*m", "", shown).splitlines())) <= 100


@pytest.mark.long
def test_json_in_a_terminal_is_nothing_but_json(churn, tree):
    code, shown, piped = in_terminal("evaluate", tree, churn, "--json", "-q", stdout_too=False)
    assert code == 0 and shown == "" and piped.startswith("{")


@pytest.mark.long
@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_is_wider_than_the_terminal(churn, tree, width):
    for arguments in (
        ["explain", tree, churn, "--row", 0],
        ["compare", churn, "-t", "churn", "-l", "cart", "-l", "linear", "--cv", 2, "--repeats", 1],
        ["fit", churn, "-t", "churn", "-l", "cart"],
        ["inspect", tree],
        ["tree", tree],
        ["rules", tree],
    ):
        code, shown, _ = in_terminal(*arguments, cwd=churn.parent, width=width)
        # A progress bar goes back to the start of its line, which splitlines counts as the end of a line.
        plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown)
        assert code == 0 and max(map(len, plain.splitlines())) <= width, plain


@pytest.mark.long
def test_a_reader_that_leaves_is_no_error(churn, tree):
    with subprocess.Popen(
        command("predict", tree, churn), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT
    ) as process:
        process.stdout.close()
        errors = process.stderr.read()
        assert process.wait() in (0, 141) and errors == b""


@pytest.mark.long
def test_ctrl_c_ends_with_130_and_leaves_no_file(churn):
    arguments = ["compare", churn, "-t", "churn", "--repeats", 50, "-o", "best"]
    code, shown, _ = in_terminal(*arguments, cwd=churn.parent, interrupt=True)
    assert code == 130 and "Interrupted" in shown and "Traceback" not in shown
    assert not (churn.parent / "best").exists()


@pytest.mark.parametrize(
    "interruption",
    [
        pytest.param("sys.modules['spinney.cli'] = Interrupting('cli')", id="an import"),
        pytest.param(
            "from spinney.cli.main import cli; cli.main = lambda *_, **__: exec('raise KeyboardInterrupt')",
            id="text that is run",
        ),
    ],
)
def test_ctrl_c_at_the_start_ends_with_130(interruption, tmp_path):
    (tmp_path / "interrupted.py").write_text(f"""
import sys, types
class Interrupting(types.ModuleType):
    def __getattr__(self, name):
        exec("raise KeyboardInterrupt")
{interruption}
from spinney.__main__ import main
main()
""")
    done = subprocess.run(
        [sys.executable, "-m", "interrupted"], cwd=tmp_path, capture_output=True, env=ENVIRONMENT, check=False
    )
    assert done.returncode == 130 and done.stderr == b"error: Interrupted.\n"


@pytest.mark.long
def test_a_kill_during_the_write_leaves_the_old_file(churn, tree):
    """Killed at any of many moments, the output is the old file or the whole new one."""
    output = churn.parent / "out.csv"
    whole = typed("predict", tree, churn, "-o", output)
    assert whole.returncode == 0
    new, old = output.read_bytes(), b"old\n"
    code = (
        "import os, sys\nimport spinney.io.files as files\nwrite = files._write\n"
        "def slow(stream, data):\n"
        "    write(stream, data[: len(data) // 2]); stream.flush(); os.kill(os.getpid(), 9)\n"
        "files._write = slow\nfrom spinney.cli import main\nmain(sys.argv[1:])"
    )
    output.write_bytes(old)
    arguments = ["predict", str(tree), str(churn), "-o", str(output)]
    run = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, env=ENVIRONMENT, check=False
    )
    assert run.returncode == -9 and output.read_bytes() == old
    assert list(churn.parent.glob(".spinney-*"))  # what was left is removed by the next write
    for delay in (0.3, 0.6, 0.9, 1.2, 1.5, 1.8):
        output.write_bytes(old)
        process = subprocess.Popen(command(*arguments), env=ENVIRONMENT)
        time.sleep(delay)
        process.kill()
        process.wait()
        assert output.read_bytes() in (old, new)
    assert typed(*arguments).returncode == 0 and not list(churn.parent.glob(".spinney-*"))


@pytest.mark.long
def test_help_is_quick():
    begin = time.perf_counter()
    assert typed("--help").returncode == 0
    assert time.perf_counter() - begin < 20  # no learner is imported for it
    code = "import sys, spinney.cli; print([m for m in ('sklearn', 'pandas') if m in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"
