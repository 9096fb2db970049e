"""Commands run as they are typed: through pipes, or in a pseudo-terminal."""

import os
import pty
import select
import signal
import subprocess
import sys

ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "NO_COLOR")}


def command(*arguments):
    return [sys.executable, "-m", "spinney", *map(str, arguments)]


def typed(*arguments, stdin=None, cwd=None):
    """Run a command through pipes."""
    return subprocess.run(
        command(*arguments), input=stdin, capture_output=True, cwd=cwd, env=ENVIRONMENT, check=False
    )


def in_terminal(*arguments, cwd=None, width=100, stdout_too=True, interrupt=False):
    """Run a command in a pseudo-terminal and return (exit code, what it shows, what a pipe gets).

    interrupt: Ctrl-C follows the first thing that is shown
    """
    ours, theirs = pty.openpty()
    environment = ENVIRONMENT | {"COLUMNS": str(width), "LINES": "60", "TERM": "xterm-256color"}
    out = theirs if stdout_too else subprocess.PIPE
    process = subprocess.Popen(
        command(*arguments), stdin=theirs, stdout=out, stderr=theirs, cwd=cwd, env=environment
    )
    os.close(theirs)
    shown = b""
    while True:
        ready, _, _ = select.select([ours], [], [], 0.2)
        if not ready and process.poll() is not None:
            break
        if ready:
            try:
                shown += os.read(ours, 1 << 16)
            except OSError:  # the other end is closed
                break
            if interrupt:
                process.send_signal(signal.SIGINT)
                interrupt = False
    piped = b"" if stdout_too else process.stdout.read()
    os.close(ours)
    return process.wait(), shown.decode(), piped.decode()
