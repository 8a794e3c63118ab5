"""`graftsim completion`: what a shell is to know to complete commands and flags."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stdout, suppress
from functools import reduce
from importlib import import_module
from operator import or_
from typing import Annotated, Any, Literal

import msgspec
import tyro

from graftsim.cli.options import STYLE
from graftsim.errors import GraftsimError

# Positional words are files, which tyro's scripts do not offer.
FILES = {
    "bash": (
        ("complete -F", "complete -o default -F"),
        ('matches+=("$completion")', '[[ -z $completion ]] || matches+=("$completion")'),
    ),
    "zsh": (("  _describe ", "  _files\n  _describe "),),
    "fish": (("complete --no-files", "complete"),),
}


class CompletionOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Print a script by which a shell completes commands, flags, and the words that they take.

    Example: eval "$(graftsim completion bash)"
    """

    shell: Annotated[Literal["bash", "zsh", "fish"], tyro.conf.Positional]
    """Shell that is to read it."""


def run(options: CompletionOptions) -> int:
    """Print the script, which tyro writes of the structs of all commands."""
    from graftsim.cli import STRUCTS

    kinds: list[Any] = [
        Annotated[getattr(import_module(f"graftsim.cli.{place}"), name), tyro.conf.subcommand(of)]
        for of, (place, name) in STRUCTS.items()
    ]
    every: Any = reduce(or_, kinds)
    args, written = ("--tyro-print-completion", options.shell), io.StringIO()
    try:
        with redirect_stdout(written), suppress(SystemExit):
            tyro.cli(every, prog="graftsim", args=args, config=STYLE)
    except AssertionError:  # of early versions, which do not know fish
        raise GraftsimError(f"{options.shell} needs a newer tyro: pip install -U tyro") from None
    # Each line is taken for a completion: descriptions of flags are of one line.
    script = re.sub(
        r".*COMPLETION_SPEC =.*", lambda m: re.sub(r"\\+n", " ", m[0]), written.getvalue()
    )
    for old, new in FILES[options.shell]:
        script = script.replace(old, new)
    print(script, end="")
    return 0
