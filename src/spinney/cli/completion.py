"""The command `completion`: scripts by which shells complete commands, options, learners and columns."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from spinney.cli.output import write_text

_HOW = {
    "bash": 'eval "$(spinney completion bash)"      in ~/.bashrc',
    "zsh": 'eval "$(spinney completion zsh)"       in ~/.zshrc',
    "fish": "spinney completion fish > ~/.config/fish/completions/spinney.fish",
}


@click.command(short_help="Print the completion script of a shell.", epilog="\b\n" + "\n".join(_HOW.values()))
@click.argument("shell", type=click.Choice(list(_HOW)))
def completion(shell: str) -> None:
    """Print the script that completes commands, options, learners and columns in a shell."""
    from spinney.cli.main import cli

    found = get_completion_class(shell)
    assert found is not None
    write_text(found(cli, {}, "spinney", "_SPINNEY_COMPLETE").source() + "\n")
